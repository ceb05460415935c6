"""Branches of the whole catalog on the command line."""

from pathlib import Path

import pytest

from tests.support.catalog_warehouse import CatalogWarehouse
from tests.support.command_line import CommandLine


@pytest.fixture
def console(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    made = CatalogWarehouse(tmp_path / "warehouse")
    made.create()
    made.commit("lab.notes", 2, branch="dev")
    made.run("create_database", database="new", branch="dev")
    made.run("rename_database", database="lab", to="desk", branch="dev")
    sql = "DROP TABLE air.planes"
    made.run("drop_table", sql=sql, branch="dev", table="air.planes", line=1, column=1)
    return CommandLine(str(made.folder), capsys)


def test_a_branch_is_shown_with_what_happened_on_it(console: CommandLine) -> None:
    lines = console("catalog", "show", "dev").lines
    at = next(number for number, line in enumerate(lines) if "what happened" in line)
    assert [line.split() for line in lines[at + 1 : at + 5]] == [
        ["database", "desk", "renamed", "from", "lab"],
        ["database", "new", "created"],
        ["table", "air.planes", "dropped"],
        ["table", "desk.notes", "written"],
    ]
    found = console.json("catalog", "show", "dev")
    assert [each["did"] for each in found["changes"]] == [
        ["renamed"],
        ["created"],
        ["dropped"],
        ["written"],
    ]
    assert found["item"]["changed"] == 4
    (listed,) = console.json("catalog", "list")["branches"]
    assert listed["changed"] == 4
