"""What a page says of a branch that it was open on and that the table no longer has."""

import shutil
from pathlib import Path

import pytest

from branch_console.format.followed_branch import find_departed, renamed_since
from branch_console_app.models.branches.lost_branches import LostBranch, tell_lost
from tests.support.branch_bench import NOW, BranchBench
from tests.support.lifecycle import run, undo_chance

LATER = NOW + 60_000


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.branch("dev")
    bench.append("b", branch="dev")
    return bench


def look(bench: BranchBench, name: str = "dev") -> LostBranch | None:
    """What the page says, from the ledger as it is written and what undo would do."""
    bench = BranchBench(Path(bench.file_io.root))
    table = bench.table()
    departed = find_departed(table.ledger.whole_as_written(), name)
    if departed is None:
        return None
    drop = departed.dropped_by
    return tell_lost(
        name,
        departed,
        ("main", *table.branches.names()),
        LATER,
        can_undo_drop=drop is not None and undo_chance(bench, drop.operation_id).obstacle is None,
    )


def remove_outside(bench: BranchBench, name: str) -> None:
    """Remove a branch as Paimon does: the ledger does not hear of it."""
    shutil.rmtree(bench.table(name).paths.root)


def step(bench: BranchBench, minute: int, actor: str, verb: str, **arguments: str | bool) -> None:
    run(bench, verb, f"op{minute}", actor=actor, now=NOW + minute * 1000, **arguments)


def test_a_renamed_branch_leads_to_its_name_of_today(bench: BranchBench) -> None:
    step(bench, 1, "ada", "rename_branch", branch="dev", to="work")
    step(bench, 2, "bo", "rename_branch", branch="work", to="final")
    told = look(bench)
    assert told is not None
    assert told.said.startswith("**Branch `dev` is now `final`.** ada renamed it ")
    assert (told.now, told.restored_by) == ("final", None)


def test_a_branch_that_was_dropped_under_its_next_name_says_so_and_can_be_restored(
    bench: BranchBench,
) -> None:
    step(bench, 1, "ada", "rename_branch", branch="dev", to="work")
    step(bench, 2, "bo", "drop_branch", branch="work")
    told = look(bench)
    assert told is not None
    assert told.said.startswith("**Branch `dev` was dropped.** bo dropped it ")
    assert told.said.endswith(
        " It was `work` by then. Rescue branch `rescue-op2` keeps all it had."
    )
    assert (told.now, told.restored_by) == (None, "op2")
    step(bench, 3, "bo", "undo", operation="op2")
    back = look(bench)
    assert back is not None
    assert back.now == "work"


def test_a_branch_whose_files_went_with_it_has_no_name_to_go_on_with(bench: BranchBench) -> None:
    step(bench, 1, "ada", "rename_branch", branch="dev", to="work")
    step(bench, 2, "bo", "drop_branch", branch="work", reclaim=True, grace="0 s")
    told = look(bench)
    assert told is not None
    assert told.said.startswith("**Branch `dev` was dropped.** bo dropped it ")
    assert told.said.endswith(" It was `work` by then.")
    assert (told.now, told.restored_by) == (None, None)


def test_a_drop_with_reclaim_can_be_restored_within_its_grace(bench: BranchBench) -> None:
    step(bench, 1, "bo", "drop_branch", branch="dev", reclaim=True)
    told = look(bench)
    assert told is not None
    assert told.said.startswith("**Branch `dev` was dropped.** bo dropped it ")
    assert (told.now, told.restored_by) == (None, "op1")


def test_a_drop_whose_rescue_branch_was_released_is_told_without_a_way_back(
    bench: BranchBench,
) -> None:
    step(bench, 1, "bo", "drop_branch", branch="dev")
    run(bench, "release_branch", "op2", now=NOW + 8 * 86_400_000, branch="rescue-op1", grace="0 s")
    told = look(bench)
    assert told is not None
    assert told.said.startswith("**Branch `dev` was dropped.** bo dropped it ")
    assert "keeps all it had" not in told.said
    assert (told.now, told.restored_by) == (None, None)


def test_a_drop_whose_rescue_branch_got_a_name_leads_to_it(bench: BranchBench) -> None:
    step(bench, 1, "bo", "drop_branch", branch="dev")
    step(bench, 2, "eve", "rename_branch", branch="rescue-op1", to="found")
    told = look(bench)
    assert told is not None
    assert told.said.startswith("**Branch `dev` is now `found`.** bo dropped it ")
    assert told.said.endswith(" Its rescue branch was renamed since.")
    assert (told.now, told.restored_by) == ("found", None)
    # No operation renamed dev itself.
    assert renamed_since(bench.table().ledger.whole_as_written(), "dev") is None


def test_a_branch_that_came_back_and_was_removed_outside_is_only_not_found(
    bench: BranchBench,
) -> None:
    step(bench, 1, "bo", "drop_branch", branch="dev")
    step(bench, 2, "eve", "undo", operation="op1")
    remove_outside(bench, "dev")
    assert look(bench) is None


def test_a_name_that_was_used_again_and_removed_outside_is_only_not_found(
    bench: BranchBench,
) -> None:
    step(bench, 1, "ada", "rename_branch", branch="dev", to="work")
    step(bench, 2, "eve", "create_branch", branch="dev")
    remove_outside(bench, "dev")
    assert look(bench) is None


def test_a_new_name_that_was_removed_outside_is_only_not_found(bench: BranchBench) -> None:
    step(bench, 1, "ada", "rename_branch", branch="dev", to="work")
    remove_outside(bench, "work")
    assert look(bench) is None


def test_a_name_that_other_software_used_again_is_only_not_found(bench: BranchBench) -> None:
    """The ledger has no birth of it, but what happened to it since."""
    step(bench, 1, "ada", "rename_branch", branch="dev", to="work")
    shutil.copytree(bench.table("work").paths.root, bench.table("dev").paths.root)
    bench = BranchBench(Path(bench.file_io.root))
    step(bench, 2, "eve", "rollback", table="db.t$branch_dev", snapshot=1)
    remove_outside(bench, "dev")
    assert look(bench) is None


def test_a_rule_for_a_name_does_not_hide_where_its_branch_went(bench: BranchBench) -> None:
    step(bench, 1, "ada", "rename_branch", branch="dev", to="work")
    step(bench, 2, "ada", "protect_branch", branch="dev")
    told = look(bench)
    assert told is not None
    assert told.now == "work"
