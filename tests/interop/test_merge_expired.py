"""Merges of branches whose snapshots Paimon has expired: told from what is left, or refused."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from branch_console.errors import ErrorKind, Refused
from branch_console.merge.plan import MergeVerdict, verdict_of
from tests.support.java_paimon import JavaPaimon
from tests.support.merge_bench import MergeBench, Rows, three_way

pytestmark = pytest.mark.shared_cells

Make: TypeAlias = Callable[[str, bool], MergeBench]


@pytest.fixture
def make(open_java: Callable[[Path], JavaPaimon], tmp_path: Path) -> Make:
    """Makes a table, with a key or without, and a branch of it."""

    def diverging(name: str, keyed: bool) -> MergeBench:
        folder = tmp_path / name
        bench = MergeBench(open_java(folder), folder, keyed=keyed)
        bench.insert("main", *range(1, 11))
        bench.branch("dev")
        return bench

    return diverging


def _disjoint(bench: MergeBench) -> None:
    bench.insert("main", 41)
    bench.insert("dev", 21)


def _one_file(bench: MergeBench) -> None:
    bench.update("main", 1, amount=7)
    bench.insert("main", 41)
    bench.update("dev", 2, amount=8)


def _one_row(bench: MergeBench) -> None:
    bench.update("main", 1, 5, amount=7)
    bench.update("dev", 5, 6, amount=8)


_CHANGES: Final[Mapping[str, Callable[[MergeBench], None]]] = {
    "disjoint": _disjoint,
    "one-file": _one_file,
    "one-row": _one_row,
}


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("expired", ["main", "dev"])
def test_a_compaction_at_the_end_hides_no_change(expired: str, keyed: bool, make: Make) -> None:
    wrong = {}
    for name, change in _CHANGES.items():
        bench = make(name, keyed)
        base = dict(bench.rows["main"])
        change(bench)
        bench.compact(expired)
        bench.expire(expired)
        try:
            _merges_or_refuses(bench, base)
        except AssertionError as error:
            wrong[name] = str(error)
    assert not wrong


def _merges_or_refuses(bench: MergeBench, base: Rows) -> None:
    """Nothing is lost and nothing comes that neither side has; a refusal leaves all as it was."""
    assert verdict_of(bench.plan()) is not MergeVerdict.UP_TO_DATE
    before = dict(bench.rows["main"])
    try:
        bench.merge(rows=before)
    except Refused:
        assert sorted(bench.table().rows()) == sorted(before.values())
        return
    bench.rows["main"] = three_way(base, before, bench.rows["dev"])
    bench.check(others=False)


def _deletes(bench: MergeBench) -> None:
    bench.delete("main", 50)


def _updates(bench: MergeBench) -> None:
    bench.update("main", 50, amount=9)


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("compacts", [False, True])
@pytest.mark.parametrize("change", [_deletes, _updates])
def test_what_was_merged_before_does_not_come_again(
    change: Callable[[MergeBench], None], compacts: bool, keyed: bool, make: Make
) -> None:
    bench = make("again", keyed)
    base = dict(bench.rows["main"])
    bench.insert("dev", 50, 51)
    bench.insert("main", 60)
    bench.merge(rows=three_way(base, bench.rows["main"], bench.rows["dev"]))
    change(bench)
    bench.insert("dev", 70)
    if compacts:
        bench.compact("dev")
    bench.insert("dev", 71)
    bench.expire("dev")
    before = sorted(bench.table().rows())
    with pytest.raises(Refused, match="has expired on 'dev'") as refused:
        bench.merge(rows={})
    assert refused.value.kind is ErrorKind.SNAPSHOT_NOT_FOUND
    assert sorted(bench.table().rows()) == before


def test_the_ledger_tells_of_a_merge_that_expired_on_the_target(make: Make) -> None:
    bench = make("target", True)
    base = dict(bench.rows["main"])
    bench.insert("dev", 2, amount=5)
    bench.insert("main", 60)
    bench.merge(rows=three_way(base, bench.rows["main"], bench.rows["dev"]))
    base = dict(bench.rows["dev"])
    bench.insert("main", 2, amount=1)
    bench.insert("main", 61)
    bench.expire("main")
    assert verdict_of(bench.plan()) is MergeVerdict.UP_TO_DATE
    bench.insert("dev", 70)
    bench.merge(rows=three_way(base, bench.rows["main"], bench.rows["dev"]))
    bench.check(others=False)
