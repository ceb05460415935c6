from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branch_console.errors import FormatError
from branch_console.format.index_manifest import (
    INDEX_MANIFEST_ENTRY,
    decode_index_manifest,
    encode_index_manifest,
)
from branch_console.format.manifest_entry import MANIFEST_ENTRY, decode_manifest, encode_manifest
from branch_console.format.manifest_list import (
    MANIFEST_FILE_META,
    decode_manifest_list,
    encode_manifest_list,
)
from branch_console.format.values.deletion_vector import (
    read_deletion_vectors,
    write_deletion_vectors,
)
from tests.property.format.strategies import broken, entry_rows, index_rows, manifest_rows

_OURS = ["identity", "manifest", "position"]
_ENTRY = pa.schema([field for field in MANIFEST_ENTRY if field.name not in _OURS])
KINDS: list[Any] = [
    pytest.param(entry_rows, _ENTRY, encode_manifest, decode_manifest, id="manifest"),
    pytest.param(
        manifest_rows,
        MANIFEST_FILE_META,
        encode_manifest_list,
        decode_manifest_list,
        id="manifest list",
    ),
    pytest.param(
        index_rows,
        INDEX_MANIFEST_ENTRY,
        encode_index_manifest,
        decode_index_manifest,
        id="index manifest",
    ),
]
_CODECS = st.sampled_from(["zstandard", "snappy", "deflate", "null"])
_IDENTITY_FIELDS = ["partition", "bucket", "level", "file_name", "extra_files"]
_IDENTITY_FIELDS += ["embedded_file_index", "external_path"]


@pytest.mark.parametrize(("rows", "schema", "encode", "decode"), KINDS)
@given(data=st.data())
def test_metadata_files_come_back(
    rows: st.SearchStrategy[dict[str, Any]],
    schema: pa.Schema,
    encode: Callable[[pa.Table, str], bytes],
    decode: Callable[[bytes, str], pa.Table],
    data: st.DataObject,
) -> None:
    table = pa.Table.from_pylist(data.draw(st.lists(rows, max_size=4)), schema=schema)
    codec = data.draw(_CODECS)
    read = decode(encode(table, codec), "a file")
    assert read.select(schema.names).equals(table)
    sliced = table.slice(1)
    assert decode(encode(sliced, codec), "a file").select(schema.names).equals(sliced)


@pytest.mark.parametrize(("rows", "schema", "encode", "decode"), KINDS)
@given(data=st.data())
def test_broken_metadata_files_give_a_table_or_an_error_that_names_them(
    rows: st.SearchStrategy[dict[str, Any]],
    schema: pa.Schema,
    encode: Callable[[pa.Table, str], bytes],
    decode: Callable[[bytes, str], pa.Table],
    data: st.DataObject,
) -> None:
    drawn = data.draw(st.lists(rows, min_size=1, max_size=2))
    file = encode(pa.Table.from_pylist(drawn, schema=schema), data.draw(_CODECS))
    error = None
    try:
        decode(data.draw(broken(file)), "manifest/file-7").validate(full=True)
    except FormatError as caught:
        error = caught
    assert error is None or error.facts["path"] == "manifest/file-7"


@given(st.lists(entry_rows, max_size=6))
def test_files_have_equal_identities_exactly_if_the_seven_fields_are(
    rows: list[dict[str, Any]],
) -> None:
    table = pa.Table.from_pylist(rows, schema=_ENTRY)
    identities = decode_manifest(encode_manifest(table), "a file")["identity"].to_pylist()
    keys = [repr([row[name] for name in _IDENTITY_FIELDS]) for row in rows]
    assert len(set(identities)) == len(set(keys)) == len(set(zip(identities, keys, strict=True)))


_positions = st.sets(st.integers(0, 2**31 - 1), max_size=50)
_vectors = st.dictionaries(st.text(min_size=1, max_size=9), _positions, max_size=3)


@given(_vectors, st.booleans())
def test_deletion_vectors_come_back(vectors: dict[str, set[int]], bitmap64: bool) -> None:
    data, ranges = write_deletion_vectors(vectors, bitmap64=bitmap64)
    read = read_deletion_vectors(data, ranges, "an index file")
    assert {name: set(bitmap) for name, bitmap in read.items()} == vectors
    assert write_deletion_vectors(read, bitmap64=bitmap64) == (data, ranges)


@given(st.data(), _vectors, st.booleans())
def test_broken_deletion_vectors_are_never_read_as_others(
    data: st.DataObject, vectors: dict[str, set[int]], bitmap64: bool
) -> None:
    file, ranges = write_deletion_vectors(vectors, bitmap64=bitmap64)
    with suppress(FormatError):
        read = read_deletion_vectors(data.draw(broken(file)), ranges, "index/file-7")
        assert {name: set(bitmap) for name, bitmap in read.items()} == vectors
