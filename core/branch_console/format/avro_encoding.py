"""Avro containers as Paimon writes them, to and from Arrow tables.

The records are fastavro's work. The container around them is ours: it is small, and so codecs come
from Arrow and no block is trusted before its length, checksum and record count agree. Record and
field names follow Paimon AvroSchemaConverter; a field is nullable in Avro where it is in Arrow.
"""

import bz2
import functools
import hashlib
import json
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from itertools import accumulate
from typing import Any, Final

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import ErrorKind, FormatError, InvalidInput
from branch_console.format.avro_check import check_avro_schema
from branch_console.format.bounds import MOST_BLOCK_BYTES, too_deep

_MAGIC: Final = b"Obj\x01"
_SYNC_BYTES: Final = 16
_NO_FILE_NAME: Final = r"[/\\]|^\.{0,2}$"
NAMESPACE: Final = "org.apache.paimon.avro.generated"
CODECS: Final = ("zstandard", "snappy", "deflate", "bzip2", "xz", "null")
"""The codecs that may pack the blocks of an Avro file."""

RECORDS_PER_BLOCK: Final = 1_000
# Some lines of a list; what they decode to is kept, a thousand times.
_SMALL_BLOCK: Final = 512
_ZSTD_LEVEL: Final = 1
# Snappy repeats at most 64 bytes by two; anything longer is a broken length.
_SNAPPY_LIMIT: Final = 64


def required(name: str, arrow_type: pa.DataType) -> pa.Field:
    """Return a field that is never null."""
    return pa.field(name, arrow_type, nullable=False)


VERSION_FIELD: Final = required("_VERSION", pa.int32())


class AvroLayout:
    """The fields of an Avro file, with everything that reading or writing one needs to know.

    A small file is read or written in less time than its schema takes to be looked up.
    """

    def __init__(self, fields: pa.Schema) -> None:
        schema = avro_schema(fields)
        self.fields = fields
        self.text = json.dumps(schema, separators=(",", ":"))
        self.plain = parse_records(schema)
        self._record = _struct_values(list(fields))
        self._struct = pa.struct(list(fields))
        self._check_nulls = _null_checks(list(fields))

    def records(self, batch: pa.RecordBatch) -> list[dict[str, Any]]:
        """The rows under the names of the fields; else InvalidInput."""
        return self._record(batch.columns, batch.num_rows)

    def table(self, columns: list[pa.Array]) -> pa.Table:
        """The columns under the names of the fields; raises FormatError where one lacks a value."""
        self._check_nulls(columns)
        return pa.Table.from_arrays(columns, schema=self.fields)

    def table_of(self, records: list[dict[str, Any]]) -> pa.Table:
        """The columns of records; what these lack is null, and else as `table`."""
        return self.table(pa.array(records, self._struct).flatten())


def write_avro(
    table: pa.Table, codec: str = "zstandard", layout: AvroLayout | None = None
) -> bytes:
    """Write `table` as an Avro file; equal tables give equal bytes.

    Args:
        table: One row a record.
        codec: One of CODECS.
        layout: The fields of the file, from which only names may differ, nested ones too; the
            columns of the table by default.

    Raises:
        InvalidInput: The codec is none of these, a column is of another type than its field, or a
            field that is not nullable holds a null.
    """
    layout = layout or AvroLayout(table.schema)
    batches = table.to_batches(max_chunksize=RECORDS_PER_BLOCK)
    return write_records(map(layout.records, batches), layout.text, layout.plain, codec)


def write_records(
    blocks: Iterable[list[dict[str, Any]]], text: str, plain: Any, codec: str
) -> bytes:
    """Write records as an Avro file; equal ones give equal bytes.

    Args:
        blocks: The records of each block, with the values of bare types.
        text: Their schema, which the file tells.
        plain: What fastavro parsed of an array of them without logical types.
        codec: One of CODECS.

    Raises:
        InvalidInput: The codec is none of these, or a value is of another type than its field.
    """
    header = {"avro.schema": text, "avro.codec": codec}
    written = []
    for records in blocks:
        target = BytesIO()
        try:
            fastavro.schemaless_writer(target, plain, records)
        except (TypeError, ValueError, OverflowError, AttributeError) as error:
            raise InvalidInput(f"A table does not fit its Avro schema: {error}.") from error
        # An Avro array of n records is the count n, the records, and a zero: a block without frame.
        count = _varint(len(records))
        content = _compress(target.getvalue()[len(count) : -1], codec)
        written.append((count, content))
    digest = hashlib.blake2b(digest_size=_SYNC_BYTES)
    for part in (text.encode(), *(content for _, content in written)):
        digest.update(part)
    sync = digest.digest()
    framed = (count + _varint(len(content)) + content + sync for count, content in written)
    return b"".join([_MAGIC, _metadata(header), sync, *framed])


