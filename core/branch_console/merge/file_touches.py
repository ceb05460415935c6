"""A side's changes to single files of the base: rewrites, removals, hidden rows."""

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Final

from branch_console.diff.changes.file_history import Step
from branch_console.diff.changes.table_changes import TableChanges
from branch_console.diff.file_masks import MaskKey
from branch_console.diff.table_operation import TableOperation
from branch_console.merge.conflict import Take
from branch_console.merge.conflict_matrix import CellRule

_TAKES: Final = {
    Take.OURS: "'ours' keeps the target",
    Take.THEIRS: "'theirs' takes the source",
}
MIXED_ADVICE: Final = (
    "The source wrote what it left of this file again together with rows of others that it had "
    "updated. Settle 'whole files' in a policy, for all files that were written with it: "
    f"{_TAKES[Take.OURS]}, {_TAKES[Take.THEIRS]}."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTouch:
    """Commits of one side that touched a file, and their changes in its bucket.

    Attributes:
        operation: The operation on rows: an update if one of several was.
        files: The files that they touched, or of which these had been made since the base.
        added: Identities of the files that they wrote, also of those that were written again.
        is_gone: Whether the file was given up; else rows of it are hidden or shown again.
        is_pure: Whether it was recorded that no rows came besides new versions of those that went.
        may_be_overwrite: Whether one of them may have replaced the partition, see `Step`.
    """

    operation: TableOperation
    files: frozenset[MaskKey]
    added: frozenset[str]
    is_gone: bool
    is_pure: bool = False
    may_be_overwrite: bool = False

    @property
    def adds_nothing_new(self) -> bool:
        """Whether the written files are known to contain only remaining or updated rows.

        Rows of a commit that records no operation may be new ones.
        """
        return self.is_pure or not self.added

    @property
    def is_alone(self) -> bool:
        """Whether no other file was touched: what was written holds rows of this one alone."""
        return len(self.files) == 1


def touches_of(side: TableChanges, keys: Mapping[str, MaskKey]) -> dict[MaskKey, FileTouch]:
    """Return what a side did to each file that it touched.

    Args:
        side: Its changes since the base.
        keys: The keys of all files that a log mentions, by identity.
    """
    gone = {keys[each] for each in side.removed}
    touched = gone | side.masks.keys()
    by_file: dict[MaskKey, list[tuple[Step, frozenset[MaskKey]]]] = {key: [] for key in touched}
    made_of: dict[MaskKey, frozenset[MaskKey]] = {}
    for step in side.steps:
        changed = {keys[each] for each in step.removed} | step.masked
        files = frozenset(root for key in changed for root in made_of.get(key, frozenset({key})))
        # A later change of a file is a change of the files that it was made of. A file that a
        # merge brought in place of one of the base counts by itself.
        for key in {keys[each] for each in step.added} - touched:
            made_of[key] = frozenset(root for root in files if root[:2] == key[:2]) or frozenset(
                {key}
            )
        for key in files & touched:
            by_file[key].append((step, files))
    return {key: _touch(key, by_file[key], keys, is_gone=key in gone) for key in touched}


def touched_together(
    wanted: Iterable[MaskKey], *touches: Mapping[MaskKey, FileTouch]
) -> list[frozenset[MaskKey]]:
    """Return groups of files: those of which one was written again with another are in one group.

    Args:
        wanted: Files; each is in one group.
        touches: The changes of each side, by file.
    """
    groups: list[frozenset[MaskKey]] = []
    for first in sorted(wanted):
        if any(first in group for group in groups):
            continue
        group: set[MaskKey] = set()
        reached = {first}
        while reached:
            group |= reached
            met = (s[key].files & s.keys() for s in touches for key in reached & s.keys())
            reached = set().union(*met) - group
        groups.append(frozenset(group))
    return groups


def winner(rule: CellRule, left: FileTouch, right: FileTouch, take: Take | None) -> Take | None:
    """Return whose touch of one file stays alone, None if that is open.

    Where both sides deleted rows of a file and one of them deleted all, the other one's goes, if
    it wrote nothing else: rows of other files, or new ones, must not go along.

    Args:
        rule: The rule of the cell that both fall into.
        left: The source's changes.
        right: The target's changes.
        take: The choice, if it settles the file.
    """
    if take is None and rule is CellRule.M2:
        if left.is_gone and not left.added and right.is_alone and right.adds_nothing_new:
            return Take.THEIRS
        if right.is_gone and not right.added and left.is_alone and left.adds_nothing_new:
            return Take.OURS
    return take


def ways_to_settle(
    files: Set[MaskKey],
    left_of: Mapping[MaskKey, FileTouch],
    right_of: Mapping[MaskKey, FileTouch],
) -> tuple[Take, ...]:
    """Return whose version of files that were written again together may stay.

    Args:
        files: A group of `touched_together`.
        left_of: The source's changes to files of the base.
        right_of: The target's changes to these files.
    """
    lefts, rights = files & left_of.keys(), files & right_of.keys()
    if not all(_is_of_base(touches, files) for touches in (left_of, right_of)):
        # Rows that a side had inserted, and wrote again with others, would go along.
        return ()
    # A file of which only the target gave up rows would have to come back.
    comes_back = rights - lefts or any(
        right_of[key].is_gone and not left_of[key].is_gone for key in rights
    )
    return (Take.OURS,) if comes_back else (Take.OURS, Take.THEIRS)


def advice_to_settle(ways: Collection[Take]) -> str:
    """Choices for files that source and target touched in ways that cannot both stand."""
    why = "Rows without a key are not compared, so only one side's change of this file can stand."
    if not ways:
        return (
            f"{why} It was written again together with rows that a side had inserted: revert one "
            "of the changes."
        )
    said = " or ".join(_TAKES[each] for each in ways)
    return f"{why} Settle 'whole files' in a policy: {said}. The other change is lost."


def _is_of_base(touches: Mapping[MaskKey, FileTouch], files: Set[MaskKey]) -> bool:
    """Whether one side wrote some files again with no others than these, all of the base."""
    return all(touches[key].files <= touches.keys() for key in files & touches.keys())


def _touch(
    key: MaskKey,
    steps: Collection[tuple[Step, frozenset[MaskKey]]],
    keys: Mapping[str, MaskKey],
    *,
    is_gone: bool,
) -> FileTouch:
    place = key[:2]
    added = {each for step, _ in steps for each in step.added if keys[each][:2] == place}
    files = {each for _, touched in steps for each in touched if each[:2] == place}
    return FileTouch(
        operation=_operation([step.operation for step, _ in steps], is_gone=is_gone),
        files=frozenset(files),
        added=frozenset(added),
        is_gone=is_gone,
        is_pure=bool(steps) and all(step.is_pure for step, _ in steps),
        may_be_overwrite=any(step.may_be_overwrite for step, _ in steps),
    )


def _operation(operations: Iterable[TableOperation], *, is_gone: bool) -> TableOperation:
    found = set(operations)
    # Where a partition was replaced, all that was done to its files before went with them, and
    # what was done since was done to others.
    if is_gone and TableOperation.OVERWRITE in found:
        return TableOperation.OVERWRITE
    return found.pop() if len(found) == 1 else TableOperation.UPDATE
