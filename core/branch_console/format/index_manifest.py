"""Index manifests: all index files of a snapshot, deletion vectors among them.

Unlike manifests they are complete: each one lists everything, and nothing is deleted in it. Source:
Paimon IndexManifestEntry, IndexFileMeta, DeletionVectorMeta, GlobalIndexMeta.
"""

from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.format.avro_encoding import (
    VERSION_FIELD,
    AvroLayout,
    check_file_names,
    paimon_fields,
    relabel,
    required,
    version_column,
    whole,
    write_avro,
)
from branch_console.format.manifest_file import read_records
from branch_console.format.values.arrow_types import no_rows
from branch_console.format.values.deletion_vector import DeletionVectorRange

INDEX_MANIFEST_VERSION: Final = 1


class IndexType(StrEnum):
    """The index files that this product understands; others are carried along."""

    HASH = "HASH"
    DELETION_VECTORS = "DELETION_VECTORS"


_RANGE: Final = (
    required("data_file", pa.string()),
    required("offset", pa.int32()),
    required("length", pa.int32()),
    pa.field("cardinality", pa.int64()),
)
_GLOBAL_INDEX: Final = (
    required("row_range_start", pa.int64()),
    required("row_range_end", pa.int64()),
    required("index_field_id", pa.int32()),
    pa.field("extra_field_ids", pa.list_(required("element", pa.int32()))),
    pa.field("index_meta", pa.binary()),
    pa.field("source_meta", pa.binary()),
)
_ENTRY: Final = (
    required("kind", pa.int32()),
    required("partition", pa.binary()),
    required("bucket", pa.int32()),
    required("index_type", pa.string()),
    required("file_name", pa.string()),
    required("file_size", pa.int64()),
    required("row_count", pa.int64()),
)

# `file_size` in bytes; `offset` and `length` of a deletion vector as its format counts them.
INDEX_MANIFEST_ENTRY: Final = pa.schema(
    [
        *_ENTRY,
        pa.field("dv_ranges", pa.list_(pa.field("element", pa.struct(list(_RANGE))))),
        pa.field("external_path", pa.string()),
        pa.field("global_index", pa.struct(list(_GLOBAL_INDEX))),
    ]
)
NO_INDEX_FILES: Final = no_rows(INDEX_MANIFEST_ENTRY)
_PAIMON_RANGE: Final = [
    pa.field(name, field.type, field.nullable)
    for name, field in zip(("f0", "f1", "f2", "_CARDINALITY"), _RANGE, strict=True)
]
_LAYOUT: Final = pa.schema(
    [
        VERSION_FIELD,
        *paimon_fields(_ENTRY),
        pa.field(
            "_DELETIONS_VECTORS_RANGES",
            pa.list_(pa.field("element", pa.struct(_PAIMON_RANGE))),
        ),
        *paimon_fields(INDEX_MANIFEST_ENTRY)[-2:],
    ]
)

_AVRO: Final = AvroLayout(_LAYOUT)


def deletion_vector_entries(entries: pa.Table) -> pa.Table:
    """Return the index files that hold deletion vectors; columns stay as they are."""
    return entries.filter(pc.equal(entries["index_type"], IndexType.DELETION_VECTORS.value))


def hash_index_entries(entries: pa.Table) -> pa.Table:
    """Return the index files that say which keys a dynamic bucket has."""
    return entries.filter(pc.equal(entries["index_type"], IndexType.HASH.value))


def deletion_vector_entry(
    place: tuple[bytes, int], name: str, size: int, ranges: Sequence[DeletionVectorRange]
) -> dict[str, Any]:
    """Return the entry of an index file of deletion vectors, by the columns of this manifest.

    Args:
        place: Encoded partition and bucket.
        name: The name of the index file.
        size: The size of the index file, in bytes.
        ranges: The places of its vectors.
    """
    return {
        **dict.fromkeys(INDEX_MANIFEST_ENTRY.names),
        "kind": 0,
        "partition": place[0],
        "bucket": place[1],
        "index_type": str(IndexType.DELETION_VECTORS),
        "file_name": name,
        "file_size": size,
        "row_count": len(ranges),
        "dv_ranges": [asdict(each) for each in ranges],
    }


def encode_index_manifest(entries: pa.Table, codec: str = "zstandard") -> bytes:
    """Encode entries as an index manifest file, in the order of the rows.

    Args:
        entries: Columns of INDEX_MANIFEST_ENTRY.
        codec: The codec of the Avro file.

    Raises:
        InvalidInput: A column that is not nullable holds a null.
    """
    columns = [whole(entries[field.name]) for field in INDEX_MANIFEST_ENTRY]
    version = version_column(INDEX_MANIFEST_VERSION, entries.num_rows)
    table = pa.Table.from_arrays([version, *columns], _LAYOUT.names)
    return write_avro(table, codec, _AVRO)


def decode_index_manifest(data: bytes, index_manifest: str = "") -> pa.Table:
    """Decode an index manifest file.

    Args:
        data: The whole file.
        index_manifest: Its name, for errors.

    Returns:
        Columns of INDEX_MANIFEST_ENTRY, in the order of the file.

    Raises:
        FormatError: The file is broken or of an unknown version.
    """
    table = read_records(data, _AVRO, index_manifest, INDEX_MANIFEST_VERSION)
    check_file_names(table["_FILE_NAME"], index_manifest)
    return relabel(table.columns[1:], INDEX_MANIFEST_ENTRY)
