import datetime as dt
import itertools
from typing import Any

import pyarrow as pa
import pytest

from branch_console.errors import FormatError, InvalidInput
from branch_console.format.avro_encoding import (
    VERSION_FIELD,
    AvroLayout,
    paimon_fields,
    read_avro,
    required,
    write_avro,
)
from branch_console.format.data_types import INT
from branch_console.format.manifest_entry import (
    MANIFEST_ENTRY,
    FileKind,
    decode_manifest,
    encode_manifest,
    file_identity,
)
from branch_console.format.values.binary_row import encode_row
from tests.unit.format.entries import entries

_TOP_FIELDS = {"_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS"}
_FIELDS_OF_0_7 = {
    *("_FILE_NAME", "_FILE_SIZE", "_ROW_COUNT", "_MIN_KEY", "_MAX_KEY", "_KEY_STATS"),
    *("_VALUE_STATS", "_MIN_SEQUENCE_NUMBER", "_MAX_SEQUENCE_NUMBER", "_SCHEMA_ID", "_LEVEL"),
    "_EXTRA_FILES",
}
_STATS = {"min_values": b"low", "max_values": b"high", "null_counts": [0, None, 3]}
_FULL: dict[str, Any] = {
    "kind": int(FileKind.DELETE),
    "partition": encode_row((7,), (INT,)),
    "bucket": 3,
    "total_buckets": 4,
    "file_name": "data-é-1.parquet",
    "file_size": 2**40,
    "row_count": 12,
    "delete_row_count": 2,
    "min_key": b"\x00",
    "max_key": b"\xff",
    "key_stats": _STATS,
    "value_stats": {**_STATS, "null_counts": None},
    "min_sequence_number": 5,
    "max_sequence_number": 2**62,
    "schema_id": 1,
    "level": 5,
    "extra_files": ["a.index", "b.index"],
    "creation_time": dt.datetime(2026, 3, 29, 2, 30, 0, 1000),
    "embedded_file_index": b"",
    "file_source": 1,
    "value_stats_cols": ["a", "b"],
    "external_path": "oss://elsewhere/data-é-1.parquet",
    "first_row_id": 0,
    "write_cols": [],
    "write_cols_sequences": [1, 2],
}


def test_entries_come_back_with_their_place() -> None:
    table = entries({}, _FULL, {"file_name": "data-2.parquet", "creation_time": None})
    read = decode_manifest(encode_manifest(table), "manifest-a")
    assert read.schema.equals(MANIFEST_ENTRY)
    assert read.equals(table)
    assert read["manifest"].unique().to_pylist() == ["manifest-a"]
    assert read["position"].to_pylist() == [0, 1, 2]


def test_a_manifest_without_entries_comes_back_empty() -> None:
    read = decode_manifest(encode_manifest(entries()), "manifest-a")
    assert read.num_rows == 0
    assert read.schema.equals(MANIFEST_ENTRY)


def test_our_own_columns_are_not_written() -> None:
    table = entries(_FULL)
    ours = ["identity", "manifest", "position"]
    assert encode_manifest(table.drop_columns(ours)) == encode_manifest(table)


def test_the_newest_field_is_written_only_where_it_says_something() -> None:
    assert b"_WRITE_COLS_SEQUENCES" not in encode_manifest(entries({}))
    assert b"_WRITE_COLS_SEQUENCES" in encode_manifest(entries({}, _FULL))


def test_creation_times_are_wall_clocks_whatever_the_zone() -> None:
    # Half past two on that night does not exist in much of Europe.
    read = decode_manifest(encode_manifest(entries(_FULL)), "manifest-a")
    assert read["creation_time"].to_pylist() == [dt.datetime(2026, 3, 29, 2, 30, 0, 1000)]


def test_a_manifest_of_an_old_release_has_nulls_for_newer_fields() -> None:
    table = entries({"file_source": 1, "delete_row_count": 0})
    file = [f for f in paimon_fields(MANIFEST_ENTRY) if f.name in _FIELDS_OF_0_7]
    top = [f for f in paimon_fields(MANIFEST_ENTRY) if f.name in _TOP_FIELDS]
    layout = AvroLayout(pa.schema([VERSION_FIELD, *top, required("_FILE", pa.struct(file))]))
    old = write_avro(read_avro(encode_manifest(table), layout, "", 2), "snappy")
    read = decode_manifest(old, "manifest-a")
    newer = ["creation_time", "delete_row_count", "file_source", "value_stats_cols"]
    newer += ["external_path", "first_row_id", "write_cols", "write_cols_sequences"]
    assert read.select(newer).to_pylist() == [dict.fromkeys(newer)]
    assert read.drop_columns(newer).equals(table.drop_columns(newer))


def test_a_null_in_a_required_column_is_refused() -> None:
    at = MANIFEST_ENTRY.get_field_index("file_name")
    table = entries({}).set_column(at, "file_name", pa.array([None], pa.string()))
    with pytest.raises(InvalidInput):
        encode_manifest(table)


def test_a_manifest_list_is_no_manifest() -> None:
    with pytest.raises(FormatError) as caught:
        decode_manifest(b"Obj\x01", "manifest-broken")
    assert caught.value.facts["path"] == "manifest-broken"


SAME_FILE_FIELDS: list[tuple[str, list[Any]]] = [
    ("partition", [b"", b"\x00", b"\x00\x00"]),
    ("bucket", [0, 1, 11]),
    ("level", [0, 1, 11]),
    ("file_name", ["", "a", "1:a", "|", "a|1|b"]),
    ("extra_files", [[], [""], ["", ""], ["a,b"], ["a", "b"], ["1:a"], ["a", "1:b"]]),
    ("embedded_file_index", [None, b"", b"\x00", b"-"]),
    ("external_path", [None, "", "-", "0:"]),
]


def test_identities_are_equal_exactly_for_equal_files() -> None:
    rows = [
        dict(zip([name for name, _ in SAME_FILE_FIELDS], values, strict=True))
        for values in itertools.product(*(values for _, values in SAME_FILE_FIELDS))
    ]
    identities = file_identity(entries(*rows)).to_pylist()
    assert len(set(identities)) == len(rows)


def test_identities_leave_out_what_may_change_of_a_file() -> None:
    first, second = entries({}, {"row_count": 99, "kind": 1, "schema_id": 4})[
        "identity"
    ].to_pylist()
    assert first == second


def test_identities_of_slices_are_those_of_the_whole() -> None:
    table = entries(*({"bucket": i, "embedded_file_index": bytes([i])} for i in range(6)))
    assert file_identity(table.slice(2, 3)).equals(table["identity"].combine_chunks()[2:5])


def test_the_file_record_is_nested_under_its_name() -> None:
    layout = pa.schema(
        [
            pa.field("_VERSION", pa.int32(), nullable=False),
            pa.field("_FILE", pa.struct([pa.field("_FILE_NAME", pa.string())])),
        ]
    )
    read = read_avro(encode_manifest(entries({})), AvroLayout(layout), "manifest-a", 2)
    assert read["_FILE"].to_pylist() == [{"_FILE_NAME": "data-0.parquet"}]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a", "a\\b"])
def test_names_that_would_leave_their_folder_are_a_format_error(name: str) -> None:
    for row in ({"file_name": name}, {"extra_files": ["a.index", name]}):
        with pytest.raises(FormatError, match="is not a file name") as caught:
            decode_manifest(encode_manifest(entries({}, row)), "manifest-a")
        assert caught.value.facts["path"] == "manifest-a"
