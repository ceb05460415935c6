"""A branch is dropped with its files, or released later: only what nothing else needs goes."""

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from branch_console.commit.base.commit_store import CommitStore
from branch_console.errors import CommitConflict, FormatError, InvalidInput, NotAllowed, Refused
from branch_console.format.lineage_event import is_fenced_by
from branch_console.format.receipt import Receipt
from branch_console.procedures.browse.branches import list_branches
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.preview import Preview, Weight, preview_call
from branch_console.procedures.recover import recover_table
from tests.support.branch_bench import NOW, store_of, tree
from tests.support.examples import Examples
from tests.support.expiry_bench import LATER, ExpiryBench
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.lifecycle import without_renames

StoreOf = Callable[[Path], CommitStore]
_GRACE = 600_000


@pytest.fixture
def bench(tmp_path: Path) -> ExpiryBench:
    """Main and other hold their own files; dev shares one, and replaced another by its own."""
    made = ExpiryBench(tmp_path / "made")
    made.add("a")
    made.branch("dev")
    made.branch("other")
    made.add("b", branch="dev")
    made.tag("v1", branch="dev")
    made.replace("c", "d", branch="dev")
    made.add("e", branch="other")
    made.replace("f")
    return made


def ask(
    bench: ExpiryBench,
    name: str = "drop_branch",
    operation: str = "drop",
    *,
    store: CommitStore | None = None,
    now: int = LATER,
    **arguments: Argument,
) -> Receipt:
    given = {"branch": "dev", **({"reclaim": True} if name == "drop_branch" else {}), **arguments}
    return bench.run(name, operation, now, given, store)


def look(bench: ExpiryBench, name: str = "drop_branch", **arguments: Argument) -> Preview:
    given = {"branch": "dev", **({"reclaim": True} if name == "drop_branch" else {}), **arguments}
    call = ProcedureCall(
        name=name, arguments={"table": "db.t", **given}, actor="ann", operation_id="look"
    )
    return preview_call(bench.warehouse(clock=lambda: LATER), call)


def some_of(changes: Sequence[str], examples: Examples) -> range:
    """At which changes a kill is tried: every one at night, else every third."""
    return range(1, len(changes) + 1, 1 if examples.depth == "long" else 3)


def world(bench: ExpiryBench) -> dict[str, bytes]:
    """All files but ours."""
    return {path: data for path, data in tree(bench.root).items() if "branch-lineage" not in path}


def test_what_only_the_branch_needs_goes_with_it_and_all_else_stays(bench: ExpiryBench) -> None:
    main_and_other = bench.needed()
    preview = look(bench, grace="0 s")
    done = ask(bench, grace="0 s")
    assert bench.table().branches.names() == ("other",)
    assert bench.data_names() == {"a", "e", "f"}
    assert bench.broken() == []
    assert bench.needed() < main_and_other
    assert bench.table().tags.names() == ("branch-base-other",)
    assert (done.counts.tags_removed, done.rescue_branch) == (1, None)
    assert done.notes[0] == (
        f"Branch 'dev' is gone; {done.counts.files_removed} files with 3,000 bytes of data were "
        "removed."
    )
    assert (done.plan_id, done.counts.bytes_removed) == (preview.plan_id, 3_000)
    told = {each.text for each in preview.consequences if each.weight is Weight.LOSES}
    assert told >= {
        "2 commits are in no other branch.",
        "Its tags go with it.",
        f"{done.counts.files_removed} files with 3,000 bytes of data are needed by nothing else, "
        "and are removed.",
        "The tags that keep files for it are removed too.",
    }
    assert preview.undo == "There is no undo: the files are removed at once."
    (happens,) = (each.text for each in preview.consequences if each.weight is Weight.CHANGES)
    assert happens == "The branch leaves the table, with its snapshots and schemas."
    # Nothing of it is left for a cleaning, and nothing comes back.
    left = world(bench)
    bench.run("remove_orphan_files", "clean", LATER, {"grace": "0 s"})
    assert world(bench) == left
    with pytest.raises(Refused, match="files that only branch 'dev' needed were removed"):
        bench.run("undo", "back", LATER, {"operation": "drop"})


