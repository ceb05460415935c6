"""Avro files whose schema or blocks a decoder would not survive."""

import json
from typing import Any

import pytest

from branch_console.errors import FormatError
from branch_console.format.avro_check import check_avro_schema
from branch_console.format.avro_encoding import _compress, _metadata, _varint, read_blocks
from branch_console.format.bounds import MOST_BLOCK_BYTES
from branch_console.format.manifest_entry import MANIFEST_ENTRY, decode_manifest, encode_manifest

_SYNC = b"S" * 16
_INT = {"type": "record", "name": "r", "fields": [{"name": "x", "type": "int"}]}


def an_avro_file(schema: Any, block: bytes, count: int = 1, codec: str = "null") -> bytes:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    content = _compress(block, codec)
    header = b"Obj\x01" + _metadata({"avro.schema": text, "avro.codec": codec}) + _SYNC
    return header + _varint(count) + _varint(len(content)) + content + _SYNC


def a_record(kind: Any, name: str = "r") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": "f", "type": kind}]}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (a_record(["null", "r"]), "holds itself"),
        (a_record({"type": "array", "items": "r"}), "holds itself"),
        (a_record({"type": "map", "values": "ns.r"}), "holds itself"),
        (a_record(a_record(["null", "r"], "inner")), "holds itself"),
        (a_record({"type": "array", "items": "null"}), "take no byte"),
        (a_record({"type": "array", "items": a_record("null", "empty")}), "take no byte"),
        (a_record({"type": "array", "items": {"type": "fixed", "name": "z", "size": 0}}), "byte"),
        (
            {
                "type": "record",
                "name": "r",
                "fields": [
                    {"name": "x", "type": "int"},
                    {"name": "e", "type": a_record("null", "empty")},
                    {"name": "a", "type": {"type": "array", "items": "empty"}},
                ],
            },
            "take no byte",
        ),
        (a_record(None), "none"),
    ],
)
def test_a_schema_that_no_decoder_survives_is_refused(schema: Any, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        check_avro_schema(schema)
    # A million levels of data would end the process.
    with pytest.raises(FormatError, match=said):
        list(read_blocks(an_avro_file(schema, b"\x02" * 1_000_000 + b"\0")))


@pytest.mark.parametrize("depth", [300, 50_000])
def test_a_deep_schema_is_refused(depth: int) -> None:
    text = '{"type": "array", "items": ' * depth + '"int"' + "}" * depth
    with pytest.raises(FormatError, match="nested more than"):
        list(read_blocks(an_avro_file(text, b"\0")))


@pytest.mark.parametrize("codec", ["zstandard", "deflate"])
def test_a_block_that_unpacks_without_end_is_refused(
    codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MOST_BLOCK_BYTES >= 1 << 28
    monkeypatch.setattr("branch_console.format.avro_encoding.MOST_BLOCK_BYTES", 1 << 20)
    file = an_avro_file(_INT, b"\0" * (1 << 21), count=5, codec=codec)
    assert len(file) < 1 << 13
    with pytest.raises(FormatError, match="unpacks to more than"):
        list(read_blocks(file))
    (rows,) = read_blocks(an_avro_file(_INT, b"\0" * 5, count=5, codec=codec))
    assert rows == [{"x": 0}] * 5


def test_a_block_that_is_cut_short_is_refused() -> None:
    file = an_avro_file(_INT, b"\0" * 5, count=5, codec="deflate")
    content = _compress(b"\0" * 5, "deflate")
    cut = file.replace(_varint(len(content)) + content, _varint(len(content) - 1) + content[:-1])
    with pytest.raises(FormatError, match="does not end"):
        list(read_blocks(cut))


def test_manifests_of_ours_are_none_of_these() -> None:
    assert decode_manifest(encode_manifest(MANIFEST_ENTRY.empty_table()), "m").num_rows == 0
