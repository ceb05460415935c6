"""Avro schemas that can be decoded: of a bounded depth, and every item takes a byte.

The schema stands in the file, so whoever wrote the file wrote it too. Decoders in C recurse with
the data of a type that holds itself until the stack ends, and with it the process; an array of
items without bytes claims any number of them.
"""

from typing import Any, Final

from branch_console.errors import FormatError
from branch_console.format.bounds import check_nesting

_PLAIN: Final = frozenset(
    {"null", "boolean", "int", "long", "float", "double", "bytes", "string", "array", "map"}
)


def check_avro_schema(schema: Any) -> None:
    """Refuse a schema that no Paimon file has and that decoders do not survive.

    Raises:
        FormatError: It is too deep, a type of it holds itself, or an array has items of no bytes.
    """
    check_nesting([schema], "Avro schema")
    _check(schema, frozenset(), set())


def _check(schema: Any, within: frozenset[str], empty: set[str]) -> bool:
    """Check a type; returns whether a value of it may take no byte.

    Args:
        schema: The type.
        within: The named types that it stands in, by the last part of their names.
        empty: The named types that take no byte; those that are met are added.
    """
    if isinstance(schema, list):
        # The number of the branch is a byte.
        for branch in schema:
            _check(branch, within, empty)
        return False
    if isinstance(schema, str):
        name = _last_part(schema)
        if name in within and schema not in _PLAIN:
            raise FormatError(f"Type {schema!r} of the Avro schema holds itself.")
        return schema == "null" or name in empty
    if not isinstance(schema, dict):
        raise FormatError("The Avro schema has a type that is none.")
    kind = schema.get("type")
    if kind == "array":
        if _check(schema.get("items"), within, empty):
            raise FormatError("The Avro schema has an array whose items take no byte.")
        return False
    if kind == "map":
        _check(schema.get("values"), within, empty)
        return False
    name = _last_part(str(schema.get("name", "")))
    if kind in ("record", "error"):
        fields = [each for each in schema.get("fields") or () if isinstance(each, dict)]
        inner = within | {name}
        # All are checked, also behind one that takes a byte.
        found = [_check(field.get("type"), inner, empty) for field in fields]
        is_empty = all(found)
    elif kind == "fixed":
        is_empty = not schema.get("size")
    elif kind == "enum":
        is_empty = False
    else:
        return _check(kind, within, empty)
    if is_empty:
        empty.add(name)
    return is_empty


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]
