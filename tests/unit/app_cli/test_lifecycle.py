"""The commands of the lifecycle, with the work done in this process instead of a worker's."""

from pathlib import Path

import pytest

from branch_console.commit.journal import Journal
from branch_console.commit.rows.write_receipt import RESULT, encode_result
from branch_console.format.journals.intent import Intent
from branch_console.format.lineage_event import LineageEvent
from branch_console.table.lineage_ledger import LineageLedger
from branch_console.table.versioned_files import FileState
from branch_console_app.cli.commands import FAILED, REFUSED, WRONG_USAGE
from tests.support.branch_bench import NOW, BranchBench
from tests.support.command_line import CommandLine
from tests.support.lifecycle import metadata


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path / "warehouse")
    bench.append("a")
    bench.branch("dev")
    bench.append("b", branch="dev")
    return bench


def test_a_dry_run_tells_and_changes_nothing(console: CommandLine, bench: BranchBench) -> None:
    before = metadata(bench)
    answer = console("drop-branch", "db.t", "dev", "--dry-run")
    assert answer.code == 0
    assert answer.lines[0] == "Drop branch 'dev' of db.t"
    assert any(
        "1 commit is in no other branch; the rescue branch keeps it." in line
        for line in answer.lines
    )
    assert metadata(bench) == before


def test_a_new_branch_is_previewed_too(console: CommandLine, bench: BranchBench) -> None:
    before = metadata(bench)
    answer = console("create-branch", "db.t", "fix", "--dry-run")
    assert answer.lines[0] == "Create branch 'fix' of db.t"
    assert console.json("create-branch", "db.t", "fix", "--dry-run")["preview"]["can_run"]
    assert console("create-branch", "db.t", "dev", "--dry-run").code == 1
    assert metadata(bench) == before


def test_what_asks_for_a_name_is_not_done_without_it(
    console: CommandLine, bench: BranchBench
) -> None:
    before = metadata(bench)
    for more in ((), ("--confirm", "other")):
        answer = console("drop-branch", "db.t", "dev", *more)
        assert answer.code == 1
        assert "add --confirm dev" in answer.err
    assert metadata(bench) == before
    told = console("drop-branch", "db.t", "dev", "--background", "--json")
    assert (told.code, told.document["preview"]["typed_name"]) == (REFUSED, "dev")
    assert "add --confirm dev" in told.document["error"]["message"]
    assert metadata(bench) == before
    answer = console("drop-branch", "db.t", "dev", "--confirm", "dev")
    assert answer.code == 0, answer
    assert "rescue branch" in answer.out
    assert bench.table().branches.names() != ("dev",)


def test_a_target_that_moved_is_replaced_only_with_its_name(
    console: CommandLine, bench: BranchBench
) -> None:
    bench.append("c")
    before, forced = metadata(bench), ("fast-forward", "db.t", "dev", "--force")
    for more in ((), ("--confirm", "dev")):
        answer = console(*forced, *more)
        assert answer.code == REFUSED
        assert "Replace 'main' of db.t by 'dev': nothing was changed" in answer.err
        assert "add --confirm main" in answer.err
        assert "would go" in answer.out
        found = console(*forced, *more, "--json")
        assert (found.code, found.document["preview"]["typed_name"]) == (REFUSED, "main")
        assert "add --confirm main" in found.document["error"]["message"]
    assert console(*forced, "--dry-run").code == 0
    assert metadata(bench) == before
    done = console.json(*forced, "--confirm", "main")
    assert done["receipt"]["rescue_branch"] == f"rescue-{done['operation_id']}"


