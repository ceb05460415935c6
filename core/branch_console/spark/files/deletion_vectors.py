"""Deletion vectors that come and go: the index files of a table and what replaces them.

Source: Paimon BaseAppendDeleteFileMaintainer, DeletionVectorsIndexFile.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap64

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.format import options as table_options
from branch_console.format.index_manifest import (
    INDEX_MANIFEST_ENTRY,
    deletion_vector_entries,
    deletion_vector_entry,
)
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import BucketMode
from branch_console.format.values.deletion_vector import (
    DeletionVectorRange,
    read_deletion_vectors,
    write_deletion_vectors,
)
from branch_console.spark.files.data_files import WriteTarget
from branch_console.table.data_file_paths import IndexFolders, index_file_paths, read_index_file
from branch_console.table.file_store_table import FileStoreTable

Positions = npt.NDArray[np.int64]


def mark_rows(
    table: FileStoreTable,
    head: Snapshot,
    target: WriteTarget,
    deleted: Mapping[tuple[bytes, int], Mapping[str, Positions]],
) -> tuple[CommitMessage, ...]:
    """Write index files in which more rows are deleted.

    Args:
        table: The table on the branch to be written.
        head: The snapshot whose vectors are extended.
        target: The table to be written.
        deleted: Positions by data file, by partition and bucket.

    Returns:
        A message a bucket, with the index files that come and those that go.
    """
    return tuple(
        message
        for place, files in sorted(deleted.items())
        if (message := _changed(table, head, target, place, files, frozenset())) is not None
    )


def drop_marks(
    table: FileStoreTable,
    head: Snapshot,
    target: WriteTarget,
    place: tuple[bytes, int],
    names: Collection[str],
) -> tuple[pa.Table, pa.Table]:
    """Write index files without the vectors of data files that go.

    Returns:
        The index files that come and those that go, with the columns of INDEX_MANIFEST_ENTRY.
    """
    message = _changed(table, head, target, place, {}, frozenset(names))
    if message is None:
        none = INDEX_MANIFEST_ENTRY.empty_table()
        return none, none
    return message.new_index_files, message.deleted_index_files


def _changed(
    table: FileStoreTable,
    head: Snapshot,
    target: WriteTarget,
    place: tuple[bytes, int],
    deleted: Mapping[str, Positions],
    dropped: frozenset[str],
) -> CommitMessage | None:
    """The index files of a bucket anew, as far as they speak of files that change."""
    partition, bucket = place
    schema = target.schema
    entries = [
        each
        for each in deletion_vector_entries(table.index_entries(head)).to_pylist()
        if (each["partition"], each["bucket"]) == place
    ]
    touched = set(deleted) | dropped
    # With buckets the vectors of one are one file; without, only files that change are touched.
    if schema.bucket_mode is BucketMode.BUCKET_UNAWARE:
        entries = [
            each
            for each in entries
            if touched & {part["data_file"] for part in each["dv_ranges"] or ()}
        ]
    vectors: dict[str, BitMap64] = defaultdict(BitMap64)
    given_up = pa.Table.from_pylist(entries, schema=INDEX_MANIFEST_ENTRY)
    for entry, path in zip(entries, index_file_paths(table, given_up), strict=True):
        ranges = [DeletionVectorRange(**part) for part in entry["dv_ranges"] or ()]
        data = read_index_file(table, path)
        for name, positions in read_deletion_vectors(data, ranges, path).items():
            vectors[name] |= BitMap64(positions)
    for name, more in deleted.items():
        vectors[name] |= BitMap64(more)
    for name in dropped:
        vectors.pop(name, None)
    if not entries and not vectors:
        return None
    new = [] if not vectors else [_written(target, place, vectors)]
    return CommitMessage(
        partition=partition,
        bucket=bucket,
        total_buckets=schema.num_buckets,
        new_index_files=pa.Table.from_pylist(new, schema=INDEX_MANIFEST_ENTRY),
        deleted_index_files=given_up,
    )


def _written(
    target: WriteTarget, place: tuple[bytes, int], vectors: Mapping[str, BitMap64]
) -> dict[str, Any]:
    is_wide = target.schema.options.read(table_options.DELETION_VECTORS_BITMAP64)
    data, ranges = write_deletion_vectors(vectors, bitmap64=is_wide)
    name = f"index-{target.new_file_id()}-0"
    store = target.store
    folders = IndexFolders(paths=target.paths, schema=target.schema, path_of=store.path_of)
    store.create(folders.path(place, name), data)
    return deletion_vector_entry(place, name, len(data), ranges)
