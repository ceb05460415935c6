"""Commits of Java record no operation: whatever they were, no merge drops a change unsaid."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from branch_console.errors import Refused
from branch_console.merge.conflict import Take
from branch_console.merge.plan import conflicts_of
from tests.support.examples import Examples
from tests.support.java_paimon import JavaPaimon
from tests.support.merge_bench import KEPT, SHARED, MergeBench, Row, Rows

_VECTORS: Final = {**SHARED, "deletion-vectors.enabled": "true"}
_BUCKETS: Final = {**SHARED, "bucket": "2", "bucket-key": "id"}
_ALL_DAYS: Final = ("d1", "d2")


def _diverging(
    java: JavaPaimon, folder: Path, hidden: Sequence[int] = (), **made: Any
) -> MergeBench:
    """A table of two commits with four rows each, some of them hidden, and a branch."""
    bench = MergeBench(java, folder, **made)
    bench.insert("main", 1, 2, 3, 4)
    bench.insert("main", 5, 6, 7, 8)
    if hidden:
        bench.hide("main", *hidden)
    bench.branch("dev")
    return bench


def _rows_of_both(base: Rows, ours: Rows, theirs: Rows) -> Rows | None:
    """What both sides did to rows; None if they did different things to one."""
    merged: dict[int, Row | None] = {}
    for each in {*base, *ours, *theirs}:
        old, mine, other = (rows.get(each) for rows in (base, ours, theirs))
        if old not in (mine, other) and mine != other:
            return None
        merged[each] = other if mine == old else mine
    return {each: row for each, row in merged.items() if row is not None}


def _is_merged(bench: MergeBench, base: Rows) -> bool:
    """Merge: both sides' changes stand, or the merge is refused and not a byte has changed."""
    both = _rows_of_both(base, bench.rows["main"], bench.rows["dev"])
    before = bench.files()
    try:
        bench.call("merge_branch", branch="dev", isolation="snapshot")
    except Refused:
        assert bench.files() == before
        return False
    assert both is not None, "one of two changes of a row is gone"
    bench.rows["main"] = both
    bench.check()
    return True


@pytest.mark.shared_cells
@pytest.mark.parametrize("side", ["dev", "main"])
@pytest.mark.parametrize("other", ["insert", "update", "delete", "hide"])
def test_a_partition_that_was_written_again_keeps_what_the_other_side_did(
    side: str, other: str, open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    bench = _diverging(open_java(tmp_path), tmp_path, (6,), partitioned=True, options=_VECTORS)
    base = bench.rows["main"]
    bench.merge_into(side, {1: 9, 21: 9, 22: 9}, days=["d1"])
    second = "main" if side == "dev" else "dev"
    match other:
        case "insert":
            bench.insert(second, 41, 43)
        case "update":
            bench.update(second, 5, amount=3)
        case "delete":
            bench.delete(second, 5)
        case "hide":
            bench.hide(second, 5)
    ours, theirs = bench.rows["main"], bench.rows["dev"]
    if _is_merged(bench, base):
        return
    assert other != "insert"
    conflicts = conflicts_of(bench.plan())
    ways = [each.settle_with for each in conflicts]
    assert all(Take.OURS in each for each in ways)
    bench.call("merge_branch", branch="dev", policy="version: 1\nkinds: {whole files: ours}")
    bench.rows["main"] = {**bench.outside(theirs, [1]), **_first_day(ours)}
    bench.check_with_all()


def _first_day(rows: Rows) -> Rows:
    return {each: row for each, row in rows.items() if row[1] == "d1"}


@pytest.mark.parametrize("is_partitioned", [False, True], ids=["whole", "partitioned"])
@pytest.mark.parametrize("options", [KEPT, _VECTORS, _BUCKETS], ids=["plain", "vectors", "buckets"])
def test_random_commits_lose_no_change(
    is_partitioned: bool,
    options: Mapping[str, str],
    open_java: Callable[[Path], JavaPaimon],
    tmp_path: Path,
    rng: Random,
    examples: Examples,
) -> None:
    tries, merged = examples(2), 0
    for number in range(tries):
        folder = tmp_path / str(number)
        folder.mkdir()
        bench = _diverging(open_java(folder), folder, partitioned=is_partitioned, options=options)
        base, ids = bench.rows["main"], iter(range(21, 200))
        for branch in ("dev", "main"):
            for _ in range(rng.randint(1, 2)):
                _change(bench, branch, rng, [next(ids) for _ in range(10)])
        bench.check()
        merged += _is_merged(bench, base)
    print(f"{merged} of {tries} merged, the others refused")


def _change(bench: MergeBench, branch: str, rng: Random, new: list[int]) -> None:
    """A commit as an engine makes it: of some rows, of whole partitions, of a little of all."""
    held = sorted(bench.rows[branch])
    some = rng.sample(held, min(len(held), rng.randint(1, 3)))
    amount, few = rng.randint(2, 99), new[: rng.randint(1, 4)]
    match rng.choice(["insert", "delete", "update", "overwrite", "merge", "merge", "compact"]):
        case "insert":
            bench.insert(branch, *few)
        case "delete":
            bench.delete(branch, *some)
        case "update":
            bench.update(branch, *some, amount=amount)
        case "overwrite":
            bench.overwrite(branch, *rng.choice([few, new]), is_recorded=False)
        case "compact":
            bench.compact(branch)
        case _:
            changes = {each: rng.choice([None, amount, amount]) for each in some}
            days = rng.choice([(), ("d1",), ("d2",), _ALL_DAYS])
            bench.merge_into(branch, changes | dict.fromkeys(few, amount), days=days)
