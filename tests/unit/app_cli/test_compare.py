"""The command that compares two states, on tables that real Paimon wrote."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from branch_console.format.identifier import Identifier
from branch_console_app.services import Services
from branch_console_app.settings import Settings
from tests.support.command_line import CommandLine
from tests.support.compared_rows import keep_rows
from tests.support.kept_quality import keep_quality
from tests.support.warehouses import FixtureWarehouse

KEYED = "fixtures.key_partitioned"


@pytest.fixture
def program(
    warehouse_200: FixtureWarehouse,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> CommandLine:
    monkeypatch.setenv("BRANCH_CONSOLE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("BRANCH_CONSOLE_CACHE_DIR", str(tmp_path / "cache"))
    return CommandLine(warehouse_200.path, capsys)


@pytest.fixture
def compared(program: CommandLine) -> CommandLine:
    """The same where a worker has compared the rows of two branches."""
    settings = Settings.from_environment({"warehouse": str(program.warehouse)})
    table = Identifier.parse(KEYED)
    keep_rows(Services(settings), table, "main", "fixes")
    return program


def test_numbers_say_whether_they_are_exact(program: CommandLine) -> None:
    found = program.json("compare", "fixtures.branches_ahead", "main", "ahead")
    assert found["rows"]["added"] == {"at_least": 2, "at_most": 2, "label": "exact"}
    assert found["rows"]["why_not_exact"] == []
    assert found["manifests"] == {"of_one_side": 2, "of_both": 2}
    keyed = program.json("compare", KEYED, "main", "fixes")
    assert keyed["rows"]["added"]["label"] == "at most"
    assert len(keyed["rows"]["why_not_exact"]) == 1


def test_any_two_states_are_named_the_same_way(program: CommandLine) -> None:
    table = "fixtures.branches_ahead"
    pinned = program.json("compare", table, "main@1", "ahead")["b"]["pinned"]
    for name in ("ahead@4", pinned, "ahead@2999-01-01T00:00"):
        assert program.json("compare", table, "ahead", name)["files"]["only_b"]["file_count"] == 0
    assert program("compare", table, "main", "main@99").code == 3
    assert program("compare", table, "main", "main@soon").code == 2
    assert "BRANCH_NOT_FOUND" in program("compare", table, "main", "gone").error


def test_the_same_state_is_the_same(program: CommandLine) -> None:
    answer = program("compare", KEYED, "main", "main")
    assert "are the same" in answer.lines[0]
    assert answer.code == 0


def test_files_of_each_side_are_listed(program: CommandLine) -> None:
    table = "fixtures.append_partitioned"
    found = program.json("compare", table, "main@1", "main", "--files")
    assert len(found["only_b"]) == found["files"]["only_b"]["file_count"]
    assert any(
        line.startswith("B ")
        for line in program("compare", table, "main@1", "main", "--files").lines
    )


def test_rows_are_listed_filtered_and_written(compared: CommandLine, tmp_path: Path) -> None:
    document = compared.json("compare", KEYED, "main", "fixes", "--rows", "--limit", "0")
    rows, numbers = document["differing_rows"], document["rows"]
    assert numbers["exact"]
    assert len(rows) == sum(numbers[kind]["at_most"] for kind in ("added", "removed", "changed"))
    changed = compared.json("compare", KEYED, "main", "fixes", "--rows", "--kind", "changed")
    assert {row["kind"] for row in changed["differing_rows"]} == {"changed"}
    assert all(row["changed"] for row in changed["differing_rows"])
    files = tmp_path / "rows.csv", tmp_path / "rows.parquet"
    for file in files:
        assert compared("compare", KEYED, "main", "fixes", "--export", str(file)).code == 0
    assert csv.read_csv(files[0]).num_rows == pq.read_table(files[1]).num_rows == len(rows)
    assert compared("compare", KEYED, "main", "fixes", "--export", "rows.xls").code == 2
    assert compared("compare", KEYED, "main", "fixes", "--rows", "--column", "no").code == 2
    assert " → " in compared("compare", KEYED, "main", "fixes", "--rows").out
    first = rows[0]["after:id"] or rows[0]["before:id"]
    one = compared.json("compare", KEYED, "main", "fixes", "--rows", "--where", f"id = {first}")
    assert {row["after:id"] or row["before:id"] for row in one["differing_rows"]} == {first}
    refused = compared("compare", KEYED, "main", "fixes", "--rows", "--where", "no > 1")
    assert (refused.code, "'no', which is no compared column" in refused.error) == (2, True)


def test_quality_is_told_for_people_and_programs(program: CommandLine, tmp_path: Path) -> None:
    services = Services(Settings.from_environment({"warehouse": str(program.warehouse)}))
    keep_quality(services, Identifier.parse(KEYED), "main", "fixes")
    told = program("compare", KEYED, "main", "fixes", "--quality")
    assert told.code == 0
    assert "Too few rows to rate" in told.out
    assert "0 duplicate keys in B (exact)" in told.out
    document = program.json("compare", KEYED, "main", "fixes", "--quality")
    scopes = {scope["scope"]: scope for scope in document["scopes"]}
    assert set(scopes) == {"own rows", "whole sides", "since the base"}
    assert document["base"].startswith("main@")
    assert f"of the base of A and B ({document['base']}) against all" in told.out
    for column in scopes["whole sides"]["columns"]:
        assert column["after"]["rows"] == scopes["whole sides"]["rows"][1], column["name"]
    ahead = "fixtures.branches_ahead"
    keep_quality(services, Identifier.parse(ahead), "main", "ahead", merges=True)
    told = program("compare", ahead, "main", "ahead", "--quality", "--merged")
    assert "that merging B into A would leave" in told.out
    written = tmp_path / "found.html"
    assert (
        program("compare", KEYED, "main", "fixes", "--quality", "--export", str(written)).code == 0
    )
    assert "Too few rows to rate" in written.read_text()
    other = program("compare", KEYED, "main", "fixes", "--quality", "--export", "found.csv")
    assert (other.code, "is not .html" in other.error) == (2, True)
    refused = program("compare", KEYED, "main", "fixes", "--quality", "--rows")
    assert refused.code == 2
    assert "two comparisons" in refused.error
