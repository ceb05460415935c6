"""What moved a head is taken back to the byte, or refused with what stands in the way."""

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.journal import Journal
from branch_console.errors import CommitConflict, InvalidInput, NotAllowed, NotFound, Refused
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Receipt
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.undo.undo import UndoChance
from tests.support.branch_bench import BranchBench, store_of
from tests.support.commit_tables import data_files, message
from tests.support.faulty_store import FaultyStore
from tests.support.lifecycle import (
    metadata,
    preview,
    run,
    undo_chance,
    without_hints,
    without_renames,
)

StoreOf = Callable[[Path], CommitStore]


@pytest.fixture(params=[store_of, without_renames], ids=["renames", "copies"])
def bench(tmp_path: Path, request: pytest.FixtureRequest) -> BranchBench:
    """Main at 2, dev ahead by two commits, a schema and a tag; `kept` stands on main's 2."""
    # Where no engine expires snapshots, merged files are shared: those of the bench are not there.
    options = {"write-only": "true"}
    bench = BranchBench(tmp_path, store=request.param(tmp_path), options=options)
    bench.append("a")
    bench.branch("dev")
    bench.append("b", branch="dev")
    bench.alter("dev")
    bench.tag("v1", "dev")
    bench.append("c", branch="dev")
    return bench


def diverge(bench: BranchBench) -> None:
    """Main gets a commit, a schema and a tag that mean something else on dev."""
    bench.append("x", user="etl")
    bench.alter("main", "other")
    bench.tag("v1")
    bench.branch("kept")
    bench.append("y", user="etl")


def fast_forward(bench: BranchBench) -> Receipt:
    return run(bench, "fast_forward", branch="dev")


def force(bench: BranchBench) -> Receipt:
    return run(bench, "fast_forward", branch="dev", force=True)


def merge_dev(bench: BranchBench) -> Receipt:
    return run(bench, "merge_branch", branch="dev")


def replace_main(bench: BranchBench) -> Receipt:
    return run(bench, "replace_main", branch="dev")


def roll_back(bench: BranchBench) -> Receipt:
    return run(bench, "rollback", snapshot=1)


def cut_back(bench: BranchBench) -> Receipt:
    return run(bench, "rollback", snapshot=1, cut=True)


@pytest.mark.parametrize("verb", [fast_forward, force, replace_main, roll_back, cut_back])
def test_undo_brings_back_every_byte(
    bench: BranchBench, verb: Callable[[BranchBench], Receipt]
) -> None:
    if verb is not fast_forward:
        diverge(bench)
    before = metadata(bench)
    done = verb(bench)
    assert metadata(bench) != before
    assert preview(bench, "undo", "back", operation="op").rescues
    undone = run(bench, "undo", "back", operation="op")
    assert undone.rescue_branch == "rescue-back"
    assert "rescue-back" in bench.table().branches.names()
    after = metadata(bench)
    rescues = ("/branch-rescue-", "/manifest/")
    more = {name for name in after if name not in before}
    assert all(any(part in name for part in rescues) for name in more)
    assert {name: after[name] for name in before} == before
    assert undone.moves[0].after == done.moves[0].before
    event = bench.table().ledger.events()[-1]
    assert LineageKind.UNDONE in {event.kind, bench.table().ledger.events()[-2].kind}
    assert run(bench, "undo", "twice", operation="op") == undone
    assert metadata(bench) == after


def test_the_chance_of_an_undo_is_what_undo_does(bench: BranchBench) -> None:
    run(bench, "create_branch", "made", branch="new")
    fast_forward(bench)
    assert undo_chance(bench, "op") == UndoChance(obstacle=None)
    told = {"made": "drop the branch instead", "none": "has no operation 'none'"}
    run(bench, "undo", "back", operation="op")
    told |= {"op": "was undone already, by operation back", "back": "run again what it took back"}
    for operation_id, words in told.items():
        assert words in str(undo_chance(bench, operation_id).obstacle)
    for operation_id in ("made", "back", "none"):
        with pytest.raises((InvalidInput, NotFound), match=told[operation_id]):
            run(bench, "undo", f"again-{operation_id}", operation=operation_id)


