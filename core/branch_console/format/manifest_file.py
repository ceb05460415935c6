"""Manifests, manifest lists and index manifests in whichever format a table has them.

Avro is what nearly all tables have. `manifest.format` may be ORC or Parquet too, and changes with
the table's options: each file is read by how it begins. Source: Paimon FileFormat.manifestFormat.
"""

import functools
from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import ErrorKind, FormatError
from branch_console.format.avro_encoding import AvroLayout, broken, check_version, read_avro, whole
from branch_console.format.bounds import MOST_FILE_BYTES

_PARQUET: Final = b"PAR1"
_ORC: Final = b"ORC"
# What is kept of files: of so many, each of at most so many bytes, and of so many once decoded.
_KEPT_FILES: Final = 512
_SMALL_FILE: Final = 8 << 10
_SMALL_TABLE: Final = 64 << 10


class _NotKeptError(Exception):
    """A small file that holds too much to be kept."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table


def keeping_small(decode: Callable[[bytes, str], pa.Table]) -> Callable[[bytes, str], pa.Table]:
    """Return a decoder of a file with a name that keeps what small files held.

    Each operation opens its tables anew, and most of what it reads is what the one before has read:
    to decode a file of a few entries takes far longer than to see that its bytes are the same.
    """

    @functools.lru_cache(maxsize=_KEPT_FILES)
    def kept(data: bytes, name: str) -> pa.Table:
        table = decode(data, name)
        if table.nbytes > _SMALL_TABLE:
            raise _NotKeptError(table)
        return table

    def decoded(data: bytes, name: str) -> pa.Table:
        if len(data) > _SMALL_FILE:
            return decode(data, name)
        try:
            return kept(data, name)
        except _NotKeptError as large:
            return large.table

    return decoded


def read_records(data: bytes, layout: AvroLayout, path: str, version: int) -> pa.Table:
    """Read the records of a metadata file whose fields are found by name, as Paimon does.

    Args:
        data: The whole file, in Avro, ORC or Parquet.
        layout: The columns to return; those that the file lacks are null if they may be.
        path: The file, for errors.
        version: The required value of `_VERSION`.

    Returns:
        A table with exactly the columns of `layout`.

    Raises:
        FormatError: The file is broken, of another version, lacks a column that is not nullable,
            or is packed in a way that is not read here.
    """
    if not data.startswith((_PARQUET, _ORC)):
        return read_avro(data, layout, path, version)
    try:
        records = _by_name(
            whole(_read_columns(data).to_struct_array()), pa.struct(list(layout.fields))
        )
        table = layout.table(records.flatten())
        table.validate(full=True)
    except FormatError as error:
        raise broken(path, error.message) from error
    except pa.ArrowNotImplementedError as error:
        raise FormatError(
            f"{path or 'A metadata file'} cannot be read here: {error}. "
            "Read the table with Paimon.",
            kind=ErrorKind.UNSUPPORTED,
            path=path,
        ) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise broken(path, str(error)) from error
    check_version(table, path, version)
    return table


def _read_columns(data: bytes) -> pa.Table:
    from pyarrow import orc, parquet  # noqa: PLC0415 - few tables need them, and they load slowly

    if data.startswith(_ORC):
        return orc.ORCFile(pa.BufferReader(data)).read()
    file = parquet.ParquetFile(pa.BufferReader(data))
    groups = (file.metadata.row_group(number) for number in range(file.metadata.num_row_groups))
    if sum(group.total_byte_size for group in groups) > MOST_FILE_BYTES:
        raise FormatError(f"it unpacks to more than {MOST_FILE_BYTES:,} bytes")
    return file.read()


def _by_name(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Convert an array; fields of structs are found by name, and are null if missing."""
    if array.type == wanted:
        return array
    mask = pc.is_null(array) if array.null_count else None
    if pa.types.is_struct(wanted):
        own = dict(zip((field.name for field in array.type), array.flatten(), strict=True))
        children = [
            _by_name(own[field.name], field.type)
            if field.name in own
            else pa.nulls(len(array), field.type)
            for field in wanted
        ]
        return pa.StructArray.from_arrays(children, fields=list(wanted), mask=mask)
    if pa.types.is_list(wanted):
        lengths = array.value_lengths().fill_null(0)
        ends = pc.cumulative_sum(lengths.cast(pa.int32()))
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
        values = _by_name(array.flatten(), wanted.value_type)
        return pa.ListArray.from_arrays(offsets, values, type=wanted, mask=mask)
    return array.cast(wanted)
