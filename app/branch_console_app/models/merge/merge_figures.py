"""The counts of a merge, as far as its plan knows them."""

from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.schema_diff import SchemaDiff
from branch_console.format.table_schema import TableSchema
from branch_console.merge.file_moves import FileMoves, Strategy
from branch_console.merge.plan import Plan, ThreeWayPlan, found_by
from branch_console_app.models.merge.merge_facts import RowsOfMerge
from branch_console_app.models.parts.exactness import EXACT, LEAST, NOT_ROWS, UNREAD, Figure
from branch_console_app.models.parts.wording import NOT_READ, count, signed, size

FileSums: TypeAlias = dict[tuple[bytes, int], tuple[int, int]]
"""Files and their records by partition and bucket."""

_MOST_FIGURES: Final = 4


def merge_figures(
    plan: Plan, changed: SchemaDiff | None, rows: RowsOfMerge | None = None
) -> tuple[Figure, ...]:
    """Return what a merge changes, in at most four counts; none of them is zero.

    Args:
        plan: The merge.
        changed: What the merge makes of the target's schema.
        rows: What is known of the rows that both sides changed; None where nobody asks.
    """
    found = found_by(plan)
    if found is None:
        return ()
    conflicts = len(found.conflicts) + (0 if rows is None else rows.number)
    is_compared = rows is not None and rows.is_compared
    counted = (
        _number("Conflicts", conflicts),
        *_row_figures(found, is_compared=is_compared),
        _number("Schema changes", len(changed.changes) if changed else 0),
        _data_files(found),
    )
    return tuple(each for each in counted if each is not None)[:_MOST_FIGURES]


def file_figures(plan: Plan) -> tuple[Figure, ...]:
    """Return what a merge does with data files, for those who want to know how."""
    found = found_by(plan)
    if found is None:
        return ()
    cost, by_strategy = found.cost, _files_by_strategy(found.moves)
    counted = (
        _number("Data files reused", by_strategy.get(Strategy.ADOPT, 0)),
        _so_far(found, "Data files added", by_strategy.get(Strategy.REPLAY, 0)),
        _so_far(found, "Data files removed", cost.files_removed),
        _number("Data files restored", cost.files_restored),
        _number("Data files rewritten", cost.files_joined),
        Figure(label="Copied", value=size(cost.bytes_to_copy), help=_why_no_byte(found)),
    )
    return tuple(each for each in counted if each is not None)


def _number(label: str, number: int) -> Figure | None:
    return Figure(label=label, value=count(number)) if number else None


def _data_files(plan: ThreeWayPlan) -> Figure | None:
    """Count the files that come and go, as one figure."""
    added, removed = plan.cost.files_added, plan.cost.files_removed
    if not added and not removed:
        return None
    parts = [signed(each) for each in (added, -removed) if each]
    known = LEAST if plan.cost.buckets_to_compare else EXACT
    return Figure(
        label="Data files", value=" ".join(parts), known=known,
        help="Files that the target gets, and files that leave it.",
    )  # fmt: skip


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
            return ("How many rows change follows from how conflicts are settled.",)
        return ("Row counts are known after the row comparison.",)
    if found.cost.files_joined:
        return ("Both sides changed rows of the same file: the merge reads them, and counts then.",)
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


def _so_far(plan: ThreeWayPlan, label: str, number: int) -> Figure | None:
    """A count to which a row comparison may add."""
    if not plan.cost.buckets_to_compare or not number:
        return _number(label, number)
    return Figure(label=label, value=count(number), known=LEAST)


def _row_figures(plan: ThreeWayPlan, *, is_compared: bool) -> tuple[Figure | None, ...]:
    come, go = records_moved(plan)
    if plan.cost.buckets_to_compare:
        if is_compared:
            # What is chosen for each conflict decides how many rows change.
            return ()
        return (Figure(label="Rows changed", value=NOT_READ, known=UNREAD),)
    if not plan.cost.is_of_rows:
        return _records("Records in added files", come), _records("Records in removed files", go)
    if plan.cost.files_joined:
        added = Figure(label="Rows added", value=count(come), known=LEAST) if come else None
        return added, Figure(label="Rows removed", value=NOT_READ, known=UNREAD)
    return _rows("Rows added", come), _rows("Rows removed", -go)


def _records(label: str, records: int) -> Figure | None:
    # Records of one key may be several, so that they have no sign of rows.
    return Figure(label=label, value=count(records), known=NOT_ROWS) if records else None


def _rows(label: str, rows: int) -> Figure | None:
    return Figure(label=label, value=signed(rows)) if rows else None


def _files_by_strategy(moves: FileMoves) -> dict[Strategy, int]:
    added = files_by_place(moves.add)
    found: dict[Strategy, int] = {}
    for move in moves.buckets:
        found[move.strategy] = found.get(move.strategy, 0) + added.get(move.place, (0, 0))[0]
    return found
