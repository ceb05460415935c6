"""Taking back what a merge of the catalog did to the content of a table.

Where its snapshot is still the head, that leaves again, and a rescue branch keeps it; where others
built on it, a snapshot that turns it around is added.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Final

from branch_console.commit.base.head_check import is_at
from branch_console.commit.journal import Journal
from branch_console.errors import CommitConflict, ErrorKind
from branch_console.format.identifier import rescue_name
from branch_console.format.journals.history import HistoryJournal
from branch_console.format.journals.intent import Ending
from branch_console.format.journals.merge import MERGE_JOURNAL, AnyMergeJournal, MergeJournal
from branch_console.format.journals.undo import UNDO_JOURNAL
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Receipt
from branch_console.merge.file_moves import MergeRules
from branch_console.merge.plan import UpToDatePlan, merging
from branch_console.operations.isolation import Isolation
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.history.history_transfer import finish_history_transfer
from branch_console.procedures.history.way_back import inverse_of
from branch_console.procedures.merge.inputs import decided_for
from branch_console.procedures.merge.merge_branch import journal_of_decision
from branch_console.procedures.merge.merge_kind import MergeKind, MergeSpec
from branch_console.procedures.merge.publish import find_landed, finish_merge
from branch_console.procedures.run.open_operation import Operation

_TRIES: Final = 3
RULES_OF_REVERT: Final = MergeRules(isolation=Isolation.SNAPSHOT)
"""The rules that revert a merge file by file: rows that others added since never conflict."""


def take_content_back(done: Operation, journal: AnyMergeJournal, receipt: Receipt) -> str | None:
    """Take back what an operation on a table published, or finish what was cut off.

    Args:
        done: The operation, which is recorded.
        journal: The journal of the operation.
        receipt: The receipt of the operation.

    Returns:
        What became of it where others had built on it; None if all is as before.

    Raises:
        CommitConflict: Later changes of others prevent it; the published changes stay.
    """
    number = tries = 0
    while tries < _TRIES:
        number += 1
        found = _find(done, number)
        if found is None:
            # Tries that others were faster than are over: recovery has as many of its own.
            tries += 1
            found = _begin(done, journal, receipt, number)
        if found is None:
            return f"{_name(done)}: others had built on it, and no row of what came is left."
        ended = found.journal.end_of(found.intent.operation_id)
        if ended is None:
            try:
                _finish(found)
            except CommitConflict as error:
                found.end(Ending.STOPPED, error.message)
                continue
        elif ended.ending is not Ending.DONE:
            continue
        if found.intent.procedure == "undo":
            if _has_come_again(done, journal):
                continue
            return None
        return f"{_name(done)}: others had built on it, so a new snapshot takes back what came."
    raise CommitConflict(
        f"{_name(done)} got commits all the time while what came was taken "
        "back. What came stands there; run: branch-console recover.",
        kind=ErrorKind.HEAD_MOVED,
    )


def was_taken_back(done: Operation, journal: AnyMergeJournal) -> bool:
    """Whether what an operation published was taken back, or turned around."""
    for each in reversed(list(_tries(done))):
        end = each.journal.end_of(each.intent.operation_id)
        if end is not None and end.ending is Ending.DONE:
            return each.intent.procedure != "undo" or not _has_come_again(done, journal)
    return False


def _has_come_again(done: Operation, journal: AnyMergeJournal) -> bool:
    """Whether somebody who slept published once more what had left the history again."""
    return isinstance(journal, MergeJournal) and find_landed(done, journal) is not None


def _tries(done: Operation) -> Iterator[Operation]:
    """Yield what was begun to take an operation back, the first try first."""
    for number in count(1):
        found = _find(done, number)
        if found is None:
            return
        yield found


def _find(done: Operation, number: int) -> Operation | None:
    journal = Journal(done.warehouse.store, done.table.paths)
    intent = journal.find(_id(done, number))
    if intent is None:
        return None
    return replace(done, intent=intent, is_resumed=True)


def _begin(
    done: Operation, journal: AnyMergeJournal, receipt: Receipt, number: int
) -> Operation | None:
    """Begin the way back that there is as things stand; None if nothing is left to take back."""
    move = receipt.moves[0]
    if isinstance(journal, MergeJournal) and (landed := find_landed(done, journal)) is not None:
        # What came again has a snapshot of its own.
        move = replace(move, after=landed.identity, after_id=landed.id)
    target = done.table.on(move.branch)
    wanted = journal.schema_id_after
    is_altered = wanted is not None and max(target.schemas.ids(), default=None) != wanted
    if is_at(target.head(), move.after) and not is_altered:
        copy = inverse_of(journal, move, rescue_name(_id(done, number)))
        return Operation.begin(
            done.warehouse,
            done.table,
            _call(done, "undo", number, operation=done.intent.operation_id),
            branch=target.branch,
            codec=UNDO_JOURNAL,
            journal=HistoryJournal(
                copy=copy,
                event=LineageKind.UNDONE,
                undoes=done.intent.operation_id,
                notes=("The merge of the catalog that it is a part of was taken back.",),
            ),
            catalog_operation=done.intent.catalog_operation,
        )
    spec = MergeSpec(
        kind=MergeKind.REVERT,
        source=target.branch,
        target=target.branch,
        snapshot_id=move.after_id,
        reverts=done.intent.operation_id,
    )
    merge = decided_for(done.warehouse, target, spec, RULES_OF_REVERT)
    if isinstance(merge.plan, UpToDatePlan):
        return None
    plan = merging(merge.plan)
    call = _call(done, str(MergeKind.REVERT), number, snapshot=move.after_id)
    noted = journal_of_decision(merge, call.operation_id)
    if plan is None or plan.writes_rows or not isinstance(noted, MergeJournal):
        raise CommitConflict(
            f"{_name(done)}: others changed the very rows that the merge brought, so that it "
            "cannot be taken back there by itself. Revert what they did, or keep what came.",
            kind=ErrorKind.CONFLICTS_OPEN,
        )
    return Operation.begin(
        done.warehouse,
        target,
        call,
        branch=target.branch,
        codec=MERGE_JOURNAL,
        journal=replace(noted, plan_id=plan.id),
        catalog_operation=done.intent.catalog_operation,
    )


def _finish(found: Operation) -> None:
    if found.intent.procedure == "undo":
        undo = found.read(UNDO_JOURNAL)
        assert isinstance(undo, HistoryJournal)
        finish_history_transfer(found, undo)
    else:
        finish_merge(found, found.read(MERGE_JOURNAL))


def _call(done: Operation, name: str, number: int, **arguments: str | int | None) -> ProcedureCall:
    return ProcedureCall(
        name=name,
        arguments={"table": _name(done), **arguments},
        actor=done.intent.actor,
        operation_id=_id(done, number),
    )


def _id(done: Operation, number: int) -> str:
    return f"{done.intent.operation_id}-back{number}"


def _name(done: Operation) -> str:
    return done.table.identifier.table_name
