"""A move of history that was cut off and can go on no more ends, and says where everything is."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from branch_console.commit.branch.interrupted_copy import schemas_to_take_back
from branch_console.commit.journal import Journal
from branch_console.errors import CommitConflict
from branch_console.format.journals.intent import End, Ending
from branch_console.format.receipt import Receipt
from tests.support.branch_bench import NOW, BranchBench
from tests.support.examples import Examples
from tests.support.faulty_store import At, FaultyStore, Killed
from tests.support.lifecycle import metadata, run
from tests.support.two_branches import dev_ahead, move_main

LATER = NOW + 120_000

Verb = Callable[[BranchBench], Receipt]


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Main at 2, dev two commits, a schema and a tag ahead."""
    return dev_ahead(tmp_path / "origin")


def diverge(bench: BranchBench) -> None:
    """Main gets commits, a schema and a tag that mean something else on dev."""
    move_main(bench)
    bench.append("y", user="etl")


def fast_forward(bench: BranchBench) -> Receipt:
    return run(bench, "fast_forward", branch="dev")


def force(bench: BranchBench) -> Receipt:
    return run(bench, "fast_forward", branch="dev", force=True)


def replace_main(bench: BranchBench) -> Receipt:
    return run(bench, "replace_main", branch="dev")


def cut_back(bench: BranchBench) -> Receipt:
    return run(bench, "rollback", snapshot=1, cut=True)


def cut_back_to_tag(bench: BranchBench) -> Receipt:
    return run(bench, "rollback", tag="first", cut=True)


def drop(bench: BranchBench) -> None:
    shutil.rmtree(bench.table("dev").paths.root)


def rename(bench: BranchBench) -> None:
    root = Path(bench.table("dev").paths.root)
    root.rename(root.with_name("branch-other"))


def make_anew(bench: BranchBench) -> None:
    drop(bench)
    bench.store = BranchBench(Path(bench.file_io.root)).store
    run(bench, "create_branch", "again", branch="dev")
    for each in ("p", "q", "r"):
        bench.append(each, branch="dev")


def expire(bench: BranchBench) -> None:
    paths = bench.table("dev").paths
    for snapshot_id in (2, 3):
        Path(paths.snapshot(snapshot_id)).unlink()


GOES = (drop, rename, expire, make_anew)


def kills(
    bench: BranchBench, verb: Verb, *, first: int = 1, every: int = 1
) -> Iterator[tuple[str, BranchBench]]:
    """Kill a verb before each of its changes in turn; tell the change, and what is left.

    Args:
        bench: Where it runs, on copies.
        verb: What is killed.
        first: The first change that is tried.
        every: How many changes further the next one is.
    """
    origin = Path(bench.file_io.root)
    clean = BranchBench(_copied(origin, origin.parent / "clean"))
    counter = FaultyStore(inner=clean.store)
    clean.store = counter.store
    verb(clean)
    for number in range(first, len(counter.changes) + 1, every):
        change = counter.changes[number - 1]
        cut_off = BranchBench(_copied(origin, origin.parent / "cut-off"))
        inner = cut_off.store
        cut_off.store = FaultyStore(inner=inner, fault=At(call=number)).store
        with pytest.raises(Killed):
            verb(cut_off)
        cut_off.store = inner
        if Journal(inner, cut_off.table().paths).unfinished():
            yield change, cut_off


def kill_at(bench: BranchBench, verb: Verb, what: str, path: str) -> BranchBench:
    """Kill a verb before a change of a file, whose path ends so."""
    for change, cut_off in kills(bench, verb):
        if change.startswith(what) and change.endswith(path):
            return cut_off
    raise AssertionError(f"{what} {path}")


def recover(bench: BranchBench) -> End:
    """Recover, and tell how the operation ended."""
    run(bench, "recover", "recovery", now=LATER)
    journal = Journal(bench.store, bench.table().paths)
    assert journal.unfinished() == ()
    end = journal.end_of("op")
    assert end is not None
    return end


def main_of(bench: BranchBench) -> dict[str, bytes]:
    """The snapshots, schemas and tags of main; hints cost a listing, no more."""
    paths = bench.table().paths
    cut = len(bench.file_io.root) + 1
    folders = tuple(f"{each[cut:]}/" for each in (paths.snapshot_dir, paths.schema_dir))
    found = metadata(bench)
    return {
        name: data
        for name, data in found.items()
        if name.startswith((*folders, f"{paths.tag_dir[cut:]}/"))
        and not name.endswith(("LATEST", "EARLIEST"))
    }


