"""Manifests: which data files a commit added and deleted, one row an entry.

Entries are never objects: a table may have millions. Source: Paimon ManifestEntry, DataFileMeta,
FileEntry.
"""

from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from core.format.avro_encoding import VERSION_FIELD, read_avro, write_avro

MANIFEST_VERSION: Final = 2


class FileKind(IntEnum):
    """Whether an entry adds a file or deletes it."""

    ADD = 0
    DELETE = 1


class FileSource(IntEnum):
    """Whether a writer or a compaction made a file."""

    APPEND = 0
    COMPACT = 1


def _required(name: str, arrow_type: pa.DataType) -> pa.Field:
    return pa.field(name, arrow_type, nullable=False)


def _texts() -> pa.DataType:
    return pa.list_(_required("element", pa.string()))


_ENTRY: Final = (
    _required("kind", pa.int32()),
    _required("partition", pa.binary()),
    _required("bucket", pa.int32()),
    _required("total_buckets", pa.int32()),
)
STATS: Final = pa.struct(
    [
        _required("min_values", pa.binary()),
        _required("max_values", pa.binary()),
        pa.field("null_counts", pa.list_(pa.field("element", pa.int64()))),
    ]
)
_FILE: Final = (
    _required("file_name", pa.string()),
    _required("file_size", pa.int64()),
    _required("row_count", pa.int64()),
    _required("min_key", pa.binary()),
    _required("max_key", pa.binary()),
    _required("key_stats", STATS),
    _required("value_stats", STATS),
    _required("min_sequence_number", pa.int64()),
    _required("max_sequence_number", pa.int64()),
    _required("schema_id", pa.int64()),
    _required("level", pa.int32()),
    _required("extra_files", _texts()),
    pa.field("creation_time", pa.timestamp("ms")),
    pa.field("delete_row_count", pa.int64()),
    pa.field("embedded_file_index", pa.binary()),
    pa.field("file_source", pa.int32()),
    pa.field("value_stats_cols", _texts()),
    pa.field("external_path", pa.string()),
    pa.field("first_row_id", pa.int64()),
    pa.field("write_cols", _texts()),
    pa.field("write_cols_sequences", pa.list_(_required("element", pa.int64()))),
)

# `kind` is a FileKind, `file_source` a FileSource, `file_size` in bytes, `creation_time` a local
# wall clock without zone. `identity` is equal exactly for what Paimon takes for the same file;
# `manifest` and `position` say where the entry stands: within a manifest, order counts.
MANIFEST_ENTRY: Final = pa.schema(
    [
        *_ENTRY,
        *_FILE,
        _required("identity", pa.string()),
        _required("manifest", pa.string()),
        _required("position", pa.int32()),
    ]
)


def paimon_name(column: str) -> str:
    """Return the name that Paimon's metadata files have for one of our columns."""
    return f"_{column.upper()}"


def paimon_fields(fields: tuple[pa.Field, ...]) -> list[pa.Field]:
    """Return `fields` under Paimon's names, nested ones too."""
    return [pa.field(paimon_name(f.name), _paimon_type(f.type), f.nullable) for f in fields]


