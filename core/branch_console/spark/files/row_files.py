"""Rows as the bytes of a data file, in the formats and columns that Paimon's readers take.

Source: Paimon ParquetSchemaConverter, OrcTypeUtil, AvroSchemaConverter, SpecialFields.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Final, assert_never

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import orc

from branch_console.format import options as table_options
from branch_console.format.data_types import (
    COMPACT_DECIMAL_PRECISION,
    ArrayType,
    AtomicType,
    DataField,
    DataType,
    MapType,
    MultisetType,
    RowType,
    TypeRoot,
    VectorType,
    parts_of,
)
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.arrow_types import to_arrow
from branch_console.format.values.binary_row_layout import TEXT_ROOTS
from branch_console.format.values.fine_times import cast_times, has_part, is_fine, map_parts
from branch_console.format.values.nested_arrays import with_required_parts
from branch_console.spark.files.avro_rows import write_avro_rows
from branch_console.spark.files.conform import unsupported
from branch_console.spark.files.int96 import int96_layout, mark_int96, to_int96
from branch_console.spark.kernels.merge_on_read import SEQUENCE_NUMBER, VALUE_KIND

KEY_PREFIX: Final = "_KEY_"
_KEY_FIELD_IDS: Final = (2**31 - 1) // 2
_NESTED_FIELD_IDS: Final = (2**31 - 1) // 4
_NESTED_DEPTHS: Final = 1024
_SEQUENCE_NUMBER_ID: Final = 2**31 - 2
_VALUE_KIND_ID: Final = 2**31 - 3

_SEQUENCE_NUMBER_TYPE: Final = AtomicType(root=TypeRoot.BIGINT, nullable=False)
_VALUE_KIND_TYPE: Final = AtomicType(root=TypeRoot.TINYINT, nullable=False)

_UNWRITABLE: Final = frozenset({TypeRoot.BLOB, TypeRoot.GEOMETRY, TypeRoot.GEOGRAPHY})
# What Paimon calls a codec, and what the library does that writes the format.
_CODECS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "parquet": {
            "zstd": "zstd",
            "snappy": "snappy",
            "gzip": "gzip",
            "none": "none",
            "uncompressed": "none",
        },
        "orc": {
            "zstd": "zstd",
            "snappy": "snappy",
            "lz4": "lz4",
            "zlib": "zlib",
            "none": "uncompressed",
            "uncompressed": "uncompressed",
        },
        "avro": {
            "zstd": "zstandard",
            "zstandard": "zstandard",
            "snappy": "snappy",
            "deflate": "deflate",
            "none": "null",
            "null": "null",
        },
    }
)


def check_format(schema: TableSchema) -> None:
    """Refuse a table whose rows its format or our writers cannot hold.

    Raises:
        InvalidInput: By the name of the format, codec or column.
    """
    name, codec = _format(schema), _codec(schema)
    if name not in _CODECS or codec not in _CODECS[name]:
        ways = "; ".join(f"{each} with {', '.join(_CODECS[each])}" for each in _CODECS)
        raise unsupported(
            f"This table asks for {name} files with the codec {codec}. Rows can be written as "
            f"{ways}. Change 'file.format' or 'file.compression'."
        )
    for field in schema.fields:
        if (part := _unwritable_part(field.type, name)) is not None:
            raise unsupported(
                f"Column {field.name!r} holds {part}, which we cannot write to {name} files."
            )


def file_fields(schema: TableSchema) -> tuple[DataField, ...]:
    """The columns of a data file: those of the table, behind key, sequence number and row kind."""
    if not schema.primary_keys:
        return schema.fields
    is_thin = schema.options.read(table_options.DATA_FILE_THIN_MODE)
    keys = () if is_thin else schema.key_type.fields
    return (
        *(
            DataField(id=_KEY_FIELD_IDS + key.id, name=KEY_PREFIX + key.name, type=key.type)
            for key in keys
        ),
        DataField(id=_SEQUENCE_NUMBER_ID, name=SEQUENCE_NUMBER, type=_SEQUENCE_NUMBER_TYPE),
        DataField(id=_VALUE_KIND_ID, name=VALUE_KIND, type=_VALUE_KIND_TYPE),
        *schema.fields,
    )


def file_schema(schema: TableSchema) -> pa.Schema:
    """The columns of a data file, with the field ids that Paimon gives them in Parquet."""
    return pa.schema(
        [_parquet_field(field.name, field.type, field.id, 0) for field in file_fields(schema)]
    )


class RowFile(ABC):
    """A data file that is being made of tables with the columns of `file_schema`."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Bytes so far; before the end only what has been encoded or, in Avro, what is to be."""

    @abstractmethod
    def add(self, rows: pa.Table) -> None:
        """Append rows."""

    @abstractmethod
    def finish(self) -> bytes:
        """The whole file."""


