"""Conflicts of rows as people read them, one by one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from branch_console.format.values.readable import readable
from branch_console.merge.row_work import without_rows
from branch_console_app.models.merge.resolver import WHOLE_ROW, key_text, side_text


@dataclass(frozen=True, slots=True, kw_only=True)
class RowConflictLine:
    """One conflict; values are written as `cell_text` writes them.

    Attributes:
        key: Columns of the primary key with their values, as `id = 7`.
        result: The value that settles it, and who decided; blank while it is open.
    """

    id: str
    key: str
    column: str
    kind: str
    base: str
    ours: str
    theirs: str
    result: str
    is_open: bool
    needs_another_look: bool


def conflict_lines(conflicts: pa.Table, visible: slice) -> tuple[RowConflictLine, ...]:
    """Return some of the conflicts, in their order."""
    start, stop, _ = visible.indices(conflicts.num_rows)
    seen = without_rows(conflicts.slice(start, stop - start))
    return tuple(_line(each) for each in readable(seen).to_pylist())


def _line(row: Mapping[str, Any]) -> RowConflictLine:
    settled = row["take"] is not None
    by = f" ({row['decided_by']})" if row["decided_by"] else ""
    return RowConflictLine(
        id=row["conflict_id"],
        key=key_text(row["key"]),
        column=row["column"] or WHOLE_ROW,
        kind=row["kind"],
        base=side_text(row, "base"),
        ours=side_text(row, "ours"),
        theirs=side_text(row, "theirs"),
        result=f"{side_text(row, 'result')}{by}" if settled else "",
        is_open=not settled,
        needs_another_look=row["needs_another_look"],
    )
