"""When two cells hold the same value."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.format.values.fine_times import as_numbers, map_parts

Bools: TypeAlias = npt.NDArray[np.bool_]


def same_values(left: pa.Array, right: pa.Array) -> Bools:
    """Return a mask of equal values; null equals null, and NaN equals NaN, on every level."""
    if pa.types.is_nested(left.type):
        values = (as_numbers(plain_floats(side)).to_pylist() for side in (left, right))
        pairs = zip(*values, strict=True)
        return np.fromiter((_plain(a) == _plain(b) for a, b in pairs), bool, len(left))
    equal = pc.fill_null(pc.equal(left, right), False)
    if pa.types.is_floating(left.type):
        nans = pc.and_(pc.is_nan(left), pc.is_nan(right))
        equal = pc.or_(equal, pc.fill_null(nans, False))
    found = pc.or_(equal, pc.and_(pc.is_null(left), pc.is_null(right)))
    same: Bools = found.to_numpy(zero_copy_only=False)
    return same


def plain_floats(array: pa.Array) -> pa.Array:
    """Return an array with one NaN and one zero, on every level: they are equal, bytes are not."""
    return map_parts(array, pa.types.is_floating, _plain_numbers)


def _plain_numbers(numbers: pa.Array) -> pa.Array:
    nan = pa.scalar(float("nan"), numbers.type)
    # Minus zero and zero add up to zero.
    return pc.add(pc.if_else(pc.is_nan(numbers), nan, numbers), pa.scalar(0.0, numbers.type))


def _plain(value: Any) -> Any:
    """Maps come as lists of pairs, whose order means nothing; NaN is told by its text."""
    match value:
        case dict():
            return {name: _plain(each) for name, each in value.items()}
        case [tuple(), *_]:
            return sorted((repr(_plain(key)), repr(_plain(each))) for key, each in value)
        case list():
            return [_plain(each) for each in value]
        case _:
            return repr(value)
