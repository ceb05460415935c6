"""Manifests become few, no row changes, and merges see through it."""

from pathlib import Path

import pytest

from branch_console.errors import InvalidInput
from branch_console.format.snapshot import CommitKind
from branch_console.procedures.recover import recover_table
from tests.support.branch_bench import NOW, BranchBench, store_of
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.lifecycle import metadata, preview, run


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path)
    for name in "abcd":
        bench.append(name)
    return bench


def manifests(bench: BranchBench, branch: str = "main") -> int:
    table = bench.table(branch)
    head = table.head()
    assert head is not None
    return int(table.manifests(head).num_rows)


def test_manifests_become_one_and_no_row_changes(bench: BranchBench) -> None:
    before, live = metadata(bench), bench.live_names()
    assert manifests(bench) == 4
    receipt = run(bench, "compact_manifest")
    head = bench.table().head()
    assert head is not None
    assert (head.id, head.commit_kind, head.delta_record_count) == (5, CommitKind.COMPACT, 0)
    assert (manifests(bench), bench.live_names()) == (1, live)
    assert receipt.notes == ("Snapshot 5 of 'main' names 1 manifest.",)
    after = metadata(bench)
    assert all(after[name] == before[name] for name in before if not name.endswith("LATEST"))
    again = run(bench, "compact_manifest", "again")
    assert again.notes == (
        "Less than two of the 1 manifest of 'main' are small. There is nothing to merge.",
    )
    assert bench.table().snapshots.latest_id() == 5


def test_a_dry_run_tells_how_many(bench: BranchBench) -> None:
    assert preview(bench, "compact_manifest").consequences[0].text == (
        "4 manifests of the 4 of 'main', which are small or delete files, become few: readers of "
        "the next snapshot open less."
    )


def test_a_merge_sees_through_it(bench: BranchBench) -> None:
    bench.branch("dev")
    bench.append("theirs", branch="dev")
    run(bench, "compact_manifest", "one", table="db.t$branch_dev")
    run(bench, "compact_manifest", "two")
    run(bench, "merge_branch", "merge", branch="dev")
    assert bench.live_names() == {f"data-{each}.parquet" for each in (*"abcd", "theirs")}


def test_there_is_no_undo_of_what_changes_no_row(bench: BranchBench) -> None:
    run(bench, "compact_manifest")
    with pytest.raises(InvalidInput, match="no row changed"):
        run(bench, "undo", "back", operation="op")


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_a_kill_at_each_change_leaves_one_snapshot_or_none(tmp_path: Path, when: When) -> None:
    for number in range(1, 40):
        root = tmp_path / str(number)
        bench = BranchBench(root)
        for name in "ab":
            bench.append(name)
        faulty = FaultyStore(inner=store_of(root), fault=At(call=number, when=when))
        try:
            run(bench, "compact_manifest", store=faulty.store)
        except Killed:
            recover_table(bench.warehouse(clock=lambda: NOW + 7_200_000), bench.table())
        assert bench.table().snapshots.latest_id() in (2, 3)
        assert bench.live_names() == {"data-a.parquet", "data-b.parquet"}
        if len(faulty.changes) < number:
            break
