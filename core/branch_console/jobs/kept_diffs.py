"""Rows that differ, kept as Parquet files beside the jobs: pages read them a few at a time.

A file is made once for two states and never changes. Its metadata counts, for each group of rows,
how many are of which kind and in which column they differ, so that a filtered page is found without
looking at the rows before it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from branch_console.diff.rows.row_diff import (
    AFTER,
    BEFORE,
    CHANGED,
    COPIES_AFTER,
    COPIES_BEFORE,
    KIND,
    RowDiffWork,
)
from branch_console.diff.rows.row_diff_index import RowDiffIndex, RowFilter, RowGroup
from branch_console.diff.rows.row_kind import RowKind
from branch_console.errors import ErrorKind, FormatError, InvalidInput
from branch_console.expr.predicate import Condition, holds, names_in, parse_condition
from branch_console.format.values.nested_arrays import with_required_cells
from branch_console.format.values.readable import readable
from branch_console.jobs.kept_files import forget_oldest, unfinished
from branch_console.storage.shelf import Shelf

_ABOUT: Final = b"branch-console"
_VERSION: Final = 1
_KEPT: Final = 50
_ROWS_A_GROUP: Final = 10_000
_SORTED_UP_TO: Final = 200_000
_MOST_COUNTED: Final = 64

Counted: TypeAlias = Shelf[tuple[Path, RowFilter], tuple[int, ...]]
"""How many rows of each group of a file are wanted by a filter; a file never changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDiff:
    """The rows in which two states differ.

    Attributes:
        path: A Parquet file with the columns of `row_diff_schema`.
        index: The facts about its rows that need no reading.
        counted: Its counts, so that no page counts them again.
    """

    path: Path
    index: RowDiffIndex
    counted: Counted = field(repr=False, compare=False)

    def check(self, wanted: RowFilter) -> None:
        """Refuse a filter that these rows cannot be asked for.

        Raises:
            InvalidInput: The condition cannot be read, names no compared column, or compares what
                cannot be compared.
        """
        if wanted.where is not None:
            with self._opened() as file:
                self._only(file.schema_arrow.empty_table(), wanted)

    def count(self, wanted: RowFilter) -> int:
        """How many rows are wanted; a condition is asked of all rows once.

        Raises:
            InvalidInput: As for `check`.
            FormatError: The file cannot be read.
        """
        return sum(self._counts(wanted))

    def page(self, wanted: RowFilter, start: int, count: int) -> pa.Table:
        """Read some of the wanted rows, and no group that holds none of them.

        Raises:
            InvalidInput: As for `check`.
            FormatError: The file cannot be read.
        """
        parts, passed = [], 0
        with self._opened() as file:
            for number, there in enumerate(self._counts(wanted)):
                first, last = max(start - passed, 0), min(start + count - passed, there)
                passed += there
                if first < last:
                    rows = self._only(file.read_row_group(number), wanted)
                    parts.append(rows.slice(first, last - first))
                if passed >= start + count:
                    break
            return readable(pa.concat_tables([file.schema_arrow.empty_table(), *parts]))

    def all_rows(self, wanted: RowFilter) -> Iterator[pa.Table]:
        """Read the wanted rows group by group; if there are none, a table without rows.

        Raises:
            InvalidInput: As for `check`.
            FormatError: The file cannot be read.
        """
        counts = self._counts(wanted)
        with self._opened() as file:
            if not any(counts):
                yield readable(file.schema_arrow.empty_table())
            for number, there in enumerate(counts):
                if there:
                    yield readable(self._only(file.read_row_group(number), wanted))

    @contextmanager
    def _opened(self) -> Iterator[pq.ParquetFile]:
        try:
            with pq.ParquetFile(self.path) as file:
                yield file
        except (pa.ArrowException, OSError) as error:
            raise FormatError(
                f"{self.path} cannot be read: {error}. Compare the rows again.", path=str(self.path)
            ) from error

    def _counts(self, wanted: RowFilter) -> tuple[int, ...]:
        """How many rows of each group are wanted."""
        known = tuple(group.count(wanted) for group in self.index.groups)
        if wanted.where is None:
            return known
        key = (self.path, wanted)
        found = self.counted.find(key)
        if found is None:
            columns = [KIND, CHANGED, *self._asked(parse_condition(wanted.where))]
            with self._opened() as file:
                found = tuple(
                    self._only(file.read_row_group(number, columns), wanted).num_rows
                    if there
                    else 0
                    for number, there in enumerate(known)
                )
            self.counted.put(key, found)
        return found

    def _only(self, rows: pa.Table, wanted: RowFilter) -> pa.Table:
        if wanted.kind is not None:
            rows = rows.filter(pc.equal(rows[KIND], str(wanted.kind)))
        if wanted.column is not None:
            at = self.index.columns.index(wanted.column)
            rows = rows.filter(
                pa.array([at in each for each in rows[CHANGED].to_pylist()], pa.bool_())
            )
        if wanted.where is None:
            return rows
        condition = parse_condition(wanted.where)
        self._asked(condition)
        before = _holds_on(rows, condition, BEFORE, absent=RowKind.ADDED)
        after = _holds_on(rows, condition, AFTER, absent=RowKind.REMOVED)
        return rows.filter(pc.or_(before, after))

    def _asked(self, condition: Condition) -> list[str]:
        """The columns of the file that a condition speaks of."""
        names = names_in(condition)
        for each in names:
            if each.side is not None or each.column not in self.index.columns:
                asked = each.column if each.side is None else f"{each.side}.{each.column}"
                raise InvalidInput(
                    f"A condition names {asked!r}, which is no compared column. There are: "
                    f"{', '.join(self.index.columns)}.",
                    kind=ErrorKind.INVALID_ARGUMENT,
                    column=asked,
                )
        return sorted(f"{side}{each.column}" for each in names for side in (BEFORE, AFTER))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDiffs:
    """The comparisons in a folder; the newest are kept."""

    folder: Path
    counted: Counted = field(
        default_factory=lambda: Shelf(_MOST_COUNTED), repr=False, compare=False
    )

    def find(self, name: str) -> KeptDiff | None:
        """Return a comparison, None if it was never made or is forgotten."""
        path = self._path(name)
        try:
            with pq.ParquetFile(path) as file:
                about = json.loads((file.metadata.metadata or {})[_ABOUT])
            if about["version"] != _VERSION:
                return None
            return KeptDiff(path=path, index=_index(about), counted=self.counted)
        except FileNotFoundError:
            return None
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError):
            # Of another release, or broken: it is made anew.
            return None

    def counts(self, name: str) -> dict[str, int]:
        """Return how many rows of which kind were kept."""
        found = self.find(name)
        if found is None:
            return {}
        rows = found.index.difference
        numbers = (rows.added, rows.removed, rows.changed)
        return {str(kind): each.high for kind, each in zip(RowKind, numbers, strict=True)}

    @contextmanager
    def draft(self, name: str) -> Iterator["DraftDiff"]:
        """Keep what the block writes if it ends well, else nothing; forget the oldest comparisons.

        A thread that outlives the block can write no more.

        Args:
            name: The key of the rows for `find`.
        """
        with unfinished(self._path(name)) as draft, draft.open("wb") as file:
            yield DraftDiff(file=file)
        forget_oldest(self.folder, "*.parquet", _KEPT)

    def _path(self, name: str) -> Path:
        return self.folder / f"{''.join(each for each in name if each.isalnum())}.parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftDiff:
    """A comparison that is being written."""

    file: BinaryIO

    def write(
        self, tables: Iterator[pa.Table], work: RowDiffWork, facts: Mapping[str, object]
    ) -> None:
        """Write rows as they come.

        Args:
            tables: Columns of `work.layout`.
            work: The comparison.
            facts: JSON values.
        """
        layout, columns = work.layout, [column.name for column in work.columns]
        with pq.ParquetWriter(self.file, layout, compression="zstd") as writer:
            groups = []
            for rows in _grouped(_in_order(tables, layout, columns)):
                writer.write_table(with_required_cells(rows), row_group_size=rows.num_rows)
                groups.append(_count(rows, columns))
            about = {
                "version": _VERSION,
                "columns": columns,
                "keys": list(work.keys),
                "groups": groups,
                "facts": dict(facts),
            }
            writer.add_key_value_metadata({_ABOUT: json.dumps(about).encode()})


