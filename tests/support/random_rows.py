"""Random values of every type, with those at the edges more often than chance would have them."""

import datetime as dt
import math
import struct
from collections.abc import Sequence
from decimal import Context, Decimal
from random import Random
from typing import Any, Final

import numpy as np

from branch_console.format.data_types import (
    ArrayType,
    AtomicType,
    DataField,
    DataType,
    MapType,
    MultisetType,
    RowType,
    TypeRoot,
    parse_data_type,
)

ATOMIC_TYPES: Final = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE"),
    *("DECIMAL(1, 0)", "DECIMAL(10, 2)", "DECIMAL(18, 18)", "DECIMAL(19, 0)", "DECIMAL(38, 10)"),
    *("CHAR(5)", "VARCHAR(20)", "STRING", "BINARY(8)", "VARBINARY(7)", "BYTES"),
    *("DATE", "TIME(0)", "TIME(3)", "TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)"),
    *("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
)
NESTED_TYPES: Final = (
    {"type": "ARRAY", "element": "TINYINT"},
    {"type": "ARRAY", "element": "DECIMAL(30, 5)"},
    {"type": "ARRAY", "element": {"type": "ARRAY", "element": "STRING"}},
    {"type": "MAP", "key": "STRING", "value": "TIMESTAMP(6)"},
    {"type": "MULTISET", "element": "INT"},
    {
        "type": "ROW",
        "fields": [
            {"id": 0, "name": "a", "type": "DOUBLE"},
            {"id": 1, "name": "b", "type": {"type": "MAP", "key": "INT", "value": "BYTES"}},
        ],
    },
)

_EXACT: Final = Context(prec=100)
_EPOCH: Final = dt.datetime(1970, 1, 1)
_BITS: Final = {
    TypeRoot.TINYINT: 8,
    TypeRoot.SMALLINT: 16,
    TypeRoot.INT: 32,
    TypeRoot.BIGINT: 64,
}
_EDGE_FLOATS: Final = (0.0, -0.0, math.inf, -math.inf, math.nan, 1.5)
_ALPHABET: Final = "abcXYZ019 _-/=%:\x00\x7f\téßя中\U0001f600"


def row_type_of(written: Sequence[Any]) -> RowType:
    """A row of fields f0, f1, … of types as schema files write them."""
    return RowType(
        fields=tuple(
            DataField(id=position, name=f"f{position}", type=parse_data_type(each))
            for position, each in enumerate(written)
        )
    )


def random_value(rng: Random, data_type: DataType, *, null_share: float = 0.1) -> Any:
    """A value in the form that `format.values.binary_row` takes, sometimes None where allowed."""
    if data_type.nullable and rng.random() < null_share:
        return None
    match data_type:
        case AtomicType():
            return _atomic(rng, data_type)
        case ArrayType(element=element):
            return [random_value(rng, element) for _ in range(rng.choice((0, 1, 3, 40)))]
        case MapType(key=key, value=value):
            keys = {random_value(rng, key, null_share=0.0) for _ in range(rng.choice((0, 1, 4)))}
            return [(item, random_value(rng, value)) for item in keys]
        case MultisetType(element=element):
            keys = {random_value(rng, element, null_share=0.0) for _ in range(3)}
            return [(item, rng.randint(1, 9)) for item in keys]
        case RowType(fields=fields):
            return {field.name: random_value(rng, field.type) for field in fields}
        case _:
            raise NotImplementedError(data_type)


def _atomic(rng: Random, data_type: AtomicType) -> Any:
    match data_type.root:
        case TypeRoot.BOOLEAN:
            return rng.random() < 0.5
        case TypeRoot.TINYINT | TypeRoot.SMALLINT | TypeRoot.INT | TypeRoot.BIGINT:
            return _integer(rng, _BITS[data_type.root])
        case TypeRoot.FLOAT:
            value = _floating(rng)
            return value if math.isinf(value) else struct.unpack("f", struct.pack("f", value))[0]
        case TypeRoot.DOUBLE:
            return rng.choice((_floating(rng), 1e300, 5e-324))
        case TypeRoot.DECIMAL:
            digits = rng.randint(1, data_type.precision or 1)
            unscaled = rng.choice((0, 10**digits - 1, rng.randrange(10**digits)))
            value = Decimal(rng.choice((1, -1)) * unscaled)
            return value.scaleb(-(data_type.scale or 0), _EXACT)
        case TypeRoot.CHAR | TypeRoot.VARCHAR:
            longest = min(data_type.length or 0, rng.choice((0, 1, 7, 8, 30)))
            return "".join(rng.choices(_ALPHABET, k=longest))
        case TypeRoot.BINARY | TypeRoot.VARBINARY:
            return rng.randbytes(min(data_type.length or 0, rng.choice((0, 1, 7, 8, 30))))
        case TypeRoot.DATE:
            return rng.choice((dt.date.min, dt.date.max, dt.date(1969, 12, 31), _day(rng)))
        case TypeRoot.TIME:
            millis = rng.choice((0, 86_399_999, rng.randrange(86_400_000)))
            return (_EPOCH + dt.timedelta(milliseconds=millis)).time()
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            return _timestamp(rng, data_type)
        case _:
            raise NotImplementedError(data_type)


def _integer(rng: Random, bits: int) -> int:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    return rng.choice((low, high, 0, -1, rng.randint(-100, 100), rng.randint(low, high)))


def _floating(rng: Random) -> float:
    return rng.choice((*_EDGE_FLOATS, rng.uniform(-1e6, 1e6), rng.uniform(-1, 1)))


def _day(rng: Random) -> dt.date:
    return dt.date.fromordinal(rng.randint(dt.date(1900, 1, 1).toordinal(), 750_000))


def _timestamp(rng: Random, data_type: AtomicType) -> dt.datetime | np.datetime64:
    precision = 6 if data_type.precision is None else data_type.precision
    if precision > 6:
        nanos = rng.choice((0, -1, rng.randint(-(10**18), 10**18)))
        return np.datetime64(nanos, "ns")
    step = 10 ** (6 - precision) if precision else 10**6
    micros = rng.choice((0, -1, rng.randint(-(10**16), 10**16))) // step * step
    value = _EPOCH + dt.timedelta(microseconds=micros)
    return value.replace(tzinfo=dt.UTC) if data_type.root is TypeRoot.TIMESTAMP_LTZ else value
