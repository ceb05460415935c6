"""Commit messages as JSON values: how a commit that was cut off is known to whoever finishes it."""

import base64
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Final

import pyarrow as pa

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.errors import FormatError
from branch_console.format.json_text import JsonObject

_TABLES: Final = tuple(
    each.name
    for each in fields(CommitMessage)
    if each.name not in ("partition", "bucket", "total_buckets")
)


def encode_messages(messages: Sequence[CommitMessage]) -> list[dict[str, object]]:
    """Encode messages; `decode_messages` reads them back."""
    return [
        {
            "partition": base64.b64encode(each.partition).decode(),
            "bucket": each.bucket,
            "totalBuckets": each.total_buckets,
            **{
                name: _encoded(table) for name in _TABLES if (table := getattr(each, name)).num_rows
            },
        }
        for each in messages
    ]


def decode_messages(raw: Iterable[JsonObject]) -> tuple[CommitMessage, ...]:
    """Decode what `encode_messages` wrote; raises FormatError."""
    return tuple(
        CommitMessage(
            partition=base64.b64decode(each.get("partition", str)),
            bucket=each.get("bucket", int),
            total_buckets=each.get("totalBuckets", int),
            **{
                name: _decoded(text, each.what)
                for name in _TABLES
                if (text := each.find(name, str)) is not None
            },
        )
        for each in raw
    )


def _encoded(table: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return base64.b64encode(sink.getvalue()).decode()


def _decoded(text: str, what: str) -> pa.Table:
    try:
        with pa.ipc.open_stream(base64.b64decode(text)) as reader:
            return reader.read_all()
    except (ValueError, pa.ArrowException) as error:
        raise FormatError(f"The {what} has a table that cannot be read: {error}.") from error
