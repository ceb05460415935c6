"""Values of columns on a line, as numbers that lose no digit."""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.format.values.fine_times import is_fine, time_parts
from branch_console.quality.distribution import Ints, Points
from branch_console.quality.profile import ColumnKind

_MICROS: Final = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 1}
_NANO_SCALE: Final = 3
_NANOS_PER_MILLI: Final = 1_000_000
_WORD: Final = 64


def to_measures(values: pa.Array, kind: ColumnKind) -> tuple[Points, int] | None:
    """Put values on a line: dates as days and times as microseconds, of texts their length.

    Args:
        values: No nulls.
        kind: The kind of the values; booleans and nested values have no measure.

    Returns:
        Numbers, and how many of their digits stand behind the point; see `Distribution.scale`.
    """
    match kind:
        case ColumnKind.NUMBER:
            if pa.types.is_decimal(values.type):
                return _unscaled(values), values.type.scale
            wide = pa.float64() if pa.types.is_floating(values.type) else pa.int64()
            return values.cast(wide).to_numpy(), 0
        case ColumnKind.TIME:
            if is_fine(values.type):
                millis, nanos = time_parts(values)
                return _times(millis, _NANOS_PER_MILLI) + nanos, _NANO_SCALE
            width = pa.int32() if values.type.bit_width == 32 else pa.int64()
            numbers = values.view(width).to_numpy().astype(np.int64)
            unit = getattr(values.type, "unit", "us")
            scale = _NANO_SCALE if unit == "ns" else 0
            return _times(numbers, _MICROS.get(unit, 1)), scale
        case ColumnKind.TEXT:
            return pc.utf8_length(values).to_numpy().astype(np.int64), 0
        case ColumnKind.BYTES:
            return pc.binary_length(values).to_numpy().astype(np.int64), 0
        case ColumnKind.FLAG | ColumnKind.OTHER:
            return None


def _unscaled(values: pa.Array) -> Points:
    """Decimals as whole numbers: of 64 bits where all of them fit, else of any size."""
    wide = values.cast(pa.decimal128(38, values.type.scale))
    words = np.frombuffer(wide.buffers()[1] or b"", np.int64)
    low, high = words[2 * wide.offset :][: 2 * len(wide)].reshape(-1, 2).T
    if bool((high == low >> (_WORD - 1)).all()):
        return np.ascontiguousarray(low)
    found: Points = high.astype(object) * (1 << _WORD) + low.view(np.uint64).astype(object)
    return found


def _times(numbers: Ints, factor: int) -> Points:
    """Multiply whole numbers: in 64 bits where the products fit, else in any size."""
    most = np.iinfo(np.int64).max // factor - 1
    if factor == 1 or not len(numbers) or (numbers.min() >= -most and numbers.max() <= most):
        return numbers * factor
    found: Points = numbers.astype(object) * factor
    return found
