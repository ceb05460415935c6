"""The profile of rows that were read: columns are counted by value, and all follows from that."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.format.data_types import DataField
from branch_console.format.values.binary_rows import encode_rows
from branch_console.format.values.fine_times import is_fine, time_texts
from branch_console.quality.distinct_values import distinct_values, merge_distinct_values
from branch_console.quality.distribution import Ints, distribution_of
from branch_console.quality.measures import to_measures
from branch_console.quality.moments import moments_of
from branch_console.quality.profile import ColumnKind, ColumnProfile, Detail, Profile, kind_of
from branch_console.quality.top_values import top_values


def profile_rows(
    rows: pa.Table, fields: Sequence[DataField], keys: Sequence[str], detail: Detail
) -> Profile:
    """Profile rows.

    Args:
        rows: Columns in the Arrow types of `fields`.
        fields: The profiled columns.
        keys: Names of those that make up the key; empty for a table without.
        detail: How much of the values is kept.
    """
    types = {field.name: field.type for field in fields}
    found = None
    if keys:
        packed = encode_rows(rows.select(list(keys)), [types[name] for name in keys])
        # All hashes first: a key that stands there twice is seen only among all of them.
        found = distinct_values(packed, None)
    return Profile(
        rows=rows.num_rows,
        columns={
            name: profile_column(rows[name], kind_of(kind), detail) for name, kind in types.items()
        },
        keys=None if found is None else merge_distinct_values([found], detail.hashes),
        repeated_keys=0 if found is None else rows.num_rows - found.count,
    )


def profile_column(column: pa.ChunkedArray, kind: ColumnKind, detail: Detail) -> ColumnProfile:
    """Profile a column of rows."""
    rows, nulls = len(column), column.null_count
    if kind is ColumnKind.OTHER:
        return ColumnProfile(rows=rows, nulls=nulls)
    valid = column.combine_chunks().drop_null()
    if pa.types.is_floating(valid.type):
        # Minus zero and zero add up to zero.
        valid = pc.add(valid, pa.scalar(0.0, valid.type))
    counted = pc.value_counts(valid)
    values, counts = counted.field("values"), counted.field("counts")
    weights: Ints = counts.to_numpy()
    nans = 0
    distinct = distinct_values(values, detail.hashes)
    if pa.types.is_floating(values.type):
        is_nan = pc.is_nan(values)
        nans = int(weights[is_nan.to_numpy(zero_copy_only=False)].sum())
        values, counts = (each.filter(pc.invert(is_nan)) for each in (values, counts))
        weights = counts.to_numpy()
    measures = to_measures(values, kind)
    low, high = _ends(values, kind)
    return ColumnProfile(
        rows=rows,
        nulls=nulls,
        nans=nans,
        low=low,
        high=high,
        moments=None if measures is None else moments_of(measures[0], weights, measures[1]),
        distribution=None
        if measures is None
        else distribution_of(measures[0], weights, detail.points, measures[1]),
        distinct=distinct,
        top=top_values(values, counts, detail.top) if kind.has_categories else None,
    )


def _ends(values: pa.Array, kind: ColumnKind) -> tuple[str | None, str | None]:
    found = pc.min_max(values)
    low, high = found["min"], found["max"]
    if not low.is_valid:
        return None, None
    if kind is ColumnKind.BYTES:
        return low.as_py().hex(), high.as_py().hex()
    if is_fine(values.type):
        low, high = time_texts(pa.array([low.as_py(), high.as_py()], values.type))
    return low.cast(pa.string()).as_py(), high.cast(pa.string()).as_py()
