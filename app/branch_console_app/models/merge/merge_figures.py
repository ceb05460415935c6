"""The counts of a merge, as far as its plan knows them."""

from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.schema_diff import SchemaDiff
from branch_console.format.table_schema import TableSchema
from branch_console.merge.file_moves import FileMoves, Strategy
from branch_console.merge.plan import Plan, ThreeWayPlan, found_by
from branch_console_app.models.parts.exactness import AT_LEAST, BOUNDS, NOT_ROWS, UNREAD, Figure
from branch_console_app.models.parts.wording import NOT_READ, count, signed, size

FileSums: TypeAlias = dict[tuple[bytes, int], tuple[int, int]]
"""Files and their records by partition and bucket."""


def merge_figures(
    plan: Plan,
    schema: TableSchema | None,
    changed: SchemaDiff | None,
    *,
    is_compared: bool = False,
) -> tuple[Figure, ...]:
    """Return what is counted of a merge; nothing where it has no moves.

    Args:
        plan: The merge.
        schema: The newest one of the target.
        changed: What the merge makes of that.
        is_compared: Whether somebody has compared the rows that both sides changed.
    """
    found = found_by(plan)
    return () if found is None else _figures(found, changed, is_compared=is_compared)


def _figures(
    plan: ThreeWayPlan, changed: SchemaDiff | None, *, is_compared: bool
) -> tuple[Figure, ...]:
    cost = plan.cost
    by_strategy = _files_by_strategy(plan.moves)
    # What is counted only where there is some.
    further = {
        "Conflicts": len(plan.conflicts),
        "Data files rewritten": cost.files_joined,
        "Buckets to compare": 0 if is_compared else cost.buckets_to_compare,
    }
    restored = Figure(
        label="Data files restored",
        value=count(cost.files_restored),
        help="From before a compaction of the target: the source changed rows in them",
    )
    return (
        Figure(
            label="Data files reused",
            value=count(by_strategy.get(Strategy.ADOPT, 0)),
            help="Files of the source, in buckets that only the source changed",
        ),
        _so_far(
            plan,
            "Data files added",
            count(by_strategy.get(Strategy.REPLAY, 0)),
            "Files of the source that are added to what the target changed",
        ),
        _so_far(plan, "Files removed", count(cost.files_removed)),
        *([restored] if cost.files_restored else []),
        *_row_figures(plan),
        _so_far(
            plan,
            "Copied",
            size(cost.bytes_to_copy),
            _why_no_byte(plan),
        ),
        Figure(label="Schema changes", value=count(len(changed.changes) if changed else 0)),
        *(Figure(label=label, value=count(number)) for label, number in further.items() if number),
    )


def _why_no_byte(plan: ThreeWayPlan) -> str | None:
    if plan.cost.bytes_to_copy:
        return None
    return f"0: {'the branches share the files' if plan.shares_files else 'copies by hard links'}"


def bounds_reasons(
    plan: Plan, schema: TableSchema | None, *, is_compared: bool = False
) -> tuple[str, ...]:
    """Say why counts of rows are not exact."""
    found = found_by(plan)
    if found is None:
        return ()
    if found.cost.buckets_to_compare:
        if is_compared:
            return ("Rows were compared. How many change follows from what settles conflicts.",)
        return ("Row counts are known after the row comparison.",)
    if found.cost.files_joined:
        return ("Only rows tell which of a file both sides touched: they are read in the run.",)
    if schema is not None and schema.primary_keys:
        return ("These are records in files; one key can have several.",)
    return ()


def records_moved(plan: ThreeWayPlan) -> tuple[int, int]:
    """Return the records of the files that come, and of those that go."""
    go = int(pc.sum(plan.moves.remove["row_count"]).as_py() or 0)
    return plan.cost.records_added + go, go


def files_by_place(*tables: pa.Table) -> FileSums:
    """Files and records of each bucket."""
    files = pa.concat_tables(tables).select(["partition", "bucket", "row_count"])
    sums = files.group_by(["partition", "bucket"]).aggregate(
        [([], "count_all"), ("row_count", "sum")]
    )
    columns = (
        sums[name].to_pylist() for name in ("partition", "bucket", "count_all", "row_count_sum")
    )
    return {
        (place, bucket): (number, rows)
        for place, bucket, number, rows in zip(*columns, strict=True)
    }


def _so_far(plan: ThreeWayPlan, label: str, value: str, help_: str | None = None) -> Figure:
    """A count to which buckets may add that only rows decide."""
    if not plan.cost.buckets_to_compare:
        return Figure(label=label, value=value, help=help_)
    return Figure(label=label, value=f"{AT_LEAST} {value}", known=BOUNDS, help=help_)


def _row_figures(plan: ThreeWayPlan) -> tuple[Figure, Figure]:
    come, go = records_moved(plan)
    if plan.cost.buckets_to_compare:
        return _rows("Rows added", None), _rows("Rows removed", None)
    if not plan.cost.is_of_rows:
        return _records("Records in added files", come), _records("Records in removed files", go)
    if plan.cost.files_joined:
        return _rows("Rows added", come, AT_LEAST), _rows("Rows removed", None)
    return _rows("Rows added", come), _rows("Rows removed", -go)


def _records(label: str, records: int) -> Figure:
    # Records of one key may be several, so that they have no sign of rows.
    return Figure(label=label, value=count(records), known=NOT_ROWS)


def _rows(label: str, rows: int | None, bound: str | None = None) -> Figure:
    if rows is None:
        return Figure(label=label, value=NOT_READ, known=UNREAD)
    if bound is None:
        return Figure(label=label, value=signed(rows))
    return Figure(label=label, value=f"{bound} {count(abs(rows))}", known=BOUNDS)


def _files_by_strategy(moves: FileMoves) -> dict[Strategy, int]:
    added = files_by_place(moves.add)
    found: dict[Strategy, int] = {}
    for move in moves.buckets:
        found[move.strategy] = found.get(move.strategy, 0) + added.get(move.place, (0, 0))[0]
    return found
