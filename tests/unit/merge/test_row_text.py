import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from branch_console.errors import InvalidInput
from branch_console.format.data_types import AtomicType, TypeRoot
from branch_console.format.values.arrow_types import to_arrow
from branch_console.merge.row_text import cell_texts, conflict_ids, key_ids, parse_cells, row_texts

VALUES: list[tuple[pa.DataType, Any, str]] = [
    (pa.int64(), -5, "-5"),
    (pa.bool_(), True, "true"),
    (pa.float64(), 0.1, "0.1"),
    (pa.float64(), float("-inf"), "-inf"),
    (pa.decimal128(9, 2), Decimal("1.50"), "1.50"),
    (pa.string(), 'a "b"\n', 'a "b"\n'),
    (pa.binary(), b"\x00\xff", "00ff"),
    (pa.date32(), date(2026, 11, 21), "2026-11-21"),
    (pa.time32("ms"), time(15, 0, 1), "15:00:01.000"),
    (pa.timestamp("us"), datetime(2026, 11, 21, 15), "2026-11-21 15:00:00.000000"),
    (pa.timestamp("ms", "UTC"), datetime(2026, 11, 21, tzinfo=UTC), "2026-11-21 00:00:00.000Z"),
    (pa.list_(pa.int32()), [1, None], "[1, null]"),
    (pa.struct([("x", pa.string())]), {"x": "é"}, '{"x": "é"}'),
]
_PARTS: list[tuple[pa.DataType, Any]] = [
    (pa.decimal128(9, 2), Decimal("1.50")),
    (pa.binary(), b"\x01\xff"),
    (pa.date32(), date(2026, 11, 21)),
    (pa.time32("ms"), time(15, 0, 1)),
    (pa.timestamp("us"), datetime(2026, 11, 21, 15)),
    (pa.timestamp("ms", "UTC"), datetime(2026, 11, 21, tzinfo=UTC)),
    (pa.int64(), 2**62),
    (pa.bool_(), False),
    (pa.float64(), 0.1),
    (pa.string(), "NULL"),
]
_PLAIN = pa.struct([pa.field("x", pa.int32(), nullable=False), pa.field("y", pa.string())])


@pytest.mark.parametrize(("kind", "value", "text"), VALUES, ids=[str(each[0]) for each in VALUES])
def test_a_value_can_be_typed_as_it_is_shown(kind: pa.DataType, value: Any, text: str) -> None:
    values = pa.array([value, None], kind)
    assert cell_texts(values).to_pylist() == [text, None]
    assert parse_cells(pa.array([text, None]), kind, "x").equals(values)


@pytest.mark.parametrize(("kind", "value"), _PARTS, ids=[str(each[0]) for each in _PARTS])
def test_a_part_of_a_nested_value_can_be_typed_as_it_is_shown(
    kind: pa.DataType, value: Any
) -> None:
    row = pa.struct([("part", kind)])
    for nested, whole in (
        (row, {"part": value}),
        (pa.list_(kind), [value, None]),
        (pa.list_(kind, 1), [value]),
        (pa.map_(pa.string(), row), [("a", {"part": value}), ("b", None)]),
        (pa.map_(kind, pa.list_(kind)), [(value, [value])]),
    ):
        values = pa.array([whole, None, whole], nested)
        assert parse_cells(cell_texts(values), nested, "x").equals(values)


def test_a_row_with_a_required_part_can_be_null() -> None:
    values = pa.array([{"x": 1, "y": None}, None], _PLAIN)
    assert parse_cells(cell_texts(values), _PLAIN, "x").equals(values)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (_PLAIN, '{"x": 1, "z": 2}'),
        (_PLAIN, "[1]"),
        (_PLAIN, '{"x": 1, "y": 2}'),
        (_PLAIN, '{"y": "a"}'),
        (pa.list_(pa.int32()), '{"x": 1}'),
        (pa.list_(pa.int32()), '["a"]'),
        (pa.list_(pa.int32(), 2), "[1]"),
        (pa.list_(pa.bool_()), "[1]"),
        (pa.list_(pa.binary()), '["no hexadecimal digits"]'),
        (pa.map_(pa.string(), pa.int32()), "[[null, 1]]"),
        (pa.map_(pa.string(), pa.int32()), "[1]"),
    ],
)
def test_a_nested_text_of_another_type_is_refused(kind: pa.DataType, text: str) -> None:
    with pytest.raises(InvalidInput, match="is no value of column 'x'"):
        parse_cells(pa.array([text]), kind, "x")


