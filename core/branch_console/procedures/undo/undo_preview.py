"""The common parts of every undo plan."""

from dataclasses import dataclass, replace

from branch_console.commit.journal import Journal
from branch_console.errors import ErrorKind, NotFound
from branch_console.format.followed_branch import FollowedBranch, follow_branch
from branch_console.format.identifier import MAIN_BRANCH, RESERVED_PREFIXES
from branch_console.format.journals.history import HistoryJournal
from branch_console.format.journals.intent import Intent
from branch_console.format.journals.tags import (
    RenameTagJournal,
    TagJournal,
    TagsJournal,
    UntagJournal,
)
from branch_console.format.journals.undo import UndoJournal, decision_of_undo
from branch_console.format.kept_elsewhere import Act
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Consequence, Preview, blocks, plan_digest
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.run.procedure import PlannedOperation
from branch_console.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """A branch that an undo needs, as it is now.

    Attributes:
        name: Its name of today; of one that is gone its last one, which may be another's by now.
        gone: The message if it is gone.
    """

    name: str
    gone: tuple[Consequence, ...]


def traced(table: FileStoreTable, event: LineageEvent, branch: str) -> Traced:
    """Find a branch that an operation was about, whatever it was renamed to since.

    Args:
        table: The table.
        event: The operation.
        branch: The name that the branch had at the end of it.
    """
    trail = follow_branch(table.ledger.whole_as_written(), event.operation_id, branch)
    is_there = trail.name == MAIN_BRANCH or table.branches.exists(trail.name)
    notes = () if is_there and trail.ended_by is None else (_gone(trail, is_there=is_there),)
    return Traced(name=trail.name, gone=notes)


def intent_of(ledger: Journal, event: LineageEvent) -> Intent:
    """Return what an operation set out to do, which says the way back.

    Args:
        ledger: The journal of the table.
        event: The operation.

    Raises:
        NotFound: The journal of the operation is gone.
    """
    intent = ledger.find(event.operation_id)
    if intent is None:
        raise journal_gone(event)
    return intent


def journal_gone(event: LineageEvent) -> NotFound:
    """Return the refusal of an undo whose journal is gone."""
    return NotFound(
        f"The journal of operation {event.operation_id} is gone, and with it the way back.",
        kind=ErrorKind.OPERATION_NOT_FOUND,
        operation_id=event.operation_id,
    )


def planned_undo(
    call: ProcedureCall,
    table: FileStoreTable,
    event: LineageEvent,
    consequences: list[Consequence],
    *,
    branch: str,
    journal: UndoJournal,
    role: Role = Role.EDITOR,
    rescues: bool = False,
) -> PlannedOperation:
    """Return the plan of an undo.

    Args:
        call: The call of `undo`.
        table: The table.
        event: The event of the operation to undo.
        consequences: The consequences.
        branch: The branch that changes.
        journal: All that is needed to finish.
        role: The least role that may.
        rescues: Whether what it removes is kept on a rescue branch.
    """
    preview = Preview(
        procedure=call.name,
        title=f"Undo {deed_words(event)} of {table.identifier.table_name}",
        plan_id=plan_digest(call, decision_of_undo(journal), [each.text for each in consequences]),
        consequences=tuple(consequences),
        typed_name=None,
        role=role,
        undo=_again(event),
        rescues=rescues,
    )
    return PlannedOperation(
        preview=preview,
        act=_act_of(journal),
        table=table,
        branch=branch,
        journal=replace(
            journal, plan_id=preview.plan_id, undoes=event.operation_id, reason=call.reason
        ),
    )


def is_merge(event: LineageEvent) -> bool:
    """Whether an event is of a merge whose source is known."""
    kinds = (LineageKind.MERGED, LineageKind.FAST_FORWARDED)
    return event.kind in kinds and event.source_branch is not None


def operation_words(event: LineageEvent) -> str:
    """Name an operation: a merge by its branches, any other by its id."""
    if is_merge(event):
        return f"the merge of {event.source_branch!r} into {event.branch!r}"
    return f"operation {event.operation_id}"


def deed_words(event: LineageEvent) -> str:
    """Say what an operation did, for the title of its undo; by its id where no words are known."""
    branch, source = repr(event.branch), repr(event.source_branch)
    match event.kind:
        case LineageKind.DROPPED:
            return f"the {'release' if _is_release(event) else 'drop'} of {branch}"
        case LineageKind.RENAMED if event.source_branch is not None:
            return f"the rename of {source} to {branch}"
        case LineageKind.REPLACED if event.source_branch is not None:
            return f"the replacement of {branch} by {source}"
        case LineageKind.ROLLED_BACK:
            return f"the rollback of {branch}"
        case _:
            return operation_words(event)


def _is_release(event: LineageEvent) -> bool:
    """Whether a rescue branch or the like left, and no branch that somebody made."""
    return event.branch.startswith(RESERVED_PREFIXES)


def _again(event: LineageEvent) -> str:
    again = "run the operation again"
    if is_merge(event):
        again = f"merge {event.source_branch!r} again"
    elif event.kind is LineageKind.DROPPED:
        again = f"{'release' if _is_release(event) else 'drop'} {event.branch!r} again"
    return f"To take this undo back, {again}."


def _act_of(journal: UndoJournal) -> Act | None:
    match journal:
        case HistoryJournal():
            return Act.COMMIT
        case TagJournal() | UntagJournal() | TagsJournal() | RenameTagJournal():
            return Act.TAG
        case _:
            return None


def _gone(trail: FollowedBranch, *, is_there: bool) -> Consequence:
    """Return that a branch is gone, and how to get it back; `is_there` is of its last name."""
    text, ended = f"Undo is not possible: branch {trail.name!r} is gone", trail.ended_by
    if ended is None:
        text = (
            f"{text}, and the ledger knows of no drop: other software removed it. Restore its "
            "folder, then try again."
        )
    elif ended.kind is not LineageKind.DROPPED:
        text = (
            f"{text}: other software removed it, and operation {ended.operation_id} gave its name "
            "to another branch. That one stays as it is; change it by an operation of its own."
        )
    elif is_there:
        text = (
            f"{text}: operation {ended.operation_id} dropped it, and another branch has its name "
            f"now. Rename that one, undo operation {ended.operation_id}, then try again."
        )
    else:
        text = (
            f"{text}: operation {ended.operation_id} dropped it. Undo operation "
            f"{ended.operation_id} first."
        )
    return blocks(text, ErrorKind.UNDO_BLOCKED)
