"""Timestamps that Parquet files keep as INT96: days and nanoseconds of the day, of any year.

Paimon keeps TIMESTAMP of more than six digits so, and Hive all. Arrow takes INT96 for 64-bit
nanoseconds, wraps what lies before 1677 and after 2262, and takes Paimon's negative nanoseconds
before 1970 for positive ones. So Arrow is shown values of twelve bytes in their place: for it the
footer calls INT96 that, and the other way round in files that we write. Decision 0023.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from branch_console.format.values.fine_times import (
    FINE_TIME,
    NANOS_PER_MILLI,
    fine_times,
    has_part,
    is_fine,
    map_parts,
    time_parts,
)

_BYTES: Final = pa.binary(12)
_LAYOUT: Final = np.dtype([("nanos", "<i8"), ("day", "<i4")])
_EPOCH_DAY: Final = 2_440_588
_MILLIS_PER_DAY: Final = 86_400_000
_DAYS: Final = 1 << 31


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A column of a Parquet file without parts: its path, and the type of its values."""

    path: str
    kind: pa.DataType

    @property
    def is_int96(self) -> bool:
        """Whether its values are kept as INT96."""
        return is_fine(self.kind)


# --- reading ------------------------------------------------------------------------------------


def open_parquet(source: Any) -> tuple[pq.ParquetFile, bool]:
    """Open a Parquet file; say whether its rows need `with_times`, as they have INT96."""
    opened = pq.ParquetFile(source)
    leaves = [opened.schema.column(at) for at in range(len(opened.schema))]
    stored = [at for at, leaf in enumerate(leaves) if leaf.physical_type == "INT96"]
    if not stored:
        return opened, False
    opened.close()
    footer = _Footer.read(source)
    footer.show_as_bytes(stored)
    shown = pq.read_metadata(pa.BufferReader(footer.file_end()))
    return pq.ParquetFile(source, metadata=shown), True


def with_times(rows: pa.Table) -> pa.Table:
    """Rows with timestamps, see `branch_console.format.values.fine_times`, in place of INT96."""
    for at, field in enumerate(rows.schema):
        if has_part(field.type, _is_stored):
            chunks = [map_parts(chunk, _is_stored, _from_bytes) for chunk in rows[at].chunks]
            empty = map_parts(pa.nulls(0, field.type), _is_stored, _from_bytes)
            rows = rows.set_column(at, field.name, pa.chunked_array(chunks or [empty]))
    return rows


# --- writing ------------------------------------------------------------------------------------


def int96_layout(layout: pa.Schema) -> tuple[pa.Schema, tuple[Leaf, ...]]:
    """The columns that Arrow is to write for a layout, and the leaves of the file."""
    stored = pa.schema([field.with_type(_stored_type(field.type)) for field in layout])
    leaves = [leaf for field in layout for leaf in _leaves(field, field.name)]
    return stored, tuple(leaves)


def to_int96(array: pa.Array) -> pa.Array:
    """An array whose timestamps of more than six digits are twelve bytes each."""
    return map_parts(array, is_fine, _to_bytes)


def mark_int96(data: pa.Buffer, leaves: Sequence[Leaf]) -> bytes:
    """A Parquet file whose leaves of twelve bytes are called INT96 where they are meant so."""
    wanted = [at for at, leaf in enumerate(leaves) if leaf.is_int96]
    if not wanted:
        return bytes(data)
    footer = _Footer.read(pa.BufferReader(data))
    footer.call_int96(wanted)
    return bytes(data)[: footer.start] + footer.file_end()


def _stored_type(kind: pa.DataType) -> pa.DataType:
    return map_parts(pa.nulls(0, kind), is_fine, _to_bytes).type


def _leaves(field: pa.Field, path: str) -> Iterator[Leaf]:
    kind = field.type
    if pa.types.is_struct(kind):
        for part in kind:
            yield from _leaves(part, f"{path}.{part.name}")
    elif pa.types.is_map(kind):
        yield from _leaves(kind.key_field, f"{path}.key_value.key")
        yield from _leaves(kind.item_field, f"{path}.key_value.value")
    elif pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        yield from _leaves(kind.value_field, f"{path}.list.element")
    else:
        yield Leaf(path=path, kind=kind)


# --- values -------------------------------------------------------------------------------------


def _is_stored(kind: pa.DataType) -> bool:
    return bool(kind == _BYTES)


def _from_bytes(stored: pa.Array) -> pa.Array:
    end = stored.offset + len(stored)
    values = np.frombuffer(stored.buffers()[1] or b"", _LAYOUT, end)[stored.offset :]
    # Paimon writes negative nanoseconds of the day before 1970.
    millis, nanos = np.divmod(values["nanos"], NANOS_PER_MILLI)
    days = values["day"].astype(np.int64) - _EPOCH_DAY
    nulls = stored.is_null().to_numpy(zero_copy_only=False) if stored.null_count else None
    return fine_times(days * _MILLIS_PER_DAY + millis, nanos, nulls, FINE_TIME)


