"""Rows of one key become one row: the merge engines of primary-key tables, as Arrow kernels.

Input are the rows of all files of a bucket whose key ranges overlap; nothing is shuffled. Source:
Paimon DeduplicateMergeFunction, FirstRowMergeFunction, PartialUpdateMergeFunction,
AggregateMergeFunction, ReducerMergeFunctionWrapper, UserDefinedSeqComparator.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format import options as table_options
from branch_console.format.options import Options
from branch_console.format.sequence_groups import aggregate_function, functions_not_replayable
from branch_console.format.table_schema import MergeEngine, TableSchema
from branch_console.format.values.key_order import sortable
from branch_console.spark.kernels.field_aggregators import FieldAggregator, Value, field_aggregator
from branch_console.spark.kernels.key_groups import (
    INSERTS,
    Ints,
    KeyGroups,
    Mask,
    find_kernel,
    last_non_null,
)
from branch_console.spark.kernels.partial_update import SequenceGroups, fold_rows

SEQUENCE_NUMBER: Final = "_SEQUENCE_NUMBER"
VALUE_KIND: Final = "_VALUE_KIND"

_DELETE: Final = 3


def check_mergeable(schema: TableSchema) -> None:
    """Refuse tables whose rows cannot be merged here.

    Raises:
        InvalidInput: The merge engine, or a function of it, is not served.
    """
    match _known_engine(schema):
        case MergeEngine.AGGREGATION:
            for name in _value_columns(schema):
                _aggregator(schema, name)
        case MergeEngine.PARTIAL_UPDATE:
            SequenceGroups.of(schema)
        case MergeEngine.DEDUPLICATE | MergeEngine.FIRST_ROW:
            pass
        case _ as engine:
            assert_never(engine)


def _known_engine(schema: TableSchema) -> MergeEngine:
    engine = schema.merge_engine
    if engine is None:
        name = schema.options.read(table_options.MERGE_ENGINE)
        raise _unsupported(f"The merge engine {name!r} is not known.")
    return engine


def check_replayable(schema: TableSchema) -> None:
    """Refuse tables in which a row written on top of others need not give what is wanted.

    Raises:
        InvalidInput: A column has a function without a kernel.
    """
    for name, function in functions_not_replayable(schema).items():
        raise _unsupported(f"The aggregate function {function!r} of column {name!r} is not merged.")


def columns_to_merge(schema: TableSchema, wanted: Iterable[str]) -> tuple[str, ...]:
    """The columns that `merge_rows` needs to tell some of them, in the order of the table."""
    needed = {*wanted, *schema.primary_keys, *schema.options.read(table_options.SEQUENCE_FIELD)}
    if schema.merge_engine is MergeEngine.PARTIAL_UPDATE:
        needed |= SequenceGroups.of(schema).sequence_columns
    return tuple(name for name in schema.row_type.names if name in needed)


def merge_rows(rows: pa.Table, schema: TableSchema) -> pa.Table:
    """Merge rows by primary key.

    Args:
        rows: Columns of the table, see `columns_to_merge`, with `_SEQUENCE_NUMBER` and
            `_VALUE_KIND`, in any order.
        schema: The table, which says how rows are merged.

    Returns:
        The same columns of the table by key, one row a key; keys whose last row deletes are left
        out.

    Raises:
        InvalidInput: A row deletes where the merge engine takes none, or a merged value does not
            fit its column.
    """
    names = [name for name in schema.row_type.names if name in rows.column_names]
    engine = _known_engine(schema)
    if engine in PICKING and schema.options.read(table_options.IGNORE_DELETE):
        rows = live_rows(rows)
    if not rows.num_rows:
        return rows.select(names)
    order = row_order(rows, schema, SEQUENCE_NUMBER)
    keys = rows.select([*schema.trimmed_primary_keys, VALUE_KIND]).take(order).combine_chunks()
    groups = KeyGroups.of(keys, schema.trimmed_primary_keys, VALUE_KIND)
    if engine in PICKING:
        # The other columns are taken once, of the rows that stay.
        picked = PICKING[engine](groups)
        stays = order.take(pa.array(picked[groups.is_insert[picked]]))
        return rows.select(names).take(stays)
    ordered = rows.take(order).combine_chunks()
    return _MERGING[engine](ordered, groups, schema).select(names)


def live_rows(rows: pa.Table) -> pa.Table:
    """The rows that neither delete nor are the old half of an update."""
    return rows.filter(pc.is_in(rows[VALUE_KIND], value_set=INSERTS))


def row_order(rows: pa.Table, schema: TableSchema, *last: str) -> pa.Array:
    """Positions of rows by key, then user sequence, then the columns named last.

    Arrow's sort is stable, so rows that are equal so far stay in their order.
    """
    sort_keys = [(key, "ascending") for key in schema.trimmed_primary_keys]
    columns = {key: sortable(rows[key]) for key, _ in sort_keys}
    direction = "descending" if is_descending(schema) else "ascending"
    for name in schema.options.read(table_options.SEQUENCE_FIELD):
        # A row without a user sequence loses, whichever way the sequence is sorted.
        columns |= {f"{name} is set": pc.is_valid(rows[name]), name: sortable(rows[name])}
        sort_keys += [(f"{name} is set", "ascending"), (name, direction)]
    columns |= {name: rows[name] for name in last}
    sort_keys += [(name, "ascending") for name in last]
    return pc.sort_indices(pa.table(columns), sort_keys=sort_keys)


def is_descending(schema: TableSchema) -> bool:
    """Whether of two user sequences the smaller one wins."""
    return schema.options.get("sequence.field.sort-order", "ascending").lower() == "descending"


# --- aggregation --------------------------------------------------------------------------------


def _aggregate(ordered: pa.Table, groups: KeyGroups, schema: TableSchema) -> pa.Table:
    removes = _is_set(schema.options, "aggregation.remove-record-on-delete")
    merged = ordered.take(pa.array(groups.lasts))
    for name in _present(ordered, schema):
        aggregator = _aggregator(schema, name)
        column = ordered[name].combine_chunks()
        kernel = find_kernel(aggregate_function(schema, name), column)
        chosen = groups.with_retract if kernel else groups.of_many
        # A key with one row keeps it as it is, whatever the function.
        values = column.take(pa.array(groups.lasts)) if kernel is None else kernel(column, groups)
        folded = [
            _fold(aggregator, *each, removes=removes) for each in groups.slices(column, chosen)
        ]
        values = groups.replaced(values, chosen, pa.array(folded, column.type))
        at = merged.schema.get_field_index(name)
        merged = merged.set_column(at, ordered.schema.field(name), values)
    is_live = groups.ends_with_insert | (groups.of_many & ~_is_removed(groups, removes=removes))
    return merged.filter(pa.array(is_live))


def _is_removed(groups: KeyGroups, *, removes: bool) -> Mask:
    found: Mask = removes & (groups.kinds[groups.lasts] == _DELETE)
    return found


def _fold(
    aggregator: FieldAggregator, values: list[Value], kinds: list[int], *, removes: bool
) -> Value:
    merged = None
    aggregator.reset()
    for value, kind in zip(values, kinds, strict=True):
        if kind in (0, 2):
            merged = aggregator.agg(merged, value)
        elif removes and kind == _DELETE:
            merged = value
        else:
            merged = aggregator.retract(merged, value)
    return merged


def _aggregator(schema: TableSchema, name: str) -> FieldAggregator:
    return field_aggregator(aggregate_function(schema, name), schema.field(name), schema.options)


# --- partial update -----------------------------------------------------------------------------


def _partial_update(ordered: pa.Table, groups: KeyGroups, schema: TableSchema) -> pa.Table:
    sequences = SequenceGroups.of(schema)
    if sequences.columns:
        return _by_sequence_group(ordered, groups, schema, sequences)
    removes = _is_set(schema.options, "partial-update.remove-record-on-delete")
    if (
        groups.with_retract.any()
        and not removes
        and not schema.options.read(table_options.IGNORE_DELETE)
    ):
        raise _unsupported(
            "Rows that delete cannot be merged by 'partial-update' unless 'ignore-delete', "
            "'partial-update.remove-record-on-delete' or a sequence group says how."
        )
    is_insert = groups.is_insert
    is_delete = removes & (groups.kinds == _DELETE)
    # What came before a row that removes the record is gone. A first row counts though it deletes.
    counts = (is_insert | is_delete | groups.is_first) & groups.from_last_masked(is_delete)
    merged = ordered.take(pa.array(groups.lasts))
    for name in _present(ordered, schema):
        values = last_non_null(ordered[name].combine_chunks(), groups, counts)
        at = merged.schema.get_field_index(name)
        merged = merged.set_column(at, ordered.schema.field(name), values)
    is_live = groups.any_of(is_insert) & ~_is_removed(groups, removes=removes)
    is_live = np.where(groups.of_many, is_live, groups.ends_with_insert)
    return merged.filter(pa.array(is_live))


def _by_sequence_group(
    ordered: pa.Table, groups: KeyGroups, schema: TableSchema, sequences: SequenceGroups
) -> pa.Table:
    merged = ordered.take(pa.array(groups.lasts))
    is_live = groups.ends_with_insert | groups.of_many
    everything = np.ones(ordered.num_rows, dtype=bool)
    for name in _present(ordered, schema):
        column = ordered[name].combine_chunks()
        order = sequences.columns.get(name)
        values = (
            last_non_null(column, groups, everything)
            if order is None
            else column.take(_newest(groups, [ordered[each] for each in order]))
        )
        at = merged.schema.get_field_index(name)
        merged = merged.set_column(at, ordered.schema.field(name), values)
    chosen = groups.of_many if sequences.aggregators else groups.with_retract
    if chosen.any():
        ignores = schema.options.read(table_options.IGNORE_DELETE)
        names = _present(ordered, schema)
        parts = groups.slices(ordered.select(names), chosen)
        folded = [
            fold_rows(rows, kinds, sequences, names, ignores=ignores) for rows, kinds in parts
        ]
        for name in names:
            found = pa.array([row.get(name) for row, _ in folded], ordered.schema.field(name).type)
            values = groups.replaced(merged[name].combine_chunks(), chosen, found)
            at = merged.schema.get_field_index(name)
            merged = merged.set_column(at, ordered.schema.field(name), values)
        is_live[np.flatnonzero(chosen)] = [is_there for _, is_there in folded]
    return merged.filter(pa.array(is_live))


def _newest(groups: KeyGroups, columns: Sequence[pa.ChunkedArray]) -> pa.Array:
    """The row of each key that a group follows; a key with one row keeps it as it is."""
    is_alone = pa.array(~groups.of_many)
    return pc.if_else(is_alone, pa.array(groups.lasts), groups.greatest(columns))


PICKING: Final[Mapping[MergeEngine, Callable[[KeyGroups], Ints]]] = MappingProxyType(
    {
        MergeEngine.DEDUPLICATE: lambda groups: groups.lasts,
        MergeEngine.FIRST_ROW: lambda groups: groups.starts,
    }
)
"""Engines whose merged row is one of the rows of its key."""

_MERGING: Final[Mapping[MergeEngine, Callable[[pa.Table, KeyGroups, TableSchema], pa.Table]]] = (
    MappingProxyType(
        {MergeEngine.PARTIAL_UPDATE: _partial_update, MergeEngine.AGGREGATION: _aggregate}
    )
)


def _present(ordered: pa.Table, schema: TableSchema) -> list[str]:
    return [name for name in _value_columns(schema) if name in ordered.column_names]


def _value_columns(schema: TableSchema) -> tuple[str, ...]:
    return tuple(name for name in schema.row_type.names if name not in schema.primary_keys)


def _is_set(options: Options, *names: str) -> bool:
    return any(options.get(name, "false").lower() == "true" for name in names)


def _unsupported(message: str) -> InvalidInput:
    return InvalidInput(f"{message} Read the table with Paimon.", kind=ErrorKind.UNSUPPORTED)
