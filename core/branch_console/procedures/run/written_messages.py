"""The files that a stage wrote, as commit messages: to and from what stages and journals keep."""

import base64
from collections.abc import Mapping, Sequence

import pyarrow as pa

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.format.index_manifest import NO_INDEX_FILES
from branch_console.format.json_text import JsonObject
from branch_console.table.data_file_paths import data_file_paths
from branch_console.table.file_store_table import FileStoreTable


def messages_to_json(messages: Sequence[CommitMessage]) -> list[dict[str, object]]:
    """Encode messages that add files, and perhaps take others away, for a journal."""
    return [
        {
            "partition": base64.b64encode(each.partition).decode(),
            "bucket": each.bucket,
            "totalBuckets": each.total_buckets,
            "files": _encoded(each.new_files),
            "deletedFiles": _encoded(each.deleted_files),
            "newIndexFiles": _encoded(each.new_index_files),
            "deletedIndexFiles": _encoded(each.deleted_index_files),
        }
        for each in messages
    ]


def settled_messages(facts: Mapping[str, object]) -> tuple[CommitMessage, ...]:
    """The rows that a stage wrote, from what it left or what a journal tells of it."""
    return messages_from(JsonObject(facts, "rows of a merge"), "rowMessages")


def messages_from(raw: JsonObject, key: str) -> tuple[CommitMessage, ...]:
    """Decode what `messages_to_json` wrote; nothing where the key is absent."""
    if raw.find(key, list) is None:
        return ()
    return tuple(
        CommitMessage(
            partition=base64.b64decode(each.get("partition", str)),
            bucket=each.get("bucket", int),
            total_buckets=each.get("totalBuckets", int),
            new_files=_decoded(each.get("files", str)),
            deleted_files=_decoded(each.get("deletedFiles", str)),
            new_index_files=_index_files(each, "newIndexFiles"),
            deleted_index_files=_index_files(each, "deletedIndexFiles"),
        )
        for each in raw.objects(key)
    )


def written_paths(table: FileStoreTable, messages: Sequence[CommitMessage]) -> list[str]:
    """The paths of the files that messages add."""
    return [
        str(path)
        for each in messages
        for path in (
            *data_file_paths(table, each.new_files).to_pylist(),
            *map(table.paths.index, each.new_index_files["file_name"].to_pylist()),
        )
    ]


def _encoded(files: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, files.schema) as writer:
        writer.write_table(files)
    return base64.b64encode(sink.getvalue()).decode()


def _index_files(raw: JsonObject, key: str) -> pa.Table:
    text = raw.find(key, str)
    # Journals from before a merge wrote index files do not speak of them.
    return NO_INDEX_FILES if text is None else _decoded(text)


def _decoded(text: str) -> pa.Table:
    with pa.ipc.open_stream(base64.b64decode(text)) as reader:
        return reader.read_all()