def test_what_is_blocked_is_refused(console: CommandLine, bench: BranchBench) -> None:
    answer = console("delete-tag", "db.t", "branch-base-dev")
    assert answer.code == 1
    assert answer.error.startswith("error FILES_IN_USE:")
    found = console("delete-tag", "db.t", "branch-base-dev", "--dry-run", "--json")
    assert found.code == 1
    assert found.document["preview"]["can_run"] is False


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("create-branch", "db.t", "a.b"), WRONG_USAGE),
        (("create-branch", "db.t", "dev"), REFUSED),
        (("create-branch", "db.none", "x"), FAILED),
        (("create-branch", "db.t", "x", "--from-snapshot", "99"), FAILED),
        (("rename-branch", "db.t", "main", "x"), WRONG_USAGE),
        (("sql", "DROP TABLE db.none"), FAILED),
    ],
    ids=str,
)
def test_a_job_ends_with_the_exit_code_of_its_error(
    console: CommandLine, bench: BranchBench, words: tuple[str, ...], code: int
) -> None:
    before = metadata(bench)
    assert console(*words).code == code
    assert console(*words, "--json").code == code
    if words[0] == "create-branch":
        assert console(*words, "--dry-run").code == code
    assert metadata(bench) == before


def test_undo_finds_the_table_by_itself(console: CommandLine, bench: BranchBench) -> None:
    before = metadata(bench)
    done = console.json("drop-branch", "db.t", "dev", "--confirm", "dev")
    assert done["receipt"]["rescue_branch"] == f"rescue-{done['operation_id']}"
    undone = console.json("undo", done["operation_id"])
    assert undone["receipt"]["moves"][0]["branch"] == "dev"
    assert metadata(bench) == before
    assert console("receipt", undone["operation_id"]).code == 0
    assert console("undo", "nothing").error.startswith("error OPERATION_NOT_FOUND:")


def test_a_database_is_made_renamed_dropped_and_brought_back(
    console: CommandLine, bench: BranchBench
) -> None:
    assert (
        "keeps    Property 'comment' is 'ours'."
        in console("sql", "CREATE DATABASE lab COMMENT 'ours' DRY RUN").out
    )
    assert console.json("sql", "SHOW DATABASES")["rows"] == [{"namespace": "db"}]
    made = console.json("sql", "CREATE DATABASE lab COMMENT 'ours'")
    assert made["receipt"]["notes"] == ["Database 'lab' was created."]
    receipt = console("receipt", made["operation_id"])
    assert f"undo: branch-console undo {made['operation_id']}" in receipt.lines
    refused = console("sql", "DROP DATABASE db")
    assert (refused.code, "Say CASCADE" in refused.err) == (REFUSED, True)
    before = metadata(bench)
    dropped = console.json("sql", "DROP DATABASE db CASCADE")
    assert console.json("sql", "SHOW DATABASES")["rows"] == [{"namespace": "lab"}]
    undone = console.json("undo", dropped["operation_id"])
    assert undone["receipt"]["notes"] == ["Database 'db' is back."]
    journal = ".branch-console/catalog/journal/"
    after = {name: data for name, data in metadata(bench).items() if journal not in name}
    known = {name: data for name, data in before.items() if journal not in name}
    assert {name: after[name] for name in known} == known
    assert "was undone already" in console("receipt", dropped["operation_id"]).out
    assert console("recover").lines[-1] == "Nothing was cut off."


@pytest.mark.parametrize(
    "words",
    [
        ("rename-branch", "db.t", "dev", "fix", "--reason", "why"),
        ("protect-branch", "db.t", "d*"),
        ("protect-branch", "db.t", "d*", "--remove"),
        ("replace-main", "db.t", "dev", "--confirm", "main"),
        ("rollback", "db.t", "--branch", "dev", "--snapshot", "1"),
        ("rollback", "db.t", "--branch", "dev", "--snapshot", "1", "--cut", "--confirm", "dev"),
        ("create-tag", "db.t", "v1", "--time-retained", "P7D"),
        ("create-tag", "db.t", "v1", "--branch", "dev", "--replace"),
    ],
    ids=" ".join,
)
def test_every_command_runs_and_leaves_a_receipt(
    console: CommandLine, bench: BranchBench, words: tuple[str, ...]
) -> None:
    done = console.json(*words)
    assert done["preview"]["can_run"]
    assert done["receipt"]["operation_id"] == done["operation_id"]
    events = bench.table().ledger.events()
    assert done["operation_id"] in {each.operation_id for each in events}


