"""Drift: measures equal their definitions, chance is no drift, and what is unsure is no alarm."""

import datetime as dt
from collections import Counter
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from branch_console.diff.rows.row_diff import ComparedColumn
from branch_console.format.data_types import DataField, parse_data_type
from branch_console.format.values.arrow_types import arrow_schema
from branch_console.quality.bins import Bin, bins_of
from branch_console.quality.comparison import ColumnComparison, Scope, compare_profiles
from branch_console.quality.drift import Drift, Measure, Rating, js_distance, ks_distance, psi
from branch_console.quality.profile import (
    EXACT,
    SIDE,
    UNIT,
    ColumnKind,
    Detail,
    Profile,
    merge_profiles,
)
from branch_console.quality.profile_rows import profile_column, profile_rows
from tests.support.examples import Examples

Floats = npt.NDArray[np.float64]


def compared(
    before: list[Any], after: list[Any], kind: str = "DOUBLE", *, scope: Scope = Scope.WHOLE,
    detail: Detail = EXACT, keys: tuple[str, ...] = (),
) -> ColumnComparison:  # fmt: skip
    field = DataField(id=0, name="x", type=parse_data_type(kind))
    column = ComparedColumn(name="x", type=field.type, before=field, after=field)
    sides = [_profile(field, each, detail, keys) for each in (before, after)]
    (found,) = compare_profiles(sides[0], sides[1], [column], keys, scope).columns
    return found


def _profile(field: DataField, values: list[Any], detail: Detail, keys: tuple[str, ...]) -> Profile:
    rows = pa.table({"x": values}, schema=arrow_schema((field,)))
    return profile_rows(rows, [field], keys, detail)


def drift_of(found: ColumnComparison, measure: Measure) -> Drift:
    return next(each for each in found.drifts if each.measure is measure)


def test_measures_are_what_their_definitions_say() -> None:
    bins = [Bin(base=50, other=10), Bin(base=30, other=60), Bin(base=20, other=30)]
    p, q = (np.array(each) + 0.5 for each in ([10, 60, 30], [50, 30, 20]))
    p, q = p / p.sum(), q / q.sum()
    assert psi(bins) == pytest.approx(float(((p - q) * np.log(p / q)).sum()))
    middle = (p + q) / 2
    bits = (p * np.log2(p / middle) + q * np.log2(q / middle)).sum() / 2
    assert js_distance(bins) == pytest.approx(float(np.sqrt(bits)))
    rng = np.random.default_rng(7)
    old, new = rng.normal(size=5_000), rng.normal(0.3, 1.2, size=4_000)
    found = [_distribution(each) for each in (old, new)]
    points = np.concatenate([old, new])
    shares = [np.searchsorted(np.sort(each), points, "right") / len(each) for each in (old, new)]
    whole = float(np.abs(shares[0] - shares[1]).max())
    # Looked at in two hundred places only, the distance is hardly smaller.
    assert whole - 0.01 <= ks_distance(found[0], found[1]) <= whole


def _distribution(values: Floats) -> Any:
    column = pa.chunked_array([pa.array(values)])
    return profile_column(column, ColumnKind.NUMBER, EXACT).distribution


def test_bins_are_tenths_of_the_base_with_nulls_and_nan_apart() -> None:
    before = [*range(100), None, float("nan")]
    after = [*range(50, 150), None, None, float("nan")]
    found = compared(before, after)
    assert [each.base for each in found.bins] == [10] * 10 + [1, 1]
    assert [each.other for each in found.bins] == [0] * 5 + [10] * 4 + [60] + [1, 2]
    assert [each.name for each in found.bins[-2:]] == ["NaN", "NULL"]
    assert (found.bins[0].low, found.bins[0].high, found.bins[9].high) == (None, 9.0, None)


