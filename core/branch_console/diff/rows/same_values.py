"""When two cells hold the same value."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.format.values.fine_times import as_numbers

Bools: TypeAlias = npt.NDArray[np.bool_]


def same_values(left: pa.Array, right: pa.Array) -> Bools:
    """Return a mask of equal values; null equals null, and NaN equals NaN."""
    if pa.types.is_nested(left.type):
        pairs = zip(as_numbers(left).to_pylist(), as_numbers(right).to_pylist(), strict=True)
        return np.fromiter((_plain(a) == _plain(b) for a, b in pairs), bool, len(left))
    equal = pc.fill_null(pc.equal(left, right), False)
    if pa.types.is_floating(left.type):
        nans = pc.and_(pc.is_nan(left), pc.is_nan(right))
        equal = pc.or_(equal, pc.fill_null(nans, False))
    found = pc.or_(equal, pc.and_(pc.is_null(left), pc.is_null(right)))
    same: Bools = found.to_numpy(zero_copy_only=False)
    return same


def _plain(value: object) -> object:
    """Maps come as lists of pairs, whose order means nothing; NaN is told by its text."""
    if isinstance(value, list) and value and all(isinstance(each, tuple) for each in value):
        return sorted(map(repr, value))
    return repr(value)
