"""Types of columns as Spark writes them, as types of Paimon.

Source: Paimon SparkTypeUtils, ReassignFieldId.
"""

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp
from sqlglot.errors import ParseError

from branch_console.errors import ErrorKind, FormatError, InvalidInput
from branch_console.format.bounds import MOST_TYPE_NESTING
from branch_console.format.data_types import (
    ArrayType,
    DataField,
    DataType,
    MapType,
    RowType,
    parse_data_type,
    with_nullable,
)

_TYPES: Final[Mapping[exp.DType, str]] = {
    exp.DType.BOOLEAN: "BOOLEAN",
    exp.DType.TINYINT: "TINYINT",
    exp.DType.SMALLINT: "SMALLINT",
    exp.DType.INT: "INT",
    exp.DType.BIGINT: "BIGINT",
    exp.DType.FLOAT: "FLOAT",
    exp.DType.DOUBLE: "DOUBLE",
    exp.DType.DECIMAL: "DECIMAL",
    exp.DType.TEXT: "STRING",
    exp.DType.VARCHAR: "VARCHAR",
    exp.DType.CHAR: "CHAR",
    exp.DType.BINARY: "BINARY",
    exp.DType.VARBINARY: "VARBINARY",
    exp.DType.DATE: "DATE",
    exp.DType.TIME: "TIME",
    exp.DType.TIMESTAMPNTZ: "TIMESTAMP",
    exp.DType.TIMESTAMPLTZ: "TIMESTAMP_LTZ",
    exp.DType.VARIANT: "VARIANT",
}
_NEED_LENGTH: Final = frozenset({"VARCHAR", "CHAR", "VARBINARY"})


def parse_type(text: str, next_id: Callable[[], int]) -> DataType:
    """Read a type.

    Args:
        text: As it stands in a statement.
        next_id: Gives the ids of fields inside of rows, in their order.

    Raises:
        InvalidInput: It is no type that a table has.
    """
    if text.strip().upper() == "BYTES":
        return parse_data_type("BYTES")
    try:
        found = exp.DataType.build(text, dialect="spark")
    except ParseError as error:
        raise _unknown(text) from error
    except RecursionError as error:
        raise _too_deep() from error
    return _type_of(found, text, next_id)


def _type_of(found: exp.Expr, text: str, next_id: Callable[[], int], level: int = 1) -> DataType:
    if level > MOST_TYPE_NESTING:
        raise _too_deep()
    if not isinstance(found, exp.DataType):
        raise _unknown(text)
    parts = found.expressions
    match found.this:
        case exp.DType.ARRAY if len(parts) == 1:
            return ArrayType(element=_type_of(parts[0], text, next_id, level + 1))
        case exp.DType.MAP if len(parts) == 2:
            key, value = (_type_of(part, text, next_id, level + 1) for part in parts)
            return MapType(key=with_nullable(key, False), value=value)
        case exp.DType.STRUCT if parts:
            return RowType(
                fields=tuple(_field_of(part, text, next_id, level + 1) for part in parts)
            )
        case exp.DType.TIMESTAMPTZ if not parts:
            return parse_data_type("TIMESTAMP_LTZ(6)")
        case exp.DType.TIMESTAMPTZ:
            raise InvalidInput(
                f"{text} is a time with or without a zone; write TIMESTAMP_LTZ or TIMESTAMP_NTZ"
            )
        case exp.DType.BINARY if not parts:
            return parse_data_type("BYTES")
    name = _TYPES.get(found.this)
    if name is None or (name in _NEED_LENGTH and not parts):
        raise _unknown(text)
    numbers = ", ".join(part.name for part in parts)
    try:
        return parse_data_type(f"{name}({numbers})" if numbers else name)
    except FormatError as error:
        raise _unknown(text) from error


def _field_of(part: exp.Expr, text: str, next_id: Callable[[], int], level: int) -> DataField:
    kind = part.args.get("kind")
    if not isinstance(part, exp.ColumnDef) or kind is None:
        raise _unknown(text)
    number = next_id()
    data_type = _type_of(kind, text, next_id, level)
    rules = [each.kind for each in part.args.get("constraints") or ()]
    is_required = any(isinstance(rule, exp.NotNullColumnConstraint) for rule in rules)
    comment = next(
        (rule.this.name for rule in rules if isinstance(rule, exp.CommentColumnConstraint)), None
    )
    return DataField(
        id=number,
        name=part.name,
        type=with_nullable(data_type, False) if is_required else data_type,
        description=comment,
    )


def _unknown(text: str) -> InvalidInput:
    return InvalidInput(f"{text!r} is no type of a column", kind=ErrorKind.INVALID_ARGUMENT)


def _too_deep() -> InvalidInput:
    return InvalidInput(
        f"a type has at most {MOST_TYPE_NESTING} levels", kind=ErrorKind.UNSUPPORTED
    )
