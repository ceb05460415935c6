import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.journal import Journal
from branch_console.commit.schema.schema_commit import change_schema, set_options
from branch_console.errors import AlreadyExists, CommitConflict, InvalidInput, NotFound, Refused
from branch_console.format.journals.intent import Intent
from branch_console.format.lineage_event import LineageKind
from branch_console.procedures.browse.branches import list_branches
from branch_console.procedures.browse.page_values import BranchItem
from branch_console.procedures.history.protection import protection_of
from branch_console.procedures.preview import Weight
from tests.support.branch_bench import NOW, BranchBench, store_of, tree
from tests.support.commit_tables import data_files, message
from tests.support.faulty_store import FaultyStore
from tests.support.lifecycle import metadata, preview, run, without_renames

StoreOf = Callable[[Path], CommitStore]


@pytest.fixture(params=[store_of, without_renames], ids=["renames", "copies"])
def store_kind(request: pytest.FixtureRequest) -> StoreOf:
    kind: StoreOf = request.param
    return kind


@pytest.fixture
def bench(tmp_path: Path, store_kind: StoreOf) -> BranchBench:
    """Main at 1, and dev two commits, a schema, a tag and a consumer ahead."""
    bench = BranchBench(tmp_path, store=store_kind(tmp_path))
    bench.append("a")
    bench.branch("dev", owner="ann")
    bench.append("b", branch="dev")
    bench.alter("dev")
    bench.tag("v2", "dev")
    bench.append("c", branch="dev", user="bob")
    consumer = bench.table("dev").paths.consumer("job")
    bench.store.publisher.publish(consumer, b'{"nextSnapshot" : 3}')
    return bench


def item(bench: BranchBench, name: str) -> BranchItem:
    found = {each.name: each for each in list_branches(bench.warehouse(), bench.identifier)}
    return found[name]


def snapshots_of(bench: BranchBench, branch: str) -> dict[str, bytes]:
    folder = Path(bench.table(branch).paths.snapshot_dir)
    return {each.name: each.read_bytes() for each in folder.glob("snapshot-*")}


def moved(files: dict[str, bytes], old: str, new: str) -> dict[str, bytes]:
    return {name.replace(f"/branch-{old}/", f"/branch-{new}/"): files[name] for name in files}


def fall_back_on(bench: BranchBench, branch: str, holder: str = "main") -> None:
    options = set_options({"scan.fallback-branch": branch})
    change_schema(bench.table(holder), bench.store, [options], now_millis=NOW)


def test_a_dropped_branch_is_whole_under_another_name(bench: BranchBench) -> None:
    before = metadata(bench)
    receipt = run(bench, "drop_branch", branch="dev", reason="done")
    assert receipt.rescue_branch == "rescue-op"
    assert bench.table().branches.names() == ("rescue-op",)
    assert metadata(bench) == moved(before, "dev", "rescue-op")
    event = bench.table().ledger.events()[-1]
    assert (event.kind, event.branch, event.reason) == (LineageKind.DROPPED, "dev", "done")
    assert event.base_tag == "branch-base-dev"
    assert event.before is not None
    assert "2 commits are in no other branch; the rescue branch keeps them." in receipt.notes
    assert any("snapshot 3" in note and "by bob" in note for note in receipt.notes)


def test_undo_of_a_drop_brings_back_every_byte_and_the_past(bench: BranchBench) -> None:
    before = metadata(bench)
    run(bench, "drop_branch", branch="dev")
    first = run(bench, "undo", "back", operation="op")
    assert metadata(bench) == before
    dev = item(bench, "dev")
    assert (dev.owner, dev.base_tag) == ("ann", "branch-base-dev")
    assert dev.fork is not None
    assert dev.fork.parent == "main"
    assert run(bench, "undo", "twice", operation="op") == first
    assert metadata(bench) == before


def test_undo_of_a_drop_waits_for_the_name(bench: BranchBench) -> None:
    run(bench, "drop_branch", branch="dev")
    run(bench, "create_branch", "new", branch="dev")
    with pytest.raises(Refused, match="there is a branch 'dev' again") as caught:
        run(bench, "undo", "back", operation="op")
    assert caught.value.kind == "UNDO_BLOCKED"
    run(bench, "rename_branch", "away", branch="dev", to="other")
    run(bench, "undo", "now", operation="op")
    assert bench.table().branches.names() == ("dev", "other")
    assert bench.table("dev").snapshots.latest_id() == 3
    assert bench.table("other").snapshots.latest_id() == 1


