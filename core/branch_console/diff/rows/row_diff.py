"""Rows of two states side by side: which came, which went, and which cells differ.

Rows with a key are matched by it. Without one they are a multiset: what counts is how often a row
stands on each side, and equal rows cancel.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.rows.row_kind import RowKind
from branch_console.diff.rows.same_values import plain_floats, same_values, sorted_maps
from branch_console.diff.schema_diff import ChangeKind, SchemaDiff
from branch_console.diff.state_diff import ComparedState, StateDiff
from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.data_types import (
    AtomicType,
    DataField,
    DataType,
    is_widening,
    with_nullable,
)
from branch_console.format.values.arrow_types import arrow_schema
from branch_console.format.values.binary_rows import encode_rows

KIND: Final = "kind"
CHANGED: Final = "changed"
COPIES_BEFORE: Final = "copies_before"
COPIES_AFTER: Final = "copies_after"
BEFORE: Final = "before:"
AFTER: Final = "after:"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedColumn:
    """A column of the comparison.

    Attributes:
        name: As the second state calls it, or the first where only that has it.
        type: What values of both are brought to.
        before: The column of the first state; None if it has none: its values are null then.
        after: The column of the second state.
    """

    name: str
    type: DataType
    before: DataField | None
    after: DataField | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDiffWork:
    """The rows that are compared, and how.

    Attributes:
        before, after: The states.
        columns: The compared columns.
        keys: Names of compared columns that match rows; empty for a multiset.
        places: Partitions and buckets in which files differ.
        not_compared: Sentences on columns that are left out.
    """

    before: ComparedState
    after: ComparedState
    columns: tuple[ComparedColumn, ...]
    keys: tuple[str, ...]
    places: frozenset[tuple[bytes, int]]
    not_compared: tuple[str, ...]

    @property
    def layout(self) -> pa.Schema:
        """The columns of the result; see `row_diff_schema`."""
        return row_diff_schema(self.columns)


def plan_row_diff(diff: StateDiff) -> RowDiffWork:
    """Decide what is compared of the rows of two states.

    Raises:
        InvalidInput: The states match rows by different keys.
    """
    columns, left_out = compared_columns(diff.schema)
    keys = diff.after.schema.primary_keys
    before_keys = {
        column.before.name for column in columns if column.before and column.name in keys
    }
    if before_keys != set(diff.before.schema.primary_keys):
        raise InvalidInput(
            "The two states have different primary keys, so that no row of one is a row of the "
            "other. Compare their schemas.",
            kind=ErrorKind.UNSUPPORTED,
        )
    places = zip(
        diff.places["partition"].to_pylist(), diff.places["bucket"].to_pylist(), strict=True
    )
    return RowDiffWork(
        before=diff.before,
        after=diff.after,
        columns=columns,
        keys=keys,
        places=frozenset(places),
        not_compared=left_out,
    )


def compared_columns(schema: SchemaDiff) -> tuple[tuple[ComparedColumn, ...], tuple[str, ...]]:
    """Match the columns of two schemas.

    Returns:
        The columns in the order of the second schema, those of the first alone behind them, and
        sentences on columns that cannot be compared.
    """
    own = {
        kind: {each.field_id for each in schema.changes if each.kind is kind}
        for kind in (ChangeKind.ADDED, ChangeKind.DROPPED)
    }
    before = {field.id: field for field in schema.left.fields}
    common = {
        field.id
        for field in schema.right.fields
        if field.id in before
        and field.id not in own[ChangeKind.ADDED]
        and field.id not in own[ChangeKind.DROPPED]
    }
    columns, left_out = [], []
    for field in schema.right.fields:
        if field.id not in common:
            if field.id > schema.left.highest_field_id:
                columns.append(_alone(field, after=True))
            else:
                left_out.append(f"Column {field.name!r} is not compared: only B has it.")
            continue
        old = before[field.id]
        data_type = common_type(old.type, field.type)
        if data_type is None:
            left_out.append(
                f"Column {field.name!r} is not compared: {old.type} and {field.type} have no "
                "values in common."
            )
            continue
        columns.append(ComparedColumn(name=field.name, type=data_type, before=old, after=field))
    names = {column.name for column in columns}
    for field in schema.left.fields:
        if field.id in common:
            continue
        if field.id > schema.right.highest_field_id and field.name not in names:
            columns.append(_alone(field, after=False))
        else:
            left_out.append(f"Column {field.name!r} is not compared: only A has it.")
    return tuple(columns), tuple(left_out)


def _alone(field: DataField, *, after: bool) -> ComparedColumn:
    """A column that one side added: a file that both have lacks it, so it is null on the other."""
    return ComparedColumn(
        name=field.name,
        type=with_nullable(field.type, True),
        before=None if after else field,
        after=field if after else None,
    )


def common_type(before: DataType, after: DataType) -> DataType | None:
    """The type that holds the values of both, None if there is none."""
    old, new = with_nullable(before, True), with_nullable(after, True)
    if old == new:
        return new
    if isinstance(old, AtomicType) and isinstance(new, AtomicType):
        if is_widening(old, new):
            return new
        return old if is_widening(new, old) else None
    return new if type(old) is type(new) else None


def row_diff_schema(columns: Sequence[ComparedColumn]) -> pa.Schema:
    """The columns of rows that differ.

    `kind` is a RowKind. `changed` are positions of columns whose cells differ, empty but for
    changed rows. `copies_before` and `copies_after` say how often the row stands on each side, 0 or
    1 with a key. Then the cells of both sides, `before:NAME` and `after:NAME`; all null if the
    side lacks the row.
    """
    return pa.schema(
        [
            pa.field(KIND, pa.string(), nullable=False),
            pa.field(CHANGED, pa.list_(pa.int32()), nullable=False),
            pa.field(COPIES_BEFORE, pa.int64(), nullable=False),
            pa.field(COPIES_AFTER, pa.int64(), nullable=False),
            *(
                pa.field(f"{side}{field.name}", field.type)
                for side in (BEFORE, AFTER)
                for field in arrow_columns(columns)
            ),
        ]
    )


def arrow_columns(columns: Sequence[ComparedColumn]) -> pa.Schema:
    """The compared columns as Arrow has them."""
    fields = [DataField(id=at, name=each.name, type=each.type) for at, each in enumerate(columns)]
    return pa.schema([field.remove_metadata() for field in arrow_schema(tuple(fields))])


def diff_keyed(before: pa.Table, after: pa.Table, work: RowDiffWork) -> pa.Table:
    """Compare rows that stand once a key on each side.

    Args:
        before: Rows in the columns of `arrow_columns`.
        after: The same of the other side.
        work: Names the keys.

    Returns:
        Columns of `row_diff_schema`: removed, added and changed rows, each in key order.
    """
    types = [column.type for column in work.columns if column.name in work.keys]
    names = [column.name for column in work.columns if column.name in work.keys]
    old, new = (encode_rows(rows.select(names), types) for rows in (before, after))
    at_old = pc.index_in(new, value_set=old)
    is_new = pc.is_null(at_old)
    removed = before.filter(pc.invert(pc.is_in(old, value_set=new)))
    added = after.filter(is_new)
    kept = after.filter(pc.invert(is_new))
    was = before.take(at_old.drop_null())
    differs = np.stack(
        [~same_values(_whole(was[name]), _whole(kept[name])) for name in kept.column_names], axis=1
    )
    rows = np.flatnonzero(differs.any(axis=1))
    changed = [np.flatnonzero(each).tolist() for each in differs[rows]]
    at = pa.array(rows, pa.int64())
    order = [(name, "ascending") for name in names]
    parts = [
        _laid_out(RowKind.REMOVED, removed.sort_by(order), None, work),
        _laid_out(RowKind.ADDED, None, added.sort_by(order), work),
        _laid_out(RowKind.CHANGED, was.take(at), kept.take(at), work, changed),
    ]
    return pa.concat_tables(parts)


def counted_rows(rows: pa.Table, types: Sequence[DataType]) -> pa.Array:
    """Rows as bytes that are equal exactly where the rows are: NaN is one value, and so is zero.

    The entries of a map are by key: their order means nothing.

    Args:
        rows: Columns of these types.
        types: The types of the table.
    """
    plain = [sorted_maps(plain_floats(_whole(column))) for column in rows.columns]
    table = pa.table(plain, names=rows.column_names)
    return encode_rows(table, types)


def diff_counted(rows: pa.Table, before: pa.Array, after: pa.Array, work: RowDiffWork) -> pa.Table:
    """Lay out rows of a multiset that stand more often on one side.

    Args:
        rows: Distinct rows in the columns of `arrow_columns`.
        before: How often each stands on the first side.
        after: How often on the second.
        work: The comparison to make.
    """
    parts = []
    for kind, mask in (
        (RowKind.REMOVED, pc.greater(before, after)),
        (RowKind.ADDED, pc.greater(after, before)),
    ):
        chosen = rows.filter(mask)
        is_removed = kind is RowKind.REMOVED
        laid = _laid_out(kind, chosen if is_removed else None, None if is_removed else chosen, work)
        for name, copies in ((COPIES_BEFORE, before), (COPIES_AFTER, after)):
            at = laid.schema.get_field_index(name)
            laid = laid.set_column(at, laid.schema.field(at), copies.filter(mask).cast(pa.int64()))
        parts.append(laid)
    return pa.concat_tables(parts)


def _laid_out(
    kind: RowKind,
    before: pa.Table | None,
    after: pa.Table | None,
    work: RowDiffWork,
    changed: list[list[int]] | None = None,
) -> pa.Table:
    layout = work.layout
    count = max(rows.num_rows for rows in (before, after) if rows is not None)
    cells = [
        pa.chunked_array([pa.nulls(count, column.type)]) if rows is None else rows[column.name]
        for rows in (before, after)
        for column in arrow_columns(work.columns)
    ]
    lists = pa.array(changed or [[]] * count, pa.list_(pa.int32()))
    copies = [pa.array([int(rows is not None)] * count, pa.int64()) for rows in (before, after)]
    kinds = pa.array([str(kind)] * count, pa.string())
    return pa.table([kinds, lists, *copies, *cells], schema=layout)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks()
