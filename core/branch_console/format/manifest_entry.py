"""Manifests: which data files a commit added and deleted, one row an entry.

Entries are never objects: a table may have millions. Source: Paimon ManifestEntry, DataFileMeta,
FileEntry.
"""

import functools
from collections.abc import Callable
from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.format.avro_encoding import (
    VERSION_FIELD,
    AvroLayout,
    check_file_names,
    one_array,
    paimon_fields,
    relabel,
    required,
    version_column,
    whole,
    write_avro,
)
from branch_console.format.manifest_file import keeping_small, read_records
from branch_console.format.values.arrow_types import no_rows

MANIFEST_VERSION: Final = 2


class FileKind(IntEnum):
    """Whether an entry adds a file or deletes it."""

    ADD = 0
    DELETE = 1


class FileSource(IntEnum):
    """Whether a writer or a compaction made a file."""

    APPEND = 0
    COMPACT = 1


def _texts() -> pa.DataType:
    return pa.list_(required("element", pa.string()))


_ENTRY: Final = (
    required("kind", pa.int32()),
    required("partition", pa.binary()),
    required("bucket", pa.int32()),
    required("total_buckets", pa.int32()),
)
STATS: Final = pa.struct(
    [
        required("min_values", pa.binary()),
        required("max_values", pa.binary()),
        pa.field("null_counts", pa.list_(pa.field("element", pa.int64()))),
    ]
)
_FILE: Final = (
    required("file_name", pa.string()),
    required("file_size", pa.int64()),
    required("row_count", pa.int64()),
    required("min_key", pa.binary()),
    required("max_key", pa.binary()),
    required("key_stats", STATS),
    required("value_stats", STATS),
    required("min_sequence_number", pa.int64()),
    required("max_sequence_number", pa.int64()),
    required("schema_id", pa.int64()),
    required("level", pa.int32()),
    required("extra_files", _texts()),
    pa.field("creation_time", pa.timestamp("ms")),
    pa.field("delete_row_count", pa.int64()),
    pa.field("embedded_file_index", pa.binary()),
    pa.field("file_source", pa.int32()),
    pa.field("value_stats_cols", _texts()),
    pa.field("external_path", pa.string()),
    pa.field("first_row_id", pa.int64()),
    pa.field("write_cols", _texts()),
    pa.field("write_cols_sequences", pa.list_(required("element", pa.int64()))),
)

# `kind` is a FileKind, `file_source` a FileSource, `file_size` in bytes, `creation_time` a local
# wall clock without zone. `identity` is equal exactly for what Paimon takes for the same file;
# `manifest` and `position` say where the entry stands: within a manifest, order counts.
MANIFEST_ENTRY: Final = pa.schema(
    [
        *_ENTRY,
        *_FILE,
        required("identity", pa.string()),
        required("manifest", pa.string()),
        required("position", pa.int32()),
    ]
)
# Tables never change, and to make one of so many columns takes as long as to read a small file.
NO_FILES: Final = no_rows(MANIFEST_ENTRY)


_FILE_STRUCT: Final = pa.struct(paimon_fields(_FILE))
_LAYOUT: Final = pa.schema(
    [
        VERSION_FIELD,
        *paimon_fields(_ENTRY),
        required("_FILE", _FILE_STRUCT),
    ]
)
_READ: Final = AvroLayout(_LAYOUT)
# The columns of an entry that a file holds; the others say where the entry is.
_STORED: Final = pa.schema([*_ENTRY, *_FILE])


def encode_manifest(entries: pa.Table, codec: str = "zstandard") -> bytes:
    """Encode entries as a manifest file, in the order of the rows.

    Args:
        entries: Columns of MANIFEST_ENTRY; identity, manifest and position may be missing.
        codec: The codec of the Avro file.

    Raises:
        InvalidInput: A column that is not nullable holds a null.
    """
    # Releases up to 2.0 do not know the last field; it is written where it says something.
    is_new = entries["write_cols_sequences"].null_count < entries.num_rows
    names, layout = _layout_to_write(is_new)
    columns = [
        version_column(MANIFEST_VERSION, entries.num_rows),
        *(whole(entries[field.name]) for field in _ENTRY),
        pa.StructArray.from_arrays([whole(entries[name]) for name in names], names),
    ]
    return write_avro(pa.Table.from_arrays(columns, layout.fields.names), codec, layout)


