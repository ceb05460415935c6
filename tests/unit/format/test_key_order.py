"""Keys in the order of Java's comparisons, by Arrow and by Python alike."""

import math
import struct
from itertools import pairwise
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from branch_console.format.values.key_order import key_range, key_rank, sortable

_OTHER_NAN: Final = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000001))[0]
_RISING: Final = (-math.inf, -1.5, -5e-324, -0.0, 0.0, 5e-324, 1.5, math.inf, math.nan)


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_arrow_sorts_as_java(kind: pa.DataType) -> None:
    rising = [-math.inf, -1.5, -0.0, 0.0, 1.5, math.inf, math.nan]
    given = pa.chunked_array([pa.array([None, *reversed(rising)], kind)])
    found = given.take(pc.sort_indices(sortable(given))).to_pylist()
    assert list(map(str, found)) == [*map(str, rising), "None"]


def test_python_compares_as_java() -> None:
    keys = [(None,), *((each,) for each in _RISING)]
    falling = keys[::-1]
    assert sorted(falling, key=key_rank) == keys
    assert all(key_rank(low) < key_rank(high) for low, high in pairwise(keys))
    assert str(key_range([(1.5,), (math.nan,), (-0.0,), (0.0,)])) == "((-0.0,), (nan,))"


def test_all_nans_are_one_key() -> None:
    column = sortable(pa.array([math.nan, _OTHER_NAN]))
    assert column[0] == column[1]
    assert key_rank((math.nan,)) == key_rank((_OTHER_NAN,))


def test_other_types_stay() -> None:
    column = pa.array(["b", None])
    assert sortable(column) is column
