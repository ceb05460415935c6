"""Paimon's BinaryRow, the bytes of partitions, keys and statistics, a row at a time.

Equality and hashes of rows are those of their bytes, so padding and nulls are exact. This is the
reference; `format.values.binary_rows` does the same for many rows. Source: Paimon BinaryRow,
BinaryRowWriter, BinaryArray, RowHelper, SerializationUtils.

Python values: TIMESTAMP above precision 6 is a numpy.datetime64 of nanoseconds, or a Decimal of
seconds where that does not reach, ARRAY a list, MAP
and MULTISET a list of pairs, ROW and VARIANT a dict; all others as in Arrow's `as_py`.
"""

import struct
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any, Final, assert_never

import numpy as np
import pyarrow as pa

from branch_console.errors import ErrorKind, FormatError, InvalidInput
from branch_console.format.data_types import (
    INT,
    MICROSECOND_PRECISION,
    ArrayType,
    AtomicType,
    DataType,
    MapType,
    MultisetType,
    RowType,
    TypeRoot,
    VectorType,
)
from branch_console.format.values.binary_row_layout import (
    ARITY_BYTES,
    BIG_DECIMAL_BYTES,
    BYTES_ROOTS,
    FIXED_FORMATS,
    INLINE_LIMIT,
    INLINE_MARK,
    MILLIS_PER_DAY,
    TEXT_ROOTS,
    WORD,
    check_arity,
    is_compact,
    null_region,
    round_up,
)

