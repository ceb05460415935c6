"""What our core says of a table, in the form in which `build_warehouses` writes down Paimon's."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from branch_console.catalog.filesystem_catalog import FilesystemCatalog
from branch_console.format.data_types import RowType
from branch_console.format.snapshot import Snapshot
from branch_console.format.values.binary_row import decode_row
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable
from tests.support.golden import to_plain

_COPIED = (
    *("bucket", "total_buckets", "level", "file_name", "file_size", "row_count"),
    *("delete_row_count", "min_sequence_number", "max_sequence_number", "schema_id"),
    *("file_source", "extra_files", "external_path", "first_row_id", "write_cols"),
    "value_stats_cols",
)

# Keys of snapshots that a version of Paimon skips when it reads what newer ones, and we, write.
_UNKNOWN_KEYS = {"1.4.2": {"uuid", "operation", "writerVersion"}, "2.0.0": {"writerVersion"}}


def open_catalog(warehouse: Path) -> FilesystemCatalog:
    """Our catalog over a warehouse on the local disk."""
    return FilesystemCatalog(FileIO.for_url(str(warehouse)), str(warehouse))


def our_schemas(table: FileStoreTable) -> list[dict[str, Any]]:
    """All schemas as their JSON, decoded and encoded again."""
    return [json.loads(schema.to_json()) for schema in table.schemas.all()]


def our_snapshots(table: FileStoreTable) -> list[dict[str, Any]]:
    """All snapshots as their JSON, decoded and encoded again."""
    return [json.loads(snapshot.to_json()) for snapshot in table.snapshots.all()]


def our_tags(table: FileStoreTable) -> dict[str, dict[str, Any]]:
    """All tags as their JSON, decoded and encoded again, by name."""
    return {tag.name: json.loads(tag.to_json()) for tag in table.tags.all()}


def our_live_files(table: FileStoreTable, snapshot: Snapshot | None) -> list[dict[str, Any]]:
    """The live files of a snapshot."""
    if snapshot is None:
        return []
    partition_type = table.schema().partition_type
    entries = table.live_files(snapshot).to_pylist()
    files = [_live_file(entry, partition_type) for entry in entries]
    return sorted(
        to_plain(files),
        key=lambda file: (file["partition_bytes"], file["bucket"], file["file_name"]),
    )


def our_index_files(table: FileStoreTable, snapshot: Snapshot | None) -> list[dict[str, Any]]:
    """The index files of a snapshot."""
    if snapshot is None:
        return []
    partition_type = table.schema().partition_type
    entries = table.index_entries(snapshot).to_pylist()
    files = [_index_file(entry, partition_type) for entry in entries]
    return sorted(
        to_plain(files),
        key=lambda file: (repr(file["partition"]), file["bucket"], file["file_name"]),
    )


def known_to(version: str, snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """A snapshot or tag without what a version of Paimon skips when it reads it."""
    unknown = _UNKNOWN_KEYS[version]
    return {key: value for key, value in snapshot.items() if key not in unknown}


def in_micros(tag: dict[str, Any]) -> dict[str, Any]:
    """A tag as Paimon writes it, its creation time with no more digits than a datetime has."""
    match tag.get("tagCreateTime"):
        case [*parts, nanos] if len(parts) == 6:
            return {**tag, "tagCreateTime": [*parts, nanos // 1000 * 1000]}
        case _:
            return tag


def partition_values(partition: bytes, partition_type: RowType) -> list[Any]:
    """The values of an encoded partition."""
    return list(decode_row(partition, partition_type.types))


def _live_file(entry: Mapping[str, Any], partition_type: RowType) -> dict[str, Any]:
    created = pa.scalar(entry["creation_time"], pa.timestamp("ms"))
    return {
        "partition": partition_values(entry["partition"], partition_type),
        "partition_bytes": entry["partition"],
        **{name: entry[name] for name in _COPIED},
        "creation_time": created.value,
        "min_key": entry["min_key"],
        "max_key": entry["max_key"],
        "key_stats": entry["key_stats"],
        "value_stats": entry["value_stats"],
    }


def _index_file(entry: Mapping[str, Any], partition_type: RowType) -> dict[str, Any]:
    ranges = entry["dv_ranges"]
    return {
        "partition": partition_values(entry["partition"], partition_type),
        **{name: entry[name] for name in ("bucket", "index_type", "file_name", "file_size")},
        "row_count": entry["row_count"],
        "deletion_vectors": None
        if ranges is None
        else [
            {
                "file": item["data_file"],
                "offset": item["offset"],
                "length": item["length"],
                "cardinality": item["cardinality"],
            }
            for item in ranges
        ],
    }
