"""Sequence groups and aggregate functions of merge engines, as the options of a table name them.

The columns of a group follow the sequence columns of that group, each group its own. Source: Paimon
PartialUpdateMergeFunction, AggregateMergeFunction.
"""

from collections.abc import Mapping
from typing import Final, assert_never

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format import options as table_options
from branch_console.format.table_schema import MergeEngine, TableSchema

REPLAYABLE: Final = frozenset(
    {
        "sum", "max", "min", "bool_and", "bool_or", "last_value", "last_non_null_value",
        "first_value", "first_non_null_value", "first_not_null_value", "product",
    }
)  # fmt: skip
"""Functions for which a merge can find the row that turns a merged value into the wanted one."""
_PREFIX: Final = "fields."
_SUFFIX: Final = ".sequence-group"


def grouped_columns(schema: TableSchema) -> Mapping[str, tuple[str, ...]]:
    """Return by column of a group, its sequence columns too, what it follows, the first one first.

    Raises:
        InvalidInput: A group names no column, or a column that two have.
    """
    columns: dict[str, tuple[str, ...]] = {}
    for key, value in sorted(schema.options.items()):
        if not (key.startswith(_PREFIX) and key.endswith(_SUFFIX)):
            continue
        order = _names(key.removeprefix(_PREFIX).removesuffix(_SUFFIX), schema, key)
        for name in (*_names(value, schema, key), *order):
            if columns.get(name, order) != order:
                raise _invalid(key, f"column {name!r} is in two groups")
            columns[name] = order
    return columns


def grouped_functions(schema: TableSchema) -> Mapping[str, str]:
    """Return what merges the values of columns in groups; of the others the newest stands.

    Raises:
        InvalidInput: As `grouped_columns`.
    """
    default = schema.options.get("fields.default-aggregate-function")
    named = {
        name: schema.options.get(f"fields.{name}.aggregate-function", default)
        for name, order in grouped_columns(schema).items()
        if name not in order
    }
    return {name: function for name, function in named.items() if function is not None}


def aggregate_function(schema: TableSchema, column: str) -> str:
    """Return the function that the engine 'aggregation' merges the values of a column by."""
    options = schema.options
    if column in options.read(table_options.SEQUENCE_FIELD):
        return "last_value"
    default = options.get("fields.default-aggregate-function", "last_non_null_value")
    return options.get(f"fields.{column}.aggregate-function", default)


def functions_not_replayable(schema: TableSchema) -> Mapping[str, str]:
    """Return the functions of a table that are not in `REPLAYABLE`, by column.

    Raises:
        InvalidInput: As `grouped_columns`.
    """
    functions: Mapping[str, str]
    match schema.merge_engine:
        case MergeEngine.AGGREGATION:
            values = (name for name in schema.row_type.names if name not in schema.primary_keys)
            functions = {name: aggregate_function(schema, name) for name in values}
        case MergeEngine.PARTIAL_UPDATE:
            functions = grouped_functions(schema)
        case MergeEngine.DEDUPLICATE | MergeEngine.FIRST_ROW | None:
            functions = {}
        case _ as engine:
            assert_never(engine)
    return {name: each for name, each in functions.items() if each not in REPLAYABLE}


def _names(text: str, schema: TableSchema, key: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    for name in names:
        if schema.find_field(name) is None:
            raise _invalid(key, f"there is no column {name!r}")
    return names


def _invalid(key: str, why: str) -> InvalidInput:
    return InvalidInput(
        f"The option {key!r} does not fit the table: {why}.",
        kind=ErrorKind.INVALID_OPTION,
        option=key,
    )