@pytest.mark.parametrize("verb", [fast_forward, force, replace_main, roll_back])
def test_readers_of_what_leaves_are_named(
    bench: BranchBench, verb: Callable[[BranchBench], Receipt]
) -> None:
    if verb is not fast_forward:
        diverge(bench)
    first = {fast_forward: 2, force: 2, replace_main: 2, roll_back: 4}[verb]
    verb(bench)
    paths = bench.table().paths
    for name, following in (("past", first + 1), ("next", first)):
        content = b'{"nextSnapshot" : %d}' % following
        bench.store.publisher.publish(paths.consumer(name), content)
    bench.store.publisher.publish(paths.consumer("torn"), b"{")
    found = preview(bench, "undo", operation="op")
    assert found.can_run
    (told,) = (each for each in found.consequences if "consumer" in each.text)
    assert told.text == "1 consumer of 'main' would read snapshots of another history."
    assert told.details == (f"consumer past reads {first + 1} next",)


@pytest.mark.parametrize("verb", [force, replace_main])
def test_what_another_branch_stands_on_never_leaves_main(
    bench: BranchBench, verb: Callable[[BranchBench], Receipt]
) -> None:
    diverge(bench)
    base = Path(bench.table().paths.tag("branch-base-kept")).read_bytes()
    receipt = verb(bench)
    assert Path(bench.table().paths.tag("branch-base-kept")).read_bytes() == base
    assert any("'branch-base-kept' stays on 'main'" in note for note in receipt.notes)
    assert bench.table().tags.get("v1").snapshot.id == 2
    assert bench.live_names("kept") == {"data-a.parquet", "data-x.parquet"}


def test_main_becomes_the_branch_and_the_old_one_is_kept(bench: BranchBench) -> None:
    diverge(bench)
    found = preview(bench, "replace_main", branch="dev")
    assert (found.typed_name, str(found.role)) == ("main", "operator")
    old, live = bench.live_names(), bench.live_names("dev")
    receipt = run(bench, "replace_main", branch="dev", plan_id=found.plan_id)
    assert bench.live_names() == live
    assert bench.table().snapshots.ids() == bench.table("dev").snapshots.ids() == (1, 2, 3)
    assert bench.live_names("rescue-op") == old
    assert (receipt.counts.snapshots_removed, receipt.counts.files_verified) == (2, 2)


def test_main_may_be_replaced_by_what_it_once_was(bench: BranchBench) -> None:
    run(bench, "create_branch", "make", branch="old")
    bench.append("x")
    run(bench, "replace_main", branch="old")
    assert bench.table().snapshots.ids() == (1,)
    assert bench.live_names("rescue-op") == {"data-a.parquet", "data-x.parquet"}
    with pytest.raises(Refused, match="the history of 'old' already"):
        run(bench, "replace_main", "again", branch="old")


def test_replacing_is_for_operators_and_of_a_protected_main_for_its_owner(
    bench: BranchBench,
) -> None:
    with pytest.raises(NotAllowed, match="asks for operator"):
        run(bench, "replace_main", branch="dev", role="approver")
    run(bench, "protect_branch", "on", branch="main", actor="bob")
    with pytest.raises(Refused, match="only bob may replace it") as caught:
        run(bench, "replace_main", branch="dev")
    assert caught.value.kind == "PROTECTED"
    with pytest.raises(NotAllowed, match="asks for approver"):
        run(bench, "fast_forward", branch="dev", role="editor")
    run(bench, "replace_main", "his", branch="dev", actor="bob")


