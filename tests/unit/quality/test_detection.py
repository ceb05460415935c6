"""Planted drift is found: 1, 5, 10 and 30 % of the rows that came, in numbers, texts and nulls."""

from typing import Final

import numpy as np
import pytest

from branch_console.quality.comparison import Scope
from tests.support.examples import Examples
from tests.support.quality_draws import PLANTS, POPULATIONS, SHARES, compared

TABLES: Final = {
    # What only A has, and what only B has: an append stands against all that was there, an update
    # of a table with a key against the rows that it changed.
    "append of 2,000 to 20,000": (20_000, 2_000),
    "append of 20,000 to 200,000": (200_000, 20_000),
    "update of 2,000 by key": (2_000, 2_000),
    "update of 20,000 by key": (20_000, 20_000),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("plant", PLANTS)
def test_planted_drift_is_found(plant: str, table: str, seed: int, examples: Examples) -> None:
    rng = np.random.default_rng([seed, sum(map(ord, plant + table))])
    name, change = PLANTS[plant]
    population, (before_rows, rows) = POPULATIONS[name], TABLES[table]
    is_small = rows < 10_000
    runs = examples(2 if is_small else 1, quick=1, long=100 if is_small else 10)
    rates = []
    for share in SHARES if is_small or runs > 1 else (0.1,):
        found = 0
        for _ in range(runs):
            before = population.draw(rng, before_rows, 0)
            drawn = population.draw(rng, rows, 0)
            # An update changes rows that were there: what is not planted stays as it was.
            after = before if table.startswith("update") else drawn
            at = rng.random(rows) < share
            told = compared(before, change(after, at, rng), population.type, Scope.OWN)
            found += told.rating.is_reported
        rates.append(found / runs)
        assert share < 0.1 or found >= 0.99 * runs, (plant, table, share, found)
    print(f"| {plant} | {table} | {' | '.join(f'{each:.0%}' for each in rates)} |")
