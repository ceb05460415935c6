import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from branch_console.errors import FormatError, InvalidInput
from branch_console.format.data_types import DataField, DataType, RowType, parse_data_type
from branch_console.format.values.arrow_types import to_arrow
from branch_console.format.values.binary_row import EMPTY_ROW, decode_row, encode_row
from branch_console.format.values.binary_rows import decode_rows, encode_rows
from branch_console.format.values.bucket import hash_rows
from branch_console.format.values.fine_times import fine_times
from tests.support.row_hashes import hash_row

_EPOCH = dt.datetime(1970, 1, 1)
_MOMENT = dt.datetime(2023, 11, 14, 22, 13, 20, 123456)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """A row that real Paimon encoded and hashed."""

    name: str
    types: tuple[str, ...]
    values: tuple[Any, ...]
    bytes: str
    hash: int | None = None


VECTORS = [
    Vector(
        name="int",
        types=("INT",),
        values=(1,),
        bytes="0000000100000000000000000100000000000000",
        hash=1465514398,
    ),
    Vector(
        name="bigint",
        types=("BIGINT",),
        values=(1,),
        bytes="0000000100000000000000000100000000000000",
        hash=1465514398,
    ),
    Vector(
        name="int null",
        types=("INT",),
        values=(None,),
        bytes="0000000100010000000000000000000000000000",
        hash=-1748325344,
    ),
    Vector(
        name="short string",
        types=("STRING",),
        values=("abc",),
        bytes="0000000100000000000000006162630000000083",
        hash=-101922419,
    ),
    Vector(
        name="long string",
        types=("STRING",),
        values=("20240101",),
        bytes="00000001000000000000000008000000100000003230323430313031",
        hash=-887995373,
    ),
    Vector(
        name="empty string",
        types=("STRING",),
        values=("",),
        bytes="0000000100000000000000000000000000000080",
        hash=302122119,
    ),
    Vector(
        name="string and int",
        types=("STRING", "INT"),
        values=("2024-01-01", -3),
        bytes="0000000200000000000000000a00000018000000fdffffff00000000"
        "323032342d30312d3031000000000000",
        hash=-320233102,
    ),
    Vector(
        name="compact decimal",
        types=("DECIMAL(10, 2)",),
        values=(Decimal("12.34"),),
        bytes="000000010000000000000000d204000000000000",
        hash=-1096042293,
    ),
    Vector(
        name="big decimal",
        types=("DECIMAL(30, 5)",),
        values=(Decimal("-1.50000"),),
        bytes="0000000100000000000000000300000010000000fdb61000000000000000000000000000",
        hash=-117578678,
    ),
    Vector(
        name="big decimal null",
        types=("DECIMAL(30, 5)",),
        values=(None,),
        bytes="000000010001000000000000000000001000000000000000000000000000000000000000",
        hash=-1380280760,
    ),
    Vector(
        name="timestamp of milliseconds",
        types=("TIMESTAMP(3)",),
        values=(_MOMENT.replace(microsecond=123000),),
        bytes="0000000100000000000000007b68e5cf8b010000",
        hash=-1285420957,
    ),
    Vector(
        name="timestamp of microseconds",
        types=("TIMESTAMP(6)",),
        values=(_MOMENT,),
        bytes="00000001000000000000000040f50600100000007b68e5cf8b010000",
        hash=1196670069,
    ),
    Vector(
        name="timestamp null",
        types=("TIMESTAMP(6)",),
        values=(None,),
        bytes="00000001000100000000000000000000100000000000000000000000",
    ),
    Vector(
        name="boolean, date and double",
        types=("BOOLEAN", "DATE", "DOUBLE"),
        values=(True, dt.date(2022, 1, 8), 2.5),
        bytes="0000000300000000000000000100000000000000384a0000000000000000000000000440",
        hash=812265093,
    ),
]


@pytest.mark.parametrize("vector", VECTORS, ids=attrgetter("name"))
def test_rows_have_the_bytes_and_hashes_of_paimon(vector: Vector) -> None:
    types, data = _types(vector.types), bytes.fromhex(vector.bytes)
    assert encode_row(vector.values, types) == data
    assert decode_row(data, types) == vector.values
    if vector.hash is not None:
        assert hash_row(vector.values, types) == vector.hash


@pytest.mark.parametrize("vector", VECTORS, ids=attrgetter("name"))
def test_columns_have_the_bytes_and_hashes_of_paimon(vector: Vector) -> None:
    types, data = _types(vector.types), bytes.fromhex(vector.bytes)
    table = _table([vector.values] * 3, types)
    assert encode_rows(table, types).to_pylist() == [data] * 3
    if vector.hash is not None:
        assert hash_rows(table, types).tolist() == [vector.hash] * 3
    structs = decode_rows(pa.array([data, None], pa.binary()), _row_type(types))
    assert [tuple(row.values()) if row else row for row in structs.to_pylist()] == [
        vector.values,
        None,
    ]


