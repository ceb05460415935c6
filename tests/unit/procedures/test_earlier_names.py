"""What is said of a branch by a name that it had before, and of what was done under that name."""

from pathlib import Path

import pytest

from branch_console.errors import NotFound
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.browse.activity import read_table_events
from branch_console.procedures.browse.tables import read_table
from tests.support.branch_bench import BranchBench
from tests.support.lifecycle import metadata, preview, run

DEV = "db.t$branch_dev"
FIX = "db.t$branch_fix"


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Dev got a snapshot by operation `back`, and was renamed to fix by operation `away`."""
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.branch("dev")
    bench.append("b", branch="dev")
    bench.append("c", branch="dev")
    run(bench, "rollback", "back", table=DEV, snapshot=2)
    run(bench, "rename_branch", "away", branch="dev", to="fix")
    return bench


def head(bench: BranchBench, branch: str) -> Snapshot:
    found = bench.table(branch).head()
    assert found is not None
    return found


def test_an_operation_is_reverted_on_the_branch_as_it_is_called_now(bench: BranchBench) -> None:
    found = preview(bench, "revert", table=FIX, operation="back")
    assert (found.title, found.can_run) == ("Revert snapshot 4 of 'fix' of db.t", True)


def test_the_operation_of_a_renamed_branch_is_not_reverted_on_its_namesake(
    bench: BranchBench,
) -> None:
    bench.call("create_branch", operation="namesake", branch="dev", from_branch="fix")
    for each in ("p", "q"):
        bench.append(each, branch="dev")
    before = metadata(bench)
    for table in ("db.t", DEV):
        with pytest.raises(NotFound, match="It changed 'fix': revert it there"):
            run(bench, "revert", "again", table=table, operation="back")
    assert metadata(bench) == before


def test_what_took_the_number_of_an_operations_snapshot_is_not_reverted(
    bench: BranchBench,
) -> None:
    run(bench, "undo", operation="back")
    bench.append("others", branch="fix")
    assert head(bench, "fix").id == 4
    with pytest.raises(NotFound, match="Snapshot 4, which it added, was taken back"):
        run(bench, "revert", "again", table=FIX, operation="back")


def test_an_operation_of_a_branch_that_is_gone_names_the_drop(bench: BranchBench) -> None:
    run(bench, "drop_branch", "gone", branch="fix")
    with pytest.raises(NotFound, match="'dev' that is gone: operation gone dropped it"):
        run(bench, "revert", "again", operation="back")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("drop_branch", {"branch": "dev"}),
        ("rename_branch", {"branch": "dev", "to": "new"}),
        ("fast_forward", {"branch": "dev"}),
        ("merge_branch", {"branch": "dev"}),
        ("rollback", {"table": DEV, "snapshot": 2}),
        ("revert", {"table": DEV, "operation": "back"}),
    ],
)
def test_an_earlier_name_is_told_with_the_present_one(
    bench: BranchBench, name: str, arguments: dict[str, str]
) -> None:
    with pytest.raises(NotFound, match="Operation away renamed it; it is 'fix' now"):
        run(bench, name, **arguments)
    # Not where another branch had the name since.
    bench.call("create_branch", operation="namesake", branch="dev")
    run(bench, "drop_branch", "drop", branch="dev")
    with pytest.raises(NotFound, match=r"has no branch 'dev'\.$"):
        run(bench, name, **arguments)


def test_a_rule_for_an_earlier_name_says_what_it_does_not_cover(bench: BranchBench) -> None:
    (told, _) = preview(bench, "protect_branch", branch="dev").consequences
    assert told.text.endswith("Operation away renamed it; it is 'fix' now. Say that.")


def test_the_history_names_branches_as_they_were_called_at_the_time(bench: BranchBench) -> None:
    run(bench, "drop_branch", "gone", branch="fix")
    main = bench.table("main").identifier
    (ledger,) = read_table_events(bench.warehouse(), [main])
    listed = read_table(bench.warehouse(), main).events
    assert ledger.events == listed
    told = [(str(event.kind), event.branch) for event in listed]
    assert told == [
        ("forked", "dev"),
        ("rolled-back", "dev"),
        ("renamed", "fix"),
        ("dropped", "fix"),
    ]