def open_row_file(schema: TableSchema, group_bytes: int) -> RowFile:
    """Begin a data file in the format of a table that `check_format` let pass.

    Args:
        schema: The table.
        group_bytes: Roughly how many bytes are encoded at once.
    """
    match _format(schema):
        case "orc":
            return _OrcFile(schema, group_bytes)
        case "avro":
            return _AvroFile(schema)
        case _:
            return _ParquetFile(schema)


def file_suffix(schema: TableSchema) -> str:
    """Return the ending of data file names, with the dot; Paimon tells formats by it."""
    return f".{_format(schema)}"


class _ParquetFile(RowFile):
    def __init__(self, schema: TableSchema) -> None:
        plain = file_schema(schema)
        layout, leaves = int96_layout(plain)
        codec = _library_codec(schema)
        level = schema.options.read(table_options.FILE_COMPRESSION_ZSTD_LEVEL)
        self._sink = pa.BufferOutputStream()
        self._writer = pq.ParquetWriter(
            self._sink,
            layout,
            compression=codec,
            compression_level=level if codec == "zstd" else None,
            store_decimal_as_integer=True,
            store_schema=False,
            write_statistics=[leaf.path for leaf in leaves if _is_ordered(leaf.kind)],
            use_dictionary=[leaf.path for leaf in leaves if not _is_wide_decimal(leaf.kind)],
        )
        self._layout = layout
        self._leaves = leaves

    @property
    def size(self) -> int:
        return int(self._sink.tell())

    def add(self, rows: pa.Table) -> None:
        columns = [
            pa.chunked_array([_stored(chunk) for chunk in column.chunks], field.type)
            for column, field in zip(rows.columns, self._layout, strict=True)
        ]
        stored = pa.Table.from_arrays(columns, schema=self._layout)
        self._writer.write_table(stored, row_group_size=rows.num_rows)

    def finish(self) -> bytes:
        self._writer.close()
        return mark_int96(self._sink.getvalue(), self._leaves)


def _stored(array: pa.Array) -> pa.Array:
    return to_int96(with_required_parts(array, array.type))


class _OrcFile(RowFile):
    def __init__(self, schema: TableSchema, stripe_bytes: int) -> None:
        self._layout = pa.schema(
            [pa.field(field.name, _orc_type(field.type)) for field in file_fields(schema)]
        )
        self._sink = pa.BufferOutputStream()
        self._writer = orc.ORCWriter(
            self._sink, compression=_library_codec(schema), stripe_size=stripe_bytes
        )
        self._has_fine = any(has_part(kind, is_fine) for kind in self._layout.types)
        self._held: list[pa.Table] = []

    @property
    def size(self) -> int:
        held: int = sum(table.nbytes for table in self._held)
        return int(self._sink.tell()) + held

    def add(self, rows: pa.Table) -> None:
        if self._has_fine:
            # Arrow has one unit for a column of a file, which all rows decide.
            self._held.append(rows)
        else:
            self._write(rows.cast(self._layout))

    def finish(self) -> bytes:
        if self._held:
            rows = pa.concat_tables(self._held)
            columns = [
                _in_one_unit(name, column, kind)
                for name, column, kind in zip(
                    rows.column_names, rows.columns, self._layout.types, strict=True
                )
            ]
            self._write(pa.table(columns, names=rows.column_names))
        self._writer.close()
        return bytes(self._sink.getvalue())

    def _write(self, rows: pa.Table) -> None:
        for name, column in zip(rows.column_names, rows.columns, strict=True):
            if any(map(_is_torn, chain.from_iterable(map(_timestamps, column.chunks)))):
                raise unsupported(
                    f"Column {name!r} holds a time before 1970 that is finer than a millisecond, "
                    "which Paimon could not read again from an ORC file of ours. Nothing was "
                    "changed. Round it, or set 'file.format' to parquet."
                )
        self._writer.write(rows)


