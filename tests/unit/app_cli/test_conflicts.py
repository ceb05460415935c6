"""The command that lists conflicts of rows, on conflicts that a run has left."""

import re
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from branch_console.commit.rows.row_conflicts import publish_row_conflicts
from branch_console.format.identifier import Identifier
from branch_console.format.table_schema import TableSchema
from branch_console.merge.row_work import row_conflict_schema
from branch_console.procedures.merge.inputs import preview_merge
from tests.support.branch_bench import BranchBench
from tests.support.command_line import CommandLine
from tests.support.commit_tables import data_files, message


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """A table of which both branches changed overlapping ranges of keys."""
    options = {"write-only": "true", "bucket": "1"}
    bench = BranchBench(tmp_path / "warehouse", primary_keys=["id"], options=options)
    for branch, name in (("main", "base"), ("dev", "theirs"), ("main", "mine")):
        if branch == "dev":
            bench.branch("dev")
        files = data_files([name], keys=(0, 99))
        bench.committer(branch).commit([message(new_files=files)], user="bob", identifier=len(name))
    return bench


def keep(bench: BranchBench, *rows: dict[str, object]) -> None:
    plan = preview_merge(bench.warehouse(), Identifier.parse("db.t"), "dev")
    given = {"column": "name", "kind": "changed on both", "needs_another_look": False}
    content = [{**given, "conflict_id": str(number), **row} for number, row in enumerate(rows)]
    schema = row_conflict_schema(bench.table().schema())
    table = pa.Table.from_pylist(content, schema=schema)
    publish_row_conflicts(bench.store, bench.table().paths, plan.id, table)


def test_a_value_that_reads_like_null_or_like_another_is_told_apart(
    console: CommandLine, bench: BranchBench
) -> None:
    row = {"column": None, "kind": "deleted or changed"}
    keep(
        bench,
        {"key": {"id": 7}, "base": "", "ours": "NULL", "theirs": None},
        {"key": {"id": 8}, **row, "base": '{"id": 8}', "ours": '{"id": 8}', "theirs": None},
    )
    found = console("conflicts", "dev", "--table", "db.t").out
    assert re.search(r'id = 7 +name +"" +"NULL" +NULL', found)
    assert re.search(r"id = 8 +whole row .* not there", found)


def test_open_conflicts_are_listed_and_end_with_one(
    console: CommandLine, bench: BranchBench
) -> None:
    keep(
        bench,
        {"key": {"id": 7}, "base": "a", "ours": "b", "theirs": None},
        {"key": {"id": 8}, "ours": "b", "theirs": "c", "take": "theirs", "result": "c"},
    )
    found = console("conflicts", "dev", "--table", "db.t")
    assert found.code == 1
    assert "changed on both  name            2     1" in found.out
    assert "id = 7  name    a     b       NULL" in found.out
    for limit, keys in (("1", [7]), ("0", [7, 8])):
        listed = console("conflicts", "dev", "--table", "db.t", "--limit", limit)
        assert [key for key in (7, 8) if f"id = {key}" in listed.out] == keys
    document = console("conflicts", "dev", "--table", "db.t", "--json").document
    assert (document["conflicts"], document["open"]) == (2, 1)
    assert document["rows"][1]["result"] == "c"


