import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from branch_console.errors import InvalidInput
from branch_console.format.data_types import DataField, parse_data_type
from branch_console.format.options import Options
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.arrow_types import to_arrow
from branch_console.format.values.bucket import assign_buckets, hash_rows

# The golden rows of the format: their buckets of four and of five.
DEFAULT_BUCKETS: list[tuple[tuple[str, ...], tuple[Any, ...], int, int]] = [
    (("INT",), (1,), 2, 3),
    (("BIGINT",), (1,), 2, 3),
    (("INT",), (None,), 0, 4),
    (("STRING",), ("abc",), 3, 4),
    (("STRING",), ("20240101",), 1, 3),
    (("STRING",), ("",), 3, 4),
    (("STRING", "INT"), ("2024-01-01", -3), 2, 2),
    (("DECIMAL(10, 2)",), (Decimal("12.34"),), 1, 3),
    (("DECIMAL(30, 5)",), (Decimal("-1.5"),), 2, 3),
    (("TIMESTAMP(3)",), (dt.datetime(2023, 11, 14, 22, 13, 20, 123000),), 1, 2),
    (("TIMESTAMP(6)",), (dt.datetime(2023, 11, 14, 22, 13, 20, 123456),), 1, 4),
]


@pytest.mark.parametrize(("types", "row", "of_four", "of_five"), DEFAULT_BUCKETS, ids=str)
def test_the_default_function_takes_javas_remainder_without_its_sign(
    types: tuple[str, ...], row: tuple[Any, ...], of_four: int, of_five: int
) -> None:
    assert _buckets(types, [row], 4) == [of_four]
    assert _buckets(types, [row], 5) == [of_five]


@pytest.mark.parametrize("data_type", ["INT", "BIGINT"])
def test_mod_is_never_negative(data_type: str) -> None:
    rows = [(17,), (-3,), (5,), (None,)]
    assert _buckets((data_type,), rows, 5, function="mod") == [2, 2, 0, 0]


def test_mod_takes_one_whole_number() -> None:
    with pytest.raises(InvalidInput, match="takes one INT or BIGINT"):
        _buckets(("STRING",), [("a",)], 5, function="mod")
    with pytest.raises(InvalidInput, match="takes one INT or BIGINT"):
        _buckets(("INT", "INT"), [(1, 2)], 5, function="mod")


# Hashes follow Java: Integer, Long, String bytes by 31, float bits, BigDecimal.hashCode.
HIVE_HASHES: list[tuple[str, Any, int]] = [
    ("BOOLEAN", True, 1),
    ("TINYINT", -1, -1),
    ("INT", 42, 42),
    ("BIGINT", -1, 0),
    ("BIGINT", 2**32 + 5, 4),
    ("FLOAT", 1.5, 0x3FC00000),
    ("FLOAT", -0.0, 0),
    ("FLOAT", float("nan"), 0x7FC00000),
    ("DOUBLE", 1.0, 0x3FF00000),
    ("DOUBLE", float("nan"), 0x7FF80000),
    ("STRING", "abc", 96354),
    ("STRING", "é", -61 * 31 - 87),
    ("BYTES", b"\xff", -1),
    ("DECIMAL(10, 2)", Decimal("12.30"), 31 * 123 + 1),
    ("DECIMAL(10, 2)", Decimal("-12.30"), 31 * -123 + 1),
    ("DECIMAL(10, 2)", Decimal("100.00"), 31 * 100),
    ("DECIMAL(10, 2)", Decimal("0.00"), 0),
    ("DATE", dt.date(1970, 1, 3), 2),
    ("TIME(0)", dt.time(0, 0, 1), 1000),
    ("INT", None, 0),
]


@pytest.mark.parametrize(("data_type", "value", "hashed"), HIVE_HASHES, ids=str)
def test_hive_hashes_as_hive_does(data_type: str, value: Any, hashed: int) -> None:
    count = 1_000_003
    assert _buckets((data_type,), [(value,)], count, function="hive") == [
        (hashed & 0x7FFFFFFF) % count
    ]


def test_hive_combines_columns_by_31() -> None:
    buckets = _buckets(("INT", "INT"), [(1, 2), (None, 3)], 1000, function="hive")
    assert buckets == [33, 3]


def test_hive_refuses_types_without_a_hash() -> None:
    with pytest.raises(InvalidInput, match="does not take a key of type TIMESTAMP"):
        _buckets(("TIMESTAMP(3)",), [(dt.datetime(2024, 1, 1),)], 5, function="hive")


def test_an_unknown_function_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(InvalidInput, match="it can be default, mod or hive"):
        _buckets(("INT",), [(1,)], 5, function="murmur")


def test_tables_without_a_fixed_number_of_buckets_assign_none() -> None:
    with pytest.raises(InvalidInput, match="no fixed number of buckets"):
        _buckets(("INT",), [(1,)], -1)


def test_rows_of_many_lengths_keep_their_order() -> None:
    types = (parse_data_type("STRING"),)
    texts = ["x" * (i * 37 % 101) for i in range(500)]
    one_by_one = [int(hash_rows(pa.table({"a": [text]}), types)[0]) for text in texts]
    assert hash_rows(pa.table({"a": texts}), types).tolist() == one_by_one
    assert hash_rows(pa.table({"a": pa.array([], pa.string())}), types).tolist() == []


def _buckets(
    types: tuple[str, ...], rows: list[tuple[Any, ...]], count: int, *, function: str = "default"
) -> list[int]:
    names = [f"k{i}" for i in range(len(types))]
    parsed = [parse_data_type(written) for written in types]
    schema = TableSchema(
        id=0,
        fields=tuple(
            DataField(id=i, name=name, type=data_type)
            for i, (name, data_type) in enumerate(zip(names, parsed, strict=True))
        ),
        highest_field_id=len(types),
        partition_keys=(),
        primary_keys=(),
        options=Options(
            {
                "bucket": str(count),
                "bucket-key": ",".join(names),
                "bucket-function.type": function,
            }
        ),
    )
    columns = [
        pa.array([row[i] for row in rows], to_arrow(data_type))
        for i, data_type in enumerate(parsed)
    ]
    buckets: list[int] = assign_buckets(pa.table(columns, names=names), schema).to_pylist()
    return buckets
