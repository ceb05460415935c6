"""Taking an operation back, while nothing builds on what it did."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, assert_never

from branch_console.commit.journal import Journal
from branch_console.commit.rows.write_receipt import find_receipt_of_write
from branch_console.errors import CommitConflict, ErrorKind, InvalidInput, NotFound, PaimonError
from branch_console.format.identifier import Identifier
from branch_console.format.journals.branches import FenceBranchJournal, RenameBranchJournal
from branch_console.format.journals.consumers import ConsumersJournal
from branch_console.format.journals.expiry import UncleanJournal, UnexpireJournal
from branch_console.format.journals.history import HistoryJournal
from branch_console.format.journals.names import NamesBackJournal
from branch_console.format.journals.partitions import MarkDoneJournal
from branch_console.format.journals.tags import (
    RenameTagJournal,
    TagJournal,
    TagsJournal,
    UntagJournal,
)
from branch_console.format.journals.terms import OperationJournal
from branch_console.format.journals.undo import UNDO_JOURNAL, RestoreBranchJournal, UndoJournal
from branch_console.format.lineage_event import LineageEvent, LineageKind, undone_by
from branch_console.format.receipt import Receipt
from branch_console.operations.undo_request import UndoRequest
from branch_console.procedures.branch.consumers import finish_consumers
from branch_console.procedures.branch.fence_branch import finish_fence
from branch_console.procedures.branch.rename_branch import finish_rename
from branch_console.procedures.branch.rename_tag import finish_tag_name
from branch_console.procedures.branch.tags import finish_tag, finish_tag_deletion, finish_tags
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import NOTHING_TO_UNDO, Preview, keeps, plan_digest
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.history_transfer import finish_history_transfer
from branch_console.procedures.maintenance.mark_partition_done import finish_marks
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.procedures.undo.undo_branch import (
    finish_restore,
    plan_rename_back,
    plan_restore,
)
from branch_console.procedures.undo.undo_cleaning import finish_cleaning_back, plan_cleaning_back
from branch_console.procedures.undo.undo_consumers import plan_consumers_back
from branch_console.procedures.undo.undo_expiry import finish_expiry_back, plan_expiry_back
from branch_console.procedures.undo.undo_fence import plan_fence_back
from branch_console.procedures.undo.undo_history import plan_way_back
from branch_console.procedures.undo.undo_marks import plan_marks_back
from branch_console.procedures.undo.undo_names import finish_names_back
from branch_console.procedures.undo.undo_objects import UNDO_OF_CATALOG
from branch_console.procedures.undo.undo_tag import plan_tag_back
from branch_console.table.file_store_table import FileStoreTable

Way = Callable[[Warehouse, ProcedureCall, FileStoreTable, LineageEvent], PlannedOperation]

_WAYS: Final[Mapping[LineageKind, Way]] = MappingProxyType(
    {
        LineageKind.DROPPED: plan_restore,
        LineageKind.RENAMED: plan_rename_back,
        LineageKind.FAST_FORWARDED: plan_way_back,
        LineageKind.MERGED: plan_way_back,
        LineageKind.CHERRY_PICKED: plan_way_back,
        LineageKind.REVERTED: plan_way_back,
        LineageKind.REPLACED: plan_way_back,
        LineageKind.ROLLED_BACK: plan_way_back,
        LineageKind.PARTITIONS_EXPIRED: plan_way_back,
        LineageKind.MISSING_FILES_REMOVED: plan_way_back,
        LineageKind.MARKED_DONE: plan_marks_back,
        LineageKind.TAGGED: plan_tag_back,
        LineageKind.UNTAGGED: plan_tag_back,
        LineageKind.TAG_RENAMED: plan_tag_back,
        LineageKind.FENCED: plan_fence_back,
        LineageKind.UNFENCED: plan_fence_back,
        LineageKind.EXPIRED: plan_expiry_back,
        LineageKind.CLEANED: plan_cleaning_back,
        LineageKind.CONSUMERS_RESET: plan_consumers_back,
    }
)
_INSTEAD: Final[Mapping[LineageKind, str]] = MappingProxyType(
    {
        LineageKind.CREATED: "drop the branch instead.",
        LineageKind.FORKED: "drop the branch instead.",
        LineageKind.PROTECTED: "remove the protection instead.",
        LineageKind.UNPROTECTED: "protect the branch again instead.",
        LineageKind.PINNED: "delete the tag instead.",
        LineageKind.RELEASED: "the files are gone.",
        LineageKind.WARNED: "a warning changes nothing.",
        LineageKind.ARCHIVED: "take the branch out of the archive instead.",
        LineageKind.UNARCHIVED: "archive the branch again instead.",
        LineageKind.COMPACTED: "no row changed, and the snapshots before are as they were.",
        LineageKind.REPAIRED: "files of the branch need the schemas that it copied.",
    }
)


def plan_undo(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide whether an operation can be taken back.

    Arguments of the call: `table`, `operation` (its id), `plan_id`.

    Raises:
        InvalidInput: It is an operation of a kind that is not undone, or a write of rows.
        NotFound: The ledger of the table knows no such operation.
    """
    table, operation_id = table_of(warehouse, call), call.request(UndoRequest).operation
    events = table.ledger.whole_as_written()
    event = next(
        (each for each in events if each.operation_id == operation_id and each.receipt), None
    )
    if event is None:
        _raise_if_written(warehouse, table, operation_id)
        raise NotFound(
            f"The ledger of {table.identifier.table_name} has no operation {operation_id!r}: it "
            "changed nothing, has not ended, or was another table's.",
            kind=ErrorKind.OPERATION_NOT_FOUND,
            operation_id=operation_id,
        )
    undone = undone_by(events).get(operation_id)
    if undone is not None and undone.receipt is not None:
        return _already(call, table, undone, undone.receipt)
    _raise_if_part(warehouse, table, operation_id)
    way = _WAYS.get(event.kind)
    if way is None or (event.undoes is not None and event.kind is not LineageKind.REVERTED):
        instead = _INSTEAD.get(event.kind, "run again what it took back.")
        raise InvalidInput(
            f"There is no undo of operation {operation_id} ({event.kind}): {instead}",
            kind=ErrorKind.UNSUPPORTED,
            operation_id=operation_id,
        )
    return way(warehouse, call, table, event)


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoChance:
    """Whether `undo` of an operation would run, as things stand.

    Attributes:
        obstacle: Why not, in sentences that name the way out; None if it would.
        undone_by: The operation that took it back already.
    """

    obstacle: str | None
    undone_by: str | None = None


