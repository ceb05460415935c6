"""The journals of rows that are written: to be published at once, or to wait for an operation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from branch_console.errors import FormatError
from branch_console.format.journals.arrow_stream import ArrowStream, base64_bytes, decode_stream
from branch_console.format.journals.codec import Codec, Layout
from branch_console.format.journals.keys import (
    identity,
    inlined,
    needed,
    needed_identity,
    part,
    parts,
    perhaps,
    since,
    values,
)
from branch_console.format.json_text import JsonObject
from branch_console.format.snapshot import NO_SNAPSHOT, Snapshot, SnapshotIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterProcess:
    """The process of a writer, by which recovery knows whether it is still at work."""

    host: str | None = None
    process: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteJournal:
    """A write of rows.

    Attributes:
        write_id: The id that the name of every file of the write contains.
    """

    write_id: str
    writer: WriterProcess


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedRowsJournal:
    """Rows that wait for an operation to publish them.

    Attributes:
        operation_id: The operation.
    """

    operation_id: str
    writer: WriterProcess


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAt:
    """The head at which the rows of a statement were read; `id` is 0 if there was none."""

    id: int
    identity: SnapshotIdentity

    @classmethod
    def of(cls, head: Snapshot | None) -> "ReadAt":
        """Return the id and identity of a head; a branch without snapshots has id 0."""
        if head is None:
            return cls(id=0, identity=NO_SNAPSHOT)
        return cls(id=head.id, identity=head.identity)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteMessage:
    """The files that one writer made for one bucket.

    Attributes:
        partition: The BinaryRow of the partition.
        tables: Files by what the commit does with them, without those of which there are none.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    tables: Mapping[str, ArrowStream] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteStep:
    """The files that a write is about to publish: its second entry in the journal.

    Attributes:
        messages: The messages of its writers.
        overwrites: Whether partitions are replaced.
        partitions: The encoded partitions that an overwrite replaces; None if it is to tell them
            by what it writes.
        expected_head: The only head that it may stand on; None if any will do.
        read_at: The snapshot at which the rows were read that these were computed from.
        summary: Figures of the write that are to be remembered.
        properties: The properties of the snapshot.
        seen_id: The head before the first try.
    """

    messages: tuple[WriteMessage, ...]
    overwrites: bool
    partitions: tuple[bytes, ...] | None = None
    expected_head: SnapshotIdentity | None = None
    read_at: ReadAt | None = None
    summary: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    seen_id: int


TAKEN_BACK: Final = b'{"takenBack": true}'
"""The second journal entry of a write that will never commit."""


class _Tables:
    """All keys of a message that hold files."""

    _others: Final = ("partition", "bucket", "totalBuckets")

    @property
    def names(self) -> tuple[str, ...]:
        return ()

    def read(self, raw: JsonObject) -> dict[str, Any]:
        kinds = [key for key in raw.values if key not in self._others]
        return {"tables": {kind: decode_stream(raw, kind) for kind in kinds}}

    def write(self, message: WriteMessage) -> dict[str, object]:
        return {kind: message.tables[kind].text for kind in message.tables}


def _partitions(raw: JsonObject, key: str) -> tuple[bytes, ...] | None:
    if raw.find(key, list) is None:
        return None
    try:
        return tuple(map(bytes.fromhex, raw.texts(key)))
    except ValueError as error:
        raise FormatError(f"The {raw.what} has a {key!r} that is not hexadecimal.") from error


def _hex(partitions: tuple[bytes, ...] | None) -> list[str] | None:
    return None if partitions is None else [each.hex() for each in partitions]


_PROCESS: Final = Layout(WriterProcess, perhaps("host", str), perhaps("process", int))
_WRITER: Final = inlined("writer", _PROCESS)
_MESSAGE: Final = Layout(
    WriteMessage,
    base64_bytes("partition"),
    needed("bucket", int),
    needed("totalBuckets", int),
    _Tables(),
)
_READ_AT: Final = Layout(
    ReadAt,
    needed("id", int),
    needed_identity("identity"),
)

WRITE_MESSAGES: Final = parts("messages", _MESSAGE)
"""The files of writers, in any journal that holds the whole of a commit."""

WRITER: Final = Codec(what="journal of a write", reads={1: _PROCESS})
"""Reads of rows that are written, in whichever way, who writes them."""
WRITE_JOURNAL: Final = Codec(
    what="journal of a write",
    reads={1: Layout(WriteJournal, needed("writeId", str), _WRITER)},
)
STAGED_ROWS_JOURNAL: Final = Codec(
    what="journal of rows that are staged",
    reads={1: Layout(StagedRowsJournal, needed("for", str, attribute="operation_id"), _WRITER)},
)
WRITE_STEP: Final = Codec(
    what="journal of a write",
    reads={
        1: Layout(
            WriteStep,
            WRITE_MESSAGES,
            needed("overwrites", bool),
            values("partitions", _partitions, _hex),
            identity("expectedHead"),
            part("readAt", _READ_AT),
            since("summary", dict, default=MappingProxyType({})),
            since("properties", dict, default=MappingProxyType({})),
            needed("seenId", int),
        )
    },
)