def test_a_receipt_tells_what_undo_would_do(console: CommandLine, bench: BranchBench) -> None:
    forward = console.json("fast-forward", "db.t", "dev")["operation_id"]
    undo = {"can_run": True, "obstacle": None, "undone_by": None}
    assert console.json("receipt", forward)["undo"] == undo
    back = console.json("undo", forward)["operation_id"]
    told = f"Operation {forward} was undone already, by operation {back}."
    found = console.json("receipt", forward)
    assert found["undo"] == {"can_run": False, "obstacle": told, "undone_by": back}
    assert found["operation_id"] == forward
    assert console("receipt", forward).lines[-1] == f"undo: {told}"
    assert console("receipt", back).lines[-1].endswith("run again what it took back.")


def test_a_fast_forward_keeps_why_it_was_done(console: CommandLine, bench: BranchBench) -> None:
    forward = console.json("fast-forward", "db.t", "dev", "--reason", "Late flights of May")
    assert bench.table().ledger.events()[-1].reason == "Late flights of May"
    receipt = console("receipt", forward["operation_id"]).lines
    assert [each for each in receipt if each.startswith("reason")] == [
        "reason         Late flights of May"
    ]


def test_an_undo_keeps_why_it_was_done(console: CommandLine, bench: BranchBench) -> None:
    done = console.json("drop-branch", "db.t", "dev", "--confirm", "dev")["operation_id"]
    undone = console.json("undo", done, "--reason", "dev is still read")
    event = bench.table().ledger.events()[-1]
    assert (event.undoes, event.reason) == (done, "dev is still read")
    assert "reason         dev is still read" in console("receipt", undone["operation_id"]).lines
    assert console.json("receipt", undone["operation_id"])["reason"] == "dev is still read"


def test_an_undo_on_a_database_keeps_why_it_was_done(
    console: CommandLine, bench: BranchBench
) -> None:
    made = console.json("sql", "CREATE DATABASE lab")["operation_id"]
    undone = console.json("undo", made, "--reason", "wrong name")["operation_id"]
    assert console.json("receipt", undone)["reason"] == "wrong name"


def test_the_receipt_of_a_write_of_rows_says_to_revert_it(
    console: CommandLine, bench: BranchBench
) -> None:
    table, journal = bench.table(), Journal(bench.store, bench.table().paths)
    intent = journal.begin(
        Intent(
            operation_id="write-1", procedure="insert_rows", actor="ada", branch="main", plan={},
            statement="INSERT INTO db.t VALUES (1)", time_millis=NOW, event_millis=NOW,
        )
    )  # fmt: skip
    journal.mark("write-1", RESULT, encode_result(table, intent, {"snapshot_id": 1}, NOW))
    answer = console("receipt", "write-1")
    assert answer.lines[-1].endswith("operation write-1, which wrote rows: revert it instead.")
    assert "revert it instead" in console("undo", "write-1").err


def test_what_changed_nothing_says_so_and_names_no_receipt(
    console: CommandLine, bench: BranchBench
) -> None:
    make = ("create-tag", "db.t", "v1", "--time-retained", "P7D")
    console.json(*make)
    before = metadata(bench)
    assert console.json(*make)["receipt"] is None
    assert console(*make).lines[-1].endswith("names snapshot 1 already. Nothing was changed.")
    assert metadata(bench) == before


def test_a_list_of_branches_reads_the_ledger_once_and_tells_what_is_broken(
    console: CommandLine, bench: BranchBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, times = LineageLedger.states, []

    def counted(ledger: LineageLedger) -> tuple[FileState[LineageEvent], ...]:
        times.append(ledger)
        return read(ledger)

    monkeypatch.setattr(LineageLedger, "states", counted)
    assert console("branches", "db.t").lines[2].startswith("dev")
    assert len(times) == 1
    torn = Path(bench.table().paths.lineage_dir) / "event-1-torn.json"
    torn.write_text("{")
    assert str(torn) in console("branches", "db.t").err
    (error,) = console.json("branches", "db.t")["broken_events"]
    assert str(torn) in error["message"]


def test_a_pin_is_made_again(console: CommandLine, bench: BranchBench) -> None:
    assert console("pin-branch", "db.t", "dev").code == 1
    bench.store.remover.remove([bench.table().paths.tag("branch-base-dev")])
    assert console("pin-branch", "db.t", "dev").code == 0
    assert bench.table().tags.names() == ("branch-base-dev",)