def test_a_branch_without_snapshots_replaces_nothing(bench: BranchBench) -> None:
    run(bench, "create_branch", "make", branch="bare", empty=True)
    with pytest.raises(Refused, match="'bare' has no snapshot"):
        run(bench, "replace_main", branch="bare")


def test_a_newer_commit_blocks_the_undo_and_is_named(bench: BranchBench) -> None:
    run(bench, "fast_forward", branch="dev")
    bench.append("z", user="etl")
    found = preview(bench, "undo", "back", operation="op")
    assert [each.details for each in found.blocks] == [("snapshot 4 by etl",)]
    before = metadata(bench)
    with pytest.raises(Refused, match="'main' moved since, and is at snapshot 4") as caught:
        run(bench, "undo", "back", operation="op")
    assert caught.value.kind == "UNDO_BLOCKED"
    assert metadata(bench) == before


def test_an_altered_table_blocks_the_undo(bench: BranchBench) -> None:
    run(bench, "fast_forward", branch="dev")
    bench.alter("main", "later")
    with pytest.raises(Refused, match="was altered since"):
        run(bench, "undo", "back", operation="op")


def test_a_rescue_that_is_dropped_blocks_the_undo_until_it_is_back(bench: BranchBench) -> None:
    diverge(bench)
    run(bench, "replace_main", branch="dev")
    found = preview(bench, "drop_branch", branch="rescue-op")
    assert any("Operation op can then not be undone" in each.text for each in found.consequences)
    run(bench, "drop_branch", "gone", branch="rescue-op")
    with pytest.raises(Refused, match="branch 'rescue-op' is gone"):
        run(bench, "undo", "back", operation="op")


def test_tags_made_since_stay(bench: BranchBench) -> None:
    bench.append("later")
    run(bench, "rollback", snapshot=1, cut=True)
    bench.tag("mine")
    run(bench, "undo", "back", operation="op")
    assert bench.table().tags.get("mine").snapshot.id == 1


def test_a_tag_that_was_brought_and_moved_since_stays(bench: BranchBench) -> None:
    run(bench, "fast_forward", branch="dev")
    run(bench, "create_tag", "move", tag="v1", snapshot=1, replace=True)
    found = preview(bench, "undo", "back", operation="op")
    assert ("Tags that were moved since stay where they are.", ("v1",)) in [
        (each.text, each.details) for each in found.consequences
    ]
    run(bench, "undo", "back", operation="op")
    assert bench.table().tags.get("v1").snapshot.id == 1
    assert bench.table().snapshots.ids() == (1,)


def test_the_undo_of_a_merge_names_it_and_says_what_goes_and_where_it_is_kept(
    bench: BranchBench,
) -> None:
    fast_forward(bench)
    found = preview(bench, "undo", "back", operation="op")
    assert found.title == "Undo the merge of 'dev' into 'main' of db.t"
    texts = [each.text for each in found.consequences]
    assert texts[:2] == ["'main' goes back to snapshot 1, exactly as it was.",
                         "'main' loses 2 snapshots."]  # fmt: skip
    assert texts[-1].startswith("All that is removed is kept on a new rescue branch.")
    assert found.undo == "To take this undo back, merge 'dev' again."
    done = run(bench, "undo", "back", operation="op")
    assert "The merge of 'dev' into 'main' is undone." in done.notes


