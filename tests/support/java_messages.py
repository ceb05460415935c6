"""Commit messages of Java's writers as ours: Java writes the files, our commit publishes them."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.format.index_manifest import INDEX_MANIFEST_ENTRY
from branch_console.format.manifest_entry import MANIFEST_ENTRY
from tests.support.java_paimon import serialized_row


def to_our_messages(messages: Iterable[Any], total_buckets: int) -> list[CommitMessage]:
    """Java's commit messages as ours; `total_buckets` where Java leaves them to the table."""
    return [_message(message, total_buckets) for message in messages]


def _message(message: Any, table_buckets: int) -> CommitMessage:
    partition = serialized_row(message.partition())
    bucket = int(message.bucket())
    own_buckets = message.totalBuckets()
    total_buckets = table_buckets if own_buckets is None else int(own_buckets)
    place = {"partition": partition, "bucket": bucket, "total_buckets": total_buckets}

    def files(metas: Any) -> pa.Table:
        rows = [{**place, **_file(meta)} for meta in metas]
        return pa.Table.from_pylist(rows, schema=MANIFEST_ENTRY)

    def index_files(metas: Any) -> pa.Table:
        rows = [{"kind": 0, **place, **_index_file(meta)} for meta in metas]
        return pa.Table.from_pylist(rows, schema=INDEX_MANIFEST_ENTRY)

    data, compact = message.newFilesIncrement(), message.compactIncrement()
    return CommitMessage(
        partition=partition,
        bucket=bucket,
        total_buckets=total_buckets,
        new_files=files(data.newFiles()),
        deleted_files=files(data.deletedFiles()),
        changelog_files=files(data.changelogFiles()),
        compact_before=files(compact.compactBefore()),
        compact_after=files(compact.compactAfter()),
        compact_changelog_files=files(compact.changelogFiles()),
        new_index_files=index_files(data.newIndexFiles()),
        deleted_index_files=index_files(data.deletedIndexFiles()),
        compact_new_index_files=index_files(compact.newIndexFiles()),
        compact_deleted_index_files=index_files(compact.deletedIndexFiles()),
    )


def _file(meta: Any) -> dict[str, Any]:
    embedded = meta.embeddedIndex()
    source = meta.fileSource().orElse(None)
    return {
        "kind": 0,
        "file_name": str(meta.fileName()),
        "file_size": int(meta.fileSize()),
        "row_count": int(meta.rowCount()),
        "min_key": serialized_row(meta.minKey()),
        "max_key": serialized_row(meta.maxKey()),
        "key_stats": _stats(meta.keyStats()),
        "value_stats": _stats(meta.valueStats()),
        "min_sequence_number": int(meta.minSequenceNumber()),
        "max_sequence_number": int(meta.maxSequenceNumber()),
        "schema_id": int(meta.schemaId()),
        "level": int(meta.level()),
        "extra_files": [str(name) for name in meta.extraFiles()],
        "creation_time": int(meta.creationTime().getMillisecond()),
        "delete_row_count": _number(meta.deleteRowCount().orElse(None)),
        "embedded_file_index": None if embedded is None else bytes(b & 0xFF for b in embedded),
        "file_source": None if source is None else int(source.toByteValue()),
        "value_stats_cols": _texts(meta.valueStatsCols()),
        "external_path": meta.externalPath().orElse(None),
        "first_row_id": _number(meta.firstRowId()),
        "write_cols": _texts(meta.writeCols()),
        "identity": "",
        "manifest": "",
        "position": 0,
    }


def _index_file(meta: Any) -> dict[str, Any]:
    ranges = meta.dvRanges()
    return {
        "index_type": str(meta.indexType()),
        "file_name": str(meta.fileName()),
        "file_size": int(meta.fileSize()),
        "row_count": int(meta.rowCount()),
        "dv_ranges": None
        if ranges is None
        else [
            {
                "data_file": str(item.dataFileName()),
                "offset": int(item.offset()),
                "length": int(item.length()),
                "cardinality": _number(item.cardinality()),
            }
            for item in ranges.values()
        ],
    }


def _stats(stats: Any) -> dict[str, Any]:
    counts = stats.nullCounts()
    return {
        "min_values": serialized_row(stats.minValues()),
        "max_values": serialized_row(stats.maxValues()),
        "null_counts": [
            None if counts.isNullAt(i) else int(counts.getLong(i)) for i in range(counts.size())
        ],
    }


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


def _texts(values: Any) -> list[str] | None:
    return None if values is None else [str(value) for value in values]
