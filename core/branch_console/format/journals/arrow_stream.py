"""Columns and bytes in a journal: as base64, and columns as an Arrow stream.

Columns stay as the bytes that were written: another version of Arrow may encode them otherwise.
"""

import base64
import binascii
from dataclasses import dataclass

import pyarrow as pa

from branch_console.errors import FormatError
from branch_console.format.journals.keys import Entry, values
from branch_console.format.json_text import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowStream:
    """Columns as the bytes of an Arrow stream."""

    data: bytes

    @classmethod
    def of(cls, table: pa.Table) -> "ArrowStream":
        """Encode columns."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return cls(data=sink.getvalue().to_pybytes())

    @property
    def table(self) -> pa.Table:
        """The columns."""
        with pa.ipc.open_stream(self.data) as reader:
            return reader.read_all()

    @property
    def text(self) -> str:
        """The stream as base64."""
        return base64.b64encode(self.data).decode()


def base64_bytes(name: str) -> Entry:
    """Bytes."""
    return values(name, _decoded, lambda value: base64.b64encode(value).decode())


def stream(name: str) -> Entry:
    """A key whose value is columns; a text that cannot be read as columns is refused."""
    return values(name, decode_stream, lambda value: value.text)


def perhaps_stream(name: str) -> Entry:
    """Columns, left out where they are None."""

    def decode(raw: JsonObject, key: str) -> ArrowStream | None:
        return None if raw.find(key, str) is None else decode_stream(raw, key)

    return values(name, decode, lambda value: None if value is None else value.text)


def _decoded(raw: JsonObject, key: str) -> bytes:
    try:
        return base64.b64decode(raw.get(key, str), validate=True)
    except binascii.Error as error:
        raise FormatError(f"The {raw.what} has a {key!r} that is not base64.") from error


def decode_stream(raw: JsonObject, key: str) -> ArrowStream:
    """Return the columns of a key; raises FormatError."""
    found = ArrowStream(data=_decoded(raw, key))
    try:
        found.table  # noqa: B018 - what cannot be read is told with its file, which is known here
    except (ValueError, OSError, pa.ArrowException) as error:
        raise FormatError(f"The {raw.what} has a {key!r} that cannot be read: {error}.") from error
    return found
