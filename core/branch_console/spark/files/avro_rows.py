"""The rows of Avro data files, to and from Arrow columns.

Avro says less than Paimon's types do: the bytes of a decimal have no scale of their own, a map
whose keys are no text is an array of pairs, and the two kinds of timestamps have their logical
types swapped. So values are read and written bare and take their meaning from the column. Source:
Paimon AvroSchemaConverter, FieldReaderFactory, FieldWriterFactory.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from decimal import Context, Decimal
from itertools import accumulate, chain, islice
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pyarrow as pa

from branch_console.format.avro_encoding import (
    NAMESPACE,
    RECORDS_PER_BLOCK,
    parse_records,
    read_blocks,
    write_records,
)
from branch_console.format.data_types import (
    INT,
    ArrayType,
    AtomicType,
    DataField,
    DataType,
    MapType,
    MultisetType,
    RowType,
    TypeRoot,
    VectorType,
)
from branch_console.format.values.arrow_types import to_arrow

_EXACT: Final = Context(prec=76)
_UNITS: Final = MappingProxyType({"ms": "millis", "us": "micros"})
_PLAIN: Final = MappingProxyType(
    {
        TypeRoot.BOOLEAN: "boolean",
        TypeRoot.TINYINT: "int",
        TypeRoot.SMALLINT: "int",
        TypeRoot.INT: "int",
        TypeRoot.BIGINT: "long",
        TypeRoot.FLOAT: "float",
        TypeRoot.DOUBLE: "double",
        TypeRoot.CHAR: "string",
        TypeRoot.VARCHAR: "string",
        TypeRoot.BINARY: "bytes",
        TypeRoot.VARBINARY: "bytes",
    }
)
_NUMBERED: Final = frozenset(
    {TypeRoot.DATE, TypeRoot.TIME, TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ},
)


def read_avro_rows(data: bytes, fields: Sequence[DataField]) -> pa.Table:
    """Read columns of an Avro data file.

    Args:
        data: The whole file.
        fields: The wanted columns, in the types with which the file was written; one that the file
            lacks is null.

    Raises:
        FormatError: The bytes are not such a file.
    """
    names = [field.name for field in fields]
    batches = [
        pa.record_batch(
            [_array([row.get(field.name) for row in rows], field.type) for field in fields],
            names=names,
        )
        for rows in read_blocks(data)
    ]
    layout = pa.schema([(field.name, to_arrow(field.type)) for field in fields])
    return pa.Table.from_batches(batches, layout)


def write_avro_rows(rows: pa.Table, fields: Sequence[DataField], codec: str) -> bytes:
    """Write rows as an Avro data file.

    Args:
        rows: The columns of `fields`, in their types.
        fields: Without timestamps of more than six digits and times of more than three.
        codec: zstandard, snappy, deflate or null.
    """
    schema = {**_record(fields, "record"), "namespace": NAMESPACE}
    text = json.dumps(schema, separators=(",", ":"))

    def blocks() -> Iterator[list[dict[str, Any]]]:
        for batch in rows.to_batches(max_chunksize=RECORDS_PER_BLOCK):
            yield _dicts(batch.columns, fields, batch.num_rows)

    return write_records(blocks(), text, parse_records(schema), codec)


# --- reading ------------------------------------------------------------------------------------


def _array(values: list[Any], kind: DataType) -> pa.Array:
    target = to_arrow(kind)
    match kind:
        case AtomicType(root=TypeRoot.DECIMAL, scale=scale):
            return pa.array([_decimal(value, scale or 0) for value in values], target)
        case AtomicType(root=root) if root in _NUMBERED:
            width = (
                pa.int64() if root in (TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ) else pa.int32()
            )
            return pa.array(values, width).cast(target)
        case AtomicType():
            return pa.array(values, target)
        case ArrayType(element=element):
            items = _array(list(chain.from_iterable(_present(values))), element)
            return pa.ListArray.from_arrays(_offsets(values), items, target, mask=_nulls(values))
        case VectorType(element=element, length=length):
            empty = [None] * length
            filled = [empty if value is None else value for value in values]
            items = _array(list(chain.from_iterable(filled)), element)
            return pa.FixedSizeListArray.from_arrays(items, type=target, mask=_nulls(values))
        case MapType(key=key, value=value):
            return _map_array(values, key, value, target)
        case MultisetType(element=element):
            return _map_array(values, element, INT, target)
        case RowType(fields=fields):
            parts = [
                _array([None if row is None else row.get(field.name) for row in values], field.type)
                for field in fields
            ]
            return pa.StructArray.from_arrays(parts, fields=list(target), mask=_nulls(values))


def _map_array(values: list[Any], key: DataType, value: DataType, target: pa.DataType) -> pa.Array:
    pairs = list(chain.from_iterable(map(_pairs, _present(values))))
    keys = _array([each[0] for each in pairs], key)
    items = _array([each[1] for each in pairs], value)
    return pa.MapArray.from_arrays(_offsets(values), keys, items, type=target, mask=_nulls(values))


def _pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, dict):
        return value.items()
    return [(pair["key"], pair["value"]) for pair in value]


def _decimal(value: bytes | None, scale: int) -> Decimal | None:
    if value is None:
        return None
    return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-scale, _EXACT)


def _present(values: list[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def _offsets(values: list[Any]) -> pa.Array:
    ends = accumulate(0 if value is None else len(value) for value in values)
    return pa.array([0, *ends], pa.int32())


def _nulls(values: list[Any]) -> pa.Array:
    return pa.array([value is None for value in values], pa.bool_())


# --- writing ------------------------------------------------------------------------------------


def _record(fields: Sequence[DataField], name: str) -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [
            {"name": field.name, "type": _schema(field.type, f"{name}_{field.name}")}
            | ({"default": None} if field.type.nullable else {})
            for field in fields
        ],
    }


def _schema(kind: DataType, name: str) -> Any:
    bare = _bare_schema(kind, name)
    return ["null", bare] if kind.nullable else bare


def _bare_schema(kind: DataType, name: str) -> Any:
    match kind:
        case AtomicType(root=TypeRoot.DECIMAL, precision=precision, scale=scale):
            sizes = {"precision": precision, "scale": scale}
            return {"type": "bytes", "logicalType": "decimal", **sizes}
        case AtomicType(root=TypeRoot.TIMESTAMP):
            return {"type": "long", "logicalType": f"timestamp-{_UNITS[to_arrow(kind).unit]}"}
        case AtomicType(root=TypeRoot.TIMESTAMP_LTZ):
            return {"type": "long", "logicalType": f"local-timestamp-{_UNITS[to_arrow(kind).unit]}"}
        case AtomicType(root=TypeRoot.DATE):
            return {"type": "int", "logicalType": "date"}
        case AtomicType(root=TypeRoot.TIME):
            return {"type": "int", "logicalType": "time-millis"}
        case AtomicType(root=root):
            return _PLAIN[root]
        case ArrayType(element=element) | VectorType(element=element):
            return {"type": "array", "items": _schema(element, name)}
        case MapType(key=key, value=value):
            return _map_schema(key, value, name)
        case MultisetType(element=element):
            return _map_schema(element, INT, name)
        case RowType(fields=fields):
            return _record(fields, name)


def _map_schema(key: DataType, value: DataType, name: str) -> dict[str, Any]:
    if _is_text(key):
        return {"type": "map", "values": _schema(value, name)}
    pair = (DataField(id=0, name="key", type=key), DataField(id=1, name="value", type=value))
    return {"type": "array", "items": _record(pair, name), "logicalType": "map"}


def _is_text(kind: DataType) -> bool:
    return isinstance(kind, AtomicType) and kind.root in (TypeRoot.CHAR, TypeRoot.VARCHAR)


def _dicts(
    columns: Sequence[pa.Array], fields: Sequence[DataField], count: int
) -> list[dict[str, Any]]:
    names = [field.name for field in fields]
    values = [_bare(column, field.type) for column, field in zip(columns, fields, strict=True)]
    if not values:
        return [{} for _ in range(count)]
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def _bare(array: pa.Array, kind: DataType) -> list[Any]:
    """The values of a column as Avro's bare types have them."""
    match kind:
        case AtomicType(root=TypeRoot.DECIMAL):
            return [_unscaled(value, kind.scale or 0) for value in _list(array)]
        case AtomicType(root=root) if root in _NUMBERED:
            width = pa.int32() if root in (TypeRoot.DATE, TypeRoot.TIME) else pa.int64()
            return _list(array.cast(width))
        case AtomicType():
            return _list(array)
        case ArrayType(element=element) | VectorType(element=element):
            items = iter(_bare(array.flatten(), element))
            return [None if n is None else list(islice(items, n)) for n in _lengths(array)]
        case MapType(key=key, value=value):
            return _bare_maps(array, key, value)
        case MultisetType(element=element):
            return _bare_maps(array, element, INT)
        case RowType(fields=fields):
            rows = _dicts(array.flatten(), fields, len(array))
            there = array.is_valid().to_pylist()
            return [row if is_there else None for row, is_there in zip(rows, there, strict=True)]