def test_of_two_who_undo_one_operation_at_once_one_does(
    bench: BranchBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(bench, "fast_forward", branch="dev")
    begin = Operation.begin

    def after_another(*given: Any, **more: Any) -> Operation:
        monkeypatch.setattr(Operation, "begin", begin)
        run(bench, "undo", "quick", operation="op")
        return begin(*given, **more)

    monkeypatch.setattr(Operation, "begin", after_another)
    with pytest.raises(CommitConflict, match="quick undoes operation op too, and was first"):
        run(bench, "undo", "slow", operation="op")
    events = bench.table().ledger.events()
    assert [each.operation_id for each in events if each.undoes == "op"] == ["quick"]
    assert bench.table().branches.names() == ("dev", "rescue-quick")
    assert Journal(bench.store, bench.table().paths).unfinished() == ()


def test_a_tag_made_since_blocks_where_the_schema_it_is_read_by_would_leave(
    bench: BranchBench,
) -> None:
    run(bench, "fast_forward", branch="dev")
    bench.tag("mine")
    found = preview(bench, "undo", "back", operation="op")
    assert ("mine",) in [each.details for each in found.consequences]
    with pytest.raises(Refused, match="need schemas that would leave"):
        run(bench, "undo", "back", operation="op")
    assert bench.table().snapshots.latest_id() == 3


@pytest.mark.parametrize("is_dropped", [False, True], ids=["stands", "dropped"])
@pytest.mark.parametrize("verb", [fast_forward, merge_dev])
def test_a_tag_of_before_does_not_hold_an_undo_up_where_nothing_was_replaced(
    bench: BranchBench, verb: Callable[[BranchBench], Receipt], is_dropped: bool
) -> None:
    """Main has the pin of a branch that began at a schema which the operation brings."""
    if verb is merge_dev:
        bench.append("x")
        # The pin of `fix` would hide one of main.
        bench.fence()
    bench.branch("fix", from_branch="dev")
    run(bench, "pin_branch", "pin", branch="fix")
    before = without_hints(bench)
    verb(bench)
    if is_dropped:
        run(bench, "drop_branch", "gone", branch="fix")
    run(bench, "undo", "back", operation="op")
    after = without_hints(bench)
    left = {name: data for name, data in before.items() if "/branch-fix/" not in name}
    assert {name: after.get(name) for name in left} == left
    assert bench.table().schemas.ids() == (0,)


def test_a_tag_of_before_that_was_moved_since_blocks_an_undo(bench: BranchBench) -> None:
    foreign = Path(bench.table("dev").paths.snapshot(3)).read_bytes()
    bench.store.publisher.publish(bench.table().paths.tag("theirs"), foreign)
    bench.append("d", branch="dev")
    fast_forward(bench)
    assert preview(bench, "undo", operation="op").can_run
    run(bench, "create_tag", "move", tag="theirs", snapshot=4, replace=True)
    found = preview(bench, "undo", operation="op")
    assert [each.details for each in found.blocks] == [("tag theirs",)]


@pytest.mark.parametrize("is_dropped", [False, True], ids=["stands", "dropped"])
def test_a_branch_that_was_made_since_does_not_hold_an_undo_up(
    bench: BranchBench, is_dropped: bool
) -> None:
    """Its base tag stays and keeps its files; it is read on the branch, by the schema there."""
    fast_forward(bench)
    bench.branch("fix")
    live = bench.live_names("fix")
    if is_dropped:
        run(bench, "drop_branch", "gone", branch="fix")
    run(bench, "undo", "back", operation="op")
    if is_dropped:
        run(bench, "undo", "there", operation="gone")
    assert (bench.table().snapshots.ids(), bench.table().schemas.ids()) == ((1,), (0,))
    assert bench.table().tags.get("branch-base-fix").snapshot.id == 3
    assert bench.live_names("fix") == live
    bench.append("more", branch="fix")
    run(bench, "merge_branch", "again", branch="fix")
    assert bench.live_names() == live | {"data-more.parquet"}


def test_an_undo_asks_for_the_role_of_what_it_undoes(bench: BranchBench) -> None:
    diverge(bench)
    run(bench, "replace_main", branch="dev")
    with pytest.raises(NotAllowed, match="asks for operator"):
        run(bench, "undo", "back", operation="op", role="approver")


def test_what_cannot_be_undone_says_what_to_do(bench: BranchBench) -> None:
    with pytest.raises(InvalidInput, match="drop the branch instead"):
        run(bench, "undo", operation="make-dev")
    with pytest.raises(NotFound, match="no operation 'nope'"):
        run(bench, "undo", operation="nope")


def test_tags_come_back_and_go_again(bench: BranchBench) -> None:
    run(bench, "create_tag", "make", tag="t", snapshot=1)
    run(bench, "fast_forward", "ff", branch="dev")
    first = metadata(bench)
    run(bench, "create_tag", "move", tag="t", snapshot=2, replace=True)
    run(bench, "undo", "unmove", operation="move")
    assert metadata(bench) == first
    run(bench, "delete_tag", "delete", tag="t")
    run(bench, "undo", "undelete", operation="delete")
    assert metadata(bench) == first
    run(bench, "undo", "unmake", operation="make")
    assert "t" not in bench.table().tags.names()


@pytest.mark.parametrize(
    "verb",
    [
        force,
        *(pytest.param(each, marks=pytest.mark.depth("full")) for each in (replace_main, cut_back)),
    ],
)
def test_a_commit_in_between_is_never_lost_and_leaves_no_hole(
    tmp_path: Path, verb: Callable[[BranchBench], Receipt]
) -> None:
    """A writer commits before each change in turn; main stays a history, and so does the rescue."""
    origin = tmp_path / "origin"
    built = BranchBench(origin)
    built.append("a")
    built.branch("dev")
    built.append("b", branch="dev")
    diverge(built)
    clean = BranchBench(_copied(origin, tmp_path / "clean"))
    counter = FaultyStore(inner=clean.store)
    clean.store = counter.store
    verb(clean)
    for number, change in enumerate(counter.changes, 1):
        bench = BranchBench(_copied(origin, tmp_path / "between"))
        inner = bench.store
        before = bench.live_names()

        def commit(root: Path = tmp_path / "between") -> None:
            writer = BranchBench(root).committer()
            writer.commit([message(new_files=data_files(["etl"]))], user="etl", identifier=7)

        bench.store = FaultyStore(inner=inner, meanwhile={number: commit}).store
        with contextlib.suppress(CommitConflict):
            verb(bench)
        bench.store = inner
        _check_histories(bench, before | {"data-etl.parquet"}, change)


def _check_histories(bench: BranchBench, wanted: set[str], where: str) -> None:
    seen: set[str] = set()
    for ref in bench.table().branches.all():
        branch = bench.table(ref.branch)
        ids = branch.snapshots.ids()
        assert list(ids) == list(range(ids[0], ids[-1] + 1)), (where, ref.branch, ids)
        for snapshot in branch.snapshots.all():
            branch.schemas.get(snapshot.schema_id)
            seen |= set(branch.live_files(snapshot)["file_name"].to_pylist())
    assert wanted <= seen, where
    assert Journal(bench.store, bench.table().paths).unfinished() == (), where


def _copied(origin: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    # Of links: no file of a table is ever changed in place.
    shutil.copytree(origin, to, copy_function=os.link)
    return to


def test_no_branch_is_left_without_the_snapshot_that_it_would_go_back_to(
    bench: BranchBench,
) -> None:
    fast_forward(bench)
    Path(bench.table().paths.snapshot(1)).unlink()
    before = metadata(bench)
    with pytest.raises(Refused, match=r"snapshot 1 of 'main', .* has expired"):
        run(bench, "undo", "back", operation="op")
    assert metadata(bench) == before


def test_a_pin_that_was_there_before_does_not_hold_an_undo_up(bench: BranchBench) -> None:
    """Main has the pin of a branch that began at a schema which main does not have."""
    bench.branch("fix", from_branch="dev")
    run(bench, "pin_branch", "pin", branch="fix")
    bench.append("x")
    before = without_hints(bench)
    run(bench, "replace_main", branch="dev")
    run(bench, "undo", "back", operation="op")
    after = without_hints(bench)
    assert {name: data for name, data in after.items() if "/branch-rescue-" not in name} == before
