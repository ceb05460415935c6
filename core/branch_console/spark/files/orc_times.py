"""ORC files with timestamps that Arrow's reader does not reach, read all the same.

Arrow makes 64-bit nanoseconds of every timestamp and gives up the file at the first before 1677 or
after 2262. ORC keeps seconds since 2015 and nanoseconds in streams of their own. So Arrow is shown
a footer in which timestamps are whole numbers, which gives it the seconds wherever they stand, and
the nanoseconds are decoded here. Source: the specification of ORC v1. Decision 0023.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import orc

from branch_console.format.values.fine_times import (
    FINE_LOCAL_TIME,
    FINE_TIME,
    NANOS_PER_MILLI,
    fine_times,
)

Int64s = npt.NDArray[np.int64]

OUT_OF_RANGE: Final = "is out of range for nanosecond resolution"
"""Arrow's error message for such a file."""

_TIMESTAMP: Final = 9
_TIMESTAMP_INSTANT: Final = 18
_TIMES: Final = {_TIMESTAMP: FINE_TIME, _TIMESTAMP_INSTANT: FINE_LOCAL_TIME}
_LONG: Final = 4
_SECONDARY: Final = 5
_DIRECT_V2: Final = 2
_ZONES: Final = ("UTC", "GMT", "Etc/UTC", "Z", "")
_BASE_SECONDS: Final = 1_420_070_400
_ORIGINAL: Final = 1
_MOST_ORIGINAL: Final = 1 << 18
_NONE, _ZLIB, _SNAPPY, _ZSTD = 0, 1, 2, 5
_WIDTHS: Final = (*range(1, 25), 26, 28, 30, 32, 40, 48, 56, 64)


class UnservedOrc(ValueError):
    """A feature of a file that we cannot read; the text follows "it has"."""


def columns_to_ask(names: Sequence[str]) -> Sequence[str] | None:
    """Return the columns to ask Arrow's ORC reader for; None asks for all.

    To this reader the name `a.b` is the field `b` of a row `a`.
    """
    return None if any("." in name for name in names) else names


def read_far_stripes(data: bytes, names: Sequence[str]) -> Iterator[pa.Table]:
    """Read the stripes of a file; timestamps come as `format.values.fine_times` has them.

    Args:
        data: The whole file.
        names: The wanted columns; those that the file lacks are left out.

    Raises:
        UnservedOrc: It is packed or was written in a way that is not read here.
    """
    tail = _Tail(data)
    stripes = orc.ORCFile(pa.BufferReader(tail.with_whole_numbers()))
    there = [name for name in names if name in stripes.schema.names]
    for number in range(stripes.nstripes):
        read = stripes.read_stripe(number, columns=columns_to_ask(there))
        nanos = tail.nanos_of(number)
        columns = [
            _with_times(read.column(name), tail.column_type(name), tail, nanos) for name in there
        ]
        yield pa.Table.from_arrays(columns, names=there)


@dataclass(frozen=True, slots=True)
class _Type:
    kind: int
    subtypes: tuple[int, ...]
    names: tuple[str, ...]
    kind_at: int


