"""The counts of a merge, as far as its plan knows them."""

from typing import Final, TypeAlias

import pyarrow as pa

from branch_console.diff.schema_diff import SchemaDiff
from branch_console.format.table_schema import TableSchema
from branch_console.merge.file_moves import FileMoves, Strategy
from branch_console.merge.known_rows import (
    NOTHING_KNOWN,
    KnownRows,
    ResultFigures,
    count_result,
)
from branch_console.merge.plan import Plan, RefusedPlan, ThreeWayPlan, conflicts_of, found_by
from branch_console.procedures.merge.row_consequences import (
    COUNTED_BY_DRY_RUN,
    COUNTED_ONCE_SETTLED,
)
from branch_console_app.models.merge.merge_facts import RowsOfMerge
from branch_console_app.models.parts.exactness import EXACT, LEAST, NOT_ROWS, UNREAD, Figure
from branch_console_app.models.parts.wording import NOT_READ, count, full_count, signed, size

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
        rows: What is known of the rows that both sides changed; None if nobody asks.
    """
    found = found_by(plan)
    if found is None:
        return ()
    known = NOTHING_KNOWN if rows is None else rows.known
    result = count_result(found, known)
    counted = (
        _conflicts(len(found.conflicts), rows),
        *(_row_figures(plan, known) if result is None else _counted_rows(found, known, result)),
        _number("Schema changes", len(changed.changes) if changed else 0),
        _data_files(found, known, result),
    )
    return tuple(each for each in counted if each is not None)[:_MOST_FIGURES]


def file_figures(plan: Plan, rows: RowsOfMerge | None = None) -> tuple[Figure, ...]:
    """Return what a merge does with data files, for those who want to know how.

    Args:
        plan: The merge.
        rows: What is known of the rows that both sides changed; None if nobody asked.
    """
    found = found_by(plan)
    if found is None:
        return ()
    known = NOTHING_KNOWN if rows is None else rows.known
    cost, result = found.cost, count_result(found, known)
    by_strategy = _files_by_strategy(found.moves)
    beside = by_strategy.get(Strategy.REPLAY, 0) + found.moves.replays.num_rows
    written = 0 if known.staged is None else known.staged.files_written
    counted = (
        _number("Data files reused", by_strategy.get(Strategy.ADOPT, 0)),
        _number("Source files added", beside),
        _number("New files written", written),
        _removed_files(found, known, result),
        _number("Data files restored", cost.files_restored),
        _number("Data files rewritten", cost.files_joined),
        Figure(label="Data to copy", value=size(cost.bytes_to_copy), help=_why_no_byte(found)),
    )
    return tuple(each for each in counted if each is not None)


def _number(label: str, number: int) -> Figure | None:
    return Figure(label=label, value=count(number)) if number else None


def _conflicts(of_files: int, rows: RowsOfMerge | None) -> Figure | None:
    """Count the conflicts that wait for somebody; the settled ones once nothing is left to do."""
    number, is_open = (0, 0) if rows is None else (rows.number, rows.open_number)
    if number and not of_files + is_open:
        return _number("Conflicts settled", number)
    return _number("Conflicts" if number == is_open else "Open conflicts", of_files + is_open)


def _data_files(
    plan: ThreeWayPlan, known: KnownRows, result: ResultFigures | None
) -> Figure | None:
    """Count the files that are added and removed, as one figure."""
    if result is not None:
        added, removed, how = result.files_added, result.files_removed, EXACT
    elif known.is_compared or plan.conflicts:
        # Decisions tell how many: files of settled rows are added to these, and files of a
        # conflict can stay out.
        return None
    else:
        added, removed, how = plan.cost.files_added, plan.cost.files_removed, LEAST
    parts = [signed(each) for each in (added, -removed) if each]
    if not parts:
        return None
    return Figure(
        label="Data files", value=" ".join(parts), known=how,
        help="Files added to the newest snapshot of the target, and files removed from it.",
    )  # fmt: skip


def _removed_files(
    plan: ThreeWayPlan, known: KnownRows, result: ResultFigures | None
) -> Figure | None:
    label = "Data files removed"
    if result is not None:
        return _number(label, result.files_removed)
    number = plan.cost.files_removed
    if known.is_compared or plan.conflicts or not number:
        return None
    return Figure(label=label, value=count(number), known=LEAST)


def _why_no_byte(plan: ThreeWayPlan) -> str | None:
    if plan.cost.bytes_to_copy:
        return None
    if plan.shares_files:
        return "No data is copied: both branches use the same files."
    return "No data is copied: the files are hard-linked."


def bounds_reasons(
    plan: Plan, schema: TableSchema | None, rows: RowsOfMerge | None = None
) -> tuple[str, ...]:
    """Say why counts of rows are not exact."""
    found = found_by(plan)
    if found is None:
        return ()
    known = NOTHING_KNOWN if rows is None else rows.known
    result = count_result(found, known)
    if result is None:
        if found.conflicts or known.open_conflicts:
            return (COUNTED_ONCE_SETTLED,)
        is_known_later = not (isinstance(plan, RefusedPlan) or known.is_stopped)
        return (COUNTED_BY_DRY_RUN,) if is_known_later else ()
    if known.staged is None and found.cost.files_joined:
        return ("Both sides changed rows of the same file: only the merge itself can count them.",)
    if result.rows_counted is None and schema is not None and schema.primary_keys:
        return ("These are records in files; one key can have several.",)
    if result.rows_counted is None and not result.is_of_rows:
        return ("These are records in files; some of these rows may stay, or be deleted already.",)
    return ()


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


def _row_figures(plan: Plan, known: KnownRows) -> tuple[Figure | None, ...]:
    """Count rows of a merge while no result says how many change."""
    if known.is_compared or conflicts_of(plan) or isinstance(plan, RefusedPlan):
        return ()
    return (Figure(label="Rows changed", value=NOT_READ, known=UNREAD),)


def _counted_rows(
    plan: ThreeWayPlan, known: KnownRows, result: ResultFigures
) -> tuple[Figure | None, ...]:
    come, go = result.records_in, result.records_out
    if result.rows_counted is not None:
        before, after = result.rows_counted
        now = f"The target has {full_count(before)} now."
        return (Figure(label="Rows afterwards", value=count(after), help=now),)
    if result.is_of_rows:
        return _rows("Rows added", come), _rows("Rows removed", -go)
    # Of a file whose rows both sides deleted, only the merge finds out how many are left.
    is_least = plan.cost.files_joined > 0 and known.staged is None
    return (
        _records("Records in added files", come, LEAST if is_least else NOT_ROWS),
        _records("Records in removed files", go),
    )


def _records(label: str, records: int, known: str = NOT_ROWS) -> Figure | None:
    # Records of one key may be several, so that they have no sign of rows.
    return Figure(label=label, value=count(records), known=known) if records else None


def _rows(label: str, rows: int) -> Figure | None:
    return Figure(label=label, value=signed(rows)) if rows else None


def _files_by_strategy(moves: FileMoves) -> dict[Strategy, int]:
    added = files_by_place(moves.add)
    found: dict[Strategy, int] = {}
    for move in moves.buckets:
        found[move.strategy] = found.get(move.strategy, 0) + added.get(move.place, (0, 0))[0]
    return found
