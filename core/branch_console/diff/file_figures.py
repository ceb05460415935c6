"""How many rows a state has, as far as its snapshot, its files and their deletion vectors tell."""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.rows.row_figure import RowFigure, is_row_per_record, snapshot_figure
from branch_console.diff.rows.row_groups import group_rows
from branch_console.format.index_manifest import deletion_vector_entries
from branch_console.format.manifest_entry import FileKind
from branch_console.format.read_branches import rows_elsewhere
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema

_POSTPONED: Final = -2


def hidden_rows(marks: pa.Table) -> int | None:
    """Add up the rows that deletion vectors hide; None if a vector does not count them.

    Args:
        marks: Index files of a state, with the columns of INDEX_MANIFEST_ENTRY.
    """
    found = 0
    for ranges in deletion_vector_entries(marks)["dv_ranges"].to_pylist():
        for each in ranges or ():
            if each["cardinality"] is None:
                return None
            found += each["cardinality"]
    return found


def net_deletes(entries: pa.Table) -> int | None:
    """Count the records of added files that delete a row, less those of removed files.

    Args:
        entries: Entries of one commit, ADD and DELETE, with the columns of MANIFEST_ENTRY.

    Returns:
        None if a writer did not count them in a file.
    """
    known = entries["delete_row_count"]
    if known.null_count:
        return None
    is_added = pc.equal(entries["kind"], int(FileKind.ADD))
    return _sum(pc.if_else(is_added, known, pc.negate(known)))


def state_figure(
    snapshot: Snapshot | None,
    schema: TableSchema,
    branch: str,
    load_marks: Callable[[Snapshot], pa.Table],
) -> RowFigure:
    """Tell from a snapshot and its deletion vectors how many rows it has.

    Args:
        snapshot: None before the first commit.
        schema: The schema to read with.
        branch: The branch that is read.
        load_marks: Reads the index files of a snapshot, as INDEX_MANIFEST_ENTRY; asked only if
            it matters.
    """
    figure = snapshot_figure(snapshot, schema, branch)
    if snapshot is None or figure.most_rows is None:
        return figure
    return _keyless_figure(figure.most_rows, load_marks(snapshot))


def files_figure(files: pa.Table, marks: pa.Table, schema: TableSchema, branch: str) -> RowFigure:
    """Tell from the live files of a state how many rows it has.

    With a primary key that takes files of which none deletes and, unless a compaction left each key
    once, one sorted run a bucket.

    Args:
        files: All live files, with the columns of MANIFEST_ENTRY.
        marks: All index files, with the columns of INDEX_MANIFEST_ENTRY.
        schema: The schema to read the state with.
        branch: The branch that is read.
    """
    records = _sum(files["row_count"])
    if is_row_per_record(schema, branch):
        return _keyless_figure(records, marks)
    if not schema.primary_keys or rows_elsewhere(schema, branch) is not None:
        return RowFigure(rows=None, records=records)
    seen = files.filter(is_seen(files, schema))
    hidden = hidden_rows(marks)
    # Where readers merge, a vector may hide a record that another one of its key replaced.
    if hidden is None or (hidden and not schema.skips_level_0):
        return RowFigure(rows=None, records=records)
    if pc.any(pc.invert(tells_rows(seen, schema))).as_py():
        return RowFigure(rows=None, records=records)
    return RowFigure(rows=_sum(seen["row_count"]) - hidden, records=records)


def tells_rows(files: pa.Table, schema: TableSchema) -> pa.ChunkedArray:
    """Whether each record of a file of a table with a primary key is a row.

    Args:
        files: The files of whole buckets, with the columns of MANIFEST_ENTRY.
        schema: The schema to read with.
    """
    deletes_none = pc.equal(pc.fill_null(files["delete_row_count"], 1), 0)
    if schema.skips_level_0:
        return deletes_none
    return pc.and_(deletes_none, pa.chunked_array([pa.array(_is_one_run(files))]))


def is_seen(files: pa.Table, schema: TableSchema) -> pa.Array:
    """Whether batch readers see a file: not one that waits for a compaction or for a bucket."""
    seen = files["bucket"].to_numpy() > _POSTPONED
    if schema.primary_keys and schema.skips_level_0:
        seen = seen & (files["level"].to_numpy() > 0)
    return pa.array(seen)


def _keyless_figure(records: int, marks: pa.Table) -> RowFigure:
    hidden = hidden_rows(marks)
    if hidden is None:
        return RowFigure(rows=None, records=records, most_rows=records)
    return RowFigure(rows=records - hidden, records=records)


def _is_one_run(files: pa.Table) -> npt.NDArray[np.bool_]:
    """For each file whether those of its bucket are one sorted run: one level above 0, or one."""
    groups = group_rows([files["partition"], files["bucket"]])
    levels = files["level"].to_numpy()
    sizes = groups.sums(np.ones(len(levels), np.int64))
    first = levels[groups.first]
    alike = groups.sums(levels == first[groups.group])
    is_one_run = (sizes == 1) | ((first > 0) & (alike == sizes))
    found: npt.NDArray[np.bool_] = is_one_run[groups.group]
    return found


def _sum(column: pa.ChunkedArray) -> int:
    return int(pc.sum(column).as_py() or 0)
