"""Snapshots expire over all branches: what others need stays, and undo brings names back."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from branch_console.diff.expiry.dry_run import ExpiryDryRun
from branch_console.errors import (
    CommitConflict,
    FormatError,
    InvalidInput,
    Refused,
    StorageError,
)
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.maintenance.expire_snapshots import list_due, plan_expire
from branch_console.procedures.maintenance.grace_words import removal_notes
from branch_console.procedures.maintenance.release_files import Released
from branch_console.procedures.recover import recover_table
from tests.support.branch_bench import store_of, tree
from tests.support.expiry_bench import AT_ONCE, LATER, ExpiryBench
from tests.support.faulty_store import At, FaultyStore, Killed, What, When


@pytest.fixture
def bench(tmp_path: Path) -> ExpiryBench:
    """Main replaced its files twice since a branch was made, which replaced its own once."""
    made = ExpiryBench(tmp_path / "made")
    made.add("a", "b")
    made.branch("dev")
    made.replace("c")
    made.replace("d", branch="dev")
    made.replace("e")
    return made


def world(bench: ExpiryBench) -> dict[str, bytes]:
    """All files but ours, and the hints: they are never needed."""
    return {
        path: data
        for path, data in tree(bench.root).items()
        if "branch-lineage" not in path and not path.endswith(("EARLIEST", "LATEST"))
    }


def test_what_a_branch_or_a_tag_needs_outlives_the_expiry_of_main(bench: ExpiryBench) -> None:
    # A merge with the branch would start from snapshot 1, so all of main stays.
    kept = bench.expire("held")
    assert kept.counts.snapshots_removed == 0
    assert kept.notes[-1] == (
        "Snapshot 1 of 'main' and later ones stay: a merge with branch 'dev' starts from there."
    )
    assert bench.broken() == []


def test_files_that_nothing_needs_go_and_shared_ones_stay(tmp_path: Path) -> None:
    bench = ExpiryBench(tmp_path)
    bench.add("a")
    bench.tag("v1")
    bench.replace("b")
    bench.replace("c")
    receipt = bench.expire()
    assert bench.snapshot_ids() == (3,)
    assert bench.data_names() == {"a", "c"}  # a tag needs the first
    assert bench.broken() == []
    assert receipt.counts.snapshots_removed == 2
    assert receipt.notes[0] == "Snapshots 1, 2 of 'main' expired."
    assert "with 1,000 bytes of data were removed." in receipt.notes[-1]
    # Again there is nothing to take, which is no error (L5).
    again = bench.expire("again")
    assert again.notes == ("No snapshot of 'main' is due to expire.",)
    assert again.counts.snapshots_removed == 0


def test_a_branch_keeps_what_main_removed(bench: ExpiryBench) -> None:
    """F02 without any tag: the branch holds the snapshot that it was made from."""
    for name in bench.table().tags.names():
        Path(bench.table().paths.tag(name)).unlink()
    for branch, left in (("main", {3}), ("dev", {2})):
        before = bench.needed()
        bench.expire(f"expire-{branch}", branch=branch)
        assert bench.broken() == []
        assert bench.needed() <= before
        assert set(bench.snapshot_ids(branch)) >= left


@pytest.mark.parametrize("holder", ["a rescue branch", "a branch without history", "its tag"])
def test_what_only_another_branch_holds_outlives_the_expiry_of_main(
    tmp_path: Path, holder: str
) -> None:
    bench = ExpiryBench(tmp_path)
    bench.add("a")
    bench.branch("dev")
    bench.add("b", branch="dev")
    dev = bench.table("dev").paths
    if holder == "its tag":
        bench.tag("kept", branch="dev")
        bench.replace("z", branch="dev")
    for name in ("c", "d"):
        bench.replace(name)
    if holder == "a rescue branch":
        bench.call("drop_branch", operation="drop", branch="dev")
    else:
        # What it was made from is forgotten there, so that no merge keeps it on main.
        Path(dev.snapshot(1)).unlink()
        for name in bench.table("dev").tags.names():
            if name != "kept":
                Path(dev.tag(name)).unlink()
    for name in bench.table().tags.names():
        Path(bench.table().paths.tag(name)).unlink()
    done = bench.expire(now=LATER)
    assert done.counts.snapshots_removed == 2
    assert bench.data_names() >= {"a", "b", "d"}
    assert "c" not in bench.data_names()
    assert bench.broken() == []


@pytest.mark.parametrize("branches", ["all", "d*"])
def test_several_branches_expire_at_once(bench: ExpiryBench, branches: str) -> None:
    for name in ("main", "dev"):
        bench.replace(f"{name}-2", branch=name)
    bench.expire(branches=branches)
    assert bench.broken() == []


def test_a_rescue_branch_loses_in_the_same_run_what_only_main_gave_a_use(tmp_path: Path) -> None:
    """A merge from the rescue branch started at what main loses, so that nothing keeps it."""
    bench = ExpiryBench(tmp_path)
    for name in "abc":
        bench.replace(name)
    bench.call("rollback", operation="back", snapshot=2, cut=True)
    bench.replace("d")
    for branch in ("main", "rescue-back"):
        for tag in bench.table(branch).tags.names():
            Path(bench.table(branch).paths.tag(tag)).unlink()
    done = bench.expire(branches="*", now=LATER)
    assert done.notes[:2] == (
        "Snapshots 1, 2 of 'main' expired.",
        "Snapshots 1, 2 of 'rescue-back' expired.",
    )
    again = bench.expire("again", branches="*", now=LATER)
    assert again.notes == ("No snapshot of 'main', 'rescue-back' is due to expire.",)


def test_a_dropped_branch_comes_back_whole_after_an_expiry_of_all_branches(
    bench: ExpiryBench,
) -> None:
    for name in "xy":
        bench.replace(name, branch="dev")
    ids = bench.snapshot_ids("dev")
    bench.call("drop_branch", operation="drop", branch="dev")
    bench.expire(branches="*", now=LATER)
    assert bench.snapshot_ids("main") == (3,)
    # The tag on main keeps the merge base.
    assert bench.snapshot_ids("rescue-drop") == ids
    undo(bench, "undo", "drop")
    assert bench.snapshot_ids("dev") == ids


def test_undo_brings_back_every_byte_until_the_next_expiry(tmp_path: Path) -> None:
    bench = ExpiryBench(tmp_path)
    for name in "abc":
        bench.replace(name)
    before = world(bench)
    kept = bench.expire("first", grace="10 min")
    assert bench.snapshot_ids() == (3,)
    assert kept.notes[1] == "Their files go with the first expiry of the table after 10 minutes."
    assert bench.data_names() == {"a", "b", "c"}
    back = undo(bench, "back", "first")
    assert back.notes == ("2 snapshots of 'main' came back: 1, 2.",)
    assert world(bench) == before
    assert bench.table().snapshots.earliest_id() == 1

    bench.expire("second", grace="10 min")
    young = bench.expire("young", now=LATER + 599_999)
    assert young.notes == ("No snapshot of 'main' is due to expire.",)
    assert bench.data_names() == {"a", "b", "c"}
    over = bench.expire("over", now=LATER + 700_000)
    assert bench.data_names() == {"c"}
    assert "2,000 bytes of data were removed." in over.notes[-1]
    with pytest.raises(Refused, match="files that only the expired snapshots held were removed"):
        undo(bench, "late", "second")
    with pytest.raises(InvalidInput, match="the files are gone"):
        undo(bench, "over-back", "over")


def undo(bench: ExpiryBench, operation: str, undone: str) -> Receipt:
    return bench.run("undo", operation, LATER, {"operation": undone})


@pytest.mark.parametrize("grace", ["0 s", "10 min"])
def test_a_kill_at_any_change_leaves_every_reference_whole(tmp_path: Path, grace: str) -> None:
    made = ExpiryBench(tmp_path / "made")
    made.add("a")
    made.branch("dev")
    for name in "bc":
        made.replace(name, branch="dev")
    for name in "de":
        made.replace(name)
    for name in made.table().tags.names():
        Path(made.table().paths.tag(name)).unlink()
    Path(made.table().paths.snapshot(1)).unlink()  # so that no merge starts from there
    shutil.copytree(made.root, tmp_path / "clean")
    counter = FaultyStore(inner=store_of(tmp_path / "clean"))
    clean = ExpiryBench(tmp_path / "clean")
    clean.expire(store=counter.store, grace=grace)
    new, old = world(clean), world(made)
    assert set(new) < set(old)
    for number in range(1, len(counter.changes) + 1):
        cut = ExpiryBench(shutil.copytree(made.root, tmp_path / f"{number}"))
        when = When.BEFORE if number % 2 else When.AFTER
        faulty = FaultyStore(inner=store_of(cut.root), fault=At(call=number, when=when))
        with pytest.raises(Killed):
            cut.expire(store=faulty.store, grace=grace)
        cut = ExpiryBench(cut.root)
        assert cut.broken() == [], counter.changes[number - 1]
        ids = cut.snapshot_ids()
        assert list(ids) == list(range(ids[0], ids[-1] + 1))
        recover_table(cut.warehouse(clock=lambda: LATER + 3_600_000), cut.table())
        cut.expire(store=store_of(cut.root), grace=grace)
        assert world(cut) == new, counter.changes[number - 1]
        shutil.rmtree(cut.root)


def test_a_tag_that_comes_while_files_go_keeps_its_files(tmp_path: Path) -> None:
    made = ExpiryBench(tmp_path / "made")
    for name in "abc":
        made.replace(name)
    snapshot = Path(made.table().paths.snapshot(1)).read_bytes()
    counter = FaultyStore(inner=store_of(shutil.copytree(made.root, tmp_path / "count")))
    ExpiryBench(tmp_path / "count").expire(store=counter.store)
    for number in range(1, len(counter.changes)):
        if "release-" in counter.changes[number - 1]:
            break  # from here on files may be gone that nobody named in time
        bench = ExpiryBench(shutil.copytree(made.root, tmp_path / f"{number}"))
        tag = Path(bench.table().paths.tag("foreign"))

        def foreign(tag: Path = tag) -> None:
            tag.parent.mkdir(exist_ok=True)
            tag.write_bytes(snapshot)

        faulty = FaultyStore(inner=store_of(bench.root), meanwhile={number: foreign})
        bench.expire(store=faulty.store)
        assert tag.exists()
        assert bench.broken() == [], counter.changes[number - 1]


def test_a_release_that_failed_lets_nobody_bring_back_what_it_was_at(tmp_path: Path) -> None:
    made = ExpiryBench(tmp_path / "made")
    for name in "abc":
        made.replace(name)
    made.expire("first", grace="10 min")
    over = LATER + 700_000
    counter = FaultyStore(inner=store_of(shutil.copytree(made.root, tmp_path / "count")))
    ExpiryBench(tmp_path / "count").expire("over", store=counter.store, now=over)
    at = next(number for number, each in enumerate(counter.changes, 1) if "/data-a" in each)
    failing = FaultyStore(inner=store_of(made.root), fault=At(call=at + 1, what=What.FAIL))
    with pytest.raises(StorageError, match="branch-console recover"):
        made.expire("over", store=failing.store, now=over)
    with pytest.raises(CommitConflict, match="Operation over expires snapshots"):
        undo(made, "back", "first")
    assert made.snapshot_ids() == (3,)
    recover_table(made.warehouse(clock=lambda: over + 3_600_000), made.table())
    assert world(made) == world(ExpiryBench(tmp_path / "count"))


def test_a_broken_reference_stops_every_release(tmp_path: Path) -> None:
    bench = ExpiryBench(tmp_path)
    bench.add("a")
    bench.replace("b")
    bench.branch("dev")
    head = bench.table("dev").head()
    assert head is not None
    Path(bench.table("dev").paths.snapshot(head.id)).write_text("{")
    before = world(bench)
    with pytest.raises(FormatError):
        bench.expire()
    assert world(bench) == before


@pytest.mark.parametrize("made", ["a branch", "a branch in a branch", "a tag"])
def test_a_name_with_a_slash_stops_every_release(tmp_path: Path, made: str) -> None:
    """Paimon makes and reads `x/y`, and lists only `x`: what `x/y` needs nobody sees."""
    bench = ExpiryBench(tmp_path)
    bench.add("a")
    if made == "a tag":
        bench.tag("y")
        listed = Path(bench.table().paths.tag("y"))
    else:
        bench.branch("y")
        listed = Path(bench.table("y").paths.root)
    hidden = listed.parent / listed.name.replace("-y", "-x") / "y"
    if made == "a branch in a branch":
        bench.branch("x")
    hidden.parent.mkdir(exist_ok=True)
    listed.rename(hidden)
    for name in bench.table().tags.names():
        Path(bench.table().paths.tag(name)).unlink()
    bench.replace("b")
    bench.replace("c")
    if made == "a branch in a branch":
        Path(bench.table().paths.snapshot(1)).unlink()  # so that no merge holds it
    before = world(bench)
    with pytest.raises(FormatError, match=r"-x/y? was made under a name with '/'|-x was made"):
        bench.expire()
    assert world(bench) == before


@pytest.mark.parametrize("end", ["dropped", "renamed"])
def test_files_of_an_expiry_go_after_its_branch_was_dropped_or_renamed(
    tmp_path: Path, end: str
) -> None:
    bench = ExpiryBench(tmp_path)
    bench.add("a")
    bench.branch("dev")
    for name in "bcd":
        bench.replace(name, branch="dev")
    for name in bench.table().tags.names():
        Path(bench.table().paths.tag(name)).unlink()
    Path(bench.table("dev").paths.snapshot(1)).unlink()  # so that no merge holds it
    assert bench.expire("first", branch="dev", grace="10 min").counts.snapshots_removed == 2
    if end == "dropped":
        bench.call("drop_branch", operation="drop", branch="dev")
    else:
        bench.call("rename_branch", operation="rename", branch="dev", to="new")
    bench.expire("over", now=LATER + 700_000)
    assert bench.data_names() == {"a", "d"}
    assert bench.broken() == []


def test_undo_claims_no_snapshot_whose_files_went_meanwhile(tmp_path: Path) -> None:
    bench = ExpiryBench(tmp_path)
    for name in "abc":
        bench.replace(name)
    bench.expire("first", grace="10 min")

    def over() -> None:
        ExpiryBench(tmp_path).expire("over", now=LATER + 700_000)

    faulty = FaultyStore(inner=store_of(tmp_path), meanwhile={1: over})
    with pytest.raises(CommitConflict, match="did not come back"):
        bench.run("undo", "back", LATER, {"operation": "first"}, faulty.store)
    assert bench.snapshot_ids() == (3,)


def test_two_entries_that_contradict_each_other_stop_every_release(tmp_path: Path) -> None:
    bench = ExpiryBench(tmp_path)
    bench.add("a")
    bench.add("a")
    bench.add("c")
    before = world(bench)
    with pytest.raises(FormatError, match="contradict each other"):
        bench.expire()
    assert world(bench) == before


def test_an_open_operation_may_need_what_would_go(tmp_path: Path) -> None:
    bench = ExpiryBench(tmp_path)
    bench.add("a")
    bench.replace("b")
    faulty = FaultyStore(inner=store_of(bench.root), fault=At(call=2))
    with pytest.raises(Killed):
        bench.call("fence_branch", operation="fence", store=faulty.store, branch="main")
    with pytest.raises(Refused, match=r"Operation fence is at work on db\.t, or was cut off"):
        bench.expire()
    assert bench.snapshot_ids() == (1, 2)


def test_a_consumer_and_a_promised_undo_hold_snapshots(tmp_path: Path) -> None:
    bench = ExpiryBench(tmp_path)
    for name in "abcde":
        bench.replace(name)
    consumers = Path(bench.table().paths.consumer_dir)
    consumers.mkdir()
    (consumers / "consumer-late").write_text('{"nextSnapshot": 3}')
    receipt = bench.expire()
    assert bench.snapshot_ids() == (3, 4, 5)
    assert receipt.notes[0] == "Snapshots 1, 2 of 'main' expired."
    (consumers / "consumer-late").unlink()
    # What a rollback of today replaced stays for a week.
    bench.call("rollback", operation="back", snapshot=4, clock=lambda: LATER)
    held = bench.expire("held", now=LATER + 6 * 86_400_000)
    assert held.notes[0] == "Snapshots 3, 4 of 'main' expired."
    assert bench.snapshot_ids() == (5, 6)
    bench.expire("free", now=LATER + 8 * 86_400_000)
    assert bench.snapshot_ids() == (6,)
    assert bench.broken() == []


def test_a_dry_run_tells_of_each_snapshot_that_is_due_whether_it_goes_or_what_holds_it(
    tmp_path: Path,
) -> None:
    bench = ExpiryBench(tmp_path)
    for name in "abcde":
        bench.replace(name)
    consumers = Path(bench.table().paths.consumer_dir)
    consumers.mkdir()
    (consumers / "consumer-late").write_text('{"nextSnapshot": 3}')
    call = ProcedureCall(
        name="expire_snapshots",
        arguments={"table": "db.t", "retain_max": 1, "options": AT_ONCE},
        actor="ann",
        operation_id="look",
    )
    found = plan_expire(bench.warehouse(clock=lambda: LATER), call).dry_run
    assert isinstance(found, ExpiryDryRun)
    told = [
        (each.snapshot.id, each.goes, [hold.owner for hold in each.holds]) for each in found.due
    ]
    assert told == [(1, True, []), (2, True, []), (3, False, ["late"]), (4, False, ["late"])]
    assert (found.kept_count, found.released.file_count > 0, found.earlier) == (1, True, ())
    before = bench.needed()
    receipt = bench.expire()
    # What the dry run counted is what goes.
    assert receipt.counts.snapshots_removed == 2
    assert len(before - bench.needed()) == found.released.file_count


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"retain_max": 2, "retain_min": 3}, r"retainMax \(2\) must not be less than retainMin"),
        ({"retain_min": 0}, "must be 1 or more"),
        ({"older_than": "yesterday"}, "which is no time"),
        ({"grace": "soon"}, "Nothing expired"),
        ({"options": "limit"}, "must be pairs"),
        ({"branches": "x*"}, r"No branch of db\.t has a name like 'x\*'"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    tmp_path: Path, arguments: dict[str, Argument], words: str
) -> None:
    bench = ExpiryBench(tmp_path)
    bench.add("a")
    bench.replace("b")
    with pytest.raises(InvalidInput, match=words):
        bench.expire(**arguments)  # type: ignore[arg-type]
    assert bench.snapshot_ids() == (1, 2)


@pytest.mark.parametrize("name", ["snapshot", "schema"])
def test_what_is_due_is_listed_of_the_branches_that_can_be_read(
    bench: ExpiryBench, name: str
) -> None:
    arguments: dict[str, Argument] = {
        "table": "db.t",
        "branches": "all",
        "retain_max": 1,
        "options": AT_ONCE,
    }
    call = ProcedureCall(
        name="expire_snapshots", arguments=arguments, actor="ann", operation_id="p", role="viewer"
    )
    warehouse = bench.warehouse(clock=lambda: LATER)
    planned = plan_expire(warehouse, call).dry_run
    assert isinstance(planned, ExpiryDryRun)
    due = [(each.branch, each.snapshot) for each in planned.due]
    assert [(each.branch, each.snapshot) for each in list_due(warehouse, call)] == due
    own = bench.table("dev").paths
    broken = own.snapshot(bench.snapshot_ids("dev")[-1]) if name == "snapshot" else own.schema(0)
    Path(broken).write_text("{")
    with pytest.raises(FormatError):
        plan_expire(warehouse, call)
    left = list_due(bench.warehouse(clock=lambda: LATER), call)
    assert [(each.branch, each.snapshot) for each in left] == [
        (branch, snapshot) for branch, snapshot in due if branch != "dev"
    ]
    assert left


def test_a_note_says_what_was_removed_or_what_it_waits_for() -> None:
    def notes(**parts: Any) -> list[str]:
        return list(removal_notes(Released(**parts), was_due=True))

    assert notes(files=1, size=9) == ["1 file with 9 bytes of data was removed."]
    assert notes(files=2_000, size=9_000, gone=1) == [
        "2,000 files with 9,000 bytes of data were removed.",
        "1 file had gone already.",
    ]
    assert notes(waits_for="o-1") == [
        "No file was removed: operation o-1 is open and may need some. They go with the next "
        "expiry."
    ]
    assert list(removal_notes(Released(), was_due=False)) == []
