"""Row tracking: the ids of new rows and the snapshot that last wrote them, given at the commit.

Source: Paimon RowTrackingCommitUtils. Blob and vector files, which share the ids of a data file,
exist only in tables with data evolution, which are not committed to here.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import InvalidInput
from branch_console.format.avro_encoding import one_array
from branch_console.format.manifest_entry import FileSource

_ROW_ID = "_ROW_ID"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tracked:
    """Entries with their ids, and the id that the next new row will have."""

    delta: pa.Table
    next_row_id: int


def grouped_by_partition(delta: pa.Table) -> pa.Table:
    """The entries by partition, in the order in which each first appears.

    New rows of a partition then have ids without gaps (`row-tracking.partition-group-on-commit`).
    """
    codes = one_array(delta["partition"], pa.binary()).dictionary_encode().indices.to_numpy()
    return delta.take(pa.array(np.argsort(codes, kind="stable")))


def track_rows(delta: pa.Table, *, snapshot_id: int, next_row_id: int) -> Tracked:
    """Give new files their row ids and sequence numbers.

    A file whose sequence numbers start at 0 is new: its rows were written by this snapshot. One
    that only ends at 0 holds older rows beside changed ones. What a compaction wrote keeps its
    numbers, and has no first row id where it mixes rows.

    Args:
        delta: Columns of MANIFEST_ENTRY.
        snapshot_id: The id of the new snapshot.
        next_row_id: The first id that is free.

    Raises:
        InvalidInput: A file does not say whether a writer or a compaction made it.
    """
    if delta["file_source"].null_count:
        raise InvalidInput(
            "A file without a source cannot be committed to a table with row tracking: whether "
            "its rows are new is not known. Write it anew."
        )
    low, high = delta["min_sequence_number"], delta["max_sequence_number"]
    is_new = pc.equal(low, 0)
    is_changed = pc.or_(is_new, pc.equal(high, 0))
    needs_ids = pc.and_(
        pc.and_(pc.equal(delta["file_source"], int(FileSource.APPEND)), _is_unnumbered(delta)),
        pc.invert(_holds_row_ids(delta)),
    )
    counts = np.where(needs_ids.to_numpy(), delta["row_count"].to_numpy(), 0)
    ends = next_row_id + np.cumsum(counts)
    starts = pa.array(ends - counts, pa.int64())
    columns = {
        "min_sequence_number": pc.if_else(is_new, snapshot_id, low),
        "max_sequence_number": pc.if_else(is_changed, snapshot_id, high),
        "first_row_id": pc.if_else(needs_ids, starts, delta["first_row_id"]),
    }
    for name, column in columns.items():
        at = delta.schema.get_field_index(name)
        delta = delta.set_column(at, delta.schema.field(at), column.cast(pa.int64()))
    return Tracked(delta=delta, next_row_id=int(ends[-1]) if len(ends) else next_row_id)


def _is_unnumbered(delta: pa.Table) -> pa.ChunkedArray:
    return pc.is_null(delta["first_row_id"])


def _holds_row_ids(delta: pa.Table) -> pa.Array:
    names = delta["write_cols"].to_pylist()
    return pa.array([_ROW_ID in (each or ()) for each in names], pa.bool_())
