"""Column statistics of data files: smallest and greatest values and numbers of nulls.

They are kept as two binary rows and a list of counts, in the layout of the file's own schema, and
dense: columns without statistics are left out and the others listed. Source: Paimon SimpleStats,
SimpleStatsConverter, SimpleStatsEvolution, StatsCollectorFactories and the collectors.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import ErrorKind, FormatError, InvalidInput
from branch_console.format.avro_encoding import one_array
from branch_console.format.data_types import (
    BIGINT,
    AtomicType,
    DataField,
    DataType,
    RowType,
    TypeRoot,
)
from branch_console.format.options import METADATA_STATS_KEEP_FIRST_N, METADATA_STATS_MODE, Options
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.arrow_types import to_arrow
from branch_console.format.values.binary_row import EMPTY_ROW
from branch_console.format.values.binary_rows import decode_rows, encode_rows
from branch_console.format.values.value_casts import cast_values, keeps_order, may_read_null

_MODE: Final = re.compile(r"TRUNCATE\((\d+)\)")
_SYSTEM_FIELDS: Final = frozenset(
    {"_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "rowkind", "_ROW_ID"}
)
_KEY_FIELD_PREFIX: Final = "_KEY_"
_PER_LEVEL: Final = "metadata.stats-mode.per.level"
# Files with row ids have statistics of system columns, whose ids no schema knows.
_NO_FIELD: Final = -1
# Paimon 1.4 compares bytes as signed numbers where it prunes, 2.0 as unsigned ones.
_UNORDERED: Final = frozenset(
    {
        TypeRoot.BINARY,
        TypeRoot.VARBINARY,
        TypeRoot.BLOB,
        TypeRoot.GEOMETRY,
        TypeRoot.GEOGRAPHY,
    }
)
_SURROGATES: Final = range(0xD800, 0xE000)
_MAX_CODE_POINT: Final = 0x10FFFF


class StatsKind(StrEnum):
    """The kind of statistics that a data file keeps of a column."""

    NONE = "none"
    COUNTS = "counts"
    TRUNCATE = "truncate"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsMode:
    """The statistics that a data file keeps of a column; TRUNCATE cuts after `length` characters.

    Binary values are cut after `length` bytes.
    """

    kind: StatsKind
    length: int = 0

    @classmethod
    def parse(cls, text: str) -> "StatsMode":
        """Read `none`, `counts`, `full` or `truncate(n)`.

        Raises:
            InvalidInput: The text is none of these.
        """
        match = _MODE.fullmatch(text.upper())
        if match and int(match[1]) > 0:
            return cls(kind=StatsKind.TRUNCATE, length=int(match[1]))
        if text.lower() in {StatsKind.NONE, StatsKind.COUNTS, StatsKind.FULL}:
            return cls(kind=StatsKind(text.lower()))
        raise InvalidInput(
            f"{text!r} is no statistics mode; write none, counts, full or truncate(n) with n > 0.",
            kind=ErrorKind.INVALID_OPTION,
        )


FULL: Final = StatsMode(kind=StatsKind.FULL)
SYSTEM_FIELD_MODE: Final = StatsMode(kind=StatsKind.TRUNCATE, length=128)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleStats:
    """Statistics as a manifest keeps them; `columns` is None if they cover the whole schema."""

    min_values: bytes
    max_values: bytes
    null_counts: tuple[int | None, ...]
    columns: tuple[str, ...] | None = None


EMPTY_STATS: Final = SimpleStats(min_values=EMPTY_ROW, max_values=EMPTY_ROW, null_counts=())


def stats_modes(
    names: Sequence[str], options: Options, *, level: int | None = None
) -> tuple[StatsMode, ...]:
    """Return the mode of each column.

    A mode of the field itself wins; system fields have one of their own; of the others, only the
    first `metadata.stats-keep-first-n-columns` are collected.

    Args:
        names: The columns of the file.
        options: The options of the table.
        level: The level of the file, if the table has modes per level.

    Raises:
        InvalidInput: An option names no mode.
    """
    default = _mode_of_level(options, level) or options.read(METADATA_STATS_MODE)
    keep_first = options.read(METADATA_STATS_KEEP_FIRST_N)
    modes, count = [], 0
    for name in names:
        own = options.get(f"fields.{name}.stats-mode")
        if own is None and (name.startswith(_KEY_FIELD_PREFIX) or name in _SYSTEM_FIELDS):
            modes.append(SYSTEM_FIELD_MODE)
            continue
        is_kept = keep_first < 0 or count < keep_first
        modes.append(StatsMode.parse(own or (default if is_kept else StatsKind.NONE)))
        count += 1
    return tuple(modes)


def _mode_of_level(options: Options, level: int | None) -> str | None:
    pairs = (part.split(":", 1) for part in options.get(_PER_LEVEL, "").split(",") if ":" in part)
    return {key.strip(): mode.strip() for key, mode in pairs}.get(str(level))


def collect_stats(
    table: pa.Table, row_type: RowType, modes: Sequence[StatsMode], *, dense: bool = True
) -> SimpleStats:
    """Collect the statistics of a file's rows.

    Args:
        table: The rows; its columns are those of `row_type`, in order.
        row_type: Their types.
        modes: The statistics to collect of each column.
        dense: Whether to leave out columns without statistics (`metadata.stats-dense-store`).

    Raises:
        InvalidInput: A column does not fit its type.
    """
    collected = [
        (field, _collect(column, field.type, mode))
        for column, field, mode in zip(table.columns, row_type.fields, modes, strict=True)
    ]
    kept = [(field, stats) for field, stats in collected if stats is not None or not dense]
    types = [field.type for field, _ in kept]
    parts = [stats or _ColumnStats() for _, stats in kept]
    is_whole = len(kept) == len(collected)
    return SimpleStats(
        min_values=_one_row([part.least for part in parts], types),
        max_values=_one_row([part.greatest for part in parts], types),
        null_counts=tuple(part.null_count for part in parts),
        columns=None if is_whole else tuple(field.name for field, _ in kept),
    )


def collect_key_stats(table: pa.Table, key_type: RowType) -> SimpleStats:
    """Collect the statistics of the trimmed primary key; empty for tables without one.

    Args:
        table: The rows, with at least the key columns.
        key_type: `TableSchema.key_type`.
    """
    keys = table.select(list(key_type.names))
    modes = [SYSTEM_FIELD_MODE] * len(key_type.fields)
    return collect_stats(keys, key_type, modes, dense=False)


def collect_partition_stats(partitions: pa.Array, partition_type: RowType) -> SimpleStats:
    """Collect the statistics of a manifest's partitions, given as binary rows.

    Raises:
        FormatError: A value is no row of `partition_type`.
    """
    rows = decode_rows(pc.unique(partitions), partition_type)
    counts = pc.value_counts(partitions).field("counts")
    table = pa.Table.from_arrays(rows.flatten(), names=list(partition_type.names))
    stats = collect_stats(table, partition_type, [FULL] * table.num_columns, dense=False)
    null_counts = tuple(
        pc.sum(counts.filter(pc.is_null(column))).as_py() or 0 for column in table.columns
    )
    return SimpleStats(
        min_values=stats.min_values, max_values=stats.max_values, null_counts=null_counts
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ColumnStats:
    """Bounds are Arrow scalars, or text and bytes where they had to be cut."""

    least: Any = None
    greatest: Any = None
    null_count: int | None = None


def _one_row(values: Sequence[Any], types: Sequence[DataType]) -> bytes:
    if not types:
        return EMPTY_ROW
    # By way of Arrow, as Python has no dates beyond the year 9999 and no nanoseconds.
    columns = [
        pa.array([value], to_arrow(data_type))
        for value, data_type in zip(values, types, strict=True)
    ]
    row: bytes = encode_rows(pa.table(columns, names=[""] * len(types)), types)[0].as_py()
    return row


def _collect(column: pa.ChunkedArray, data_type: DataType, mode: StatsMode) -> _ColumnStats | None:
    if mode.kind is StatsKind.NONE or not _has_stats(data_type):
        return None
    counts = _ColumnStats(null_count=column.null_count)
    if mode.kind is StatsKind.COUNTS or not _has_bounds(data_type):
        return counts
    try:
        bounds = _bounds(column.cast(to_arrow(data_type)))
    except pa.ArrowException as error:
        raise InvalidInput(f"A column of {column.type} is no {data_type}: {error}.") from error
    if bounds is None:
        return counts
    least, greatest = bounds
    match mode.kind:
        case StatsKind.FULL:
            pass
        case StatsKind.TRUNCATE:
            least, greatest = truncate_min(least, mode.length), truncate_max(greatest, mode.length)
            if greatest is None:
                return counts
        case _:
            assert_never(mode.kind)
    return _ColumnStats(least=least, greatest=greatest, null_count=column.null_count)


def _has_stats(data_type: DataType) -> bool:
    return isinstance(data_type, AtomicType) and data_type.root is not TypeRoot.VARIANT


def _has_bounds(data_type: DataType) -> bool:
    if not isinstance(data_type, AtomicType):
        return False
    if data_type.root in {TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ}:
        # Paimon keeps finer ones as INT96 in Parquet, which has no order.
        return (data_type.precision or 0) <= 6
    return data_type.root not in _UNORDERED


def _bounds(column: pa.ChunkedArray) -> tuple[Any, Any] | None:
    is_float = pa.types.is_floating(column.type)
    # NaN has no place in the order, so one of them makes bounds useless; Parquet says the same.
    if is_float and pc.any(pc.is_nan(column)).as_py():
        return None
    found = pc.min_max(column)
    least, greatest = found["min"], found["max"]
    if not least.is_valid:
        return None
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        return least.as_py(), greatest.as_py()
    if is_float:
        # The two zeros are equal; bounds take in both.
        least = pa.scalar(least.as_py() or -0.0, column.type)
        greatest = pa.scalar(greatest.as_py() or 0.0, column.type)
    return least, greatest


def truncate_min(value: Any, length: int) -> Any:
    """Return a lower bound of at most `length` characters or bytes; other values as they are."""
    return value[:length] if isinstance(value, str | bytes) else value


def truncate_max(value: Any, length: int) -> Any:
    """Return an upper bound of at most `length` characters or bytes, None if there is none."""
    if not isinstance(value, str | bytes) or len(value) <= length:
        return value
    if isinstance(value, bytes):
        kept = value[:length].rstrip(b"\xff")
        return kept[:-1] + bytes([kept[-1] + 1]) if kept else None
    for i in range(length - 1, -1, -1):
        following = ord(value[i]) + 1
        if following in _SURROGATES:
            # Halves of surrogate pairs are no characters; the next real one is above them all.
            following = _SURROGATES.stop
        if following <= _MAX_CODE_POINT:
            return value[:i] + chr(following)
    return None


def value_stats(
    entries: pa.Table,
    schemas: Mapping[int, TableSchema],
    target: TableSchema,
    *,
    as_bounds: bool = False,
) -> pa.StructArray:
    """Decode the value statistics of files and bring them to one schema, column by field id.

    Args:
        entries: schema_id, value_stats, value_stats_cols, write_cols, row_count of MANIFEST_ENTRY.
        schemas: The schemas of the files, by the id on the branch that wrote them.
        target: The schema to show them in.
        as_bounds: Whether only that is told which holds of the values as they are read today:
            those of a column that was narrowed may lie outside of the bounds of their file, and
            those that are null now were not counted.

    Returns:
        A struct per entry: `min` and `max`, structs of the target's columns in their Arrow types,
        and `null_count`, a struct of int64: all rows for a column that the file lacks, null for one
        that has no statistics.

    Raises:
        FormatError: Statistics do not fit the schema of their file, or the schema is unknown.
    """
    parts, positions = [], []
    for key, indices in _groups(entries).items():
        schema_id, stats_columns, write_columns = key
        schema = schemas.get(schema_id)
        if schema is None:
            raise FormatError(
                f"Files were written with schema {schema_id}, which this branch does not have.",
                kind=ErrorKind.SCHEMA_NOT_FOUND,
                schema_id=schema_id,
            )
        in_file = _fields(schema, write_columns)
        in_stats = in_file if stats_columns is None else _fields(schema, stats_columns)
        parts.append(
            _evolved(entries.take(pa.array(indices)), in_file, in_stats, target, as_bounds)
        )
        positions += indices
    order = pa.array(np.argsort(np.array(positions, dtype=np.int64)))
    return pa.concat_arrays(parts).take(order) if parts else pa.array([], _result_type(target))


def _groups(entries: pa.Table) -> dict[tuple[int, Any, Any], list[int]]:
    groups: dict[tuple[int, Any, Any], list[int]] = {}
    keys = zip(
        entries["schema_id"].to_pylist(),
        (None if v is None else tuple(v) for v in entries["value_stats_cols"].to_pylist()),
        (None if v is None else tuple(v) for v in entries["write_cols"].to_pylist()),
        strict=True,
    )
    for i, key in enumerate(keys):
        groups.setdefault(key, []).append(i)
    return groups


def _fields(schema: TableSchema, columns: tuple[str, ...] | None) -> tuple[DataField, ...]:
    if columns is None:
        return schema.fields
    return tuple(
        schema.find_field(name) or DataField(id=_NO_FIELD, name=name, type=BIGINT)
        for name in columns
        if schema.find_field(name) or name in _SYSTEM_FIELDS
    )


def _result_type(target: TableSchema) -> pa.DataType:
    values = pa.struct([pa.field(field.name, to_arrow(field.type)) for field in target.fields])
    counts = pa.struct([pa.field(field.name, pa.int64()) for field in target.fields])
    return pa.struct([("min", values), ("max", values), ("null_count", counts)])


def _evolved(
    group: pa.Table,
    in_file: tuple[DataField, ...],
    in_stats: tuple[DataField, ...],
    target: TableSchema,
    as_bounds: bool,
) -> pa.StructArray:
    stats = one_array(group["value_stats"], group["value_stats"].type)
    row_type = RowType(fields=in_stats)
    least = _decode_unless_dropped(stats.field("min_values"), row_type)
    greatest = _decode_unless_dropped(stats.field("max_values"), row_type)
    known = {field.id for field in in_file}
    positions = {field.id: i for i, field in enumerate(in_stats)}
    columns: dict[str, list[pa.Array]] = {"min": [], "max": [], "null_count": []}
    for field in target.fields:
        i = positions.get(field.id)
        written = None if i is None else in_stats[i].type
        is_in_order = not as_bounds or _keeps_order(written, field.type)
        columns["min"].append(_bound(least, i if is_in_order else None, written, field.type))
        columns["max"].append(_bound(greatest, i if is_in_order else None, written, field.type))
        if i is not None and as_bounds and _may_read_null(written, field.type):
            columns["null_count"].append(pa.nulls(len(stats), pa.int64()))
        elif i is not None:
            columns["null_count"].append(_nth(stats.field("null_counts"), i))
        elif field.id in known:
            columns["null_count"].append(pa.nulls(len(stats), pa.int64()))
        else:
            # The file has no such column: all of its rows read as null.
            columns["null_count"].append(one_array(group["row_count"], pa.int64()))
    result = _result_type(target)
    structs = [
        pa.StructArray.from_arrays(columns[part.name], fields=list(part.type)) for part in result
    ]
    return pa.StructArray.from_arrays(structs, fields=list(result))


def _decode_unless_dropped(rows: pa.Array, row_type: RowType) -> pa.StructArray:
    if row_type.fields:
        # Writers may drop the statistics of deleted files.
        rows = pc.if_else(pc.equal(rows, pa.scalar(EMPTY_ROW, pa.binary())), None, rows)
    return decode_rows(rows, row_type)


def _keeps_order(written: DataType | None, wanted: DataType) -> bool:
    if not isinstance(written, AtomicType) or not isinstance(wanted, AtomicType):
        return False
    return keeps_order(written, wanted)


def _may_read_null(written: DataType | None, wanted: DataType) -> bool:
    if not isinstance(written, AtomicType) or not isinstance(wanted, AtomicType):
        return False
    return may_read_null(written, wanted)


def _bound(
    rows: pa.StructArray, i: int | None, written: DataType | None, wanted: DataType
) -> pa.Array:
    nothing = pa.nulls(len(rows), to_arrow(wanted))
    if i is None or not isinstance(written, AtomicType) or not isinstance(wanted, AtomicType):
        return nothing
    try:
        return cast_values(pc.struct_field(rows, i), written, wanted)
    except (pa.ArrowException, InvalidInput):
        # A value that the new type cannot hold bounds nothing.
        return nothing


def _nth(lists: pa.Array, i: int) -> pa.Array:
    """The element `i` of each list, null if the list is shorter."""
    lengths = lists.value_lengths().fill_null(0).to_numpy()
    starts = np.cumsum(lengths) - lengths
    return lists.flatten().take(pa.array(starts + i, pa.int64(), mask=lengths <= i))
