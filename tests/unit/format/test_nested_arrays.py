"""Parts that a type requires are there below a null, as Arrow asks."""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from branch_console.format.values.nested_arrays import with_required_parts

_INNER = pa.struct(
    [
        pa.field("i", pa.int32(), False),
        pa.field("b", pa.binary(), False),
        pa.field("d", pa.decimal256(39, 9), False),
        pa.field("o", pa.bool_()),
        pa.field("l", pa.list_(pa.string()), False),
        pa.field("m", pa.map_(pa.string(), pa.int8()), False),
        pa.field("f", pa.list_(pa.float32(), 2), False),
    ]
)
_FULL = {
    "i": 1, "b": b"x", "d": None, "o": None, "l": ["a", None], "m": [("k", 1)], "f": [1.0, 2.0]
}  # fmt: skip
_ROW = pa.struct([pa.field("r", _INNER, False), pa.field("n", _INNER)])


def _without_required(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(each.name, _without_required(each.type)) for each in kind])
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, _without_required(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(_without_required(kind.value_type))
    return kind


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (_INNER, [None, _FULL, None]),
        (_ROW, [None, {"r": _FULL, "n": None}, {"r": _FULL, "n": _FULL}]),
        (pa.list_(_ROW), [None, [None, {"r": _FULL, "n": None}], []]),
        (pa.map_(pa.string(), _ROW), [[("a", None), ("b", {"r": _FULL, "n": None})], None]),
        (pa.struct([pa.field("p", pa.list_(_INNER), False)]), [None, {"p": [None, _FULL]}]),
    ],
    ids=["row", "row of rows", "list", "map", "list in a row"],
)
def test_arrow_writes_what_is_null_above_them(kind: pa.DataType, values: list[Any]) -> None:
    """As Spark gives such rows: each part of a null is null."""
    full = {**_FULL, "d": pa.scalar(1).cast(pa.decimal256(39, 9)).as_py()}
    values = _replaced(values, full)
    loose = pa.array([*values, *values], _without_required(kind))[1 : 2 * len(values)]
    given = with_required_parts(loose, kind)
    assert given.type == loose.type
    assert given.to_pylist() == loose.to_pylist()
    wanted = given.cast(kind)
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"c": with_required_parts(wanted, kind)}), sink, store_schema=False)
    found = pq.read_table(pa.BufferReader(sink.getvalue()))["c"]
    assert found.to_pylist() == loose.to_pylist()


def _replaced(value: Any, full: Any) -> Any:
    if value is _FULL:
        return full
    if isinstance(value, dict):
        return {name: _replaced(part, full) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_replaced(part, full) for part in value)
    return value


def test_a_null_that_is_none_of_a_row_that_is_null_stays() -> None:
    kind = pa.struct([pa.field("i", pa.int32(), False)])
    loose = pa.array([{"i": None}, None, {"i": 1}], _without_required(kind))
    assert with_required_parts(loose, kind).equals(loose)
    with pytest.raises(pa.ArrowInvalid, match="nulls"):
        with_required_parts(loose, kind).cast(kind)
