"""A creation that was cut off is finished as it was agreed on, or taken back; others stay whole."""

import json
import shutil
from pathlib import Path

import pytest

from branch_console.commit.journal import Journal
from branch_console.errors import CommitConflict, PaimonError
from branch_console.format.journals.branches import CREATE_JOURNAL
from branch_console.format.journals.intent import Ending
from branch_console.format.lineage_event import LineageKind
from tests.support.branch_bench import NOW, BranchBench
from tests.support.faulty_store import At, FaultyStore, Killed
from tests.support.lifecycle import metadata, run

LATER = NOW + 120_000
# The intent and the claim are there, and nothing else.
BEGUN = 3


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Main at 3, with two schemas and tag `t1` at snapshot 1."""
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.tag("t1")
    bench.append("b")
    bench.alter()
    bench.append("c")
    return bench


def kill_at(bench: BranchBench, change: int, **arguments: str | bool) -> None:
    store = FaultyStore(inner=bench.store, fault=At(call=change)).store
    with pytest.raises(Killed):
        run(bench, "create_branch", store=store, branch="dev", **arguments)


def changes(bench: BranchBench, root: Path) -> list[str]:
    """What a creation changes, one after the other."""
    shutil.copytree(bench.file_io.root, root)
    copied = BranchBench(root)
    counter = FaultyStore(inner=copied.store)
    run(copied, "create_branch", store=counter.store, branch="dev")
    return counter.changes


def recover(bench: BranchBench) -> str:
    [note] = run(bench, "recover", "rec", now=LATER).notes
    return note


def ending(bench: BranchBench) -> tuple[Ending, str]:
    journal = Journal(bench.store, bench.table().paths)
    assert journal.unfinished() == ()
    end = journal.end_of("op")
    assert end is not None
    return end.ending, end.message or ""


def roll_main_back(bench: BranchBench) -> None:
    """Snapshot 3 of main becomes another one, as where other software rolls back and goes on."""
    paths = bench.table().paths
    for path in (paths.snapshot(3), paths.latest_hint):
        Path(path).unlink(missing_ok=True)
    again = BranchBench(Path(bench.file_io.root))
    assert again.append("other").id == 3


def their_branch(bench: BranchBench) -> None:
    """Other software makes the branch from a tag of its own, and writes to it."""
    main, dev = bench.table().paths, bench.table("dev").paths
    pairs = [
        (main.schema(0), dev.schema(0)),
        (main.tag("t1"), dev.tag("t1")),
        (main.snapshot(1), dev.snapshot(1)),
    ]
    for source, target in pairs:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    bench.append("theirs", branch="dev")


def test_the_intent_says_which_snapshot_is_the_fork(bench: BranchBench) -> None:
    kill_at(bench, BEGUN)
    [intent] = Journal(bench.store, bench.table().paths).unfinished()
    head = bench.table().head()
    assert head is not None
    assert CREATE_JOURNAL.decode(intent.plan).creation.fork == head.identity


def test_journals_without_the_fork_are_read_and_finished(bench: BranchBench) -> None:
    kill_at(bench, BEGUN)
    path = Path(bench.table().paths.lineage_dir) / "intent-op.json"
    raw = json.loads(path.read_bytes())
    del raw["plan"]["fork"]
    path.write_text(json.dumps(raw))
    recover(bench)
    assert ending(bench)[0] is Ending.DONE
    assert bench.table("dev").snapshots.ids() == (3,)


def test_another_snapshot_of_that_number_is_not_what_was_agreed_on(
    bench: BranchBench,
) -> None:
    kill_at(bench, BEGUN)
    roll_main_back(bench)
    before = metadata(bench)
    note = recover(bench)
    assert "Snapshot 3 of branch 'main' is another one now" in note
    assert ending(bench)[0] is Ending.ROLLED_BACK
    assert metadata(bench) == before
    assert not bench.table().branches.exists("dev")
    with pytest.raises(PaimonError, match="is another one now"):
        run(bench, "create_branch", branch="dev")
    assert not bench.table().branches.exists("dev")
    run(bench, "create_branch", "again", branch="dev")


def test_a_creation_that_is_taken_back_takes_along_what_was_half_written(
    bench: BranchBench,
) -> None:
    """A folder that stays is a branch without schemas to everybody who lists them."""
    kill_at(bench, BEGUN)
    half = Path(f"{bench.table('dev').paths.snapshot_dir}/.snapshot-3.0a1b2c3d.tmp")
    half.parent.mkdir(parents=True)
    half.write_text('{"version"')
    roll_main_back(bench)
    recover(bench)
    assert ending(bench)[0] is Ending.ROLLED_BACK
    assert not Path(bench.table("dev").paths.root).exists()


def test_a_base_tag_that_was_made_keeps_what_was_agreed_on(
    bench: BranchBench, tmp_path: Path
) -> None:
    fork = bench.table().head()
    made = changes(bench, tmp_path.parent / f"{tmp_path.name}-clean")
    kill_at(bench, next(n for n, each in enumerate(made, 1) if "/branch-dev/" in each))
    roll_main_back(bench)
    recover(bench)
    assert ending(bench)[0] is Ending.DONE
    head = bench.table("dev").head()
    assert head is not None
    assert fork is not None
    assert head.identity.same_as(fork.identity)


def test_a_tag_that_moved_is_not_the_fork(bench: BranchBench) -> None:
    kill_at(bench, BEGUN, tag="t1")
    run(bench, "create_tag", "move", tag="t1", snapshot=2, replace=True)
    recover(bench)
    assert ending(bench)[0] is Ending.DONE
    assert bench.live_names("dev") == {"data-a.parquet"}


def test_a_base_tag_of_somebody_else_ends_the_creation(bench: BranchBench) -> None:
    kill_at(bench, BEGUN)
    run(bench, "create_tag", "theirs", tag="branch-base-dev", snapshot=1)
    before = metadata(bench)
    recover(bench)
    assert ending(bench)[0] is Ending.ROLLED_BACK
    assert metadata(bench) == before


def test_a_branch_of_other_software_is_left_alone_wherever_the_creation_was_cut_off(
    bench: BranchBench, tmp_path: Path
) -> None:
    """Whatever of ours is there already, theirs is put over it and stays to the byte."""
    roots = tmp_path.parent / f"{tmp_path.name}-kills"
    made = changes(bench, roots / "clean")
    head = next(n for n, each in enumerate(made, 1) if "/branch-dev/snapshot/snapshot-" in each)
    for change in range(BEGUN, head + 1):
        root = roots / str(change)
        shutil.copytree(bench.file_io.root, root)
        other = BranchBench(root)
        kill_at(other, change)
        their_branch(other)
        before = metadata(other)
        note = recover(other)
        assert "a branch 'dev' of their own" in note, made[change - 1]
        assert ending(other)[0] is Ending.ROLLED_BACK
        assert metadata(other) == before
        assert [each.kind for each in other.table().ledger.events()] == []
        tag = "branch-base-dev"
        assert (f"Tag '{tag}' stays" in note) == (tag in other.table().tags.names())


@pytest.mark.parametrize("place", [{"empty": True}, {"tag": "t1"}, {}])
def test_a_file_that_the_creation_does_not_make_is_somebody_elses(
    bench: BranchBench, place: dict[str, str | bool]
) -> None:
    kill_at(bench, BEGUN, **place)
    theirs = Path(bench.table("dev").paths.schema(7))
    theirs.parent.mkdir(parents=True)
    theirs.write_text("{}")
    before = metadata(bench)
    recover(bench)
    assert ending(bench)[0] is Ending.ROLLED_BACK
    assert metadata(bench) == before


def test_a_branch_that_was_whole_is_recorded_though_others_wrote_to_it(
    bench: BranchBench, tmp_path: Path
) -> None:
    made = changes(bench, tmp_path.parent / f"{tmp_path.name}-clean")
    fork = bench.table().head()
    assert fork is not None
    kill_at(bench, next(n for n, each in enumerate(made, 1) if "/event-" in each))
    bench.append("theirs", branch="dev")
    before = metadata(bench)
    recover(bench)
    assert ending(bench)[0] is Ending.DONE
    assert metadata(bench) == before
    [event] = bench.table().ledger.events()
    assert (event.kind, event.after) == (LineageKind.FORKED, fork.identity)


def test_a_creation_that_is_taken_back_leaves_a_tag_that_another_branch_stands_on(
    bench: BranchBench,
) -> None:
    run(bench, "create_branch", "first", branch="dev")
    run(bench, "drop_branch", "gone", branch="dev")
    kill_at(bench, BEGUN)
    # What else the branch would need is gone, so that it cannot be made.
    Path(bench.table().paths.schema(0)).unlink()
    before = metadata(bench)
    recover(bench)
    assert ending(bench)[0] is Ending.ROLLED_BACK
    assert metadata(bench) == before
    assert "branch-base-dev" in bench.table().tags.names()


def test_a_creation_is_finished_from_wherever_it_was_cut_off(
    bench: BranchBench, tmp_path: Path
) -> None:
    roots = tmp_path.parent / f"{tmp_path.name}-kills"
    made = changes(bench, roots / "clean")
    wanted = metadata(BranchBench(roots / "clean"))
    for change in range(BEGUN, len(made)):
        root = roots / str(change)
        shutil.copytree(bench.file_io.root, root)
        other = BranchBench(root)
        kill_at(other, change)
        recover(other)
        assert metadata(other) == wanted, made[change - 1]
        assert ending(other)[0] is Ending.DONE


def test_a_repeated_click_on_what_cannot_be_finished_takes_it_back(bench: BranchBench) -> None:
    kill_at(bench, BEGUN)
    their_branch(bench)
    before = metadata(bench)
    for _ in range(2):
        with pytest.raises(CommitConflict, match="a branch 'dev' of their own"):
            run(bench, "create_branch", branch="dev")
        assert ending(bench)[0] is Ending.ROLLED_BACK
    assert metadata(bench) == before
