"""Which tables of main other catalog branches hold: a drop on main must leave them theirs."""

from branch_console.procedures.call.warehouse import Warehouse


def holders_of(warehouse: Warehouse, folder: str) -> tuple[str, ...]:
    """Return the catalog branches that hold a table in a folder, by name.

    Args:
        warehouse: The warehouse.
        folder: Below the warehouse, such as `air.db/flights`.
    """
    return ()


def holders_in(warehouse: Warehouse, database: str) -> tuple[str, ...]:
    """Return the catalog branches that hold a table in the folder of a database, by name."""
    return ()