def find_undo_chance(
    warehouse: Warehouse, table: Identifier | None, operation_id: str
) -> UndoChance:
    """Tell whether an operation can be taken back now, and what stands in the way.

    Args:
        warehouse: The warehouse.
        table: The table that it changed; None for an operation of the catalog.
        operation_id: The operation.
    """
    call = ProcedureCall(
        name=UNDO.name,
        arguments={
            "table": None if table is None else table.full_name,
            "operation": operation_id,
        },
        actor="",
        operation_id="undo-chance",
    )
    try:
        plan = plan_undo if table is not None else UNDO_OF_CATALOG.plan
        planned = plan(warehouse, call)
    except PaimonError as error:
        return UndoChance(obstacle=error.message)
    if planned.earlier_receipt is not None:
        text = planned.preview.consequences[0].text
        return UndoChance(obstacle=text, undone_by=planned.earlier_receipt.operation_id)
    return UndoChance(obstacle=" ".join(each.text for each in planned.preview.blocks) or None)


def finish_undo(operation: Operation, journal: UndoJournal) -> Receipt:
    """Carry out the journalled way back, unless another undo of the same operation is first.

    Raises:
        CommitConflict: Somebody came in between; what the operation did stands, or is undone.
    """
    undone, own = journal.undoes or "", operation.intent.operation_id
    claim = f"undo-{undone}"
    holder = operation.journal.claim(claim, own)
    if holder != own:
        raise _another_undo(undone, holder)
    try:
        # One that had the claim before has told of it by now.
        other = undone_by(operation.table.ledger.whole_as_written()).get(undone)
        if other is not None and other.operation_id != own:
            raise _another_undo(undone, other.operation_id)
        return _finish(operation, journal)
    finally:
        operation.journal.release(claim, own)