def test_each_kind_of_change_is_found_and_named() -> None:
    rng = np.random.default_rng(3)
    base = rng.normal(size=3_000).tolist()
    cases: dict[str, tuple[list[Any], list[Any], str, Measure, Rating]] = {
        "shifted": (base, (rng.normal(1, 1, 3_000)).tolist(), "DOUBLE", Measure.KS, Rating.ALARM),
        "moved far": (base, (rng.normal(1, 1, 3_000)).tolist(), "DOUBLE", Measure.W, Rating.ALARM),
        "wider": (base, (rng.normal(0, 2, 3_000)).tolist(), "DOUBLE", Measure.PSI, Rating.ALARM),
        "nulls": (base, [None if at % 10 == 0 else each for at, each in enumerate(base)],
                  "DOUBLE", Measure.NULLS, Rating.ALARM),
        "some nulls": (base, [None if at % 50 == 0 else each for at, each in enumerate(base)],
                       "DOUBLE", Measure.NULLS, Rating.WATCH),
        "other texts": (["a", "b"] * 500, ["a"] * 900 + ["c"] * 100, "STRING", Measure.JS,
                        Rating.ALARM),
        "other flags": ([True, False] * 500, [True] * 900 + [False] * 100, "BOOLEAN", Measure.JS,
                        Rating.ALARM),
        "fewer texts": (list("abcdefghij") * 100, list("abcde") * 200, "STRING",
                        Measure.DISTINCT, Rating.ALARM),
        "later": ([dt.date(2020, 1, 1 + at % 28) for at in range(1_000)],
                  [dt.date(2020, 2, 1 + at % 28) for at in range(1_000)], "DATE", Measure.KS,
                  Rating.ALARM),
        "became constant": (base, [0.0] * 3_000, "DOUBLE", Measure.KS, Rating.ALARM),
        "was constant": ([0.0] * 3_000, base, "DOUBLE", Measure.KS, Rating.ALARM),
    }  # fmt: skip
    for name, (before, after, kind, measure, rating) in cases.items():
        found = compared(before, after, kind)
        assert drift_of(found, measure).rating is rating, name
        assert found.rating is (Rating.ALARM if rating is Rating.ALARM else found.rating), name
        same = compared(before, before, kind)
        assert same.rating is Rating.CALM, name
        assert same.severity == 0, name


def test_what_cannot_be_rated_is_said() -> None:
    few = compared([1.0] * 99, [2.0] * 500)
    assert (few.rating, few.drifts) == (Rating.FEW_ROWS, ())
    ids = [f"id-{number}" for number in range(500)]
    found = compared(ids, [*(f"new-{each}" for each in ids[:450]), *[None] * 50], "STRING")
    assert [(each.measure, each.rating) for each in found.drifts] == [(Measure.NULLS, Rating.ALARM)]
    key = compared([1.0] * 500, [2.0] * 500, keys=("x",))
    assert (key.rating, key.why_not_rated) == (Rating.NOT_RATED, "It belongs to the key.")
    nothing = compared([None] * 200, [None] * 200)
    assert (nothing.rating, nothing.severity) == (Rating.CALM, 0.0)
    empty = compared([], [])
    assert empty.rating is Rating.FEW_ROWS
    appeared = compared([None] * 200, [1.0] * 200)
    assert appeared.rating is Rating.ALARM
    infinite = compared([1.0, float("inf")] * 200, [float("-inf"), 1.0] * 200)
    assert infinite.rating is Rating.ALARM
    both = compared([1.0, float("inf")] * 200, [5.0, float("inf")] * 200)
    assert both.rating is Rating.ALARM


def test_different_values_of_own_rows_are_not_compared() -> None:
    texts = list("abcdefghij") * 100
    found = compared(texts, list("abcde") * 200, "STRING", scope=Scope.OWN)
    assert Measure.DISTINCT not in [each.measure for each in found.drifts]


def test_what_may_be_an_error_is_no_alarm() -> None:
    rng = np.random.default_rng(5)
    before, after = rng.normal(size=30_000), rng.normal(0.52, 1, size=30_000)
    exact = compared(before.tolist(), after.tolist())
    rough = compared(before.tolist(), after.tolist(), detail=Detail(points=20, hashes=64, top=5))
    assert drift_of(exact, Measure.KS).rating is Rating.ALARM
    assert drift_of(rough, Measure.KS).error > 0.05
    assert drift_of(rough, Measure.KS).rating is not Rating.ALARM
    for measure in (Measure.KS, Measure.PSI):
        sure, unsure = drift_of(exact, measure), drift_of(rough, measure)
        assert abs(sure.value - unsure.value) <= unsure.error, measure