def read_avro(data: bytes, layout: AvroLayout, path: str, version: int) -> pa.Table:
    """Read an Avro file whose fields are found by name, as Paimon does.

    Args:
        data: The whole file.
        layout: The columns to return; those that the file lacks are null if they may be.
        path: The file, for errors.
        version: The required value of `_VERSION`.

    Returns:
        A table with exactly the columns of `layout`.

    Raises:
        FormatError: The file is broken, of another version, or lacks a column that is not nullable.
    """
    try:
        batches = [layout.table_of(records) for records in _runs(read_blocks(data))]
        table = pa.concat_tables(batches) if batches else layout.fields.empty_table()
        table.validate(full=True)
    except FormatError as error:
        if error.kind is ErrorKind.UNSUPPORTED:
            raise
        raise broken(path, error.message) from error
    # A broken header can make the decoder stumble in any way; to callers it is one and the same.
    except Exception as error:
        raise broken(path, f"{type(error).__name__}: {error}") from error
    check_version(table, path, version)
    return table


def check_version(table: pa.Table, path: str, version: int) -> None:
    """Refuse records of another version than the one that is known.

    Args:
        table: Records with their column `_VERSION`.
        path: The file that holds them, for the error.
        version: The known one.

    Raises:
        FormatError: One has another version.
    """
    for found in table[VERSION_FIELD.name].unique().to_pylist():
        if found != version:
            raise FormatError(
                f"{path or 'The file'} has format version {found}; {version} is the only one "
                "known. Upgrade Branch Console to read it.",
                kind=ErrorKind.UNKNOWN_VERSION,
                path=path,
            )


def check_file_names(names: pa.Array | pa.ChunkedArray, path: str) -> None:
    """Refuse names that are none: they are joined to a folder, and a separator would leave it.

    Args:
        names: Text, without nulls.
        path: The file that holds them, for the error.

    Raises:
        FormatError: A name is empty, a dot name, or holds a separator.
    """
    if not len(names):
        return
    wrong = names.filter(pc.match_substring_regex(names, _NO_FILE_NAME))
    if len(wrong):
        raise FormatError(
            f"{path or 'An Avro file'} lists {wrong[0].as_py()!r}, which is not a file name. "
            "Restore it from a copy.",
            path=path,
        )


def version_column(version: int, count: int) -> pa.Array:
    """Return the values of the first field of every record."""
    return pa.array(np.full(count, version, dtype=np.int32))


def paimon_name(column: str) -> str:
    """Return the name that Paimon's metadata files have for one of our columns."""
    return f"_{column.upper()}"


def paimon_fields(fields: Iterable[pa.Field]) -> list[pa.Field]:
    """Return `fields` under Paimon's names, the fields of structs too."""
    return [pa.field(paimon_name(f.name), _paimon_type(f.type), f.nullable) for f in fields]


def _paimon_type(arrow_type: pa.DataType) -> pa.DataType:
    return pa.struct(paimon_fields(arrow_type)) if pa.types.is_struct(arrow_type) else arrow_type


def relabel(columns: Sequence[pa.Array | pa.ChunkedArray], layout: pa.Schema) -> pa.Table:
    """Return `columns` as a table of `layout`, from which only names may differ, nested ones too.

    Raises:
        InvalidInput: A column is of another type.
    """
    try:
        arrays = [
            _relabel(whole(column), field.type)
            for column, field in zip(columns, layout, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=layout)
    except (pa.ArrowException, ValueError) as error:
        raise _other_columns(str(error)) from error


def _relabel(array: pa.Array, arrow_type: pa.DataType) -> pa.Array:
    if array.type == arrow_type:
        return array
    mask = pc.is_null(array) if array.null_count else None
    if pa.types.is_struct(arrow_type):
        children = [
            _relabel(child, field.type)
            for child, field in zip(array.flatten(), arrow_type, strict=True)
        ]
        return pa.StructArray.from_arrays(children, fields=list(arrow_type), mask=mask)
    if pa.types.is_list(arrow_type):
        lengths = array.value_lengths().fill_null(0).to_numpy()
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
        values = _relabel(array.flatten(), arrow_type.value_type)
        return pa.ListArray.from_arrays(offsets, values, type=arrow_type, mask=mask)
    return array.cast(arrow_type)


def one_array(column: pa.Array | pa.ChunkedArray, arrow_type: pa.DataType) -> pa.Array:
    """Return a column as one array of `arrow_type`."""
    column = whole(column)
    return column if column.type == arrow_type else column.cast(arrow_type)


def whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks or [pa.array([], column.type)])


