"""What merges and picks make of changes that a branch had taken in and gave up, on real rows."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from branch_console.errors import ErrorKind, Refused
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.dispatch import run_call
from tests.reliability import states
from tests.reliability.worlds import TABLE, RowBench
from tests.support.local_row_engine import LocalRows
from tests.support.our_rows import OurRows

Run: TypeAlias = Callable[..., str]


@pytest.fixture(params=["copied", "shared"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> RowBench:
    """A table without keys with rows 1 and 2, and a branch that wrote 3 and 4."""
    bench = RowBench(tmp_path, **({"write-only": "true"} if request.param == "shared" else {}))
    bench.put("origin", {1: "a", 2: "a"})
    bench.branch("dev")
    bench.put("new", {3: "a", 4: "a"}, branch="dev")
    return bench


@pytest.fixture
def run(bench: RowBench) -> Run:
    """Runs a procedure; returns its first note."""
    return _runner(bench)


def _runner(bench: RowBench) -> Run:
    def run(name: str, **arguments: object) -> str:
        warehouse = bench.warehouse()
        call = ProcedureCall(
            name=name,
            arguments={"table": "db.t", **arguments},
            actor="ann",
            operation_id=f"{name}-{len(states.ledger(Path(bench.path)))}",
        )
        rows = LocalRows(warehouse.file_io)
        return " ".join(run_call(warehouse, rows, call, InlineStages()).notes)

    return run


def _ids(bench: RowBench, branch: str = "main") -> list[int]:
    return [each[0] for each in states.rows(Path(bench.path), branch)]


def _head_id(bench: RowBench, branch: str = "main") -> int:
    head = bench.table(branch).head()
    assert head is not None
    return head.id


def _files(bench: RowBench, branch: str, name: str) -> pa.Table:
    """The live file of that name, or the copy that stands for it."""
    table = bench.table(branch)
    head = table.head()
    assert head is not None
    files = table.live_files(head)
    return files.filter(pc.starts_with(files["file_name"], f"data-{name}"))


def _delete_origin(bench: RowBench, branch: str) -> None:
    """Delete rows 1 and 2."""
    bench.replace("none", {}, _files(bench, branch, "origin"), branch=branch)


def test_a_pick_that_was_reverted_comes_with_the_next_merge(bench: RowBench, run: Run) -> None:
    run("cherry_pick", branch="dev", snapshot=2)
    run("revert", snapshot=2)
    assert _ids(bench) == [1, 2]
    run("merge_branch", branch="dev")
    assert _ids(bench) == [1, 2, 3, 4]


def test_a_pick_that_was_rolled_back_is_picked_again(bench: RowBench, run: Run) -> None:
    run("cherry_pick", branch="dev", snapshot=2)
    run("rollback", snapshot=1)
    assert _ids(bench) == [1, 2]
    run("cherry_pick", branch="dev", snapshot=2)
    assert _ids(bench) == [1, 2, 3, 4]


@pytest.mark.parametrize("left", [{}, {4: "a"}], ids=["all", "some"])
def test_rows_that_were_picked_and_deleted_since_stay_deleted(
    left: dict[int, str], bench: RowBench, run: Run
) -> None:
    run("cherry_pick", branch="dev", snapshot=2)
    bench.replace("left", left, _files(bench, "main", "new"), branch="main")
    bench.put("newer", {5: "a"}, branch="dev")
    run("merge_branch", branch="dev", isolation="snapshot")
    assert _ids(bench) == [1, 2, *left, 5]


def test_what_is_left_of_a_file_is_not_doubled_by_picking_it_again(
    bench: RowBench, run: Run
) -> None:
    run("cherry_pick", branch="dev", snapshot=2)
    bench.replace("left", {4: "a"}, _files(bench, "main", "new"), branch="main")
    assert "nothing to pick" in run("cherry_pick", branch="dev", snapshot=2)
    assert _ids(bench) == [1, 2, 4]


def test_a_snapshot_that_was_merged_is_not_doubled_where_its_file_was_written_again(
    bench: RowBench, run: Run
) -> None:
    bench.replace("left", {4: "a"}, _files(bench, "dev", "new"), branch="dev")
    bench.put("ours", {5: "a"})
    run("merge_branch", branch="dev", isolation="snapshot")
    assert _ids(bench) == [1, 2, 4, 5]
    assert "nothing to pick" in run("cherry_pick", branch="dev", snapshot=2)
    assert _ids(bench) == [1, 2, 4, 5]


def test_a_snapshot_of_its_own_that_was_rolled_back_can_be_picked_again(
    bench: RowBench, run: Run
) -> None:
    run("fast_forward", branch="dev")
    run("rollback", snapshot=1)
    assert _ids(bench) == [1, 2]
    run("cherry_pick", branch="dev", snapshot=2)
    assert _ids(bench) == [1, 2, 3, 4]


def test_a_merge_that_was_cut_off_is_merged_again(bench: RowBench, run: Run) -> None:
    bench.put("ours", {6: "a"})
    bench.branch("exp")
    bench.put("before", {7: "a"}, branch="exp")
    run("merge_branch", branch="dev", target="exp")
    run("rollback", table="db.t$branch_exp", snapshot=3, cut=True)
    bench.put("other", {8: "a"}, branch="exp")
    bench.put("one more", {9: "a"}, branch="exp")
    run("merge_branch", branch="dev", target="exp")
    assert _ids(bench, "exp") == [1, 2, 3, 4, 6, 7, 8, 9]


def test_what_both_brought_back_and_one_deleted_again_is_deleted(bench: RowBench, run: Run) -> None:
    for branch in ("main", "dev"):
        _delete_origin(bench, branch)
        table = "db.t" if branch == "main" else "db.t$branch_dev"
        run("revert", table=table, snapshot=_head_id(bench, branch))
    _delete_origin(bench, "dev")
    assert (_ids(bench), _ids(bench, "dev")) == ([1, 2], [3, 4])
    run("merge_branch", branch="dev", isolation="snapshot")
    assert _ids(bench) == [3, 4]


def test_a_compaction_that_is_there_again_does_not_hide_what_was_deleted(
    bench: RowBench, run: Run
) -> None:
    every_row = dict.fromkeys((1, 2, 3, 4), "a")
    bench.replace("all", every_row, _files(bench, "dev", ""), branch="dev", compacts=True)
    _delete_origin(bench, "main")
    run("cherry_pick", branch="main", target="dev", snapshot=2, isolation="snapshot")
    assert _ids(bench, "dev") == [3, 4]
    run("revert", table="db.t$branch_dev", snapshot=_head_id(bench, "dev"))
    assert _ids(bench, "dev") == [1, 2, 3, 4]
    run("merge_branch", branch="main", target="dev", isolation="snapshot")
    assert _ids(bench, "dev") == [3, 4]


def test_rows_after_a_compaction_that_dropped_deletes_win_on_a_branch_that_had_not_changed(
    tmp_path: Path,
) -> None:
    """What a compaction took away was numbered higher than what was written after it."""
    bench = RowBench(tmp_path, keyed=True, **{"write-only": "true"})
    bench.put("origin", {1: "a", 2: "a"})
    bench.branch("dev")
    bench.put("more", {3: "b"}, branch="dev")
    bench.put("gone", {}, gone=[2, 3], branch="dev")
    OurRows(bench.warehouse(), "db.t$branch_dev").compact()
    bench.put("again", {2: "c"}, branch="dev")
    bench.put("ours", {9: "b"})
    _runner(bench)("merge_branch", branch="dev")
    assert [row[:2] for row in states.rows(tmp_path / TABLE)] == [(1, "a"), (2, "c"), (9, "b")]


@pytest.fixture
def picked(bench: RowBench, run: Run) -> RowBench:
    """Main has merged what dev left of a file, and rel has picked the whole file."""
    bench.branch("rel")
    run("cherry_pick", branch="dev", target="rel", snapshot=2)
    bench.replace("left", {4: "a"}, _files(bench, "dev", "new"), branch="dev")
    bench.put("ours", {5: "a"})
    run("merge_branch", branch="dev", isolation="snapshot")
    assert _ids(bench) == [1, 2, 4, 5]
    return bench


def test_what_was_picked_whole_does_not_double_what_a_third_branch_left_of_it(
    picked: RowBench, run: Run
) -> None:
    picked.put("more", {6: "a"}, branch="rel")
    run("merge_branch", branch="rel", isolation="snapshot")
    assert _ids(picked) == [1, 2, 4, 5, 6]


def test_what_two_branches_left_of_a_picked_file_is_a_conflict(picked: RowBench, run: Run) -> None:
    picked.replace("rest", {3: "a"}, _files(picked, "rel", "new"), branch="rel")
    with pytest.raises(Refused) as caught:
        run("merge_branch", branch="rel", isolation="snapshot")
    assert caught.value.kind is ErrorKind.CONFLICTS_OPEN
    assert _ids(picked) == [1, 2, 4, 5]


def test_what_is_left_of_a_file_does_not_come_back_beside_the_whole_file(
    bench: RowBench, run: Run
) -> None:
    bench.put("whole", {7: "a", 8: "a"})
    bench.replace("left", {7: "a"}, _files(bench, "main", "whole"), branch="main")
    bench.replace("none", {}, _files(bench, "main", "left"), branch="main")
    run("rollback", snapshot=2)
    assert _ids(bench) == [1, 2, 7, 8]
    with pytest.raises(Refused, match="would have these rows twice") as caught:
        run("revert", snapshot=4)
    assert caught.value.kind is ErrorKind.CONFLICTS_OPEN
    assert _ids(bench) == [1, 2, 7, 8]


@pytest.fixture
def hiding(tmp_path: Path) -> RowBench:
    """A table with deletion vectors: dev hid the first of two rows, and deleted the rest."""
    bench = RowBench(tmp_path, **{"deletion-vectors.enabled": "true"})
    bench.put("origin", {1: "a", 2: "a"})
    bench.branch("dev")
    bench.hide_in({"data-origin-0.parquet": [0]}, branch="dev")
    _delete_origin(bench, "dev")
    return bench


def test_a_revert_hides_no_row_that_has_come_back_since(hiding: RowBench) -> None:
    run = _runner(hiding)
    run("rollback", table="db.t$branch_dev", snapshot=1)
    assert _ids(hiding, "dev") == [1, 2]
    run("revert", table="db.t$branch_dev", snapshot=3)
    assert _ids(hiding, "dev") == [1, 2]


def test_what_a_merge_brought_was_not_made_of_what_it_took_away(bench: RowBench, run: Run) -> None:
    """So what the source brings back later comes back."""
    both = dict.fromkeys((1, 2), "a")
    bench.replace("all", both, _files(bench, "dev", "origin"), branch="dev", compacts=True)
    bench.put("other", {6: "a"})
    _delete_origin(bench, "main")
    run("merge_branch", branch="main", target="dev", isolation="snapshot")
    assert _ids(bench, "dev") == [3, 4, 6]
    run("rollback", snapshot=1)
    bench.put("newer", {7: "a"})
    run("merge_branch", branch="main", target="dev", isolation="snapshot")
    assert _ids(bench, "dev") == [1, 2, 3, 4, 7]


def test_a_pick_hides_no_row_of_a_file_that_it_brings_to_who_has_it(hiding: RowBench) -> None:
    run = _runner(hiding)
    run("revert", table="db.t$branch_dev", snapshot=3)
    assert _ids(hiding, "dev") == [2]
    run("cherry_pick", branch="dev", snapshot=4)
    assert _ids(hiding) == [1, 2]


def test_what_the_target_reverted_of_a_merged_head_stays_reverted(
    bench: RowBench, run: Run
) -> None:
    """Though the source had gone back and forth between both states before."""
    bench.replace("left", {2: "a"}, _files(bench, "main", "origin"), branch="main")
    bench.branch("exp")
    run("revert", snapshot=2)
    run("cherry_pick", branch="main", target="exp", snapshot=3)
    run("rollback", table="db.t$branch_exp", snapshot=2)
    run("merge_branch", branch="main", target="exp")
    assert _ids(bench, "exp") == [1, 2]
    bench.put("more", {9: "a"}, branch="exp")
    run("revert", snapshot=3)
    assert _ids(bench) == [2]
    run("merge_branch", branch="exp", isolation="snapshot")
    assert _ids(bench) == [2, 9]


def test_a_pick_of_what_is_left_brings_no_row_of_the_whole_file_back(
    bench: RowBench, run: Run
) -> None:
    bench.branch("exp", from_branch="dev")
    run("fast_forward", branch="dev")
    bench.replace("left", {4: "a"}, _files(bench, "exp", "new"), branch="exp")
    run("cherry_pick", branch="exp", snapshot=_head_id(bench, "exp"))
    assert _ids(bench) == [1, 2, 4]
    assert "nothing to pick" in run("cherry_pick", branch="dev", snapshot=2)
    assert _ids(bench) == [1, 2, 4]


def test_a_pick_of_what_came_back_in_part_takes_nothing(bench: RowBench, run: Run) -> None:
    bench.replace("left", {2: "a"}, _files(bench, "dev", "origin"), branch="dev")
    bench.replace("none", {}, _files(bench, "dev", "left"), branch="dev")
    run("revert", table="db.t$branch_dev", snapshot=4)
    assert _ids(bench, "dev") == [2, 3, 4]
    with pytest.raises(Refused):
        run("cherry_pick", branch="dev", snapshot=5)
    assert _ids(bench) == [1, 2]


def test_a_picked_rollback_takes_back_and_does_not_delete(bench: RowBench, run: Run) -> None:
    bench.branch("sub", from_branch="dev")
    run("rollback", table="db.t$branch_dev", snapshot=1)
    run("fast_forward", branch="dev", target="sub")
    for branch in ("dev", "sub"):
        run("revert", table=f"db.t$branch_{branch}", snapshot=3)
        assert _ids(bench, branch) == [1, 2, 3, 4]
    run("cherry_pick", branch="dev", target="sub", snapshot=3)
    assert _ids(bench, "sub") == [1, 2]
    bench.put("more", {9: "a"}, branch="sub")
    run("merge_branch", branch="sub", target="dev", isolation="snapshot")
    assert _ids(bench, "dev") == [1, 2, 3, 4, 9]
