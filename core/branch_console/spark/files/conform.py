"""Rows that somebody gives, brought into the columns, the order and the types of a table.

What does not fit is refused by the name of its column: before the first task by the types, and in
the tasks by the values. Types follow the store assignment of Spark's ANSI mode.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format import options as table_options
from branch_console.format.data_types import AtomicType, DataField, TypeRoot
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.arrow_types import arrow_schema, to_arrow
from branch_console.format.values.fine_times import cast_times, is_fine, scalar_of
from branch_console.format.values.nested_arrays import with_required_parts
from branch_console.spark.kernels.merge_on_read import VALUE_KIND

ROW_KINDS: Final = ("+I", "-U", "+U", "-D")
"""Texts of the row kinds; a kind is stored as its position."""

_RETRACTS: Final = (1, 3)
_TEXTS: Final = frozenset({TypeRoot.CHAR, TypeRoot.VARCHAR})
_BYTES: Final = frozenset({TypeRoot.BINARY, TypeRoot.VARBINARY})
_UNITS: Final = {"s": "second", "ms": "millisecond", "us": "microsecond"}


def names_for(
    given: Sequence[str],
    schema: TableSchema,
    *,
    by_position: bool = False,
    constants: Collection[str] = (),
) -> tuple[str, ...]:
    """The names that given columns have in the table.

    Args:
        given: The names of the columns that were given.
        schema: The table.
        by_position: Whether the n-th column is meant for the n-th of the table, whatever its name.
        constants: Columns that are not among the given ones, as a statement sets them.

    Raises:
        InvalidInput: A column is unknown or there twice, or their number is another.
    """
    names = tuple(each.name for each in schema.fields if each.name not in constants)
    if by_position:
        if len(given) != len(names):
            raise InvalidInput(
                f"The table takes {len(names)} columns ({', '.join(names)}), and {len(given)} "
                f"were given ({', '.join(given)}). Name the columns, or give all of them."
            )
        return names
    twice = sorted({name for name in given if list(given).count(name) > 1})
    if twice:
        raise InvalidInput(f"Column {twice[0]!r} is given twice.", column=twice[0])
    unknown = sorted(set(given) - set(names) - {VALUE_KIND})
    if unknown:
        set_twice = sorted(set(unknown) & set(constants))
        if set_twice:
            raise InvalidInput(
                f"Column {set_twice[0]!r} has a value by the statement and a column of its own. "
                "Give it once.",
                column=set_twice[0],
            )
        raise _no_column(unknown, schema)
    return tuple(given)


def in_spelling_of(schema: TableSchema, given: Sequence[str]) -> tuple[str, ...]:
    """Names of columns as the table spells them, as Spark compares names: in any case."""
    exact = {each.name for each in schema.fields}
    known = {name.lower(): name for name in exact}
    return tuple(name if name in exact else known.get(name.lower(), name) for name in given)


def check_assignable(given: Mapping[str, pa.DataType], schema: TableSchema) -> None:
    """Refuse columns whose type cannot become that of the table, before any value is looked at.

    Args:
        given: Types by the names of the table's columns.
        schema: The table.

    Raises:
        InvalidInput: A type does not fit, or a column that must not be null is left out.
    """
    for field in schema.fields:
        if field.name not in given:
            if not field.type.nullable and field.default_value is None:
                raise InvalidInput(
                    f"Column {field.name!r} must not be null and is left out. Give it a value.",
                    column=field.name,
                )
        elif not _is_assignable(given[field.name], to_arrow(field.type)):
            raise InvalidInput(
                f"Column {field.name!r} is {field.type} and takes no {given[field.name]}. "
                "Cast the values.",
                column=field.name,
            )


def constant_for(value: object, field: DataField) -> pa.Scalar:
    """A value that a statement gives a column, in the type of the column.

    Raises:
        InvalidInput: It does not fit.
    """
    kind = to_arrow(field.type)
    try:
        return scalar_of(value, kind)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidInput(
            f"Column {field.name!r} is {field.type} and takes no {value!r}.", column=field.name
        ) from error


def conform(rows: pa.Table, schema: TableSchema) -> pa.Table:
    """Give rows the columns of the table, in its order and types.

    A column that is left out gets its default value or null. For a table with a primary key the
    result has VALUE_KIND in front: from a column of that name, from `rowkind.field`, else insert.

    Raises:
        InvalidInput: A column is unknown, does not fit its type or is null if it must not be.
    """
    unknown = sorted(
        set(rows.column_names) - {field.name for field in schema.fields} - {VALUE_KIND}
    )
    if unknown:
        raise _no_column(unknown, schema)
    columns = {field.name: _conform_column(rows, field) for field in schema.fields}
    kinds = _row_kinds(rows, columns, schema)
    if not schema.primary_keys:
        if pc.any(pc.not_equal(kinds, 0)).as_py():
            raise InvalidInput(
                "Only inserts can be written to a table without a primary key. Rewrite its files "
                "to change or delete rows."
            )
        return pa.table(columns, schema=arrow_schema(schema.fields))
    kind = pa.field(VALUE_KIND, pa.int8(), False)
    whole = pa.schema([kind, *arrow_schema(schema.fields)])
    found = pa.table({VALUE_KIND: kinds, **columns}, schema=whole)
    return _without_ignored(found, kinds, schema)


def _without_ignored(rows: pa.Table, kinds: pa.ChunkedArray, schema: TableSchema) -> pa.Table:
    """Leave out the rows that a table does not take [Paimon RowKindFilter]."""
    if schema.options.read(table_options.IGNORE_DELETE):
        return rows.filter(pc.invert(is_retract(kinds)))
    if schema.options.read(table_options.IGNORE_UPDATE_BEFORE):
        return rows.filter(pc.not_equal(kinds, ROW_KINDS.index("-U")))
    return rows


def is_retract(kinds: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a mask of the rows that delete, or are the old half of an update."""
    return pc.is_in(kinds, value_set=pa.array(_RETRACTS, pa.int8()))


