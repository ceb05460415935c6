"""A bucket of a table with a primary key written anew, with some rows in place of its own.

What level 0 cannot say, because readers do not look there, is said on the top level: one run in
which each key stands once. Source: Paimon MergeTreeCompactRewriter.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.snapshot.overwrite_upgrade import top_level
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_row import decode_row
from branch_console.format.values.key_order import key_rank, sortable
from branch_console.spark.files.data_files import WriteTarget, write_run
from branch_console.spark.kernels.merge_on_read import (
    SEQUENCE_NUMBER,
    VALUE_KIND,
    merge_rows,
    row_order,
)
from branch_console.spark.merge.bucket_sides import key_bytes
from branch_console.spark.read.read_plan import PlacedFile, sections
from branch_console.spark.write.compaction import with_sequences


def rewrite_bucket(
    target: WriteTarget,
    partition: bytes,
    bucket: int,
    files: Iterable[PlacedFile],
    read: Callable[[Sequence[PlacedFile]], pa.Table],
    changes: pa.Table,
    *,
    next_sequence: int,
) -> pa.Table:
    """Write the rows of a bucket as one run on the top level.

    Files are read by sections of overlapping key ranges, so that memory holds one section; all at
    once if they are sorted by other columns than the key.

    Args:
        target: The table.
        partition: As BinaryRow bytes.
        bucket: The number of the bucket.
        files: All live files of the bucket.
        read: The rows of some files as they stand there, with SEQUENCE_NUMBER and VALUE_KIND,
            without those that deletion vectors hide.
        changes: What takes the place of the rows of its keys: the columns of the table and
            VALUE_KIND, one row a key; rows that delete leave their key out.
        next_sequence: The first sequence number that the bucket has not used.

    Returns:
        Columns of MANIFEST_ENTRY; no row if no row is left.
    """
    schema = target.schema
    inserts = changes.filter(pc.equal(changes[VALUE_KIND], 0))
    inserts = inserts.take(row_order(inserts, schema))
    numbers = pa.array(np.arange(next_sequence, next_sequence + inserts.num_rows))
    inserts = inserts.append_column(SEQUENCE_NUMBER, numbers)
    gone = key_bytes(changes, schema)

    def runs() -> Iterator[pa.Table]:
        found = [list(files)] if schema.clustering_columns else list(sections(files, schema))
        for section, new in zip(found, _shares(inserts, found, schema), strict=False):
            rows = read(section)
            kept = with_sequences(merge_rows(rows, schema), rows, schema)
            kept = kept.filter(pc.invert(pc.is_in(key_bytes(kept, schema), value_set=gone)))
            run = pa.concat_tables([kept, new.select(kept.column_names).cast(kept.schema)])
            if run.num_rows:
                yield run.take(run_order(run, schema))
        if not found and inserts.num_rows:
            yield inserts.take(run_order(inserts, schema))

    # Level 1 is where Paimon puts what it has sorted by clustering columns.
    level = 1 if schema.clustering_columns else top_level(schema)
    file_id = target.new_file_id()
    return write_run(target, partition, bucket, runs(), level=level, file_id=file_id)


def run_order(rows: pa.Table, schema: TableSchema) -> pa.Array:
    """Positions of rows as a run above level 0 holds them: by key, or by clustering columns."""
    columns = schema.clustering_columns
    if not columns:
        return row_order(rows, schema)
    # Null comes before all values, as in Paimon.
    by = {
        key: column
        for name in columns
        for key, column in (
            (f"{name} is set", pc.is_valid(rows[name])),
            (name, sortable(rows[name])),
        )
    }
    return pc.sort_indices(pa.table(by), sort_keys=[(name, "ascending") for name in by])


def _shares(
    rows: pa.Table, ranges: Sequence[Sequence[PlacedFile]], schema: TableSchema
) -> Iterator[pa.Table]:
    """Rows by rising keys, cut where the next section begins."""
    types = schema.key_type.types
    keys = [key_rank(decode_row(each, types)) for each in key_bytes(rows, schema).to_pylist()]
    starts = (
        min(key_rank(decode_row(file.min_key, types)) for file in each) for each in ranges[1:]
    )
    cuts = [0, *(bisect_left(keys, start) for start in starts), len(keys)]
    for start, end in pairwise(cuts):
        yield rows.slice(start, end - start)