def _paimon_type(arrow_type: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(arrow_type):
        return pa.struct(paimon_fields(tuple(arrow_type)))
    return arrow_type


_FILE_STRUCT: Final = pa.struct(paimon_fields(_FILE))
_LAYOUT: Final = pa.schema(
    [
        _required(VERSION_FIELD, pa.int32()),
        *paimon_fields(_ENTRY),
        _required("_FILE", _FILE_STRUCT),
    ]
)


def encode_manifest(entries: pa.Table, codec: str = "zstandard") -> bytes:
    """Encode entries as a manifest file, in the order of the rows.

    Args:
        entries: Columns of MANIFEST_ENTRY; identity, manifest and position may be missing.
        codec: Of the Avro file.

    Raises:
        InvalidInput: A column that is not nullable holds a null.
    """
    entries = entries.select([field.name for field in (*_ENTRY, *_FILE)]).combine_chunks()
    columns = [_one_array(entries[field.name], field.type) for field in _ENTRY]
    parts = [
        renamed(_one_array(entries[field.name], field.type), layout.type)
        for field, layout in zip(_FILE, _FILE_STRUCT, strict=True)
    ]
    file = pa.StructArray.from_arrays(parts, fields=list(_FILE_STRUCT))
    version = pa.array(np.full(entries.num_rows, MANIFEST_VERSION, dtype=np.int32))
    return write_avro(pa.Table.from_arrays([version, *columns, file], schema=_LAYOUT), codec)


def decode_manifest(data: bytes, manifest: str) -> pa.Table:
    """Decode a manifest file.

    Args:
        data: The whole file.
        manifest: Its name, for the column `manifest` and for errors.

    Returns:
        Columns of MANIFEST_ENTRY, in the order of the file.

    Raises:
        FormatError: The file is broken or of an unknown version.
    """
    table = read_avro(data, _LAYOUT, manifest, MANIFEST_VERSION).combine_chunks()
    file = _one_array(table["_FILE"], _FILE_STRUCT)
    columns = [
        *(table[paimon_name(field.name)] for field in _ENTRY),
        *(renamed(part, field.type) for part, field in zip(file.flatten(), _FILE, strict=True)),
    ]
    entries = pa.Table.from_arrays(columns, schema=pa.schema([*_ENTRY, *_FILE]))
    count = entries.num_rows
    columns += [
        file_identity(entries),
        pa.repeat(manifest, count),
        pa.array(np.arange(count, dtype=np.int32)),
    ]
    return pa.Table.from_arrays(columns, schema=MANIFEST_ENTRY)


def file_identity(entries: pa.Table) -> pa.Array:
    """Return what Paimon knows a file by, as text: two are equal exactly if their files are.

    Seven parts, each of which shows where it ends: partition and embedded index in hex, bucket and
    level, and file name, extra files and external path behind their lengths; null is a dash.

    Args:
        entries: The columns partition, bucket, level, file_name, extra_files, embedded_file_index
            and external_path of MANIFEST_ENTRY.
    """
    parts = [
        _hex(_one_array(entries["partition"], pa.binary())),
        _one_array(entries["bucket"], pa.int32()).cast(pa.string()),
        _one_array(entries["level"], pa.int32()).cast(pa.string()),
        _measured(_one_array(entries["file_name"], pa.string())),
        _measured_lists(_one_array(entries["extra_files"], _texts())).fill_null("-"),
        _hex(_one_array(entries["embedded_file_index"], pa.binary())).fill_null("-"),
        _measured(_one_array(entries["external_path"], pa.string())).fill_null("-"),
    ]
    return pc.binary_join_element_wise(*parts, "|")


def _measured(texts: pa.Array) -> pa.Array:
    """Put the length in bytes in front, so that no character within can be taken for an end."""
    return pc.binary_join_element_wise(pc.binary_length(texts).cast(pa.string()), texts, ":")


def _measured_lists(lists: pa.Array) -> pa.Array:
    items = pa.ListArray.from_arrays(_offsets(lists), _measured(lists.flatten()))
    joined = pc.binary_join(items, ",")
    return pc.binary_join_element_wise(pc.list_value_length(lists).cast(pa.string()), joined, "/")


def _offsets(lists: pa.Array) -> pa.Array:
    lengths: npt.NDArray[np.int32] = lists.value_lengths().fill_null(0).to_numpy()
    offsets = np.zeros(len(lists) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.array(offsets)


_HEX: Final = np.frombuffer(
    b"".join(f"{byte:02x}".encode() for byte in range(256)), dtype=np.uint16
)


def _hex(values: pa.Array) -> pa.Array:
    if len(values) == 0:
        return pa.array([], pa.string())
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, dtype=np.int32)[values.offset : values.offset + len(values) + 1]
    raw = np.frombuffer(data or b"", dtype=np.uint8)[ends[0] : ends[-1]]
    digits = pa.py_buffer(_HEX[raw])
    starts = pa.py_buffer((ends - ends[0]) * np.int32(2))
    mask = None if not values.null_count else pc.is_valid(values).buffers()[1]
    return pa.Array.from_buffers(pa.string(), len(values), [mask, starts, digits])


def renamed(array: pa.Array, arrow_type: pa.DataType) -> pa.Array:
    """Return `array` as `arrow_type`, which differs only in the names of nested fields."""
    if not pa.types.is_struct(arrow_type):
        return array.cast(arrow_type)
    children = [
        renamed(child, field.type) for child, field in zip(array.flatten(), arrow_type, strict=True)
    ]
    mask = pc.is_null(array) if array.null_count else None
    return pa.StructArray.from_arrays(children, fields=list(arrow_type), mask=mask)


def _one_array(column: pa.ChunkedArray, arrow_type: pa.DataType) -> pa.Array:
    chunk = column.combine_chunks()
    if isinstance(chunk, pa.ChunkedArray):
        chunk = pa.concat_arrays(chunk.chunks) if chunk.num_chunks else pa.array([], column.type)
    return chunk if chunk.type == arrow_type else chunk.cast(arrow_type)
