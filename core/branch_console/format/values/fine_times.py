"""Timestamps of more than six digits as Arrow values, whatever their year.

Arrow counts nanoseconds in 64 bits and so ends in 1677 and 2262; Paimon keeps milliseconds in 64
bits with the nanoseconds beside them. In our Arrow tables such values are decimal seconds since
1970, with nine digits behind the point, of a width that no DECIMAL of Paimon has. Decision 0023.
"""

from collections.abc import Callable
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.format.values.nested_arrays import (
    list_like,
    map_like,
    vector_like,
    vector_values,
)

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Column = TypeVar("Column", pa.Array, pa.ChunkedArray)

FINE_TIME: Final = pa.decimal256(39, 9)
FINE_LOCAL_TIME: Final = pa.decimal256(40, 9)
"""TIMESTAMP and TIMESTAMP WITH LOCAL TIME ZONE of seven to nine digits."""

NANOS_PER_MILLI: Final = 1_000_000
_PER_MILLI: Final = {"us": 1_000, "ns": NANOS_PER_MILLI}
_PER_SECOND: Final = {"s": 1, "ms": 1_000}
_HALF: Final = 32
_SHORT: Final = 32
_LOW: Final = (1 << _HALF) - 1
_WORDS: Final = 4


def is_fine(kind: pa.DataType) -> bool:
    """Whether values of a type are timestamps of more than six digits."""
    return bool(kind in (FINE_TIME, FINE_LOCAL_TIME))


def has_part(kind: pa.DataType, is_wanted: Callable[[pa.DataType], bool]) -> bool:
    """Whether a type is, or has on whatever level, one that is wanted."""
    if is_wanted(kind):
        return True
    if pa.types.is_map(kind):
        return has_part(kind.key_type, is_wanted) or has_part(kind.item_type, is_wanted)
    if pa.types.is_nested(kind):
        return any(has_part(kind.field(at).type, is_wanted) for at in range(kind.num_fields))
    return False


