"""K9, names on branches of the catalog: each has the tables that a dictionary would have."""

from pathlib import Path
from random import Random

from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_walks import CatalogWalk
from tests.support.examples import Examples

_STEPS = 25


def test_each_branch_has_the_tables_of_its_own_dictionary(
    tmp_path: Path, rng: Random, examples: Examples
) -> None:
    for number in range(examples(4, quick=2, long=100)):
        walk = CatalogWalk(sql=CatalogBench(root=tmp_path / str(number)), rng=rng)
        walk.begin()
        walk.check()
        for _ in range(_STEPS):
            walk.step()
            walk.check()
