"""Bounds: whatever is forgotten of the values, a measure lies where it is said to lie."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from branch_console.quality.drift import Drift, Measure, Rating, measure_drift
from branch_console.quality.profile import (
    UNIT,
    ColumnKind,
    ColumnProfile,
    Detail,
    Profile,
    merge_profiles,
)
from branch_console.quality.profile_rows import profile_column
from tests.support import quality_oracle as oracle
from tests.support.examples import Examples

_HAIR = 1e-9


def profiled(values: Any, kind: ColumnKind, detail: Detail, units: int = 1) -> ColumnProfile:
    parts = [
        Profile(
            rows=len(part),
            columns={"x": profile_column(pa.chunked_array([pa.array(part)]), kind, detail)},
        )
        for part in np.array_split(values, units)
    ]
    return merge_profiles(parts, {"x": kind}, detail).columns["x"]


def drifts(
    before: Any, after: Any, detail: Detail, *, kind: ColumnKind = ColumnKind.NUMBER, units: int = 1
) -> dict[Measure, Drift]:
    sides = [profiled(each, kind, detail, units) for each in (before, after)]
    return {
        each.measure: each for each in measure_drift(sides[0], sides[1], kind, with_distinct=False)
    }


@pytest.mark.depth("full")
def test_a_bin_that_is_nearly_empty_alarms_however_little_is_kept() -> None:
    rng = np.random.default_rng(0)
    size = 300_000
    before = rng.normal(size=size)
    edges = np.quantile(before, [0.5, 0.6], method="inverted_cdf")
    drawn = rng.normal(size=2 * size)
    emptied = drawn[(drawn <= edges[0]) | (drawn > edges[1])][:size]
    found = drifts(before, emptied, UNIT)[Measure.PSI]
    exact = oracle.psi(oracle.bins_of_numbers(before.tolist(), emptied.tolist()))
    assert exact == pytest.approx(1.111, abs=0.002)
    assert found.sure <= exact <= found.value + found.error
    assert found.rating is Rating.ALARM
    moved = drifts(np.exp(before), np.exp(rng.normal(size=size)) + 0.3, UNIT)[Measure.PSI]
    assert moved.error < 1
    assert moved.rating is Rating.ALARM


def shapes(rng: np.random.Generator, size: int) -> dict[str, Any]:
    """Values of many looks: smooth, tied, with a gap, with a heavy value, far out, ascending."""
    heavy = rng.normal(size=size)
    heavy[rng.random(size) < rng.random() * 0.6] = 0.0
    return {
        "normal": rng.normal(rng.choice([0, 0.02, 0.5]), 1, size),
        "skewed": np.exp(rng.normal(scale=2, size=size)) + rng.choice([0, 0.3]),
        "tied": rng.poisson(rng.choice([3, 4, 2_000]), size).astype(float),
        "heavy": heavy,
        "gap": np.where(rng.random(size) < 0.5, rng.random(size), 5 + rng.random(size)),
        "infinite": np.where(rng.random(size) < 0.02, np.inf, rng.normal(size=size)),
        "ascending": np.arange(size) + rng.integers(0, 100),
    }


def test_measures_lie_within_their_bounds(seed: int, examples: Examples) -> None:
    rng = np.random.default_rng(seed)
    outside = []
    for number in range(examples(12, quick=4, long=300)):
        details = Detail(points=int(rng.choice([10, 40, 400])), hashes=64, top=5)
        before, after = (shapes(rng, int(rng.integers(200, 6_000))) for _ in range(2))
        old = rng.choice(list(before))
        new = old if rng.random() < 0.7 else rng.choice(list(after))
        sides = (before[old], after[new])
        found = drifts(sides[0], sides[1], details, units=int(rng.integers(1, 4)))
        listed = [side.tolist() for side in sides]
        wanted = {
            Measure.PSI: oracle.psi(oracle.bins_of_numbers(*listed)),
            Measure.KS: oracle.ks(*listed),
            Measure.W: oracle.w(*listed) if Measure.W in found else None,
        }
        for measure, exact in wanted.items():
            if measure not in found or exact is None:
                continue
            told = found[measure]
            if not told.sure - _HAIR <= exact <= told.value + told.error + _HAIR:
                outside.append((number, old, new, details.points, measure, exact, told))
    assert outside == []


def test_shares_of_texts_lie_within_their_bounds(seed: int, examples: Examples) -> None:
    rng = np.random.default_rng(seed)
    outside = []
    for number in range(examples(12, quick=4, long=300)):
        detail = Detail(points=10, hashes=64, top=int(rng.choice([5, 30, 60, 200])))
        sides: list[list[str]] = []
        for _ in range(2):
            drawn = rng.zipf(rng.choice([1.2, 2.0]), int(rng.integers(200, 5_000)))
            sides.append([f"t{each}" for each in drawn % int(rng.choice([20, 300, 3_000]))])
        found = drifts(
            sides[0], sides[1], detail, kind=ColumnKind.TEXT, units=int(rng.integers(1, 4))
        )
        bins = oracle.bins_of_texts(*sides)
        wanted = {Measure.PSI: oracle.psi(bins), Measure.JS: oracle.js(bins)}
        if Measure.SHARE in found:
            text = found[Measure.SHARE].of
            assert text is not None
            exact = [side.count(text) / len(side) for side in sides]
            wanted[Measure.SHARE] = abs(exact[1] - exact[0])
        for measure, value in wanted.items():
            if measure not in found:
                continue
            told = found[measure]
            if not told.sure - _HAIR <= value <= told.value + told.error + _HAIR:
                outside.append((number, detail.top, measure, value, told))
    assert outside == []
