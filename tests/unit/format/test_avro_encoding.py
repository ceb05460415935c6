import json
from io import BytesIO
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from branch_console.errors import ErrorKind, FormatError, InvalidInput
from branch_console.format.avro_encoding import (
    CODECS,
    VERSION_FIELD,
    AvroLayout,
    avro_schema,
    read_avro,
    relabel,
    required,
    write_avro,
)
from branch_console.format.avro_frames import join_files, read_frame

_LAYOUT = pa.schema(
    [
        VERSION_FIELD,
        required("_NAME", pa.string()),
        pa.field("_COUNT", pa.int64()),
        pa.field("_AT", pa.timestamp("ms")),
        required("_PART", pa.struct([required("_DATA", pa.binary())])),
        pa.field("_LIST", pa.list_(pa.field("element", pa.struct([required("f0", pa.int32())])))),
    ]
)
_READ = AvroLayout(_LAYOUT)
_ROWS: list[dict[str, Any]] = [
    {"_VERSION": 2, "_NAME": "a", "_COUNT": 1, "_PART": {"_DATA": b"x"}, "_LIST": [{"f0": 7}]},
    {"_VERSION": 2, "_NAME": "é", "_COUNT": -(2**63), "_PART": {"_DATA": b""}, "_LIST": [None]},
    {"_VERSION": 2, "_NAME": "", "_COUNT": None, "_PART": {"_DATA": b"\xff"}, "_LIST": None},
]


@pytest.fixture
def table() -> pa.Table:
    return pa.Table.from_pylist(_ROWS * 900, schema=_LAYOUT)


def test_the_schema_has_paimons_record_names_unions_and_defaults() -> None:
    assert avro_schema(_LAYOUT) == {
        "type": "record",
        "name": "record",
        "namespace": "org.apache.paimon.avro.generated",
        "fields": [
            {"name": "_VERSION", "type": "int"},
            {"name": "_NAME", "type": "string"},
            {"name": "_COUNT", "type": ["null", "long"], "default": None},
            {
                "name": "_AT",
                "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}],
                "default": None,
            },
            {
                "name": "_PART",
                "type": {
                    "type": "record",
                    "name": "record__PART",
                    "fields": [{"name": "_DATA", "type": "bytes"}],
                },
            },
            {
                "name": "_LIST",
                "type": [
                    "null",
                    {
                        "type": "array",
                        "items": [
                            "null",
                            {
                                "type": "record",
                                "name": "record__LIST",
                                "fields": [{"name": "f0", "type": "int"}],
                            },
                        ],
                    },
                ],
                "default": None,
            },
        ],
    }


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_is_written_and_read(table: pa.Table, codec: str) -> None:
    data = write_avro(table, codec)
    assert read_avro(data, _READ, "file", 2).equals(table)
    assert write_avro(table, codec) == data


@pytest.mark.parametrize("codec", ["deflate", "bzip2", "xz", "null"])
def test_the_avro_library_reads_what_we_write_and_we_read_what_it_writes(
    table: pa.Table, codec: str
) -> None:
    assert list(fastavro.reader(BytesIO(write_avro(table, codec)))) == table.to_pylist()
    target = BytesIO()
    fastavro.writer(target, avro_schema(_LAYOUT), table.to_pylist(), codec)
    assert read_avro(target.getvalue(), _READ, "file", 2).equals(table)


def test_small_blocks_are_read_together_and_again(table: pa.Table) -> None:
    # A list of manifests that grew by a line a commit.
    files = [write_avro(table.slice(row, 1)) for row in range(1, 40)]
    joined = join_files((read_frame(each), each) for each in files)
    for _ in range(2):
        found = read_avro(joined, _READ, "file", 2)
        assert found.equals(table.slice(1, 39))
        assert found["_NAME"].num_chunks == 1
    # The same block under another schema is another one.
    other = _LAYOUT.set(2, pa.field("_NUMBER", pa.int64()))
    renamed = table.slice(1, 1).rename_columns(other.names).cast(other)
    assert read_avro(write_avro(renamed), AvroLayout(other), "file", 2).equals(renamed)


def test_a_file_without_records_has_no_block(table: pa.Table) -> None:
    data = write_avro(table.slice(0, 0))
    assert read_avro(data, _READ, "file", 2).num_rows == 0