def test_a_drop_says_first_what_only_the_branch_has_and_that_it_is_kept(
    bench: BranchBench,
) -> None:
    """The rescue branch keeps commits and tags: to call them removed would contradict that."""
    found = preview(bench, "drop_branch", branch="dev")
    assert found.can_run
    assert found.typed_name == "dev"
    assert [(each.weight, each.text, len(each.details)) for each in found.consequences[:3]] == [
        (Weight.KEEPS, "2 commits are in no other branch; the rescue branch keeps them.", 2),
        (Weight.CHANGES, "Its tags move to the rescue branch.", 1),
        (Weight.LOSES, "Streaming readers stand on it, and will find nothing.", 1),
    ]
    assert not any("Expiry" in each.text for each in found.consequences)
    run(bench, "fast_forward", "ff", branch="dev")
    again = preview(bench, "drop_branch", branch="dev")
    assert not any("in no other branch" in each.text for each in again.consequences)
    assert again.plan_id != found.plan_id
    with pytest.raises(Refused, match="preview is out of date"):
        run(bench, "drop_branch", branch="dev", plan_id=found.plan_id)


def test_a_branch_that_an_option_names_stays(bench: BranchBench) -> None:
    fall_back_on(bench, "dev")
    before = tree(Path(bench.file_io.root))
    with pytest.raises(Refused, match=r"'scan\.fallback-branch' of 'main' names the branch"):
        run(bench, "drop_branch", branch="dev")
    with pytest.raises(Refused, match=r"'scan\.fallback-branch' of 'main' names 'dev'") as caught:
        run(bench, "rename_branch", branch="dev", to="new")
    assert caught.value.kind == "BRANCH_IN_USE"
    assert tree(Path(bench.file_io.root)) == before


def test_a_branch_that_another_was_made_from_stays_until_that_is_pinned(bench: BranchBench) -> None:
    bench.branch("child", from_branch="dev")
    with pytest.raises(Refused, match="'child' was made from it") as caught:
        run(bench, "drop_branch", branch="dev")
    assert caught.value.kind == "FILES_IN_USE"
    run(bench, "pin_branch", "pin", branch="child")
    run(bench, "drop_branch", "now", branch="dev")
    child = item(bench, "child")
    assert child.base_tag == "branch-base-child"
    # What it began at is on no branch any more: Paimon deletes its files with the last tag on it.
    assert "F03" in {each.rule for each in child.findings}
    run(bench, "pin_branch", "twin", branch="child", twin=True)
    child = item(bench, "child")
    assert child.base_tag == "branch-base-child"
    assert "F03" not in {each.rule for each in child.findings}


def test_a_protected_branch_is_neither_dropped_nor_renamed(bench: BranchBench) -> None:
    run(bench, "protect_branch", "on", branch="d*", reason="live")
    for name, more in (("drop_branch", {}), ("rename_branch", {"to": "new"})):
        with pytest.raises(Refused, match=r"protected by rule 'd\*' of ann \(reason: 'live'\)"):
            run(bench, name, branch="dev", **more)
    run(bench, "protect_branch", "off", branch="dev", protected=False)
    run(bench, "drop_branch", branch="dev")


def test_main_and_strangers_are_refused(bench: BranchBench) -> None:
    with pytest.raises(InvalidInput, match="main branch cannot be dropped"):
        run(bench, "drop_branch", branch="main")
    with pytest.raises(NotFound, match="no branch 'nope'"):
        run(bench, "rename_branch", branch="nope", to="new")
    run(bench, "create_branch", "make", branch="other")
    with pytest.raises(AlreadyExists, match="has a branch 'other' already"):
        run(bench, "rename_branch", branch="dev", to="other")
    with pytest.raises(InvalidInput, match="kept for the console's own branches"):
        run(bench, "rename_branch", branch="dev", to="rescue-me")


