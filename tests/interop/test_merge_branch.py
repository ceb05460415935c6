"""What we merge of tables that real Paimon wrote, real Paimon reads, writes on, compacts, expires.

Expected rows come from a plain model of both branches, never from what our merge says it did.
"""

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from branch_console.errors import ErrorKind, Refused
from branch_console.merge.conflict import Take
from branch_console.merge.plan import MergeVerdict, conflicts_of, verdict_of
from branch_console.operations.isolation import InsertScope, Isolation
from tests.support.java_paimon import JavaPaimon
from tests.support.java_rewrites import rewrite
from tests.support.merge_bench import COPIED, SHARED, MergeBench, row_of, three_way
from tests.support.merge_cells import BY_PREDICATE, OURS, THEIRS, Act, replayed

pytestmark = pytest.mark.shared_cells

_LAYOUTS: Final = {"shared": (False, SHARED), "copied, partitioned": (True, COPIED)}


@pytest.fixture(params=list(_LAYOUTS.values()), ids=list(_LAYOUTS))
def diverging(
    request: pytest.FixtureRequest, open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> MergeBench:
    """A table with eight rows and a branch."""
    partitioned, options = request.param
    bench = MergeBench(open_java(tmp_path), tmp_path, partitioned=partitioned, options=options)
    bench.insert("main", 1, 2, 3, 4)
    bench.insert("main", 5, 6, 7, 8)
    bench.table().create_tag("before")
    if options is SHARED:
        bench.branch("dev")
    else:
        bench.java_branch("dev")
    return bench


def _cells() -> Iterator[Any]:
    """Each cell in each layout: a full run takes one of both by turns, and a night both."""
    for (row, theirs), (column, ours) in product(enumerate(THEIRS), enumerate(OURS)):
        for turn, (name, layout) in enumerate(_LAYOUTS.items()):
            least = "full" if (row + column) % len(_LAYOUTS) == turn else "long"
            marks = pytest.mark.depth(least)
            yield pytest.param(theirs, ours, layout, id=f"{name}-{theirs}-{ours}", marks=marks)


@pytest.mark.shared_cells
@pytest.mark.parametrize(("theirs", "ours", "diverging"), list(_cells()), indirect=["diverging"])
def test_every_cell_of_the_rules_for_rows_that_neither_side_shares(
    theirs: str, ours: str, diverging: MergeBench
) -> None:
    bench = diverging
    base = bench.rows["main"]
    THEIRS[theirs](bench, "dev")
    if theirs in BY_PREDICATE and ours == "overwrite":
        # Without a record it may have inserted rows, which the overwrite never saw.
        bench.record("dev", theirs.upper())
    OURS[ours](bench, "main")
    if theirs in BY_PREDICATE and ours == "insert":
        _is_refused(bench, {f"{theirs}.insert"})
        expected = three_way(base, bench.rows["main"], bench.rows["dev"])
        bench.merge(rows=expected, isolation=Isolation.SNAPSHOT)
    elif theirs == "compaction":
        assert verdict_of(bench.plan()) is MergeVerdict.UP_TO_DATE
        bench.merge(rows=bench.rows["main"])
    else:
        bench.merge(rows=replayed(bench, base, overwritten=theirs == "overwrite"))
    _check_all_that_follows(bench)


@pytest.mark.parametrize(
    ("theirs", "ours", "rule"),
    [("update", "update", "M3"), ("update", "delete", "M1")],
)
def test_two_changes_of_one_file_are_a_conflict_whose_refusal_changes_nothing(
    theirs: str, ours: str, rule: str, diverging: MergeBench
) -> None:
    changes: dict[str, Act] = {
        "update": lambda bench, on: bench.update(on, 2, amount=3),
        "delete": lambda bench, on: bench.delete(on, 2),
    }
    THEIRS[theirs](diverging, "dev")
    changes[ours](diverging, "main")
    _is_refused(diverging, {rule})
    (conflict,) = conflicts_of(diverging.plan())
    assert "Rows without a key are not compared" in conflict.advice
    diverging.check()


def test_deletes_of_one_file_both_hold(diverging: MergeBench) -> None:
    bench = diverging
    base = bench.rows["main"]
    bench.delete("dev", 1)
    bench.delete("dev", 6)
    bench.insert("dev", 21)
    bench.delete("main", 2, 5)
    found = bench.plan()
    assert (verdict_of(found), found.cost.records_added) == (MergeVerdict.UNDECIDED, -1)
    bench.merge(rows=three_way(base, bench.rows["main"], bench.rows["dev"]))
    _check_all_that_follows(bench)


def test_deletes_of_one_file_hold_where_the_target_compacted_it(diverging: MergeBench) -> None:
    bench = diverging
    base = bench.rows["main"]
    bench.delete("dev", 1, 6)
    bench.delete("main", 2)
    bench.insert("main", 41, 43)
    bench.compact("main")
    bench.merge(
        rows=three_way(base, bench.rows["main"], bench.rows["dev"]), isolation=Isolation.SNAPSHOT
    )
    _check_all_that_follows(bench)


@pytest.mark.parametrize("take", [Take.OURS, Take.THEIRS])
def test_a_delete_that_changed_rows_too_is_found_and_loses_nothing(
    take: Take, diverging: MergeBench
) -> None:
    bench = diverging
    # One commit of Java's that leaves fewer rows: no release says what else it did.
    changed = {1: None, 2: row_of(2, 7)}
    rewrite(bench.table("dev"), lambda row: changed.get(row[0], row))
    left = {each: row for each, row in bench.rows["dev"].items() if each != 1}
    bench.rows["dev"] = left | {2: row_of(2, 7)}
    bench.delete("main", 1)
    assert verdict_of(bench.plan()) is MergeVerdict.UNDECIDED
    before = bench.files()
    with pytest.raises(Refused, match="rows without a key cannot be matched"):
        bench.merge(rows={})
    assert bench.files() == before
    bench.call("merge_branch", branch="dev", policy=f"version: 1\nkinds: {{whole files: {take}}}")
    if take is Take.THEIRS:
        bench.rows["main"] = bench.rows["dev"]
    bench.check()


def test_scope_looks_at_inserts_into_the_partitions_that_a_delete_touched(
    diverging: MergeBench,
) -> None:
    bench = diverging
    base = bench.rows["main"]
    bench.delete("dev", 1)
    bench.insert("main", 43)
    if bench.partition_keys:
        bench.merge(
            rows=three_way(base, bench.rows["main"], bench.rows["dev"]), scope=InsertScope.PARTITION
        )
        bench.check()
    else:
        found = bench.plan(scope=InsertScope.PARTITION)
        assert [each.settle_with for each in found.conflicts] == [(Take.ISOLATION_SNAPSHOT,)]


def test_an_overwrite_that_leaves_fewer_rows_never_loses_an_insert_silently(
    diverging: MergeBench,
) -> None:
    bench = diverging
    base = bench.rows["main"]
    bench.overwrite("dev", 21, 23, is_recorded=False)
    bench.insert("main", 41, 43)
    # Releases record no operation: from the files alone it may as well be a delete.
    _is_refused(bench, {"delete.insert"})
    bench.merge(
        rows=three_way(base, bench.rows["main"], bench.rows["dev"]), isolation=Isolation.SNAPSHOT
    )
    bench.check()


def test_a_truncated_source_empties_what_the_target_did_not_change(diverging: MergeBench) -> None:
    bench = diverging
    bench.table("dev").truncate()
    bench.rows["dev"] = {}
    bench.compact("main")
    bench.merge(rows={})
    _check_all_that_follows(bench)


def test_two_compactions_of_the_target_are_taken_back_down_to_what_the_source_changed(
    diverging: MergeBench,
) -> None:
    bench = diverging
    base = bench.rows["main"]
    bench.insert("main", 41, 43)
    bench.compact("main")
    bench.insert("main", 45, 47)
    bench.compact("main")
    bench.update("dev", 1, amount=2)
    bench.merge(
        rows=three_way(base, bench.rows["main"], bench.rows["dev"]), isolation=Isolation.SNAPSHOT
    )
    _check_all_that_follows(bench)


def test_what_a_merge_brought_the_source_may_change_and_the_target_compact(
    diverging: MergeBench,
) -> None:
    bench = diverging
    bench.insert("dev", 21, 23)
    bench.insert("main", 41, 43)
    bench.merge(rows=bench.rows["main"] | bench.rows["dev"])
    bench.check()
    base = bench.rows["dev"]
    bench.delete("dev", 21)
    bench.merge(
        rows=three_way(base, bench.rows["main"], bench.rows["dev"]), isolation=Isolation.SNAPSHOT
    )
    bench.check()
    base = bench.rows["dev"]
    bench.compact("main")
    bench.compact("dev")
    bench.update("dev", 23, amount=7)
    bench.merge(
        rows=three_way(base, bench.rows["main"], bench.rows["dev"]), isolation=Isolation.SNAPSHOT
    )
    _check_all_that_follows(bench)


def test_branches_merge_there_and_back_and_across(diverging: MergeBench) -> None:
    bench = diverging
    bench.insert("dev", 21, 23)
    bench.insert("main", 41, 43)
    both = bench.rows["main"] | bench.rows["dev"]
    bench.merge(rows=both)
    bench.merge("main", "dev", rows=both)
    bench.check()
    bench.insert("dev", 25)
    bench.insert("main", 45)
    # A criss-cross: each takes the head that the other had before.
    ours, theirs = bench.rows["main"], bench.rows["dev"]
    bench.merge(rows=ours | theirs)
    bench.insert("dev", 27)
    bench.insert("main", 47)
    bench.merge("main", "dev", rows=bench.rows["main"] | bench.rows["dev"])
    bench.delete("dev", 21)
    bench.merge(
        rows={k: row for k, row in bench.rows["dev"].items() if k != 21},
        isolation=Isolation.SNAPSHOT,
    )
    _check_all_that_follows(bench)


def _is_refused(bench: MergeBench, rules: set[str]) -> None:
    assert {each.rule for each in conflicts_of(bench.plan())} == rules
    before = bench.files()
    with pytest.raises(Refused) as refused:
        bench.merge(rows={})
    assert refused.value.kind is ErrorKind.CONFLICTS_OPEN
    assert bench.files() == before


def test_what_comes_back_from_before_a_compaction_outlives_the_expiry_of_it(
    diverging: MergeBench,
) -> None:
    diverging.delete("dev", 1)
    diverging.insert("main", 41, 43)
    diverging.compact("main")
    merged = {each: row for each, row in diverging.rows["main"].items() if each != 1}
    diverging.merge(rows=merged, isolation=Isolation.SNAPSHOT)
    diverging.check()
    if "write-only" not in diverging.table().schemas()[-1]["options"]:
        # Java deletes what the compaction had read with the snapshot of it.
        diverging.expire("main")
        diverging.check()


def _check_all_that_follows(bench: MergeBench) -> None:
    """Java reads all of it, goes on, merges once more and expires."""
    bench.check()
    bench.check_history()
    assert sorted(bench.table().rows(tag="before")) == sorted(bench.earlier[1][2].values())
    assert verdict_of(bench.plan()) is MergeVerdict.UP_TO_DATE
    bench.insert("dev", 71)
    bench.merge(rows=bench.rows["main"] | {71: bench.rows["dev"][71]})
    bench.check()
    bench.go_on()
    if "write-only" not in bench.table().schemas()[-1]["options"]:
        for branch in ("dev", "main"):
            bench.expire(branch)
            bench.check()
