"""Undo acts on the branch that an operation was about, whatever name it or another has by now."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.schema.schema_commit import change_schema, set_options
from branch_console.errors import Refused
from tests.support.branch_bench import NOW, BranchBench, store_of
from tests.support.lifecycle import metadata, preview, run, without_renames

DEV = "db.t$branch_dev"


@pytest.fixture(params=[store_of, without_renames], ids=["renames", "copies"])
def bench(tmp_path: Path, request: pytest.FixtureRequest) -> BranchBench:
    """Main at 1, dev two commits ahead."""
    make: Callable[[Path], CommitStore] = request.param
    bench = BranchBench(tmp_path, store=make(tmp_path))
    bench.append("a")
    bench.branch("dev")
    bench.append("b", branch="dev")
    bench.append("c", branch="dev")
    return bench


def cut(bench: BranchBench) -> None:
    run(bench, "rollback", table=DEV, snapshot=2, cut=True)


def add_one(bench: BranchBench) -> None:
    run(bench, "rollback", table=DEV, snapshot=2)


def tag(bench: BranchBench) -> None:
    run(bench, "create_tag", table=DEV, tag="v1")


def move_tag(bench: BranchBench) -> None:
    run(bench, "create_tag", table=DEV, tag="v1", replace=True)


def delete_tag(bench: BranchBench) -> None:
    run(bench, "delete_tag", table=DEV, tag="v1")


VERBS = (cut, add_one, tag, move_tag, delete_tag)


def first_tag(bench: BranchBench, verb: Callable[[BranchBench], None]) -> None:
    """Make the tag that some of the verbs change."""
    if verb in (move_tag, delete_tag):
        run(bench, "create_tag", "first", table=DEV, tag="v1", snapshot=2)


def files_of(bench: BranchBench, branch: str) -> dict[str, bytes]:
    """What a branch holds, but for hints."""
    root = Path(bench.table(branch).paths.root)
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.name not in ("LATEST", "EARLIEST")
    }


def namesake(bench: BranchBench, of: str = "old") -> None:
    """Make another branch of the name `dev` that holds what the first one held."""
    bench.call("create_branch", operation="namesake", branch="dev", from_branch=of)
    if "v1" in bench.table(of).tags.names():
        run(bench, "create_tag", "theirs", table=DEV, tag="v1")


def refused(bench: BranchBench, match: str, operation: str = "op") -> None:
    before = metadata(bench)
    assert not preview(bench, "undo", "back", operation=operation).can_run
    with pytest.raises(Refused, match=match) as caught:
        run(bench, "undo", "back", operation=operation)
    assert caught.value.kind == "UNDO_BLOCKED"
    assert metadata(bench) == before


@pytest.mark.parametrize("verb", VERBS)
def test_a_renamed_branch_is_taken_back_and_not_its_namesake(
    bench: BranchBench, verb: Callable[[BranchBench], None]
) -> None:
    first_tag(bench, verb)
    before = files_of(bench, "dev")
    verb(bench)
    run(bench, "rename_branch", "away", branch="dev", to="old")
    namesake(bench)
    theirs, wanted = files_of(bench, "dev"), set(before)
    receipt = run(bench, "undo", "back", operation="op")
    assert files_of(bench, "dev") == theirs
    after = files_of(bench, "old")
    assert {name: after.get(name) for name in wanted} == before
    # The namesake stands on a tag of its own.
    assert set(after) - wanted <= {"tag/tag-branch-base-dev-2"}
    assert [move.branch for move in receipt.moves] in ([], ["old"])
    assert bench.table().ledger.whole_as_written()[-1].branch in ("old", "rescue-back")


def test_a_fast_forward_of_a_renamed_branch_is_taken_back(bench: BranchBench) -> None:
    before = files_of(bench, "dev")
    bench.branch("ahead", from_branch="dev")
    bench.append("d", branch="ahead")
    run(bench, "fast_forward", branch="ahead", target="dev")
    run(bench, "rename_branch", "away", branch="dev", to="old")
    namesake(bench)
    theirs = files_of(bench, "dev")
    run(bench, "undo", "back", operation="op")
    assert files_of(bench, "dev") == theirs
    assert bench.table("old").snapshots.ids() == (1, 2, 3)
    assert before.items() <= files_of(bench, "old").items()


@pytest.mark.parametrize("verb", VERBS)
def test_a_dropped_branch_is_brought_back_first(
    bench: BranchBench, verb: Callable[[BranchBench], None]
) -> None:
    first_tag(bench, verb)
    verb(bench)
    run(bench, "drop_branch", "gone", branch="dev")
    refused(bench, "branch 'dev' is gone: operation gone dropped it. Undo operation gone first")
    namesake(bench, "rescue-gone")
    refused(bench, "operation gone dropped it, and another branch has its name now")
    run(bench, "rename_branch", "away", branch="dev", to="other")
    run(bench, "undo", "return", operation="gone")
    theirs = files_of(bench, "other")
    run(bench, "undo", "back", operation="op")
    assert files_of(bench, "other") == theirs


@pytest.mark.parametrize("verb", VERBS)
def test_what_other_software_removed_is_not_taken_back_on_its_namesake(
    bench: BranchBench, verb: Callable[[BranchBench], None]
) -> None:
    first_tag(bench, verb)
    verb(bench)
    bench.branch("other", from_branch="dev")
    shutil.rmtree(bench.table("dev").paths.root)
    refused(bench, "branch 'dev' is gone, and the ledger knows of no drop")
    namesake(bench, "other")
    refused(bench, "operation namesake gave its name to another branch")


def test_the_rescue_branch_is_followed_as_well(bench: BranchBench) -> None:
    before = files_of(bench, "dev")
    cut(bench)
    run(bench, "rename_branch", "keep", branch="rescue-op", to="kept")
    run(bench, "undo", "back", operation="op")
    assert files_of(bench, "dev") == before


def test_a_role_follows_the_present_name(bench: BranchBench) -> None:
    add_one(bench)
    assert str(preview(bench, "undo", "back", operation="op").role) == "editor"
    run(bench, "rename_branch", "away", branch="dev", to="live")
    run(bench, "protect_branch", "on", branch="live")
    assert str(preview(bench, "undo", "back", operation="op").role) == "approver"


def test_a_rename_is_taken_back_of_the_branch_that_was_renamed(bench: BranchBench) -> None:
    bench.branch("other")
    run(bench, "rename_branch", branch="dev", to="fix")
    run(bench, "rename_branch", "further", branch="fix", to="final")
    run(bench, "rename_branch", "theirs", branch="other", to="fix")
    final, fix = files_of(bench, "final"), files_of(bench, "fix")
    run(bench, "undo", "back", operation="op")
    assert bench.table().branches.names() == ("dev", "fix")
    assert (files_of(bench, "dev"), files_of(bench, "fix")) == (final, fix)


def test_a_rename_of_a_branch_that_has_its_old_name_is_refused(bench: BranchBench) -> None:
    run(bench, "rename_branch", branch="dev", to="fix")
    run(bench, "rename_branch", "again", branch="fix", to="dev")
    refused(bench, "branch 'dev' has that name again already")


@pytest.mark.parametrize("more", [{"empty": True}, {}])
def test_a_rename_of_a_dropped_branch_moves_no_other(
    bench: BranchBench, more: dict[str, bool]
) -> None:
    run(bench, "rename_branch", branch="dev", to="fix")
    run(bench, "drop_branch", "gone", branch="fix")
    bench.branch("fix", **more)
    refused(bench, "operation gone dropped it, and another branch has its name now")


def test_an_empty_branch_of_other_software_is_not_renamed(bench: BranchBench) -> None:
    run(bench, "rename_branch", branch="dev", to="fix")
    shutil.rmtree(bench.table("fix").paths.snapshot_dir)
    shutil.rmtree(bench.table("fix").paths.tag_dir)
    refused(bench, "branch 'fix' has no snapshot any more")


def test_a_drop_is_taken_back_from_a_renamed_rescue_branch(bench: BranchBench) -> None:
    before = files_of(bench, "dev")
    run(bench, "drop_branch", branch="dev")
    run(bench, "rename_branch", "keep", branch="rescue-op", to="kept")
    option = set_options({"scan.fallback-branch": "kept"})
    change_schema(bench.table(), bench.store, [option], now_millis=NOW)
    run(bench, "protect_branch", "on", branch="kept")
    with pytest.raises(Refused, match="'kept' is protected"):
        run(bench, "undo", "back", operation="op")
    run(bench, "protect_branch", "off", branch="kept", protected=False)
    run(bench, "undo", "back", operation="op")
    assert bench.table().branches.names() == ("dev",)
    assert files_of(bench, "dev") == before
    assert bench.table().schema().options["scan.fallback-branch"] == "dev"


def test_a_drop_whose_rescue_branch_is_dropped_says_which_to_undo_first(
    bench: BranchBench,
) -> None:
    run(bench, "drop_branch", branch="dev")
    run(bench, "drop_branch", "second", branch="rescue-op")
    refused(bench, "branch 'rescue-op' is gone: operation second dropped it")
