"""The system tables made from manifests: files, partitions, buckets, manifests, indexes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.format import options as table_options
from branch_console.format.avro_encoding import one_array, whole
from branch_console.format.data_types import RowType
from branch_console.format.manifest_entry import NO_FILES, FileKind, FileSource
from branch_console.format.partition_path import partition_path, value_text
from branch_console.format.read_branches import FallbackOrder, FallbackRule
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_row import EMPTY_ROW, decode_row
from branch_console.format.values.simple_stats import value_stats
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.java_text import (
    cast_row_text,
    each_row_text,
    internal_row_text,
    internal_texts,
    map_texts,
)

_TIMESTAMP: Final = pa.timestamp("ms")
_FILES: Final = pa.schema(
    [
        ("partition", pa.string()),
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("file_path", pa.string(), nullable=False),
        pa.field("file_format", pa.string(), nullable=False),
        pa.field("schema_id", pa.int64(), nullable=False),
        pa.field("level", pa.int32(), nullable=False),
        pa.field("record_count", pa.int64(), nullable=False),
        pa.field("file_size_in_bytes", pa.int64(), nullable=False),
        ("min_key", pa.string()),
        ("max_key", pa.string()),
        pa.field("null_value_counts", pa.string(), nullable=False),
        pa.field("min_value_stats", pa.string(), nullable=False),
        pa.field("max_value_stats", pa.string(), nullable=False),
        ("min_sequence_number", pa.int64()),
        ("max_sequence_number", pa.int64()),
        ("creation_time", _TIMESTAMP),
        ("deleteRowCount", pa.int64()),
        ("file_source", pa.string()),
        ("first_row_id", pa.int64()),
        ("write_cols", pa.list_(pa.field("element", pa.string(), nullable=False))),
    ]
)
_FILE_KEY_RANGES: Final = pa.schema([*list(_FILES)[:10], _FILES.field("first_row_id")])
_PARTITIONS: Final = pa.schema(
    [
        ("partition", pa.string()),
        pa.field("record_count", pa.int64(), nullable=False),
        pa.field("file_size_in_bytes", pa.int64(), nullable=False),
        pa.field("file_count", pa.int64(), nullable=False),
        ("last_update_time", _TIMESTAMP),
        ("created_at", _TIMESTAMP),
        ("created_by", pa.string()),
        ("updated_by", pa.string()),
        ("options", pa.string()),
        pa.field("total_buckets", pa.int32(), nullable=False),
        pa.field("done", pa.bool_(), nullable=False),
        ("deleted_record_count", pa.int64()),
    ]
)
_BUCKETS: Final = pa.schema(
    [
        ("partition", pa.string()),
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("record_count", pa.int64(), nullable=False),
        pa.field("file_size_in_bytes", pa.int64(), nullable=False),
        pa.field("file_count", pa.int64(), nullable=False),
        ("last_update_time", _TIMESTAMP),
    ]
)
_MANIFESTS: Final = pa.schema(
    [
        pa.field("file_name", pa.string(), nullable=False),
        pa.field("file_size", pa.int64(), nullable=False),
        pa.field("num_added_files", pa.int64(), nullable=False),
        pa.field("num_deleted_files", pa.int64(), nullable=False),
        pa.field("schema_id", pa.int64(), nullable=False),
        ("min_partition_stats", pa.string()),
        ("max_partition_stats", pa.string()),
        ("min_row_id", pa.int64()),
        ("max_row_id", pa.int64()),
    ]
)
_VECTOR_RANGE: Final = pa.struct(
    [
        pa.field("f0", pa.string(), nullable=False),
        pa.field("f1", pa.int32(), nullable=False),
        pa.field("f2", pa.int32(), nullable=False),
        ("_CARDINALITY", pa.int64()),
    ]
)
_TABLE_INDEXES: Final = pa.schema(
    [
        ("partition", pa.string()),
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("index_type", pa.string(), nullable=False),
        pa.field("file_name", pa.string(), nullable=False),
        pa.field("file_size", pa.int64(), nullable=False),
        pa.field("row_count", pa.int64(), nullable=False),
        ("dv_ranges", pa.list_(pa.field("element", _VECTOR_RANGE))),
        ("row_range_start", pa.int64()),
        ("row_range_end", pa.int64()),
        ("index_field_id", pa.int32()),
        ("index_field_name", pa.string()),
    ]
)
_DELETION_VECTORS: Final = "DELETION_VECTORS"


def read_files(table: FileStoreTable, zone: tzinfo) -> pa.Table:
    """`files`: what a batch reader of the head reads, with keys and statistics as text."""
    return _rows_of_files(table, _readable_files(table), zone)


def read_first_files(table: FileStoreTable, zone: tzinfo, most: int) -> tuple[pa.Table, int]:
    """Return the first rows of `files`, and how many rows it has; only those are made text."""
    files = _readable_files(table)
    return _rows_of_files(table, files.slice(0, most), zone), files.num_rows


def _rows_of_files(table: FileStoreTable, files: pa.Table, zone: tzinfo) -> pa.Table:
    schema = table.schema()
    schemas = _schemas_of(table, files)
    stats = value_stats(files, schemas, schema)
    columns = _key_range_columns(table, files, schema, schemas, zone)
    null_counts, low, high = (stats.field(name) for name in ("null_count", "min", "max"))
    columns |= {
        "null_value_counts": map_texts(
            (
                (field.name, _null_counts(null_counts.field(i), files, field.name))
                for i, field in enumerate(schema.fields)
            ),
            files.num_rows,
        ),
        "min_value_stats": _stats_texts(low, schema),
        "max_value_stats": _stats_texts(high, schema),
        "deleteRowCount": files["delete_row_count"],
        "file_source": _source_names(files["file_source"]),
    }
    return _table_of({**_as_they_are(files), **columns}, _FILES)


def read_file_key_ranges(table: FileStoreTable, zone: tzinfo) -> pa.Table:
    """`file_key_ranges`: `files` without statistics, which are dear to decode."""
    files = _readable_files(table)
    columns = _key_range_columns(table, files, table.schema(), _schemas_of(table, files), zone)
    return _table_of({**_as_they_are(files), **columns}, _FILE_KEY_RANGES)


def read_partitions(table: FileStoreTable, zone: tzinfo) -> pa.Table:
    """`partitions` of the head, and those that an option lets it read from another branch."""
    schema = table.schema()
    first, second = table, None
    rule = FallbackRule.of(schema, table.branch)
    # Paimon reads on without a branch that is not there.
    if rule is not None and table.on(rule.branch).schemas.find_latest() is not None:
        second = table.on(rule.branch)
        if rule.order is FallbackOrder.OTHER_FIRST:
            first, second = second, table
    found = _partitions_of(first, first.head())
    if second is not None:
        more = _partitions_of(second, second.head())
        found = pa.concat_tables([found, _without(more, found["partition"])])
    columns = {name: found[name] for name in found.column_names}
    count = found.num_rows
    columns["partition"] = each_row_text(
        found["partition"], schema.partition_type, partial(_partition_name, schema, zone)
    )
    for field in _PARTITIONS:
        columns.setdefault(field.name, pa.nulls(count, field.type))
    columns["done"] = pa.repeat(pa.scalar(False), count)
    return _table_of(columns, _PARTITIONS).sort_by("partition")


def read_buckets(table: FileStoreTable, zone: tzinfo) -> pa.Table:
    """`buckets` of the head, by partition and bucket."""
    found = count_files(table, table.head(), ["partition", "bucket"])
    columns = {name: found[name] for name in found.column_names}
    columns["partition"] = _cast_partitions(found["partition"], table.schema(), zone)
    sorted_by = [("partition", "ascending"), ("bucket", "ascending")]
    return _table_of(columns, _BUCKETS).sort_by(sorted_by)


def read_manifests(table: FileStoreTable, zone: tzinfo) -> pa.Table:
    """`manifests` of the head, oldest first, then those of its changelog."""
    head = table.head()
    if head is None:
        return _MANIFESTS.empty_table()
    manifests = table.manifests(head)
    if head.changelog_manifest_list is not None:
        changelogs = table.scan.read_list(table.paths, head.changelog_manifest_list)
        manifests = pa.concat_tables([manifests, changelogs])
    stats = whole(manifests["partition_stats"])
    schema = table.schema()
    columns = {name: manifests[name] for name in manifests.column_names}
    for ours, theirs in (("min", "min_values"), ("max", "max_values")):
        rows = pa.chunked_array([stats.field(theirs)])
        columns[f"{ours}_partition_stats"] = _cast_partitions(rows, schema, zone)
    return _table_of(columns, _MANIFESTS)


def read_table_indexes(table: FileStoreTable, zone: tzinfo) -> pa.Table:
    """`table_indexes` of the head: deletion vectors, hash indexes, global indexes."""
    head = table.head()
    if head is None:
        return _TABLE_INDEXES.empty_table()
    entries = table.index_entries(head)
    schema = table.schema()
    rows = [_index_row(entry, schema) for entry in entries.to_pylist()]
    found = pa.Table.from_pylist(rows, _TABLE_INDEXES)
    partitions = _cast_partitions(entries["partition"], schema, zone)
    return found.set_column(0, _TABLE_INDEXES.field("partition"), partitions)


def _index_row(entry: dict[str, Any], schema: TableSchema) -> dict[str, Any]:
    ranges = entry["dv_ranges"]
    index = entry["global_index"] or {}
    field_id = index.get("index_field_id")
    names = {field.id: field.name for field in schema.fields}
    ids = [field_id, *(index.get("extra_field_ids") or ())] if index else []
    are_known = bool(ids) and all(each in names for each in ids)
    return {
        **{name: entry[name] for name in ("bucket", "index_type", "file_name", "file_size")},
        "row_count": entry["row_count"],
        "dv_ranges": ranges and [_vector_range(each) for each in ranges],
        "row_range_start": index.get("row_range_start"),
        "row_range_end": index.get("row_range_end"),
        "index_field_id": field_id,
        "index_field_name": ",".join(names[each] for each in ids) if are_known else None,
    }


def _vector_range(found: dict[str, Any]) -> dict[str, Any]:
    return dict(zip(("f0", "f1", "f2", "_CARDINALITY"), found.values(), strict=True))


def _readable_files(table: FileStoreTable) -> pa.Table:
    head = table.head()
    if head is None:
        return NO_FILES
    files = table.live_files(head)
    # Files in the postpone bucket are invisible to batch readers until a compaction moves them.
    return files.filter(pc.greater_equal(files["bucket"], 0))


def _schemas_of(table: FileStoreTable, files: pa.Table) -> dict[int, TableSchema]:
    newest = table.schema()
    ids = {int(each) for each in pc.unique(files["schema_id"]).to_pylist()}
    return {each: newest if each == newest.id else table.schemas.get(each) for each in ids}


def _key_range_columns(
    table: FileStoreTable,
    files: pa.Table,
    schema: TableSchema,
    schemas: dict[int, TableSchema],
    zone: tzinfo,
) -> dict[str, pa.Array]:
    return {
        "partition": _cast_partitions(files["partition"], schema, zone),
        "file_path": _file_paths(table, files, schema, zone),
        "file_format": _formats(files["file_name"]),
        "record_count": files["row_count"],
        "file_size_in_bytes": files["file_size"],
        "min_key": _key_texts(files, "min_key", schemas),
        "max_key": _key_texts(files, "max_key", schemas),
    }


def _formats(names: pa.ChunkedArray) -> pa.Array:
    return pa.array([name.rsplit(".", 1)[-1] for name in names.to_pylist()], pa.string())


def _file_paths(
    table: FileStoreTable, files: pa.Table, schema: TableSchema, zone: tzinfo
) -> pa.Array:
    paths = table.data_paths()
    reader = table.reader.files
    root = paths.table if reader.is_local else reader.url(paths.table)
    shown = TablePaths(table=root, branch=paths.branch, data_directory=paths.data_directory)

    def folder(values: Sequence[Any], _: RowType) -> str:
        return partition_path(tuple(values), schema, zone=zone)

    partitions = each_row_text(files["partition"], schema.partition_type, folder).to_pylist()
    places = list(zip(partitions, files["bucket"].to_pylist(), strict=True))
    folders = {place: shown.bucket(*place) for place in set(places)}
    found = zip(
        places, files["file_name"].to_pylist(), files["external_path"].to_pylist(), strict=True
    )
    return pa.array(
        [external or f"{folders[place]}/{name}" for place, name, external in found], pa.string()
    )


def _key_texts(files: pa.Table, column: str, schemas: dict[int, TableSchema]) -> pa.Array:
    columns = (files[name].to_pylist() for name in (column, "schema_id", "level"))
    items: list[tuple[bytes, int, int]] = list(zip(*columns, strict=True))
    known = {
        item: _key_text(key, schemas[schema_id], level)
        for item in set(items)
        for key, schema_id, level in [item]
    }
    return pa.array([known[item] for item in items], pa.string())


def _key_text(key: bytes, schema: TableSchema, level: int) -> str | None:
    if key == EMPTY_ROW:
        return None
    row_type = schema.min_key_type(level) if schema.trimmed_primary_keys else schema.row_type
    return internal_row_text(decode_row(key, row_type.types), row_type)


def _null_counts(counts: pa.Array, files: pa.Table, column: str) -> pa.Array:
    # A file that holds only some columns counts all its rows as null in the others.
    lacks = [cols is not None and column not in cols for cols in files["write_cols"].to_pylist()]
    rows = one_array(files["row_count"], pa.int64())
    return pc.if_else(pa.array(lacks, pa.bool_()), rows, counts).cast(pa.string())


def _stats_texts(bounds: pa.StructArray, schema: TableSchema) -> pa.Array:
    return map_texts(
        (
            (field.name, internal_texts(bounds.field(i), field.type))
            for i, field in enumerate(schema.fields)
        ),
        len(bounds),
    )


def _source_names(sources: pa.ChunkedArray) -> pa.Array:
    names = pa.array([source.name for source in FileSource])
    return names.take(whole(sources))


def _cast_partitions(rows: pa.ChunkedArray, schema: TableSchema, zone: tzinfo) -> pa.Array:
    return each_row_text(rows, schema.partition_type, partial(cast_row_text, zone=zone))


def _partition_name(
    schema: TableSchema, zone: tzinfo, values: Sequence[Any], row_type: RowType
) -> str:
    default = schema.options.read(table_options.PARTITION_DEFAULT_NAME)
    texts = (
        default if value is None else value_text(value, kind, is_legacy=False, zone=zone)
        for value, kind in zip(values, row_type.types, strict=True)
    )
    named = zip(schema.partition_keys, texts, strict=True)
    return "/".join(f"{key}={text if text.strip() else default}" for key, text in named)


def count_files(table: FileStoreTable, head: Snapshot | None, keys: list[str]) -> pa.Table:
    """Return what the live files of a snapshot come to, group by group.

    Args:
        table: The table.
        head: The snapshot; None for an empty branch.
        keys: Columns of MANIFEST_ENTRY that make a group.

    Returns:
        The keys, `record_count`, `file_size_in_bytes`, `file_count` of a group with live files,
        `last_update_time`, when its newest file was written, deleted or not, and `total_buckets`.
    """
    return _counted(_all_entries(table, head), keys)


def _partitions_of(table: FileStoreTable, head: Snapshot | None) -> pa.Table:
    entries = _all_entries(table, head)
    found = _counted(entries.filter(pc.greater_equal(entries["bucket"], 0)), ["partition"])
    deleted = _deleted_counts(table, head)
    counts = [deleted.get(each, 0) for each in found["partition"].to_pylist()]
    return found.append_column("deleted_record_count", pa.array(counts, pa.int64()))


def _deleted_counts(table: FileStoreTable, head: Snapshot | None) -> dict[bytes, int | None]:
    if head is None or not table.schema().options.read(table_options.DELETION_VECTORS_ENABLED):
        return {}
    counts: dict[bytes, int | None] = {}
    for entry in table.index_entries(head).to_pylist():
        if entry["index_type"] != _DELETION_VECTORS:
            continue
        for each in entry["dv_ranges"] or ():
            known = counts.get(entry["partition"], 0)
            # Paimon 0.9 did not count: one unknown makes the sum unknown.
            is_unknown = known is None or each["cardinality"] is None
            counts[entry["partition"]] = None if is_unknown else known + each["cardinality"]
    return counts


def _without(partitions: pa.Table, known: pa.ChunkedArray) -> pa.Table:
    is_known = pc.is_in(partitions["partition"], value_set=whole(known))
    return partitions.filter(pc.invert(is_known))


def _all_entries(table: FileStoreTable, head: Snapshot | None) -> pa.Table:
    if head is None:
        return NO_FILES
    return table.read_manifests(table.manifests(head))


def _counted(entries: pa.Table, keys: list[str]) -> pa.Table:
    """Rows, bytes and files a group; the time is that of deleted files too, as in Paimon."""
    is_added = pc.equal(entries["kind"], int(FileKind.ADD))
    sign = pc.if_else(is_added, pa.scalar(1, pa.int64()), pa.scalar(-1, pa.int64()))
    signed = pa.table(
        {
            **{key: entries[key] for key in keys},
            "record_count": pc.multiply(entries["row_count"], sign),
            "file_size_in_bytes": pc.multiply(entries["file_size"], sign),
            "file_count": sign,
            "last_update_time": entries["creation_time"],
            "total_buckets": entries["total_buckets"],
        }
    )
    sums = ["record_count", "file_size_in_bytes", "file_count"]
    grouped = signed.group_by(keys, use_threads=False).aggregate(
        [
            *((name, "sum") for name in sums),
            ("last_update_time", "max"),
            ("total_buckets", "last"),
        ]
    )
    renamed = [
        name.removesuffix("_sum").removesuffix("_max").removesuffix("_last")
        for name in grouped.column_names
    ]
    found = grouped.rename_columns(renamed)
    return found.filter(pc.greater(found["file_count"], 0))


def _as_they_are(files: pa.Table) -> dict[str, pa.ChunkedArray]:
    return {name: files[name] for name in files.column_names}


def _table_of(columns: dict[str, Any], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_arrays(
        [columns[field.name].cast(field.type) for field in schema], schema=schema
    )
