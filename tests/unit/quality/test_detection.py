"""Planted drift is found: 1, 5, 10 and 30 % of the rows that came, in numbers, texts and nulls."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from core.quality.comparison import Scope
from tests.support.examples import Examples
from tests.support.quality_draws import POPULATIONS, Rng, compared

Planted = Callable[[pa.Array, npt.NDArray[np.bool_], Rng], pa.Array]

SHARES: Final = (0.01, 0.05, 0.1, 0.3)
PLANTS: Final[dict[str, tuple[str, Planted]]] = {
    "numbers, a hundred times larger": ("numbers", lambda rows, at, _: _where(
        at, np.asarray(rows) * 100, rows)),
    "numbers, all one value": ("numbers", lambda rows, at, _: _where(
        at, np.zeros(len(at)), rows)),
    "counts, three more": ("counts", lambda rows, at, _: _where(at, np.asarray(rows) + 3, rows)),
    "text of 50, a new value": ("text, 50 skewed", lambda rows, at, _: _where(
        at, np.full(len(at), "new"), rows)),
    "text of 1,000, a new value": ("text, 1000 even", lambda rows, at, _: _where(
        at, np.full(len(at), "new"), rows)),
    "text of 50, new values": ("text, 50 skewed", lambda rows, at, rng: _where(
        at, np.char.add("n", rng.integers(0, 5, len(at)).astype(str)), rows)),
    "nulls where there were none": ("numbers", lambda rows, at, _: _nulled(rows, at)),
    "nulls where there were 2 %": ("nulls, 2.0%", lambda rows, at, _: _nulled(rows, at)),
    "nulls in text": ("text, 50 skewed", lambda rows, at, _: _nulled(rows, at)),
}  # fmt: skip
TABLES: Final = {
    # What only A has, and what only B has: an append stands against all that was there, an update
    # of a table with a key against the rows that it changed.
    "append of 2,000 to 20,000": (20_000, 2_000),
    "append of 20,000 to 200,000": (200_000, 20_000),
    "update of 2,000 by key": (2_000, 2_000),
    "update of 20,000 by key": (20_000, 20_000),
}


def _where(at: npt.NDArray[np.bool_], changed: npt.NDArray[Any], rows: pa.Array) -> pa.Array:
    return pa.array(np.where(at, changed, np.asarray(rows))).cast(rows.type)


def _nulled(rows: pa.Array, at: npt.NDArray[np.bool_]) -> pa.Array:
    cells = zip(at, rows.to_pylist(), strict=True)
    return pa.array([None if gone else each for gone, each in cells], rows.type)


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
            found += told.rating.is_told
        rates.append(found / runs)
        assert share < 0.1 or found >= 0.99 * runs, (plant, table, share, found)
    print(f"| {plant} | {table} | {' | '.join(f'{each:.0%}' for each in rates)} |")