def _holds_on(
    rows: pa.Table, condition: Condition, side: str, *, absent: RowKind
) -> pa.ChunkedArray:
    """For which rows that stand on a side a condition holds there; `absent` ones do not."""
    found = holds(condition, lambda name: rows[side + name.column])
    return pc.and_(pc.not_equal(rows[KIND], str(absent)), pc.fill_null(found, False))


def _index(about: Mapping[str, Any]) -> RowDiffIndex:
    return RowDiffIndex(
        columns=tuple(about["columns"]),
        keys=tuple(about["keys"]),
        groups=tuple(RowGroup(**each) for each in about["groups"]),
        facts=about["facts"],
    )


def _in_order(
    tables: Iterator[pa.Table], layout: pa.Schema, columns: Sequence[str]
) -> Iterator[pa.Table]:
    """Rows by value where they are few enough to be sorted at once, else as they come."""
    held, count = [layout.empty_table()], 0
    for table in tables:
        held.append(table)
        count += table.num_rows
        if count > _SORTED_UP_TO:
            yield from held
            yield from tables
            return
    whole = pa.concat_tables(held)
    by = {}
    for at, name in enumerate(columns):
        kind = layout.field(f"{BEFORE}{name}").type
        if not pa.types.is_nested(kind):
            by[f"c{at}"] = pc.coalesce(whole[f"{BEFORE}{name}"], whole[f"{AFTER}{name}"])
    if by and whole.num_rows:
        order = pc.sort_indices(pa.table(by), sort_keys=[(name, "ascending") for name in by])
        whole = whole.take(order)
    yield whole


def _grouped(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Rows in groups of one size, whatever size they come in."""
    held: list[pa.Table] = []
    count = 0
    for table in tables:
        held.append(table)
        count += table.num_rows
        while count >= _ROWS_A_GROUP:
            whole = pa.concat_tables(held)
            yield whole.slice(0, _ROWS_A_GROUP).combine_chunks()
            held, count = [whole.slice(_ROWS_A_GROUP)], count - _ROWS_A_GROUP
    if count:
        yield pa.concat_tables(held).combine_chunks()


def _count(rows: pa.Table, columns: Sequence[str]) -> dict[str, Any]:
    kinds = {each["values"]: each["counts"] for each in pc.value_counts(rows[KIND]).to_pylist()}
    flat = pc.list_flatten(rows[CHANGED])
    cells = {columns[each["values"]]: each["counts"] for each in pc.value_counts(flat).to_pylist()}
    more = pc.abs(pc.subtract(rows[COPIES_AFTER], rows[COPIES_BEFORE]))
    # A row that changed stands once on each side.
    counted = pa.table({KIND: rows[KIND], "more": pc.max_element_wise(more, 1)})
    sums = counted.group_by(KIND).aggregate([("more", "sum")]).to_pylist()
    copies = {each[KIND]: each["more_sum"] for each in sums}
    return {"rows": rows.num_rows, "kinds": kinds, "copies": copies, "columns": cells}
