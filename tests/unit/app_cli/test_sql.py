"""Statements about branches from the command line, done in this process."""

import json
import os
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pytest

from branch_console.commit.schema.schema_commit import change_schema, set_options
from branch_console.errors import StorageError
from branch_console.jobs import client
from branch_console.jobs.results import KeptAnswers
from branch_console.jobs.settings import JobSettings
from branch_console.sql.answer import Answer
from branch_console_app.cli import output
from branch_console_app.cli.arguments import open_services
from branch_console_app.cli.sql import print_answer
from tests.support.branch_bench import NOW, BranchBench
from tests.support.command_line import CommandLine


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path / "warehouse", options={"write-only": "true"})
    bench.append("base")
    return bench


def test_statements_run_one_after_the_other(console: CommandLine, bench: BranchBench) -> None:
    assert (
        console("sql", "CREATE BRANCH dev ON TABLE db.t; CREATE BRANCH old ON TABLE db.t").code == 0
    )
    bench.append("theirs", branch="dev")
    bench.append("mine")
    done = console.json("sql", "MERGE BRANCH dev ON TABLE db.t")
    assert done["receipt"]["moves"][0]["branch"] == "main"
    assert bench.live_names() == {f"data-{each}.parquet" for each in ("base", "mine", "theirs")}
    assert console("sql", "DROP BRANCH old ON TABLE db.t").code == 0
    assert not bench.table().branches.exists("old")


def test_a_call_that_names_what_it_replaces_is_run(
    console: CommandLine, bench: BranchBench
) -> None:
    bench.branch("dev")
    bench.append("theirs", branch="dev")
    bench.append("mine")
    forced = "table => 'db.t', branch => 'dev', force => true"
    assert "add confirm => 'main'." in console("sql", f"CALL sys.fast_forward({forced})").err
    assert "data-mine.parquet" in bench.live_names()
    assert console("sql", f"CALL sys.fast_forward({forced}, target => 'main')").code == 0
    assert bench.live_names() == {"data-base.parquet", "data-theirs.parquet"}


@pytest.mark.parametrize(
    "called",
    [
        "replace_main(table => 'db.t', branch => 'dev'",
        "rollback(table => 'db.t', tag => 'v1', cut => true",
    ],
)
def test_a_call_that_takes_commits_away_is_run_where_it_is_confirmed(
    console: CommandLine, bench: BranchBench, called: str
) -> None:
    bench.tag("v1")
    bench.branch("dev")
    bench.append("mine")
    for unsaid in ("", ", confirm => 'dev'"):
        found = console("sql", f"CALL sys.{called}{unsaid})")
        assert (found.code, "add confirm => 'main'." in found.err) == (1, True)
        assert "loses" in found.out
    assert "data-mine.parquet" in bench.live_names()
    assert console("sql", f"CALL sys.{called}, confirm => 'main')").code == 0
    assert bench.live_names() == {"data-base.parquet"}


def test_a_call_deletes_the_tag_that_it_names(console: CommandLine, bench: BranchBench) -> None:
    bench.tag("v1")
    assert console("sql", "CALL sys.delete_tag(table => 'db.t', tag => 'v1')").code == 0
    assert bench.table().tags.find("v1") is None


def test_a_call_answers_with_the_columns_of_paimon(
    console: CommandLine, bench: BranchBench
) -> None:
    orphan = Path(bench.table().paths.manifest(f"manifest-{UUID(int=7)}-0"))
    orphan.write_bytes(b"left")
    os.utime(orphan, (0, 0))
    call = "CALL sys.remove_orphan_files(table => 'db.t', grace => '0 s')"
    for files, size in ((1, 4), (0, 0)):
        done = console.json("sql", call)
        assert done["result"] == [
            {
                "deletedFileCount": files,
                "deletedFileTotalLenInBytes": size,
                "operation_id": done["operation_id"],
            }
        ]
    bench.append("b")
    expired = console.json("sql", "CALL sys.expire_snapshots('db.t', 1, 1)")
    (row,) = expired["result"]
    assert row["deleted_snapshots_count"] == 1


def test_a_call_prints_its_answer_as_a_table(console: CommandLine, bench: BranchBench) -> None:
    bench.append("b")
    printed = console("sql", "CALL sys.expire_snapshots('db.t', 1, 1)")
    *_, head, row = printed.lines
    assert head.split() == ["deleted_snapshots_count", "operation_id"]
    assert row.split()[0] == "1"
    bench.append("c")
    printed = console("sql", "CALL sys.rollback_to_as_latest('db.t', NULL, 2)")
    assert printed.lines[-2].split() == [
        "previous_snapshot_id", "rolled_back_snapshot_id", "current_snapshot_id", "operation_id",
    ]  # fmt: skip
    assert printed.lines[-1].split()[:3] == ["3", "2", "4"]
    tagged = console("sql", "CALL sys.create_tag('db.t', 'v1')")
    assert tagged.lines[-2].split() == ["result", "operation_id"]
    assert tagged.lines[-1].startswith("yes ")
    # A command is no call.
    assert "operation_id" not in console("create-tag", "db.t", "v2").out
    assert "result" not in console.json("create-tag", "db.t", "v3")


