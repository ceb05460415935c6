"""Many of Paimon's BinaryRows at once, column by column: the bytes of `binary_row`.

Over Arrow with numpy, without a call a row but for nested values.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import ErrorKind, FormatError, InvalidInput
from branch_console.format.data_types import AtomicType, DataType, RowType, TypeRoot
from branch_console.format.values.arrow_types import to_arrow
from branch_console.format.values.binary_row import decode_value, encode_value
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
from branch_console.format.values.fine_times import (
    FINE_TIME,
    cast_times,
    fine_times,
    is_fine,
    map_parts,
    time_parts,
)

# Small enough for the intermediate arrays of a part to stay in the processor's cache.
ROWS_PER_PART: Final = 1 << 16
# Slices above it are copied one by one: an index for each byte costs more than a call.
_LONG_SLICE: Final = 512

Int64s: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]


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
    starts = rows.starts + ARITY_BYTES * np.arange(count + 1)
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
    count, first_slot = table.num_rows, null_region(len(types))
    lengths = np.full(count, first_slot + WORD * len(types), dtype=np.int64)
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
        words[(starts[:-1] + first_slot + WORD * i) // WORD] = slots
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
    arity, first_slot = len(row_type.fields), null_region(len(row_type.fields))
    fixed = ARITY_BYTES + first_slot + WORD * arity
    # Null rows look at zeros behind the data; so may every unaligned read near its end.
    data = np.concatenate([raw, np.zeros(fixed + WORD, dtype=np.uint8)])
    starts = np.where(nulls, len(raw), offsets[:-1])
    sizes = np.where(nulls, fixed, np.diff(offsets))
    if (sizes < ARITY_BYTES).any():
        raise FormatError("A binary row ends before its field count.")
    found = _unaligned(data, np.uint32)[starts].byteswap()
    for i in np.flatnonzero(~nulls & (found != arity))[:1]:
        check_arity(int(found[i]), arity)
    if (sizes < fixed).any():
        raise FormatError("A binary row ends within its fixed part.")
    if arity == 0:
        return pa.array([None if null else {} for null in nulls.tolist()], pa.struct([]))
    view = _RowView(data=data, starts=starts + ARITY_BYTES, sizes=sizes - ARITY_BYTES, nulls=nulls)
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
                words[to // WORD + i] = self.parts[:, i]
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
        case AtomicType(root=root) if form := FIXED_FORMATS.get(root):
            width = struct.calcsize(form)
            numbers = _numbers(array.view(f"int{8 * width}")).astype(np.int64)
            # The bytes of a slot behind the value are zero, also behind a negative one.
            mask = -1 if width == WORD else (1 << 8 * width) - 1
            return _Slots(slots=numbers & mask, nulls=nulls)
        case AtomicType(root=TypeRoot.DECIMAL):
            halves = _decimal_words(array)
            if is_compact(data_type):
                return _Slots(slots=halves[:, 0], nulls=nulls)
            sizes, parts = _big_endian_minimal(halves)
            return _with_parts(sizes, parts, nulls)
        case AtomicType(root=TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ):
            if is_fine(array.type):
                millis, nanos = time_parts(array)
            else:
                ticks = _numbers(array.view(pa.int64()))
                millis, rest = np.divmod(ticks, {"ms": 1, "us": 1_000}[array.type.unit])
                nanos = rest * 1_000
            if is_compact(data_type):
                return _Slots(slots=millis, nulls=nulls)
            return _with_parts(nanos, millis[:, None], nulls)
        case AtomicType(root=root) if root in BYTES_ROOTS:
            return _byte_slots(array.view(pa.binary()), nulls, inline=True)
        case _:
            values = _reachable(array).to_pylist()
            encoded = [None if v is None else encode_value(v, data_type) for v in values]
            return _byte_slots(pa.array(encoded, pa.binary()), nulls, inline=False)


def _with_parts(low: Int64s, parts: Int64s, nulls: Bools | None) -> _Slots:
    """Slots of values whose part has the same size in every row, nulls included."""
    if nulls is not None:
        low, parts = np.where(nulls, 0, low), np.where(nulls[:, None], 0, parts)
    room = np.full(len(low), WORD * parts.shape[1], dtype=np.int64)
    return _Slots(slots=low, nulls=nulls, room=room, parts=parts)


def _byte_slots(array: pa.Array, nulls: Bools | None, *, inline: bool) -> _Slots:
    offsets, raw = _offsets_and_bytes(array)
    at, sizes = offsets[:-1], np.diff(offsets)
    if nulls is not None:
        sizes = np.where(nulls, 0, sizes)
    slots = sizes
    if inline:
        short = sizes <= INLINE_LIMIT
        padded = np.concatenate([raw, np.zeros(WORD, dtype=np.uint8)])
        heads = _unaligned(padded, np.uint64)[np.minimum(at, len(raw))].astype(np.uint64)
        kept = heads & (
            (np.uint64(1) << (8 * np.minimum(sizes, 7)).astype(np.uint64)) - np.uint64(1)
        )
        marked = kept | (sizes.astype(np.uint64) | np.uint64(INLINE_MARK)) << np.uint64(56)
        slots = np.where(short, marked.view(np.int64), sizes)
        sizes = np.where(short, 0, sizes)
    if nulls is not None:
        slots = np.where(nulls, 0, slots)
    room = (sizes + WORD - 1) // WORD * WORD
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
    raw = np.ascontiguousarray(words).view(np.uint8).reshape(-1, BIG_DECIMAL_BYTES)[:, ::-1]
    sign = np.where(raw[:, :1] >= 0x80, np.uint8(0xFF), np.uint8(0))
    differs = raw != sign
    lead = np.where(differs.any(axis=1), differs.argmax(axis=1), BIG_DECIMAL_BYTES)
    # The first byte that is kept must show the sign in its highest bit.
    first = raw[np.arange(len(raw)), np.minimum(lead, BIG_DECIMAL_BYTES - 1)]
    shows_sign = (lead < BIG_DECIMAL_BYTES) & ((first >= 0x80) == (sign[:, 0] == 0xFF))
    skip = np.where(shows_sign, lead, lead - 1)
    at = skip[:, None] + np.arange(BIG_DECIMAL_BYTES)
    moved = np.take_along_axis(raw, np.minimum(at, BIG_DECIMAL_BYTES - 1), axis=1)
    moved = np.where(at < BIG_DECIMAL_BYTES, moved, np.uint8(0))
    return BIG_DECIMAL_BYTES - skip, np.ascontiguousarray(moved).view(np.int64)


def _reachable(array: pa.Array) -> pa.Array:
    """An array as Python takes it whatever the year: days and seconds as decimals."""

    def numbers(part: pa.Array) -> pa.Array:
        if pa.types.is_date(part.type):
            return part.view(pa.int32()).cast(pa.decimal128(10, 0))
        return cast_times(part, FINE_TIME)

    return map_parts(array, lambda k: pa.types.is_date(k) or pa.types.is_timestamp(k), numbers)


def _without_numpy(value: Any) -> Any:
    """Return a value with nanoseconds as `to_arrow` carries them: seconds with nine digits."""
    if isinstance(value, np.datetime64):
        return Decimal(int(value.astype(np.int64))).scaleb(-9)
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
        slots = _unaligned(self.data, np.int64)[self.starts + first_slot + WORD * i]
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
            case AtomicType(root=root) if form := FIXED_FORMATS.get(root):
                numbers = slots.astype(f"int{8 * struct.calcsize(form)}")
                if root is TypeRoot.TIME and ((numbers < 0) | (numbers >= MILLIS_PER_DAY)).any():
                    raise ValueError("a time lies outside of the day")
                return pa.array(numbers, mask=nulls).view(arrow_type)
            case AtomicType(root=TypeRoot.DECIMAL):
                words = self._decimals(slots, data_type)
                return _from_words(words, arrow_type, nulls)
            case AtomicType(root=TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ):
                if is_compact(data_type):
                    return pa.array(slots, mask=nulls).view(arrow_type)
                millis, nanos = self._time_parts(slots, is_null)
                if is_fine(arrow_type):
                    return fine_times(millis, nanos, nulls, arrow_type)
                limit = np.iinfo(np.int64).max // 1_000 - 1
                if ((millis > limit) | (millis < -limit)).any():
                    raise ValueError(f"a timestamp lies outside of what {arrow_type} can hold")
                return pa.array(millis * 1_000 + nanos // 1_000, mask=nulls).view(arrow_type)
            case AtomicType(root=root) if root in BYTES_ROOTS:
                at, sizes = self._byte_slices(slots, first_slot + WORD * i)
                binary = _gather(self.data, at, sizes, nulls)
                is_text = root in TEXT_ROOTS
                return binary.view(pa.string()) if is_text else binary.cast(arrow_type)
            case _:
                at, sizes = self._slices(slots)
                parts = _gather(self.data, at, sizes, nulls).to_pylist()
                values = [None if part is None else decode_value(part, data_type) for part in parts]
                return pa.array([_without_numpy(value) for value in values], arrow_type)

    def _slices(self, slots: Int64s) -> tuple[Int64s, Int64s]:
        offsets = (slots.view(np.uint64) >> np.uint64(32)).astype(np.int64)
        sizes = slots & 0xFFFFFFFF
        if (offsets + sizes > self.sizes).any():
            raise ValueError("a value lies outside of the row")
        return self.starts + offsets, sizes

    def _byte_slices(self, slots: Int64s, slot_at: int) -> tuple[Int64s, Int64s]:
        marks = (slots.view(np.uint64) >> np.uint64(56)).astype(np.int64)
        is_inline = marks & INLINE_MARK != 0
        inline_sizes = marks & ~INLINE_MARK
        if (inline_sizes[is_inline] > INLINE_LIMIT).any():
            raise ValueError("a value in its slot is longer than the slot")
        at, sizes = self._slices(np.where(is_inline, 0, slots))
        at = np.where(is_inline, self.starts + slot_at, at)
        return at, np.where(is_inline, inline_sizes, sizes)

    def _decimals(self, slots: Int64s, data_type: AtomicType) -> Int64s:
        if is_compact(data_type):
            return np.stack([slots, slots >> 63], axis=1)
        at, sizes = self._slices(slots)
        if (sizes > BIG_DECIMAL_BYTES).any():
            raise ValueError("a decimal is longer than 16 bytes")
        # Right-align the bytes and fill up with the sign.
        index = np.arange(BIG_DECIMAL_BYTES) - (BIG_DECIMAL_BYTES - sizes)[:, None]
        raw = self.data[np.minimum(at[:, None] + np.maximum(index, 0), len(self.data) - 1)]
        sign = np.where((sizes > 0) & (self.data[at] >= 0x80), np.uint8(0xFF), np.uint8(0))
        raw = np.where(index < 0, sign[:, None], raw)[:, ::-1]
        words: Int64s = np.ascontiguousarray(raw).view(np.int64)
        return words

    def _time_parts(self, slots: Int64s, is_null: Bools) -> tuple[Int64s, Int64s]:
        # The low half holds nanoseconds, not a size; the part is always one word.
        nanos = np.where(is_null, 0, slots & 0xFFFFFFFF)
        if (nanos >= 1_000_000).any():
            raise ValueError("a timestamp has a millisecond or more in its nanoseconds")
        at, _ = self._slices(np.where(is_null, 0, (slots & ~0xFFFFFFFF) | WORD))
        return np.where(is_null, 0, _unaligned(self.data, np.int64)[at]), nanos


def _gather(data: Bytes, at: Int64s, sizes: Int64s, nulls: Bools | None) -> pa.Array:
    """Collect slices of `data` into a binary array."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    if offsets[-1] > np.iinfo(np.int32).max:
        raise ValueError("a column of more than 2 GiB")
    target = np.zeros(round_up(int(offsets[-1])) + WORD, dtype=np.uint8)
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