def _finish(operation: Operation, journal: UndoJournal) -> Receipt:
    match journal:
        case RestoreBranchJournal():
            return finish_restore(operation, journal)
        case RenameBranchJournal():
            return finish_rename(operation, journal)
        case HistoryJournal():
            return finish_history_transfer(operation, journal)
        case TagJournal():
            return finish_tag(operation, journal)
        case UntagJournal():
            return finish_tag_deletion(operation, journal)
        case TagsJournal():
            return finish_tags(operation, journal)
        case RenameTagJournal():
            return finish_tag_name(operation, journal)
        case MarkDoneJournal():
            return finish_marks(operation, journal)
        case NamesBackJournal():
            return finish_names_back(operation, journal)
        case FenceBranchJournal():
            return finish_fence(operation, journal)
        case ConsumersJournal():
            return finish_consumers(operation, journal)
        case UnexpireJournal():
            return finish_expiry_back(operation, journal)
        case UncleanJournal():
            return finish_cleaning_back(operation, journal)
        case _:
            assert_never(journal)


def _another_undo(undone: str, operation_id: str) -> CommitConflict:
    return CommitConflict(
        f"Operation {operation_id} undoes operation {undone} too, and was first. Nothing was "
        "changed by this one; look at the receipt of the other.",
        kind=ErrorKind.HEAD_MOVED,
        operation_id=operation_id,
    )


UNDO = Procedure(
    name="undo",
    what="undo this operation",
    doing="Taking the operation back.",
    plan=plan_undo,
    codec=UNDO_JOURNAL,
    finish=finish_undo,
)


def _raise_if_part(warehouse: Warehouse, table: FileStoreTable, operation_id: str) -> None:
    """Raise InvalidInput for the part of a merge of the catalog, whose ledger must say so too."""
    intent = Journal(warehouse.store, table.paths).find(operation_id)
    whole = None if intent is None else intent.catalog_operation
    if whole is not None:
        raise InvalidInput(
            f"Operation {operation_id} is a part of operation {whole} of the catalog. Undo it "
            f"without naming the table: branch-console undo {operation_id}; or undo {whole} as a "
            "whole.",
            kind=ErrorKind.UNSUPPORTED,
            operation_id=whole,
        )


def _raise_if_written(warehouse: Warehouse, table: FileStoreTable, operation_id: str) -> None:
    """Raise InvalidInput for a write of rows, which has a receipt and is in no ledger."""
    if find_receipt_of_write(table, warehouse.store, operation_id) is not None:
        raise InvalidInput(
            f"There is no undo of operation {operation_id}, which wrote rows: revert it instead.",
            kind=ErrorKind.UNSUPPORTED,
            operation_id=operation_id,
        )


def _already(
    call: ProcedureCall, table: FileStoreTable, undone: LineageEvent, receipt: Receipt
) -> PlannedOperation:
    text = f"Operation {undone.undoes} was undone already, by operation {undone.operation_id}."
    preview = Preview(
        procedure=call.name,
        title=f"Undo operation {undone.undoes}",
        plan_id=plan_digest(call, undone.id),
        consequences=(keeps(text),),
        typed_name=None,
        role=Role.VIEWER,
        undo=NOTHING_TO_UNDO,
    )
    return PlannedOperation(
        preview=preview, table=table, branch="", journal=OperationJournal(), earlier_receipt=receipt
    )
