import pyarrow as pa
import pytest

from branch_console.errors import FormatError
from branch_console.format.data_types import INT
from branch_console.format.manifest_entry import encode_manifest
from branch_console.format.manifest_list import (
    MANIFEST_FILE_META,
    decode_manifest_list,
    encode_manifest_list,
)
from branch_console.format.values.binary_row import encode_row
from tests.unit.format.entries import NO_STATS, entries

_ROWS = [
    {
        "file_name": "manifest-a",
        "file_size": 2**33,
        "num_added_files": 3,
        "num_deleted_files": 0,
        "partition_stats": {
            "min_values": encode_row((1,), (INT,)),
            "max_values": encode_row((2,), (INT,)),
            "null_counts": [0],
        },
        "schema_id": 4,
        "min_bucket": -2,
        "max_bucket": 7,
        "min_level": 0,
        "max_level": 5,
        "min_row_id": 0,
        "max_row_id": 2**40,
    },
    {
        "file_name": "manifest-of-0.9",
        "file_size": 1,
        "num_added_files": 0,
        "num_deleted_files": 1,
        "partition_stats": NO_STATS,
        "schema_id": 0,
    },
]


def test_manifests_come_back_in_order() -> None:
    table = pa.Table.from_pylist(_ROWS, schema=MANIFEST_FILE_META)
    read = decode_manifest_list(encode_manifest_list(table), "manifest-list-a")
    assert read.schema.equals(MANIFEST_FILE_META)
    assert read.equals(table)


def test_an_empty_list_comes_back_empty() -> None:
    assert (
        decode_manifest_list(encode_manifest_list(MANIFEST_FILE_META.empty_table())).num_rows == 0
    )


def test_a_manifest_is_no_manifest_list() -> None:
    with pytest.raises(FormatError, match="manifest-a") as caught:
        decode_manifest_list(encode_manifest(entries({})), "manifest-a")
    assert caught.value.facts["path"] == "manifest-a"
