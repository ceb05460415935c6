"""Rows that differ, kept as Parquet files beside the jobs: pages read them a few at a time.

A file is made once for two states and never changes. Its metadata counts, for each group of rows,
how many are of which kind and in which column they differ, so that a filtered page is found without
looking at the rows before it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from core.diff.row_diff import (
    AFTER,
    BEFORE,
    CHANGED,
    COPIES_AFTER,
    COPIES_BEFORE,
    KIND,
    RowDiffWork,
    RowKind,
)
from core.diff.row_diff_index import RowDiffIndex, RowFilter, RowGroup
from core.errors import FormatError
from core.jobs.kept_files import forget_oldest, unfinished

_ABOUT: Final = b"branch-console"
_VERSION: Final = 1
_KEPT: Final = 50
_ROWS_A_GROUP: Final = 10_000
_SORTED_UP_TO: Final = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDiff:
    """The rows in which two states differ.

    Attributes:
        path: A Parquet file with the columns of `row_diff_schema`.
        index: What is known of its rows without reading them.
    """

    path: Path
    index: RowDiffIndex

    def page(self, wanted: RowFilter, start: int, count: int) -> pa.Table:
        """Read some of the wanted rows, and no group that holds none of them.

        Raises:
            FormatError: The file cannot be read.
        """
        parts, passed = [], 0
        try:
            with pq.ParquetFile(self.path) as file:
                for number, group in enumerate(self.index.groups):
                    there = group.count(wanted)
                    first, last = max(start - passed, 0), min(start + count - passed, there)
                    passed += there
                    if first < last:
                        rows = self._only(file.read_row_group(number), wanted)
                        parts.append(rows.slice(first, last - first))
                    if passed >= start + count:
                        break
                return pa.concat_tables([file.schema_arrow.empty_table(), *parts])
        except (pa.ArrowException, OSError) as error:
            raise FormatError(
                f"{self.path} cannot be read: {error}. Compare the rows again.", path=str(self.path)
            ) from error

    def all_rows(self, wanted: RowFilter) -> Iterator[pa.Table]:
        """Read the wanted rows group by group; where there are none, a table without rows."""
        with pq.ParquetFile(self.path) as file:
            if not self.index.count(wanted):
                yield file.schema_arrow.empty_table()
            for number, group in enumerate(self.index.groups):
                if group.count(wanted):
                    yield self._only(file.read_row_group(number), wanted)

    def _only(self, rows: pa.Table, wanted: RowFilter) -> pa.Table:
        if wanted.kind is not None:
            rows = rows.filter(pc.equal(rows[KIND], str(wanted.kind)))
        if wanted.column is not None:
            at = self.index.columns.index(wanted.column)
            rows = rows.filter(
                pa.array([at in each for each in rows[CHANGED].to_pylist()], pa.bool_())
            )
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDiffs:
    """The comparisons in a folder; the newest are kept."""

    folder: Path

    def find(self, name: str) -> KeptDiff | None:
        """Return a comparison, None where it was never made or is forgotten."""
        path = self._path(name)
        try:
            with pq.ParquetFile(path) as file:
                about = json.loads((file.metadata.metadata or {})[_ABOUT])
            return (
                KeptDiff(path=path, index=_index(about)) if about["version"] == _VERSION else None
            )
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
            name: What `find` finds the rows by.
        """
        with unfinished(self._path(name)) as draft, draft.open("xb") as file:
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
            work: What was compared.
            facts: JSON values.
        """
        layout, columns = work.layout, [column.name for column in work.columns]
        with pq.ParquetWriter(self.file, layout, compression="zstd") as writer:
            groups = []
            for rows in _grouped(_in_order(tables, layout, columns)):
                writer.write_table(rows, row_group_size=rows.num_rows)
                groups.append(_count(rows, columns))
            about = {
                "version": _VERSION,
                "columns": columns,
                "keys": list(work.keys),
                "groups": groups,
                "facts": dict(facts),
            }
            writer.add_key_value_metadata({_ABOUT: json.dumps(about).encode()})


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