class _AvroFile(RowFile):
    def __init__(self, schema: TableSchema) -> None:
        self._fields = file_fields(schema)
        self._codec = _library_codec(schema)
        self._tables: list[pa.Table] = []

    @property
    def size(self) -> int:
        return sum(table.nbytes for table in self._tables)

    def add(self, rows: pa.Table) -> None:
        self._tables.append(rows)

    def finish(self) -> bytes:
        return write_avro_rows(pa.concat_tables(self._tables), self._fields, self._codec)


def _format(schema: TableSchema) -> str:
    return schema.options.read(table_options.FILE_FORMAT).lower()


def _codec(schema: TableSchema) -> str:
    return schema.options.read(table_options.FILE_COMPRESSION).lower()


def _library_codec(schema: TableSchema) -> str:
    return _CODECS[_format(schema)][_codec(schema)]


def _unwritable_part(data_type: DataType, file_format: str) -> DataType | None:
    match data_type:
        case AtomicType(root=root) if root in _UNWRITABLE:
            return data_type
        case AtomicType(root=TypeRoot.VARIANT) if file_format != "parquet":
            return data_type
        case AtomicType(root=TypeRoot.TIMESTAMP_LTZ) if file_format == "orc":
            # Paimon shifts what Arrow writes by the zone of the process that reads it.
            return data_type
        case AtomicType(root=TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ, precision=precision):
            return data_type if file_format == "avro" and (precision or 0) > 6 else None
        case AtomicType(root=TypeRoot.TIME, precision=precision):
            return data_type if file_format == "avro" and (precision or 0) > 3 else None
        case AtomicType():
            return None
        case MultisetType(element=element) if file_format == "avro" and not _is_text(element):
            # Paimon takes what Avro has for it, pairs in an array, for an ARRAY and fails.
            return data_type
        case VectorType() if file_format == "orc":
            return data_type
        case ArrayType(element=VectorType()) | MapType(value=VectorType()):
            # Paimon's arrays have no vectors.
            return data_type
    for part in parts_of(data_type):
        if (found := _unwritable_part(part, file_format)) is not None:
            return found
    return None


def _is_text(data_type: DataType) -> bool:
    return isinstance(data_type, AtomicType) and data_type.root in TEXT_ROOTS


# --- ORC ----------------------------------------------------------------------------------------


def _orc_type(data_type: DataType) -> pa.DataType:
    """The Arrow type that becomes the ORC type of Paimon: times are numbers, vectors are lists."""
    match data_type:
        case ArrayType(element=element) | VectorType(element=element):
            return pa.list_(_orc_type(element))
        case MapType(key=key, value=value):
            return pa.map_(_orc_type(key), _orc_type(value))
        case MultisetType(element=element):
            return pa.map_(_orc_type(element), pa.int32())
        case RowType(fields=fields):
            return pa.struct([pa.field(field.name, _orc_type(field.type)) for field in fields])
        case AtomicType(root=TypeRoot.TIME):
            return pa.int32()
        case AtomicType():
            return to_arrow(data_type)
        case _:
            assert_never(data_type)


