"""Values of every type, its extremes among them, as Python has them."""

import datetime as dt
import math
from collections.abc import Callable
from decimal import Context, Decimal
from random import Random
from typing import Any, Final

import pyarrow as pa

from branch_console.format.data_types import (
    INT,
    STRING,
    ArrayType,
    DataField,
    DataType,
    MapType,
    RowType,
    parse_data_type,
)
from tests.support.quality_checks import EPOCH

Draw = Callable[[Random], Any]

_WIDE: Final = Context(prec=40)


def whole(bits: int) -> Draw:
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    looks = (
        lambda rng: rng.choice([least, most, 0, 1, -1]),
        lambda rng: most - rng.randrange(100),
        lambda rng: int(rng.gauss(0, 2 ** (bits // 2 - 1))),
    )
    return lambda rng: looks[min(2, rng.randrange(6))](rng)


def decimal(precision: int, scale: int) -> Draw:
    most = 10**precision - 1

    def draw(rng: Random) -> Decimal:
        number = rng.choice([most, -most, 0, rng.randint(-most, most), rng.randint(-999, 999)])
        return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))

    return draw


def floating(limit: float) -> Draw:
    rare = [
        math.nan,
        math.inf,
        -math.inf,
        -0.0,
        0.0,
        limit,
        -limit,
        5e-324 if limit > 1e300 else 1.5,
    ]
    return lambda rng: rng.choice(rare) if rng.random() < 0.2 else rng.gauss(0, 1)


def text(rng: Random) -> str:
    if rng.random() < 0.01:
        return rng.choice("xä€") * 20_000
    return rng.choice(["", "b", "b\x00", "ä€", " b", f"v{int(rng.expovariate(0.1))}"])


def moment(digits: int) -> Draw:
    step = 10 ** (6 - min(digits, 6))

    def draw(rng: Random) -> dt.datetime:
        micros = rng.choice([0, -1, rng.randrange(-(10**15), 10**15)])
        if rng.random() < 0.05:
            return rng.choice([dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)])
        return EPOCH + dt.timedelta(microseconds=micros // step * step)

    return draw


def fine_moment(digits: int) -> Draw:
    """Decimal seconds since 1970, as our Arrow tables have times that are finer than Spark's."""
    step = 10 ** (9 - digits)

    def draw(rng: Random) -> Decimal:
        nanos = rng.choice([0, -1, rng.randrange(-(10**18), 10**18)])
        if rng.random() < 0.05:
            # The first and the last moment of the years that have four digits.
            nanos = rng.choice([-62_135_596_800 * 10**9, 253_402_300_800 * 10**9 - 1])
        return Decimal(nanos // step * step).scaleb(-9, _WIDE)

    return draw


def day(rng: Random) -> dt.date:
    ends = [dt.date.min, dt.date.max, dt.date(1970, 1, 1)]
    return rng.choice(ends) if rng.random() < 0.1 else dt.date(2020, 1, 1 + rng.randrange(28))


def time_of_day(rng: Random) -> dt.time:
    second = rng.choice([0, 86_399, rng.randrange(86_400)])
    return dt.time(second // 3600, second // 60 % 60, second % 60)


TYPES: Final[dict[str, Draw]] = {
    "TINYINT": whole(8),
    "SMALLINT": whole(16),
    "INT": whole(32),
    "BIGINT": whole(64),
    "DECIMAL(5, 2)": decimal(5, 2),
    "DECIMAL(18, 4)": decimal(18, 4),
    "DECIMAL(38, 0)": decimal(38, 0),
    "DECIMAL(38, 20)": decimal(38, 20),
    "FLOAT": lambda rng: pa.scalar(floating(3.4e38)(rng), pa.float32()).as_py(),
    "DOUBLE": floating(1.7e308),
    "DATE": day,
    "TIME(0)": time_of_day,
    "TIMESTAMP(0)": moment(0),
    "TIMESTAMP(3)": moment(3),
    "TIMESTAMP(6)": moment(6),
    "TIMESTAMP(7)": fine_moment(7),
    "TIMESTAMP(9)": fine_moment(9),
    "STRING": text,
    "CHAR(3)": lambda rng: rng.choice(["abc", "ab ", "äöü"]),
    "BOOLEAN": lambda rng: rng.random() < 0.3,
    "BYTES": lambda rng: rng.randbytes(rng.randrange(5)),
    "ARRAY": lambda rng: rng.choice([[], [1], [None, 2]]),
    "MAP": lambda rng: rng.choice([[], [("a", 1)]]),
    "ROW": lambda rng: {"f": rng.randrange(3)},
}
NESTED: Final[dict[str, DataType]] = {
    "ARRAY": ArrayType(element=INT),
    "MAP": MapType(key=STRING, value=INT),
    "ROW": RowType(fields=(DataField(id=1, name="f", type=INT),)),
}


def type_of(name: str) -> DataType:
    """The type that is meant by a name in TYPES."""
    return NESTED.get(name) or parse_data_type(name)
