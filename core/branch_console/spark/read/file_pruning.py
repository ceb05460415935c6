"""The live files that a read with a condition needs: other files have no matching row.

Only metadata is read. A file is kept if its manifest does not rule it out. Source: Paimon
AppendOnlyFileStoreScan, KeyValueFileStoreScan, BucketSelectConverter, SimpleStatsEvolution.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Final, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.expr.predicate import (
    Compare,
    Condition,
    IsIn,
    IsNull,
    Join,
    Literal,
    Name,
    Not,
    Operand,
    holds,
    names_in,
)
from branch_console.format.avro_encoding import one_array
from branch_console.format.data_types import RowType
from branch_console.format.table_schema import BucketMode, TableSchema
from branch_console.format.values.arrow_types import to_arrow
from branch_console.format.values.binary_row import EMPTY_ROW
from branch_console.format.values.binary_rows import decode_rows
from branch_console.format.values.bucket import assign_buckets
from branch_console.format.values.fine_times import scalar_of
from branch_console.format.values.simple_stats import value_stats

Mask = npt.NDArray[np.bool_]

_MOST_KEYS: Final = 256
_OPPOSITE: Final = MappingProxyType(
    {"=": "!=", "!=": "=", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
)
_MIRRORED: Final = MappingProxyType({"<": ">", "<=": ">=", ">": "<", ">=": "<="})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnBounds:
    """The known bounds of one column in each of many files; null if nothing is known.

    Attributes:
        least, greatest: In the Arrow type of the column; no value that is not null lies outside.
        null_count: Rows that have no value, as int64.
        row_count: All rows, as int64.
    """

    least: pa.Array
    greatest: pa.Array
    null_count: pa.Array
    row_count: pa.Array


def check_condition(condition: Condition, schema: TableSchema) -> None:
    """Refuse a condition that cannot be asked of the rows of a table, before they are read.

    Raises:
        InvalidInput: It names an unknown column or a side, or compares what cannot be compared.
    """
    for name in names_in(condition):
        if name.side is not None or schema.find_field(name.column) is None:
            asked = name.column if name.side is None else f"{name.side}.{name.column}"
            raise InvalidInput(
                f"A condition names {asked!r}, which is no column. There are: "
                f"{', '.join(schema.row_type.names)}.",
                kind=ErrorKind.INVALID_ARGUMENT,
                column=asked,
            )
    holds(condition, lambda name: pa.array([], to_arrow(schema.field(name.column).type)))


def prune_files(files: pa.Table, condition: Condition, schema: TableSchema) -> pa.Table:
    """Drop files by partition, bucket and primary key, which is right however rows are merged.

    A file without a wanted key says nothing about wanted keys, so it may go though files that it
    overlaps stay; whoever reads applies the condition to what is left.

    Args:
        files: Columns of MANIFEST_ENTRY.
        condition: Over the columns of `schema`.
        schema: The schema to read with.
    """
    if not files.num_rows:
        return files
    bounds = {**_key_bounds(files, schema), **_partition_bounds(files, schema)}
    keep = may_hold(condition, bounds, files.num_rows) & _buckets(files, condition, schema)
    return files if keep.all() else files.filter(pa.array(keep))


def may_hold_rows(
    files: pa.Table,
    condition: Condition,
    schema: TableSchema,
    schemas: Mapping[int, TableSchema],
) -> Mask:
    """In which files a condition may hold for a row as it stands there, by their statistics.

    Args:
        files: Columns of MANIFEST_ENTRY.
        condition: Over the columns of `schema`.
        schema: The schema to read with.
        schemas: The schemas of the files by id.
    """
    if not files.num_rows:
        return np.ones(0, dtype=bool)
    bounds = {**_value_bounds(files, schema, schemas), **_partition_bounds(files, schema)}
    return may_hold(condition, bounds, files.num_rows)


def may_hold(
    condition: Condition, bounds: Mapping[str, ColumnBounds], count: int, *, negated: bool = False
) -> Mask:
    """Return a mask of the files that may have a row that meets a condition, or its opposite.

    If nothing is known of a file, it is in the mask.

    Args:
        condition: Its names are keys of `bounds`; of others nothing is known.
        bounds: By column, each of `count` files.
        count: How many files there are.
        negated: Whether the opposite is asked.
    """
    unknown = np.ones(count, dtype=bool)
    match condition:
        case Not(condition=inner):
            return may_hold(inner, bounds, count, negated=not negated)
        case Join(word=word, conditions=parts):
            masks = [may_hold(part, bounds, count, negated=negated) for part in parts]
            return _joined(masks, every=(word == "and") != negated)
        case IsNull(operand=operand):
            found = _bounds_of(operand, bounds)
            return unknown if found is None else _may_be_null(found, negated=negated)
        case IsIn(operand=operand, values=values):
            sign = "!=" if negated else "="
            masks = [_may_compare(sign, operand, value, bounds, count) for value in values]
            return _joined(masks, every=negated)
        case Compare(sign=sign, left=left, right=right):
            asked = _OPPOSITE[sign] if negated else sign
            if isinstance(left, Literal):
                left, right, asked = right, left, _MIRRORED.get(asked, asked)
            return _may_compare(asked, left, right, bounds, count)
        case _:
            assert_never(condition)


def _joined(masks: list[Mask], *, every: bool) -> Mask:
    found: Mask = np.logical_and.reduce(masks) if every else np.logical_or.reduce(masks)
    return found


def _may_compare(
    sign: str, operand: Operand, value: Operand, bounds: Mapping[str, ColumnBounds], count: int
) -> Mask:
    found = _bounds_of(operand, bounds)
    if found is None or not isinstance(value, Literal):
        return np.ones(count, dtype=bool)

    def is_so(of: pa.Array, sign: str) -> Mask:
        compare = Compare(sign=sign, left=Name(side=None, column=""), right=value)
        return _known(holds(compare, lambda _: of))

    has_value = _may_be_null(found, negated=True)
    match sign:
        case "=":
            return has_value & is_so(found.least, "<=") & is_so(found.greatest, ">=")
        case "!=" | "<>":
            return has_value & (is_so(found.least, "!=") | is_so(found.greatest, "!="))
        case "<" | "<=":
            return has_value & is_so(found.least, sign)
        case _:
            return has_value & is_so(found.greatest, sign)


def _may_be_null(bounds: ColumnBounds, *, negated: bool) -> Mask:
    if negated:
        return _known(pc.less(bounds.null_count, bounds.row_count))
    return _known(pc.greater(bounds.null_count, 0))


def _known(answers: pa.Array) -> Mask:
    mask: Mask = answers.fill_null(True).to_numpy(zero_copy_only=False)
    return mask


def _bounds_of(operand: Operand, bounds: Mapping[str, ColumnBounds]) -> ColumnBounds | None:
    return bounds.get(operand.column) if isinstance(operand, Name) else None


# --- what manifests say -------------------------------------------------------------------------


def _partition_bounds(files: pa.Table, schema: TableSchema) -> dict[str, ColumnBounds]:
    values = decode_rows(one_array(files["partition"], pa.binary()), schema.partition_type)
    rows = one_array(files["row_count"], pa.int64())
    return {
        name: ColumnBounds(
            least=_unless_nan(column),
            greatest=_unless_float(column),
            null_count=pc.if_else(column.is_null(), rows, 0),
            row_count=rows,
        )
        for name, column in zip(schema.partition_keys, values.flatten(), strict=True)
    }


def _key_bounds(files: pa.Table, schema: TableSchema) -> dict[str, ColumnBounds]:
    names = schema.trimmed_primary_keys
    stats = one_array(files["key_stats"], files["key_stats"].type)
    low, high = (
        _decoded(stats.field(part), schema.key_type) for part in ("min_values", "max_values")
    )
    rows = one_array(files["row_count"], pa.int64())
    unknown = pa.nulls(len(rows), pa.int64())
    return {
        name: ColumnBounds(
            least=_unless_nan(least),
            greatest=_unless_float(greatest),
            null_count=unknown,
            row_count=rows,
        )
        for name, least, greatest in zip(names, low, high, strict=True)
    }


def _decoded(rows: pa.Array, row_type: RowType) -> list[pa.Array]:
    # Not every writer collects statistics; an empty row bounds nothing.
    is_there = pc.not_equal(rows, pa.scalar(EMPTY_ROW, pa.binary()))
    return list(decode_rows(pc.if_else(is_there, rows, None), row_type).flatten())


def _value_bounds(
    files: pa.Table, schema: TableSchema, schemas: Mapping[int, TableSchema]
) -> dict[str, ColumnBounds]:
    stats = value_stats(files, schemas, schema, as_bounds=True)
    low, high, nulls = (stats.field(part) for part in ("min", "max", "null_count"))
    rows = one_array(files["row_count"], pa.int64())
    return {
        field.name: ColumnBounds(
            least=_unless_nan(pc.struct_field(low, field.name)),
            greatest=_unless_float(pc.struct_field(high, field.name)),
            null_count=pc.struct_field(nulls, field.name),
            row_count=rows,
        )
        for field in schema.fields
    }


def _unless_nan(least: pa.Array) -> pa.Array:
    # Some writers take NaN for the least of a file in which there is one.
    if not pa.types.is_floating(least.type):
        return least
    return pc.if_else(pc.is_nan(least), pa.scalar(None, least.type), least)


def _unless_float(greatest: pa.Array) -> pa.Array:
    # NaN is greater than all numbers to some readers, and statistics leave it out.
    return (
        pa.nulls(len(greatest), greatest.type) if pa.types.is_floating(greatest.type) else greatest
    )


# --- buckets ------------------------------------------------------------------------------------


def _buckets(files: pa.Table, condition: Condition, schema: TableSchema) -> Mask:
    """Return a mask of the files in buckets that may have a row with the wanted bucket keys."""
    keep = np.ones(files.num_rows, dtype=bool)
    if schema.bucket_mode is not BucketMode.HASH_FIXED:
        return keep
    keys = _wanted_keys(condition, schema)
    if keys is None:
        return keep
    totals, buckets = files["total_buckets"].to_numpy(), files["bucket"].to_numpy()
    for total in set(totals.tolist()) - {0, -1, -2}:
        # A partition keeps its number of buckets when the table gets another one.
        with_total = schema.with_options({"bucket": str(total)})
        found = assign_buckets(keys, with_total).to_numpy()
        keep &= (totals != total) | np.isin(buckets, found)
    return keep


def _wanted_keys(condition: Condition, schema: TableSchema) -> pa.Table | None:
    """All bucket keys that a condition leaves, None if it leaves too many."""
    wanted = [_equal_to(condition, name) for name in schema.bucket_keys]
    found = [values for values in wanted if values is not None]
    if len(found) < len(wanted) or math.prod(map(len, found)) > _MOST_KEYS:
        return None
    types = [to_arrow(kind) for kind in schema.field_types(schema.bucket_keys)]
    try:
        scalars = [
            [_scalar(value, kind) for value in values]
            for values, kind in zip(found, types, strict=True)
        ]
    except (pa.ArrowException, TypeError, OverflowError):
        return None
    floats = (each for kept in scalars for each in kept if pa.types.is_floating(each.type))
    if any(each.as_py() == 0 for each in floats):
        # Minus zero equals zero, and lies in a bucket of its own.
        return None
    rows = list(product(*scalars))
    return pa.table(
        {
            name: pa.array([row[at] for row in rows], kind)
            for at, (name, kind) in enumerate(zip(schema.bucket_keys, types, strict=True))
        }
    )


def _scalar(literal: Literal, kind: pa.DataType) -> pa.Scalar:
    value = literal.value
    return scalar_of(value, kind) if isinstance(value, str) else pa.scalar(value).cast(kind)


def _equal_to(condition: Condition, column: str) -> tuple[Literal, ...] | None:
    """The values of which a column must have one, None if it may have others."""
    name = Name(side=None, column=column)
    match condition:
        case Compare(sign="=", left=left, right=right) if name in (left, right):
            value = right if left == name else left
            return (value,) if isinstance(value, Literal) else None
        case IsIn(operand=operand, values=values) if operand == name:
            return values
        case Join(word="and", conditions=parts):
            found = (_equal_to(part, column) for part in parts)
            return next((values for values in found if values is not None), None)
        case Join(word="or", conditions=parts):
            each = [_equal_to(part, column) for part in parts]
            kept = [values for values in each if values is not None]
            return tuple(v for values in kept for v in values) if len(kept) == len(each) else None
        case _:
            return None
