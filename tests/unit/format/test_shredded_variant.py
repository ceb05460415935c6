"""VARIANT is put together from the parts into which a file shreds it."""

import datetime as dt
import json
import struct
from collections.abc import Sequence
from decimal import Decimal, localcontext
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import VariantVal

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.data_types import AtomicType, TypeRoot
from branch_console.format.values.arrow_types import to_arrow
from branch_console.format.values.shredded_variant import (
    is_variant,
    parse_variants,
    plain_variants,
    variant_texts,
)

_VARIANT = to_arrow(AtomicType(root=TypeRoot.VARIANT))
_NO_NAMES = b"\x01\x00\x00"
_A_AND_B = b"\x01\x02\x00\x01\x02ab"
_NULL, _SEVEN = b"\x00", b"\x0c\x07"
_B_IS_SEVEN = b"\x02\x01\x01\x00\x02" + _SEVEN


def _group(typed: pa.DataType, *, metadata: bool = False) -> pa.DataType:
    fields = [("typed_value", typed), ("value", pa.binary())]
    return pa.struct([*fields, *([("metadata", pa.binary())] if metadata else [])])


def _shredded(typed: pa.DataType, rows: Sequence[Any]) -> pa.Array:
    return plain_variants(pa.array(rows, _group(typed, metadata=True)))


def _values(found: pa.Array) -> list[Any]:
    assert found.type == _VARIANT
    with localcontext(prec=38):  # Spark's own decoder counts in the digits of the context
        return [
            None if row is None else VariantVal(row["value"], row["metadata"]).toPython()
            for row in found.to_pylist()
        ]


def test_one_that_is_not_shredded_is_found_by_the_names_of_its_parts() -> None:
    kind = pa.struct([("metadata", pa.binary()), ("value", pa.large_binary())])
    rows = [{"metadata": _NO_NAMES, "value": _SEVEN}, None]
    whole = plain_variants(pa.array([None, *rows], kind)[1:])
    assert whole.to_pylist() == rows
    assert _values(whole) == [7, None]


_NOON = dt.datetime(2024, 5, 6, 12, 0, 0, 123456)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.bool_(), True),
        (pa.bool_(), False),
        *((pa.int8(), number) for number in (-128, 127)),
        *((pa.int64(), number) for number in (0, 128, -32769, 2**31, -(2**63), 2**63 - 1)),
        (pa.float32(), 0.5),
        (pa.float64(), 0.1),
        (pa.decimal128(9, 2), Decimal("-1234567.89")),
        (pa.decimal128(9, 9), Decimal("0.000000001")),
        (pa.decimal128(10, 10), Decimal("0.0000000001")),
        (pa.decimal128(38, 0), Decimal(10**38 - 1)),
        (pa.string(), "short"),
        (pa.string(), "ä" * 32),
        (pa.binary(), b"\x00\xff"),
        (pa.date32(), dt.date(9999, 12, 31)),
        (pa.timestamp("us"), _NOON),
        (pa.timestamp("us", "UTC"), _NOON.replace(tzinfo=dt.UTC)),
    ],
)
def test_a_value_of_each_type_is_itself(kind: pa.DataType, value: Any) -> None:
    rows = [
        {"metadata": _NO_NAMES, "typed_value": value},
        {"metadata": _NO_NAMES, "value": _SEVEN},
        {"metadata": _NO_NAMES},
        None,
    ]
    # By the rules of Parquet a value that must be there and is not is a null of VARIANT.
    assert _values(_shredded(kind, rows)) == [value, 7, None, None]
    assert [row is None for row in _shredded(kind, rows).to_pylist()] == [False] * 3 + [True]


def test_an_object_has_what_is_left_over_beside_its_columns() -> None:
    kind = pa.struct([("a", _group(pa.list_(_group(pa.int32()))))])
    items = [{"typed_value": 1}, {"value": _NULL}, None]
    rows = [
        {"metadata": _A_AND_B, "typed_value": {"a": {"typed_value": items}}, "value": _B_IS_SEVEN},
        {"metadata": _A_AND_B, "typed_value": {"a": {}}, "value": _B_IS_SEVEN},
        {"metadata": _A_AND_B, "typed_value": {"a": {}}},
        {"metadata": _A_AND_B, "typed_value": {"a": {"typed_value": []}}},
        {"metadata": _A_AND_B, "value": _B_IS_SEVEN},
    ]
    found = _shredded(kind, rows)
    whole = [{"a": [1, None, None], "b": 7}, {"b": 7}, {}, {"a": []}, {"b": 7}]
    assert _values(found) == whole
    assert found[4]["value"].as_py() == _B_IS_SEVEN


def test_a_name_that_the_metadata_lacks_is_added() -> None:
    kind = pa.struct([(name, _group(pa.int32())) for name in ("b", "new", "newer")])
    given = {name: {"typed_value": at} for at, name in enumerate(("b", "new", "newer"))}
    rows = [
        {"metadata": metadata, "typed_value": given, "value": None}
        for metadata in (_A_AND_B, _NO_NAMES)
    ]
    assert _values(_shredded(kind, rows)) == [{"b": 0, "new": 1, "newer": 2}] * 2


@pytest.mark.parametrize("count", [255, 256, 70_000])
def test_many_and_long_parts_have_room(count: int) -> None:
    rows = [{"metadata": _NO_NAMES, "typed_value": [{"typed_value": "x" * 70}] * count}]
    assert _values(_shredded(pa.list_(_group(pa.string())), rows)) == [["x" * 70] * count]
    if count < 1000:
        kind = pa.struct([(f"n{at}", _group(pa.int64())) for at in range(count)])
        fields = {f"n{at}": {"typed_value": at} for at in range(count)}
        rows = [{"metadata": _NO_NAMES, "typed_value": fields}]
        assert _values(_shredded(kind, rows)) == [{f"n{at}": at for at in range(count)}]


