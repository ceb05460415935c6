"""A data file as rows of today's schema: its own columns found by field id, deleted rows left out.

Runs in tasks. Source: Paimon FormatReaderMapping, SchemaEvolutionUtil, ApplyDeletionVectorReader.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import orc

from core.errors import ErrorKind, FormatError, InvalidInput, NotFound, PaimonError
from core.format.data_types import (
    BIGINT,
    ArrayType,
    AtomicType,
    DataField,
    DataType,
    MapType,
    MultisetType,
    RowType,
    TypeRoot,
    to_arrow,
)
from core.format.deletion_vector import DeletionVectorRange, read_deletion_vectors
from core.format.table_schema import TableSchema
from core.spark.avro_rows import read_avro_rows
from core.spark.merge_on_read import SEQUENCE_NUMBER, VALUE_KIND
from core.spark.verify_files import open_source
from core.storage.file_io import FileReader

ROW_ID: Final = "_ROW_ID"
ROW_TRACKING_FIELDS: Final = (
    DataField(id=2**31 - 6, name=ROW_ID, type=BIGINT),
    DataField(id=2**31 - 2, name=SEQUENCE_NUMBER, type=BIGINT),
)
"""Columns that every row of a table with row tracking has, besides those of its schema."""

_FORMATS: Final = (".parquet", ".orc", ".avro")
_SYSTEM: Final = {
    SEQUENCE_NUMBER: DataField(id=2**31 - 2, name=SEQUENCE_NUMBER, type=BIGINT),
    VALUE_KIND: DataField(id=2**31 - 3, name=VALUE_KIND, type=AtomicType(root=TypeRoot.TINYINT)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedRows:
    """Where the deletion vector of a data file stands."""

    index_path: str
    range: DeletionVectorRange


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A live data file.

    Attributes:
        size: In bytes.
        schema_id: Of the schema that it was written with.
        first_row_id, sequence_number: What its rows have that were not given their own, in a table
            with row tracking.
    """

    path: str
    size: int
    schema_id: int
    deleted: DeletedRows | None = None
    first_row_id: int | None = None
    sequence_number: int | None = None


def read_data_file(
    store: FileReader,
    file: DataFile,
    schemas: Mapping[int, TableSchema],
    fields: tuple[DataField, ...],
    *,
    with_system: bool,
) -> pa.Table:
    """Read the rows of a data file.

    Args:
        store: The store of the file.
        file: The file.
        schemas: The schemas of the branch by id.
        fields: The columns to return; those that the file lacks are null.
        with_system: Whether `_SEQUENCE_NUMBER` and `_VALUE_KIND` come along.

    Returns:
        The columns in the Arrow types of `fields`, in the order of the file.

    Raises:
        FormatError: The file is missing or cannot be read.
        InvalidInput: Its format is not served.
    """
    system = [*_SYSTEM.values()] if with_system else []
    written = {field.id: field for field in schemas[file.schema_id].fields}
    tracked = {field.id: field for field in ROW_TRACKING_FIELDS}
    by_id = {**tracked, **written}
    there = [by_id[field.id] for field in fields if field.id in by_id]
    try:
        content = _read_columns(store, file, [*system, *there])
    except NotFound as error:
        raise _broken(file, "it is missing") from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _broken(file, str(error).splitlines()[0].rstrip(".")) from error
    columns: dict[str, pa.Array | pa.ChunkedArray] = {
        field.name: content[field.name].cast(to_arrow(field.type)) for field in system
    }
    for field in fields:
        source = by_id.get(field.id)
        if source is None or source.name not in content.column_names:
            column = pa.nulls(content.num_rows, to_arrow(field.type))
        else:
            column = evolve(content[source.name], source.type, field.type)
        columns[field.name] = _tracked(column, field, file) if field.id in tracked else column
    rows = pa.table(columns) if columns else content.select([])
    return rows if file.deleted is None else _without_deleted(store, rows, file, file.deleted)


