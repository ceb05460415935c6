"""Copies that take the place of what was cut off: which one is the same, and how it is written."""

import shutil
from pathlib import Path

import pytest

from branch_console.commit.base.metadata_copy import mend_file
from branch_console.commit.schema.tag_commit import create_tag
from branch_console.errors import CommitConflict
from branch_console.procedures.history.whole_copies import WholeCopies
from tests.support.branch_bench import NOW, BranchBench, opened
from tests.support.faulty_store import At, FaultyStore, Killed


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Main and dev went on from snapshot 2, each with a schema and a snapshot of its own."""
    bench = BranchBench(tmp_path / "warehouse")
    bench.append("a")
    bench.append("b")
    bench.branch("dev")
    for branch, column in (("main", "here"), ("dev", "there")):
        bench.alter(branch, column=column)
        bench.append(f"own-{branch}", branch=branch)
        bench.append(f"more-{branch}", branch=branch)
    return bench


def tear(path: str, keeps: int = 0) -> bytes:
    whole = Path(path).read_bytes()
    Path(path).write_bytes(whole[:keeps])
    return whole


def found(bench: BranchBench, branch: str) -> dict[str, str]:
    """What comes back, by path, and from where."""
    table = opened(Path(bench.file_io.root)).table()
    return {each.path: each.source for each in WholeCopies(table).of_branch(branch)}


@pytest.mark.parametrize("branch", ["main", "dev"])
def test_another_file_of_the_same_id_is_no_copy(bench: BranchBench, branch: str) -> None:
    paths = bench.table(branch).paths
    for path in (paths.schema(1), paths.snapshot(3), paths.snapshot(4)):
        tear(path)
    assert found(bench, branch) == {}


def test_what_was_before_both_parted_is_one(bench: BranchBench) -> None:
    # Snapshot 2 is the newest that both list: with it torn on one, its successor tells.
    paths = bench.table().paths
    tear(paths.snapshot(2))
    assert found(bench, "main") == {paths.snapshot(2): "snapshot 2 of branch 'dev'"}
    paths = bench.table("dev").paths
    tear(paths.schema(0))
    assert found(bench, "dev") == {}  # now nothing tells that both began alike


def test_what_is_left_of_a_file_must_begin_its_copy(bench: BranchBench) -> None:
    path = bench.table("dev").paths.snapshot(2)
    Path(path).write_text('{ "version" : 2')
    assert found(bench, "dev") == {}


def test_the_rest_of_a_snapshot_may_tell_which_it_was(bench: BranchBench) -> None:
    bench.tag("kept")
    path = bench.table().paths.snapshot(4)
    whole = Path(path).read_bytes()
    tear(path, len(whole) - 3)
    assert found(bench, "main") == {path: "snapshot 4 of a tag of 'main'"}


@pytest.fixture
def cut(tmp_path: Path) -> BranchBench:
    """Main has its ids 3 and 4 a second time; the tag of a dropped branch is on its first 3."""
    bench = BranchBench(tmp_path / "warehouse")
    for name in ("a", "b", "c"):
        bench.append(name)
    bench.branch("dev")
    bench.call("rollback", operation="cut", snapshot=2, cut=True)
    bench.append("d")
    bench.append("e")
    return bench


@pytest.mark.parametrize("keeps", [0, 10])
@pytest.mark.parametrize("torn", [(3,), (3, 4)], ids=["under a whole one", "with all above it"])
def test_a_snapshot_from_before_a_cut_is_no_copy(
    cut: BranchBench, torn: tuple[int, ...], keeps: int
) -> None:
    cut.call("drop_branch", operation="drop", branch="dev", reclaim=True)
    late = NOW + 30 * 86_400_000
    for name in cut.table().branches.names():
        cut.call("release_branch", operation="go", branch=name, clock=lambda: late)
    assert cut.table().branches.names() == ()
    assert cut.table().tags.get("branch-base-dev").snapshot.id == 3
    for snapshot_id in torn:
        tear(cut.table().paths.snapshot(snapshot_id), keeps)
    assert found(cut, "main") == {}


def test_a_tag_on_the_state_below_a_whole_snapshot_must_be_what_that_was_made_on(
    cut: BranchBench,
) -> None:
    table = cut.table()
    create_tag(table, cut.store, "first", table.tags.get("branch-base-dev").snapshot)
    shutil.rmtree(cut.table("dev").paths.branch_dir)
    tear(table.paths.snapshot(3))
    assert found(cut, "main") == {}


def test_a_branch_that_others_made_again_did_not_begin_where_the_ledger_says(
    cut: BranchBench,
) -> None:
    cut.branch("dev2", from_branch="dev")
    dev = cut.table("dev").paths
    Path(dev.tag("branch-base-dev")).unlink()
    shutil.copy(cut.table().paths.snapshot(3), dev.snapshot(3))
    tear(dev.snapshot(3))
    assert found(cut, "dev") == {}


def test_a_branch_that_is_as_it_was_made_gets_back_what_it_began_at(cut: BranchBench) -> None:
    path = cut.table("dev").paths.snapshot(3)
    tear(path)
    assert found(cut, "dev") == {path: "snapshot 3 of branch 'rescue-cut'"}


def test_a_broken_event_takes_the_proof_of_the_ledger_away(cut: BranchBench) -> None:
    tear(cut.table("dev").paths.snapshot(3))
    (*_, event) = sorted(Path(cut.table().paths.lineage_dir).glob("event-*"))
    event.write_text("{")
    assert found(cut, "dev") == {}


def test_states_that_added_nothing_are_not_told_apart_by_what_follows(bench: BranchBench) -> None:
    # Two branches at the same state each commit statistics only, then rows.
    bench.branch("side")
    for branch in ("main", "side"):
        bench.committer(branch).commit([], user=branch, identifier=90, may_be_empty=True)
        bench.append(f"last-{branch}", branch=branch)
    tear(bench.table().paths.snapshot(5))
    assert found(bench, "main") == {}


def test_a_repair_that_is_killed_is_finished_by_recovery(bench: BranchBench) -> None:
    path = bench.table("dev").paths.snapshot(2)
    whole = tear(path)
    call = 1
    while True:
        store = FaultyStore(inner=bench.store, fault=At(call=call)).store
        try:
            bench.call("repair_branch", operation=f"fix-{call}", store=store, branch="dev")
        except Killed:
            bench.call("recover", operation=f"rec-{call}", clock=lambda: NOW + 600_000)
            assert Path(path).read_bytes() in (whole, b"")
        else:
            break
        if Path(path).read_bytes() == whole:
            tear(path)
        call += 1
    assert call > 2
    assert Path(path).read_bytes() == whole


def test_a_file_that_is_whole_again_is_not_written_over(bench: BranchBench) -> None:
    path = bench.table("dev").paths.snapshot(2)
    with pytest.raises(CommitConflict, match="is whole again"):
        mend_file(bench.store, path, b"{}")


def test_a_file_that_is_gone_since_stays_gone(bench: BranchBench) -> None:
    path = bench.table("dev").paths.snapshot(2)
    Path(path).unlink()
    with pytest.raises(CommitConflict, match="is gone since; plan again"):
        mend_file(bench.store, path, b"{}")
    assert not Path(path).exists()


def test_recovery_brings_no_branch_back_that_was_removed_in_between(bench: BranchBench) -> None:
    paths = bench.table("dev").paths
    tear(paths.snapshot(2))
    for call in range(1, 20):
        store = FaultyStore(inner=bench.store, fault=At(call=call)).store
        with pytest.raises(Killed):
            bench.call("repair_branch", operation="fix", store=store, branch="dev")
        if Path(bench.table().paths.lineage_dir, "intent-fix.json").exists():
            break
    shutil.rmtree(paths.root)
    bench.call("recover", operation="rec", clock=lambda: NOW + 600_000)
    assert not Path(paths.root).exists()
