"""Rows that the target updated and the source deleted: the delete wins, and the receipt says so.

What an update made of a row is told by row ids, or by a release that recorded that it was one.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

from branch_console.errors import Refused
from branch_console.merge.joined_deletes import overruled_updates
from branch_console.merge.plan import MergeVerdict, conflicts_of, verdict_of
from branch_console.operations.isolation import Isolation
from tests.support.java_paimon import JavaPaimon
from tests.support.java_rewrites import rewrite
from tests.support.merge_bench import COPIED, SHARED, MergeBench, Rows, row_of

pytestmark = [pytest.mark.shared_cells, pytest.mark.depth("full")]

_IDS: Final = {"row-tracking.enabled": "true"}
_VECTORS: Final = {"deletion-vectors.enabled": "true"}


@pytest.fixture
def make(open_java: Callable[[Path], JavaPaimon], tmp_path: Path) -> Callable[..., MergeBench]:
    """Makes a table of two files with four rows each, and a branch."""

    def diverging(options: Mapping[str, str] = SHARED) -> MergeBench:
        bench = MergeBench(open_java(tmp_path), tmp_path, options=dict(options))
        bench.insert("main", 1, 2, 3, 4)
        bench.insert("main", 5, 6, 7, 8)
        bench.branch("dev")
        return bench

    return diverging


def _without_deleted(bench: MergeBench, base: Rows) -> Rows:
    """What the target holds, without what the source deleted, and what the source inserted."""
    gone = base.keys() - bench.rows["dev"].keys()
    come = {each: row for each, row in bench.rows["dev"].items() if each not in base}
    return {each: row for each, row in bench.rows["main"].items() if each not in gone} | come


@pytest.mark.parametrize("options", [SHARED, COPIED, {**SHARED, **_IDS}, {**COPIED, **_IDS}])
@pytest.mark.parametrize(
    ("deleted", "updated", "beaten"),
    [
        ((1,), (2,), 0),
        ((1,), (1,), 1),
        ((1, 2, 3, 4), (2,), 1),
        ((1, 2), (1, 2), 2),
        ((1, 2, 3, 6), (1, 2), 2),
        ((1, 5), (2, 6), 0),
    ],
)
def test_a_row_that_the_source_deleted_is_gone(
    deleted: tuple[int, ...],
    updated: tuple[int, ...],
    beaten: int,
    options: Mapping[str, str],
    make: Callable[..., MergeBench],
) -> None:
    bench = make(options)
    base = bench.rows["main"]
    bench.delete("dev", *deleted)
    bench.insert("dev", 21)
    bench.update("main", *updated, amount=7)
    if not options.keys() & _IDS:
        bench.record("main", "UPDATE")
    receipt = bench.merge(rows=_without_deleted(bench, base))
    said = [note for note in receipt.notes if "the delete wins" in note]
    assert said == ([overruled_updates(beaten)] if beaten else [])
    bench.check()
    bench.check_history()
    assert verdict_of(bench.plan()) is MergeVerdict.UP_TO_DATE
    bench.go_on()


def test_rows_that_the_target_inserted_and_updated_stay(make: Callable[..., MergeBench]) -> None:
    bench = make()
    base = bench.rows["main"]
    bench.delete("dev", 1)
    bench.insert("main", 41, 42)
    bench.update("main", 2, 41, amount=7)
    bench.merge(rows=_without_deleted(bench, base), isolation=Isolation.SNAPSHOT)
    bench.check()


def test_ids_tell_which_of_several_updated_rows_was_deleted(
    make: Callable[..., MergeBench],
) -> None:
    bench = make({**SHARED, **_IDS})
    base, ids = bench.rows["main"], bench.table().row_ids()
    bench.delete("dev", 1, 4)
    bench.update("main", 1, 2, amount=7)
    bench.merge(rows=_without_deleted(bench, base))
    bench.check()
    kept = {number for number, row in ids.items() if row[0] not in (1, 4)}
    assert bench.table().row_ids().keys() == kept


@pytest.mark.parametrize("is_recorded", [True, False])
@pytest.mark.parametrize(
    ("deleted", "updated", "beaten"),
    [((1,), (1,), 1), ((1,), (1, 2), 1), ((1, 3), (1, 2, 3), 2), ((1, 6), (1, 2, 5), 1)],
)
def test_columns_that_an_update_left_as_they_were_tell_the_deleted_row(
    deleted: tuple[int, ...],
    updated: tuple[int, ...],
    beaten: int,
    is_recorded: bool,
    make: Callable[..., MergeBench],
) -> None:
    bench = make()
    base = bench.rows["main"]
    bench.delete("dev", *deleted)
    bench.update("main", *updated, amount=7)
    if is_recorded:
        bench.record("main", "UPDATE")
    assert verdict_of(bench.plan()) is MergeVerdict.UNDECIDED
    receipt = bench.merge(rows=_without_deleted(bench, base))
    assert overruled_updates(beaten) in receipt.notes
    bench.check()


def test_vectors_alone_tell_that_the_source_deleted_all_that_was_updated(
    make: Callable[..., MergeBench],
) -> None:
    bench = make({**SHARED, **_VECTORS})
    bench.hide("dev", 1, 2, 6)
    bench.hide_and_insert("main", {1: row_of(1, 7), 6: row_of(6, 7)})
    plan = bench.plan()
    assert verdict_of(plan) is MergeVerdict.CLEAN
    assert overruled_updates(2) in plan.notes
    bench.merge(rows={each: row_of(each, 1) for each in (3, 4, 5, 7, 8)})
    bench.check()
    bench.go_on()


def test_vectors_that_do_not_tell_which_version_was_deleted_are_a_conflict(
    make: Callable[..., MergeBench],
) -> None:
    bench = make({**SHARED, **_VECTORS})
    bench.hide("dev", 1)
    bench.hide_and_insert("main", {1: row_of(1, 7), 2: row_of(2, 7)})
    assert [each.rule for each in conflicts_of(bench.plan())] == ["delete.update"]
    with pytest.raises(Refused, match="conflict must be settled"):
        bench.merge(rows={})
    bench.check()


@pytest.mark.parametrize("is_recorded", [True, False])
def test_where_nothing_tells_what_was_made_of_a_deleted_row_nothing_is_merged(
    is_recorded: bool, make: Callable[..., MergeBench]
) -> None:
    bench = make()
    bench.delete("dev", 1)
    # Of the columns that it left as they were none tells these rows from each other.
    new = {1: row_of(41, 7), 2: row_of(42, 7)}
    rewrite(bench.table(), lambda row: new.get(row[0], row))
    left = {each: row for each, row in bench.rows["main"].items() if each not in new}
    bench.rows["main"] = left | {row[0]: row for row in new.values()}
    if is_recorded:
        bench.record("main", "UPDATE")
    assert verdict_of(bench.plan()) is MergeVerdict.UNDECIDED
    before = bench.files()
    with pytest.raises(Refused, match="Settle 'whole files' in a policy: 'ours' keeps"):
        bench.merge(rows={})
    assert bench.files() == before
    bench.check()


def test_a_row_that_came_with_an_update_is_not_lost(make: Callable[..., MergeBench]) -> None:
    bench = make()
    bench.delete("dev", 1, 2, 3, 4)
    bench.delete("main", 2)
    # One commit that deletes and inserts as many rows looks as an update does.
    new = {1: row_of(41, 7)}
    rewrite(bench.table(), lambda row: new.get(row[0], row))
    bench.rows["main"] = {e: r for e, r in bench.rows["main"].items() if e != 1} | {41: new[1]}
    with pytest.raises(Refused, match="cannot be matched with those of the other side"):
        bench.merge(rows={})
    bench.check()


@pytest.mark.parametrize("take", ["ours", "theirs"])
def test_rows_that_the_source_updated_in_a_file_beside_are_open(
    take: str, make: Callable[..., MergeBench]
) -> None:
    bench = make()
    bench.delete("main", 1)
    bench.update("dev", 5, amount=7)
    bench.delete("dev", 2, 6)
    found = bench.plan()
    assert [each.rule for each in found.conflicts] == ["M2"]
    assert "together with rows of others that it had updated" in found.conflicts[0].advice
    with pytest.raises(Refused, match="conflict must be settled"):
        bench.merge(rows={})
    bench.check()
    bench.rows["main"] = bench.rows["main" if take == "ours" else "dev"]
    bench.call("merge_branch", branch="dev", policy=f"version: 1\nkinds: {{whole files: {take}}}")
    bench.check()


def test_strictly_it_is_a_conflict(make: Callable[..., MergeBench]) -> None:
    bench = make()
    bench.delete("dev", 1)
    bench.update("main", 2, amount=7)
    found = bench.plan(strict=True)
    assert [each.rule for each in found.conflicts] == ["delete.update"]
    assert verdict_of(bench.plan()) is MergeVerdict.UNDECIDED


def test_rows_that_the_source_hid_are_gone_from_what_the_target_wrote_again(
    make: Callable[..., MergeBench],
) -> None:
    bench = make({**SHARED, **_VECTORS})
    base = bench.rows["main"]
    bench.hide("dev", 1, 5)
    bench.update("main", 2, amount=7)
    bench.merge(rows=_without_deleted(bench, base))
    bench.check()
    bench.go_on()


@pytest.mark.parametrize("deleted", [(1,), (2,), (1, 2)])
def test_a_file_of_which_the_target_was_chosen_before_is_open_again(
    deleted: tuple[int, ...], make: Callable[..., MergeBench]
) -> None:
    bench = make()
    bench.update("dev", 1, amount=5)
    bench.update("main", 1, amount=7)
    bench.call("merge_branch", branch="dev", policy="version: 1\nkinds: {whole files: ours}")
    bench.check()
    bench.delete("dev", *deleted)
    with pytest.raises(Refused, match="conflict must be settled"):
        bench.merge(rows={})
    bench.check()