def test_fields_are_found_by_name_and_newer_ones_may_be_missing(table: pa.Table) -> None:
    older = table.select(["_PART", "_NAME", "_VERSION"]).append_column(
        "_UNKNOWN", pa.array([1] * len(table))
    )
    read = read_avro(write_avro(older), _READ, "file", 2)
    assert read["_NAME"].equals(table["_NAME"])
    assert read["_COUNT"].null_count == len(table)


def test_a_missing_field_that_must_be_there_is_a_format_error(table: pa.Table) -> None:
    data = write_avro(table.drop_columns(["_NAME"]))
    with pytest.raises(FormatError, match="_NAME is missing") as caught:
        read_avro(data, _READ, "manifest-1", 2)
    assert caught.value.facts["path"] == "manifest-1"


def test_another_version_is_named_in_the_error(table: pa.Table) -> None:
    with pytest.raises(FormatError, match="format version 2; 1 is the only one known") as caught:
        read_avro(write_avro(table), _READ, "manifest-1", 1)
    assert caught.value.kind is ErrorKind.UNKNOWN_VERSION
    assert caught.value.facts["path"] == "manifest-1"


def test_a_null_where_none_may_be_is_refused(table: pa.Table) -> None:
    names = pa.array([None] * len(table), pa.string())
    broken = table.set_column(1, _LAYOUT.field(1), names)
    with pytest.raises(InvalidInput, match="does not fit its Avro schema"):
        write_avro(broken)


def test_an_unknown_codec_is_a_limit_of_ours_and_no_damage(table: pa.Table) -> None:
    data = write_avro(table, "null").replace(b"avro.codec\x08null", b"avro.codec\x08zlib")
    with pytest.raises(FormatError, match="packed with 'zlib'") as caught:
        read_avro(data, _READ, "file", 2)
    assert caught.value.kind is ErrorKind.UNSUPPORTED
    assert "Restore" not in caught.value.message


def test_an_unknown_codec_is_refused(table: pa.Table) -> None:
    with pytest.raises(InvalidInput, match="zstandard, snappy, deflate, bzip2, xz, null"):
        write_avro(table, "brotli")


@pytest.mark.parametrize("codec", CODECS)
def test_a_file_cut_anywhere_is_a_format_error_that_names_it(table: pa.Table, codec: str) -> None:
    data = write_avro(table.slice(0, 3), codec)
    # Cut behind the header, the file is a valid one without records.
    header = len(write_avro(table.slice(0, 0), codec))
    for size in set(range(len(data))) - {header}:
        with pytest.raises(FormatError, match=r"manifest-1 cannot be read") as caught:
            read_avro(data[:size], _READ, "manifest-1", 2)
        assert caught.value.facts["path"] == "manifest-1"


@pytest.mark.parametrize("codec", CODECS)
def test_bytes_behind_the_last_block_are_a_format_error(table: pa.Table, codec: str) -> None:
    with pytest.raises(FormatError):
        read_avro(write_avro(table, codec) + b"\0", _READ, "file", 2)


def test_a_wrong_checksum_is_a_format_error(table: pa.Table) -> None:
    data = bytearray(write_avro(table.slice(0, 3), "snappy"))
    data[-17] ^= 1
    with pytest.raises(FormatError, match="checksum"):
        read_avro(bytes(data), _READ, "file", 2)


def test_a_block_that_claims_more_records_than_bytes_is_a_format_error(table: pa.Table) -> None:
    data = write_avro(table.slice(0, 0))
    sync = data[-16:]
    with pytest.raises(FormatError, match="claims"):
        read_avro(data + b"\x7e\x00" + sync, _READ, "file", 2)


def test_relabelling_changes_names_only() -> None:
    renamed = pa.schema([pa.field("a", pa.list_(pa.struct([required("x", pa.int32())])))])
    source = pa.array([[{"y": 1}], None, []], pa.list_(pa.struct([("y", pa.int32())])))
    table = relabel([source.slice(0, 3)], renamed)
    assert table.to_pylist() == [{"a": [{"x": 1}]}, {"a": None}, {"a": []}]
    with pytest.raises(InvalidInput, match="does not have the columns it needs"):
        relabel([pa.array(["text"])], pa.schema([("a", pa.int32())]))


def test_the_header_is_json_without_blanks(table: pa.Table) -> None:
    header = fastavro.schemaless_reader(
        BytesIO(write_avro(table)[4:]), {"type": "map", "values": "bytes"}, None
    )
    assert isinstance(header, dict)
    assert header["avro.codec"] == b"zstandard"
    assert json.loads(header["avro.schema"]) == avro_schema(_LAYOUT)
    assert b" " not in header["avro.schema"]
