"""The rows of Avro data files as Arrow columns.

Avro says less than Paimon's types do: the bytes of a decimal have no scale of their own, a map
whose keys are no text is an array of pairs, and the two kinds of timestamps have their logical
types swapped. So values are read bare and take their meaning from the column. Source: Paimon
AvroSchemaConverter, FieldReaderFactory.
"""

from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from itertools import accumulate, chain
from typing import Any

import pyarrow as pa

from core.format.avro_encoding import read_blocks
from core.format.data_types import (
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
    to_arrow,
)

_EXACT = Context(prec=76)
_NUMBERED = frozenset(
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