def _in_one_unit(name: str, column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """A column whose timestamps have the unit that holds all of them.

    Raises:
        InvalidInput: None does.
    """
    for unit in ("ns", "us"):
        try:
            found = cast_times(column, _with_unit(kind, unit))
        except pa.ArrowInvalid:
            continue
        if unit == "ns" or cast_times(found, kind).equals(cast_times(column, kind)):
            return found
    raise unsupported(
        f"Column {name!r} holds times before 1677 or after 2262 and others that are finer than a "
        "microsecond, which we cannot write to one ORC file. Nothing was changed. Round them, or "
        "set 'file.format' to parquet."
    )


def _with_unit(kind: pa.DataType, unit: str) -> pa.DataType:
    def times(array: pa.Array) -> pa.Array:
        return pa.nulls(len(array), pa.timestamp(unit))

    return map_parts(pa.nulls(0, kind), is_fine, times).type


def _timestamps(array: pa.Array) -> Iterator[pa.TimestampArray]:
    """The timestamps of a column, on whatever level of it."""
    if pa.types.is_timestamp(array.type):
        yield array
    elif pa.types.is_struct(array.type):
        yield from chain.from_iterable(map(_timestamps, array.flatten()))
    elif pa.types.is_map(array.type):
        yield from chain(_timestamps(array.keys), _timestamps(array.items))
    elif pa.types.is_list(array.type) or pa.types.is_fixed_size_list(array.type):
        yield from _timestamps(array.flatten())


def _is_torn(array: pa.TimestampArray) -> bool:
    """Whether Arrow would write seconds of one sign and nanoseconds of the other."""
    if array.type.unit in ("s", "ms"):
        return False
    early = array.cast(pa.int64())
    early = early.filter(pc.less(early, 0)).to_numpy()
    return bool((early % (1_000 if array.type.unit == "us" else 1_000_000)).any())


# --- Parquet ------------------------------------------------------------------------------------


def _is_ordered(kind: pa.DataType) -> bool:
    """Whether bounds of its values rule out only what readers do not look for.

    INT96 has no order. Arrow leaves NaN out of bounds, and Paimon looks for it above all numbers.
    """
    return not is_fine(kind) and not pa.types.is_floating(kind)


def _is_wide_decimal(kind: pa.DataType) -> bool:
    """Whether a decimal is kept as 16 bytes.

    Paimon asks a dictionary for as many as the number needs, and would not find it there.
    """
    return bool(pa.types.is_decimal128(kind) and kind.precision > COMPACT_DECIMAL_PRECISION)


def _parquet_field(name: str, data_type: DataType, field_id: int, depth: int) -> pa.Field:
    return _with_id(
        pa.field(name, _parquet_type(data_type, field_id, depth + 1), data_type.nullable), field_id
    )


def _parquet_type(data_type: DataType, field_id: int, depth: int) -> pa.DataType:
    """The Arrow type with the ids that Paimon derives for parts of a column."""

    def part(name: str, of: DataType, sign: int, *, nullable: bool) -> pa.Field:
        part_id = _NESTED_FIELD_IDS + sign * (field_id * _NESTED_DEPTHS + depth)
        return _with_id(pa.field(name, _parquet_type(of, field_id, depth + 1), nullable), part_id)

    match data_type:
        case ArrayType(element=element):
            return pa.list_(part("element", element, 1, nullable=element.nullable))
        case VectorType(element=element, length=length):
            return pa.list_(part("element", element, 1, nullable=element.nullable), length)
        case MapType(key=key, value=value):
            return pa.map_(
                part("key", key, -1, nullable=False),
                part("value", value, 1, nullable=value.nullable),
            )
        case MultisetType(element=element):
            count = AtomicType(root=TypeRoot.INT, nullable=False)
            return pa.map_(
                part("key", element, -1, nullable=False), part("value", count, 1, nullable=False)
            )
        case RowType(fields=fields):
            return pa.struct([_parquet_field(f.name, f.type, f.id, 0) for f in fields])
        case AtomicType(root=TypeRoot.VARIANT):
            return pa.struct([_with_id(part, i) for i, part in enumerate(to_arrow(data_type))])
        case AtomicType():
            return to_arrow(data_type)
        case _:
            assert_never(data_type)


def _with_id(field: pa.Field, field_id: int) -> pa.Field:
    return field.with_metadata({b"PARQUET:field_id": str(field_id).encode()})
