"""Merges of branches that were made from branches; real Paimon writes, compacts, expires, reads."""

from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.errors import ErrorKind, Refused
from branch_console.merge.plan import MergeVerdict, blocks_of, verdict_of
from tests.support.java_paimon import JavaPaimon
from tests.support.merge_bench import COPIED, SHARED, MergeBench, put, three_way

pytestmark = pytest.mark.shared_cells

Make = Callable[..., MergeBench]


@pytest.fixture
def make(open_java: Callable[[Path], JavaPaimon], tmp_path: Path) -> Make:
    """Makes a table of eight rows, a branch of it with two more, and a branch of that."""

    def nested(*, keyed: bool = False, options: dict[str, str] | None = None) -> MergeBench:
        bench = MergeBench(open_java(tmp_path), tmp_path, keyed=keyed, options=options or SHARED)
        bench.insert("main", *range(1, 9))
        bench.branch("dev")
        bench.insert("dev", 11, 12)
        bench.branch("feat", source="dev")
        return bench

    return nested


@pytest.mark.parametrize("options", [SHARED, COPIED], ids=["shared", "copied"])
@pytest.mark.parametrize("keyed", [False, True])
def test_each_row_comes_once_over_whatever_branch_it_comes(
    keyed: bool, options: dict[str, str], make: Make
) -> None:
    bench = make(keyed=keyed, options=options)
    base = dict(bench.rows["main"])
    bench.insert("feat", 21, 23)
    bench.insert("main", 41, 43)
    plan = bench.plan("feat")
    assert "'feat' was made from 'dev': what 'dev' had changed by then is merged too." in plan.notes
    bench.merge("feat", rows=three_way(base, bench.rows["main"], bench.rows["feat"]))
    bench.insert("dev", 13)
    at_fork = dict(bench.rows["main"])
    bench.merge("dev", rows=at_fork | put([13]))
    bench.insert("feat", 25)
    bench.merge("feat", "dev", rows=bench.rows["dev"] | put([21, 23, 25]))
    bench.merge("main", "feat", rows=bench.rows["feat"] | put([13, 41, 43]))
    bench.check()
    bench.check_history()
    bench.go_on()


@pytest.mark.parametrize("keyed", [False, True])
def test_branches_of_one_branch_meet_there(keyed: bool, make: Make) -> None:
    bench = make(keyed=keyed)
    bench.insert("dev", 13)
    bench.branch("fix", source="dev")
    base = bench.rows["feat"]
    bench.delete("feat", 11)
    bench.insert("fix", 31)
    bench.merge("fix", "feat", rows=three_way(base, bench.rows["feat"], bench.rows["fix"]))
    bench.check()


@pytest.mark.parametrize("keyed", [False, True])
def test_what_main_deleted_of_the_outer_branch_does_not_come_again(keyed: bool, make: Make) -> None:
    bench = make(keyed=keyed)
    bench.insert("dev", 13)
    bench.merge("dev", rows=bench.rows["dev"])
    bench.insert("main", 41)
    bench.delete("main", 11)
    bench.insert("feat", 21)
    bench.merge("feat", rows=bench.rows["main"] | put([21]))
    bench.check()


@pytest.mark.parametrize("keyed", [False, True])
def test_a_merge_that_nothing_tells_of_any_more_is_refused(keyed: bool, make: Make) -> None:
    bench = make(keyed=keyed)
    bench.insert("dev", 13)
    bench.insert("main", 41)
    bench.merge("dev", rows=bench.rows["main"] | put([11, 12, 13]))
    bench.delete("main", 11)
    bench.insert("feat", 21)
    bench.insert("dev", 15)
    bench.expire("dev")
    before = bench.files()
    with pytest.raises(Refused, match="has expired on 'dev'"):
        bench.merge("feat", rows={})
    assert blocks_of(bench.plan("feat"))[0].kind is ErrorKind.SNAPSHOT_NOT_FOUND
    assert bench.files() == before
    bench.check()


@pytest.mark.parametrize("keyed", [False, True])
def test_what_the_outer_branch_expired_is_told_by_what_is_left(keyed: bool, make: Make) -> None:
    bench = make(keyed=keyed)
    base = dict(bench.rows["main"])
    bench.insert("feat", 21)
    bench.insert("main", 41)
    bench.insert("dev", 13)
    bench.expire("dev")
    assert verdict_of(bench.plan("feat")) is not MergeVerdict.REFUSED
    bench.merge("feat", rows=three_way(base, bench.rows["main"], bench.rows["feat"]))
    bench.check()


@pytest.mark.parametrize("keyed", [False, True])
def test_a_base_that_the_outer_branch_expired_is_missed(keyed: bool, make: Make) -> None:
    bench = make(keyed=keyed)
    bench.insert("main", 41)
    bench.merge("dev", rows=bench.rows["main"] | put([11, 12]))
    bench.delete("main", 11)
    bench.insert("feat", 21)
    bench.insert("dev", 13)
    bench.expire("dev")
    before = bench.files()
    with pytest.raises(Refused, match="has expired on 'dev'"):
        bench.merge("feat", rows={})
    assert bench.files() == before
    bench.check()