def test_a_renamed_branch_keeps_all_it_is_and_was(bench: BranchBench) -> None:
    run(bench, "protect_branch", "on", branch="dev")
    run(bench, "protect_branch", "off", branch="dev", protected=False)
    before = metadata(bench)
    run(bench, "rename_branch", branch="dev", to="fix", reason="a better name")
    assert metadata(bench) == moved(before, "dev", "fix")
    fix = item(bench, "fix")
    assert (fix.owner, fix.base_tag) == ("ann", "branch-base-dev")
    assert fix.fork is not None
    assert (fix.fork.parent, str(fix.fork.confidence)) == ("main", "recorded")
    run(bench, "protect_branch", "again", branch="fix")
    assert protection_of(bench.table().ledger.events(), "fix") is not None
    run(bench, "protect_branch", "not", branch="fix", protected=False)
    run(bench, "undo", "back", operation="op")
    assert metadata(bench) == before
    assert item(bench, "dev").owner == "ann"


def test_options_follow_a_rename_where_that_is_asked_for(bench: BranchBench) -> None:
    fall_back_on(bench, "dev")
    run(bench, "create_branch", "make", branch="other")
    receipt = run(bench, "rename_branch", branch="dev", to="fix", update_options=True)
    assert bench.table().schema().options["scan.fallback-branch"] == "fix"
    assert bench.table("other").schema().options["scan.fallback-branch"] == "fix"
    assert "Option 'scan.fallback-branch' of 'main' names it." in receipt.notes
    assert bench.table().branches.names() == ("fix", "other")
    run(bench, "undo", "back", operation="op")
    assert bench.table().schema().options["scan.fallback-branch"] == "dev"


@pytest.mark.parametrize(("name", "more"), [("drop_branch", {}), ("rename_branch", {"to": "fix"})])
def test_a_commit_in_between_stops_it_and_nothing_is_lost(
    bench: BranchBench, store_kind: StoreOf, name: str, more: dict[str, str]
) -> None:
    before = metadata(bench)
    clean = FaultyStore(inner=bench.store)
    run(bench, name, "count", store=clean.store, branch="dev", **more)
    run(bench, "undo", "uncount", operation="count")
    first_loss = next(
        number
        for number, change in enumerate(clean.changes, 1)
        if change.startswith(("move", "remove")) and "/branch-dev" in change
    )

    def commit() -> None:
        committer = bench.committer("dev")
        committer.commit([message(new_files=data_files(["etl"]))], user="etl", identifier=7)

    faulty = FaultyStore(inner=bench.store, meanwhile={first_loss: commit})
    with pytest.raises(CommitConflict) as caught:
        run(bench, name, store=faulty.store, branch="dev", **more)
    assert caught.value.kind == "HEAD_MOVED"
    assert bench.table().branches.names() == ("dev",)
    assert bench.table("dev").snapshots.get(4).commit_user == "etl"
    after = metadata(bench)
    hints = ("LATEST", "EARLIEST")
    assert {name: after.get(name) for name in before if not name.endswith(hints)} == {
        name: data for name, data in before.items() if not name.endswith(hints)
    }
    journal = Journal(bench.store, bench.table().paths)
    assert journal.unfinished() == ()
    with pytest.raises(CommitConflict):
        run(bench, name, branch="dev", **more)
    run(bench, name, "again", branch="dev", **more)


@pytest.mark.depth("full")
@pytest.mark.parametrize(("name", "more"), [("drop_branch", {}), ("rename_branch", {"to": "fix"})])
def test_a_commit_at_any_removal_of_a_long_branch_is_kept_with_all_that_was(
    tmp_path: Path, name: str, more: dict[str, str]
) -> None:
    origin = BranchBench(tmp_path / "origin", store=without_renames(tmp_path / "origin"))
    origin.append("a")
    origin.branch("dev")
    for number in range(20):
        origin.append(f"b{number}", branch="dev")
    before = snapshots_of(origin, "dev")
    clean = FaultyStore(inner=origin.store)
    run(origin, name, "count", store=clean.store, branch="dev", **more)
    run(origin, "undo", "uncount", operation="count")
    removals = [
        number
        for number, change in enumerate(clean.changes, 1)
        if change.startswith("remove") and "/branch-dev/snapshot/snapshot-" in change
    ]
    assert len(removals) == len(before)
    for number in removals:
        root = tmp_path / f"at-{number}"
        shutil.copytree(tmp_path / "origin", root)
        bench = BranchBench(root, store=without_renames(root))

        def commit(bench: BranchBench = bench) -> None:
            committer = bench.committer("dev")
            committer.commit([message(new_files=data_files(["etl"]))], user="etl", identifier=7)

        faulty = FaultyStore(inner=bench.store, meanwhile={number: commit})
        with pytest.raises(CommitConflict):
            run(bench, name, store=faulty.store, branch="dev", **more)
        # Where the commit took a number that was free by then, both are there to be looked at.
        branches = bench.table().branches.names()
        kept = [snapshots_of(bench, each) for each in branches]
        assert before in [{key: each[key] for key in before.keys() & each.keys()} for each in kept]
        heads = (bench.table("dev").head(), *bench.table("dev").snapshots.all())
        assert "etl" in {each.commit_user for each in heads if each is not None}
        assert Journal(bench.store, bench.table().paths).unfinished() == ()


