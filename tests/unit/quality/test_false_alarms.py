"""Chance is no drift: unchanged columns are told in no more cases than is stated."""

from collections import Counter
from math import sqrt

import numpy as np
import pytest

from branch_console.quality.comparison import Scope
from tests.support.examples import Examples
from tests.support.quality_draws import POPULATIONS, compared

STATED = 0.01
"""How many unchanged columns are told, at most."""

SIZES = (200, 2_000, 100_000)


def most_of(runs: int) -> float:
    """Return the cases that a true rate of STATED exceeds in one test of a thousand."""
    return max(2.0, STATED * runs + 3.1 * sqrt(STATED * (1 - STATED) * runs))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", POPULATIONS)
def test_an_unchanged_column_is_told_in_one_of_a_hundred_cases(
    name: str, size: int, seed: int, examples: Examples
) -> None:
    rng = np.random.default_rng([seed, size, sum(map(ord, name))])
    population = POPULATIONS[name]
    runs = examples(30 if size < 10_000 else 1, quick=4 if size < 10_000 else 1, long=1_000)
    told: Counter[str] = Counter()
    for number in range(runs):
        # An append is large or small, and looked at alone or with all that was there before.
        more = size if number % 2 else max(100, size // 20)
        before = population.draw(rng, size, 0)
        after = population.draw(rng, more, size)
        found = compared(before, after, population.type, Scope.OWN if number % 3 else Scope.WHOLE)
        told["column"] += found.rating.is_reported
        for drift in found.drifts:
            told[drift.measure] += drift.rating.is_reported
    print(f"{name} | {size:,} | {runs:,} | {told['column'] / runs:.2%} | {dict(+told)}")
    assert {each: count for each, count in told.items() if count > most_of(runs)} == {}