_EPOCH: Final = datetime(1970, 1, 1)
_MOST_NANOS: Final = (1 << 63) - 1
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
_TIMESTAMP_ROOTS: Final = frozenset({TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ})


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
        InvalidInput: A date or time lies outside of what Python's hold.
    """
    try:
        (arity,) = struct.unpack_from(">i", data)
        check_arity(arity, len(types))
        values = _read_row(data[ARITY_BYTES:], types)
    except (struct.error, ValueError, OverflowError, ArithmeticError) as error:
        raise FormatError(f"A binary row cannot be decoded: {error}.") from error
    for value, data_type in zip(values, types, strict=True):
        # Decimals of seconds do not compare with the timestamps of other keys.
        is_time = isinstance(data_type, AtomicType) and data_type.root in _TIMESTAMP_ROOTS
        if is_time and isinstance(value, Decimal):
            raise _far()
    return values


class _Section:
    """A fixed part of slots with null bits, and a variable part that grows behind it."""

    def __init__(self, first_null_bit: int, first_slot: int, slot_width: int, count: int) -> None:
        self.first_null_bit = first_null_bit
        self.first_slot = first_slot
        self.slot_width = slot_width
        self.data = bytearray(round_up(first_slot + slot_width * count))

    @classmethod
    def of_row(cls, arity: int) -> "_Section":
        return cls(8, null_region(arity), WORD, arity)

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
        self.data += value.ljust(round_up(len(value)), b"\0")


def _write(section: _Section, i: int, value: Any, data_type: DataType) -> None:
    match data_type:
        case AtomicType(root=root) if form := FIXED_FORMATS.get(root):
            section.put(i, form, _to_number(value, root))
        case AtomicType(root=TypeRoot.DECIMAL):
            unscaled = _unscaled(value, data_type)
            if is_compact(data_type):
                section.put(i, "<q", unscaled)
            else:
                size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
                raw = unscaled.to_bytes(size, "big", signed=True)
                section.append(i, raw.ljust(BIG_DECIMAL_BYTES, b"\0"), size)
        case AtomicType(root=TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ):
            millis, nanos = divmod(_epoch_nanos(value, data_type), 1_000_000)
            if is_compact(data_type):
                section.put(i, "<q", millis)
            else:
                section.append(i, struct.pack("<q", millis), nanos)
        case AtomicType(root=root) if root in BYTES_ROOTS:
            raw = value.encode() if root in TEXT_ROOTS else bytes(memoryview(value))
            if len(raw) <= INLINE_LIMIT:
                slot = raw.ljust(INLINE_LIMIT, b"\0") + bytes([INLINE_MARK | len(raw)])
                section.put(i, "8s", slot)
            else:
                section.append(i, raw, len(raw))
        case _:
            raw = encode_value(value, data_type)
            section.append(i, raw, len(raw))


def encode_value(value: Any, data_type: DataType) -> bytes:
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
            form = FIXED_FORMATS[element.root]
            raw = b"".join(struct.pack(form, item) for item in value)
            return struct.pack("<i", length) + raw.ljust(round_up(len(raw)), b"\0")
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
    first_slot = null_region(len(types))
    if len(data) < first_slot + WORD * len(types):
        raise ValueError("it ends within its fixed part")
    return tuple(
        None if _is_null(data, 8 + i) else _read(data, first_slot + WORD * i, data_type)
        for i, data_type in enumerate(types)
    )


def _read(data: bytes, at: int, data_type: DataType) -> Any:
    match data_type:
        case AtomicType(root=root) if form := FIXED_FORMATS.get(root):
            return _from_number(struct.unpack_from(form, data, at)[0], root)
        case AtomicType(root=TypeRoot.DECIMAL, scale=scale):
            if is_compact(data_type):
                unscaled = struct.unpack_from("<q", data, at)[0]
            else:
                unscaled = int.from_bytes(_variable_part(data, at), "big", signed=True)
            if abs(unscaled) >= 10 ** (data_type.precision or 0):
                raise ValueError(f"a decimal has more digits than {data_type}")
            return Decimal(unscaled).scaleb(-(scale or 0), _EXACT)
        case AtomicType(root=TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ):
            if is_compact(data_type):
                return _from_epoch_nanos(
                    struct.unpack_from("<q", data, at)[0] * 1_000_000, data_type
                )
            nanos, offset = struct.unpack_from("<II", data, at)
            if nanos >= 1_000_000:
                raise ValueError(f"a timestamp has {nanos} nanoseconds within a millisecond")
            millis = struct.unpack_from("<q", data, offset)[0]
            return _from_epoch_nanos(millis * 1_000_000 + nanos, data_type)
        case AtomicType(root=root) if root in BYTES_ROOTS:
            mark = data[at + INLINE_LIMIT]
            if mark & INLINE_MARK:
                if mark & ~INLINE_MARK > INLINE_LIMIT:
                    raise ValueError("a value in its slot is longer than the slot")
                raw = data[at : at + (mark & ~INLINE_MARK)]
            else:
                raw = _variable_part(data, at)
            return raw.decode() if root in TEXT_ROOTS else raw
        case _:
            return decode_value(_variable_part(data, at), data_type)


def decode_value(data: bytes, data_type: DataType) -> Any:
    """Decode what `encode_value` encoded; raises ValueError or struct.error for other bytes."""
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
            form = FIXED_FORMATS[element.root]
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
            # Decimals are days of years that Python's calendar does not reach.
            return int(value) if isinstance(value, Decimal) else value.toordinal() - _EPOCH_DAY
        case TypeRoot.TIME:
            seconds = (value.hour * 60 + value.minute) * 60 + value.second
            return seconds * 1000 + value.microsecond // 1000
        case _:
            return value


def _from_number(value: Any, root: TypeRoot) -> Any:
    match root:
        case TypeRoot.DATE:
            try:
                return date.fromordinal(value + _EPOCH_DAY)
            except (ValueError, OverflowError) as error:
                raise _far() from error
        case TypeRoot.TIME:
            if not 0 <= value < MILLIS_PER_DAY:
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
    if isinstance(value, Decimal):
        # As `to_arrow` carries what has more than six digits.
        return int(value.scaleb(9, _EXACT))
    if type(value) is not datetime:
        # Arrow knows the values that carry nanoseconds: numpy's and pandas' timestamps.
        nanos: int = pa.scalar(value, pa.timestamp("ns")).value
        return nanos
    if value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    since: timedelta = value - _EPOCH
    return since // timedelta(microseconds=1) * 1000


def _from_epoch_nanos(nanos: int, data_type: AtomicType) -> Any:
    if (data_type.precision or 0) > MICROSECOND_PRECISION:
        if abs(nanos) > _MOST_NANOS:
            return Decimal(nanos).scaleb(-9, _EXACT)
        return np.datetime64(nanos, "ns")
    try:
        value = _EPOCH + timedelta(microseconds=nanos // 1000)
    except OverflowError as error:
        raise _far() from error
    return value.replace(tzinfo=UTC) if data_type.root is TypeRoot.TIMESTAMP_LTZ else value


def _far() -> InvalidInput:
    return InvalidInput(
        "A key, partition or nested value lies outside of the years 1 to 9999, or of 1678 to 2261 "
        "if its type has more than six digits of a second, which is not read here yet. Nothing was "
        "changed. Read the table with Paimon.",
        kind=ErrorKind.UNSUPPORTED,
    )


def _reserved_bytes(data_type: DataType) -> int:
    """The bytes that even a null takes in the variable part of a row."""
    if not isinstance(data_type, AtomicType):
        return 0
    if data_type.root is TypeRoot.DECIMAL and not is_compact(data_type):
        return BIG_DECIMAL_BYTES
    if data_type.root in _TIMESTAMP_ROOTS and not is_compact(data_type):
        return WORD
    return 0


def _slot_width(element: DataType) -> int:
    form = FIXED_FORMATS.get(element.root) if isinstance(element, AtomicType) else None
    return struct.calcsize(form) if form else WORD


def _array_header(count: int) -> int:
    return 4 + (count + 31) // 32 * 4


EMPTY_ROW: Final = encode_row((), ())
