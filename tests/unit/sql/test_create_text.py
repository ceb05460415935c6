"""A table as a statement: what the statement makes is the table again."""

import re
from dataclasses import replace

import pytest

from branch_console.commit.schema.schema_commit import new_schema
from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.data_types import ArrayType, DataField, RowType, parse_data_type
from branch_console.format.identifier import Identifier
from branch_console.format.options import Options
from branch_console.format.table_schema import TableSchema
from branch_console.sql.create_text import create_statement
from branch_console.sql.tables import parse_table_statement

TYPES = (
    "INT", "BIGINT NOT NULL", "BOOLEAN", "TINYINT", "SMALLINT", "FLOAT", "DOUBLE", "DATE",
    "VARIANT", "STRING", "VARCHAR(5)", "CHAR(3) NOT NULL", "BYTES", "BINARY(4)", "VARBINARY(9)",
    "TIME(3)",
    "DECIMAL(10, 2)", "TIMESTAMP(3)", "TIMESTAMP(9)", "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    {"type": "ARRAY", "element": "INT"},
    {
        "type": "MAP NOT NULL",
        "key": "STRING NOT NULL",
        "value": {"type": "ARRAY", "element": "BIGINT"},
    },
)  # fmt: skip
NAME = Identifier(database="my db", table="it's `t`")


def schema_of(*types: object, **more: object) -> TableSchema:
    columns = [(f"c {number}`", parse_data_type(text)) for number, text in enumerate(types)]
    return replace(new_schema(columns), **more)


def made_again(schema: TableSchema) -> TableSchema:
    made = parse_table_statement(create_statement(NAME, schema))
    assert made.target.identifier == NAME
    return replace(
        schema,
        fields=made.columns,
        primary_keys=made.primary_keys,
        partition_keys=made.partition_keys,
        options=Options(made.options),
        comment=made.comment,
    )


def test_what_the_statement_makes_is_the_table_again() -> None:
    schema = schema_of(
        *TYPES,
        primary_keys=("c 1`", "c 11`"),
        partition_keys=("c 11`",),
        options=Options({"bucket": "2", "it's": "a \\ 'b'\nc", "k.e-y": "true"}),
        comment="Who's \\ there?",
    )
    assert made_again(schema) == schema


def test_fields_of_rows_keep_their_names_rules_and_comments() -> None:
    inner = (
        DataField(id=1, name="a b", type=parse_data_type("INT NOT NULL"), description="it's"),
        DataField(id=2, name="c", type=ArrayType(element=parse_data_type("DECIMAL(4, 1)"))),
    )
    field = DataField(id=0, name="r", type=RowType(fields=inner), description="a row")
    schema = replace(schema_of("INT"), fields=(field,), highest_field_id=2)
    assert made_again(schema) == schema


@pytest.mark.parametrize(
    "kind",
    [
        "BLOB",
        {"type": "MULTISET", "element": "INT"},
        {"type": "ARRAY", "element": "INT NOT NULL"},
        {"type": "MAP", "key": "INT NOT NULL", "value": "INT NOT NULL"},
    ],
)
def test_a_type_that_cannot_be_said_is_refused_by_its_column(kind: object) -> None:
    with pytest.raises(InvalidInput, match=re.escape("Column 'c 1`' is")) as error:
        create_statement(NAME, schema_of("INT", kind))
    assert error.value.kind is ErrorKind.UNSUPPORTED
