"""Conflicts of rows as people read them: counted by kind and column, then one by one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from app.models.wording import NOT_READ

WHOLE_ROW: Final = "whole row"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictGroup:
    """Conflicts of one kind in one column."""

    kind: str
    column: str
    number: int
    open_number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RowConflictLine:
    """One conflict; None stands for NULL, or of a whole row that it is not there.

    Attributes:
        key: Columns of the primary key with their values, as `id = 7`.
        result: What it was settled to; nothing while it is open.
    """

    id: str
    key: str
    column: str
    kind: str
    base: str | None
    ours: str | None
    theirs: str | None
    result: str
    is_open: bool
    needs_another_look: bool


def conflict_groups(conflicts: pa.Table) -> tuple[ConflictGroup, ...]:
    """Count conflicts by kind and column, those with the most open ones first."""
    flat = pa.table(
        {
            "kind": conflicts["kind"],
            "column": pc.fill_null(conflicts["column"], WHOLE_ROW),
            "open": pc.cast(pc.is_null(conflicts["take"]), pa.int64()),
        }
    )
    sums = flat.group_by(["kind", "column"]).aggregate([([], "count_all"), ("open", "sum")])
    groups = (
        ConflictGroup(
            kind=each["kind"],
            column=each["column"],
            number=each["count_all"],
            open_number=each["open_sum"],
        )
        for each in sums.to_pylist()
    )
    return tuple(sorted(groups, key=lambda each: (-each.open_number, each.kind, each.column)))


def conflict_lines(conflicts: pa.Table, visible: slice) -> tuple[RowConflictLine, ...]:
    """Return some of the conflicts, in their order."""
    start, stop, _ = visible.indices(conflicts.num_rows)
    return tuple(_line(each) for each in conflicts.slice(start, stop - start).to_pylist())


def _line(row: Mapping[str, Any]) -> RowConflictLine:
    settled = row["take"] is not None
    shown = NOT_READ if row["result"] is None else str(row["result"])
    by = f" ({row['decided_by']})" if row["decided_by"] else ""
    return RowConflictLine(
        id=row["conflict_id"],
        key=", ".join(f"{name} = {value}" for name, value in row["key"].items()),
        column=row["column"] or WHOLE_ROW,
        kind=row["kind"],
        base=row["base"],
        ours=row["ours"],
        theirs=row["theirs"],
        result=f"{shown}{by}" if settled else "",
        is_open=not settled,
        needs_another_look=row["needs_another_look"],
    )


def policy_of_take(side: str | None) -> str | None:
    """Return the policy that settles all that is open with one side; None without one."""
    if side not in ("ours", "theirs"):
        return None
    return f"version: 1\ntables: {{'*': {{take: {side}}}}}\n"
