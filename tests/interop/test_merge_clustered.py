"""Merges of tables whose compacted files are sorted by other columns than the key.

The key ranges in their manifests are ranges of those columns: a merge that took them for keys found
no row that it had changed, and dropped what the branch had done.
"""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.merge.plan import MergeVerdict, verdict_of
from tests.support.java_paimon import JavaPaimon
from tests.support.merge_bench import MergeBench, row_of, three_way

OPTIONS = {
    "pk-clustering-override": "true",
    "clustering.columns": "amount",
    "deletion-vectors.enabled": "true",
}


@pytest.fixture(autouse=True)
def _knows_the_option(paimon_version: str) -> None:
    if paimon_version == "1.4.2":
        pytest.skip("this version knows no such option")


@pytest.mark.parametrize("partitioned", [False, True])
def test_what_both_branches_changed_is_there_after_the_merge(
    open_java: Callable[[Path], JavaPaimon], tmp_path: Path, rng: random.Random, partitioned: bool
) -> None:
    bench = MergeBench(
        open_java(tmp_path), tmp_path, options=OPTIONS, keyed=True, partitioned=partitioned
    )
    # Amounts fall where keys rise, so that no order of one is an order of the other.
    for number in range(1, 13):
        bench.insert("main", number, amount=100 - number)
    bench.compact("main")
    bench.java_branch("dev")
    base = dict(bench.rows["main"])
    numbers = rng.sample(range(1, 13), 8)
    for branch, changed in (("main", numbers[:4]), ("dev", numbers[4:])):
        bench.insert(branch, *changed[:3], amount=rng.randrange(200))
        bench.compact(branch)
        bench.delete(branch, changed[3])
        bench.insert(branch, 20 if branch == "main" else 21, amount=rng.randrange(200))
        bench.compact(branch)
    bench.check()
    wanted = three_way(base, bench.rows["main"], bench.rows["dev"])
    assert verdict_of(bench.plan()) is MergeVerdict.UNDECIDED
    bench.merge(rows=wanted)
    bench.check(others=False)
    # Paimon finds the rows of keys in what was written, and sorts it again.
    bench.insert("main", 1, 2, 3, amount=7)
    bench.compact("main")
    bench.go_on()
    bench.check_history()


def test_a_bucket_that_one_branch_changed_is_adopted(
    open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    bench = MergeBench(open_java(tmp_path), tmp_path, options=OPTIONS, keyed=True)
    bench.insert("main", 1, 2, 3, amount=300)
    bench.compact("main")
    bench.java_branch("dev")
    bench.insert("dev", 1, amount=400)
    bench.compact("dev")
    bench.merge(rows={**bench.rows["main"], 1: row_of(1, 400)})
    bench.check(others=False)
