"""Files that a writer hands to the commit; nothing refers to them yet."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from branch_console.format.index_manifest import NO_INDEX_FILES
from branch_console.format.manifest_entry import NO_FILES


def _no_files() -> pa.Table:
    return NO_FILES


def _no_index_files() -> pa.Table:
    return NO_INDEX_FILES


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CommitMessage:
    """The changes one writer made to one bucket.

    Tables of files have the columns of MANIFEST_ENTRY, those of index files the columns of
    INDEX_MANIFEST_ENTRY. The commit sets `kind` itself; `partition`, `bucket` and `total_buckets`
    of the rows must be those of the message. `identity`, `manifest` and `position` may be null.

    Attributes:
        partition: The BinaryRow of the partition, with its arity prefix.
        total_buckets: The number of buckets of the partition when the files were written.
        new_files: Appended files.
        deleted_files: Files that leave the table with this change (overwrite, row deletes).
        changelog_files: Changelog of the appended files.
        compact_before: Files a compaction read.
        compact_after: Files a compaction wrote.
        compact_changelog_files: Changelog of the compaction.
        new_index_files: Index files (hash index, deletion vectors) that come with the append part.
        deleted_index_files: Index files that leave with the append part.
        compact_new_index_files: Index files that come with the compaction.
        compact_deleted_index_files: Index files that leave with the compaction.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    new_files: pa.Table = field(default_factory=_no_files)
    deleted_files: pa.Table = field(default_factory=_no_files)
    changelog_files: pa.Table = field(default_factory=_no_files)
    compact_before: pa.Table = field(default_factory=_no_files)
    compact_after: pa.Table = field(default_factory=_no_files)
    compact_changelog_files: pa.Table = field(default_factory=_no_files)
    new_index_files: pa.Table = field(default_factory=_no_index_files)
    deleted_index_files: pa.Table = field(default_factory=_no_index_files)
    compact_new_index_files: pa.Table = field(default_factory=_no_index_files)
    compact_deleted_index_files: pa.Table = field(default_factory=_no_index_files)

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed."""
        return not any(
            table.num_rows
            for table in (
                self.new_files,
                self.deleted_files,
                self.changelog_files,
                self.compact_before,
                self.compact_after,
                self.compact_changelog_files,
                self.new_index_files,
                self.deleted_index_files,
                self.compact_new_index_files,
                self.compact_deleted_index_files,
            )
        )


def row_count(messages: Iterable[CommitMessage]) -> int:
    """Rows in the appended files of all messages."""
    return sum(
        sum(count or 0 for count in message.new_files["row_count"].to_pylist())
        for message in messages
    )