def test_conflicts_that_an_earlier_release_kept_are_told(
    console: CommandLine, bench: BranchBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = row_conflict_schema

    def of_before(given: TableSchema) -> pa.Schema:
        schema = made(given)
        return schema.remove(schema.get_field_index("is_choice"))

    monkeypatch.setattr(sys.modules[__name__], "row_conflict_schema", of_before)
    settled = {"ours": "b", "theirs": "c", "take": "ours", "decided_by": "column name"}
    keep(bench, {"key": {"id": 7}, **settled}, {"key": {"id": 8}, "ours": "b", "theirs": "c"})
    told = console("merge", "dev", "--table", "db.t", "--preview")
    assert told.code == 1
    assert "1 conflict" in told.out
    assert console("conflicts", "dev", "--table", "db.t").code == 1


def test_settled_conflicts_end_with_nothing(console: CommandLine, bench: BranchBench) -> None:
    keep(bench, {"key": {"id": 8}, "ours": "b", "theirs": "c", "take": "ours", "result": "b"})
    assert console("conflicts", "dev", "--table", "db.t").code == 0


def test_the_preview_of_the_merge_follows_the_comparison(
    console: CommandLine, bench: BranchBench
) -> None:
    merge = ("merge", "dev", "--table", "db.t", "--preview")
    before = console(*merge)
    assert (before.code, before.lines[0].split(": ")[0]) == (0, "needs rows")
    keep(
        bench,
        {"key": {"id": 7}, "base": "a", "ours": "b", "theirs": None},
        {"key": {"id": 8}, "ours": "b", "theirs": "c", "take": "theirs", "result": "c"},
    )
    after = console(*merge)
    assert after.code == 1
    assert after.lines[0].startswith("conflicts: 1 conflict to settle, all in name. ")
    assert "to compare" not in after.out
    state = console(*merge, "--json").document["state"]
    assert (state["standing"], state["next"]) == ("conflicts", "settle conflicts")


def test_a_merge_that_needs_no_rows_has_no_conflicts_of_rows(
    console: CommandLine, bench: BranchBench
) -> None:
    bench.branch("other")
    found = console("conflicts", "other", "--table", "db.t")
    assert (found.code, found.out.strip()) == (0, "No row was changed on both sides.")


def test_a_table_that_only_this_command_needs_is_asked_for_by_its_option(
    console: CommandLine,
) -> None:
    found = console("conflicts", "dev")
    assert (found.code, found.error.partition(".")[0]) == (
        2,
        "error INVALID_ARGUMENT: Missing option '--table' / '-t'",
    )
    assert "--catalog" in console("merge", "dev").error


def other_table(folder: Path, **options: str) -> None:
    """A warehouse with a table, with these options, of which both branches changed one bucket."""
    options = {"bucket": "1", "write-only": "true", **options}
    bench = BranchBench(folder, primary_keys=["id"], options=options)
    for branch, name in (("main", "base"), ("dev", "theirs"), ("main", "mine")):
        if branch == "dev":
            bench.branch("dev")
        files = data_files([name], keys=(0, 99))
        bench.committer(branch).commit([message(new_files=files)], user="bob", identifier=1)


@pytest.fixture
def other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> CommandLine:
    """The program on the warehouse that `other_table` makes in `tmp_path / "other"`."""
    monkeypatch.setenv("BRANCH_CONSOLE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("BRANCH_CONSOLE_CACHE_DIR", str(tmp_path / "cache"))
    return CommandLine(tmp_path / "other", capsys)


def test_a_merge_that_is_refused_compares_no_rows(other: CommandLine, tmp_path: Path) -> None:
    function = {"fields.name.aggregate-function": "listagg"}
    other_table(tmp_path / "other", **{"merge-engine": "aggregation", **function})
    found = other("conflicts", "dev", "--table", "db.t")
    assert found.code == 1
    assert "'dev' cannot be merged into 'main'" in found.error
    assert "'listagg' of column 'name' is not merged" in found.error
    told = other("merge", "dev", "--table", "db.t", "--preview")
    assert (told.code, told.lines[0].split(": ")[0]) == (1, "refused")
    assert "branch-console conflicts" not in told.out
    assert "row comparison" not in told.out


def test_a_table_that_keeps_first_rows_says_whose_row_stays(
    other: CommandLine, tmp_path: Path
) -> None:
    other_table(tmp_path / "other", **{"merge-engine": "first-row"})
    told = other("merge", "dev", "--table", "db.t", "--preview").out
    assert "where both branches added a key, the row of 'main' stays" in told
