"""A commit on a head that leaves its branch before the commit comes: cut back, renamed, dropped."""

from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.commit.branch.branch_move import move_branch
from branch_console.commit.journal import Journal
from branch_console.errors import CommitConflict, ErrorKind
from branch_console.format.journals.branches import BranchMove
from branch_console.format.snapshot import Snapshot
from branch_console.storage.file_io import FileIO
from branch_console.storage.file_publisher import Published
from tests.support.branch_bench import BranchBench
from tests.support.commit_tables import data_files, message
from tests.support.far_bench import FarBench
from tests.support.meddler import meddled


@pytest.fixture(params=["near", "far"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> BranchBench:
    """Main at 2, and dev at 4, in a folder or on a store far away."""
    if request.param == "near":
        made = BranchBench(tmp_path)
    else:
        made = FarBench(FileIO.for_url(f"memory://{tmp_path}"))
    for name in ("a", "b"):
        made.append(name)
    made.branch("dev")
    for name in ("c", "d"):
        made.append(name, branch="dev")
    return made


def commit_after(bench: BranchBench, happens: Callable[[], object]) -> Snapshot:
    """Commit to dev, where something happens between the look at its head and the publish."""

    def answer(path: str, data: bytes) -> Published:
        happens()
        return bench.store.publisher.publish(path, data)

    new = message(new_files=data_files(["mine"]))
    landed = meddled(bench, answer, branch="dev").commit([new], user="me", identifier=1)
    assert landed is not None
    return landed


def remove(bench: BranchBench, *snapshot_ids: int) -> None:
    paths = bench.table("dev").paths
    bench.store.remover.remove([paths.snapshot(each) for each in snapshot_ids])


def test_a_commit_behind_a_cut_is_made_again_on_what_is_left(bench: BranchBench) -> None:
    before = bench.manifest_names()
    landed = commit_after(bench, lambda: remove(bench, 4))
    table = bench.table("dev")
    assert (landed.id, table.snapshots.ids()) == (4, (2, 3, 4))
    assert bench.live_names("dev") == {f"data-{name}.parquet" for name in ("a", "b", "c", "mine")}
    # Of the try that was taken back nothing stays, nor a hint that points past the head.
    assert table.reader.files.find(table.paths.latest_hint) == b"4"
    named = {landed.base_manifest_list, landed.delta_manifest_list}
    named |= set(table.manifests(landed)["file_name"].to_pylist())
    assert bench.manifest_names() - before <= named


def test_a_commit_stands_though_what_it_was_built_on_expires(bench: BranchBench) -> None:
    assert commit_after(bench, lambda: remove(bench, 2, 3, 4)).id == 5
    assert bench.table("dev").snapshots.ids() == (5,)


def test_a_commit_that_others_built_on_stays(bench: BranchBench) -> None:
    def cut_and_go_on() -> None:
        table = bench.table("dev")
        head = table.snapshots.get(4)
        remove(bench, 4)
        later = head.to_json().replace('"id" : 4', '"id" : 6')
        bench.store.publisher.publish(table.paths.snapshot(6), later.encode())

    assert commit_after(bench, cut_and_go_on).id == 5


def test_a_commit_to_a_branch_that_was_renamed_is_told_so_and_leaves_no_branch(
    bench: BranchBench,
) -> None:
    head = bench.table("dev").head()
    assert head is not None
    move = BranchMove(source="dev", target="fix", head=head.identity, head_id=head.id)
    table = bench.table()
    journal = Journal(bench.store, table.paths)
    source, target = table.on("dev"), table.on("fix")

    def rename() -> None:
        move_branch(source, target, bench.store, journal, "move", move)

    with pytest.raises(CommitConflict, match="was dropped or renamed") as caught:
        commit_after(bench, rename)
    assert caught.value.kind is ErrorKind.BRANCH_NOT_FOUND
    assert bench.table().branches.names() == ("fix",)
    assert bench.table("fix").head() == head
    assert not bench.store.files.names(bench.table("dev").paths.snapshot_dir)
