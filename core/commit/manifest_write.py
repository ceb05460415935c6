"""New manifests of a commit: entries become files, and each file a line of a manifest list."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from core.format import options as table_options
from core.format.binary_row import decode_row, encode_row
from core.format.data_types import RowType
from core.format.manifest_entry import FileKind, encode_manifest
from core.format.manifest_list import MANIFEST_FILE_META
from core.format.table_schema import TableSchema

_CODECS = {"zstd": "zstandard", "none": "null", "uncompressed": "null"}
_SAMPLE_ROWS = 2_000


def manifest_codec(schema: TableSchema) -> str:
    """The Avro codec of a table's manifests."""
    name = schema.options.read(table_options.MANIFEST_COMPRESSION).lower()
    return _CODECS.get(name, name)


def encode_manifests(
    entries: pa.Table, schema: TableSchema, new_name: Callable[[], str]
) -> tuple[list[tuple[str, bytes]], pa.Table]:
    """Encode entries as manifests of about the size that the table's options ask for.

    Args:
        entries: Columns of MANIFEST_ENTRY, in their order.
        schema: The newest schema of the branch.
        new_name: Names the next manifest.

    Returns:
        File names with bytes, and a line for each with the columns of MANIFEST_FILE_META.
    """
    codec = manifest_codec(schema)
    files, metas = [], []
    for part in _parts(
        entries, codec, schema.options.read(table_options.MANIFEST_TARGET_FILE_SIZE)
    ):
        name, data = new_name(), encode_manifest(part, codec)
        files.append((name, data))
        metas.append(_meta(part, name, len(data), schema))
    return files, pa.Table.from_pylist(metas, schema=MANIFEST_FILE_META)


def _parts(entries: pa.Table, codec: str, target_bytes: int) -> list[pa.Table]:
    if entries.num_rows <= _SAMPLE_ROWS:
        return [entries] if entries.num_rows else []
    sample = len(encode_manifest(entries.slice(0, _SAMPLE_ROWS), codec))
    rows = max(_SAMPLE_ROWS, target_bytes * _SAMPLE_ROWS // sample)
    return [entries.slice(start, rows) for start in range(0, entries.num_rows, rows)]


def _meta(entries: pa.Table, name: str, size: int, schema: TableSchema) -> dict[str, Any]:
    added = pc.sum(pc.equal(entries["kind"], int(FileKind.ADD))).as_py()
    row_ids = entries["first_row_id"]
    last_row_ids = pc.subtract(pc.add(row_ids, entries["row_count"]), 1)
    # A file without row ids may hold any: then nothing may be skipped by them.
    knows_row_ids = row_ids.null_count == 0
    return {
        "file_name": name,
        "file_size": size,
        "num_added_files": added,
        "num_deleted_files": entries.num_rows - added,
        "partition_stats": partition_stats(entries["partition"], schema.partition_type),
        "schema_id": schema.id,
        "min_bucket": pc.min(entries["bucket"]).as_py(),
        "max_bucket": pc.max(entries["bucket"]).as_py(),
        "min_level": pc.min(entries["level"]).as_py(),
        "max_level": pc.max(entries["level"]).as_py(),
        "min_row_id": pc.min(row_ids).as_py() if knows_row_ids else None,
        "max_row_id": pc.max(last_row_ids).as_py() if knows_row_ids else None,
    }


def partition_stats(partitions: pa.ChunkedArray, partition_type: RowType) -> dict[str, Any]:
    """Smallest and largest value and the number of nulls of each partition column.

    Args:
        partitions: Encoded BinaryRows, one an entry.
        partition_type: The partition columns.

    Returns:
        A value of STATS.
    """
    types = partition_type.types
    counted = pc.value_counts(partitions.combine_chunks())
    rows = [
        (decode_row(value.as_py(), types), count.as_py())
        for value, count in zip(counted.field(0), counted.field(1), strict=True)
    ]
    low, high, nulls = [], [], []
    for index in range(len(types)):
        values = [row[index] for row, _ in rows if row[index] is not None]
        low.append(min(values, default=None))
        high.append(max(values, default=None))
        nulls.append(sum(count for row, count in rows if row[index] is None))
    return {
        "min_values": encode_row(low, types),
        "max_values": encode_row(high, types),
        "null_counts": nulls,
    }
