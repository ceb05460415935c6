"""A comparison of two states as people read it: a sentence, figures with labels, partitions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.rows.row_bounds import CountBounds, RowDifference
from branch_console.diff.rows.row_figure import RowCounts
from branch_console.diff.state_diff import ComparedState, StateDiff
from branch_console.format import options as table_options
from branch_console.format.partition_path import partition_words, value_words
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_row import decode_row
from branch_console_app.models.parts.exactness import AT_MOST, EXACT
from branch_console_app.models.parts.wording import MINUS, count, full_count, plural, shortened

WHOLE_TABLE: Final = "whole table"
_FIGURES: Final = tuple(
    f"{what}_{side}"
    for what in ("files", "bytes", "rows", "deletes")
    for side in ("before", "after")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLine:
    """The files and rows of a partition that only one side has.

    Attributes:
        name: As `dt=20240101/hh=8`; `whole table` without partitions.
        values: The texts of its columns.
        rows_before: Rows that only the first side shows, before merging on read.
        deletes_before: Those of them that are known to delete a row.
    """

    name: str
    values: tuple[str, ...]
    buckets: int
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    rows_before: int
    rows_after: int
    deletes_before: int = 0
    deletes_after: int = 0

    @property
    def net(self) -> int:
        """Rows more on the second side, before merging on read."""
        return self.rows_after - self.rows_before

    @property
    def has_deletes(self) -> bool:
        """Whether some of the records are known to delete a row."""
        return bool(self.deletes_before or self.deletes_after)


def moved_noun(diff: StateDiff) -> str:
    """Return the unit of a partition's numbers: rows only if each record is one row."""
    schema = diff.after.schema
    has_parts = schema.options.read(table_options.DATA_EVOLUTION_ENABLED)
    return "records" if schema.primary_keys or has_parts else "rows"


def state_words(state: ComparedState) -> str:
    """Name a state with the snapshot that it was found at."""
    name = state.name
    if state.snapshot is None:
        return f"{name} (no commit yet)"
    if name.snapshot_id is not None:
        return f"{name.branch}@{name.snapshot_id}"
    return f"{name} (snapshot {state.snapshot.id})"


def bounds_text(bounds: CountBounds) -> str:
    """Write a number as far as it is known: `12`, `≤ 12`, `2 to 12`."""
    if bounds.is_exact:
        return count(bounds.high)
    if not bounds.low:
        return f"{AT_MOST} {count(bounds.high)}"
    return f"{count(bounds.low)} to {count(bounds.high)}"


def label_of(bounds: CountBounds) -> str:
    """Say how good a number is."""
    if bounds.is_exact:
        return EXACT
    return "at least, at most" if bounds.low else "at most"


def counted_sides(counts: RowCounts) -> str:
    """Say how many rows both states have, as Markdown: `**Rows 336,776 → 335,751**`."""
    return f"**Rows {full_count(counts.before)} → {full_count(counts.after)}**"


def counted_difference(counts: RowCounts) -> RowDifference:
    """Return the counted rows as exact bounds, in place of those that the files give."""
    added, removed, changed = (
        CountBounds(low=number, high=number)
        for number in (counts.added, counts.removed, counts.changed)
    )
    return RowDifference(
        added=added, removed=removed, changed=changed, net=counts.after - counts.before
    )


def side_name(state: ComparedState) -> str:
    """Return the short name of a state, for headings."""
    return shortened(str(state.name), 24)


def summary(diff: StateDiff) -> str:
    """Tell in a sentence what differs."""
    before, after = state_words(diff.before), state_words(diff.after)
    if diff.is_empty:
        return f"{before} and {after} are the same: {_files(diff.shared.file_count)}, one schema."
    schema, waiting = _schema_words(diff), _waiting_words(diff.files_waiting)
    if diff.has_same_rows:
        return f"{before} and {after} hold the same rows{schema}.{waiting}"
    return f"From {before} to {after}: {row_words(diff.rows)}{schema}.{waiting}"


def row_words(rows: RowDifference) -> str:
    """Tell how many rows came, went and changed."""
    parts = [
        f"{bounds_text(bounds)} {noun} {verb}"
        for bounds, verb in (
            (rows.added, "added"),
            (rows.removed, "removed"),
            (rows.changed, "changed"),
        )
        if bounds.high
        for noun in ("row" if bounds.high == 1 else "rows",)
    ]
    return ", ".join(parts)


def _schema_words(diff: StateDiff) -> str:
    number = len(diff.schema.changes)
    return f"; the schemas differ in {plural(number, 'way')}" if number else ""


def _waiting_words(files: int) -> str:
    if not files:
        return ""
    waits, their = ("waits", "its") if files == 1 else ("wait", "their")
    return (
        f" {plural(files, 'file')} {waits} for a compaction: readers do not see {their} rows yet."
    )


def _files(number: int) -> str:
    return "no file" if not number else plural(number, "file")


def net_words(rows: RowDifference) -> str | None:
    """Tell the change of the number of rows, where it is known though its parts are not."""
    if rows.net is None or rows.is_exact:
        return None
    sign = "+" if rows.net > 0 else MINUS if rows.net < 0 else ""
    return f"{sign}{count(abs(rows.net))} rows in all, {EXACT}"


def partitions_of(places: pa.Table) -> pa.Table:
    """Sum places up by partition, those with most rows that differ first.

    Args:
        places: Columns of PLACE_DIFF.

    Returns:
        `partition`, `buckets` and the figures of PLACE_DIFF.
    """
    sums = places.group_by("partition", use_threads=False).aggregate(
        [("bucket", "count"), *((name, "sum") for name in _FIGURES)]
    )
    columns = ["partition", "bucket_count", *(f"{name}_sum" for name in _FIGURES)]
    table = sums.select(columns).rename_columns(["partition", "buckets", *_FIGURES])
    moved = pc.add(table["rows_before"], table["rows_after"])
    order = [("moved", "descending"), ("partition", "ascending")]
    return table.append_column("moved", moved).sort_by(order).drop_columns(["moved"])


def partition_lines(
    partitions: pa.Table, schema: TableSchema, visible: slice = slice(None)
) -> tuple[PartitionLine, ...]:
    """Return some of the partitions, in their order.

    Args:
        partitions: As `partitions_of` gives them.
        schema: The table.
        visible: Which of them.
    """
    start, stop, _ = visible.indices(partitions.num_rows)
    return tuple(_lines(partitions.slice(start, stop - start), schema))


def _lines(partitions: pa.Table, schema: TableSchema) -> Iterator[PartitionLine]:
    types = schema.partition_type.types
    for row in partitions.to_pylist():
        values = decode_row(row.pop("partition"), types)
        yield PartitionLine(
            name=partition_words(values, schema) or WHOLE_TABLE,
            values=value_words(values, schema),
            **row,
        )