@pytest.mark.parametrize("kind", [pa.int32(), pa.date32(), pa.binary(), pa.list_(pa.int32())])
def test_what_is_no_value_is_named(kind: pa.DataType) -> None:
    with pytest.raises(InvalidInput, match="'no value' is no value of column 'x'"):
        parse_cells(pa.array([None, "no value"]), kind, "x")


def test_a_row_is_json() -> None:
    columns = {f"column {n}": pa.array([value], kind) for n, (kind, value, _) in enumerate(VALUES)}
    texts = row_texts(pa.table(columns), pa.array([True])).to_pylist()
    found = list(json.loads(texts[0]).values())
    assert found[:3] == [-5, True, "0.1"]
    assert found[5:7] == ['a "b"\n', "00ff"]
    assert found[-2:] == [[1, None], {"x": "é"}]


def test_a_null_and_a_row_that_is_not_there_differ() -> None:
    rows = pa.table({"a": pa.array([1, 2]), "b": pa.array([None, None], pa.string())})
    assert row_texts(rows, pa.array([True, False])).to_pylist() == ['{"a": 1, "b": null}', None]


def test_ids_differ_by_key_and_column() -> None:
    keys = key_ids(pa.table({"a": ["x", "x", "xy"], "b": ["yz", "y", "z"]}))
    ids = [conflict_ids(keys, column) for column in (None, "a", "b")]
    assert len({each for array in ids for each in array.to_pylist()}) == 9


def test_a_variant_is_json_and_can_be_typed_as_it_is_shown() -> None:
    kind = to_arrow(AtomicType(root=TypeRoot.VARIANT))
    texts = pa.array(['{"a":[1,null]}', None, "null"])
    values = parse_cells(texts, kind, "x")
    assert cell_texts(values).equals(texts)
    row = pa.struct([pa.field("v", kind)])
    nested = pa.array([{"v": each} for each in values.to_pylist()], row)
    assert cell_texts(nested)[0].as_py() == json.dumps({"v": '{"a":[1,null]}'})
    assert parse_cells(cell_texts(nested), row, "x").equals(nested)
    with pytest.raises(InvalidInput, match="which is VARIANT: JSON"):
        parse_cells(pa.array(["{a}"]), kind, "x")


@pytest.mark.parametrize(
    "text", ['{"a":[1,null]}', "[true,1.50]", '{"a":"1"}', "0.10", "true", '{"é":{}}']
)
def test_a_part_that_is_a_variant_can_be_typed_as_json_or_as_it_is_shown(text: str) -> None:
    kind = to_arrow(AtomicType(root=TypeRoot.VARIANT))
    row = pa.struct([pa.field("v", kind), pa.field("n", pa.int64())])
    whole = parse_cells(pa.array([text]), kind, "x").to_pylist()[0]
    wanted = pa.array([{"v": whole, "n": 1}], row)
    typed = [f'{{"v": {text}, "n": 1}}', json.dumps({"v": text, "n": 1})]
    for each in typed:
        assert parse_cells(pa.array([each]), row, "x").equals(wanted)
    found = parse_cells(pa.array([f'["{{}}", {text}]']), pa.list_(kind), "x")
    assert found[0][1].as_py() == whole


def test_json_that_no_variant_holds_is_refused_within_a_row() -> None:
    row = pa.struct([pa.field("v", to_arrow(AtomicType(root=TypeRoot.VARIANT)))])
    for text in ('{"v": 1e400}', '{"v": {"a": NaN}}', '{"v": "{a}"}'):
        with pytest.raises(InvalidInput, match="is no value of column 'x'"):
            parse_cells(pa.array([text]), row, "x")


@pytest.mark.parametrize("depth", [400, 900, 100_000])
def test_json_that_nests_too_deep_is_refused_as_no_value(depth: int) -> None:
    deep = "[" * depth + "]" * depth
    variant = to_arrow(AtomicType(root=TypeRoot.VARIANT))
    for kind, text in (
        (pa.list_(pa.int32()), deep),
        (pa.list_(variant), f"[{deep}]"),
        (pa.struct([("x", pa.int32())]), f'{{"x": {deep}}}'),
    ):
        with pytest.raises(InvalidInput, match="no value of column 'x'"):
            parse_cells(pa.array([None, text]), kind, "x")
