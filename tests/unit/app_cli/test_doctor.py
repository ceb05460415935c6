"""`branch-console doctor`: what it prints, how it ends, and what `--fix` runs."""

import shutil
from pathlib import Path

import pytest

from branch_console.procedures.maintenance.doctor import examine_all
from tests.support.branch_bench import NOW, BranchBench
from tests.support.command_line import CommandLine
from tests.support.faulty_store import At, FaultyStore, Killed
from tests.support.health import data_file, forget_base_tag_copy, put_data_files, unfence


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """A branch whose base tag and fence are gone."""
    bench = BranchBench(tmp_path / "warehouse")
    bench.append("a")
    bench.branch("dev")
    bench.append("b", branch="dev")
    unfence(bench, "dev")
    forget_base_tag_copy(bench, "dev")
    bench.store.remover.remove([bench.table().paths.tag("branch-base-dev")])
    return bench


def test_findings_are_told_with_what_breaks_and_what_to_run(
    console: CommandLine, bench: BranchBench
) -> None:
    answer = console("doctor", "db.t")
    assert answer.code == 1
    assert answer.lines[0] == "db.t"
    assert answer.lines[1].startswith("  F01 critical dev: Its base tag 'branch-base-dev' is gone")
    assert "Expiry on 'dev' may delete files that main needs." in answer.lines[1]
    assert answer.lines[2].strip() == "CALL sys.pin_branch(table => 'db.t', branch => 'dev')"
    document = console("doctor", "db.t", "--json").document
    (table,) = document["tables"]
    assert [each["rule"] for each in table["findings"]] == ["F01", "F02"]
    assert table["findings"][1]["remedies"] == [
        {
            "procedure": "pin_branch",
            "arguments": {"table": "db.t", "branch": "dev"},
            "sql": "CALL sys.pin_branch(table => 'db.t', branch => 'dev')",
        }
    ]
    assert console("doctor").code == 1
    assert console("doctor", "db.t$branch_dev").code == 1


def test_fix_runs_what_remedies_and_deletes_nothing(
    console: CommandLine, bench: BranchBench
) -> None:
    document = console.json("doctor", "db.t", "--fix")
    fixed = [(each["procedure"], each["error"]) for each in document["fixes"]]
    assert fixed == [("pin_branch", None), ("fence_branch", None)]
    assert bench.table().tags.names() == ("branch-base-dev",)
    # Only what is at the level is remedied: the one tag on main is told still.
    assert [each["rule"] for each in document["tables"][0]["findings"]] == ["F00"]
    assert console("doctor", "db.t").code == 0
    assert console("doctor", "db.t", "--fail-on", "info").code == 1
    assert console("doctor", "db.t", "--fail-on", "info", "--fix").code == 0
    assert "db.t: healthy" in console("doctor").out


def test_what_cannot_be_checked_is_no_health(console: CommandLine, bench: BranchBench) -> None:
    bench.call("pin_branch", operation="pin", branch="dev")
    bench.call("fence_branch", operation="fence", branch="dev")
    assert console("doctor", "db.t").code == 0
    torn = Path(bench.table().paths.lineage_dir) / "event-1-torn.json"
    torn.write_text("{")
    answer = console("doctor", "db.t")
    assert answer.code == 3
    assert "The ledger of db.t could not be checked" in answer.err
    (row,) = [line for line in console("branches", "db.t").lines if line.startswith("dev")]
    assert "not checked" in row


def test_a_table_that_cannot_be_read_is_not_checked(
    console: CommandLine, bench: BranchBench
) -> None:
    path = Path(bench.table().paths.schema(0))
    path.write_text(path.read_text().replace('"version" : 3', '"version" : 99'))
    (health,) = examine_all(bench.warehouse())
    assert health.unchecked
    assert console("doctor").code == 3


def test_wrong_usage_is_told(console: CommandLine, bench: BranchBench) -> None:
    assert console("doctor", "db.t", "--fail-on", "never").code == 2
    assert console("doctor", "nope").code == 2
    assert console("doctor", "db.t$branch_nope").code == 3


