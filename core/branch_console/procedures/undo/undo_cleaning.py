"""Undoing a cleaning: the orphan files that it noted stay, and those in the trash come back."""

from typing import Final

from branch_console.diff.history_move import count
from branch_console.errors import CommitConflict, ErrorKind
from branch_console.format.journals.expiry import UncleanJournal
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.receipt import Receipt
from branch_console.maintenance.release import find_release_list, forget_release_list
from branch_console.maintenance.trash import Trash
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Consequence, blocks, changes, keeps
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.maintenance.maintenance_turn import (
    claim_maintenance,
    end_turn,
    give_up_turn,
)
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation
from branch_console.procedures.run.receipts import receipt_of
from branch_console.procedures.undo.undo_preview import planned_undo
from branch_console.table.file_store_table import FileStoreTable

_FORGETTING: Final = "forgetting"
_GONE: Final = "Undo is not possible: the files that it noted were removed."


def plan_cleaning_back(
    warehouse: Warehouse, call: ProcedureCall, table: FileStoreTable, event: LineageEvent
) -> PlannedOperation:
    """Decide whether orphan files that a cleaning noted can stay, or come back."""
    noted = find_release_list(table, warehouse.store, event.operation_id)
    put = _trash(warehouse, table, event.operation_id).find()
    consequences: list[Consequence] = []
    if put is not None:
        consequences.append(
            changes(f"{count(put.num_rows, 'orphan file')} come back from the trash.")
        )
    if noted is not None and noted.num_rows:
        consequences.append(
            keeps(f"{count(noted.num_rows, 'orphan file')} stay, until they are noted again.")
        )
    if not consequences:
        consequences.append(blocks(_GONE, ErrorKind.UNDO_BLOCKED))
    return planned_undo(
        call,
        table,
        event,
        consequences,
        branch=event.branch,
        journal=UncleanJournal(cleaning=event.operation_id),
        role=Role.OPERATOR,
    )


def finish_cleaning_back(operation: Operation, journal: UncleanJournal) -> Receipt:
    """Forget what a cleaning noted, and bring back what it put into the trash.

    Raises:
        CommitConflict: Another operation removes files of the table now, or has removed these.
    """
    table, store = operation.table, operation.warehouse.store
    operation_id = operation.intent.operation_id
    claim_maintenance(operation)
    forgotten = operation.journal.has_reached(operation_id, _FORGETTING)
    trash = _trash(operation.warehouse, table, journal.cleaning)
    noted, put = find_release_list(table, store, journal.cleaning), trash.find()
    if not forgotten and noted is None and put is None:
        give_up_turn(operation)
        raise CommitConflict(f"{_GONE} Nothing was changed.", kind=ErrorKind.UNDO_BLOCKED)
    operation.journal.mark(operation_id, _FORGETTING)
    forget_release_list(table, store, journal.cleaning)
    trash.bring_back()
    note = "The orphan files stay."
    if put is not None:
        note = f"{count(put.num_rows, 'orphan file')} came back from the trash."
    receipt = receipt_of(operation, notes=(note,))
    return end_turn(operation, LineageKind.UNDONE, receipt, undoes=journal.undoes)


def _trash(warehouse: Warehouse, table: FileStoreTable, cleaning: str) -> Trash:
    return Trash(table=table, store=warehouse.store, operation_id=cleaning)
