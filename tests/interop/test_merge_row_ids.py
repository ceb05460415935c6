"""Rows that have ids: what both sides deleted of one file goes, and all others keep theirs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.merge.conflict import Take
from branch_console.operations.isolation import Isolation
from tests.support.java_paimon import JavaPaimon
from tests.support.java_rewrites import rewrite
from tests.support.merge_bench import COPIED, SHARED, MergeBench, row_of, three_way

pytestmark = pytest.mark.shared_cells


@pytest.fixture(params=[SHARED, COPIED], ids=["shared", "copied"])
def bench(
    request: pytest.FixtureRequest, open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> MergeBench:
    options = {**request.param, "row-tracking.enabled": "true"}
    bench = MergeBench(open_java(tmp_path), tmp_path, options=options)
    bench.insert("main", 1, 2, 3, 4)
    bench.insert("main", 5, 6, 7, 8)
    bench.branch("dev")
    return bench


def _merges(bench: MergeBench, base: dict[int, tuple[object, ...]]) -> None:
    bench.merge(
        rows=three_way(base, bench.rows["main"], bench.rows["dev"]), isolation=Isolation.SNAPSHOT
    )
    bench.check()


def test_rows_keep_their_ids_where_both_sides_deleted_others(bench: MergeBench) -> None:
    base, ids = bench.rows["main"], bench.table().row_ids()
    bench.delete("dev", 1, 5)
    bench.delete("main", 2)
    _merges(bench, base)
    assert bench.table().row_ids() == {
        number: row for number, row in ids.items() if row[0] not in (1, 2, 5)
    }
    base = bench.rows["dev"]
    bench.delete("dev", 3)
    bench.delete("main", 6, 7)
    _merges(bench, base)
    assert {row[0]: number for number, row in bench.table().row_ids().items()} == {4: 3, 8: 7}
    bench.check_history()
    bench.go_on()


def test_rows_that_the_source_inserted_get_ids_of_the_target(bench: MergeBench) -> None:
    base, ids = bench.rows["main"], bench.table().row_ids()
    bench.insert("dev", 21)
    rewrite(bench.table("dev"), lambda row: None if row[0] == 21 else row)
    bench.rows["dev"] = {each: row for each, row in bench.rows["dev"].items() if each != 21}
    bench.insert("main", 41, 42)
    bench.insert("dev", 22, 23)
    bench.delete("dev", 1, 23)
    bench.delete("main", 2, 42)
    _merges(bench, base)
    after = bench.table().row_ids()
    kept = {number: row for number, row in ids.items() if row[0] not in (1, 2)}
    assert {number: after[number] for number in kept} == kept
    assert sorted(row[0] for number, row in after.items() if number not in kept) == [22, 41]
    bench.go_on()


def test_of_two_equal_rows_the_one_goes_that_was_deleted(bench: MergeBench) -> None:
    table, dev = bench.table(), bench.table("dev")
    bench.call("drop_branch", branch="dev")
    twin = row_of(9, 1)
    table.write([twin, twin, row_of(10, 1), row_of(11, 1)])
    first, second = sorted(number for number, row in table.row_ids().items() if row == twin)
    bench.branch("dev")
    seen = iter([twin, None])
    rewrite(dev, lambda row: next(seen) if row == twin else row)
    assert second not in dev.row_ids()
    rewrite(table, lambda row: None if row[0] == 10 else row)
    bench.merge(rows={})
    after = table.row_ids()
    assert after[first] == twin
    assert second not in after
    assert sorted(row[0] for row in after.values()) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 11]


@pytest.mark.parametrize("take", [Take.OURS, Take.THEIRS])
def test_a_side_that_was_chosen_keeps_the_ids_of_the_base(take: Take, bench: MergeBench) -> None:
    changed = {1: None, 2: row_of(2, 7)}
    rewrite(bench.table("dev"), lambda row: changed.get(row[0], row))
    left = {each: row for each, row in bench.rows["dev"].items() if each != 1}
    bench.rows["dev"] = left | {2: row_of(2, 7)}
    bench.delete("main", 1)
    side = bench.table("dev" if take is Take.THEIRS else "main").row_ids()
    bench.call("merge_branch", branch="dev", policy=f"version: 1\nkinds: {{whole files: {take}}}")
    if take is Take.THEIRS:
        bench.rows["main"] = bench.rows["dev"]
    bench.check()
    assert bench.table().row_ids() == side
