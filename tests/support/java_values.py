"""Python values to Paimon's internal Java values and back, for every type.

A CHAR or STRING is a `str`, BINARY `bytes`, DECIMAL `Decimal`, DATE, TIME and TIMESTAMP those of
`datetime` (with local time zone: aware, in UTC; above precision 6 both are numpy.datetime64 of
nanoseconds), ARRAY a list, MAP and MULTISET a list of pairs (MULTISET: value and count), ROW a
tuple. A MAP may also be given as a dict, a ROW as a dict by field name.
"""

import datetime as dt
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias

import jpype
import numpy as np

from tests.support.java_vm import java_class

Value: TypeAlias = Any
FieldType: TypeAlias = str | dict[str, Any]

_EPOCH: Final = dt.datetime(1970, 1, 1)
_MICROSECOND: Final = dt.timedelta(microseconds=1)
_FLAT: Final = {
    "BOOLEAN": "java.lang.Boolean",
    "TINYINT": "java.lang.Byte",
    "SMALLINT": "java.lang.Short",
    "INTEGER": "java.lang.Integer",
    "BIGINT": "java.lang.Long",
    "FLOAT": "java.lang.Float",
    "DOUBLE": "java.lang.Double",
}


def data_type(written: FieldType) -> Any:
    """The Java DataType of a type as schema files write it: a string, or an object if nested."""
    mapper = java_class("shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper")()
    node = mapper.readTree(json.dumps(written))
    ids = java_class("java.util.concurrent.atomic.AtomicInteger")(-1)
    return java_class("types.DataTypeJsonParser").parseDataType(node, ids)


def to_java(value: Value, java_type: Any) -> Any:
    """A Python value as Paimon's internal value of this Java DataType; Java's stays as it is."""
    if value is None or isinstance(value, jpype.JObject):
        return value
    return encoder(java_type)(value)


def to_java_row(values: Sequence[Value], row_type: Any, kind: str = "+I") -> Any:
    """A GenericRow of this row kind."""
    types = [field.type() for field in row_type.getFields()]
    row = java_class("data.GenericRow")(
        java_class("types.RowKind").fromShortString(kind), len(types)
    )
    for position, (value, java_type) in enumerate(zip(values, types, strict=True)):
        row.setField(position, to_java(value, java_type))
    return row


def row_reader(row_type: Any) -> Callable[[Any], tuple[Value, ...]]:
    """A function from an InternalRow of this row type to a tuple."""
    internal_row = java_class("data.InternalRow")
    columns = [
        (internal_row.createFieldGetter(field.type(), position), decoder(field.type()))
        for position, field in enumerate(row_type.getFields())
    ]

    def read(row: Any) -> tuple[Value, ...]:
        found = ((getter.getFieldOrNull(row), decode) for getter, decode in columns)
        return tuple(None if value is None else decode(value) for value, decode in found)

    return read


def encoder(java_type: Any) -> Callable[[Value], Any]:
    """A function from a Python value that is not None to Paimon's internal value."""
    root = str(java_type.getTypeRoot().name())
    match root:
        case "CHAR" | "VARCHAR":
            return java_class("data.BinaryString").fromString
        case "BINARY" | "VARBINARY":
            return jpype.JArray(jpype.JByte)
        case "DECIMAL":
            return lambda value: java_class("data.Decimal").fromBigDecimal(
                java_class("java.math.BigDecimal")(str(value)),
                java_type.getPrecision(),
                java_type.getScale(),
            )
        case "DATE":
            return lambda value: java_class("java.lang.Integer")(
                value.toordinal() - _EPOCH.toordinal()
            )
        case "TIME_WITHOUT_TIME_ZONE":
            return lambda value: java_class("java.lang.Integer")(_time_to_millis(value))
        case "TIMESTAMP_WITHOUT_TIME_ZONE" | "TIMESTAMP_WITH_LOCAL_TIME_ZONE":
            return _timestamp
        case "ARRAY":
            return lambda value: _array(value, java_type.getElementType())
        case "MAP":
            return lambda value: _map(value, java_type.getKeyType(), java_type.getValueType())
        case "MULTISET":
            return lambda value: _map(value, java_type.getElementType(), data_type("INT"))
        case "ROW":
            return lambda value: _row(value, java_type)
        case "VARIANT":
            return java_class("data.variant.GenericVariant").fromJson
        case _:
            return java_class(_FLAT[root])