def avro_schema(layout: pa.Schema) -> dict[str, Any]:
    """Return the Avro schema that Paimon gives to a record with these columns."""
    return {
        "type": "record",
        "name": "record",
        "namespace": NAMESPACE,
        "fields": _avro_fields(list(layout), "record"),
    }


def _avro_fields(fields: list[pa.Field], record: str) -> list[dict[str, Any]]:
    return [
        {"name": f.name, "type": _avro_type(f, f"{record}_{f.name}")}
        | ({"default": None} if f.nullable else {})
        for f in fields
    ]


def _avro_type(field: pa.Field, record: str) -> Any:
    plain = _plain_avro_type(field.type, record)
    return ["null", plain] if field.nullable else plain


def _plain_avro_type(arrow_type: pa.DataType, record: str) -> Any:
    if pa.types.is_struct(arrow_type):
        return {"type": "record", "name": record, "fields": _avro_fields(list(arrow_type), record)}
    if pa.types.is_list(arrow_type):
        return {"type": "array", "items": _avro_type(arrow_type.value_field, record)}
    if arrow_type == pa.timestamp("ms"):
        return {"type": "long", "logicalType": "timestamp-millis"}
    return {pa.int32(): "int", pa.int64(): "long", pa.string(): "string", pa.binary(): "bytes"}[
        arrow_type
    ]


@functools.lru_cache(maxsize=64)
def _schema_to_read(text: bytes) -> Any:
    try:
        schema = json.loads(text)
    except RecursionError as error:
        raise too_deep("Avro schema") from error
    check_avro_schema(schema)
    return parse_records(schema)


def parse_records(schema: Any) -> Any:
    """Return what fastavro parses of an array of records; their values are of bare types."""
    return fastavro.parse_schema({"type": "array", "items": without_logical_types(schema)})


def without_logical_types(schema: Any) -> Any:
    """Drop logical types: timestamps stay numbers, and no zone is put on a local wall clock."""
    if isinstance(schema, dict):
        return {k: without_logical_types(v) for k, v in schema.items() if k != "logicalType"}
    if isinstance(schema, list):
        return [without_logical_types(part) for part in schema]
    return schema


_Values = Callable[[pa.Array], list[Any]]


def _struct_values(
    fields: list[pa.Field],
) -> Callable[[Sequence[pa.Array], int], list[dict[str, Any]]]:
    """Turn columns into one dictionary a row, under the names of the fields."""
    names = [field.name for field in fields]
    readers = [_values(field.type) for field in fields]

    def read(columns: Sequence[pa.Array], count: int) -> list[dict[str, Any]]:
        if len(columns) != len(readers):
            raise _other_columns(f"{len(columns)} instead of {len(readers)}")
        if not columns:
            return [{} for _ in range(count)]
        values = [read(column) for read, column in zip(readers, columns, strict=True)]
        return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]

    return read


def _values(arrow_type: pa.DataType) -> _Values:
    """Turn an array of a type into Python values, structs and lists by their children as a whole.

    Timestamps become numbers; the names in structs may be others.
    """
    plain = _plain_values(arrow_type)
    wanted = arrow_type.id

    def read(array: pa.Array) -> list[Any]:
        if array.type.id != wanted:
            raise _other_columns(f"{array.type} instead of {arrow_type}")
        nulls = array.null_count
        if nulls == len(array):
            return [None] * nulls
        values = plain(array)
        if not nulls:
            return values
        valid = array.is_valid().to_pylist()
        return [value if ok else None for value, ok in zip(values, valid, strict=True)]

    return read


def _plain_values(arrow_type: pa.DataType) -> _Values:
    """The values of an array; where it is null, any."""
    if pa.types.is_struct(arrow_type):
        read = _struct_values(list(arrow_type))
        return lambda array: read(array.flatten(), len(array))
    if pa.types.is_list(arrow_type):
        items = _values(arrow_type.value_type)
        return lambda array: _lists(items(array.flatten()), array.value_lengths())
    if pa.types.is_timestamp(arrow_type):
        return lambda array: _any(array.view(pa.int64()))
    if pa.types.is_integer(arrow_type):
        return _integers
    return _any


def _any(array: pa.Array) -> list[Any]:
    return list(array.to_pylist())