def test_a_dry_call_answers_with_the_rows_of_a_run(
    console: CommandLine, bench: BranchBench
) -> None:
    bench.append("b")
    bench.append("c")
    call = "CALL sys.expire_snapshots('db.t', 1, 1, dry_run => true)"
    assert console.json("sql", call)["result"] == [{"deleted_snapshots_count": 2}]
    *_, head, row = console("sql", call).lines
    assert (head.split(), row.split()) == (["deleted_snapshots_count"], ["2"])
    assert bench.table().snapshots.ids() == (1, 2, 3)
    # A command is no call.
    words = ("expire", "db.t", "--retain-max", "1", "--retain-min", "1", "--dry-run")
    assert "result" not in console.json(*words)


def test_a_dry_run_changes_nothing(console: CommandLine, bench: BranchBench) -> None:
    bench.branch("dev")
    bench.append("theirs", branch="dev")
    bench.append("mine")
    found = console("sql", "MERGE BRANCH dev ON TABLE db.t DRY RUN")
    assert found.code == 0
    assert bench.live_names() == {"data-base.parquet", "data-mine.parquet"}


def test_the_first_that_is_refused_ends_it(console: CommandLine, bench: BranchBench) -> None:
    text = "REVERT SNAPSHOT 9 ON TABLE db.t; CREATE BRANCH dev ON TABLE db.t"
    assert console("sql", text).code != 0
    assert not bench.table().branches.exists("dev")


def test_what_is_wrong_is_one_line_with_its_place(console: CommandLine) -> None:
    found = console("sql", "MERGE BRANCH dev\nINTO main")
    assert found.code == 2
    assert "Line 2, column 1" in found.error


def test_a_table_that_is_not_there_is_told_before_spark_starts(
    console: CommandLine, bench: BranchBench
) -> None:
    found = console("sql", "USE BRANCH main;\n SELECT * FROM db.tt")
    assert found.code == 3
    assert "Line 2, column 16: There is no table db.tt. Did you mean 'db.t'?" in found.err
    assert console("sql", "SELECT * FROM db.t; SELECT 1", "--json").code == 2
    assert console("sql", "DELETE FROM db.t WHERE (a = 1").code == 2
    assert console("sql", "SELECT reflect('a', 'b')").code == 2


@pytest.mark.parametrize("text", ["", " \n", ";;", "/* SELECT 1 */", "USE BRANCH dev"])
def test_what_holds_no_statement_is_wrong_usage(
    console: CommandLine, bench: BranchBench, text: str
) -> None:
    for more in ((), ("--json",)):
        found = console("sql", text, *more)
        assert found.code == 2
        assert "There is nothing to run" in found.out + found.err


def test_the_rows_of_a_job_are_printed_later(console: CommandLine, bench: BranchBench) -> None:
    job_id = "0f3a"
    missing = console("answer", job_id)
    assert (missing.code, f"There is no job {job_id!r}" in missing.error) == (3, True)
    folder = open_services(str(console.warehouse)).job_settings.answers_path
    rows = pa.table({"id": [1, 2, 3]})
    answer = Answer(rows=rows, has_more=True, plan="", notes=("main is read.",))
    KeptAnswers(folder=folder).keep(job_id, answer)
    assert console.json("answer", job_id)["rows"] == [{"id": 1}, {"id": 2}, {"id": 3}]
    some = console("answer", job_id, "--limit", "2")
    assert [line.strip() for line in some.lines[:3]] == ["id", "1", "2"]
    assert "more rows" in some.out
    assert some.err == "main is read.\n"


@pytest.mark.parametrize("is_piped", [True, False])
def test_null_and_the_texts_that_look_like_it_are_told_apart(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, is_piped: bool
) -> None:
    monkeypatch.setattr(output, "_is_piped", lambda: is_piped)
    values = [None, "NULL", "-", ""]
    row = {f"c{number}": value for number, value in enumerate(values)}
    rows = pa.Table.from_pylist([{**row, "l": ["NULL", None], "s": {"a": None}}])
    print_answer(Answer(rows=rows, has_more=False, plan="", notes=()), as_json=False)
    printed = capsys.readouterr().out.splitlines()[1]
    assert printed.split() == ["NULL", '"NULL"', "-", '"NULL",', "NULL", "a=NULL"]
    print_answer(Answer(rows=rows, has_more=False, plan="", notes=()), as_json=True)
    (found,) = json.loads(capsys.readouterr().out)["rows"]
    assert [found[name] for name in row] == values


def test_rows_that_are_not_kept_are_told_where_the_jobs_cannot_be_read(
    console: CommandLine, bench: BranchBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: JobSettings) -> None:
        raise StorageError("The store of the jobs does not answer.")

    monkeypatch.setattr(client, "open_client", fail)
    assert "not kept any more" in console("answer", "nope").error


def test_a_reason_goes_to_the_statements_that_commit(
    console: CommandLine, bench: BranchBench
) -> None:
    bench.branch("dev")
    bench.append("theirs", branch="dev")
    iceberg = {"metadata.iceberg.storage": "table-location"}
    change_schema(bench.table(), bench.store, [set_options(iceberg)], now_millis=NOW)
    merge = "MERGE BRANCH dev ON TABLE db.t"
    refused = console("sql", merge)
    assert (refused.code, "metadata.iceberg.storage" in refused.err) == (1, True)
    reason = ("--without-callbacks", "by hand")
    wrong = console("sql", "CREATE BRANCH new ON TABLE db.t", *reason)
    assert (wrong.code, "is for statements that write rows" in wrong.err) == (2, True)
    done = console("sql", f"CREATE BRANCH new ON TABLE db.t; {merge}", *reason)
    assert (done.code, "asks for: by hand" in done.out) == (0, True)