def decoder(java_type: Any) -> Callable[[Any], Value]:
    """A function from Paimon's internal value that is not null to a Python value."""
    match root := str(java_type.getTypeRoot().name()):
        case "BOOLEAN":
            return bool
        case "TINYINT" | "SMALLINT" | "INTEGER" | "BIGINT":
            return int
        case "FLOAT" | "DOUBLE":
            return float
        case "CHAR" | "VARCHAR":
            return lambda value: str(value.toString())
        case "BINARY" | "VARBINARY":
            return lambda value: bytes(bytearray(byte & 0xFF for byte in value))
        case "DECIMAL":
            return lambda value: Decimal(str(value.toBigDecimal().toPlainString()))
        case "DATE":
            return lambda value: dt.date.fromordinal(int(value) + _EPOCH.toordinal())
        case "TIME_WITHOUT_TIME_ZONE":
            return lambda value: (_EPOCH + dt.timedelta(milliseconds=int(value))).time()
        case "TIMESTAMP_WITHOUT_TIME_ZONE" | "TIMESTAMP_WITH_LOCAL_TIME_ZONE" if (
            java_type.getPrecision() > 6
        ):
            return lambda value: np.datetime64(
                value.getMillisecond() * 1_000_000 + value.getNanoOfMillisecond(), "ns"
            )
        case "TIMESTAMP_WITHOUT_TIME_ZONE":
            return lambda value: _EPOCH + dt.timedelta(microseconds=value.toMicros())
        case "TIMESTAMP_WITH_LOCAL_TIME_ZONE":
            return lambda value: (_EPOCH + dt.timedelta(microseconds=value.toMicros())).replace(
                tzinfo=dt.UTC
            )
        case "ARRAY":
            return lambda value: _elements(value, java_type.getElementType())
        case "MAP":
            return lambda value: _pairs(value, java_type.getKeyType(), java_type.getValueType())
        case "MULTISET":
            return lambda value: _pairs(value, java_type.getElementType(), data_type("INT"))
        case "ROW":
            return row_reader(java_type)
        case "VARIANT":
            return lambda value: str(value.toJson())
        case _:
            raise NotImplementedError(root)


def _timestamp(value: dt.datetime | np.datetime64) -> Any:
    if isinstance(value, np.datetime64):
        millis, nanos = divmod(int(value.astype("datetime64[ns]").astype(np.int64)), 1_000_000)
        return java_class("data.Timestamp").fromEpochMillis(millis, nanos)
    micros = (value.replace(tzinfo=None) - _EPOCH) // _MICROSECOND
    return java_class("data.Timestamp").fromMicros(micros)


def _row(value: Any, java_type: Any) -> Any:
    if isinstance(value, dict):
        value = [value[str(name)] for name in java_type.getFieldNames()]
    return to_java_row(value, java_type)


def _time_to_millis(value: dt.time) -> int:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 1000 + value.microsecond // 1000


def _array(values: Sequence[Value], java_type: Any) -> Any:
    items = [to_java(value, java_type) for value in values]
    return java_class("data.GenericArray")(jpype.JArray(java_class("java.lang.Object"))(items))


def _map(values: Any, key_type: Any, value_type: Any) -> Any:
    pairs = values.items() if isinstance(values, dict) else values
    content = java_class("java.util.LinkedHashMap")()
    for key, value in pairs:
        content.put(to_java(key, key_type), to_java(value, value_type))
    return java_class("data.GenericMap")(content)


def _elements(array: Any, java_type: Any) -> list[Value]:
    getter = java_class("data.InternalArray").createElementGetter(java_type)
    decode = decoder(java_type)
    found = (getter.getElementOrNull(array, position) for position in range(array.size()))
    return [None if value is None else decode(value) for value in found]


def _pairs(content: Any, key_type: Any, value_type: Any) -> list[tuple[Value, Value]]:
    keys = _elements(content.keyArray(), key_type)
    return list(zip(keys, _elements(content.valueArray(), value_type), strict=True))
