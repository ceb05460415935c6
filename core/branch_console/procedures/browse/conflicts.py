"""The conflicts of rows that a run has found, for whoever is to settle them."""

import pyarrow as pa

from branch_console.commit.rows.row_conflicts import find_row_conflicts
from branch_console.format.identifier import Identifier
from branch_console.procedures.call.warehouse import Warehouse


def read_row_conflicts(warehouse: Warehouse, table: Identifier, plan_id: str) -> pa.Table | None:
    """Return the conflicts of rows of a plan, None if no run has compared its rows yet.

    Returns:
        Columns of `row_conflict_schema`, settled ones too, by bucket and key.

    Raises:
        NotFound: There is no such table or branch.
    """
    paths = warehouse.table(table).paths
    return find_row_conflicts(warehouse.store.files, paths, plan_id)