def _tracked(column: pa.Array, field: DataField, file: DataFile) -> pa.Array:
    """Row ids and sequence numbers, where the rows have none of their own."""
    if field.name != ROW_ID:
        return pc.fill_null(column, pa.scalar(file.sequence_number, pa.int64()))
    if file.first_row_id is None:
        return column
    positions = np.arange(len(column), dtype=np.int64) + file.first_row_id
    return pc.coalesce(column, pa.array(positions))


def check_formats(paths: Iterable[str]) -> None:
    """Refuse data files of a format that is not served, before a task is started.

    Raises:
        InvalidInput: There is such a file.
    """
    for path in paths:
        if not path.endswith(_FORMATS):
            raise _unserved(path)


def evolve(column: pa.ChunkedArray, written: DataType, wanted: DataType) -> pa.ChunkedArray:
    """A column in the type of today's schema; parts of rows are found by field id."""
    chunks = [_evolve(chunk, written, wanted) for chunk in column.chunks]
    return pa.chunked_array(chunks, to_arrow(wanted))


def _evolve(array: pa.Array, written: DataType, wanted: DataType) -> pa.Array:
    target = to_arrow(wanted)
    match written, wanted:
        case RowType(), RowType():
            parts = {
                field.id: (part, field)
                for part, field in zip(_parts(array), written.fields, strict=True)
            }
            arrays = [
                _evolve(parts[field.id][0], parts[field.id][1].type, field.type)
                if field.id in parts
                else pa.nulls(len(array), to_arrow(field.type))
                for field in wanted.fields
            ]
            return pa.StructArray.from_arrays(arrays, fields=list(target), mask=array.is_null())
        case ArrayType(), ArrayType():
            values = _evolve(array.values, written.element, wanted.element)
            return pa.ListArray.from_arrays(_offsets(array), values, target, mask=array.is_null())
        case MapType(), MapType():
            keys = _evolve(array.keys, written.key, wanted.key)
            items = _evolve(array.items, written.value, wanted.value)
        case MultisetType(), MultisetType():
            keys = _evolve(array.keys, written.element, wanted.element)
            items = array.items.cast(pa.int32())
        case _:
            return array if array.type == target else array.cast(target)
    return pa.MapArray.from_arrays(_offsets(array), keys, items, type=target, mask=array.is_null())


def _parts(array: pa.StructArray) -> list[pa.Array]:
    return [array.field(number) for number in range(array.type.num_fields)]


def _offsets(array: pa.Array) -> pa.Array:
    # Of a slice Arrow takes no mask, so the offsets are made anew.
    return pa.array(array.offsets.to_numpy(), pa.int32())


def _read_columns(store: FileReader, file: DataFile, fields: list[DataField]) -> pa.Table:
    names = [field.name for field in fields]
    if file.path.endswith(".avro"):
        return read_avro_rows(store.read(file.path), fields)
    source = open_source(store, file.path, file.size)
    if file.path.endswith(".parquet"):
        with pq.ParquetFile(source) as opened:
            there = [name for name in names if name in opened.schema_arrow.names]
            return opened.read(columns=there, use_threads=False)
    if file.path.endswith(".orc"):
        opened = orc.ORCFile(source)
        there = [name for name in names if name in opened.schema.names]
        return opened.read(columns=there)
    raise _unserved(file.path)


def _without_deleted(
    store: FileReader, rows: pa.Table, file: DataFile, deleted: DeletedRows
) -> pa.Table:
    name = file.path.rsplit("/", 1)[-1]
    try:
        data = store.read(deleted.index_path)
    except PaimonError as error:
        raise _broken(file, f"its deletion vector cannot be read: {error.message}") from error
    gone = read_deletion_vectors(data, [deleted.range], deleted.index_path)[name]
    keep = np.ones(rows.num_rows, dtype=bool)
    keep[np.fromiter(gone, dtype=np.int64, count=len(gone))] = False
    return rows.filter(pa.array(keep))


def _unserved(path: str) -> InvalidInput:
    return InvalidInput(
        f"{path} is of a format that cannot be read here yet. Read the table with Paimon.",
        kind=ErrorKind.UNSUPPORTED,
        path=path,
    )


def _broken(file: DataFile, why: str) -> FormatError:
    return FormatError(
        f"{file.path} cannot be read: {why}. Restore it, or drop what refers to it.", path=file.path
    )