def _no_column(unknown: Sequence[str], schema: TableSchema) -> InvalidInput:
    names = sorted(field.name for field in schema.fields)
    return InvalidInput(
        f"The table has no column {', '.join(map(repr, unknown))}. It has: {', '.join(names)}.",
        columns=tuple(unknown),
    )


def _is_assignable(given: pa.DataType, wanted: pa.DataType) -> bool:
    kinds = pa.types
    if kinds.is_null(given) or given == wanted:
        return True
    if kinds.is_dictionary(given):
        return _is_assignable(given.value_type, wanted)
    if kinds.is_date(wanted) or kinds.is_timestamp(wanted) or is_fine(wanted):
        return bool(kinds.is_date(given) or kinds.is_timestamp(given))
    if _is_number(wanted):
        return _is_number(given)
    if _is_text(wanted):
        return _is_text(given)
    if _is_bytes(wanted):
        return _is_bytes(given)
    if kinds.is_time(wanted) or kinds.is_boolean(wanted):
        return bool(kinds.is_time(given)) if kinds.is_time(wanted) else False
    # The parts of nested values are compared where they are cast.
    return bool(kinds.is_nested(wanted) and kinds.is_nested(given))


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_fixed_size_binary(kind)
        or types.is_binary_view(kind)
    )


def _conform_column(rows: pa.Table, field: DataField) -> pa.ChunkedArray:
    arrow_type = to_arrow(field.type)
    try:
        if field.name in rows.column_names:
            column = _cast(rows[field.name], arrow_type)
        elif field.default_value is not None:
            default = scalar_of(field.default_value, arrow_type)
            column = pa.chunked_array([pa.repeat(default, rows.num_rows)], arrow_type)
        else:
            column = pa.chunked_array([pa.nulls(rows.num_rows, arrow_type)], arrow_type)
    except pa.ArrowException as error:
        fault = str(error).splitlines()[0].rstrip(".")
        raise InvalidInput(
            f"Column {field.name!r} is {field.type} and cannot take these values: {fault}.",
            column=field.name,
        ) from error
    if not field.type.nullable and column.null_count:
        raise InvalidInput(
            f"Column {field.name!r} must not be null, and {column.null_count} of "
            f"{rows.num_rows} rows are. Give them a value.",
            column=field.name,
        )
    _check_length(column, field)
    return column


def _cast(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    given = column.type
    if given == wanted:
        return column
    if pa.types.is_timestamp(given) and pa.types.is_timestamp(wanted) and wanted.unit in _UNITS:
        # As Spark and Paimon do, what is finer than the column's precision is left off.
        column = pc.floor_temporal(column, unit=_UNITS[wanted.unit])
    elif pa.types.is_decimal(wanted) and (
        pa.types.is_floating(given) or (pa.types.is_decimal(given) and given.scale > wanted.scale)
    ):
        column = pc.round(column, wanted.scale, round_mode="half_towards_infinity")
    elif pa.types.is_decimal(wanted) and pa.types.is_integer(given):
        # Arrow looks at what the type could hold; only the values have to fit.
        column = column.cast(pa.decimal256(76, wanted.scale))
    if pa.types.is_nested(given):
        chunks = [with_required_parts(chunk, wanted) for chunk in column.chunks]
        column = pa.chunked_array(chunks, given)
    return cast_times(column, wanted)


def _check_length(column: pa.ChunkedArray, field: DataField) -> None:
    kind = field.type
    if not isinstance(kind, AtomicType) or kind.root not in _TEXTS | _BYTES:
        return
    most = kind.length
    if most is None or not len(column):
        return
    lengths = pc.utf8_length(column) if kind.root in _TEXTS else pc.binary_length(column)
    longest = pc.max(lengths).as_py() or 0
    if longest > most:
        what = "characters" if kind.root in _TEXTS else "bytes"
        raise InvalidInput(
            f"Column {field.name!r} is {kind}, and a value has {longest} {what}. Shorten it.",
            column=field.name,
        )


def _row_kinds(
    rows: pa.Table, columns: dict[str, pa.ChunkedArray], schema: TableSchema
) -> pa.ChunkedArray:
    named = schema.options.get("rowkind.field")
    if named is not None and named in columns:
        texts = pc.index_in(columns[named], value_set=pa.array(ROW_KINDS))
        kinds = texts.cast(pa.int8())
    elif VALUE_KIND in rows.column_names:
        kinds = rows[VALUE_KIND].cast(pa.int8())
    else:
        kinds = pa.chunked_array([pa.repeat(pa.scalar(0, pa.int8()), rows.num_rows)], pa.int8())
    known = pc.and_(pc.greater_equal(kinds, 0), pc.less(kinds, len(ROW_KINDS)))
    if not pc.all(pc.fill_null(known, False), min_count=0).as_py():
        raise InvalidInput(f"A row kind is one of {', '.join(ROW_KINDS)}, as 0 to 3.")
    return kinds


def unsupported(message: str) -> InvalidInput:
    """Return the refusal of a call that is not supported."""
    return InvalidInput(message, kind=ErrorKind.UNSUPPORTED)
