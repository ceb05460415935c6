"""Branches that bring back commits which are in no snapshot: whole, finished, or taken back."""

import shutil
from pathlib import Path

import pytest

from branch_console.commit.journal import Journal
from branch_console.errors import ErrorKind, InvalidInput, NotFound, Refused
from branch_console.format.lineage_event import LineageKind
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.procedures.history.lost_histories import read_lost_histories
from tests.support.branch_bench import NOW, BranchBench
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.lifecycle import metadata, preview, run

LATER = NOW + 120_000


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Main at 2 with two files; snapshots 3 and 4 of it were lost, with two more."""
    bench = BranchBench(tmp_path / "warehouse")
    for name in "abcd":
        bench.append(name)
    lose(bench, 3, 4)
    return bench


def lose(bench: BranchBench, *ids: int) -> None:
    """Take snapshots away as a fast-forward by another engine does: their files stay."""
    paths = bench.table().paths
    for path in (*map(paths.snapshot, ids), paths.latest_hint, paths.earliest_hint):
        Path(path).unlink(missing_ok=True)


def opened(bench: BranchBench) -> BranchBench:
    return BranchBench(Path(bench.file_io.root))


def names(*files: str) -> set[str]:
    return {f"data-{each}.parquet" for each in files}


def tips(bench: BranchBench) -> list[str]:
    return [each.tip for each in read_lost_histories(opened(bench).table()).found]


def test_commits_come_back_on_a_branch_after_what_they_were_made_on(bench: BranchBench) -> None:
    bench = opened(bench)
    (tip,) = tips(bench)
    told = [
        each.text for each in preview(bench, "create_branch", branch="lost", lost=tip).consequences
    ]
    assert told[:2] == [
        "Branch 'lost' begins at snapshot 2 of 'main'.",
        "It goes on with 2 commits that are in no snapshot, as snapshot 3, 4: 40 records.",
    ]
    receipt = run(bench, "create_branch", branch="lost", lost=tip)
    branch = opened(bench).table("lost")
    assert branch.snapshots.ids() == (2, 3, 4)
    assert opened(bench).live_names("lost") == opened(bench).live_names() | names("c", "d")
    last = branch.snapshots.get(4)
    assert (last.commit_kind, last.total_record_count) == (CommitKind.APPEND, 40)
    assert last.delta_record_count == 10
    assert receipt.counts.snapshots_added == 3
    assert bench.table().ledger.events()[-1].kind is LineageKind.FORKED
    # What a branch names is lost no more, and a merge brings it to main.
    assert tips(bench) == []
    run(bench, "merge_branch", "merge", branch="lost")
    assert opened(bench).live_names() >= names("c", "d")


def test_commits_of_which_the_beginning_is_gone_come_back_alone(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.append("b")
    lose(bench, 1, 2)
    bench = opened(bench)
    (tip,) = tips(bench)
    receipt = run(bench, "create_branch", branch="lost", lost=tip)
    assert "Nothing is left of what its first commit builds on" in receipt.notes[0]
    branch = opened(bench).table("lost")
    assert branch.snapshots.ids() == (1, 2)
    assert opened(bench).live_names("lost") == names("a", "b")
    assert bench.table().ledger.events()[-1].kind is LineageKind.CREATED


def test_what_is_not_lost_is_refused_by_name(bench: BranchBench) -> None:
    bench = opened(bench)
    head = bench.table().head()
    assert head is not None
    for name in (head.delta_manifest_list, "manifest-list-none-0"):
        with pytest.raises(NotFound, match=r"has no lost history that ends with"):
            run(bench, "create_branch", branch="lost", lost=name)
    with pytest.raises(InvalidInput, match="a lost history or empty, not several"):
        run(bench, "create_branch", branch="lost", lost="x", empty=True)


def test_rows_that_an_unknown_index_may_hide_are_not_brought_back(bench: BranchBench) -> None:
    bench = opened(bench)
    (tip,) = tips(bench)
    Path(bench.table().paths.manifest("index-manifest-left-0")).write_bytes(b"")
    with pytest.raises(Refused, match="Nothing tells which rows") as refused:
        run(bench, "create_branch", branch="lost", lost=tip)
    assert refused.value.kind is ErrorKind.UNSUPPORTED


def test_a_list_that_is_torn_is_no_commit(bench: BranchBench) -> None:
    bench = opened(bench)
    (tip,) = tips(bench)
    Path(bench.table().paths.manifest(tip)).write_bytes(b"torn")
    assert len(tips(bench)) == 1
    assert tip not in tips(bench)


def test_killed_at_any_change_it_is_finished_by_recovery(
    bench: BranchBench, tmp_path: Path
) -> None:
    bench = opened(bench)
    (tip,) = tips(bench)

    def copy(name: str) -> BranchBench:
        shutil.copytree(bench.file_io.root, tmp_path / name)
        return BranchBench(tmp_path / name)

    whole = copy("whole")
    counter = FaultyStore(inner=whole.store)
    run(whole, "create_branch", store=counter.store, branch="lost", lost=tip)
    wanted = metadata(whole)
    ours = [each for each in wanted if "branch/branch-lost/" in each]
    assert sum("snapshot-" in each for each in ours) == 3
    for change in range(1, len(counter.changes) + 1):
        for when in When:
            killed = copy(f"{change}-{when.name}")
            store = FaultyStore(inner=killed.store, fault=At(call=change, when=when)).store
            with pytest.raises(Killed):
                run(killed, "create_branch", store=store, branch="lost", lost=tip)
            run(killed, "recover", "rec", now=LATER)
            journal = Journal(killed.store, killed.table().paths)
            assert journal.unfinished() == ()
            left = metadata(killed)
            there = [each for each in left if "branch/branch-lost/" in each]
            assert there in ([], ours), change
            assert all(left[each] == wanted[each] for each in there)
            shutil.rmtree(tmp_path / f"{change}-{when.name}")


def test_a_file_of_somebody_else_under_its_name_takes_the_creation_back(bench: BranchBench) -> None:
    bench = opened(bench)
    (tip,) = tips(bench)
    store = FaultyStore(inner=bench.store, fault=At(call=3)).store
    with pytest.raises(Killed):
        run(bench, "create_branch", store=store, branch="lost", lost=tip)
    theirs = bench.table().head()
    assert theirs is not None
    path = Path(bench.table("lost").paths.snapshot(4))
    path.parent.mkdir(parents=True)
    path.write_text(Snapshot.from_json(theirs.to_json().replace('"id" : 2', '"id" : 4')).to_json())
    [note] = run(bench, "recover", "rec", now=LATER).notes
    assert "Somebody made a branch 'lost' of their own" in note
    assert path.exists()
