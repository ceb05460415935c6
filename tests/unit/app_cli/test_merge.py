"""Merging from the command line: what it tells people and programs, and how it ends."""

from pathlib import Path
from typing import Any

import pytest

from branch_console.format.identifier import Identifier
from branch_console.merge.file_moves import MergeRules
from branch_console.merge.plan import plan_object
from branch_console.procedures.merge.inputs import preview_merge
from branch_console_app.services import Services
from tests.support.branch_bench import BranchBench
from tests.support.command_line import CommandLine
from tests.support.commit_tables import message
from tests.support.lifecycle import metadata

TABLE = Identifier(database="db", table="t")
DEV = ("merge", "dev", "--table", "db.t")


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path / "warehouse", options={"write-only": "true"})
    bench.append("base")
    bench.branch("dev")
    return bench


@pytest.fixture
def diverged(bench: BranchBench) -> BranchBench:
    bench.append("theirs", branch="dev")
    bench.append("mine")
    return bench


@pytest.fixture
def colliding(bench: BranchBench) -> BranchBench:
    """The source deleted what it had, the target inserted: only a rule can tell what is meant."""
    head = bench.table("dev").head()
    assert head is not None
    gone = bench.table("dev").live_files(head)
    bench.committer("dev").commit([message(total_buckets=-1, deleted_files=gone)], user="bob")
    bench.append("mine")
    return bench


def test_the_verdict_comes_first_and_nothing_is_changed(
    console: CommandLine, diverged: BranchBench
) -> None:
    before = metadata(diverged)
    answer = console(*DEV, "--preview")
    assert answer.code == 0
    assert answer.lines[0] == "clean: No conflicts. dev becomes one new snapshot of main."
    fields = {line.split()[0]: line.split(maxsplit=1)[1] for line in answer.lines[2:]}
    assert fields["target"].startswith("main at 2 (")
    assert fields["source"].startswith("dev at 2 (")
    assert fields["buckets"] == "1 with files added"
    assert fields["files"] == "1 in, 0 out"
    assert fields["rows"] == "10 in, 0 out"
    assert fields["copied"] == "nothing: both branches name the same files"
    assert metadata(diverged) == before


def test_a_dry_run_does_all_but_publish(console: CommandLine, diverged: BranchBench) -> None:
    before = diverged.live_names()
    plan = preview_merge(diverged.warehouse(), TABLE, "dev", "main", MergeRules())
    answer = console(*DEV, "--dry-run")
    assert answer.code == 0
    assert answer.lines[0].startswith("clean: ")
    assert "Dry run: 'main' stays at snapshot 2." in answer.lines[-1]
    assert "1 data file would come, and each is there and whole." in answer.lines[-1]
    done = console.json(*DEV, "--dry-run")
    assert (done["state"]["standing"], done["state"]["next"]) == ("staged", "publish")
    assert done["state"]["text"].startswith("Dry run passed. main is unchanged; the result is kept")
    assert (done["id"], done["receipt"]) == (plan.id, None)
    assert diverged.live_names() == before


def test_a_run_that_may_plan_again_says_what_was_decided_on(
    console: CommandLine, diverged: BranchBench
) -> None:
    done = console.json(*DEV, "--plan-again")
    assert done["snapshot"]["id"] == 3
    assert "plan_again => true" in done["receipt"]["statement"]
    assert "decisions" not in done["receipt"]["statement"]


def test_a_run_that_keeps_trying_goes_on_from_the_heads_that_were_seen(
    console: CommandLine, diverged: BranchBench
) -> None:
    before = diverged.live_names()
    refused = console(*DEV, "--wait", "soon")
    assert (refused.code == 0, diverged.live_names()) == (False, before)
    done = console.json(*DEV, "--wait", "60s")
    assert "wait => '60s'" in done["receipt"]["statement"]
    assert "heads" not in done["receipt"]["statement"]
    assert diverged.live_names() > before


def test_a_preview_prints_the_plan(console: CommandLine, diverged: BranchBench) -> None:
    plan = preview_merge(diverged.warehouse(), TABLE, "dev", "main", MergeRules())
    printed = console.json(*DEV, "--preview")
    assert printed.pop("state") == {
        "standing": "clean",
        "role": "ready",
        "text": "No conflicts. dev becomes one new snapshot of main.",
        "next": "merge",
    }
    assert printed == plan_object(plan)


def test_a_run_prints_the_plan_and_what_came_of_it(
    console: CommandLine, diverged: BranchBench
) -> None:
    plan = preview_merge(diverged.warehouse(), TABLE, "dev", "main", MergeRules())
    done = console.json(*DEV, "--reason", "checked")
    head = diverged.table().head()
    assert head is not None
    assert {name: done[name] for name in plan_object(plan)} == plan_object(plan)
    assert done["snapshot"] == {"id": head.id, "identity": head.identity.short}
    assert (done["state"]["standing"], done["state"]["next"]) == ("done", "view receipt")
    assert done["state"]["text"].startswith("Merged into main as snapshot 3 by ")
    assert done["state"]["text"].endswith(" Undo works until the next commit on main.")
    assert done["receipt"]["operation_id"] == done["operation_id"]
    (event,) = [
        e for e in diverged.table().ledger.events() if e.operation_id == done["operation_id"]
    ]
    assert (event.source_branch, event.reason) == ("dev", "checked")


