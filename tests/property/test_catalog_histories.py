"""K4 to K9: catalog branches hold what dictionaries hold, whatever is merged or cut off."""

import shutil
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_histories import CatalogHistory
from tests.support.examples import Examples

_STEPS = 14
_FOUND = (3154, 2259, 2216, 5773, 5334, 7467)
"""Seeds of histories that did not hold before."""


@pytest.mark.depth("full")
@pytest.mark.parametrize("seed", _FOUND)
def test_histories_that_did_not_hold_do(tmp_path: Path, seed: int) -> None:
    history = CatalogHistory(sql=CatalogBench(root=tmp_path / "warehouse"), rng=Random(seed))
    history.begin()
    for _ in range(_STEPS):
        history.step()
    history.check()


def test_histories_of_the_catalog_hold_what_dictionaries_hold(
    tmp_path: Path, rng: Random, examples: Examples
) -> None:
    did: Counter[str] = Counter()
    known: dict[tuple[int, ...], CatalogHistory] = {}
    tried = examples(200, quick=3, long=2_000)
    for number in range(tried):
        root = tmp_path / str(number)
        # One process says all of most histories; each statement of each fourth is from its own.
        sql = CatalogBench(root=root, stays=number % 4 > 0)
        history = CatalogHistory(sql=sql, rng=rng)
        history.begin(known)
        for _ in range(_STEPS):
            history.step()
        history.check()
        shutil.rmtree(root)
        did += history.did
    print(dict(did))
    # A few histories may well hold none of a kind.
    if tried >= 25:
        assert did["merged"] > did["refused"]
        assert did["cut off"]
