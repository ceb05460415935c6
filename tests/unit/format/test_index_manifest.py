import pyarrow as pa
import pytest

from branch_console.errors import FormatError
from branch_console.format.index_manifest import (
    INDEX_MANIFEST_ENTRY,
    IndexType,
    decode_index_manifest,
    encode_index_manifest,
)
from branch_console.format.values.binary_row import EMPTY_ROW

_HASH = {
    "kind": 0,
    "partition": EMPTY_ROW,
    "bucket": 1,
    "index_type": str(IndexType.HASH),
    "file_name": "index-a",
    "file_size": 40,
    "row_count": 10,
}
_ROWS = [
    _HASH,
    {
        **_HASH,
        "index_type": str(IndexType.DELETION_VECTORS),
        "dv_ranges": [
            {"data_file": "data-1", "offset": 1, "length": 24, "cardinality": 2},
            {"data_file": "data-2", "offset": 33, "length": 30, "cardinality": None},
        ],
        "external_path": "oss://elsewhere/index-a",
    },
    {
        **_HASH,
        "index_type": "btree",
        "dv_ranges": [],
        "global_index": {
            "row_range_start": 0,
            "row_range_end": 99,
            "index_field_id": 3,
            "extra_field_ids": [4, 5],
            "index_meta": b"\x01",
            "source_meta": None,
        },
    },
]


def test_index_files_come_back_in_order() -> None:
    table = pa.Table.from_pylist(_ROWS, schema=INDEX_MANIFEST_ENTRY)
    read = decode_index_manifest(encode_index_manifest(table), "index-manifest-a")
    assert read.schema.equals(INDEX_MANIFEST_ENTRY)
    assert read.equals(table)


def test_paimons_own_spelling_of_the_ranges_is_kept() -> None:
    data = encode_index_manifest(pa.Table.from_pylist(_ROWS, schema=INDEX_MANIFEST_ENTRY))
    assert b'"_DELETIONS_VECTORS_RANGES"' in data
    assert b'"record__DELETIONS_VECTORS_RANGES"' in data
    assert b'"f0"' in data


def test_a_broken_index_manifest_is_named() -> None:
    with pytest.raises(FormatError, match="index-manifest-a cannot be read") as caught:
        decode_index_manifest(b"", "index-manifest-a")
    assert caught.value.facts["path"] == "index-manifest-a"