def test_many_rows_are_rated_as_few_are(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fields = [DataField(id=0, name="x", type=parse_data_type("DOUBLE"))]
    kinds = {"x": ColumnKind.NUMBER}
    column = ComparedColumn(name="x", type=fields[0].type, before=fields[0], after=fields[0])
    sides = []
    for shift in (0.0, 0.4):
        table = pa.table({"x": rng.normal(shift, 1, 60_000)})
        units = [table.slice(start, 6_000) for start in range(0, 60_000, 6_000)]
        sides.append(
            [
                merge_profiles(
                    [profile_rows(each, fields, [], unit) for each in units], kinds, side
                )
                for unit, side in ((EXACT, EXACT), (UNIT, SIDE))
            ]
        )
    few, many = (
        compare_profiles(sides[0][at], sides[1][at], [column], [], Scope.OWN).columns[0]
        for at in (0, 1)
    )
    assert many.bins_error > few.bins_error == 0
    for old, new in zip(few.drifts, many.drifts, strict=True):
        assert old.measure is new.measure
        assert abs(old.value - new.value) <= new.error + 0.002, old.measure
    for one, other in zip(few.bins, many.bins, strict=True):
        assert abs(one.base - other.base) <= 60_000 * many.bins_error
        assert abs(one.other - other.other) <= 60_000 * (many.bins_error + 0.002)


def test_chance_is_drift_in_one_of_a_hundred_cases_at_most(seed: int, examples: Examples) -> None:
    rng = np.random.default_rng(seed)
    runs = examples(200, quick=60, long=200)
    beyond: Counter[tuple[str, Measure]] = Counter()
    for _ in range(runs):
        small, large = rng.integers(110, 300), rng.integers(300, 2_000)
        for name, kind, draw in (
            ("normal", "DOUBLE", lambda size: rng.normal(size=size).tolist()),
            ("tied", "INT", lambda size: rng.poisson(2, size).tolist()),
            ("texts", "STRING", lambda size: [f"t{each}" for each in rng.zipf(2, size) % 40]),
            ("nulls", "DOUBLE", lambda size: [None if each < 0.2 else each
                                              for each in rng.random(size)]),
        ):  # fmt: skip
            found = compared(draw(large), draw(small), kind, scope=Scope.OWN)
            for drift in found.drifts:
                beyond[name, drift.measure] += 0 < drift.chance < drift.value
    # Two of 200 are to be expected; three may be, and then a dozen in none of 10,000 cases.
    assert {each: count for each, count in beyond.items() if count > 12} == {}


def test_bins_of_bytes_are_of_their_lengths() -> None:
    column = pa.chunked_array([pa.array([b"a", b"bb", b"ccc", None])])
    found = profile_column(column, ColumnKind.BYTES, EXACT)
    bins = bins_of(found, found, ColumnKind.BYTES)
    assert [(each.high, each.base) for each in bins] == [(1.0, 1), (2.0, 1), (None, 1), (None, 1)]


def test_what_is_small_and_certain_is_told() -> None:
    rng = np.random.default_rng(9)
    texts = [f"t{each}" for each in rng.integers(0, 50, 20_000)]
    after = ["new" if at % 100 == 0 else each for at, each in enumerate(texts)]
    found = compared(texts, after, "STRING")
    share = drift_of(found, Measure.SHARE)
    assert (found.rating, share.rating, share.of) == (Rating.SMALL, Rating.SMALL, "new")
    assert share.value == pytest.approx(0.01)
    numbers = rng.exponential(size=20_000)
    larger = np.where(np.arange(20_000) % 100 == 0, 100 * numbers, numbers)
    moved = compared(numbers.tolist(), larger.tolist())
    assert moved.rating is Rating.SMALL
    assert (drift_of(moved, Measure.ENDS).of, moved.worst) == (
        "largest", drift_of(moved, Measure.ENDS),
    )  # fmt: skip
    nulls = compared(numbers.tolist(), [None if at < 100 else each for at, each in
                                        enumerate(numbers)])  # fmt: skip
    assert drift_of(nulls, Measure.NULLS).rating is Rating.SMALL


def test_what_numbers_the_rows_is_compared_by_its_nulls() -> None:
    ids = list(range(10_000, 12_000))
    sparse = [each * 977 for each in ids]
    start = dt.datetime(2026, 1, 1)
    moments = [start + dt.timedelta(seconds=7 * each) for each in range(2_000)]
    for kind, values in (
        ("BIGINT", ids), ("BIGINT", sparse), ("DECIMAL(20, 0)", sparse), ("TIMESTAMP(3)", moments),
    ):  # fmt: skip
        own = compared(values[:1_500], values[1_500:], kind, scope=Scope.OWN)
        whole = compared(values[:1_500], values, kind)
        for found in (own, whole):
            assert found.rating is Rating.CALM, kind
            assert "serial number" in (found.why_not_rated or ""), kind
            assert {each.measure for each in found.drifts} <= {Measure.NULLS, Measure.DISTINCT}
        holes = compared(values[:1_500], [*values[1_500:1_900], *[None] * 100], kind)
        assert drift_of(holes, Measure.NULLS).rating is Rating.ALARM, kind


SERIAL: Final = {
    "dense": (np.arange(2_000), np.arange(2_000, 3_000)),
    "after those of others": (np.arange(2_000) * 7, 7 * np.arange(2_900, 3_400)),
    "one in a thousand": (np.arange(2_000) * 1_000, np.arange(2_000, 2_200) * 1_000 + 3),
    "given away faster": (np.arange(3_000) * 10, 30_000 + np.arange(1_000) * 40),
    "dense, of another range": (np.arange(2_000), 10**9 + np.arange(1_000)),
    "at random moments": (
        np.cumsum(np.random.default_rng(1).geometric(0.01, 2_000)),
        210_000 + np.cumsum(np.random.default_rng(2).geometric(0.01, 500)),
    ),
}
_AMOUNTS: Final = np.unique(np.random.default_rng(3).normal(10**6, 10**5, 2_000).astype(np.int64))
_TICKETS: Final = np.random.default_rng(4).choice(10**7, 2_000, replace=False)
MEASURES: Final = {
    "a hundred times larger": (_AMOUNTS, _AMOUNTS * 100),
    "moved beyond all others": (_AMOUNTS, _AMOUNTS + 800_000),
    "jumped, and even": (_TICKETS, _TICKETS[:900] + 10**9),
    "even, and stretched": (_TICKETS, 10**7 + _TICKETS * 100),
    "skewed": (
        np.unique(np.random.default_rng(5).exponential(10**6, 2_000).astype(np.int64)),
        np.unique(10**7 + np.random.default_rng(6).exponential(10**6, 2_000).astype(np.int64)),
    ),
    "larger, and mixed": (_TICKETS, _TICKETS * 3),
}


@pytest.mark.parametrize("swap", [False, True], ids=["larger", "smaller"])
@pytest.mark.parametrize("detail", [EXACT, UNIT], ids=["exact", "rough"])
@pytest.mark.parametrize("name", [*SERIAL, *MEASURES])
def test_a_serial_number_is_told_from_a_measure_that_jumps(
    name: str, detail: Detail, swap: bool
) -> None:
    before, after = (SERIAL | MEASURES)[name]
    if swap:
        before, after = after, before
    for kind in ("BIGINT", "DECIMAL(20, 0)"):
        found = compared(
            [int(each) for each in before], [int(each) for each in after], kind,
            scope=Scope.OWN, detail=detail,
        )  # fmt: skip
        is_serial = name in SERIAL
        assert (found.why_not_rated is not None) == is_serial, kind
        assert found.rating is (Rating.CALM if is_serial else Rating.ALARM), kind
    # With what was there before, it is the same serial number.
    if name in SERIAL:
        both = sorted([*map(int, before), *map(int, after)])
        sides = [both[: len(SERIAL[name][0])], both]
        assert compared(*sides[:: -1 if swap else 1], "BIGINT").rating is Rating.CALM
