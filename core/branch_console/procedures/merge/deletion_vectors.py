"""Deletion vectors of a merge: those that its plan decides on, written as index files."""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import uuid4

import pyarrow as pa

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.metadata_copy import publish_files
from branch_console.diff.changes.file_history import Place, keys_of, original_name
from branch_console.diff.file_masks import MaskKey
from branch_console.diff.masks import masks_of
from branch_console.format import options as table_options
from branch_console.format.index_manifest import (
    INDEX_MANIFEST_ENTRY,
    deletion_vector_entries,
    deletion_vector_entry,
)
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import BucketMode
from branch_console.format.values.deletion_vector import write_deletion_vectors
from branch_console.merge.file_moves import FileMoves
from branch_console.procedures.merge.side_log import read_masks
from branch_console.table.data_file_paths import IndexFolders
from branch_console.table.file_store_table import FileStoreTable


def write_masks(
    store: CommitStore,
    target: FileStoreTable,
    head: Snapshot,
    moves: FileMoves,
    write_id: str = "",
) -> tuple[CommitMessage, ...]:
    """Write the deletion vectors of a merge of a table without a primary key.

    The vectors name data files as they were written: which copies the target holds of them is
    known where the merge is published.

    Args:
        store: To be written.
        target: The table on the branch that is merged into.
        head: The head of the target.
        moves: The decided moves of files.
        write_id: The id that the names of the index files contain, by which they are found again.

    Returns:
        A message a bucket in which vectors change; nothing else is in it.

    Raises:
        FormatError: An index file of the target cannot be decoded.
    """
    if target.schema().primary_keys:
        return ()
    gone = {key for _, key in keys_of(moves.remove)} - moves.masks.keys()
    touched = gone | moves.masks.keys()
    if not touched:
        return ()
    entries: dict[Place, list[dict[str, Any]]] = {}
    for entry in deletion_vector_entries(target.index_entries(head)).to_pylist():
        entries.setdefault((entry["partition"], entry["bucket"]), []).append(entry)
    messages = (
        _message(store, target, place, entries.get(place, []), moves, gone, write_id)
        for place in sorted({key[:2] for key in touched})
    )
    return tuple(each for each in messages if not each.is_empty)


def _message(
    store: CommitStore,
    target: FileStoreTable,
    place: Place,
    entries: Sequence[dict[str, Any]],
    moves: FileMoves,
    gone: Collection[MaskKey],
    write_id: str,
) -> CommitMessage:
    schema = target.schema()
    wanted = {key: rows for key, rows in moves.masks.items() if key[:2] == place}
    touched = {key[2] for key in (*gone, *wanted) if key[:2] == place}
    # With buckets the vectors of one are one file; without, only files that change are touched.
    is_whole = schema.bucket_mode is not BucketMode.BUCKET_UNAWARE
    old = [
        entry
        for entry in entries
        if is_whole or touched & {original_name(each["data_file"]) for each in entry["dv_ranges"]}
    ]
    given_up = pa.Table.from_pylist(old, schema=INDEX_MANIFEST_ENTRY)
    vectors = {**read_masks(target, masks_of(given_up)), **wanted}
    held = {key[2]: rows for key, rows in vectors.items() if rows and key not in gone}
    new = []
    if held:
        is_wide = schema.options.read(table_options.DELETION_VECTORS_BITMAP64)
        data, ranges = write_deletion_vectors(held, bitmap64=is_wide)
        name = f"index-{write_id}-{uuid4()}-0"
        publish_files(store, [(IndexFolders.of(target).path(place, name), data)])
        new = [deletion_vector_entry(place, name, len(data), ranges)]
    return CommitMessage(
        partition=place[0],
        bucket=place[1],
        total_buckets=schema.num_buckets,
        new_index_files=pa.Table.from_pylist(new, schema=INDEX_MANIFEST_ENTRY),
        deleted_index_files=given_up,
    )
