"""Undoing a cleaning: the orphan files that it noted stay, as long as none was removed."""

from typing import Final

from branch_console.diff.history_move import count
from branch_console.errors import CommitConflict, ErrorKind
from branch_console.format.journals.expiry import UncleanJournal
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.receipt import Receipt
from branch_console.maintenance.release import find_release_list, forget_release_list
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Consequence, blocks, keeps
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.maintenance.maintenance_turn import (
    claim_maintenance,
    end_turn,
    give_up_turn,
)
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import Planned
from branch_console.procedures.run.receipts import receipt_of
from branch_console.procedures.undo.undo_preview import planned_undo
from branch_console.table.file_store_table import FileStoreTable

_FORGETTING: Final = "forgetting"
_GONE: Final = "Undo is not possible: the files that it noted were removed."


def plan_cleaning_back(
    warehouse: Warehouse, call: ProcedureCall, table: FileStoreTable, event: LineageEvent
) -> Planned:
    """Decide whether orphan files that a cleaning noted can stay."""
    noted = find_release_list(table, warehouse.store, event.operation_id)
    told: list[Consequence] = []
    if noted is None or not noted.num_rows:
        told.append(blocks(_GONE, ErrorKind.UNDO_BLOCKED))
    else:
        told.append(
            keeps(f"{count(noted.num_rows, 'orphan file')} stay, until they are noted again.")
        )
    return planned_undo(
        call,
        table,
        event,
        told,
        branch=event.branch,
        journal=UncleanJournal(cleaning=event.operation_id),
        role=Role.OPERATOR,
    )


def finish_cleaning_back(operation: Operation, journal: UncleanJournal) -> Receipt:
    """Forget what a cleaning noted.

    Raises:
        CommitConflict: Another operation removes files of the table now, or has removed these.
    """
    table, store = operation.table, operation.warehouse.store
    operation_id = operation.intent.operation_id
    claim_maintenance(operation)
    forgotten = operation.journal.has_reached(operation_id, _FORGETTING)
    if not forgotten and find_release_list(table, store, journal.cleaning) is None:
        give_up_turn(operation)
        raise CommitConflict(f"{_GONE} Nothing was changed.", kind=ErrorKind.UNDO_BLOCKED)
    operation.journal.mark(operation_id, _FORGETTING)
    forget_release_list(table, store, journal.cleaning)
    receipt = receipt_of(operation, notes=("The orphan files stay.",))
    return end_turn(operation, LineageKind.UNDONE, receipt, undoes=journal.undoes)
