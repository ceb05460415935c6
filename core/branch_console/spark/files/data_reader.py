"""A data file as rows of today's schema: its own columns found by field id, deleted rows left out.

Runs in tasks. Source: Paimon FormatReaderMapping, SchemaEvolutionUtil, ApplyDeletionVectorReader.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from branch_console.errors import ErrorKind, FormatError, InvalidInput, NotFound, PaimonError
from branch_console.format.data_types import (
    BIGINT,
    ArrayType,
    AtomicType,
    DataField,
    DataType,
    MapType,
    MultisetType,
    RowType,
    TypeRoot,
)
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.arrow_types import to_arrow
from branch_console.format.values.deletion_vector import DeletionVectorRange, read_deletion_vectors
from branch_console.format.values.fine_times import cast_times
from branch_console.format.values.nested_arrays import list_like, map_like
from branch_console.format.values.shredded_variant import plain_variants
from branch_console.format.values.value_casts import cast_values, unread_values
from branch_console.spark.files.avro_rows import read_avro_rows
from branch_console.spark.files.int96 import open_parquet, with_times
from branch_console.spark.files.orc_times import (
    OUT_OF_RANGE,
    UnservedOrc,
    columns_to_ask,
    read_far_stripes,
)
from branch_console.spark.files.verify_files import open_source
from branch_console.spark.kernels.merge_on_read import SEQUENCE_NUMBER, VALUE_KIND
from branch_console.storage.file_io import FileContents

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
    """The place of the deletion vector of a data file."""

    index_path: str
    range: DeletionVectorRange


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A live data file.

    Attributes:
        size: In bytes.
        schema_id: The id of the schema that it was written with.
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
    store: FileContents,
    file: DataFile,
    schemas: Mapping[int, TableSchema],
    fields: tuple[DataField, ...],
    *,
    with_system: bool,
) -> pa.Table:
    """Read the rows of a data file as a whole; see `read_pieces`."""
    pieces = read_pieces(store, file, schemas, fields, with_system=with_system)
    return pa.concat_tables(list(pieces))


def read_pieces(
    store: FileContents,
    file: DataFile,
    schemas: Mapping[int, TableSchema],
    fields: tuple[DataField, ...],
    *,
    with_system: bool,
) -> Iterator[pa.Table]:
    """Read the rows of a data file piece by piece, so that a large one needs little memory.

    Args:
        store: The store of the file.
        file: The file.
        schemas: The schemas of the branch by id.
        fields: The columns to return; those that the file lacks are null.
        with_system: Whether `_SEQUENCE_NUMBER` and `_VALUE_KIND` come along.

    Yields:
        At least one table: the columns in the Arrow types of `fields`, in the order of the file.

    Raises:
        FormatError: The file is missing or cannot be read.
        InvalidInput: Its format is not served, or a value in it (UNSUPPORTED).
    """
    system = [*_SYSTEM.values()] if with_system else []
    written = {field.id: field for field in schemas[file.schema_id].fields}
    tracked = {field.id: field for field in ROW_TRACKING_FIELDS}
    by_id = {**tracked, **written}
    there = [by_id[field.id] for field in fields if field.id in by_id]
    gone = None if file.deleted is None else deleted_positions(store, file, file.deleted)
    start = 0
    try:
        for content in _read_columns(store, file, [*system, *there]):
            columns: dict[str, pa.Array | pa.ChunkedArray] = {
                field.name: content[field.name].cast(to_arrow(field.type)) for field in system
            }
            for field in fields:
                column = _column(file, content, by_id.get(field.id), field)
                if field.id in tracked:
                    column = _tracked(column, field, file, start)
                columns[field.name] = column
            rows = pa.table(columns) if columns else content.select([])
            yield rows if gone is None else rows.filter(kept_rows(gone, start, rows.num_rows))
            start += content.num_rows
    except NotFound as error:
        raise _broken(file, "it is missing") from error
    except pa.ArrowNotImplementedError as error:
        raise _unread(file, error) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _broken(file, _first_line(error)) from error


def _column(
    file: DataFile, content: pa.Table, source: DataField | None, field: DataField
) -> pa.ChunkedArray:
    if source is None or source.name not in content.column_names:
        kind = to_arrow(field.type)
        return pa.chunked_array([pa.nulls(content.num_rows, kind)], kind)
    try:
        return evolve(content[source.name], source.type, field.type)
    except pa.ArrowException as error:
        # The file gave its values, so it is whole.
        raise _unread(file, error) from error


def _tracked(
    column: pa.ChunkedArray, field: DataField, file: DataFile, start: int
) -> pa.ChunkedArray:
    """Row ids and sequence numbers, where the rows have none of their own."""
    if field.name != ROW_ID:
        return pc.fill_null(column, pa.scalar(file.sequence_number, pa.int64()))
    if file.first_row_id is None:
        return column
    first = file.first_row_id + start
    return pc.coalesce(column, pa.array(np.arange(first, first + len(column), dtype=np.int64)))


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
            return list_like(array, values, target)
        case MapType(), MapType():
            keys = _evolve(array.keys, written.key, wanted.key)
            items = _evolve(array.items, written.value, wanted.value)
        case MultisetType(), MultisetType():
            keys = _evolve(array.keys, written.element, wanted.element)
            items = array.items.cast(pa.int32())
        case AtomicType(root=TypeRoot.VARIANT), AtomicType(root=TypeRoot.VARIANT):
            return plain_variants(array)
        case AtomicType(), AtomicType():
            return cast_values(array, written, wanted)
        case _:
            if type(written) is not type(wanted):
                raise unread_values(written, wanted)
            return cast_times(array, target)
    return map_like(array, keys, items, target)


def _parts(array: pa.StructArray) -> list[pa.Array]:
    return [array.field(number) for number in range(array.type.num_fields)]


def _read_columns(
    store: FileContents, file: DataFile, fields: list[DataField]
) -> Iterator[pa.Table]:
    names = [field.name for field in fields]
    if file.path.endswith(".avro"):
        yield read_avro_rows(store.read(file.path), fields)
        return
    source = open_source(store, file.path, file.size)
    if file.path.endswith(".parquet"):
        parquet, has_int96 = open_parquet(source)
        with parquet as opened:
            there = [name for name in names if name in opened.schema_arrow.names]
            for number in range(opened.num_row_groups):
                rows = opened.read_row_group(number, columns=there, use_threads=False)
                yield with_times(rows) if has_int96 else rows
            if not opened.num_row_groups:
                rows = opened.read(columns=there)
                yield with_times(rows) if has_int96 else rows
        return
    if not file.path.endswith(".orc"):
        raise _unserved(file.path)
    stripes = orc.ORCFile(source)
    there = [name for name in names if name in stripes.schema.names]
    asked = columns_to_ask(there)
    for number in range(stripes.nstripes):
        try:
            rows = pa.Table.from_batches([stripes.read_stripe(number, columns=asked)]).select(there)
        except pa.ArrowInvalid as error:
            if OUT_OF_RANGE not in str(error):
                raise
            yield from _read_far_stripes(store, file, there, number)
            return
        yield rows
    if not stripes.nstripes:
        yield stripes.read(columns=asked).select(there)


def _read_far_stripes(
    store: FileContents, file: DataFile, names: list[str], first: int
) -> Iterator[pa.Table]:
    try:
        yield from islice(read_far_stripes(store.read(file.path), names), first, None)
    except UnservedOrc as error:
        raise InvalidInput(
            f"{file.path} cannot be read here: it has times before 1677 or after 2262, and {error}."
            " Read the table with Paimon.",
            kind=ErrorKind.UNSUPPORTED,
            path=file.path,
        ) from error


def deleted_positions(
    store: FileContents, file: DataFile, deleted: DeletedRows
) -> npt.NDArray[np.int64]:
    """The positions of the rows of a file that a deletion vector hides; raises FormatError."""
    name = file.path.rsplit("/", 1)[-1]
    try:
        data = store.read(deleted.index_path)
    except PaimonError as error:
        raise _broken(file, f"its deletion vector cannot be read: {error.message}") from error
    gone = read_deletion_vectors(data, [deleted.range], deleted.index_path)[name]
    return np.fromiter(gone, dtype=np.int64, count=len(gone))


def kept_rows(gone: npt.NDArray[np.int64], start: int, count: int) -> pa.Array:
    """Return the mask of rows of a piece of a file that stay; `gone` has the others' positions."""
    keep = np.ones(count, dtype=bool)
    keep[gone[(gone >= start) & (gone < start + count)] - start] = False
    return pa.array(keep)


def _unserved(path: str) -> InvalidInput:
    return InvalidInput(
        f"Branch Console does not read the format of {path}. Read the table with Paimon.",
        kind=ErrorKind.UNSUPPORTED,
        path=path,
    )


def _unread(file: DataFile, error: Exception) -> InvalidInput:
    return InvalidInput(
        f"{file.path} holds what cannot be read here: {_first_line(error)}. Read other columns, or "
        "the table with Paimon.",
        kind=ErrorKind.UNSUPPORTED,
        path=file.path,
    )


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")


def _broken(file: DataFile, why: str) -> FormatError:
    return FormatError(
        f"{file.path} cannot be read: {why}. Restore it, or drop what refers to it.", path=file.path
    )
