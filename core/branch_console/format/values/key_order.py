"""The order of keys, which is Java's: below zero lies minus zero, and NaN above all numbers.

Arrow and Python take both zeros for one number and compare NaN with nothing, so that a file sorted
by them is none to Paimon, and two rows of the key NaN are two keys. Source: Paimon SortUtil.
"""

import math
import struct
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.format.values.fine_times import Column


def sortable(column: Column) -> Column:
    """A column whose values Arrow compares and sorts as Java does those of a key.

    Args:
        column: A column of any type; a type that Arrow compares like Java is returned unchanged.
    """
    if not pa.types.is_floating(column.type):
        return column
    if isinstance(column, pa.ChunkedArray):
        kind = pa.int32() if column.type.bit_width == 32 else pa.int64()
        return pa.chunked_array([sortable(each) for each in column.chunks], kind)
    nan = pa.scalar(float("nan"), column.type)
    plain = pc.fill_null(pc.if_else(pc.is_nan(column), nan, column), 0.0)
    width = column.type.bit_width
    bits = plain.to_numpy().view(np.int32 if width == 32 else np.int64)
    most = (1 << (width - 1)) - 1
    ordered = np.where(bits < 0, bits ^ most, bits)
    return pa.array(ordered, mask=pc.is_null(column).to_numpy(zero_copy_only=False))


def key_rank(key: Sequence[Any]) -> tuple[tuple[bool, Any], ...]:
    """Return a value by which Python sorts keys as Paimon does; null comes before all values.

    Args:
        key: As `decode_row` gives it.
    """
    return tuple((value is not None, _rank(value)) for value in key)


def key_range(keys: Collection[tuple[Any, ...]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The least and the greatest of some keys, as `decode_row` gives them."""
    return min(keys, key=key_rank), max(keys, key=key_rank)


def _rank(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    bits: int = struct.unpack("<q", struct.pack("<d", math.nan if math.isnan(value) else value))[0]
    return bits if bits >= 0 else bits ^ (1 << 63) - 1
