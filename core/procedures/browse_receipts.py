"""Receipts of operations, as pages and commands ask for them by the operation's id."""

from core.commit.write_receipt import find_receipt_of_write
from core.errors import ErrorKind, NotFound, PaimonError
from core.format.identifier import Identifier
from core.format.receipt import Receipt
from core.procedures.call import ProcedureCall
from core.procedures.lifecycle import VERBS
from core.procedures.operation import find_receipt
from core.procedures.recover import tables_of
from core.procedures.warehouse import Warehouse


def read_receipt(
    warehouse: Warehouse, operation_id: str, table: Identifier | None = None
) -> Receipt:
    """Return the receipt of a finished operation.

    Args:
        warehouse: The warehouse.
        operation_id: The operation, which is also the id of its job.
        table: Where to look; None looks at all tables.

    Raises:
        NotFound: No table knows the operation.
    """
    for found in tables_of(warehouse, None if table is None else table.full_name):
        receipt = find_receipt(found, operation_id) or find_receipt_of_write(
            found, warehouse.store, operation_id
        )
        if receipt is not None:
            return receipt
    raise NotFound(
        f"There is no receipt of operation {operation_id!r}: it changed nothing, or has not ended.",
        kind=ErrorKind.OPERATION_NOT_FOUND,
        operation_id=operation_id,
    )


def is_recorded(warehouse: Warehouse, call: ProcedureCall, receipt: Receipt) -> bool:
    """Whether `read_receipt` finds what a call returned: what changed nothing is in no ledger."""
    if receipt.moves or call.name not in VERBS:
        return bool(receipt.moves)
    try:
        read_receipt(warehouse, receipt.operation_id, Identifier.parse(call.text("table")))
    except PaimonError:
        return False
    return True
