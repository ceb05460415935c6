"""Branches that merged each other at once: their rows come from two bases, merged."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from branch_console.errors import ErrorKind, Refused
from tests.support.depths import by_night
from tests.support.java_paimon import JavaPaimon
from tests.support.merge_bench import KEPT, MergeBench, Rows, three_way

pytestmark = [pytest.mark.shared_cells, pytest.mark.depth("full")]

_ENGINES: Final[Mapping[str, Mapping[str, str]]] = {
    "deduplicate": {},
    "deletion vectors": {"deletion-vectors.enabled": "true"},
    "aggregation": {"merge-engine": "aggregation", "fields.amount.aggregate-function": "sum"},
}
_ON_DEV: Final = {2: 5, 30: 5}
_ON_MAIN: Final = {3: 6, 31: 6}


@dataclass(frozen=True)
class Later:
    """What both do once each has merged what the other did: amounts by key, None deletes."""

    dev: Mapping[int, int | None]
    main: Mapping[int, int | None]


# Each side changes keys of its own: some that it had from the other, some back to what they were.
_CELLS: Final[Mapping[str, Later]] = {
    "dev goes on with what main did": Later(dev={3: 8, 20: 8, 35: 8}, main={10: 9, 25: 9}),
    "main goes on with what dev did": Later(dev={12: 8, 20: 8}, main={2: 9, 15: 9, 30: 9}),
    "dev takes back what main did": Later(dev={3: 1, 20: 8, 35: 8}, main={10: 9, 25: 9}),
    "main takes back what dev did": Later(dev={12: 8, 20: 8}, main={2: 1, 15: 9, 30: 1}),
    "dev takes back its own": Later(dev={2: 1, 30: 1}, main={10: 9, 25: 9}),
    "dev deletes what main did": Later(dev={3: None, 20: None}, main={10: 9, 25: 9}),
    "main deletes what dev did": Later(dev={12: 8, 20: 8}, main={2: None, 15: None}),
}


@pytest.fixture
def make(open_java: Callable[[Path], JavaPaimon], tmp_path: Path) -> Callable[[str], MergeBench]:
    """Makes a table of which main and dev have each merged what the other one did."""

    def crossed(name: str, engine: str) -> MergeBench:
        folder = tmp_path / name.replace(" ", "-")
        options = {**KEPT, **_ENGINES[engine]}
        bench = MergeBench(open_java(folder), folder, keyed=True, options=options)
        bench.insert("main", *range(1, 41))
        for branch in ("dev", "copy-dev", "copy-main"):
            bench.branch(branch)
        base = dict(bench.rows["main"])
        for branch, amounts in (("dev", _ON_DEV), ("main", _ON_MAIN)):
            for key, amount in amounts.items():
                bench.insert(branch, key, amount=amount)
            _copy(bench, branch)
        merged = three_way(base, bench.rows["main"], bench.rows["dev"])
        bench.merge("copy-dev", "main", rows=merged)
        bench.merge("copy-main", "dev", rows=merged)
        return bench

    return crossed


def _copy(bench: MergeBench, branch: str) -> None:
    """Keep what a branch holds now, for the other side to merge later."""
    bench.call("fast_forward", branch=branch, target=f"copy-{branch}")
    bench.rows[f"copy-{branch}"] = dict(bench.rows[branch])


def _change(bench: MergeBench, branch: str, amounts: Mapping[int, int | None]) -> None:
    for key, amount in amounts.items():
        if amount is None:
            bench.delete(branch, key)
        else:
            bench.insert(branch, key, amount=amount)


@pytest.mark.parametrize("engine", ["deduplicate", "deletion vectors"])
@pytest.mark.parametrize("target", by_night(("main", "dev"), but=("main",)))
def test_changes_of_different_keys_all_hold(
    engine: str, target: str, make: Callable[[str, str], MergeBench]
) -> None:
    source = "dev" if target == "main" else "main"
    wrong = {}
    for name, later in _CELLS.items():
        bench = make(name, engine)
        both: Rows = dict(bench.rows["main"])
        _change(bench, "dev", later.dev)
        _change(bench, "main", later.main)
        rows = three_way(both, bench.rows[target], bench.rows[source])
        try:
            bench.merge(source, target, rows=rows)
            bench.check(others=False)
        except (AssertionError, Refused) as error:
            wrong[name] = str(error)
    assert not wrong


def test_sums_count_what_both_added_once(make: Callable[[str, str], MergeBench]) -> None:
    bench = make("sums", "aggregation")
    both = dict(bench.rows["main"])
    bench.insert("dev", 3, 20, amount=8)
    bench.insert("main", 2, 3, amount=9)
    rows = dict(bench.rows["main"])
    for key in (3, 20):
        added = bench.rows["dev"][key][2] - both[key][2]
        rows[key] = (*rows[key][:2], rows[key][2] + added)
    bench.merge("dev", "main", rows=rows)
    bench.check()


@pytest.mark.parametrize("engine", ["deduplicate", "deletion vectors"])
def test_a_row_that_both_settled_in_their_own_way_is_not_guessed(
    engine: str, open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    bench = MergeBench(
        open_java(tmp_path), tmp_path, keyed=True, options={**KEPT, **_ENGINES[engine]}
    )
    bench.insert("main", *range(1, 21))
    for branch in ("dev", "copy-dev", "copy-main"):
        bench.branch(branch)
    for branch, amount in (("dev", 5), ("main", 6)):
        bench.insert(branch, 2, amount=amount)
        _copy(bench, branch)
    ours = "version: 1\ntables: {'*': {take: ours}}"
    for source, target in (("copy-dev", "main"), ("copy-main", "dev")):
        bench.call("merge_branch", branch=source, target=target, policy=ours)
    bench.check(others=False)
    bench.insert("dev", 9, amount=8)
    bench.insert("main", 2, amount=7)
    before = bench.files()
    with pytest.raises(Refused) as refused:
        bench.merge("dev", "main", rows={})
    assert refused.value.kind is ErrorKind.CONFLICTS_OPEN
    assert _without_conflicts(bench.files()) == _without_conflicts(before)


def _without_conflicts(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The table; what was found of conflicts is kept beside it."""
    return {
        name: data
        for name, data in files.items()
        if any(f"/{kind}" in name for kind in ("snapshot/", "bucket-", "manifest/", "schema/"))
    }