def _copied(origin: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    # Of links: no file of a table is ever changed in place.
    shutil.copytree(origin, to, copy_function=os.link)
    return to


@pytest.mark.depth("full")
@pytest.mark.parametrize("verb", [force, replace_main])
@pytest.mark.parametrize("happens", GOES)
def test_main_is_what_it_was_where_what_replaces_it_is_gone(
    bench: BranchBench,
    verb: Verb,
    happens: Callable[[BranchBench], None],
    examples: Examples,
) -> None:
    diverge(bench)
    before = main_of(bench)
    copied = 0
    # But for long runs two ways to be gone share the changes before which the verb is killed.
    every = 1 if examples.depth == "long" else 2
    for change, cut_off in kills(bench, verb, first=1 + GOES.index(happens) % every, every=every):
        came = _has_come(cut_off)
        happens(cut_off)
        end = recover(cut_off)
        message = end.message or ""
        if came:
            copied += 1
            if end.ending is Ending.STOPPED:
                assert "What 'main' was is on branch 'rescue-op'; look at both." in message, change
                assert cut_off.live_names("rescue-op") == bench.live_names(), change
            continue
        assert end.ending is Ending.STOPPED, change
        assert "'dev'" in message, change
        base = {name for name in main_of(cut_off) if name.endswith("tag-branch-base-dev-2")}
        assert {k: v for k, v in main_of(cut_off).items() if k not in base} == before, change
        with pytest.raises(CommitConflict):
            verb(cut_off)
    assert copied


def _has_come(bench: BranchBench) -> bool:
    """Whether anything that is only dev's is on main."""
    main, dev = bench.table().paths, bench.table("dev").paths
    pairs = [(main.schema(1), dev.schema(1)), (main.tag("v4"), dev.tag("v4"))]
    pairs += [(main.snapshot(each), dev.snapshot(each)) for each in (3, 4)]
    return any(
        Path(one).exists() and Path(one).read_bytes() == Path(other).read_bytes()
        for one, other in pairs
    )


def test_a_put_back_that_is_cut_off_goes_on(bench: BranchBench) -> None:
    diverge(bench)
    before = main_of(bench)
    cut_off = kill_at(bench, force, "publish", "step-op-removed.json")
    origin = Path(cut_off.file_io.root)
    drop(cut_off)
    clean = BranchBench(_copied(origin, origin.parent / "twice"))
    counter = FaultyStore(inner=clean.store)
    clean.store = counter.store
    recover(clean)
    for number in range(1, len(counter.changes) + 1):
        twice = BranchBench(_copied(origin, origin.parent / "twice"))
        inner = twice.store
        twice.store = FaultyStore(inner=inner, fault=At(call=number)).store
        with pytest.raises(Killed):
            run(twice, "recover", "recovery", now=LATER)
        twice.store = inner
        end = recover(twice)
        assert end.ending is Ending.STOPPED
        assert "What had left 'main' is back" in (end.message or "")
        assert main_of(twice) == before


def test_what_expired_on_main_meanwhile_is_not_put_back(bench: BranchBench) -> None:
    diverge(bench)
    bench.append("z", user="etl")
    cut_off = kill_at(bench, force, "remove", "/t/snapshot/snapshot-4")
    drop(cut_off)
    for snapshot_id in (1, 2, 3):
        Path(cut_off.table().paths.snapshot(snapshot_id)).unlink()
    assert recover(cut_off).ending is Ending.STOPPED
    assert cut_off.table().snapshots.ids() == (4, 5)


def test_a_cut_to_a_snapshot_that_has_expired_meanwhile_ends_and_changes_nothing(
    bench: BranchBench,
) -> None:
    bench.tag("second")
    bench.append("x")
    bench.tag("third")
    done = 0
    for change, cut_off in kills(bench, cut_back):
        ids = cut_off.table().snapshots.ids()
        if ids == (1,):
            # Nobody expires the only snapshot: this cut is carried out.
            assert recover(cut_off).ending is Ending.DONE, change
            done += 1
            continue
        Path(cut_off.table().paths.snapshot(1)).unlink()
        before = main_of(cut_off)
        end = recover(cut_off)
        message = end.message or ""
        assert end.ending is Ending.STOPPED, change
        assert message.startswith("Snapshot 1 of branch 'main', which it was to be cut back to,")
        assert cut_off.table().snapshots.ids() == (2, 3), change
        assert cut_off.live_names() == bench.live_names(), change
        assert cut_off.table().tags.names() == bench.table().tags.names(), change
        if "rescue-op" in cut_off.table().branches.names():
            assert "What had left 'main' is back" in message, change
        else:
            assert message.endswith("Nothing was changed; plan again."), change
            assert main_of(cut_off) == before, change
            assert not Path(cut_off.table("rescue-op").paths.root).exists(), change
    assert done


def test_a_cut_to_a_tag_needs_the_tag_as_long_as_its_snapshot_is_not_made(
    bench: BranchBench,
) -> None:
    run(bench, "create_tag", "tag", tag="first", snapshot=1)
    Path(bench.table().paths.snapshot(1)).unlink()
    bench.append("x")
    before = main_of(bench)
    endings = set()
    for change, cut_off in kills(bench, cut_back_to_tag):
        tag = Path(cut_off.table().paths.tag("first"))
        data = tag.read_bytes()
        made = Path(cut_off.table().paths.snapshot(1)).exists()
        tag.unlink()
        end = recover(cut_off)
        endings.add(end.ending)
        assert end.ending is (Ending.DONE if made else Ending.STOPPED), change
        if not made:
            tag.write_bytes(data)
            assert main_of(cut_off) == before, change
    assert endings == {Ending.DONE, Ending.STOPPED}


def test_nothing_is_kept_where_what_replaces_main_is_gone_at_once(bench: BranchBench) -> None:
    diverge(bench)
    cut_off = kill_at(bench, force, "publish", "/branch-rescue-op/schema/schema-0")
    drop(cut_off)
    before = main_of(cut_off)
    message = recover(cut_off).message or ""
    assert message.endswith("Nothing was changed; plan again.")
    assert main_of(cut_off) == before
    assert cut_off.table().branches.names() == ()


def test_half_a_rescue_goes_where_main_has_moved(bench: BranchBench) -> None:
    diverge(bench)
    cut_off = kill_at(bench, force, "publish", "/branch-rescue-op/snapshot/snapshot-2")
    cut_off.append("etl")
    message = recover(cut_off).message or ""
    assert "rescue" not in message
    assert cut_off.table().branches.names() == ("dev",)
    assert cut_off.table().snapshots.ids() == (1, 2, 3, 4, 5)


def test_a_commit_on_what_was_left_of_main_stays_and_the_old_main_is_on_the_rescue(
    bench: BranchBench,
) -> None:
    diverge(bench)
    cut_off = kill_at(bench, force, "publish", "/t/schema/schema-1")
    cut_off.append("etl", user="etl")
    drop(cut_off)
    end = recover(cut_off)
    assert end.ending is Ending.STOPPED
    assert "What 'main' was is on branch 'rescue-op'; look at both." in (end.message or "")
    assert "data-etl.parquet" in cut_off.live_names()
    assert cut_off.live_names("rescue-op") == bench.live_names()


@pytest.mark.parametrize("happens", [drop, rename, expire])
def test_a_fast_forward_whose_source_is_gone_half_way_ends(
    bench: BranchBench, happens: Callable[[BranchBench], None]
) -> None:
    ends = []
    for change, cut_off in kills(bench, fast_forward):
        before = main_of(cut_off)
        happens(cut_off)
        end = recover(cut_off)
        head = cut_off.table().snapshots.latest_id()
        after = main_of(cut_off)
        # What came whole is pinned then, if it was not yet.
        pin = {name: after.pop(name) for name in [*after] if "tag-branch-pin-" in name}
        before = {name: data for name, data in before.items() if name not in pin}
        assert after == before, change
        assert len(pin) == int(head == 4)
        ends.append((end.ending, head, end.message or ""))
    assert {ending for ending, head, _ in ends if head == 4} == {Ending.DONE}
    stopped = [message for ending, head, message in ends if head != 4 and ending is Ending.STOPPED]
    assert len(stopped) == len([head for _, head, _ in ends if head != 4])
    assert stopped[0].endswith("Nothing was changed; plan again.")
    assert "is at snapshot 3" in stopped[-1]
    assert "stays and is valid" in stopped[-1]


def _without(bench: BranchBench, snapshot_id: int) -> dict[str, bytes]:
    return {
        name: data for name, data in main_of(bench).items() if f"snapshot-{snapshot_id}" not in name
    }


def test_a_fast_forward_that_another_commit_overtook_leaves_nothing_of_its_source(
    bench: BranchBench,
) -> None:
    before = main_of(bench)
    overtaken = 0
    for change, cut_off in kills(bench, fast_forward):
        if cut_off.table().snapshots.latest_id() != 2:
            continue
        latest = cut_off.table().schemas.latest().id
        cut_off.append("etl", user="etl")
        end = recover(cut_off)
        message = end.message or ""
        assert end.ending is Ending.STOPPED, change
        assert message.startswith("Branch 'main' moved: it is at snapshot 3 now."), change
        assert cut_off.table().tags.names() == bench.table().tags.names(), change
        assert "data-etl.parquet" in cut_off.live_names(), change
        if latest == 0:
            assert message.endswith("Nothing was changed; plan again."), change
            assert _without(cut_off, 3) == before, change
        else:
            # The commit was made with the schema that had come: without it nobody could read it.
            assert cut_off.table().schemas.ids() == (0, 1), change
            assert "Schema 1 of branch 'dev' stays" in message, change
        with pytest.raises(CommitConflict):
            fast_forward(cut_off)
        overtaken += 1
    assert overtaken > 2


def test_a_commit_while_files_are_copied_leaves_nothing_of_the_source(bench: BranchBench) -> None:
    """The commit was made with the schema of before."""
    before = main_of(bench)
    origin = Path(bench.file_io.root)
    counter = FaultyStore(inner=BranchBench(_copied(origin, origin.parent / "clean")).store)
    clean = BranchBench(origin.parent / "clean")
    clean.store = counter.store
    fast_forward(clean)
    for number, change in enumerate(counter.changes, 1):
        if not change.endswith(("/t/schema/schema-1", "/t/tag/tag-v4", "/t/snapshot/snapshot-3")):
            continue
        other = BranchBench(_copied(origin, origin.parent / "other"))
        other.append("etl", user="etl")
        theirs = Path(other.table().paths.snapshot(3)).read_bytes()
        overtaken = BranchBench(_copied(origin, origin.parent / "overtaken"))
        inner, path = overtaken.store, Path(overtaken.table().paths.snapshot(3))

        def commit(path: Path = path, data: bytes = theirs) -> None:
            path.write_bytes(data)

        overtaken.store = FaultyStore(inner=inner, meanwhile={number: commit}).store
        with pytest.raises(CommitConflict, match="moved: it is at snapshot 3 now"):
            fast_forward(overtaken)
        overtaken.store = inner
        assert _without(overtaken, 3) == before, change
        assert Journal(inner, overtaken.table().paths).unfinished() == (), change


def test_a_fast_forward_that_lost_its_first_snapshot_to_a_power_cut_goes_on(
    bench: BranchBench,
) -> None:
    cut_off = kill_at(bench, fast_forward, "hint", "/t/snapshot/LATEST")
    Path(cut_off.table().paths.snapshot(3)).unlink()
    assert recover(cut_off).ending is Ending.DONE
    assert cut_off.table().snapshots.ids() == (1, 2, 3, 4)


def test_what_had_come_and_means_something_else_by_now_stays(bench: BranchBench) -> None:
    cut_off = kill_at(bench, fast_forward, "publish", "/t/snapshot/snapshot-3")
    paths = cut_off.table().paths
    Path(paths.tag("v4")).unlink()
    cut_off.tag("v4")
    cut_off.alter("main", "later")
    cut_off.append("etl", user="etl")
    message = recover(cut_off).message or ""
    assert cut_off.table().tags.get("v4").snapshot.id == 2
    assert cut_off.table().schemas.ids() == (0, 1, 2)
    assert "Schema 1 of branch 'dev' stays" in message


@pytest.mark.parametrize(
    ("ours", "present", "used", "leaving"),
    [
        ((1,), (0, 1), {0}, (1,)),
        ((1, 2), (0, 1, 2), {0}, (2, 1)),
        ((1, 2), (0, 1, 2), {0, 1}, (2,)),
        ((1,), (0, 1, 2), {0}, ()),
        ((1,), (0, 1), {1}, ()),
        ((1,), (0, 1), None, ()),
        ((), (0,), set(), ()),
    ],
)
def test_schemas_that_may_leave_again(
    ours: tuple[int, ...],
    present: tuple[int, ...],
    used: set[int] | None,
    leaving: tuple[int, ...],
) -> None:
    assert schemas_to_take_back(ours, present, used) == leaving


def test_a_schema_comes_back_that_a_commit_used_just_before_it_left(bench: BranchBench) -> None:
    cut_off = kill_at(bench, fast_forward, "publish", "/t/snapshot/snapshot-3")
    origin = Path(cut_off.file_io.root)
    newer = BranchBench(_copied(origin, origin.parent / "newer"))
    newer.append("etl", user="etl")
    newer.append("late", user="etl")
    late, late_path = Path(newer.table().paths.snapshot(4)).read_bytes(), "snapshot-4"
    # The first commit knew the schema of before.
    first = BranchBench(_copied(Path(bench.file_io.root), origin.parent / "first"))
    first.append("etl", user="etl")
    folder = Path(cut_off.table().paths.snapshot_dir)
    (folder / "snapshot-3").write_bytes(Path(first.table().paths.snapshot(3)).read_bytes())
    inner = cut_off.store

    class Overtaking(FaultyStore):
        def change(self, what: str, path: str, make: object, tear: object) -> object:  # type: ignore[override]
            if what == "remove" and path.endswith("/t/schema/schema-1"):
                (folder / late_path).write_bytes(late)
            return super().change(what, path, make, tear)  # type: ignore[arg-type]

    cut_off.store = Overtaking(inner=inner).store
    run(cut_off, "recover", "recovery", now=LATER)
    cut_off.store = inner
    assert cut_off.table().schemas.ids() == (0, 1)
    end = Journal(inner, cut_off.table().paths).end_of("op")
    assert end is not None
    assert "Schema 1 of branch 'dev' stays" in (end.message or "")


def forward_to_sub(bench: BranchBench) -> Receipt:
    return run(bench, "fast_forward", branch="sub")


def make_sub(bench: BranchBench) -> None:
    """A branch of dev, one commit ahead of it: main's way there leads over dev."""
    run(bench, "create_branch", "make-sub", branch="sub", from_branch="dev")
    bench.append("e", branch="sub")


def test_a_fast_forward_over_a_branch_in_between_is_finished_from_anywhere(
    bench: BranchBench,
) -> None:
    make_sub(bench)
    stops = 0
    for change, cut_off in kills(bench, forward_to_sub):
        main, stops = cut_off.table(), stops + 1
        ids = main.snapshots.ids()
        assert ids == tuple(range(1, len(ids) + 1)), change
        assert recover(cut_off).ending is Ending.DONE, change
        assert main.snapshots.ids() == (1, 2, 3, 4, 5), change
        assert cut_off.live_names() == bench.live_names("sub"), change
    assert stops > 5


def test_a_fast_forward_stops_where_the_branch_in_between_is_gone(bench: BranchBench) -> None:
    make_sub(bench)
    before, endings = main_of(bench), set()
    for change, cut_off in kills(bench, forward_to_sub):
        drop(cut_off)
        end, ids = recover(cut_off), cut_off.table().snapshots.ids()
        endings.add(end.ending)
        assert ids == tuple(range(1, len(ids) + 1)), change
        if end.ending is Ending.DONE:
            assert ids == (1, 2, 3, 4, 5), change
            continue
        assert "'sub' lost some of what 'main' was to get" in (end.message or ""), change
        if ids == (1, 2):
            assert "Snapshot 3 of branch 'dev', on which 'sub' builds, is gone" in (
                end.message or ""
            ), change
    assert endings == {Ending.DONE, Ending.STOPPED}
    assert main_of(bench) == before


def test_nothing_is_kept_where_the_branch_in_between_is_gone(bench: BranchBench) -> None:
    make_sub(bench)
    diverge(bench)
    cut_off = kill_at(
        bench,
        lambda each: run(each, "replace_main", branch="sub"),
        "publish",
        "/branch-rescue-op/schema/schema-0",
    )
    drop(cut_off)
    before = main_of(cut_off)
    message = recover(cut_off).message or ""
    assert "Snapshot 3 of branch 'dev', on which 'sub' builds, is gone" in message
    assert message.endswith("Nothing was changed; plan again.")
    assert main_of(cut_off) == before
    assert cut_off.table().branches.names() == ("sub",)
