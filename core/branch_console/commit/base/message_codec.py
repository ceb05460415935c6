"""Commit messages in a journal: how a commit that was cut off is known to whoever finishes it."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Final

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.format.journals.arrow_stream import ArrowStream
from branch_console.format.journals.rows import WriteMessage

_TABLES: Final = tuple(
    each.name
    for each in fields(CommitMessage)
    if each.name not in ("partition", "bucket", "total_buckets")
)


def encode_messages(messages: Iterable[CommitMessage]) -> tuple[WriteMessage, ...]:
    """Encode messages for a journal; `decode_messages` reads them back."""
    return tuple(
        WriteMessage(
            partition=each.partition,
            bucket=each.bucket,
            total_buckets=each.total_buckets,
            tables={
                name: ArrowStream.of(table)
                for name in _TABLES
                if (table := getattr(each, name)).num_rows
            },
        )
        for each in messages
    )


def decode_messages(messages: Iterable[WriteMessage]) -> tuple[CommitMessage, ...]:
    """Return what `encode_messages` was given."""
    return tuple(
        CommitMessage(
            partition=each.partition,
            bucket=each.bucket,
            total_buckets=each.total_buckets,
            **{name: each.tables[name].table for name in _TABLES if name in each.tables},
        )
        for each in messages
    )