def _integers(array: pa.Array) -> list[Any]:
    return _any(array) if array.null_count else list(array.to_numpy().tolist())


def _lists(items: list[Any], lengths: pa.Array) -> list[list[Any]]:
    ends = list(accumulate(each or 0 for each in lengths.to_pylist()))
    return [items[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _runs(blocks: Iterable[list[dict[str, Any]]]) -> Iterator[list[dict[str, Any]]]:
    """The records of neighbouring blocks together: a table of a few costs as much as of many.

    A list that grew by a line a commit has a block for each.
    """
    run: list[dict[str, Any]] = []
    for records in blocks:
        run += records
        if len(run) >= RECORDS_PER_BLOCK:
            yield run
            run = []
    if run:
        yield run


_NullCheck = Callable[[pa.Array], None]


def _null_checks(fields: list[pa.Field], inside: str = "") -> Callable[[list[pa.Array]], None]:
    """Return what raises FormatError if one of the columns of these fields lacks a value.

    What to look for is found out once: most fields may be null, and hold nothing that may not.
    """
    checks = [
        (number, check)
        for number, field in enumerate(fields)
        if (check := _null_check(field, f"{inside}{field.name}")) is not None
    ]

    def check_all(columns: list[pa.Array]) -> None:
        for number, check in checks:
            check(columns[number])

    return check_all if checks else _check_nothing


def _check_nothing(_: list[pa.Array]) -> None:
    """Check nothing: all these fields may be null."""


def _null_check(field: pa.Field, name: str) -> _NullCheck | None:
    check_parts = _parts_check(field.type, name)
    if field.nullable and check_parts is None:
        return None

    def check(array: pa.Array) -> None:
        if array.null_count:
            if not field.nullable:
                raise FormatError(f"{name} is missing")
            # Below a null nothing is required: only the parts of values that are there count.
            array = array.drop_null()
        if check_parts is not None:
            check_parts(array)

    return check


def _parts_check(arrow_type: pa.DataType, name: str) -> _NullCheck | None:
    if pa.types.is_struct(arrow_type):
        check_all = _null_checks(list(arrow_type), f"{name}.")
        if check_all is _check_nothing:
            return None
        return lambda array: check_all(array.flatten())
    if pa.types.is_list(arrow_type):
        check = _null_check(arrow_type.value_field, f"{name}[]")
        return None if check is None else lambda array: check(array.flatten())
    return None


def read_blocks(data: bytes) -> Iterator[list[dict[str, Any]]]:
    """The records of an Avro file block by block, their values without logical types.

    They are to be read only: a small block that was met before gives the same ones again.

    Raises:
        FormatError: The bytes are no such file.
    """
    if data[: len(_MAGIC)] != _MAGIC:
        raise FormatError("it is not an Avro file")
    source = BytesIO(data)
    source.seek(len(_MAGIC))
    header = _read_metadata(source)
    sync = _take(source, _SYNC_BYTES)
    codec = header.get("avro.codec", b"null").decode()
    schema = header["avro.schema"]
    _schema_to_read(schema)  # a broken one shows if there is no block, too
    while source.tell() < len(data):
        count = _read_varint(source)
        content = _take(source, _read_varint(source))
        if _take(source, _SYNC_BYTES) != sync:
            raise FormatError("a block does not end where it should")
        decode = _small_block if len(content) <= _SMALL_BLOCK else _decode_block
        yield decode(schema, codec, count, content)


def check_header(header: bytes) -> None:
    """Refuse an Avro file by the schema in its header, for decoders that trust it.

    Args:
        header: Magic and metadata of the file.

    Raises:
        FormatError: The schema is broken, or one that decoders do not survive.
    """
    source = BytesIO(header)
    source.seek(len(_MAGIC))
    _schema_to_read(_read_metadata(source)["avro.schema"])


def _decode_block(schema: bytes, codec: str, count: int, content: bytes) -> list[dict[str, Any]]:
    plain = _decompress(content, codec)
    if not 0 < count <= len(plain):
        raise FormatError(f"a block of {len(plain)} bytes claims {count} records")
    block = BytesIO(_varint(count) + plain + b"\0")
    records = fastavro.schemaless_reader(block, _schema_to_read(schema), None)
    if not isinstance(records, list) or block.read(1):
        raise FormatError("a block holds more than its records")
    return records


# Each commit writes the list of manifests anew, and nearly all of its blocks are those of before.
_small_block = functools.lru_cache(maxsize=1_024)(_decode_block)


def _compress(content: bytes, codec: str) -> bytes:
    match codec:
        case "null":
            return content
        case "zstandard":
            return bytes(pa.Codec("zstd", _ZSTD_LEVEL).compress(content))
        case "snappy":
            checksum = zlib.crc32(content).to_bytes(4, "big")
            return bytes(pa.Codec("snappy").compress(content)) + checksum
        case "deflate":
            return zlib.compress(content, wbits=-15)
        case "bzip2":
            return bz2.compress(content)
        case "xz":
            return lzma.compress(content)
        case _:
            raise InvalidInput(
                f"Avro codec {codec!r} is not known; it can be {', '.join(CODECS)}.",
                kind=ErrorKind.UNSUPPORTED,
            )


def _decompress(content: bytes, codec: str) -> bytes:
    match codec:
        case "null":
            return content
        case "zstandard":
            with pa.CompressedInputStream(pa.BufferReader(content), "zstd") as stream:
                return _bounded(bytes(stream.read(MOST_BLOCK_BYTES + 1)))
        case "snappy":
            size = _snappy_size(content)
            if size > min(_SNAPPY_LIMIT * len(content), MOST_BLOCK_BYTES):
                raise FormatError(f"a block of {len(content)} bytes claims to hold {size}")
            plain = pa.Codec("snappy").decompress(content[:-4], size, asbytes=True)
            if zlib.crc32(plain).to_bytes(4, "big") != content[-4:]:
                raise FormatError("the checksum of a block is wrong")
            return bytes(plain)
        case "deflate":
            unpacked = zlib.decompressobj(wbits=-15)
            plain = _bounded(unpacked.decompress(content, MOST_BLOCK_BYTES + 1))
            # Other writers leave bytes of a checksum behind it.
            if not unpacked.eof:
                raise FormatError("a block does not end where it should")
            return plain
        case "bzip2":
            return _unpacked(bz2.BZ2Decompressor(), content)
        case "xz":
            return _unpacked(lzma.LZMADecompressor(), content)
        case _:
            raise FormatError(
                f"it is an Avro file packed with {codec!r}, which is not read here. Read the table "
                "with Paimon.",
                kind=ErrorKind.UNSUPPORTED,
            )


def _unpacked(packed: bz2.BZ2Decompressor | lzma.LZMADecompressor, content: bytes) -> bytes:
    plain = _bounded(packed.decompress(content, MOST_BLOCK_BYTES + 1))
    if not packed.eof or packed.unused_data:
        raise FormatError("a block does not end where it should")
    return plain


def _bounded(plain: bytes) -> bytes:
    if len(plain) > MOST_BLOCK_BYTES:
        raise FormatError(f"a block unpacks to more than {MOST_BLOCK_BYTES:,} bytes")
    return plain


def _snappy_size(content: bytes) -> int:
    size = 0
    for i, byte in enumerate(content[:5]):
        size |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return size
    raise FormatError("a block has no length")


def _metadata(values: dict[str, str]) -> bytes:
    parts = [_varint(len(values))]
    for text in (text for pair in values.items() for text in pair):
        parts += [_varint(len(text.encode())), text.encode()]
    return b"".join([*parts, b"\0"])


def _read_metadata(source: BytesIO) -> dict[str, bytes]:
    values = {}
    while count := _read_varint(source):
        if count < 0:
            # A negative count is followed by the size of the map's block in bytes.
            count, _ = -count, _read_varint(source)
        for _ in range(count):
            key = _take(source, _read_varint(source)).decode()
            values[key] = _take(source, _read_varint(source))
    return values


def _take(source: BytesIO, size: int) -> bytes:
    taken = source.read(size) if size >= 0 else b""
    if len(taken) != size:
        raise FormatError("it ends too early")
    return taken


def _varint(value: int) -> bytes:
    zigzag, encoded = value << 1 if value >= 0 else ~(value << 1), bytearray()
    while zigzag >= 0x80:
        encoded.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*encoded, zigzag])


def _read_varint(source: BytesIO) -> int:
    value = 0
    for shift in range(0, 70, 7):
        byte = _take(source, 1)[0]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value >> 1 ^ -(value & 1)
    raise FormatError("a number is too long")


def _other_columns(why: str) -> InvalidInput:
    return InvalidInput(f"A table does not have the columns it needs: {why}.")


def broken(path: str, reason: str) -> FormatError:
    """Return the error that a metadata file is damaged."""
    return FormatError(
        f"{path or 'A metadata file'} cannot be read: {reason}. Restore it from a copy, or leave "
        "the snapshots that need it.",
        path=path,
    )
