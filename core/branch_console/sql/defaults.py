"""The values that columns get by themselves, as expressions of Spark's SQL."""

from typing import Final

from sqlglot import exp

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.data_types import AtomicType, DataField, TypeRoot, with_nullable

_TEXTS: Final = frozenset({TypeRoot.CHAR, TypeRoot.VARCHAR})
# Spark's words have no length or precision.
_PLAIN: Final = {
    TypeRoot.BINARY: "BINARY",
    TypeRoot.VARBINARY: "BINARY",
    TypeRoot.TIMESTAMP: "TIMESTAMP_NTZ",
    TypeRoot.TIMESTAMP_LTZ: "TIMESTAMP",
}


def default_expression(field: DataField) -> str:
    """Return the default of a column, NULL where it has none.

    Raises:
        InvalidInput: It is a value of a nested type, which is not written that way.
    """
    if field.default_value is None:
        return "NULL"
    text = exp.Literal.string(field.default_value).sql(dialect="spark")
    match field.type:
        case AtomicType(root=root) if root in _TEXTS:
            return text
        case AtomicType(root=root):
            kind = _PLAIN.get(root) or str(with_nullable(field.type, True))
            return f"CAST({text} AS {kind})"
    raise InvalidInput(
        f"Column {field.name!r} is {field.type}: its default is not written by DEFAULT. Leave the "
        "column out.",
        kind=ErrorKind.UNSUPPORTED,
        column=field.name,
    )
