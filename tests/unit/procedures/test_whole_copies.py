"""Copies that take the place of what was cut off: which one is the same, and how it is written."""

from pathlib import Path

import pytest

from branch_console.commit.base.metadata_copy import mend_file
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
    Path(path).unlink()
    mend_file(bench.store, path, b"{}")
    assert Path(path).read_bytes() == b"{}"
