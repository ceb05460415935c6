from typing import Any

import pyarrow as pa
import pytest

from branch_console.errors import FormatError
from branch_console.format.data_types import (
    DataField,
    TypeRoot,
    data_type_to_json,
    parse_data_type,
    with_nullable,
)
from branch_console.format.values.arrow_types import arrow_schema, no_rows, to_arrow
from branch_console.format.values.fine_times import FINE_LOCAL_TIME, FINE_TIME

# Paimon's text, and the Arrow type that carries the values.
ATOMIC: list[tuple[str, pa.DataType]] = [
    ("CHAR(3)", pa.string()),
    ("VARCHAR(20)", pa.string()),
    ("STRING", pa.string()),
    ("BOOLEAN", pa.bool_()),
    ("BINARY(4)", pa.binary()),
    ("VARBINARY(4)", pa.binary()),
    ("BYTES", pa.binary()),
    ("DECIMAL(10, 2)", pa.decimal128(10, 2)),
    ("DECIMAL(38, 38)", pa.decimal128(38, 38)),
    ("TINYINT", pa.int8()),
    ("SMALLINT", pa.int16()),
    ("INT", pa.int32()),
    ("BIGINT", pa.int64()),
    ("FLOAT", pa.float32()),
    ("DOUBLE", pa.float64()),
    ("DATE", pa.date32()),
    ("TIME(3)", pa.time32("ms")),
    ("TIMESTAMP(3)", pa.timestamp("ms")),
    ("TIMESTAMP(6)", pa.timestamp("us")),
    ("TIMESTAMP(9)", FINE_TIME),
    ("TIMESTAMP(7) WITH LOCAL TIME ZONE", FINE_LOCAL_TIME),
    ("TIMESTAMP(3) WITH LOCAL TIME ZONE", pa.timestamp("ms", "UTC")),
    ("TIMESTAMP(6) WITH LOCAL TIME ZONE", pa.timestamp("us", "UTC")),
    ("BLOB", pa.large_binary()),
    ("GEOMETRY(OGC:CRS84)", pa.binary()),
]


@pytest.mark.parametrize(("text", "arrow_type"), ATOMIC, ids=[text for text, _ in ATOMIC])
def test_atomic_types_are_read_and_written(text: str, arrow_type: pa.DataType) -> None:
    for written in (text, f"{text} NOT NULL"):
        data_type = parse_data_type(written)
        assert data_type_to_json(data_type) == written
        assert str(data_type) == written
        assert data_type.nullable is (written == text)
        assert to_arrow(data_type) == arrow_type


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("INTEGER", "INT"),
        ("NUMERIC(5,1)", "DECIMAL(5, 1)"),
        ("DEC(5)", "DECIMAL(5, 0)"),
        ("DECIMAL", "DECIMAL(10, 0)"),
        ("DOUBLE PRECISION", "DOUBLE"),
        ("TIMESTAMP", "TIMESTAMP(6)"),
        ("TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMP(6)"),
        ("TIMESTAMP(3)  WITH  LOCAL TIME ZONE", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
        ("TIMESTAMP_LTZ(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
        ("TIME", "TIME(0)"),
        ("CHAR", "CHAR(1)"),
        ("VARCHAR", "VARCHAR(1)"),
        ("VARCHAR(2147483647)", "STRING"),
        ("VARBINARY(2147483647)", "BYTES"),
        (" int  not null ", "INT NOT NULL"),
        ("INT NULL", "INT"),
    ],
)
def test_other_spellings_mean_the_same(text: str, meaning: str) -> None:
    assert parse_data_type(text) == parse_data_type(meaning)


_ROW = {
    "type": "ROW NOT NULL",
    "fields": [
        {"id": 4, "name": "x", "type": "INT NOT NULL", "description": "left", "defaultValue": "0"},
        {"id": 5, "name": "y", "type": {"type": "ARRAY", "element": "STRING"}},
    ],
}
NESTED: list[tuple[Any, str]] = [
    ({"type": "ARRAY", "element": "INT NOT NULL"}, "ARRAY<INT NOT NULL>"),
    ({"type": "MULTISET NOT NULL", "element": "INT"}, "MULTISET<INT> NOT NULL"),
    ({"type": "MAP", "key": "INT", "value": "DATE"}, "MAP<INT, DATE>"),
    ({"type": "VECTOR", "element": "FLOAT", "length": 3}, "VECTOR<FLOAT, 3>"),
    (_ROW, "ROW<`x` INT NOT NULL, `y` ARRAY<STRING>> NOT NULL"),
]


@pytest.mark.parametrize(("json", "text"), NESTED, ids=[text for _, text in NESTED])
def test_types_with_parts_are_read_and_written(json: Any, text: str) -> None:
    data_type = parse_data_type(json)
    assert data_type_to_json(data_type) == json
    assert str(data_type) == text
    assert with_nullable(data_type, data_type.nullable) == data_type


@pytest.mark.parametrize(
    "json",
    [
        *("", "WHATEVER", "INT NOT", "INT)", "DECIMAL(a)", "DECIMAL(39, 0)", "DECIMAL(3, 4)"),
        *("DECIMAL(0, 0)", "DECIMAL(1, 2, 3)", "TIMESTAMP(10)", "CHAR(-1)", "VARCHAR(2147483648)"),
        *("TIMESTAMP(3) WITH TIME ZONE", None, 3, [], {}, {"type": "ARRAY"}, {"type": "INT"}),
        *({"type": "MAP", "key": "INT"}, {"type": "VECTOR", "element": "INT"}),
        *({"type": "ROW"}, {"type": "ROW", "fields": [1]}, {"type": "ROW", "fields": [{"id": 1}]}),
    ],
    ids=str,
)
def test_what_is_no_type_is_a_format_error(json: object) -> None:
    with pytest.raises(FormatError):
        parse_data_type(json)


def test_arrow_fields_carry_paimons_field_ids_and_nullability() -> None:
    fields = (
        DataField(id=3, name="a", type=parse_data_type("INT NOT NULL")),
        DataField(id=7, name="b", type=parse_data_type(_ROW)),
    )
    schema = arrow_schema(fields)
    assert schema.names == ["a", "b"]
    assert [field.nullable for field in schema] == [False, False]
    assert schema.field("b").metadata == {b"PARQUET:field_id": b"7"}
    assert schema.field("b").type.field("x").metadata == {b"PARQUET:field_id": b"4"}


def test_every_kind_of_atomic_type_is_carried_by_arrow() -> None:
    names = {*TypeRoot} - {TypeRoot.TIMESTAMP_LTZ}
    for name in names:
        assert isinstance(to_arrow(parse_data_type(str(name))), pa.DataType)


def test_a_table_without_rows_has_its_layout() -> None:
    nested = pa.struct([pa.field("x", pa.string(), nullable=False)])
    layout = pa.schema(
        [
            pa.field("a", pa.int64(), nullable=False),
            pa.field("b", nested, nullable=False),
            pa.field("c", pa.list_(pa.field("element", pa.decimal256(39, 9), nullable=False))),
        ]
    )
    table = no_rows(layout)
    table.validate(full=True)
    assert table.schema.equals(layout, check_metadata=True)
    assert table.equals(layout.empty_table())