def test_a_branch_that_was_made_by_half_does_not_say_that_files_are_removed(
    bench: ExpiryBench,
) -> None:
    half = Path(bench.table("half-made").paths.snapshot(1))
    half.parent.mkdir(parents=True)
    shutil.copy(bench.table().paths.snapshot(1), half)
    preview = look(ExpiryBench(bench.root), branch="half-made", grace="0 s")
    told = [(each.weight, each.text) for each in preview.consequences]
    assert (
        Weight.CHANGES,
        "The branch leaves the table, with its snapshots and schemas.",
    ) in told
    assert (
        Weight.KEEPS,
        "No data file is removed: none is known that only this branch needs.",
    ) in told
    assert preview.undo == "There is no undo: the branch is removed at once."


def test_undo_within_the_grace_brings_back_every_byte(bench: ExpiryBench) -> None:
    before = world(bench)
    preview = look(bench)
    assert preview.undo.startswith("Undo brings the branch back for 10 minutes at least; after")
    kept = ask(bench)
    assert bench.table().branches.names() == ("other",)
    assert kept.notes[0].startswith("Branch 'dev' is gone. Its files go with the first expiry of")
    # No file has gone, and neither an expiry nor a cleaning takes one.
    bench.expire("early", branch="other", now=LATER + _GRACE - 1)
    bench.run("remove_orphan_files", "clean", LATER + 1, {"grace": "0 s"})
    assert set(before) - set(world(bench)) == {
        path for path in before if "/branch/branch-dev/" in path
    }
    back = bench.run("undo", "back", LATER + 2, {"operation": "drop"})
    assert back.notes == ("Branch 'dev' is back as it was.",)
    assert world(bench) == before
    assert bench.broken() == []
    assert not Path(bench.table().paths.retired_dir).exists() or not any(
        Path(bench.table().paths.retired_dir).iterdir()
    )
    # What the ledger tells of it is as before.
    events = bench.table().ledger.events()
    assert {each.branch for each in events} == {"dev", "other"}
    again = ask(bench, operation="again", grace="0 s")
    assert again.counts.bytes_removed == 3_000


def test_the_first_expiry_after_the_grace_takes_the_files(bench: ExpiryBench) -> None:
    ask(bench)
    over = LATER + _GRACE
    nothing = {"retain_max": 9, "retain_min": 9}
    early = bench.run("expire_snapshots", "early", over - 1, nothing)
    assert early.notes == ("No snapshot of 'main' is due to expire.",)
    assert bench.data_names() == {"a", "b", "c", "d", "e", "f"}
    call = ProcedureCall(
        name="expire_snapshots",
        arguments={"table": "db.t", **nothing},
        actor="ann",
        operation_id="look",
    )
    preview = preview_call(bench.warehouse(clock=lambda: over), call)
    done = bench.run("expire_snapshots", "over", over, nothing)
    assert done.plan_id == preview.plan_id
    told = (
        f"{done.counts.files_removed} files with 3,000 bytes of data are needed by no branch, tag "
        "or changelog, and go."
    )
    assert told in [each.text for each in preview.consequences]
    assert bench.table().tags.names() == ("branch-base-other",)
    assert bench.data_names() == {"a", "e", "f"}
    assert bench.broken() == []
    with pytest.raises(Refused, match="were removed"):
        bench.run("undo", "back", over, {"operation": "drop"})


def test_a_rescue_branch_is_released_once_its_undo_is_no_longer_promised(
    bench: ExpiryBench,
) -> None:
    bench.run("drop_branch", "first", LATER, {"branch": "dev"})
    rescue = "rescue-first"
    with pytest.raises(Refused, match=r"Undo of operation first \(dropped\) is promised until"):
        ask(bench, "release_branch", "early", branch=rescue, now=LATER + 6 * 86_400_000)
    with pytest.raises(InvalidInput, match="only branches whose names begin with rescue-"):
        ask(bench, "release_branch", "other", branch="other")
    late = LATER + 8 * 86_400_000
    before = world(bench)
    ask(bench, "release_branch", "release", branch=rescue, now=late)
    with pytest.raises(Refused, match=r"operation release dropped it\. Undo operation rel"):
        bench.run("undo", "no", late, {"operation": "first"})
    bench.run("undo", "back", late, {"operation": "release"})
    assert world(bench) == before
    done = ask(bench, "release_branch", "again", branch=rescue, now=late, grace="0 s")
    assert done.counts.bytes_removed == 3_000
    assert bench.data_names() == {"a", "e", "f"}
    assert bench.table().tags.names() == ("branch-base-other",)
    assert bench.broken() == []


