"""Paimon's BinaryRow, the bytes of partitions, keys and statistics: row by row and by columns.

Equality and hashes of rows are those of their bytes, so padding and nulls are exact. `encode_row`
and `decode_row` are the reference; `encode_rows` and `decode_rows` do the same over Arrow with
numpy. Source: Paimon BinaryRow, BinaryRowWriter, BinaryArray, RowHelper, SerializationUtils.

Python values: TIMESTAMP above precision 6 is a numpy.datetime64 of nanoseconds, ARRAY a list, MAP
and MULTISET a list of pairs, ROW and VARIANT a dict; all others as in Arrow's `as_py`.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any, Final, TypeAlias, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from core.errors import ErrorKind, FormatError, InvalidInput
from core.format.data_types import (
    COMPACT_DECIMAL_PRECISION,
    COMPACT_TIMESTAMP_PRECISION,
    INT,
    ArrayType,
    AtomicType,
    DataType,
    MapType,
    MultisetType,
    RowType,
    TypeRoot,
    VectorType,
    to_arrow,
)

_WORD: Final = 8
_ARITY_BYTES: Final = 4
_INLINE_LIMIT: Final = 7
_INLINE_MARK: Final = 0x80
_BIG_DECIMAL_BYTES: Final = 16
_MILLIS_PER_DAY: Final = 86_400_000
# Small enough for the intermediate arrays of a part to stay in the processor's cache.
ROWS_PER_PART: Final = 1 << 16
# Slices above it are copied one by one: an index for each byte costs more than a call.
_LONG_SLICE: Final = 512
_EPOCH: Final = datetime(1970, 1, 1)
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_EXACT: Final = Context(prec=100, traps=[Inexact, InvalidOperation])
_MISFITS: Final = (
    struct.error,
    TypeError,
    ValueError,
    ArithmeticError,
    AttributeError,
    LookupError,
    pa.ArrowException,
)
_FIXED_FORMATS: Final = {
    TypeRoot.BOOLEAN: "<?",
    TypeRoot.TINYINT: "<b",
    TypeRoot.SMALLINT: "<h",
    TypeRoot.INT: "<i",
    TypeRoot.DATE: "<i",
    TypeRoot.TIME: "<i",
    TypeRoot.BIGINT: "<q",
    TypeRoot.FLOAT: "<f",
    TypeRoot.DOUBLE: "<d",
}
_BYTES_ROOTS: Final = frozenset(
    {
        TypeRoot.CHAR,
        TypeRoot.VARCHAR,
        TypeRoot.BINARY,
        TypeRoot.VARBINARY,
        TypeRoot.BLOB,
        TypeRoot.GEOMETRY,
        TypeRoot.GEOGRAPHY,
    }
)
_TEXT_ROOTS: Final = frozenset({TypeRoot.CHAR, TypeRoot.VARCHAR})
_TIMESTAMP_ROOTS: Final = frozenset({TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ})

Int64s: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]


# --- one row ------------------------------------------------------------------------------------


def encode_row(
    values: Sequence[object], types: Sequence[DataType], *, with_arity: bool = True
) -> bytes:
    """Encode one row; `with_arity` puts the big-endian field count in front, as files have it.

    Raises:
        InvalidInput: A value does not fit its type.
    """
    if len(values) != len(types):
        raise InvalidInput(f"A row of {len(types)} fields cannot hold {len(values)} values.")
    section = _Section.of_row(len(types))
    try:
        for i, (value, data_type) in enumerate(zip(values, types, strict=True)):
            if value is not None:
                _write(section, i, value, data_type)
            else:
                section.set_null(i)
                # Such a null keeps its room, so that the value could be set later in place.
                if reserved := _reserved_bytes(data_type):
                    section.append(i, bytes(reserved), 0)
    except _MISFITS as error:
        raise InvalidInput(f"A value does not fit its type: {error}.") from error
    arity = struct.pack(">i", len(types)) if with_arity else b""
    return arity + bytes(section.data)


def decode_row(data: bytes, types: Sequence[DataType]) -> tuple[Any, ...]:
    """Decode one row that starts with its field count.

    Raises:
        FormatError: The bytes are not a row of these types.
    """
    try:
        (arity,) = struct.unpack_from(">i", data)
        _check_arity(arity, len(types))
        return _read_row(data[_ARITY_BYTES:], types)
    except (struct.error, ValueError, OverflowError, ArithmeticError) as error:
        raise FormatError(f"A binary row cannot be decoded: {error}.") from error


class _Section:
    """A fixed part of slots with null bits, and a variable part that grows behind it."""

    def __init__(self, first_null_bit: int, first_slot: int, slot_width: int, count: int) -> None:
        self.first_null_bit = first_null_bit
        self.first_slot = first_slot
        self.slot_width = slot_width
        self.data = bytearray(_round_up(first_slot + slot_width * count))

    @classmethod
    def of_row(cls, arity: int) -> "_Section":
        return cls(8, _null_region(arity), _WORD, arity)

    @classmethod
    def of_array(cls, count: int, slot_width: int) -> "_Section":
        section = cls(32, _array_header(count), slot_width, count)
        struct.pack_into("<i", section.data, 0, count)
        return section

    def set_null(self, i: int) -> None:
        bit = self.first_null_bit + i
        self.data[bit >> 3] |= 1 << (bit & 7)

    def put(self, i: int, form: str, value: object) -> None:
        struct.pack_into(form, self.data, self.first_slot + self.slot_width * i, value)

    def append(self, i: int, value: bytes, low: int) -> None:
        self.put(i, "<Q", len(self.data) << 32 | low)
        self.data += value.ljust(_round_up(len(value)), b"\0")


def _write(section: _Section, i: int, value: Any, data_type: DataType) -> None:
    match data_type:
        case AtomicType(root=root) if form := _FIXED_FORMATS.get(root):
            section.put(i, form, _to_number(value, root))
        case AtomicType(root=TypeRoot.DECIMAL):
            unscaled = _unscaled(value, data_type)
            if _is_compact(data_type):
                section.put(i, "<q", unscaled)
            else:
                size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
                raw = unscaled.to_bytes(size, "big", signed=True)
                section.append(i, raw.ljust(_BIG_DECIMAL_BYTES, b"\0"), size)
        case AtomicType(root=TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ):
            millis, nanos = divmod(_epoch_nanos(value, data_type), 1_000_000)
            if _is_compact(data_type):
                section.put(i, "<q", millis)
            else:
                section.append(i, struct.pack("<q", millis), nanos)
        case AtomicType(root=root) if root in _BYTES_ROOTS:
            raw = value.encode() if root in _TEXT_ROOTS else bytes(memoryview(value))
            if len(raw) <= _INLINE_LIMIT:
                slot = raw.ljust(_INLINE_LIMIT, b"\0") + bytes([_INLINE_MARK | len(raw)])
                section.put(i, "8s", slot)
            else:
                section.append(i, raw, len(raw))
        case _:
            raw = _encode_part(value, data_type)
            section.append(i, raw, len(raw))


def _encode_part(value: Any, data_type: DataType) -> bytes:
    """Encode a value that always lies in the variable part."""
    match data_type:
        case RowType():
            fields = [value[f.name] for f in data_type.fields]
            return encode_row(fields, data_type.types, with_arity=False)
        case ArrayType(element=element):
            return _encode_array(value, element)
        case MapType() | MultisetType():
            key_type, value_type = _entry_types(data_type)
            pairs = list(value.items()) if isinstance(value, Mapping) else list(value)
            keys = _encode_array([pair[0] for pair in pairs], key_type)
            return (
                struct.pack("<i", len(keys))
                + keys
                + _encode_array([pair[1] for pair in pairs], value_type)
            )
        case VectorType(element=element, length=length):
            if len(value) != length or not isinstance(element, AtomicType):
                raise ValueError(f"a vector of {length} elements has {len(value)}")
            form = _FIXED_FORMATS[element.root]
            raw = b"".join(struct.pack(form, item) for item in value)
            return struct.pack("<i", length) + raw.ljust(_round_up(len(raw)), b"\0")
        case AtomicType(root=TypeRoot.VARIANT):
            content, metadata = bytes(value["value"]), bytes(value["metadata"])
            return struct.pack("<i", len(content)) + content + metadata
        case AtomicType():
            raise ValueError(f"{data_type} has no variable part")
        case _:
            assert_never(data_type)


def _encode_array(values: Sequence[object], element: DataType) -> bytes:
    section = _Section.of_array(len(values), _slot_width(element))
    for i, value in enumerate(values):
        if value is None:
            section.set_null(i)
        else:
            _write(section, i, value, element)
    return bytes(section.data)


def _read_row(data: bytes, types: Sequence[DataType]) -> tuple[Any, ...]:
    first_slot = _null_region(len(types))
    if len(data) < first_slot + _WORD * len(types):
        raise ValueError("it ends within its fixed part")
    return tuple(
        None if _is_null(data, 8 + i) else _read(data, first_slot + _WORD * i, data_type)
        for i, data_type in enumerate(types)
    )


def _read(data: bytes, at: int, data_type: DataType) -> Any:
    match data_type:
        case AtomicType(root=root) if form := _FIXED_FORMATS.get(root):
            return _from_number(struct.unpack_from(form, data, at)[0], root)
        case AtomicType(root=TypeRoot.DECIMAL, scale=scale):
            if _is_compact(data_type):
                unscaled = struct.unpack_from("<q", data, at)[0]
            else:
                unscaled = int.from_bytes(_variable_part(data, at), "big", signed=True)
            if abs(unscaled) >= 10 ** (data_type.precision or 0):
                raise ValueError(f"a decimal has more digits than {data_type}")
            return Decimal(unscaled).scaleb(-(scale or 0), _EXACT)
        case AtomicType(root=TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ):
            if _is_compact(data_type):
                return _from_epoch_nanos(
                    struct.unpack_from("<q", data, at)[0] * 1_000_000, data_type
                )
            nanos, offset = struct.unpack_from("<II", data, at)
            if nanos >= 1_000_000:
                raise ValueError(f"a timestamp has {nanos} nanoseconds within a millisecond")
            millis = struct.unpack_from("<q", data, offset)[0]
            return _from_epoch_nanos(millis * 1_000_000 + nanos, data_type)
        case AtomicType(root=root) if root in _BYTES_ROOTS:
            mark = data[at + _INLINE_LIMIT]
            if mark & _INLINE_MARK:
                if mark & ~_INLINE_MARK > _INLINE_LIMIT:
                    raise ValueError("a value in its slot is longer than the slot")
                raw = data[at : at + (mark & ~_INLINE_MARK)]
            else:
                raw = _variable_part(data, at)
            return raw.decode() if root in _TEXT_ROOTS else raw
        case _:
            return _read_part(_variable_part(data, at), data_type)


def _read_part(data: bytes, data_type: DataType) -> Any:
    match data_type:
        case RowType():
            return dict(zip(data_type.names, _read_row(data, data_type.types), strict=True))
        case ArrayType(element=element):
            return _read_array(data, element)
        case MapType() | MultisetType():
            key_type, value_type = _entry_types(data_type)
            (size,) = struct.unpack_from("<i", data)
            if not 0 <= size <= len(data) - 4:
                raise ValueError("a map ends within its keys")
            keys = _read_array(data[4 : 4 + size], key_type)
            return list(zip(keys, _read_array(data[4 + size :], value_type), strict=True))
        case VectorType(element=element, length=length):
            (count,) = struct.unpack_from("<i", data)
            if count != length or not isinstance(element, AtomicType):
                raise ValueError(f"a vector of {length} elements has {count}")
            form = _FIXED_FORMATS[element.root]
            width = struct.calcsize(form)
            return [struct.unpack_from(form, data, 4 + width * i)[0] for i in range(count)]
        case AtomicType(root=TypeRoot.VARIANT):
            (size,) = struct.unpack_from("<i", data)
            if not 0 <= size <= len(data) - 4:
                raise ValueError("a variant ends within its value")
            return {"value": data[4 : 4 + size], "metadata": data[4 + size :]}
        case AtomicType():
            raise ValueError(f"{data_type} has no variable part")
        case _:
            assert_never(data_type)


def _read_array(data: bytes, element: DataType) -> list[Any]:
    (count,) = struct.unpack_from("<i", data)
    width = _slot_width(element)
    if count < 0 or _array_header(count) + width * count > len(data):
        raise ValueError(f"an array of {count} elements has {len(data)} bytes")
    first_slot = _array_header(count)
    return [
        None if _is_null(data, 32 + i) else _read(data, first_slot + width * i, element)
        for i in range(count)
    ]


def _variable_part(data: bytes, at: int) -> bytes:
    size, offset = struct.unpack_from("<II", data, at)
    if offset + size > len(data):
        raise ValueError("a value lies outside of the row")
    return data[offset : offset + size]


def _is_null(data: bytes, bit: int) -> bool:
    return bool(data[bit >> 3] & (1 << (bit & 7)))


def _entry_types(data_type: MapType | MultisetType) -> tuple[DataType, DataType]:
    if isinstance(data_type, MapType):
        return data_type.key, data_type.value
    return data_type.element, INT


def _to_number(value: Any, root: TypeRoot) -> Any:
    match root:
        case TypeRoot.DATE:
            return value.toordinal() - _EPOCH_DAY
        case TypeRoot.TIME:
            seconds = (value.hour * 60 + value.minute) * 60 + value.second
            return seconds * 1000 + value.microsecond // 1000
        case _:
            return value


def _from_number(value: Any, root: TypeRoot) -> Any:
    match root:
        case TypeRoot.DATE:
            return date.fromordinal(value + _EPOCH_DAY)
        case TypeRoot.TIME:
            if not 0 <= value < _MILLIS_PER_DAY:
                raise ValueError(f"{value} milliseconds are no time of the day")
            return (_EPOCH + timedelta(milliseconds=value)).time()
        case _:
            return value


def _unscaled(value: Decimal, data_type: AtomicType) -> int:
    scaled = value.scaleb(data_type.scale or 0, _EXACT)
    unscaled = int(scaled.to_integral_exact(context=_EXACT))
    if abs(unscaled) >= 10 ** (data_type.precision or 0):
        raise ValueError(f"{value} has more digits than {data_type}")
    return unscaled


def _epoch_nanos(value: Any, data_type: AtomicType) -> int:
    if type(value) is not datetime:
        # Arrow knows the values that carry nanoseconds: numpy's and pandas' timestamps.
        nanos: int = pa.scalar(value, pa.timestamp("ns")).value
        return nanos
    if value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    since: timedelta = value - _EPOCH
    return since // timedelta(microseconds=1) * 1000


def _from_epoch_nanos(nanos: int, data_type: AtomicType) -> Any:
    if (data_type.precision or 0) > 6:
        return np.datetime64(nanos, "ns")
    value = _EPOCH + timedelta(microseconds=nanos // 1000)
    return value.replace(tzinfo=UTC) if data_type.root is TypeRoot.TIMESTAMP_LTZ else value


def _is_compact(data_type: AtomicType) -> bool:
    """Whether a DECIMAL or TIMESTAMP fits its slot."""
    precision = data_type.precision or 0
    if data_type.root is TypeRoot.DECIMAL:
        return precision <= COMPACT_DECIMAL_PRECISION
    return precision <= COMPACT_TIMESTAMP_PRECISION


def _reserved_bytes(data_type: DataType) -> int:
    """The bytes that even a null takes in the variable part of a row."""
    if not isinstance(data_type, AtomicType):
        return 0
    if data_type.root is TypeRoot.DECIMAL and not _is_compact(data_type):
        return _BIG_DECIMAL_BYTES
    if data_type.root in _TIMESTAMP_ROOTS and not _is_compact(data_type):
        return _WORD
    return 0


def _slot_width(element: DataType) -> int:
    form = _FIXED_FORMATS.get(element.root) if isinstance(element, AtomicType) else None
    return struct.calcsize(form) if form else _WORD


def _null_region(arity: int) -> int:
    return (arity + 63 + 8) // 64 * 8


def _array_header(count: int) -> int:
    return 4 + (count + 31) // 32 * 4


def _round_up(size: int) -> int:
    return (size + _WORD - 1) // _WORD * _WORD


def _check_arity(arity: int, expected: int) -> None:
    if arity != expected:
        raise FormatError(f"A binary row has {arity} fields; its type has {expected}.")


EMPTY_ROW: Final = encode_row((), ())


# --- many rows ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowBytes:
    """Rows without field counts, one behind the other; `starts` has one offset more than rows."""

    data: Bytes
    starts: Int64s


def encode_rows(table: pa.Table, types: Sequence[DataType]) -> pa.Array:
    """Encode the rows of `table`, whose columns have `types` in order, with their field counts.

    Returns:
        A binary array, one value a row of the table.

    Raises:
        InvalidInput: A column does not fit its type.
    """
    parts = [
        _with_field_counts(row_bytes(table.slice(start, ROWS_PER_PART), types), len(types))
        for start in range(0, table.num_rows, ROWS_PER_PART)
    ]
    try:
        return pa.concat_arrays(parts) if parts else pa.array([], pa.binary())
    except pa.ArrowException as error:
        raise InvalidInput(
            f"{table.num_rows} rows take more than 2 GiB as binary rows. Encode them in parts.",
            kind=ErrorKind.UNSUPPORTED,
        ) from error


def _with_field_counts(rows: RowBytes, arity: int) -> pa.Array:
    count = len(rows.starts) - 1
    starts = rows.starts + _ARITY_BYTES * np.arange(count + 1)
    # Rows are whole words and a field count is half a word, so halves can be moved as a whole.
    halves = np.empty(int(starts[-1]) // 4, dtype=np.uint32)
    is_arity = np.zeros(len(halves), dtype=np.bool_)
    is_arity[starts[:-1] // 4] = True
    halves[is_arity] = np.array(arity, dtype=">u4").view(np.uint32)
    halves[~is_arity] = rows.data.view(np.uint32)
    buffers = [None, pa.py_buffer(starts.astype(np.int32)), pa.py_buffer(halves)]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


def row_bytes(table: pa.Table, types: Sequence[DataType]) -> RowBytes:
    """Lay out the rows of `table` as `encode_rows` does, without field counts.

    Raises:
        InvalidInput: A column does not fit its type.
    """
    if table.num_columns != len(types):
        raise InvalidInput(f"{len(types)} types cannot encode {table.num_columns} columns.")
    columns = [
        _slots_of(_plain_array(column, data_type), data_type)
        for column, data_type in zip(table.columns, types, strict=True)
    ]
    count, first_slot = table.num_rows, _null_region(len(types))
    lengths = np.full(count, first_slot + _WORD * len(types), dtype=np.int64)
    offsets = []
    for column in columns:
        offsets.append(lengths.copy() if column.room is not None else None)
        if column.room is not None:
            lengths += column.room
    starts = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    data = np.zeros(int(starts[-1]), dtype=np.uint8)
    words = data.view(np.int64)
    for i, (column, offset) in enumerate(zip(columns, offsets, strict=True)):
        slots = column.slots
        if offset is not None and column.room is not None:
            slots = np.where(column.room > 0, offset << 32 | slots, slots)
            column.write(data, starts[:-1] + offset)
        words[(starts[:-1] + first_slot + _WORD * i) // _WORD] = slots
        if column.nulls is not None:
            data[starts[:-1][column.nulls] + (8 + i >> 3)] |= np.uint8(1 << (8 + i & 7))
    return RowBytes(data=data, starts=starts)


def decode_rows(column: pa.Array, row_type: RowType) -> pa.StructArray:
    """Decode a column of binary rows; a null row becomes a null struct.

    Returns:
        A struct array whose fields are those of `row_type`, nullable, with the types of `to_arrow`.

    Raises:
        FormatError: A value is not a row of this type.
    """
    array = _plain_binary(column)
    parts = [
        _decode_part(array.slice(start, ROWS_PER_PART), row_type)
        for start in range(0, len(array), ROWS_PER_PART)
    ]
    arrow_type = pa.struct([pa.field(f.name, to_arrow(f.type)) for f in row_type.fields])
    return pa.concat_arrays(parts) if parts else pa.array([], arrow_type)


def _decode_part(array: pa.Array, row_type: RowType) -> pa.StructArray:
    nulls: Bools = pc.is_null(array).to_numpy(zero_copy_only=False)
    offsets, raw = _offsets_and_bytes(array)
    arity, first_slot = len(row_type.fields), _null_region(len(row_type.fields))
    fixed = _ARITY_BYTES + first_slot + _WORD * arity
    # Null rows look at zeros behind the data; so may every unaligned read near its end.
    data = np.concatenate([raw, np.zeros(fixed + _WORD, dtype=np.uint8)])
    starts = np.where(nulls, len(raw), offsets[:-1])
    sizes = np.where(nulls, fixed, np.diff(offsets))
    if (sizes < _ARITY_BYTES).any():
        raise FormatError("A binary row ends before its field count.")
    found = _unaligned(data, np.uint32)[starts].byteswap()
    for i in np.flatnonzero(~nulls & (found != arity))[:1]:
        _check_arity(int(found[i]), arity)
    if (sizes < fixed).any():
        raise FormatError("A binary row ends within its fixed part.")
    if arity == 0:
        return pa.array([None if null else {} for null in nulls.tolist()], pa.struct([]))
    view = _RowView(
        data=data, starts=starts + _ARITY_BYTES, sizes=sizes - _ARITY_BYTES, nulls=nulls
    )
    try:
        columns = [view.field(i, first_slot, t) for i, t in enumerate(row_type.types)]
        fields = [
            pa.field(name, to_arrow(t))
            for name, t in zip(row_type.names, row_type.types, strict=True)
        ]
        structs = pa.StructArray.from_arrays(columns, fields=fields, mask=pa.array(nulls))
        structs.validate(full=True)
    except (pa.ArrowException, struct.error, ValueError, OverflowError) as error:
        raise FormatError(f"A binary row cannot be decoded: {error}.") from error
    return structs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Slots:
    """A column as slots, and what it puts into the variable parts.

    `room` is the padded size of each row's part, zero where the value lies in its slot; elsewhere
    `slots` holds the low half only. Parts are whole words, or slices of `data` at `at`.
    """

    slots: Int64s
    nulls: Bools | None
    room: Int64s | None = None
    parts: Int64s | None = None
    data: Bytes | None = None
    at: Int64s | None = None
    sizes: Int64s | None = None

    def write(self, target: Bytes, to: Int64s) -> None:
        if self.parts is not None:
            words = target.view(np.int64)
            for i in range(self.parts.shape[1]):
                words[to // _WORD + i] = self.parts[:, i]
        elif self.data is not None and self.at is not None and self.sizes is not None:
            chosen = np.flatnonzero(self.sizes)
            _copy_slices(self.data, self.at[chosen], self.sizes[chosen], target, to[chosen])


def _slots_of(array: pa.Array, data_type: DataType) -> _Slots:
    nulls = _null_mask(array)
    match data_type:
        case AtomicType(root=TypeRoot.FLOAT | TypeRoot.DOUBLE):
            bits = _numbers(array).view(np.uint32 if array.type == pa.float32() else np.int64)
            return _Slots(slots=bits.astype(np.int64), nulls=nulls)
        case AtomicType(root=TypeRoot.BOOLEAN):
            return _Slots(slots=_numbers(array.cast(pa.uint8())).astype(np.int64), nulls=nulls)
        case AtomicType(root=root) if form := _FIXED_FORMATS.get(root):
            width = struct.calcsize(form)
            numbers = _numbers(array.view(f"int{8 * width}")).astype(np.int64)
            # The bytes of a slot behind the value are zero, also behind a negative one.
            mask = -1 if width == _WORD else (1 << 8 * width) - 1
            return _Slots(slots=numbers & mask, nulls=nulls)
        case AtomicType(root=TypeRoot.DECIMAL):
            halves = _decimal_words(array)
            if _is_compact(data_type):
                return _Slots(slots=halves[:, 0], nulls=nulls)
            sizes, parts = _big_endian_minimal(halves)
            return _with_parts(sizes, parts, nulls)
        case AtomicType(root=TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ):
            ticks = _numbers(array.view(pa.int64()))
            ticks_per_milli = {"ms": 1, "us": 1_000, "ns": 1_000_000}[array.type.unit]
            millis, rest = np.divmod(ticks, ticks_per_milli)
            if _is_compact(data_type):
                return _Slots(slots=millis, nulls=nulls)
            return _with_parts(rest * (1_000_000 // ticks_per_milli), millis[:, None], nulls)
        case AtomicType(root=root) if root in _BYTES_ROOTS:
            return _byte_slots(array.view(pa.binary()), nulls, inline=True)
        case _:
            encoded = [None if v is None else _encode_part(v, data_type) for v in array.to_pylist()]
            return _byte_slots(pa.array(encoded, pa.binary()), nulls, inline=False)


def _with_parts(low: Int64s, parts: Int64s, nulls: Bools | None) -> _Slots:
    """Slots of values whose part has the same size in every row, nulls included."""
    if nulls is not None:
        low, parts = np.where(nulls, 0, low), np.where(nulls[:, None], 0, parts)
    room = np.full(len(low), _WORD * parts.shape[1], dtype=np.int64)
    return _Slots(slots=low, nulls=nulls, room=room, parts=parts)


def _byte_slots(array: pa.Array, nulls: Bools | None, *, inline: bool) -> _Slots:
    offsets, raw = _offsets_and_bytes(array)
    at, sizes = offsets[:-1], np.diff(offsets)
    if nulls is not None:
        sizes = np.where(nulls, 0, sizes)
    slots = sizes
    if inline:
        short = sizes <= _INLINE_LIMIT
        padded = np.concatenate([raw, np.zeros(_WORD, dtype=np.uint8)])
        heads = _unaligned(padded, np.uint64)[np.minimum(at, len(raw))].astype(np.uint64)
        kept = heads & (
            (np.uint64(1) << (8 * np.minimum(sizes, 7)).astype(np.uint64)) - np.uint64(1)
        )
        marked = kept | (sizes.astype(np.uint64) | np.uint64(_INLINE_MARK)) << np.uint64(56)
        slots = np.where(short, marked.view(np.int64), sizes)
        sizes = np.where(short, 0, sizes)
    if nulls is not None:
        slots = np.where(nulls, 0, slots)
    room = (sizes + _WORD - 1) // _WORD * _WORD
    return _Slots(slots=slots, nulls=nulls, room=room, data=raw, at=at, sizes=sizes)


def _decimal_words(array: pa.Array) -> Int64s:
    """The low and high words of decimals, zero where null."""
    buffer = array.buffers()[1]
    words = np.frombuffer(buffer, dtype=np.int64).reshape(-1, 2)
    words = words[array.offset : array.offset + len(array)]
    nulls = _null_mask(array)
    return words if nulls is None else np.where(nulls[:, None], 0, words)


def _big_endian_minimal(words: Int64s) -> tuple[Int64s, Int64s]:
    """Turn 16-byte integers into the fewest big-endian bytes that keep the sign, left in 16."""
    raw = np.ascontiguousarray(words).view(np.uint8).reshape(-1, _BIG_DECIMAL_BYTES)[:, ::-1]
    sign = np.where(raw[:, :1] >= 0x80, np.uint8(0xFF), np.uint8(0))
    differs = raw != sign
    lead = np.where(differs.any(axis=1), differs.argmax(axis=1), _BIG_DECIMAL_BYTES)
    # The first byte that is kept must show the sign in its highest bit.
    first = raw[np.arange(len(raw)), np.minimum(lead, _BIG_DECIMAL_BYTES - 1)]
    shows_sign = (lead < _BIG_DECIMAL_BYTES) & ((first >= 0x80) == (sign[:, 0] == 0xFF))
    skip = np.where(shows_sign, lead, lead - 1)
    at = skip[:, None] + np.arange(_BIG_DECIMAL_BYTES)
    moved = np.take_along_axis(raw, np.minimum(at, _BIG_DECIMAL_BYTES - 1), axis=1)
    moved = np.where(at < _BIG_DECIMAL_BYTES, moved, np.uint8(0))
    return _BIG_DECIMAL_BYTES - skip, np.ascontiguousarray(moved).view(np.int64)


def _without_numpy(value: Any) -> Any:
    """Return a value with nanoseconds as numbers: within lists, Arrow does not take numpy's."""
    if isinstance(value, np.datetime64):
        return int(value.astype(np.int64))
    if isinstance(value, dict):
        return {key: _without_numpy(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_without_numpy(part) for part in value)
    return value


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _RowView:
    """Rows within `data`, each at `starts` and of `sizes`, without field counts."""

    data: Bytes
    starts: Int64s
    sizes: Int64s
    nulls: Bools

    def field(self, i: int, first_slot: int, data_type: DataType) -> pa.Array:
        bits = self.data[self.starts + (8 + i >> 3)]
        is_null = self.nulls | (bits & np.uint8(1 << (8 + i & 7)) != 0)
        slots = _unaligned(self.data, np.int64)[self.starts + first_slot + _WORD * i]
        slots = np.where(is_null, 0, slots)
        nulls = is_null if is_null.any() else None
        arrow_type = to_arrow(data_type)
        match data_type:
            case AtomicType(root=TypeRoot.BOOLEAN):
                return pa.array(slots.astype(np.uint8) != 0, mask=nulls)
            case AtomicType(root=TypeRoot.FLOAT):
                return pa.array(slots.astype(np.uint32).view(np.float32), mask=nulls)
            case AtomicType(root=TypeRoot.DOUBLE):
                return pa.array(slots.view(np.float64), mask=nulls)
            case AtomicType(root=root) if form := _FIXED_FORMATS.get(root):
                numbers = slots.astype(f"int{8 * struct.calcsize(form)}")
                if root is TypeRoot.TIME and ((numbers < 0) | (numbers >= _MILLIS_PER_DAY)).any():
                    raise ValueError("a time lies outside of the day")
                return pa.array(numbers, mask=nulls).view(arrow_type)
            case AtomicType(root=TypeRoot.DECIMAL):
                words = self._decimals(slots, data_type)
                return _from_words(words, arrow_type, nulls)
            case AtomicType(root=TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ):
                ticks = slots if _is_compact(data_type) else self._ticks(slots, is_null, arrow_type)
                return pa.array(ticks, mask=nulls).view(arrow_type)
            case AtomicType(root=root) if root in _BYTES_ROOTS:
                at, sizes = self._byte_slices(slots, first_slot + _WORD * i)
                binary = _gather(self.data, at, sizes, nulls)
                is_text = root in _TEXT_ROOTS
                return binary.view(pa.string()) if is_text else binary.cast(arrow_type)
            case _:
                at, sizes = self._slices(slots)
                parts = _gather(self.data, at, sizes, nulls).to_pylist()
                values = [None if part is None else _read_part(part, data_type) for part in parts]
                return pa.array([_without_numpy(value) for value in values], arrow_type)

    def _slices(self, slots: Int64s) -> tuple[Int64s, Int64s]:
        offsets = (slots.view(np.uint64) >> np.uint64(32)).astype(np.int64)
        sizes = slots & 0xFFFFFFFF
        if (offsets + sizes > self.sizes).any():
            raise ValueError("a value lies outside of the row")
        return self.starts + offsets, sizes

    def _byte_slices(self, slots: Int64s, slot_at: int) -> tuple[Int64s, Int64s]:
        marks = (slots.view(np.uint64) >> np.uint64(56)).astype(np.int64)
        is_inline = marks & _INLINE_MARK != 0
        inline_sizes = marks & ~_INLINE_MARK
        if (inline_sizes[is_inline] > _INLINE_LIMIT).any():
            raise ValueError("a value in its slot is longer than the slot")
        at, sizes = self._slices(np.where(is_inline, 0, slots))
        at = np.where(is_inline, self.starts + slot_at, at)
        return at, np.where(is_inline, inline_sizes, sizes)

    def _decimals(self, slots: Int64s, data_type: AtomicType) -> Int64s:
        if _is_compact(data_type):
            return np.stack([slots, slots >> 63], axis=1)
        at, sizes = self._slices(slots)
        if (sizes > _BIG_DECIMAL_BYTES).any():
            raise ValueError("a decimal is longer than 16 bytes")
        # Right-align the bytes and fill up with the sign.
        index = np.arange(_BIG_DECIMAL_BYTES) - (_BIG_DECIMAL_BYTES - sizes)[:, None]
        raw = self.data[np.minimum(at[:, None] + np.maximum(index, 0), len(self.data) - 1)]
        sign = np.where((sizes > 0) & (self.data[at] >= 0x80), np.uint8(0xFF), np.uint8(0))
        raw = np.where(index < 0, sign[:, None], raw)[:, ::-1]
        words: Int64s = np.ascontiguousarray(raw).view(np.int64)
        return words

    def _ticks(self, slots: Int64s, is_null: Bools, arrow_type: pa.DataType) -> Int64s:
        # The low half holds nanoseconds, not a size; the part is always one word.
        nanos = np.where(is_null, 0, slots & 0xFFFFFFFF)
        if (nanos >= 1_000_000).any():
            raise ValueError("a timestamp has a millisecond or more in its nanoseconds")
        at, _ = self._slices(np.where(is_null, 0, (slots & ~0xFFFFFFFF) | _WORD))
        millis: Int64s = np.where(is_null, 0, _unaligned(self.data, np.int64)[at])
        ticks_per_milli = {"us": 1_000, "ns": 1_000_000}[arrow_type.unit]
        limit = np.iinfo(np.int64).max // ticks_per_milli - 1
        if ((millis > limit) | (millis < -limit)).any():
            raise ValueError(f"a timestamp lies outside of what {arrow_type} can hold")
        ticks: Int64s = millis * ticks_per_milli + nanos // (1_000_000 // ticks_per_milli)
        return ticks


def _gather(data: Bytes, at: Int64s, sizes: Int64s, nulls: Bools | None) -> pa.Array:
    """Collect slices of `data` into a binary array."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    if offsets[-1] > np.iinfo(np.int32).max:
        raise ValueError("a column of more than 2 GiB")
    target = np.zeros(_round_up(int(offsets[-1])) + _WORD, dtype=np.uint8)
    _copy_slices(data, at, sizes, target, offsets[:-1])
    validity = None if nulls is None else pa.array(~nulls).buffers()[1]
    buffers = [validity, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(target)]
    return pa.Array.from_buffers(pa.binary(), len(sizes), buffers)


def _copy_slices(source: Bytes, at: Int64s, sizes: Int64s, target: Bytes, to: Int64s) -> None:
    """Copy `sizes` bytes from each `at` of `source` to each `to` of `target`."""
    moves = sizes <= _LONG_SLICE
    for i in np.flatnonzero(~moves):
        target[to[i] : to[i] + sizes[i]] = source[at[i] : at[i] + sizes[i]]
    if not moves.all():
        at, sizes, to = at[moves], sizes[moves], to[moves]
    shift = np.repeat(to - at, sizes)
    begins = np.cumsum(sizes) - sizes
    index = np.arange(len(shift)) + np.repeat(at - begins, sizes)
    target[index + shift] = source[index]


def _unaligned(data: Bytes, kind: type[np.generic]) -> npt.NDArray[Any]:
    """View `data` so that index i is the little-endian number that starts at byte i."""
    width = np.dtype(kind).itemsize
    return np.ndarray((max(len(data) - width + 1, 0),), kind, data, strides=(1,))


def _plain_array(column: pa.ChunkedArray, data_type: DataType) -> pa.Array:
    """One array of the type that `to_arrow` gives, binary for every type of plain bytes."""
    arrow_type = to_arrow(data_type)
    if isinstance(data_type, AtomicType) and data_type.root is TypeRoot.BLOB:
        arrow_type = pa.binary()
    try:
        if column.type != arrow_type:
            column = column.cast(arrow_type)
        return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], arrow_type)
    except pa.ArrowException as error:
        raise InvalidInput(f"A column of {column.type} is no {data_type}: {error}.") from error


def _plain_binary(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return column if column.type == pa.binary() else column.cast(pa.binary())


def _numbers(array: pa.Array) -> npt.NDArray[Any]:
    """The values of a fixed-width array, zero where null."""
    filled = array.fill_null(0) if array.null_count else array
    values: npt.NDArray[Any] = filled.to_numpy(zero_copy_only=False)
    return values


def _null_mask(array: pa.Array) -> Bools | None:
    return pc.is_null(array).to_numpy(zero_copy_only=False) if array.null_count else None


def _offsets_and_bytes(array: pa.Array) -> tuple[Int64s, Bytes]:
    _, offsets, data = array.buffers()
    if len(array) == 0 or offsets is None:
        return np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint8)
    view = np.frombuffer(offsets, dtype=np.int32)[array.offset : array.offset + len(array) + 1]
    raw = np.zeros(0, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
    # A slice shares the buffer of the whole array; only its own bytes are of interest.
    return view.astype(np.int64) - int(view[0]), raw[view[0] : view[-1]]


def _from_words(words: Int64s, arrow_type: pa.DataType, nulls: Bools | None) -> pa.Array:
    validity = None if nulls is None else pa.array(~nulls).buffers()[1]
    buffers = [validity, pa.py_buffer(np.ascontiguousarray(words))]
    return pa.Array.from_buffers(arrow_type, len(words), buffers)
