"""Zeros and NaN are equal as SQL has them, also inside of arrays, rows and maps."""

import math
from typing import Any

import pyarrow as pa
import pytest

from branch_console.diff.rows.row_diff import counted_rows
from branch_console.diff.rows.same_values import same_values, sorted_maps
from branch_console.format.data_types import parse_data_type

_NAN = math.nan
_LIST = pa.list_(pa.float64())
_ROW = pa.struct({"x": pa.float32(), "all": _LIST})
_MAP = pa.map_(pa.string(), pa.float64())
_IN_ROW = pa.struct({"flags": _MAP})
_MAPS = pa.list_(_MAP)
_VECTOR = pa.list_(pa.float32(), 2)
_IN_VECTOR = pa.struct({"v": _VECTOR})


@pytest.mark.parametrize(
    ("kind", "left", "right", "are_same"),
    [
        (pa.float64(), -0.0, 0.0, True),
        (_LIST, [-0.0, None], [0.0, None], True),
        (_LIST, [_NAN], [_NAN], True),
        (_LIST, [_NAN], [None], False),
        (_LIST, [0.0], [0.5], False),
        (_ROW, {"x": -0.0, "all": [-0.0]}, {"x": 0.0, "all": [0.0]}, True),
        (_ROW, {"x": 1.0, "all": None}, {"x": 1.0, "all": []}, False),
        (_MAP, [("a", -0.0), ("b", _NAN)], [("b", _NAN), ("a", 0.0)], True),
        (_MAP, [("a", 1.0)], [("a", 2.0)], False),
        (_VECTOR, [-0.0, _NAN], [0.0, _NAN], True),
        (_VECTOR, [0.0, 1.0], [0.0, 2.0], False),
        (_VECTOR, [0.0, 1.0], None, False),
        (_IN_VECTOR, {"v": [-0.0, 1.0]}, {"v": [0.0, 1.0]}, True),
        (_IN_VECTOR, {"v": None}, {"v": [0.0, 0.0]}, False),
        (_IN_ROW, {"flags": [("a", 1.0), ("b", 2.0)]}, {"flags": [("b", 2.0), ("a", 1.0)]}, True),
    ],
)
def test_zeros_nan_and_the_order_of_maps_make_no_difference(
    kind: pa.DataType, left: Any, right: Any, are_same: bool
) -> None:
    same = same_values(pa.array([left, None], kind), pa.array([right, None], kind))
    assert same.tolist() == [are_same, True]


def test_rows_without_a_key_are_one_bag_where_only_zeros_inside_of_them_differ() -> None:
    rows = pa.table({"x": pa.array([[-0.0], [0.0], [1.0]], _LIST)})
    first, second, other = counted_rows(rows, [parse_data_type(_ARRAY)]).to_pylist()
    assert first == second
    assert first != other


def test_vectors_without_a_key_are_one_bag_where_only_zeros_differ() -> None:
    rows = pa.table({"v": pa.array([[9.0, 9.0], [-0.0, 1.0], None, [0.0, 1.0]], _VECTOR)})
    kind = parse_data_type({"type": "VECTOR", "element": "FLOAT", "length": 2})
    first, null, second = counted_rows(rows.slice(1), [kind]).to_pylist()
    assert first == second
    assert first != null


@pytest.mark.parametrize(
    ("kind", "shape", "first", "second"),
    [
        ("MAP", _MAP, [("a", 1.0), ("b", _NAN)], [("b", _NAN), ("a", 1.0)]),
        ("ROW", _IN_ROW, {"flags": [("a", -0.0), ("b", 2.0)]}, {"flags": [("b", 2.0), ("a", 0.0)]}),
        ("MAPS", _MAPS, [[("b", 1.0), ("a", 2.0)], None], [[("a", 2.0), ("b", 1.0)], None]),
    ],
)
def test_rows_without_a_key_are_one_bag_where_only_the_order_of_maps_differs(
    kind: str, shape: pa.DataType, first: Any, second: Any
) -> None:
    one = {"type": "MAP", "key": "STRING NOT NULL", "value": "DOUBLE"}
    fields = [{"id": 0, "name": "flags", "type": one}]
    kinds: dict[str, Any] = {
        "MAP": one,
        "ROW": {"type": "ROW", "fields": fields},
        "MAPS": {"type": "ARRAY", "element": one},
    }
    values = pa.array([None, first, second, None], shape).slice(1)
    rows = pa.table({"x": values})
    left, right, nothing = counted_rows(rows, [parse_data_type(kinds[kind])]).to_pylist()
    assert left == right
    assert left != nothing


def test_maps_are_sorted_whatever_their_keys_are() -> None:
    by_row = pa.map_(pa.struct({"n": pa.int32()}), pa.string())
    found = sorted_maps(pa.array([[({"n": 2}, "x"), ({"n": 1}, "y")], []], by_row))
    assert found.to_pylist() == [[({"n": 1}, "y"), ({"n": 2}, "x")], []]
    deep = pa.map_(pa.int32(), pa.map_(pa.float64(), pa.int32()))
    found = sorted_maps(pa.array([None, [(2, None), (1, [(2.0, 1), (1.0, 3)])]], deep))
    assert found.to_pylist() == [None, [(1, [(1.0, 3), (2.0, 1)]), (2, None)]]


_ARRAY = {"type": "ARRAY", "element": "DOUBLE"}