def test_a_base_tag_that_another_branch_stands_on_keeps_the_branch(bench: ExpiryBench) -> None:
    bench.run("drop_branch", "first", LATER, {"branch": "dev"})
    # Made again where it was, it has the same base tag as what the drop left.
    bench.run("create_branch", "anew", LATER, {"branch": "dev", "snapshot": 1})
    late = LATER + 8 * 86_400_000
    for name, branch, other in (
        ("drop_branch", "dev", "rescue-first"),
        ("release_branch", "rescue-first", "dev"),
    ):
        with pytest.raises(Refused, match=f"the snapshot that branch '{other}' began at, too"):
            ask(bench, name, f"try-{branch}", branch=branch, now=late)
    bench.run("rename_branch", "rename", late, {"branch": "dev", "to": "new"})
    with pytest.raises(Refused, match="branch 'new' began at"):
        ask(bench, "release_branch", "still", branch="rescue-first", now=late)


def test_a_tag_that_something_came_to_need_in_the_grace_stays(bench: ExpiryBench) -> None:
    ask(bench)
    # The same name at the same snapshot: its base tag is the one that is about to go.
    bench.run("create_branch", "anew", LATER, {"branch": "dev", "snapshot": 1})
    bench.run("rename_branch", "rename", LATER, {"branch": "dev", "to": "late"})
    bench.run("expire_snapshots", "over", LATER + _GRACE, {"retain_max": 9, "retain_min": 9})
    assert bench.data_names() == {"a", "e", "f"}
    assert bench.table().tags.names() == ("branch-base-dev", "branch-base-other")
    assert bench.broken() == []
    for name in ("late", "other"):
        bench.expire(f"expire-{name}", branch=name)
    bench.expire("main")
    assert bench.broken() == []


def test_pins_and_twins_go_with_the_last_branch_that_needs_them(tmp_path: Path) -> None:
    bench = ExpiryBench(tmp_path)
    bench.add("a")
    bench.branch("dev")
    bench.add("b", branch="dev")
    bench.run("pin_branch", "twin", NOW, {"branch": "dev", "twin": True})
    bench.add("c")
    bench.run("merge_branch", "merge", NOW, {"branch": "dev"})
    pins = [name for name in bench.table().tags.names() if name.startswith("branch-pin-")]
    assert pins
    done = ask(bench, grace="0 s")
    assert bench.table().tags.names() == ()
    assert done.counts.tags_removed == len(pins) + 2
    assert bench.data_names() == {"a", "b", "c"}
    assert bench.broken() == []


def test_the_ledger_of_a_released_branch_is_not_that_of_the_next_of_its_name(
    bench: ExpiryBench,
) -> None:
    bench.branch("open", fence=False)
    bench.run("fence_branch", "fence", NOW, {"branch": "open"})
    assert is_fenced_by(bench.table().ledger.events(), "open")
    ask(bench, branch="open", grace="0 s")
    # The doctor does not take it for one that another engine dropped.
    listed = list_branches(bench.warehouse(), bench.identifier)
    assert "F10" not in {each.rule for branch in listed for each in branch.findings}
    assert not is_fenced_by(bench.table().ledger.events(), "open")
    bench.run("create_branch", "anew", LATER, {"branch": "open", "fence": False})
    assert not is_fenced_by(bench.table().ledger.events(), "open")
    assert bench.broken() == []


def test_what_cannot_be_meant_is_refused(bench: ExpiryBench) -> None:
    before = world(bench)
    with pytest.raises(InvalidInput, match="'grace' of drop_branch is for a drop with reclaim"):
        ask(bench, reclaim=False, grace="1 min")
    with pytest.raises(InvalidInput, match=r"Write it as '10 min'\. No branch was dropped"):
        ask(bench, grace="soon")
    with pytest.raises(InvalidInput, match="main branch cannot be released"):
        ask(bench, "release_branch", branch="main")
    with pytest.raises(NotAllowed):
        bench.call("drop_branch", operation="drop", role="editor", branch="dev", reclaim=True)
    faulty = FaultyStore(inner=store_of(bench.root), fault=At(call=2))
    with pytest.raises(Killed):
        bench.call("fence_branch", operation="fence", store=faulty.store, branch="main")
    with pytest.raises(Refused, match=r"Operation fence is at work on db\.t"):
        ask(bench)
    assert world(bench) == before