class _Tail:
    """The footer and postscript at the end of an ORC file."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        end = len(data) - 1 - data[-1]
        self._postscript = data[end:-1]
        found = dict(_fields(self._postscript))
        self._packing = found.get(2, _NONE)
        self._footer_at = end - found[1]
        self._footer = self._unpacked(data[self._footer_at : end])
        self._stripes = [dict(_fields(raw)) for at, raw in _fields(self._footer) if at == 3]
        self.types = [_type(*each) for each in _placed(self._footer, 4)]

    def column_type(self, name: str) -> int:
        """The number of the type of a column."""
        root = self.types[0]
        return root.subtypes[root.names.index(name)]

    def with_whole_numbers(self) -> bytes:
        """The file with a footer in which timestamps are whole numbers."""
        footer = bytearray(self._footer)
        for each in self.types:
            if each.kind in _TIMES:
                footer[each.kind_at] = _LONG
        packed = bytes(footer) if self._packing == _NONE else b"".join(_originals(bytes(footer)))
        rest = b"".join(
            _varint(at << 3 | kind) + raw
            for at, kind, raw in _raw_fields(self._postscript)
            if at != 1
        )
        postscript = _varint(1 << 3) + _varint(len(packed)) + rest
        return self._data[: self._footer_at] + packed + postscript + bytes([len(postscript)])

    def nanos_of(self, stripe: int) -> dict[int, Int64s]:
        """The nanoseconds of the timestamps of a stripe that are not null, by number of type."""
        about = self._stripes[stripe]
        at = about.get(1, 0)
        start = at + about.get(2, 0) + about.get(3, 0)
        footer = self._unpacked(self._data[start : start + about[4]])
        encodings = [dict(_fields(raw)).get(1, 0) for field, raw in _fields(footer) if field == 2]
        zone = next((raw.decode() for field, raw in _fields(footer) if field == 3), "")
        found: dict[int, Int64s] = {}
        for stream in (dict(_fields(raw)) for field, raw in _fields(footer) if field == 1):
            size, column = stream.get(3, 0), stream.get(2, 0)
            if stream.get(1, 0) == _SECONDARY and self.types[column].kind in _TIMES:
                if encodings[column] != _DIRECT_V2:
                    raise UnservedOrc("timestamps in the encoding of Hive 0.11")
                if self.types[column].kind == _TIMESTAMP and zone not in _ZONES:
                    raise UnservedOrc(f"timestamps that were written in the zone {zone}")
                numbers = _decode_unsigned(self._unpacked(self._data[at : at + size]))
                # The low bits say how many zeros were cut off, less one.
                zeros = numbers & 7
                found[column] = (numbers >> 3) * 10 ** np.where(zeros > 0, zeros + 1, 0)
            at += size
        return found

    def _unpacked(self, data: bytes) -> bytes:
        if self._packing == _NONE:
            return data
        parts, at = [], 0
        while at < len(data):
            head = int.from_bytes(data[at : at + 3], "little")
            size, at = head >> 1, at + 3
            chunk = data[at : at + size]
            parts.append(chunk if head & _ORIGINAL else self._inflated(chunk))
            at += size
        return b"".join(parts)

    def _inflated(self, chunk: bytes) -> bytes:
        match self._packing:
            case 1:
                return zlib.decompress(chunk, -zlib.MAX_WBITS)
            case 2:
                size, _ = _number(chunk, 0)
                return bytes(pa.decompress(chunk, size, codec="snappy"))
            case 5:
                return bytes(pa.CompressedInputStream(pa.BufferReader(chunk), "zstd").read())
            case _:
                raise UnservedOrc("another compression than zstd, zlib and snappy")


def _with_times(array: pa.Array, number: int, tail: _Tail, nanos: dict[int, Int64s]) -> pa.Array:
    kind = tail.types[number]
    if kind.kind in _TIMES:
        return _times(array, nanos.get(number, np.zeros(0, np.int64)), _TIMES[kind.kind])
    if not kind.subtypes:
        return array
    nulls = array.is_null()
    if pa.types.is_struct(array.type):
        parts = [
            _with_times(array.field(at), part, tail, nanos) for at, part in enumerate(kind.subtypes)
        ]
        fields = [each.with_type(part.type) for each, part in zip(array.type, parts, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=nulls)
    if pa.types.is_map(array.type):
        key, item = kind.subtypes
        keys = _with_times(array.keys, key, tail, nanos)
        items = _with_times(array.items, item, tail, nanos)
        return pa.MapArray.from_arrays(array.offsets, keys, items, mask=nulls)
    values = _with_times(array.values, kind.subtypes[0], tail, nanos)
    return pa.ListArray.from_arrays(array.offsets, values, mask=nulls)


def _times(stored: pa.Array, nanos: Int64s, kind: pa.DataType) -> pa.Array:
    there = stored.is_valid().to_numpy(zero_copy_only=False)
    seconds = stored.fill_null(0).to_numpy(zero_copy_only=False) + _BASE_SECONDS
    whole = np.zeros(len(stored), np.int64)
    whole[there] = nanos[: int(there.sum())]
    # Writers leave a second off before 1970, and all readers put it back.
    seconds = np.where((seconds < 0) & (whole >= NANOS_PER_MILLI), seconds - 1, seconds)
    millis, rest = np.divmod(whole, NANOS_PER_MILLI)
    return fine_times(seconds * 1_000 + millis, rest, ~there if stored.null_count else None, kind)


# --- run length encoding, version 2, of numbers without a sign ----------------------------------


def _decode_unsigned(data: bytes) -> Int64s:
    parts: list[Int64s] = []
    at = 0
    while at < len(data):
        head = data[at]
        if head >> 6 == 0:
            size, count = (head >> 3 & 7) + 1, (head & 7) + 3
            value = int.from_bytes(data[at + 1 : at + 1 + size], "big")
            parts.append(np.full(count, value, np.int64))
            at += 1 + size
            continue
        code, count = head >> 1 & 31, ((head & 1) << 8 | data[at + 1]) + 1
        at += 2
        match head >> 6:
            case 1:
                found, at = _unpack(data, at, count, _WIDTHS[code])
            case 2:
                found, at = _patched(data, at, count, _WIDTHS[code])
            case _:
                found, at = _deltas(data, at, count, _WIDTHS[code] if code else 0)
        parts.append(found)
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _patched(data: bytes, at: int, count: int, width: int) -> tuple[Int64s, int]:
    first, second = data[at], data[at + 1]
    size, patch_width = (first >> 5) + 1, _WIDTHS[first & 31]
    gap_width, patches = (second >> 5) + 1, second & 31
    base = int.from_bytes(data[at + 2 : at + 2 + size], "big")
    sign = 1 << (8 * size - 1)
    base = -(base & (sign - 1)) if base & sign else base
    found, at = _unpack(data, at + 2 + size, count, width)
    entry_width = next(each for each in _WIDTHS if each >= patch_width + gap_width)
    entries, at = _unpack(data, at, patches, entry_width)
    place = 0
    for entry in entries.tolist():
        place += entry >> patch_width
        found[place] |= (entry & ((1 << patch_width) - 1)) << width
    return found + base, at


def _deltas(data: bytes, at: int, count: int, width: int) -> tuple[Int64s, int]:
    base, at = _number(data, at)
    coded, at = _number(data, at)
    first = coded >> 1 ^ -(coded & 1)
    steps = np.full(count, first, np.int64)
    if width:
        sizes, at = _unpack(data, at, count - 2, width)
        steps[2:] = sizes if first >= 0 else -sizes
    steps[0] = base
    return np.cumsum(steps), at


def _unpack(data: bytes, at: int, count: int, width: int) -> tuple[Int64s, int]:
    """Numbers of so many bits, the highest first."""
    size = (count * width + 7) // 8
    bits = np.unpackbits(np.frombuffer(data, np.uint8, size, at))[: count * width]
    found = np.zeros(count, np.int64)
    for column in bits.reshape(count, width).T:
        found = found << 1 | column
    return found, at + size


# --- Protocol Buffers ---------------------------------------------------------------------------


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message: numbers, and the bytes of all else."""
    for at, kind, raw in _raw_fields(data):
        if kind == 0:
            yield at, _number(raw, 0)[0]
        else:
            yield at, raw[_number(raw, 0)[1] :] if kind == 2 else raw


