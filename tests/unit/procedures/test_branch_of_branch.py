"""Fast-forward to a branch that was made from another branch, whose history lies on both."""

from pathlib import Path

import pyarrow as pa
import pytest

from branch_console.diff.fast_forward import Verdict
from branch_console.errors import CommitConflict, ErrorKind, Refused
from branch_console.merge.plan import MergeVerdict, verdict_of
from branch_console.procedures.branch.fast_forward import preview_fast_forward
from branch_console.procedures.call.row_engine import Progress
from branch_console.procedures.merge.inputs import preview_merge
from branch_console.table.file_checks import FILE_PROBLEMS
from tests.support.branch_bench import BranchBench, TrustingRows, tree
from tests.support.lifecycle import run


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Main at 1, dev from there at 3, sub from there at 4."""
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.branch("dev")
    bench.append("b", branch="dev")
    bench.append("c", branch="dev")
    bench.branch("sub", from_branch="dev")
    bench.append("d", branch="sub")
    return bench


def test_main_takes_over_the_whole_history(bench: BranchBench) -> None:
    rows = TrustingRows()
    receipt = bench.call("fast_forward", branch="sub", rows=rows)
    main, dev, sub = bench.table(), bench.table("dev"), bench.table("sub")
    assert main.snapshots.ids() == (1, 2, 3, 4)
    for snapshot_id, holder in ((2, dev), (3, sub), (4, sub)):
        copied = Path(main.paths.snapshot(snapshot_id)).read_bytes()
        assert copied == Path(holder.paths.snapshot(snapshot_id)).read_bytes()
    assert bench.live_names() == bench.live_names("sub")
    assert sorted(Path(path).name for path in rows.verified) == [
        f"data-{name}.parquet" for name in "bcd"
    ]
    assert (receipt.counts.snapshots_added, receipt.counts.records_added) == (3, 30)
    plan = preview_fast_forward(bench.warehouse(), bench.identifier, "sub")
    assert plan.verdict is Verdict.UP_TO_DATE


def test_it_works_where_dev_went_on_and_can_be_undone(bench: BranchBench) -> None:
    bench.append("e", branch="dev")
    before = tree(Path(bench.table().paths.snapshot_dir))
    bench.call("fast_forward", branch="sub")
    assert bench.live_names() == bench.live_names("sub")
    run(bench, "undo", "back", operation="op")
    assert tree(Path(bench.table().paths.snapshot_dir)) == before


def test_a_merge_is_the_same_fast_forward(bench: BranchBench) -> None:
    plan = preview_merge(bench.warehouse(), bench.identifier, "sub")
    assert verdict_of(plan) is MergeVerdict.FAST_FORWARD
    bench.call("merge_branch", branch="sub")
    assert bench.table().snapshots.ids() == (1, 2, 3, 4)


def test_replaced_main_keeps_what_both_share(bench: BranchBench) -> None:
    bench.append("x")
    bench.call("replace_main", branch="sub")
    assert bench.table().snapshots.ids() == (1, 2, 3, 4)
    assert bench.live_names() == bench.live_names("sub")
    assert bench.table("rescue-op").snapshots.ids() == (1, 2)


def test_another_snapshot_of_the_number_on_dev_does_not_come(bench: BranchBench) -> None:
    class MeanwhileDev(TrustingRows):
        def verify_files(self, files: pa.Table, progress: Progress) -> pa.Table:
            dev = bench.table("dev").paths
            Path(dev.snapshot(2)).write_bytes(Path(dev.snapshot(3)).read_bytes())
            return FILE_PROBLEMS.empty_table()

    with pytest.raises(CommitConflict, match="is gone or is another one now") as caught:
        bench.call("fast_forward", branch="sub", rows=MeanwhileDev())
    assert caught.value.message.endswith("Nothing was changed; plan again.")
    assert bench.table().snapshots.ids() == (1,)


def test_a_target_that_moved_is_refused_for_that(bench: BranchBench) -> None:
    bench.append("x", user="etl")
    with pytest.raises(Refused, match="1 commit of its own since the shared snapshot 1") as caught:
        bench.call("fast_forward", branch="sub")
    assert caught.value.kind is ErrorKind.TARGET_MOVED
    assert "What you can do: merge, update, compare, replace." in caught.value.message


@pytest.mark.parametrize("target", ["main", "old"])
def test_tags_that_came_along_do_not_hide_where_a_branch_was_made(
    tmp_path: Path, target: str
) -> None:
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.branch("old")
    bench.append("b")
    bench.branch("dev")
    bench.append("c", branch="dev")
    bench.append("d", branch="dev")
    bench.branch("sub", from_branch="dev")
    bench.append("e", branch="dev")
    # With it comes the base tag of dev, which names snapshot 2 of main.
    run(bench, "fast_forward", "first", branch="dev", target="sub")
    run(bench, "fast_forward", "second", branch="sub", target=target)
    assert bench.table(target).snapshots.ids() == (1, 2, 3, 4, 5)
    assert bench.live_names(target) == bench.live_names("sub")
