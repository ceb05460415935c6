"""Rows of one key become one row: the merge engines of primary-key tables, as Arrow kernels.

Input are the rows of all files of a bucket whose key ranges overlap; nothing is shuffled. Source:
Paimon DeduplicateMergeFunction, FirstRowMergeFunction, PartialUpdateMergeFunction,
AggregateMergeFunction, UserDefinedSeqComparator.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from core.errors import ErrorKind, InvalidInput
from core.format import options as table_options
from core.format.table_schema import TableSchema

SEQUENCE_NUMBER: Final = "_SEQUENCE_NUMBER"
VALUE_KIND: Final = "_VALUE_KIND"
_INSERTS: Final = pa.array([0, 2], pa.int8())

Ints = npt.NDArray[np.int64]
Pick = Callable[[pa.Array, Ints, Ints], pa.Array]


def check_mergeable(schema: TableSchema) -> None:
    """Refuse tables whose rows cannot be merged here.

    Raises:
        InvalidInput: The merge engine, or a function of it, is not served.
    """
    engine = schema.options.read(table_options.MERGE_ENGINE)
    if engine not in _ENGINES:
        raise _unsupported(f"The merge engine {engine!r} is not known.")
    if engine == "aggregation":
        for name in _value_columns(schema):
            _function(schema, name)
    if engine == "partial-update" and any(key.endswith(_GROUP_SUFFIX) for key in schema.options):
        raise _unsupported("Sequence groups of the merge engine 'partial-update' are not served.")


def merge_rows(rows: pa.Table, schema: TableSchema) -> pa.Table:
    """Merge rows by primary key.

    Args:
        rows: The columns of the table, `_SEQUENCE_NUMBER` and `_VALUE_KIND`, in any order.
        schema: The table, which says how rows are merged.

    Returns:
        The columns of the table by key, one row a key; keys whose last row deletes are left out.

    Raises:
        InvalidInput: A row deletes where the merge engine takes none.
    """
    engine = schema.options.read(table_options.MERGE_ENGINE)
    if _ignores_deletes(schema, engine):
        rows = rows.filter(pc.is_in(rows[VALUE_KIND], value_set=_INSERTS))
    if not rows.num_rows:
        return rows.select(schema.row_type.names)
    ordered = rows.take(row_order(rows, schema, SEQUENCE_NUMBER)).combine_chunks()
    starts = _starts(ordered, schema)
    return _ENGINES[engine](ordered, starts, schema).select(schema.row_type.names)


def live_rows(rows: pa.Table) -> pa.Table:
    """The rows that neither delete nor are the old half of an update."""
    return rows.filter(pc.is_in(rows[VALUE_KIND], value_set=_INSERTS))


def row_order(rows: pa.Table, schema: TableSchema, *last: str) -> pa.Array:
    """Positions of rows by key, then user sequence, then the columns named last.

    Arrow's sort is stable, so rows that are equal so far stay in their order.
    """
    sort_keys = [(key, "ascending") for key in schema.trimmed_primary_keys]
    columns = {key: rows[key] for key, _ in sort_keys}
    direction = schema.options.get("sequence.field.sort-order", "ascending").lower()
    for name in schema.options.read(table_options.SEQUENCE_FIELD):
        # A row without a user sequence loses, whichever way the sequence is sorted.
        columns |= {f"{name} is set": pc.is_valid(rows[name]), name: rows[name]}
        sort_keys += [(f"{name} is set", "ascending"), (name, direction)]
    columns |= {name: rows[name] for name in last}
    sort_keys += [(name, "ascending") for name in last]
    return pc.sort_indices(pa.table(columns), sort_keys=sort_keys)


def _starts(ordered: pa.Table, schema: TableSchema) -> Ints:
    """Where each key begins."""
    changes = np.zeros(ordered.num_rows, dtype=bool)
    changes[0] = True
    for key in schema.trimmed_primary_keys:
        column = ordered[key].chunk(0) if ordered[key].num_chunks else ordered[key]
        differs = pc.not_equal(column.slice(1), column.slice(0, len(column) - 1))
        changes[1:] |= differs.fill_null(True).to_numpy(zero_copy_only=False)
    return np.flatnonzero(changes)


def _deduplicate(ordered: pa.Table, starts: Ints, schema: TableSchema) -> pa.Table:
    return live_rows(ordered.take(pa.array(_lasts(starts, ordered.num_rows))))


def _first_row(ordered: pa.Table, starts: Ints, schema: TableSchema) -> pa.Table:
    return live_rows(ordered.take(pa.array(starts)))


def _partial_update(ordered: pa.Table, starts: Ints, schema: TableSchema) -> pa.Table:
    _refuse_deletes(ordered, "partial-update")
    return _by_column(ordered, starts, schema, lambda _: _last_non_null)


def _aggregate(ordered: pa.Table, starts: Ints, schema: TableSchema) -> pa.Table:
    _refuse_deletes(ordered, "aggregation")
    return _by_column(ordered, starts, schema, lambda name: _function(schema, name))


def _by_column(
    ordered: pa.Table, starts: Ints, schema: TableSchema, function_of: Callable[[str], Pick]
) -> pa.Table:
    lasts = _lasts(starts, ordered.num_rows)
    merged = ordered.select(schema.primary_keys).take(pa.array(lasts))
    for name in _value_columns(schema):
        column = ordered[name].combine_chunks()
        values = function_of(name)(column, starts, lasts)
        merged = merged.append_column(ordered.schema.field(name), values)
    return merged


_ENGINES: Final[Mapping[str, Callable[[pa.Table, Ints, TableSchema], pa.Table]]] = MappingProxyType(
    {
        "deduplicate": _deduplicate,
        "first-row": _first_row,
        "partial-update": _partial_update,
        "aggregation": _aggregate,
    }
)
_GROUP_SUFFIX: Final = ".sequence-group"


def _lasts(starts: Ints, count: int) -> Ints:
    lasts: Ints = np.r_[starts[1:], count] - 1
    return lasts


def _value_columns(schema: TableSchema) -> tuple[str, ...]:
    return tuple(name for name in schema.row_type.names if name not in schema.primary_keys)


def _last_value(column: pa.Array, starts: Ints, lasts: Ints) -> pa.Array:
    return column.take(pa.array(lasts))


def _first_value(column: pa.Array, starts: Ints, lasts: Ints) -> pa.Array:
    return column.take(pa.array(starts))


def _last_non_null(column: pa.Array, starts: Ints, lasts: Ints) -> pa.Array:
    at = np.where(_is_valid(column), np.arange(len(column)), -1)
    found = np.maximum.reduceat(at, starts)
    return column.take(pa.array(found, mask=found < 0))


def _first_non_null(column: pa.Array, starts: Ints, lasts: Ints) -> pa.Array:
    nowhere = len(column)
    at = np.where(_is_valid(column), np.arange(nowhere), nowhere)
    found = np.minimum.reduceat(at, starts)
    return column.take(pa.array(found, mask=found == nowhere))


def _is_valid(column: pa.Array) -> npt.NDArray[np.bool_]:
    valid: npt.NDArray[np.bool_] = pc.is_valid(column).to_numpy(zero_copy_only=False)
    return valid


def _grouped(function: str) -> Pick:
    def pick(column: pa.Array, starts: Ints, lasts: Ints) -> pa.Array:
        groups = np.repeat(np.arange(len(starts)), lasts - starts + 1)
        table = pa.table({"group": pa.array(groups), "value": column})
        found = table.group_by("group", use_threads=False).aggregate([("value", function)])
        return found[f"value_{function}"].combine_chunks().cast(column.type)

    return pick


_FUNCTIONS: Final[Mapping[str, Pick]] = MappingProxyType(
    {
        "sum": _grouped("sum"),
        "product": _grouped("product"),
        "max": _grouped("max"),
        "min": _grouped("min"),
        "bool_and": _grouped("all"),
        "bool_or": _grouped("any"),
        "last_value": _last_value,
        "last_non_null_value": _last_non_null,
        "first_value": _first_value,
        "first_non_null_value": _first_non_null,
    }
)


def _function(schema: TableSchema, name: str) -> Pick:
    options = schema.options
    if name in options.read(table_options.SEQUENCE_FIELD):
        return _last_value
    default = options.get("fields.default-aggregate-function", "last_non_null_value")
    function = options.get(f"fields.{name}.aggregate-function", default)
    if function not in _FUNCTIONS:
        raise _unsupported(f"The aggregate function {function!r} of column {name!r} is not served.")
    return _FUNCTIONS[function]


def _ignores_deletes(schema: TableSchema, engine: str) -> bool:
    names = ("ignore-delete", f"{engine}.ignore-delete")
    return any(schema.options.get(name, "false").lower() == "true" for name in names)


def _refuse_deletes(ordered: pa.Table, engine: str) -> None:
    if live_rows(ordered).num_rows != ordered.num_rows:
        raise _unsupported(f"Rows that delete cannot be merged by {engine!r} yet.")


def _unsupported(message: str) -> InvalidInput:
    return InvalidInput(f"{message} Read the table with Paimon.", kind=ErrorKind.UNSUPPORTED)
