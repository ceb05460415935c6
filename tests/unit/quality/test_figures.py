"""Figures of each type equal those that plain Python finds in the same values, to the digit."""

import math
from random import Random
from typing import Any, Final

import pyarrow as pa
import pytest

from branch_console.diff.rows.row_diff import ComparedColumn
from branch_console.format.data_types import DataField
from branch_console.format.values.arrow_types import arrow_schema
from branch_console.quality.comparison import QUANTILES, ColumnComparison, Scope, compare_profiles
from branch_console.quality.drift import Measure
from branch_console.quality.profile import EXACT, ColumnKind, Detail, kind_of, merge_profiles
from branch_console.quality.profile_codec import profile_from_table, profile_to_table
from branch_console.quality.profile_rows import profile_rows
from tests.support import quality_oracle as oracle
from tests.support.examples import Examples
from tests.support.quality_checks import Checked, check_drift, check_side
from tests.support.quality_values import TYPES, Draw, type_of

ROUGH: Final = Detail(points=60, hashes=256, top=40)


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
    field = DataField(id=0, name="x", type=type_of(kind))
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
    assert told.rating.is_reported


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
