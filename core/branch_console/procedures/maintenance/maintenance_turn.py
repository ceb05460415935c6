"""The turn of a procedure that takes names or files from a table: its plan, its claim and its end.

One operation of a table at a time retires names, brings them back or removes files.
"""

from dataclasses import dataclass

from branch_console.diff.expiry.dry_run import CleaningDryRun, ExpiryDryRun
from branch_console.errors import CommitConflict, ErrorKind
from branch_console.format.journals.expiry import MAINTENANCE_CLAIM
from branch_console.format.journals.terms import OperationJournal
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Consequence, Preview, blocks
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.maintenance.release_files import find_other_operation
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation
from branch_console.procedures.run.receipts import event_of, receipt_without_change
from branch_console.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlannedTurn(PlannedOperation):
    """The plan of a procedure that takes names or files from a table.

    Attributes:
        dry_run: The plan line by line; None for procedures that take only a few things.
    """

    dry_run: ExpiryDryRun | CleaningDryRun | None = None


def planned_turn(
    call: ProcedureCall,
    table: FileStoreTable,
    preview: Preview,
    journal: OperationJournal | None,
    *,
    now_millis: int,
    dry_run: ExpiryDryRun | CleaningDryRun | None = None,
) -> PlannedTurn:
    """Return the plan of a procedure that takes names or files from a table.

    Args:
        call: The call.
        table: The table on the branch that the procedure reads.
        preview: The consequences.
        journal: Everything that finishing needs; None if nothing is due. That is no error: the
            receipt says what stays.
        now_millis: The time of the plan, used in the receipt if nothing is due.
        dry_run: The plan line by line.
    """
    nothing = receipt_without_change(
        call,
        preview.plan_id,
        tuple(each.text for each in preview.consequences),
        started_millis=now_millis,
        finished_millis=now_millis,
    )
    return PlannedTurn(
        preview=preview,
        table=table,
        branch=table.branch,
        journal=OperationJournal() if journal is None else journal,
        earlier_receipt=nothing if journal is None else None,
        dry_run=dry_run,
    )


def obstacles(
    warehouse: Warehouse, table: FileStoreTable, call: ProcedureCall
) -> tuple[Consequence, ...]:
    """Return the obstacles of a removal of names or files from a table."""
    other = find_other_operation(warehouse, table, call.operation_id)
    if other is None:
        return ()
    return (
        blocks(
            f"Operation {other} is at work on {table.identifier.table_name}, or was cut off, and "
            "may need what would go. Wait for it, or run: branch-console recover.",
            ErrorKind.BRANCH_IN_USE,
        ),
    )


def claim_maintenance(operation: Operation) -> None:
    """Be the only one that retires names of a table, brings them back or removes files.

    Raises:
        CommitConflict: Another operation is at work.
    """
    own = operation.intent.operation_id
    holder = operation.journal.claim(MAINTENANCE_CLAIM, own)
    if holder != own:
        raise CommitConflict(
            f"Operation {holder} expires snapshots of {operation.subject}, or was cut off at it. "
            "Nothing was changed by this one. Wait for it, or run: branch-console recover.",
            kind=ErrorKind.BRANCH_IN_USE,
            operation_id=holder,
        )


def end_turn(
    operation: Operation, kind: LineageKind, receipt: Receipt, *, undoes: str | None = None
) -> Receipt:
    """Record what an operation did, and let the next one have its turn."""
    done = operation.complete(event_of(operation, kind, receipt, undoes=undoes))
    give_up_turn(operation)
    return done


def give_up_turn(operation: Operation) -> None:
    """Let the next operation have its turn; this one has nothing left to do."""
    operation.journal.release(MAINTENANCE_CLAIM, operation.intent.operation_id)