def _bare_maps(array: pa.MapArray, key: DataType, value: DataType) -> list[Any]:
    # Of a copy the children hold what its maps hold: nothing that a null or a slice hides.
    array = array.take(pa.array(np.arange(len(array))))
    keys, items = iter(_bare(array.keys, key)), iter(_bare(array.items, value))
    pairs = (
        None if n is None else list(zip(islice(keys, n), islice(items, n), strict=True))
        for n in _lengths(array)
    )
    if _is_text(key):
        return [None if each is None else dict(each) for each in pairs]
    return [None if each is None else [{"key": k, "value": v} for k, v in each] for each in pairs]


def _lengths(array: pa.Array) -> list[int | None]:
    """How many values each list or map has; None for none."""
    if not isinstance(array, pa.MapArray):
        return _list(array.value_lengths())
    lengths = np.diff(array.offsets.to_numpy())
    return _list(pa.array(lengths, mask=~array.is_valid().to_numpy(zero_copy_only=False)))


def _unscaled(value: Decimal | None, scale: int) -> bytes | None:
    if value is None:
        return None
    number = int(value.scaleb(scale, _EXACT))
    bits = (number if number >= 0 else ~number).bit_length()
    return number.to_bytes(bits // 8 + 1, "big", signed=True)


def _list(array: pa.Array) -> list[Any]:
    values: list[Any] = array.to_pylist()
    return values