def test_the_empty_row_is_that_of_unpartitioned_tables() -> None:
    assert EMPTY_ROW.hex() == "000000000000000000000000"
    assert decode_row(EMPTY_ROW, ()) == ()
    assert hash_row((), ()) == -1670924195
    assert decode_rows(pa.array([EMPTY_ROW, None]), RowType(fields=())).to_pylist() == [{}, None]
    assert len(encode_rows(pa.table({"a": pa.array([], pa.int32())}), _types(["INT"]))) == 0


NESTED: list[tuple[object, Any]] = [
    ({"type": "ARRAY", "element": "INT"}, [1, None, 3]),
    ({"type": "ARRAY", "element": "STRING"}, ["a", "longer than a slot", None]),
    ({"type": "ARRAY", "element": "BOOLEAN"}, [True] * 40),
    ({"type": "ARRAY", "element": "DECIMAL(30, 5)"}, [Decimal("1.50000"), None]),
    ({"type": "MAP", "key": "STRING", "value": "BIGINT"}, [("x", 1), ("y", None)]),
    ({"type": "MULTISET", "element": "STRING"}, [("x", 2)]),
    ({"type": "VECTOR", "element": "FLOAT", "length": 3}, [1.0, 2.0, 3.0]),
    ("VARIANT", {"value": b"\x0c\x01", "metadata": b"\x01\x00\x00"}),
    (
        {
            "type": "ROW",
            "fields": [
                {"id": 1, "name": "x", "type": "INT"},
                {"id": 2, "name": "y", "type": {"type": "ARRAY", "element": "DATE"}},
            ],
        },
        {"x": 7, "y": [dt.date(2024, 2, 29)]},
    ),
]


@pytest.mark.parametrize(("written", "value"), NESTED, ids=lambda case: str(case)[:40])
def test_nested_values_come_back_one_by_one_and_by_columns(written: object, value: Any) -> None:
    types = (parse_data_type(written), *_types(["INT"]))
    rows = [(value, 1), (None, 2)]
    encoded = [encode_row(row, types) for row in rows]
    assert [decode_row(data, types) for data in encoded] == rows
    assert encode_rows(_table(rows, types), types).to_pylist() == encoded
    structs = decode_rows(pa.array(encoded), _row_type(types)).to_pylist()
    assert [tuple(row.values()) for row in structs] == rows


def test_nanoseconds_are_kept_by_columns_and_one_by_one() -> None:
    types = _types(["TIMESTAMP(9)"])
    value = np.datetime64("2024-02-29T12:34:56.789123456", "ns")
    data = encode_row((value,), types)
    assert decode_row(data, types) == (value,)
    column = decode_rows(pa.array([data]), _row_type(types)).field(0)
    assert column.cast(pa.string()).to_pylist() == ["1709210096.789123456"]
    assert encode_rows(pa.table([column], names=["a"]), types).to_pylist() == [data]


def test_times_with_local_zone_are_moments_in_utc() -> None:
    types = _types(["TIMESTAMP(6) WITH LOCAL TIME ZONE"])
    berlin = dt.timezone(dt.timedelta(hours=1))
    data = encode_row((dt.datetime(2024, 1, 1, 1, tzinfo=berlin),), types)
    assert decode_row(data, types) == (dt.datetime(2024, 1, 1, tzinfo=dt.UTC),)
    structs = decode_rows(pa.array([data]), _row_type(types))
    assert structs.field(0).type == pa.timestamp("us", tz="UTC")
    assert structs[0].as_py() == {"0": dt.datetime(2024, 1, 1, tzinfo=dt.UTC)}


def test_moments_before_1970_round_down_to_the_millisecond() -> None:
    types = _types(["TIMESTAMP(6)"])
    value = _EPOCH - dt.timedelta(microseconds=1)
    data = encode_row((value,), types)
    assert data[12:16] == (999_000).to_bytes(4, "little")
    assert decode_row(data, types) == (value,)
    assert encode_rows(_table([(value,)], types), types).to_pylist() == [data]


def test_columns_in_chunks_slices_and_wider_types_are_encoded_alike() -> None:
    types = _types(["STRING", "INT"])
    rows = [(f"customer {i}" if i % 3 else None, i) for i in range(10)]
    expected = [encode_row(row, types) for row in rows]
    table = pa.table(
        {
            "a": pa.chunked_array([[r[0] for r in rows[:4]], [r[0] for r in rows[4:]]]).cast(
                pa.large_string()
            ),
            "b": pa.array([r[1] for r in rows], pa.int64()),
        }
    )
    assert encode_rows(table, types).to_pylist() == expected
    assert encode_rows(table.slice(3, 4), types).to_pylist() == expected[3:7]
    structs = decode_rows(pa.array(expected).slice(2, 5), _row_type(types))
    assert [tuple(row.values()) for row in structs.to_pylist()] == rows[2:7]