def test_a_commit_in_between_keeps_the_branch(bench: ExpiryBench) -> None:
    before = world(bench)

    def commit() -> None:
        ExpiryBench(bench.root).add("late", branch="dev")

    faulty = FaultyStore(inner=store_of(bench.root), meanwhile={2: commit})
    with pytest.raises((CommitConflict, Refused)):
        ask(bench, store=faulty.store, grace="0 s")
    assert set(before) < set(world(bench))
    assert bench.table().branches.names() == ("dev", "other")
    assert bench.broken() == []
    ask(bench, operation="next", grace="0 s")
    assert bench.data_names() == {"a", "e", "f"}


@pytest.mark.parametrize("grace", ["0 s", "10 min"])
@pytest.mark.parametrize("kind", [store_of, without_renames], ids=["renames", "copies"])
def test_a_kill_at_any_change_leaves_every_reference_whole(
    bench: ExpiryBench, tmp_path: Path, grace: str, kind: StoreOf, examples: Examples
) -> None:
    clean = ExpiryBench(shutil.copytree(bench.root, tmp_path / "clean"))
    counter = FaultyStore(inner=kind(clean.root))
    ask(clean, store=counter.store, grace=grace)
    new = world(clean)
    for number in some_of(counter.changes, examples):
        cut = ExpiryBench(shutil.copytree(bench.root, tmp_path / "cut"))
        when = When.BEFORE if number % 2 else When.AFTER
        faulty = FaultyStore(inner=kind(cut.root), fault=At(call=number, when=when))
        with pytest.raises(Killed):
            ask(cut, store=faulty.store, grace=grace)
        cut = ExpiryBench(cut.root)
        assert cut.broken() == [], counter.changes[number - 1]
        recover_table(cut.warehouse(kind(cut.root), lambda: LATER + 100_000), cut.table())
        if cut.table().branches.exists("dev"):
            ask(cut, operation="again", store=kind(cut.root), grace=grace)
        assert world(cut) == new, counter.changes[number - 1]
        shutil.rmtree(cut.root)


@pytest.mark.parametrize("kind", [store_of, without_renames], ids=["renames", "copies"])
def test_an_undo_that_is_killed_anywhere_still_brings_back_every_byte(
    bench: ExpiryBench, tmp_path: Path, kind: StoreOf, examples: Examples
) -> None:
    before = world(bench)
    ask(bench, store=kind(bench.root))
    counter = FaultyStore(inner=kind(shutil.copytree(bench.root, tmp_path / "count")))
    ExpiryBench(tmp_path / "count").run("undo", "back", LATER, {"operation": "drop"}, counter.store)
    for number in some_of(counter.changes, examples):
        cut = ExpiryBench(shutil.copytree(bench.root, tmp_path / "cut"))
        faulty = FaultyStore(inner=kind(cut.root), fault=At(call=number))
        with pytest.raises(Killed):
            cut.run("undo", "back", LATER, {"operation": "drop"}, faulty.store)
        recover_table(cut.warehouse(kind(cut.root), lambda: LATER + 100_000), cut.table())
        if not cut.table().branches.exists("dev"):
            cut.run("undo", "twice", LATER, {"operation": "drop"}, kind(cut.root))
        assert world(cut) == before, counter.changes[number - 1]
        assert cut.broken() == []
        shutil.rmtree(cut.root)


def tear_snapshot(bench: ExpiryBench) -> None:
    Path(bench.table("other").paths.snapshot(2)).write_text("{")


def tear_tag(bench: ExpiryBench) -> None:
    bench.tag("v2", branch="other")
    Path(bench.table("other").paths.tag("v2")).write_text("{")


def lose_list(bench: ExpiryBench) -> None:
    table = bench.table("other")
    Path(table.paths.manifest(table.snapshots.get(2).delta_manifest_list)).unlink()


def tear_manifest(bench: ExpiryBench) -> None:
    table = bench.table("other")
    listed = table.scan.read_list(table.paths, table.snapshots.get(2).delta_manifest_list)
    Path(table.paths.manifest(listed["file_name"][0].as_py())).write_bytes(b"Obj")


