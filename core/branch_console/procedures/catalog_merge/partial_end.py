"""The obstacles of a merge of the catalog that turns back, and its end as a partial merge.

A person who cannot or will not remove the obstacles ends the merge as it is: steps that can be
taken back are taken back, and the others stay.
"""

from typing import Final

from branch_console.errors import CommitConflict, ErrorKind, Refused
from branch_console.format.journals.catalog_merge import MERGE_NOTE, MergeNote
from branch_console.format.json_text import to_pretty_json
from branch_console.merge.catalog.catalog_steps import StepKind
from branch_console.procedures.catalog_merge.merged_parts import name_of_object
from branch_console.procedures.catalog_merge.step_actions import MergeOperation, MergeStep

_WAITS: Final = "waits"
_PARTIAL: Final = "partial"


def note_waiting(merge: MergeOperation, reason: str) -> None:
    """Note what a merge that turns back waits for, in place of what it waited for before."""
    if find_waiting(merge) != reason:
        merge.journal.forget_step(merge.id, _WAITS)
        _note(merge, _WAITS, reason)


def find_waiting(merge: MergeOperation) -> str | None:
    """Return what a merge that turns back waits for; None if nothing stood in its way."""
    return _find(merge, _WAITS)


def ask_for_partial(merge: MergeOperation, actor: str) -> None:
    """Note for good that a merge ends as partial.

    Raises:
        Refused: It does not wait half taken back; nothing was changed.
    """
    ended = merge.journal.end_of(merge.id)
    if ended is not None or find_waiting(merge) is None:
        state = "has ended" if ended is not None else "does not wait half taken back"
        raise Refused(
            f"Operation {merge.id} {state}, so that it cannot be ended as partial. Nothing was "
            "changed. Run branch-console doctor to see which operations wait.",
            kind=ErrorKind.UNSUPPORTED,
            operation_id=merge.id,
        )
    _note(merge, _PARTIAL, actor)


class StandingSteps:
    """The steps of a merge that turned back which stand, as something is in the way.

    Once a step stands it stays so: the version that tells of it may be there.
    """

    def __init__(self, merge: MergeOperation) -> None:
        self._merge = merge
        found = ((step, _find(merge, _stands(step))) for step in merge.steps)
        self._reasons = {step.name: reason for step, reason in found if reason is not None}

    @property
    def ended_by(self) -> str | None:
        """The person who ends the merge as partial; None if it waits for all steps to go back."""
        return _find(self._merge, _PARTIAL)

    @property
    def steps(self) -> tuple[MergeStep, ...]:
        """The steps that stay, in their order."""
        return tuple(each for each in self._merge.steps if self.has(each))

    @property
    def moved_objects(self) -> frozenset[str]:
        """The tables and databases that are, are called or are gone as the merge left them."""
        return frozenset(each.object_id for each in self.steps if not _is_content(each))

    def has(self, step: MergeStep) -> bool:
        """Whether a step stands."""
        return step.name in self._reasons

    def holds(self, step: MergeStep) -> bool:
        """Whether a step stands, or cannot be taken back without one that stands."""
        if self.has(step):
            return True
        if _is_content(step):
            return False
        places = (step.step.before, step.step.after)
        needed = {step.object_id, *(each.database for each in places if each is not None)}
        if not needed & self.moved_objects:
            return False
        self.add(step, "It goes with what stands.")
        return True

    def add(self, step: MergeStep, reason: str) -> None:
        """Leave a step as it is, for good."""
        _note(self._merge, _stands(step), reason)
        self._reasons[step.name] = reason

    @property
    def sentences(self) -> tuple[str, ...]:
        """The receipt's sentences: objects as the merge left them and why, then the others."""
        texts = [
            f"New: {name_of_object(self._merge, step)} ({step.kind}). {self._reasons[step.name]}"
            for step in self.steps
        ]
        back = [each for each in self._merge.steps if not self.has(each)]
        old = dict.fromkeys(_name_before(self._merge, each) for each in back)
        return (*texts, f"As before: {', '.join(old) or 'nothing'}.")


def waits(merge: MergeOperation, reason: str, error: CommitConflict) -> Refused:
    """Record the obstacles of turning back, and return their sentences."""
    note_waiting(merge, error.message)
    return Refused(
        waiting_words(merge.id, reason, error.message),
        kind=ErrorKind.CONFLICTS_OPEN,
        operation_id=merge.id,
    )


def waiting_words(operation_id: str, reason: str, obstacle: str) -> str:
    """Say what a merge that turned back waits for, and the ways out."""
    return (
        f"Operation {operation_id} is turning back, because {reason} It waits: {obstacle} "
        f"{alternatives(operation_id)}"
    )


def alternatives(operation_id: str) -> str:
    """Say how a merge that waits half taken back comes to an end."""
    return (
        "Once that is settled, run: branch-console recover. To keep what cannot be taken back, "
        f"run: branch-console recover --partial {operation_id}."
    )


def _name_before(merge: MergeOperation, step: MergeStep) -> str:
    """Return the name of an object before the merge, or after it if the merge made the object."""
    place = step.step.before
    if place is None or not place.database:
        return name_of_object(merge, step) if place is None else place.name
    names = merge.noted.database_names
    return f"{names.get(place.database, place.database)}.{place.name}"


def _is_content(step: MergeStep) -> bool:
    return step.kind is StepKind.MERGE_CONTENT


def _stands(step: MergeStep) -> str:
    return f"{step.name}-stands"


def _note(merge: MergeOperation, step: str, text: str) -> None:
    content = to_pretty_json(MERGE_NOTE.encode(MergeNote(text=text))).encode()
    merge.journal.mark(merge.id, step, content)


def _find(merge: MergeOperation, step: str) -> str | None:
    found = merge.journal.find_step(merge.id, step)
    if found is None:
        return None
    return merge.journal.decode_step(merge.id, step, found, MERGE_NOTE).text
