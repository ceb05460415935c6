"""The changes of a snapshot: from the messages of writers to entries of manifests. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.format.index_manifest import NO_INDEX_FILES, IndexType
from branch_console.format.manifest_entry import (
    MANIFEST_ENTRY,
    NO_FILES,
    FileKind,
    file_identity,
    rows_without,
)
from branch_console.format.snapshot import CommitKind, Snapshot

_FILLED: Final = ("kind", "identity", "manifest", "position")
_GIVEN: Final = [name for name in MANIFEST_ENTRY.names if name not in _FILLED]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Changes:
    """The changes of one snapshot: entries with their `kind` set, and index files.

    Attributes:
        delta, changelog: Columns of MANIFEST_ENTRY.
        new_index, deleted_index: Columns of INDEX_MANIFEST_ENTRY.
        restored: An earlier snapshot whose index files and statistics the new one uses.
    """

    delta: pa.Table
    changelog: pa.Table
    new_index: pa.Table
    deleted_index: pa.Table
    restored: Snapshot | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        tables = (self.delta, self.changelog, self.new_index, self.deleted_index)
        return not any(table.num_rows for table in tables)

    @property
    def changes_index(self) -> bool:
        """Whether index files come or go."""
        return bool(self.new_index.num_rows or self.deleted_index.num_rows)

    @property
    def adds_deletion_vectors(self) -> bool:
        """Whether rows of files are marked deleted."""
        return str(IndexType.DELETION_VECTORS) in self.new_index["index_type"].to_pylist()

    @property
    def added(self) -> pa.Table:
        """The entries that add a file."""
        return self.delta.filter(pc.equal(self.delta["kind"], int(FileKind.ADD)))

    @property
    def natural_kind(self) -> CommitKind:
        """OVERWRITE where a file, or a row by a deletion vector, goes; else APPEND."""
        has_deletes = int(FileKind.DELETE) in pc.unique(self.delta["kind"]).to_pylist()
        # Paimon always checks an OVERWRITE for conflicts, and a plain APPEND never. A commit that
        # hides or removes rows must be checked, so Paimon calls it OVERWRITE, and so do we.
        removes = has_deletes or self.adds_deletion_vectors
        return CommitKind.OVERWRITE if removes else CommitKind.APPEND

    @property
    def partitions(self) -> frozenset[bytes]:
        """The encoded partitions that change."""
        tables = (self.delta, self.new_index, self.deleted_index)
        return frozenset(
            value for table in tables for value in pc.unique(table["partition"]).to_pylist()
        )


def append_part(messages: Sequence[CommitMessage]) -> Changes:
    """The changes of all writers that are not those of a compaction."""
    return Changes(
        delta=entries(
            [each.deleted_files for each in messages], [each.new_files for each in messages]
        ),
        changelog=entries([], [each.changelog_files for each in messages]),
        new_index=_index([each.new_index_files for each in messages]),
        deleted_index=_index([each.deleted_index_files for each in messages]),
    )


def compact_part(messages: Sequence[CommitMessage]) -> Changes:
    """The changes of the compactions of all writers."""
    return Changes(
        delta=entries(
            [each.compact_before for each in messages], [each.compact_after for each in messages]
        ),
        changelog=entries([], [each.compact_changelog_files for each in messages]),
        new_index=_index([each.compact_new_index_files for each in messages]),
        deleted_index=_index([each.compact_deleted_index_files for each in messages]),
    )


def replacing(new: Changes, live: pa.Table, index: pa.Table) -> Changes:
    """An overwrite: all of `live` and `index` goes, and what is new comes.

    Args:
        new: The append part of the writers; its changelog is left out, as Paimon does.
        live: Columns of MANIFEST_ENTRY.
        index: Columns of INDEX_MANIFEST_ENTRY.
    """
    return Changes(
        delta=pa.concat_tables([entries([live], []), new.delta]),
        changelog=NO_FILES,
        new_index=new.new_index,
        deleted_index=index,
    )


def restoring(then: pa.Table, now: pa.Table, snapshot: Snapshot) -> Changes:
    """Return the changes that turn the live files of the head back into those of a snapshot.

    Args:
        then: The live files of the snapshot, with the columns of MANIFEST_ENTRY.
        now: The live files of the head, with the same columns.
        snapshot: The earlier snapshot.
    """
    return Changes(
        delta=entries([rows_without(now, then)], [rows_without(then, now)]),
        changelog=NO_FILES,
        new_index=NO_INDEX_FILES,
        deleted_index=NO_INDEX_FILES,
        restored=snapshot,
    )


def without_duplicates(changes: Changes, live: pa.Table) -> Changes:
    """The changes without the files that are live already (`commit.discard-duplicate-files`)."""
    return Changes(
        delta=rows_without(changes.delta, live),
        changelog=changes.changelog,
        new_index=changes.new_index,
        deleted_index=changes.deleted_index,
    )


def entries(deleted: Sequence[pa.Table], added: Sequence[pa.Table]) -> pa.Table:
    """Files as entries: those that go, then those that come, with the columns of MANIFEST_ENTRY."""
    parts = [_with_kind(deleted, FileKind.DELETE), _with_kind(added, FileKind.ADD)]
    filled = [part for part in parts if part.num_rows]
    return pa.concat_tables(filled) if filled else NO_FILES


def count_rows(delta: pa.Table) -> int:
    """Rows that entries add, less those that they delete."""
    signs = pc.subtract(1, pc.multiply(delta["kind"].cast(pa.int64()), 2))
    return int(pc.sum(pc.multiply(delta["row_count"], signs)).as_py() or 0)


def combined_index(current: pa.Table, changes: Changes, *, is_bucketed: bool) -> pa.Table:
    """All index files after the changes, with the columns of INDEX_MANIFEST_ENTRY.

    A hash index, and the deletion vectors of a table with buckets, are one file a bucket: the new
    one stands for the old one. Source: Paimon IndexManifestFileHandler.
    """
    one_a_bucket = {str(IndexType.HASH)}
    if is_bucketed:
        one_a_bucket.add(str(IndexType.DELETION_VECTORS))
    columns = ["index_type", "partition", "bucket"]
    replaced = {
        tuple(row.values())
        for row in changes.new_index.select(columns).to_pylist()
        if row["index_type"] in one_a_bucket
    }
    gone = set(changes.deleted_index["file_name"].to_pylist())
    keep = [
        row.pop("file_name") not in gone and tuple(row.values()) not in replaced
        for row in current.select(["file_name", *columns]).to_pylist()
    ]
    return pa.concat_tables([current.filter(pa.array(keep, pa.bool_())), changes.new_index])


def _with_kind(tables: Sequence[pa.Table], kind: FileKind) -> pa.Table:
    """Return entries of one kind, with the columns that a writer need not fill."""
    parts = [table.select(_GIVEN) for table in tables if table.num_rows]
    if not parts:
        return NO_FILES
    files = pa.concat_tables(parts)
    count = files.num_rows
    filled = {
        "kind": pa.array(np.full(count, int(kind), dtype=np.int32)),
        "identity": file_identity(files),
        "manifest": pa.array([""] * count, pa.string()),
        "position": pa.array(np.arange(count, dtype=np.int32)),
    }
    columns = [filled[name] if name in filled else files[name] for name in MANIFEST_ENTRY.names]
    return pa.table(columns, schema=MANIFEST_ENTRY)


def _index(tables: Sequence[pa.Table]) -> pa.Table:
    parts = [table for table in tables if table.num_rows]
    return pa.concat_tables(parts) if parts else NO_INDEX_FILES