def test_the_health_of_a_table_is_rows_in_sql(console: CommandLine, bench: BranchBench) -> None:
    for text in ("SHOW HEALTH FROM db.t", "CALL sys.doctor('db.t')"):
        document = console.json("sql", text)
        assert [each["rule"] for each in document["rows"]] == ["F01", "F02"]
        assert document["rows"][1]["remedies"] == [
            "CALL sys.pin_branch(table => 'db.t', branch => 'dev')"
        ]
    assert console.json("sql", "SHOW HEALTH db.`t$branch_dev`")["count"] == 2


def test_a_branch_is_fenced_freed_and_that_undone(console: CommandLine, bench: BranchBench) -> None:
    fence = Path(bench.table("dev").paths.consumer("branch-console-fence"))
    assert console("fence", "db.t", "dev", "--dry-run").code == 0
    assert not fence.exists()
    done = console.json("fence", "db.t", "dev")
    assert fence.read_text() == '{\n  "nextSnapshot" : 1\n}'
    assert console("fence", "db.t", "dev").code == 1
    assert console("undo", done["operation_id"], "--table", "db.t").code == 0
    assert not fence.exists()
    assert console("fence", "db.t", "main").code == 0
    freed = console.json("fence", "db.t", "main", "--remove")
    assert console("undo", freed["operation_id"], "--table", "db.t").code == 0
    assert Path(bench.table().paths.consumer("branch-console-fence")).exists()


def half_make(bench: BranchBench, branch: str) -> None:
    """Leave a branch as a making does that was cut off before it copied schemas."""
    shutil.rmtree(Path(bench.table(branch).paths.schema_dir))


def test_a_deep_look_ends_by_what_it_finds(console: CommandLine, bench: BranchBench) -> None:
    bench.call("pin_branch", operation="pin", branch="dev")
    bench.call("fence_branch", operation="fence", branch="dev")
    put_data_files(bench)
    assert console("doctor", "db.t", "--deep").code == 0
    data_file(bench, "b").unlink()
    assert console("doctor", "db.t").code == 0
    answer = console("doctor", "db.t", "--deep")
    assert answer.code == 1
    assert "F20 critical dev: 1 data or index file of snapshot 2 is not as its" in answer.out
    assert console("doctor", "--deep").code == 1
    assert console("doctor", "db.t$branch_dev", "--deep").code == 1
    (remedy,) = console("doctor", "--deep", "--json").document["tables"][0]["findings"][0][
        "remedies"
    ]
    assert remedy["sql"] == (
        "CALL sys.remove_unexisting_files(table => 'db.t$branch_dev', confirm => 'dev')"
    )
    # What takes rows away is for people to run.
    assert console("doctor", "db.t", "--deep", "--fix", "--json").document["fixes"] == []
    schema = Path(bench.table("dev").paths.schema(0))
    schema.unlink()
    schema.mkdir()
    assert console("doctor", "db.t", "--deep").code == 3


def test_a_branch_that_was_half_made_is_repaired_by_what_is_printed(
    console: CommandLine, bench: BranchBench
) -> None:
    bench.call("pin_branch", operation="pin", branch="dev")
    bench.call("fence_branch", operation="fence", branch="dev")
    bench.call("create_branch", operation="half", branch="half")
    half_make(bench, "half")
    answer = console("doctor", "db.t")
    assert answer.code == 1
    (told,) = [line for line in answer.lines if "F25" in line]
    assert "F25 warning  half: It has snapshots or tags and no schema" in told
    statement = answer.lines[answer.lines.index(told) + 1].strip()
    assert statement == "CALL sys.repair_branch(table => 'db.t', branch => 'half')"
    bench.call("repair_branch", operation="repair", branch="half")
    assert console("doctor", "db.t").code == 0
    assert bench.live_names("half") == bench.live_names()


def test_an_operation_that_was_cut_off_is_told_with_the_command_that_recovers(
    console: CommandLine, bench: BranchBench
) -> None:
    store = FaultyStore(inner=bench.store, fault=At(call=3)).store
    with pytest.raises(Killed):
        bench.call("create_branch", operation="cut", store=store, branch="late")
    document = console("doctor", "db.t", "--json").document
    (finding,) = [each for each in document["tables"][0]["findings"] if each["rule"] == "F26"]
    assert finding["evidence"] == ["cut"]
    (remedy,) = finding["remedies"]
    assert remedy["command"] == "branch-console recover db.t"
    assert "sql" not in remedy
    bench.call("recover", operation="rec", clock=lambda: NOW + 600_000)
    assert "F26" not in console("doctor", "db.t").out