def _placed(data: bytes, wanted: int) -> Iterator[tuple[bytes, int]]:
    """The messages in a field, and where their bytes begin."""
    at = 0
    for field, kind, raw in _raw_fields(data):
        at += len(_varint(field << 3 | kind))
        if field == wanted:
            head = _number(raw, 0)[1]
            yield raw[head:], at + head
        at += len(raw)


def _raw_fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    at = 0
    while at < len(data):
        key, at = _number(data, at)
        start, kind = at, key & 7
        if kind == 2:
            size, at = _number(data, at)
            at += size
        elif kind == 0:
            _, at = _number(data, at)
        else:
            at += 8 if kind == 1 else 4
        yield key >> 3, kind, data[start:at]


def _type(raw: bytes, start: int) -> _Type:
    subtypes: list[int] = []
    names, kind, kind_at, at = [], 0, start, 0
    for field, wire, value in _raw_fields(raw):
        at += len(_varint(field << 3 | wire))
        if field == 1:
            kind, kind_at = value[0], start + at
        elif field == 2:
            # Packed, or one by one.
            place = _number(value, 0)[1] if wire == 2 else 0
            while place < len(value):
                number, place = _number(value, place)
                subtypes.append(number)
        elif field == 3:
            names.append(value[_number(value, 0)[1] :].decode())
        at += len(value)
    return _Type(kind, tuple(subtypes), tuple(names), kind_at)


def _originals(data: bytes) -> Iterator[bytes]:
    """Bytes as chunks that are not compressed."""
    for at in range(0, len(data), _MOST_ORIGINAL):
        chunk = data[at : at + _MOST_ORIGINAL]
        yield (len(chunk) << 1 | _ORIGINAL).to_bytes(3, "little") + chunk


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if byte < 0x80:
            return value, at


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
