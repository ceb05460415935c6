"""Our system tables, in the form in which `build_warehouses` writes down Paimon's."""

from typing import Any

from core.table.file_store_table import FileStoreTable
from core.table.system_tables import read_system_table
from tests.support.golden import to_plain


def our_system_table(table: FileStoreTable, name: str) -> dict[str, Any]:
    """A system table: its columns and its rows."""
    found = read_system_table(table, name)
    rows = [[_unnamed(value) for value in row.values()] for row in found.to_pylist()]
    return {"columns": found.column_names, "rows": to_plain(rows)}


def _unnamed(value: Any) -> Any:
    """A nested row as the list of its values, as Paimon's answers have it."""
    if isinstance(value, dict):
        return [_unnamed(item) for item in value.values()]
    if isinstance(value, list):
        return [_unnamed(item) for item in value]
    return value
