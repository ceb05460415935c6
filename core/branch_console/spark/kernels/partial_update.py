"""Sequence groups of the merge engine 'partial-update': columns that follow columns of their own.

Of the rows of a key, the one that is newest by the sequence columns of a group gives the columns of
that group; each group may follow another row. Source: Paimon PartialUpdateMergeFunction.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from branch_console.format.sequence_groups import grouped_columns, grouped_functions
from branch_console.format.table_schema import TableSchema
from branch_console.spark.kernels.field_aggregators import FieldAggregator, field_aggregator

_REMOVING: Final = "partial-update.remove-record-on-sequence-group"
_INSERTS: Final = (0, 2)
_DELETE: Final = 3

Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SequenceGroups:
    """The sequence groups of a table.

    Attributes:
        columns: By column of a group, its sequence columns too, the sequence columns that it
            follows, the first one first.
        aggregators: By column, what merges its values; of the other columns the newest stands.
        removing: Sequence columns with which a deletion removes the whole row.
    """

    columns: Mapping[str, tuple[str, ...]]
    aggregators: Mapping[str, FieldAggregator]
    removing: frozenset[str]

    @classmethod
    def of(cls, schema: TableSchema) -> "SequenceGroups":
        """Read the groups from the options of a table.

        Raises:
            InvalidInput: A group names no column, or a column that two have, or a function is not
                served.
        """
        aggregators = {
            name: field_aggregator(function, schema.field(name), schema.options)
            for name, function in grouped_functions(schema).items()
        }
        removing = schema.options.get(_REMOVING, "")
        return cls(
            columns=grouped_columns(schema),
            aggregators=aggregators,
            removing=frozenset(name for name in removing.split(",") if name),
        )

    @property
    def sequence_columns(self) -> frozenset[str]:
        """The columns that groups follow."""
        return frozenset(name for order in self.columns.values() for name in order)


def fold_rows(
    rows: Iterable[Row],
    kinds: Iterable[int],
    groups: SequenceGroups,
    names: Sequence[str],
    *,
    ignores: bool,
) -> tuple[Row, bool]:
    """Merge the rows of one key, also those that delete.

    Args:
        rows: In the order of their sequence numbers.
        kinds: Their row kinds.
        groups: The groups of the table.
        names: The columns to merge, in the order of the table.
        ignores: Whether rows that delete are ignored.

    Returns:
        The values by column, and whether the row is there.

    Raises:
        InvalidInput: A value is taken back from a function that cannot.
    """
    for aggregator in groups.aggregators.values():
        aggregator.reset()
    merged: Row = {}
    is_removed, has_insert, is_filled = False, False, False
    for row, kind in zip(rows, kinds, strict=True):
        is_removed = False
        if kind in _INSERTS:
            _update(merged, row, groups, names)
            has_insert = is_filled = True
            continue
        if not is_filled:
            merged.update(row)
            is_filled = True
        if not ignores:
            is_removed = _retract(merged, row, groups, names, is_delete=kind == _DELETE)
    return merged, has_insert and not is_removed


def _update(merged: Row, row: Row, groups: SequenceGroups, names: Sequence[str]) -> None:
    done: set[str] = set()
    for name in names:
        order = groups.columns.get(name)
        if order is None:
            # For this engine a null says that nothing changes.
            if row[name] is not None:
                merged[name] = row[name]
            continue
        aggregator = groups.aggregators.get(name)
        # A row without a value in any sequence column does not change its group.
        if name in done or _is_empty(row, order, done):
            continue
        if not _is_newer(row, merged, order):
            if aggregator is not None:
                # An older row still counts for an aggregate, but before the rows merged so far.
                merged[name] = aggregator.agg_reversed(merged.get(name), row[name])
        elif name in order:
            merged.update({each: row[each] for each in order})
            done.update(order)
        elif aggregator is None:
            merged[name] = row[name]
        else:
            merged[name] = aggregator.agg(merged.get(name), row[name])


def _retract(
    merged: Row, row: Row, groups: SequenceGroups, names: Sequence[str], *, is_delete: bool
) -> bool:
    """Take a row back; true where it removes the whole row."""
    done: set[str] = set()
    for name in names:
        order = groups.columns.get(name)
        if order is None or name in done or _is_empty(row, order, done):
            continue
        aggregator = groups.aggregators.get(name)
        is_newer = _is_newer(row, merged, order)
        if aggregator is not None:
            merged[name] = aggregator.retract(merged.get(name), row[name])
        elif is_newer and name in order:
            if is_delete and groups.removing.intersection(order):
                merged.clear()
                merged.update(row)
                return True
            merged.update({each: row[each] for each in order})
            done.update(order)
        elif is_newer:
            merged[name] = None
    return False


def _is_empty(row: Row, order: Sequence[str], done: set[str]) -> bool:
    if any(row[name] is not None for name in order):
        return False
    done.update(order)
    return True


def _is_newer(row: Row, merged: Row, order: Sequence[str]) -> bool:
    """Whether a row comes after what is merged, or with it; null comes before all values."""
    return _ranks(row, order) >= _ranks(merged, order)


def _ranks(row: Row, order: Sequence[str]) -> tuple[tuple[bool, Any], ...]:
    values = [row.get(name) for name in order]
    return tuple((value is not None, value) for value in values)