def test_long_values_among_short_ones_are_copied_whole() -> None:
    types = _types(["BYTES"])
    values = [b"x" * size for size in (0, 7, 8, 512, 513, 5000)]
    encoded = encode_rows(pa.table({"a": values}), types)
    assert encoded.to_pylist() == [encode_row((value,), types) for value in values]
    assert decode_rows(encoded, _row_type(types)).field(0).to_pylist() == values


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("TINYINT", 300),
        ("INT", "one"),
        ("DECIMAL(4, 2)", Decimal("123.45")),
        ("DECIMAL(4, 2)", Decimal("1.234")),
        ("STRING", 1),
        ("BYTES", 3),
        ("DATE", 1),
        ("TIMESTAMP(9)", "noon"),
        ({"type": "ROW", "fields": [{"id": 1, "name": "x", "type": "INT"}]}, {"y": 1}),
        ({"type": "VECTOR", "element": "INT", "length": 2}, [1]),
    ],
    ids=str,
)
def test_a_value_that_does_not_fit_its_type_is_refused(written: object, value: Any) -> None:
    with pytest.raises(InvalidInput, match="does not fit its type"):
        encode_row((value,), (parse_data_type(written),))


def test_a_row_and_its_types_have_the_same_length() -> None:
    with pytest.raises(InvalidInput, match="2 fields cannot hold 1 values"):
        encode_row((1,), _types(["INT", "INT"]))
    with pytest.raises(InvalidInput, match="2 types cannot encode 1 columns"):
        encode_rows(pa.table({"a": [1]}), _types(["INT", "INT"]))


def test_a_column_of_another_type_is_refused() -> None:
    with pytest.raises(InvalidInput, match="is no INT"):
        encode_rows(pa.table({"a": ["one"]}), _types(["INT"]))


BROKEN = [
    ("no field count", ("INT",), ""),
    ("another number of fields", ("INT",), "0000000200000000000000000100000000000000"),
    ("a cut fixed part", ("INT",), "00000001000000000000000001"),
    ("a string outside of the row", ("STRING",), "00000001000000000000000009000000ff000000"),
    ("too long for a slot", ("STRING",), "00000001000000000000000061626300000000ff"),
    ("text that is not UTF-8", ("STRING",), "000000010000000000000000ff00000000000081"),
    ("a time after midnight", ("TIME(0)",), "000000010000000000000000ffffff7f00000000"),
    (
        "a decimal with too many digits",
        ("DECIMAL(2, 0)",),
        "000000010000000000000000d204000000000000",
    ),
    (
        "nanoseconds above a millisecond",
        ("TIMESTAMP(6)",),
        "000000010000000000000000ffffff00100000007b68e5cf8b010000",
    ),
]


@pytest.mark.parametrize(
    ("types", "data"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN]
)
def test_bytes_that_are_no_row_are_a_format_error(types: tuple[str, ...], data: str) -> None:
    raw = bytes.fromhex(data)
    with pytest.raises(FormatError):
        decode_row(raw, _types(types))
    with pytest.raises(FormatError):
        decode_rows(pa.array([raw]), _row_type(_types(types)))


def _types(names: Sequence[str]) -> tuple[DataType, ...]:
    return tuple(parse_data_type(name) for name in names)


def _row_type(types: tuple[DataType, ...]) -> RowType:
    return RowType(fields=tuple(DataField(id=i, name=str(i), type=t) for i, t in enumerate(types)))


def _table(rows: Sequence[Sequence[Any]], types: tuple[DataType, ...]) -> pa.Table:
    columns = [
        pa.array([row[i] for row in rows], to_arrow(data_type)) for i, data_type in enumerate(types)
    ]
    return pa.table(columns, names=[str(i) for i in range(len(types))])


@pytest.mark.parametrize(
    ("written", "far"),
    [
        ("DATE", pa.array([4_000_000], pa.int32()).view(pa.date32())),
        ("TIMESTAMP(3)", pa.array([2**50]).view(pa.timestamp("ms"))),
        ("TIMESTAMP(9)", fine_times(np.array([2**50]), np.array([1]), None)),
    ],
)
def test_a_key_of_a_far_year_is_refused_as_a_limit_of_ours(written: str, far: pa.Array) -> None:
    types = _types([written])
    (data,) = encode_rows(pa.table([far], names=["a"]), types).to_pylist()
    with pytest.raises(InvalidInput, match="which is not read here yet"):
        decode_row(data, types)
    assert decode_rows(pa.array([data]), _row_type(types)).field(0).equals(far)
