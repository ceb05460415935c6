"""Figures of each type equal those that plain Python finds in the same values, to the digit."""

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any, Final

import pyarrow as pa
import pytest

from core.diff.row_diff import ComparedColumn
from core.format.arrow_types import arrow_schema
from core.format.data_types import (
    INT,
    STRING,
    ArrayType,
    DataField,
    DataType,
    MapType,
    RowType,
    parse_data_type,
)
from core.quality.comparison import (
    QUANTILES,
    ColumnComparison,
    Scope,
    compare_profiles,
)
from core.quality.drift import Measure
from core.quality.profile import EXACT, ColumnKind, Detail, kind_of, merge_profiles
from core.quality.profile_codec import profile_from_table, profile_to_table
from core.quality.profile_rows import profile_rows
from tests.support import quality_oracle as oracle
from tests.support.examples import Examples
from tests.support.quality_checks import EPOCH, Checked, check_drift, check_side

ROUGH: Final = Detail(points=60, hashes=256, top=40)

Draw = Callable[[Random], Any]


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
    "STRING": text,
    "CHAR(3)": lambda rng: rng.choice(["abc", "ab ", "äöü"]),
    "BOOLEAN": lambda rng: rng.random() < 0.3,
    "BYTES": lambda rng: rng.randbytes(rng.randrange(5)),
    "ARRAY": lambda rng: rng.choice([[], [1], [None, 2]]),
    "MAP": lambda rng: rng.choice([[], [("a", 1)]]),
    "ROW": lambda rng: {"f": rng.randrange(3)},
}
_NESTED: Final[dict[str, DataType]] = {
    "ARRAY": ArrayType(element=INT),
    "MAP": MapType(key=STRING, value=INT),
    "ROW": RowType(fields=(DataField(id=1, name="f", type=INT),)),
}


def values_of(draw: Draw, rng: Random) -> list[Any]:
    size = rng.choice([0, 1, 2, 150, 150, 150, 700])
    share = rng.choice([0.0, 0.0, 0.1, 1.0])
    few = [draw(rng) for _ in range(rng.choice([1, 5, 10_000]))] if rng.random() < 0.4 else None
    return [
        None if rng.random() < share else rng.choice(few) if few else draw(rng) for _ in range(size)
    ]


def compared(
    before: list[Any], after: list[Any], kind: str, detail: Detail, units: int
) -> ColumnComparison:
    field = DataField(id=0, name="x", type=_NESTED.get(kind) or parse_data_type(kind))
    sides = []
    for values in (before, after):
        rows = pa.table({"x": values}, schema=arrow_schema((field,)))
        size = max(1, -(-len(values) // units))
        parts = [
            profile_from_table(profile_to_table(profile_rows(part, [field], [], detail)))
            for start in range(0, max(1, len(values)), size)
            for part in [rows.slice(start, size)]
        ]
        sides.append(merge_profiles(parts, {"x": kind_of(field.type)}, detail))
    column = ComparedColumn(name="x", type=field.type, before=field, after=field)
    return compare_profiles(sides[0], sides[1], [column], [], Scope.WHOLE).columns[0]


@pytest.mark.parametrize("detail", [EXACT, ROUGH], ids=["exact", "rough"])
def test_figures_are_those_of_plain_python(detail: Detail, seed: int, examples: Examples) -> None:
    rng, checked = Random(f"{seed} {detail}"), Checked()
    for _ in range(examples(3, quick=1, long=30)):
        for kind, draw in TYPES.items():
            sides = [values_of(draw, rng) for _ in range(2)]
            units = rng.choice([1, 1, 3])
            told = compared(sides[0], sides[1], kind, detail, units)
            for figures, values in zip((told.before, told.after), sides, strict=True):
                assert figures is not None
                is_number = told.kind is ColumnKind.NUMBER
                check_side(checked, figures, values, told.type, is_number=is_number)
            check_drift(checked, told, sides)
    print(f"{checked.count} figures, {len(checked.outside)} outside")
    assert checked.outside == []


def test_large_whole_numbers_keep_their_digits() -> None:
    start = 2**62
    told = compared([start + at for at in range(1000)], [start + at % 500 for at in range(1000)],
                    "BIGINT", EXACT, 1)  # fmt: skip
    assert told.before is not None
    assert told.before.deviation == pytest.approx(288.819, abs=0.001)
    assert len(set(told.before.quantiles)) == len(QUANTILES)
    assert told.before.quantiles[3] == start + 499
    assert told.rating.is_told


def test_a_mean_of_the_largest_numbers_is_no_infinity() -> None:
    told = compared([1.7e308, -1.7e308], [1.7e308] * 3, "DOUBLE", EXACT, 2)
    assert told.before is not None
    assert told.after is not None
    assert (told.before.mean, told.before.deviation) == (0.0, math.inf)
    assert (told.after.mean, told.after.deviation) == (1.7e308, 0.0)


def test_the_last_quantile_moves_too() -> None:
    before = [0.0] * 990 + [1.0] * 10
    after = [0.0] * 990 + [401.0] * 10
    told = compared(before, [0.5] * 500 + after[500:], "DOUBLE", EXACT, 1)
    (moved,) = [each for each in told.drifts if each.measure is Measure.W]
    exact = oracle.w(before, [0.5] * 500 + after[500:])
    assert moved.value == pytest.approx(exact)
    assert moved.value > 40