@pytest.mark.parametrize(
    ("metadata", "left_over"),
    [
        (b"", None),
        (b"\x02\x00\x00", None),
        (b"\x01\x05\x00", None),
        (b"\x01\x01\x00\x09a", None),
        (_A_AND_B, _SEVEN),
        (_A_AND_B, _B_IS_SEVEN[:-1]),
        (_A_AND_B, _B_IS_SEVEN[:3]),
        (_A_AND_B, b""),
        (_A_AND_B, b"\x02\x01\x09\x00\x02" + _SEVEN),
        (_A_AND_B, b"\x02\x01\x00\x00\x02" + _SEVEN),
        (_A_AND_B, b"\x02\x01\x01\x00\x02" + struct.pack("<BI", 64, 2**31)),
        (_A_AND_B, b"\x02\x01\x01\x00\x02" + b"\xfc\x00"),
        (None, None),
    ],
)
def test_bytes_that_are_none_are_told_as_that(
    metadata: bytes | None, left_over: bytes | None
) -> None:
    kind = pa.struct([("a", _group(pa.int32()))])
    given = {"a": {"typed_value": 1}}
    with pytest.raises(ValueError, match="VARIANT"):
        _shredded(kind, [{"metadata": metadata, "typed_value": given, "value": left_over}])


@pytest.mark.parametrize("kind", [pa.time64("us"), pa.timestamp("ns"), pa.uint32(), pa.binary(16)])
def test_a_part_of_a_type_that_is_not_known_is_a_limit_and_no_damage(kind: pa.DataType) -> None:
    with pytest.raises(InvalidInput, match=r"a part of type .*cannot be read here") as refused:
        _shredded(kind, [])
    assert refused.value.kind is ErrorKind.UNSUPPORTED


def test_parts_that_are_nested_without_end_are_refused() -> None:
    kind: pa.DataType = pa.int32()
    for _ in range(120):
        kind = pa.list_(_group(kind))
    with pytest.raises(InvalidInput, match="more than 100 levels deep"):
        _shredded(kind, [])


_DOCUMENTS = [
    "null", "true", "false", "0", "-1", "127", "128", "-32769", "2147483648", str(-(2**63)),
    "9223372036854775808", "1.5", "-0.25", "1e+300", "0.1", '""', '"a \\"b\\" é"',
    json.dumps("x" * 200), "[]", "{}", '[1,[2,{"a":null}],"b"]', '{"b":1,"a":{"b":2},"c":[]}',
    json.dumps(list(range(300)), separators=(",", ":")),
    json.dumps({f"name {n:03}": n for n in range(300)}, separators=(",", ":")),
]  # fmt: skip


@pytest.mark.parametrize("text", _DOCUMENTS, ids=[text[:20] for text in _DOCUMENTS])
def test_json_becomes_a_variant_that_spark_reads_and_becomes_json_again(text: str) -> None:
    found = parse_variants(pa.array([None, text]))
    assert is_variant(found.type)
    (nothing, row) = found.to_pylist()
    assert nothing is None
    read = VariantVal(row["value"], row["metadata"]).toPython()
    read = float(read) if isinstance(read, Decimal) else read
    assert read == json.loads(text)
    (nothing, shown) = variant_texts(found).to_pylist()
    assert nothing is None
    assert json.loads(shown) == json.loads(text)
    assert shown == text or "e" in text or text.startswith("{")


def test_values_that_json_lacks_are_texts() -> None:
    kinds = [
        (pa.date32(), 19848, '"2024-05-05"'),
        (pa.timestamp("us"), 1_714_996_800_123_456, '"2024-05-06 12:00:00.123456"'),
        (pa.timestamp("us", "UTC"), 0, '"1970-01-01 00:00:00.000000+00:00"'),
        (pa.binary(), b"\x01\xff", '"Af8="'),
        (pa.float32(), 0.1, "0.1"),
        (pa.float32(), 1e10, "1.0E10"),
        (pa.float64(), 1e16, "1.0E16"),
        (pa.float64(), 1e-5, "1.0E-5"),
        (pa.float64(), 123456.75, "123456.75"),
        (pa.float64(), float("-inf"), '"-Infinity"'),
        (pa.decimal128(38, 2), Decimal("-12.50"), "-12.5"),
        (pa.decimal128(38, 0), Decimal(10**37), str(10**37)),
        (pa.string(), "é", '"é"'),
    ]
    for kind, value, text in kinds:
        whole = pa.StructArray.from_arrays(
            [pa.array([_NO_NAMES]), pa.array([value], kind), pa.nulls(1, pa.binary())],
            names=["metadata", "typed_value", "value"],
        )
        assert variant_texts(plain_variants(whole)).to_pylist() == [text]


def test_a_variant_that_cannot_be_read_is_shown_as_its_bytes() -> None:
    broken = pa.array([{"value": b"\x02\x05", "metadata": _NO_NAMES}], _VARIANT)
    assert variant_texts(broken).to_pylist() == ["value 0x0205, metadata 0x010000"]


@pytest.mark.parametrize(
    "text", ["", "{", "NaN", "1e400", "[-1E999]", "'a'", "[" * 200 + "]" * 200, "[" * 9999]
)
def test_what_is_no_json_becomes_no_variant(text: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|nests|Expecting|delimiter"):
        parse_variants(pa.array([text]))
