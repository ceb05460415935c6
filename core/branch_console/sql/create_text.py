"""A table as the statement that makes one like it, in the words that `sql.tables` reads."""

from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.data_types import (
    ArrayType,
    AtomicType,
    DataField,
    DataType,
    MapType,
    RowType,
    TypeRoot,
    with_nullable,
)
from branch_console.format.identifier import Identifier
from branch_console.format.table_schema import TableSchema
from branch_console.sql.token_reader import quoted_name

# Spark's words, where they are not Paimon's.
_TIMES: Final = {
    TypeRoot.TIMESTAMP: "TIMESTAMP_NTZ",
    TypeRoot.TIMESTAMP_LTZ: "TIMESTAMP_LTZ",
}
_UNSPOKEN: Final = frozenset({TypeRoot.BLOB, TypeRoot.GEOMETRY, TypeRoot.GEOGRAPHY})


def create_statement(identifier: Identifier, schema: TableSchema) -> str:
    """Return the CREATE TABLE statement of a table; its branches and rows are not in it.

    Raises:
        InvalidInput: A column is of a type that Spark has no words for.
    """
    lines = [_column(each, schema) for each in schema.fields]
    if schema.primary_keys:
        lines.append(f"PRIMARY KEY ({_names(schema.primary_keys)}) NOT ENFORCED")
    name = f"{quoted_name(identifier.database)}.{quoted_name(identifier.table)}"
    parts = [f"CREATE TABLE {name} (\n  " + ",\n  ".join(lines) + "\n)"]
    if schema.partition_keys:
        parts.append(f"PARTITIONED BY ({_names(schema.partition_keys)})")
    if schema.comment:
        parts.append(f"COMMENT {_text(schema.comment)}")
    if schema.options:
        options = (
            f"{_text(key)} = {_text(value)}" for key, value in sorted(schema.options.items())
        )
        parts.append("TBLPROPERTIES (\n  " + ",\n  ".join(options) + "\n)")
    return "\n".join(parts)


def _column(field: DataField, schema: TableSchema) -> str:
    data_type = field.type
    if field.name in schema.primary_keys:
        data_type = with_nullable(data_type, True)  # the key says it
    try:
        return " ".join([quoted_name(field.name), _spoken(data_type), *_rules(field, data_type)])
    except _Unspoken as error:
        raise InvalidInput(
            f"Column {field.name!r} is {field.type}, which Spark has no words for.",
            kind=ErrorKind.UNSUPPORTED,
            column=field.name,
        ) from error


def _rules(field: DataField, data_type: DataType) -> Iterator[str]:
    if not data_type.nullable:
        yield "NOT NULL"
    if field.description:
        yield f"COMMENT {_text(field.description)}"


def _spoken(data_type: DataType) -> str:
    """A type in Spark's words, but for whether it may be null."""
    match data_type:
        case AtomicType(root=root) if root in _UNSPOKEN:
            raise _Unspoken
        case AtomicType(root=root, precision=precision) if root in _TIMES:
            return f"{_TIMES[root]}({precision})"
        case AtomicType():
            return str(with_nullable(data_type, True))
        case ArrayType(element=element) if element.nullable:
            return f"ARRAY<{_spoken(element)}>"
        case MapType(key=key, value=value) if value.nullable and not key.nullable:
            return f"MAP<{_spoken(key)}, {_spoken(value)}>"
        case RowType(fields=fields):
            parts = (
                " ".join([f"{quoted_name(f.name)}: {_spoken(f.type)}", *_rules(f, f.type)])
                for f in fields
            )
            return f"STRUCT<{', '.join(parts)}>"
        case _:
            raise _Unspoken


class _Unspoken(Exception):
    """Spark has no words for a type."""


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(map(quoted_name, names))


def _text(text: str) -> str:
    return exp.Literal.string(text).sql(dialect="spark")