def lose_schemas(bench: ExpiryBench) -> None:
    """Where the branch has changelogs of its own, its options say how they are read."""
    paths = bench.table("other").paths
    Path(paths.changelog_dir).mkdir()
    shutil.copy(paths.snapshot(2), f"{paths.changelog_dir}/changelog-1")
    shutil.rmtree(paths.schema_dir)


DAMAGES = [tear_snapshot, tear_tag, lose_list, tear_manifest, lose_schemas]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_broken_branch_stops_the_others_by_its_name_until_it_is_removed(
    bench: ExpiryBench, damage: Callable[[ExpiryBench], None]
) -> None:
    damage(bench)
    broken = ExpiryBench(bench.root)
    words = (
        "Branch 'other' of db.t is broken and may need any file, so no file may leave the table: "
        "restore it from a copy, or run branch-console drop-branch db.t other --reclaim."
    )
    for _ in range(2):
        with pytest.raises(FormatError, match=re.escape(words)):
            look(broken)
        with pytest.raises(FormatError, match=re.escape(words)):
            broken.run("remove_orphan_files", "clean", LATER, {"grace": "0 s"})
    # What it says to do works, and nothing that another branch needs goes.
    preview = look(broken, branch="other", grace="0 s")
    told = [
        each
        for each in preview.consequences
        if "Some metadata to be removed cannot be read" in each.text
    ]
    assert len(told) == 1
    ask(broken, operation="other", branch="other", grace="0 s")
    fresh = ExpiryBench(bench.root)
    assert fresh.table().branches.names() == ("dev",)
    assert fresh.broken() == []
    assert {"a", "b", "c", "d", "f"} <= fresh.data_names()
    # Nothing stands in the way of the others any more.
    fresh.run("remove_orphan_files", "clean", LATER + 1, {"grace": "0 s"})
    ask(fresh, operation="dev", now=LATER + 2, grace="0 s")
    assert ExpiryBench(bench.root).broken() == []
    assert fresh.data_names() - {"e"} == {"a", "f"}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_broken_branch_is_brought_back_within_the_grace_and_goes_with_the_first_expiry_after_it(
    bench: ExpiryBench, damage: Callable[[ExpiryBench], None]
) -> None:
    damage(bench)
    before = world(bench)
    broken = ExpiryBench(bench.root)
    ask(broken, operation="other", branch="other")
    broken.run("undo", "back", LATER + 1, {"operation": "other"})
    assert world(broken) == before
    ask(broken, operation="again", now=LATER + 2, branch="other")
    if damage is not lose_schemas:
        # Undo is promised, so nobody may take a file before it ends.
        with pytest.raises(
            FormatError, match="wait until undo of operation again, which took it, ends"
        ):
            ask(broken, now=LATER + 3, grace="0 s")
    broken.expire("after", now=LATER + 2 + _GRACE)
    assert not Path(broken.table().paths.retired_dir).is_dir() or not list(
        Path(broken.table().paths.retired_dir).iterdir()
    )
    ask(broken, operation="dev", now=LATER + 3 + _GRACE, grace="0 s")
    assert ExpiryBench(bench.root).broken() == []
    assert broken.table().branches.names() == ()


def test_a_kill_while_a_broken_branch_goes_takes_nothing_that_another_needs(
    bench: ExpiryBench,
) -> None:
    tear_manifest(bench)
    counter = FaultyStore(inner=store_of(shutil.copytree(bench.root, bench.root.parent / "clean")))
    clean = ExpiryBench(bench.root.parent / "clean")
    ask(clean, branch="other", grace="0 s", store=counter.store)
    for number in range(1, len(counter.changes) + 1, 2):
        cut = ExpiryBench(shutil.copytree(bench.root, bench.root.parent / f"{number}"))
        faulty = FaultyStore(inner=store_of(cut.root), fault=At(call=number, when=When.AFTER))
        with pytest.raises(Killed):
            ask(cut, branch="other", grace="0 s", store=faulty.store)
        recover_table(cut.warehouse(clock=lambda: LATER + 3_600_000), cut.table())
        if "other" in cut.table().branches.names():
            ask(cut, "drop_branch", "again", branch="other", grace="0 s", now=LATER + 7_200_000)
        assert cut.broken() == [], counter.changes[number - 1]
        assert {"a", "b", "c", "d", "f"} <= cut.data_names()
        shutil.rmtree(cut.root)