def test_a_broken_branch_can_be_dropped(bench: BranchBench) -> None:
    Path(bench.table("dev").paths.snapshot(3)).write_text("{")
    run(bench, "drop_branch", branch="dev")
    assert bench.table().branches.names() == ("rescue-op",)


def test_a_repeated_click_drops_once(bench: BranchBench) -> None:
    first = run(bench, "drop_branch", branch="dev")
    run(bench, "create_branch", "make", branch="dev")
    assert run(bench, "drop_branch", branch="dev") == first
    assert bench.table().branches.names() == ("dev", "rescue-op")


@pytest.mark.parametrize("name", ["a.b", "größer", "x" * 120])
def test_a_name_that_we_would_not_give_is_dropped_and_restored(
    bench: BranchBench, name: str
) -> None:
    Path(bench.table("dev").paths.root).rename(bench.table(name).paths.root)
    before = metadata(bench)
    run(bench, "drop_branch", branch=name)
    run(bench, "undo", "back", operation="op")
    assert metadata(bench) == before


def test_a_name_is_free_though_its_maker_died_before_it_said_so(bench: BranchBench) -> None:
    journal = Journal(bench.store, bench.table().paths)
    assert journal.claim("fix", "make-dev") == "make-dev"
    run(bench, "rename_branch", branch="dev", to="fix")
    assert bench.table().branches.names() == ("fix",)


def test_a_name_that_is_being_given_is_not_given_twice(bench: BranchBench) -> None:
    before = metadata(bench)
    _begin(bench, "somebody", claims="fix")
    with pytest.raises(CommitConflict, match="Operation somebody makes a branch 'fix'"):
        run(bench, "rename_branch", branch="dev", to="fix")
    assert metadata(bench) == before


def test_a_name_is_free_though_a_power_cut_took_the_intent_of_its_maker(
    bench: BranchBench,
) -> None:
    Journal(bench.store, bench.table().paths).claim("fix", "somebody")
    run(bench, "rename_branch", branch="dev", to="fix")
    assert bench.table().branches.names() == ("fix",)


def test_a_name_is_claimed_along_with_the_intent(bench: BranchBench) -> None:
    _begin(bench, "first", claims="fix")
    _begin(bench, "second", claims="fix")
    journal = Journal(bench.store, bench.table().paths)
    assert {each.operation_id for each in journal.unfinished()} == {"first", "second"}
    assert journal.claim("fix", "second") == "first"
    journal.release("fix", "first")
    assert journal.claim("fix", "second") == "second"


def _begin(bench: BranchBench, operation_id: str, *, claims: str) -> None:
    intent = Intent(
        operation_id=operation_id,
        procedure="create_branch",
        actor="ann",
        branch=claims,
        statement="",
        time_millis=NOW,
        event_millis=NOW,
        plan={"claims": claims},
    )
    Journal(bench.store, bench.table().paths).begin(intent)


def test_the_undo_of_a_drop_names_the_branch_and_how_to_drop_it_again(bench: BranchBench) -> None:
    run(bench, "drop_branch", branch="dev")
    found = preview(bench, "undo", operation="op")
    assert found.title == "Undo the drop of 'dev' of db.t"
    assert found.undo == "To take this undo back, drop 'dev' again."


def test_the_undo_of_a_rename_names_both_names(bench: BranchBench) -> None:
    run(bench, "rename_branch", branch="dev", to="new")
    assert preview(bench, "undo", operation="op").title == (
        "Undo the rename of 'dev' to 'new' of db.t"
    )