@functools.cache
def _layout_to_write(is_new: bool) -> tuple[list[str], AvroLayout]:
    fields = _FILE if is_new else _FILE[:-1]
    file = required("_FILE", pa.struct(paimon_fields(fields)))
    layout = AvroLayout(_LAYOUT.set(len(_LAYOUT) - 1, file))
    return [field.name for field in fields], layout


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
    return _decode(data, manifest)


@keeping_small
def _decode(data: bytes, manifest: str) -> pa.Table:
    table = read_records(data, _READ, manifest, MANIFEST_VERSION)
    _, *entry, file = table.columns
    entries = relabel([*entry, *one_array(file, _FILE_STRUCT).flatten()], _STORED)
    check_file_names(entries["file_name"], manifest)
    check_file_names(pc.list_flatten(entries["extra_files"]), manifest)
    ours = [
        file_identity(entries),
        pa.repeat(manifest, entries.num_rows),
        pa.array(np.arange(entries.num_rows, dtype=np.int32)),
    ]
    return pa.Table.from_arrays([*entries.columns, *ours], schema=MANIFEST_ENTRY)


def file_identity(entries: pa.Table) -> pa.Array:
    """Return what Paimon knows a file by, as text: two are equal exactly if their files are.

    Seven parts, each of which shows where it ends: partition and embedded index in hex, bucket and
    level, and file name, extra files and external path behind their lengths; null is a dash.

    Args:
        entries: The columns partition, bucket, level, file_name, extra_files, embedded_file_index
            and external_path of MANIFEST_ENTRY.
    """
    parts = [
        _hex(one_array(entries["partition"], pa.binary())),
        one_array(entries["bucket"], pa.int32()).cast(pa.string()),
        one_array(entries["level"], pa.int32()).cast(pa.string()),
        _measured(one_array(entries["file_name"], pa.string())),
        _or_dash(one_array(entries["extra_files"], _texts()), _measured_lists),
        _or_dash(one_array(entries["embedded_file_index"], pa.binary()), _hex),
        _or_dash(one_array(entries["external_path"], pa.string()), _measured),
    ]
    return pc.binary_join_element_wise(*parts, "|")


def rows_without(rows: pa.Table, others: pa.Table, key: str = "identity") -> pa.Table:
    """Return the rows whose key no row of the others has, in their order."""
    return rows.filter(pc.invert(pc.is_in(rows[key], value_set=whole(others[key]))))


def _or_dash(values: pa.Array, encode: Callable[[pa.Array], pa.Array]) -> pa.Array | pa.Scalar:
    """Encode values, null as a dash; one dash stands for all if there are only nulls."""
    if values.null_count == len(values):
        return pa.scalar("-")
    encoded = encode(values)
    return encoded.fill_null("-") if encoded.null_count else encoded


def _measured(texts: pa.Array) -> pa.Array:
    """Put the length in bytes in front, so that no character within can be taken for an end."""
    return pc.binary_join_element_wise(pc.binary_length(texts).cast(pa.string()), texts, ":")


def _measured_lists(lists: pa.Array) -> pa.Array:
    if not lists.null_count and not len(lists.flatten()):
        return pa.repeat("0/", len(lists))
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
    digits, starts = pa.py_buffer(_HEX[raw]), pa.py_buffer((ends - ends[0]) * np.int32(2))
    mask = None if not values.null_count else pc.is_valid(values).buffers()[1]
    return pa.Array.from_buffers(pa.string(), len(values), [mask, starts, digits])
