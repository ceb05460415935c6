"""Manifest lists: the manifests that make up a snapshot, with what a scan may skip them by.

Source: Paimon ManifestFileMeta.
"""

from typing import Final

import pyarrow as pa

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
from branch_console.format.manifest_entry import STATS
from branch_console.format.manifest_file import keeping_small, read_records
from branch_console.format.values.arrow_types import no_rows

MANIFEST_LIST_VERSION: Final = 2


# `file_size` in bytes. Ranges are null if an older writer knew none, and so nothing is skipped.
MANIFEST_FILE_META: Final = pa.schema(
    [
        required("file_name", pa.string()),
        required("file_size", pa.int64()),
        required("num_added_files", pa.int64()),
        required("num_deleted_files", pa.int64()),
        required("partition_stats", STATS),
        required("schema_id", pa.int64()),
        pa.field("min_bucket", pa.int32()),
        pa.field("max_bucket", pa.int32()),
        pa.field("min_level", pa.int32()),
        pa.field("max_level", pa.int32()),
        pa.field("min_row_id", pa.int64()),
        pa.field("max_row_id", pa.int64()),
    ]
)
NO_MANIFESTS: Final = no_rows(MANIFEST_FILE_META)
_LAYOUT: Final = pa.schema([VERSION_FIELD, *paimon_fields(MANIFEST_FILE_META)])

_AVRO: Final = AvroLayout(_LAYOUT)


def encode_manifest_list(manifests: pa.Table, codec: str = "zstandard") -> bytes:
    """Encode manifests as a manifest list file, in the order of the rows.

    Args:
        manifests: Columns of MANIFEST_FILE_META.
        codec: The codec of the Avro file.

    Raises:
        InvalidInput: A column that is not nullable holds a null.
    """
    columns = [whole(manifests[field.name]) for field in MANIFEST_FILE_META]
    version = version_column(MANIFEST_LIST_VERSION, manifests.num_rows)
    table = pa.Table.from_arrays([version, *columns], _LAYOUT.names)
    return write_avro(table, codec, _AVRO)


def decode_manifest_list(data: bytes, manifest_list: str = "") -> pa.Table:
    """Decode a manifest list file.

    Args:
        data: The whole file.
        manifest_list: Its name, for errors.

    Returns:
        Columns of MANIFEST_FILE_META, in the order of the file.

    Raises:
        FormatError: The file is broken or of an unknown version.
    """
    return _decode(data, manifest_list)


@keeping_small
def _decode(data: bytes, manifest_list: str) -> pa.Table:
    table = read_records(data, _AVRO, manifest_list, MANIFEST_LIST_VERSION)
    check_file_names(table["_FILE_NAME"], manifest_list)
    return relabel(table.columns[1:], MANIFEST_FILE_META)
