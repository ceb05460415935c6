"""Receipts of operations, as pages and commands ask for them by the operation's id."""

from collections.abc import Mapping, Sequence

from branch_console.commit.rows.write_receipt import find_receipt_of_write
from branch_console.errors import ErrorKind, NotFound, PaimonError
from branch_console.format.identifier import Identifier
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import CatalogOperation
from branch_console.procedures.catalog_merge.turn_back import find_waiting_words
from branch_console.procedures.recover import tables_of
from branch_console.procedures.registry import PROCEDURES, find_catalog_procedure
from branch_console.procedures.run.open_operation import find_receipt
from branch_console.sql.tables import TableStatementKind
from branch_console.storage.parallel_io import map_parallel


def read_receipt(
    warehouse: Warehouse, operation_id: str, table: Identifier | None = None
) -> Receipt:
    """Return the receipt of a finished operation.

    Args:
        warehouse: The warehouse.
        operation_id: The operation, which is also the id of its job.
        table: The table to search; None searches the catalog and all tables.

    Raises:
        NotFound: No table knows the operation, or it waits half taken back.
    """
    of_catalog = CatalogOperation.find(warehouse, operation_id) if table is None else None
    if of_catalog is not None and (done := of_catalog.receipt()) is not None:
        return done
    if of_catalog is not None and (waiting := find_waiting_words(of_catalog)) is not None:
        raise NotFound(waiting, kind=ErrorKind.CONFLICTS_OPEN, operation_id=operation_id)
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


def read_catalog_receipts(
    warehouse: Warehouse, operation_ids: Sequence[str]
) -> Mapping[str, Receipt]:
    """Return the receipts of operations of the catalog; one that cannot be read is left out."""

    def read(operation_id: str) -> Receipt | None:
        try:
            found = CatalogOperation.find(warehouse, operation_id)
            return None if found is None else found.receipt()
        except PaimonError:
            # Its own page says why it cannot be read.
            return None

    receipts = map_parallel(warehouse.file_io, read, operation_ids)
    return {
        name: receipt
        for name, receipt in zip(operation_ids, receipts, strict=True)
        if receipt is not None
    }


def is_recorded(warehouse: Warehouse, call: ProcedureCall, receipt: Receipt) -> bool:
    """Whether `read_receipt` finds what a call returned: what changed nothing is in no ledger."""
    if find_catalog_procedure(call) is not None or call.name in set(TableStatementKind):
        return CatalogOperation.find(warehouse, receipt.operation_id) is not None
    if receipt.moves or call.name not in PROCEDURES:
        return bool(receipt.moves)
    try:
        read_receipt(warehouse, receipt.operation_id, Identifier.parse(call.table))
    except PaimonError:
        return False
    return True