def _to_bytes(times: pa.Array) -> pa.Array:
    millis, nanos = time_parts(times)
    days, rest = np.divmod(millis, _MILLIS_PER_DAY)
    days += _EPOCH_DAY
    there = times.is_valid()
    is_far = (days < -_DAYS) | (days >= _DAYS)
    if (is_far & there.to_numpy(zero_copy_only=False)).any():
        raise pa.ArrowInvalid("a time lies more than five million years away")
    stored = np.empty(len(times), _LAYOUT)
    stored["nanos"] = rest * NANOS_PER_MILLI + nanos
    stored["day"] = np.where(is_far, 0, days)
    mask = there.buffers()[1] if times.null_count else None
    return pa.Array.from_buffers(_BYTES, len(times), [mask, pa.py_buffer(stored.tobytes())])


# --- the footer: Thrift's compact protocol ------------------------------------------------------

# Fields of Parquet's FileMetaData, RowGroup, ColumnChunk, ColumnMetaData and SchemaElement.
_SCHEMA: Final = 2
_GROUPS: Final = 4
_COLUMNS: Final = 1
_META: Final = 3
_TYPE: Final = 1
_TYPE_LENGTH: Final = 2
# As the protocol writes the numbers 3 and 7, and a second field that is the number 12.
_INT96: Final = b"\x06"
_FIXED_LEN_BYTE_ARRAY: Final = b"\x0e"
_TWELVE_LONG: Final = b"\x15\x18"
_STEP: Final = 1 << 4
_MAGIC: Final = b"PAR1"
_END: Final = 8


@dataclass(frozen=True, slots=True)
class _Field:
    """A value, where its header stands and where its own bytes begin."""

    value: Any
    head: int
    place: int


class _Footer:
    """The footer of a Parquet file, with edits that leave all other bytes as they are."""

    def __init__(self, data: bytes, start: int) -> None:
        self.start = start
        self._data = data
        self._edits: list[tuple[int, int, bytes]] = []
        whole = _Compact(data).struct()
        self._leaves = [each for each in whole[_SCHEMA].value if _TYPE in each]
        self._chunks = [
            [chunk[_META].value for chunk in group[_COLUMNS].value]
            for group in whole[_GROUPS].value
        ]

    @classmethod
    def read(cls, source: Any) -> _Footer:
        end: int = source.seek(0, 2)
        source.seek(end - _END)
        size = int.from_bytes(source.read(4), "little")
        source.seek(end - _END - size)
        return cls(source.read(size), end - _END - size)

    def show_as_bytes(self, leaves: Iterable[int]) -> None:
        """Call leaves values of twelve bytes."""
        for leaf in leaves:
            self._call(leaf, _FIXED_LEN_BYTE_ARRAY)
            if _TYPE_LENGTH not in self._leaves[leaf]:
                following = self._after(leaf, _TYPE)
                step = bytes([self._data[following] - _STEP])
                self._edits.append((following, 1, _TWELVE_LONG + step))

    def call_int96(self, leaves: Iterable[int]) -> None:
        """Call leaves of twelve bytes INT96."""
        for leaf in leaves:
            self._call(leaf, _INT96)
            length = self._leaves[leaf][_TYPE_LENGTH].head
            following = self._after(leaf, _TYPE_LENGTH)
            step = bytes([self._data[following] + _STEP])
            self._edits.append((length, following - length + 1, step))

    def file_end(self) -> bytes:
        """The changed footer, and what stands behind it."""
        parts, at = [], 0
        for place, size, new in sorted(self._edits):
            parts += [self._data[at:place], new]
            at = place + size
        changed = b"".join([*parts, self._data[at:]])
        return changed + len(changed).to_bytes(4, "little") + _MAGIC

    def _call(self, leaf: int, kind: bytes) -> None:
        for each in (self._leaves[leaf], *(chunks[leaf] for chunks in self._chunks)):
            self._edits.append((each[_TYPE].place, 1, kind))

    def _after(self, leaf: int, number: int) -> int:
        """Return the position of the field after another; each element has a name after both."""
        heads: list[int] = [each.head for at, each in self._leaves[leaf].items() if at > number]
        return min(heads)


class _Compact:
    """Reads structs as dictionaries by field id."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self) -> dict[int, _Field]:
        found: dict[int, _Field] = {}
        number, place = 0, self._at
        while head := self._byte():
            step = head >> 4
            number = number + step if step else self._signed()
            start = self._at
            found[number] = _Field(self._value(head & 0x0F), place, start)
            place = self._at
        return found

    def _value(self, kind: int) -> Any:
        match kind:
            case 1 | 2:
                return kind == 1
            case 3:
                return self._byte()
            case 4 | 5 | 6:
                return self._signed()
            case 7:
                self._at += 8
                return None
            case 8:
                size = self._number()
                self._at += size
                return bytes(self._data[self._at - size : self._at])
            case 9 | 10:
                return self._list()
            case 12:
                return self.struct()
            case _:
                raise ValueError(f"a footer has a value of kind {kind}")

    def _list(self) -> list[Any]:
        head = self._byte()
        size = head >> 4
        if size == 15:
            size = self._number()
        kind = head & 0x0F
        # In lists a truth value takes a byte.
        return [self._byte() if kind in (1, 2) else self._value(kind) for _ in range(size)]

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _number(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def _signed(self) -> int:
        value = self._number()
        return (value >> 1) ^ -(value & 1)
