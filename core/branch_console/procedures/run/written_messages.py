"""The files that a stage wrote, as commit messages: to and from what stages and journals keep."""

from collections.abc import Iterable, Sequence

import pyarrow as pa

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.format.index_manifest import NO_INDEX_FILES
from branch_console.format.journals.arrow_stream import ArrowStream
from branch_console.format.journals.written import WrittenBucket
from branch_console.table.data_file_paths import data_file_paths, index_file_paths
from branch_console.table.file_store_table import FileStoreTable


def buckets_of(messages: Sequence[CommitMessage]) -> tuple[WrittenBucket, ...]:
    """Return messages that add files, and perhaps take others away, as a journal has them."""
    return tuple(
        WrittenBucket(
            partition=each.partition,
            bucket=each.bucket,
            total_buckets=each.total_buckets,
            files=ArrowStream.of(each.new_files),
            deleted_files=ArrowStream.of(each.deleted_files),
            new_index_files=ArrowStream.of(each.new_index_files),
            deleted_index_files=ArrowStream.of(each.deleted_index_files),
        )
        for each in messages
    )


def messages_of(buckets: Iterable[WrittenBucket] | None) -> tuple[CommitMessage, ...]:
    """Return what `buckets_of` was given; nothing if nothing was written."""
    return tuple(
        CommitMessage(
            partition=each.partition,
            bucket=each.bucket,
            total_buckets=each.total_buckets,
            new_files=each.files.table,
            deleted_files=each.deleted_files.table,
            new_index_files=_index_files(each.new_index_files),
            deleted_index_files=_index_files(each.deleted_index_files),
        )
        for each in buckets or ()
    )


def written_paths(table: FileStoreTable, messages: Sequence[CommitMessage]) -> list[str]:
    """The paths of the files that messages add."""
    return [
        str(path)
        for each in messages
        for path in (
            *data_file_paths(table, each.new_files).to_pylist(),
            *index_file_paths(table, each.new_index_files),
        )
    ]


def _index_files(stream: ArrowStream | None) -> pa.Table:
    # Journals from before a merge wrote index files do not speak of them.
    return NO_INDEX_FILES if stream is None else stream.table