def map_parts(
    array: pa.Array,
    is_wanted: Callable[[pa.DataType], bool],
    act: Callable[[pa.Array], pa.Array],
) -> pa.Array:
    """An array with what is of a wanted type, on whatever level, made something else."""
    kind = array.type
    if not has_part(kind, is_wanted):
        return array
    if is_wanted(kind):
        return act(array)
    if pa.types.is_struct(kind):
        parts = [map_parts(array.field(at), is_wanted, act) for at in range(kind.num_fields)]
        fields = [each.with_type(part.type) for each, part in zip(kind, parts, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=array.is_null())
    if pa.types.is_map(kind):
        keys = map_parts(array.keys, is_wanted, act)
        items = map_parts(array.items, is_wanted, act)
        whole = pa.map_(kind.key_field.with_type(keys.type), kind.item_field.with_type(items.type))
        return map_like(array, keys, items, whole)
    if pa.types.is_list(kind):
        values = map_parts(array.values, is_wanted, act)
        return list_like(array, values, pa.list_(kind.value_field.with_type(values.type)))
    if pa.types.is_fixed_size_list(kind):
        values = map_parts(vector_values(array), is_wanted, act)
        whole = pa.list_(kind.value_field.with_type(values.type), kind.list_size)
        return vector_like(array, values, whole)
    raise AssertionError(kind)


def fine_times(
    millis: Int64s, nanos: Int64s, nulls: Bools | None, kind: pa.DataType = FINE_TIME
) -> pa.Array:
    """Timestamps from milliseconds since 1970 and the nanoseconds after them."""
    low = (millis & _LOW) * NANOS_PER_MILLI + nanos
    high = (millis >> _HALF) * NANOS_PER_MILLI + (low >> _HALF)
    words = np.empty((len(millis), _WORDS), np.int64)
    words[:, 0] = (high & _LOW) << _HALF | low & _LOW
    words[:, 1] = high >> _HALF
    words[:, 2:] = (high >> (2 * _HALF - 1))[:, None]
    validity = None if nulls is None else pa.array(~nulls).buffers()[1]
    return pa.Array.from_buffers(kind, len(millis), [validity, pa.py_buffer(words)])


def time_parts(times: pa.Array) -> tuple[Int64s, Int64s]:
    """Milliseconds since 1970 and the nanoseconds after them; any number where null."""
    end = times.offset + len(times)
    words = np.frombuffer(times.buffers()[1] or b"", np.int64, _WORDS * end)
    words = words.reshape(-1, _WORDS)[times.offset :]
    high = words[:, 1] << _HALF | (words[:, 0] >> _HALF) & _LOW
    whole, rest = np.divmod(high, NANOS_PER_MILLI)
    more, nanos = np.divmod((rest << _HALF) + (words[:, 0] & _LOW), NANOS_PER_MILLI)
    return (whole << _HALF) + more, nanos


def cast_times(column: Column, target: pa.DataType) -> Column:
    """Cast as Arrow does, and timestamps of more than six digits besides, on whatever level.

    What is finer than the target is left off, towards the past.

    Raises:
        pa.ArrowException: A value does not fit the target.
    """
    if column.type == target:
        return column
    if not has_part(column.type, is_fine) and not has_part(target, is_fine):
        return column.cast(target)
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([_cast(chunk, target) for chunk in column.chunks], target)
    return _cast(column, target)


def as_numbers(array: pa.Array) -> pa.Array:
    """An array whose dates and timestamps are numbers: Python's own end with the year 9999."""

    def numbers(part: pa.Array) -> pa.Array:
        return part.view(pa.int32() if part.type.bit_width == _SHORT else pa.int64())

    return map_parts(array, pa.types.is_temporal, numbers)


def time_texts(times: pa.Array) -> pa.Array:
    """Texts such as Arrow writes of its own timestamps, with nine digits."""
    millis, nanos = time_parts(times)
    zone = "Z" if times.type == FINE_LOCAL_TIME else ""
    there = times.is_valid().to_pylist()
    seconds, rest = np.divmod(millis, 1_000)
    found = [
        f"{str(second.astype('datetime64[s]')).replace('T', ' ')}.{fraction:09d}{zone}"
        if is_there
        else None
        for second, fraction, is_there in zip(
            seconds, rest * NANOS_PER_MILLI + nanos, there, strict=True
        )
    ]
    return pa.array(found, pa.string())


def parse_times(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Texts that Arrow reads as timestamps, of any year that Arrow knows.

    Raises:
        pa.ArrowException: A text is none.
    """
    found = pc.extract_regex(texts, r"^(?P<second>[^.]*)(?P<fraction>\.[0-9]{1,9})?(?P<zone>Z)?$")
    if found.null_count > texts.null_count:
        raise pa.ArrowInvalid("a text is no timestamp")
    whole = pc.binary_join_element_wise(found.field("second"), found.field("zone"), "")
    whole = pc.if_else(texts.is_valid(), whole, pa.scalar(None, pa.string()))
    seconds = whole.cast(pa.timestamp("s", "UTC" if kind == FINE_LOCAL_TIME else None))
    digits = pc.utf8_rpad(pc.replace_substring(found.field("fraction"), ".", ""), 9, "0")
    fraction = digits.fill_null("0").cast(pa.int64()).to_numpy(zero_copy_only=False)
    millis, nanos = np.divmod(fraction, NANOS_PER_MILLI)
    return fine_times(_ticks(seconds) * 1_000 + millis, nanos, _nulls(seconds), kind)


def scalar_of(value: object, kind: pa.DataType) -> pa.Scalar:
    """A Python value, or its text, as a value of an Arrow type.

    Raises:
        pa.ArrowException, TypeError, ValueError: It is none.
    """
    if is_fine(kind):
        if isinstance(value, str):
            return parse_times(pa.array([value]), kind)[0]
        return cast_times(pa.array([value]), kind)[0]
    return pa.scalar(value).cast(kind) if isinstance(value, str) else pa.scalar(value, kind)


def _cast(array: pa.Array, target: pa.DataType) -> pa.Array:
    kind = array.type
    if kind == target:
        return array
    if pa.types.is_struct(target) and pa.types.is_struct(kind):
        if kind.num_fields != target.num_fields:
            raise pa.ArrowInvalid(f"a row of {kind.num_fields} fields is none of {target}")
        parts = [cast_times(array.field(at), each.type) for at, each in enumerate(target)]
        return pa.StructArray.from_arrays(parts, fields=list(target), mask=array.is_null())
    if pa.types.is_map(target) and pa.types.is_map(kind):
        keys = cast_times(array.keys, target.key_type)
        return map_like(array, keys, cast_times(array.items, target.item_type), target)
    if pa.types.is_list(target) and pa.types.is_list(kind):
        return list_like(array, cast_times(array.values, target.value_type), target)
    if is_fine(kind) and is_fine(target):
        return fine_times(*time_parts(array), _nulls(array), target)
    if is_fine(kind) and pa.types.is_timestamp(target):
        return _timestamps(array, target.unit).cast(target)
    if is_fine(target) and (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        return _fine(array, target)
    if is_fine(target) and pa.types.is_null(kind):
        return pa.nulls(len(array), target)
    raise pa.ArrowInvalid(f"{kind} is no {target}")


def _fine(array: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_date(array.type):
        array = array.cast(pa.timestamp("ms"))
    unit, ticks = array.type.unit, _ticks(array)
    if unit in _PER_SECOND:
        millis, nanos = ticks * (1_000 // _PER_SECOND[unit]), np.zeros(len(array), np.int64)
    else:
        millis, rest = np.divmod(ticks, _PER_MILLI[unit])
        nanos = rest * (NANOS_PER_MILLI // _PER_MILLI[unit])
    return fine_times(millis, nanos, _nulls(array), target)


def _timestamps(array: pa.Array, unit: str) -> pa.Array:
    millis, nanos = time_parts(array)
    nulls = _nulls(array)
    if unit in _PER_SECOND:
        ticks = millis // (1_000 // _PER_SECOND[unit])
    else:
        each = _PER_MILLI[unit]
        most = np.iinfo(np.int64).max // each - 1
        is_far = (millis > most) | (millis < -most)
        if (is_far if nulls is None else is_far & ~nulls).any():
            raise pa.ArrowInvalid(f"a time lies outside of what Arrow's {unit} can hold")
        ticks = millis * each + nanos // (NANOS_PER_MILLI // each)
    zone = "UTC" if array.type == FINE_LOCAL_TIME else None
    return pa.array(ticks, pa.int64(), mask=nulls).view(pa.timestamp(unit, zone))


def _ticks(array: pa.Array) -> Int64s:
    ticks: Int64s = array.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return ticks


def _nulls(array: pa.Array) -> Bools | None:
    nulls: Bools = array.is_null().to_numpy(zero_copy_only=False)
    return nulls if array.null_count else None
