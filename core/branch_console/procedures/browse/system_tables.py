"""System tables of a branch, as pages and commands show them."""

import pyarrow as pa

from branch_console.format.identifier import Identifier
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.table.system_tables import read_first_rows as first_rows
from branch_console.table.system_tables import read_system_table as system_table


def read_system_table(warehouse: Warehouse, table: Identifier, name: str) -> pa.Table:
    """Return a system table of a branch, with Paimon's columns.

    Raises:
        NotFound: There is no such system table.
    """
    return system_table(warehouse.table(table), name)


def read_first_rows(
    warehouse: Warehouse, table: Identifier, name: str, most: int
) -> tuple[pa.Table, int]:
    """Return the first rows of a system table of a branch, and how many rows it has.

    Raises:
        NotFound: There is no such system table.
    """
    return first_rows(warehouse.table(table), name, most)
