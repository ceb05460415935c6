"""Our system tables, in the form in which `build_warehouses` writes down Paimon's."""

import re
from collections.abc import Collection
from typing import Any

from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.system_tables import read_system_table
from tests.support.build_warehouses import BINARY
from tests.support.golden import to_plain


def our_system_table(table: FileStoreTable, name: str) -> dict[str, Any]:
    """A system table: its columns and its rows."""
    found = read_system_table(table, name)
    rows = [[_unnamed(value) for value in row.values()] for row in found.to_pylist()]
    return {"columns": found.column_names, "rows": to_plain(rows)}


def row_differences(
    ours: dict[str, Any], theirs: dict[str, Any], ignored: Collection[str] = ()
) -> dict[str, Any]:
    """What differs, by column; newer versions of Paimon, and we, know more columns."""
    shared = [column for column in ours["columns"] if column in theirs["columns"]]
    if shared != theirs["columns"]:
        return {"columns": (shared, theirs["columns"])}
    if len(ours["rows"]) != len(theirs["rows"]):
        return {"row count": (len(ours["rows"]), len(theirs["rows"]))}
    positions = [ours["columns"].index(column) for column in shared]
    our_rows = sorted(([row[i] for i in positions] for row in ours["rows"]), key=repr)
    their_rows = sorted(theirs["rows"], key=repr)
    return {
        f"{column} of row {number}": (my_cell, their_cell)
        for number, (my_row, their_row) in enumerate(zip(our_rows, their_rows, strict=True))
        for column, my_cell, their_cell in zip(shared, my_row, their_row, strict=True)
        if column not in ignored and not _same(my_cell, their_cell)
    }


def _same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, str) and isinstance(theirs, str) and BINARY in theirs:
        # Of a binary value Paimon prints nothing that could be compared.
        return re.fullmatch(re.escape(theirs).replace(re.escape(BINARY), ".*"), mine) is not None
    return bool(mine == theirs)


def _unnamed(value: Any) -> Any:
    """A nested row as the list of its values, as Paimon's answers have it."""
    if isinstance(value, dict):
        return [_unnamed(item) for item in value.values()]
    if isinstance(value, list):
        return [_unnamed(item) for item in value]
    return value