def test_a_run_whose_target_moved_meanwhile_says_so(
    console: CommandLine, diverged: BranchBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = Services.start

    def after_another_commit(*given: Any) -> str:
        head = diverged.table().head()
        assert head is not None
        gone = diverged.table().live_files(head)
        diverged.committer().commit([message(total_buckets=-1, deleted_files=gone)], user="bob")
        return start(*given)

    monkeypatch.setattr(Services, "start", after_another_commit)
    answer = console(*DEV, "--json")
    assert (answer.code, answer.document["error"]["code"]) == (1, "HEAD_MOVED")
    assert answer.document["state"] == {
        "standing": "stale",
        "role": "act",
        "text": "main got 1 snapshot (3, the newest by bob) since this command made its plan. "
        "This command has changed nothing on main.",
        "next": "update preview",
    }


def test_its_receipt_is_shown_and_undo_takes_it_back(
    console: CommandLine, diverged: BranchBench
) -> None:
    before = diverged.live_names()
    done = console.json(*DEV)
    assert diverged.live_names() == {*before, "data-theirs.parquet"}
    receipt = console("receipt", done["operation_id"])
    assert "moved main" in receipt.out
    assert receipt.lines[-3].endswith("as snapshot 3.")
    assert receipt.lines[-2].endswith("on main keeps snapshot 3.")
    assert receipt.lines[-1] == f"undo: branch-console undo {done['operation_id']}"
    assert console("undo", done["operation_id"]).code == 0
    assert diverged.live_names() == before


def test_a_second_merge_has_nothing_to_do(console: CommandLine, diverged: BranchBench) -> None:
    assert console(*DEV).code == 0
    before = metadata(diverged)
    answer = console(*DEV)
    assert (answer.code, answer.lines[0]) == (
        0,
        "up to date: main already has every change of dev.",
    )
    assert console.json(*DEV)["verdict"] == "up-to-date"
    assert metadata(diverged) == before


def test_a_target_that_did_not_move_takes_over_the_history(
    console: CommandLine, bench: BranchBench
) -> None:
    bench.append("theirs", branch="dev")
    assert console(*DEV, "--preview").lines[0] == (
        "fast-forward: main has no commits since dev branched off: a fast-forward adds the "
        "commits of dev unchanged."
    )
    done = console.json(*DEV)
    assert done["snapshot"]["id"] == 2


def test_conflicts_says_why_it_ends_with_one_where_no_row_conflicts(
    console: CommandLine, colliding: BranchBench
) -> None:
    told = console("conflicts", *DEV[1:])
    assert (told.code, "1 conflict of files or schemas" in told.out) == (1, True)
    found = console("conflicts", *DEV[1:], "--json")
    assert (found.code, found.document["conflicts"]) == (1, 0)
    (conflict,) = found.document["other_conflicts"]
    assert conflict["settle_with"]
    assert conflict["rule"] == "delete.insert"


def test_conflicts_are_listed_with_the_options_that_settle_them(
    console: CommandLine, colliding: BranchBench
) -> None:
    before = metadata(colliding)
    answer = console(*DEV)
    assert answer.code == 1
    assert answer.lines[0] == "conflicts: 1 conflict to settle. main is unchanged."
    (row,) = [line for line in answer.lines if "delete.insert" in line]
    assert "added rows" in row
    assert "deleted rows" in row
    assert row.endswith(" --isolation snapshot")
    assert answer.error.startswith("error CONFLICTS_OPEN: Merge refused; 'main' is unchanged.")
    found = console(*DEV, "--json")
    assert (found.code, found.document["error"]["code"]) == (1, "CONFLICTS_OPEN")
    assert found.document["state"]["standing"] == "conflicts"
    looked = console(*DEV, "--preview")
    assert (looked.code, looked.err) == (1, "")
    assert looked.lines[0] == answer.lines[0]
    dry = console(*DEV, "--preview", "--json")
    assert dry.code == 1
    assert "error" not in dry.document
    assert metadata(colliding) == before
    assert console(*DEV, "--isolation", "snapshot").code == 0
    assert colliding.live_names() == {"data-mine.parquet"}


def test_a_schema_change_is_told(console: CommandLine, bench: BranchBench) -> None:
    bench.alter("dev", column="extra")
    bench.append("theirs", branch="dev")
    bench.append("mine")
    answer = console(*DEV, "--preview")
    (row,) = [line for line in answer.lines if line.startswith("added")]
    assert row.split() == ["added", "extra", "-", "INT"]


def test_in_the_background_only_the_job_is_named(
    console: CommandLine, diverged: BranchBench
) -> None:
    done = console.json(*DEV, "--background")
    assert done["operation_id"]
    assert "receipt" not in done
    assert done["state"]["standing"] != "clean"
    assert done["verdict"] == "clean"


@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        (("dev",), 2, "INVALID_ARGUMENT"),
        (("dev", "--catalog"), 3, "BRANCH_NOT_FOUND"),
        (("dev", "--database", "db"), 3, "BRANCH_NOT_FOUND"),
        (("dev", "--database", "db", "--catalog"), 2, "INVALID_ARGUMENT"),
        (("dev", "--table", "db.t", "--catalog"), 2, "INVALID_ARGUMENT"),
        (("dev", "--table", "db.t$branch_dev"), 2, "INVALID_ARGUMENT"),
        (("dev", "--table", "db.t", "--scope", "row"), 2, "INVALID_ARGUMENT"),
        (("dev", "--table", "db.t", "--policy", "nowhere.yaml"), 2, "INVALID_ARGUMENT"),
        (("main", "--table", "db.t"), 2, "INVALID_ARGUMENT"),
        (("nobody", "--table", "db.t"), 3, "BRANCH_NOT_FOUND"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_what_cannot_be_meant_is_refused_by_name(
    console: CommandLine, words: tuple[str, ...], code: int, kind: str
) -> None:
    answer = console("merge", *words)
    assert (answer.code, answer.error.split(":")[0]) == (code, f"error {kind}")
