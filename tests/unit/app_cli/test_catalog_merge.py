"""A merge of the catalog on the command line: one report, one document, also by SQL."""

from pathlib import Path

import pytest

from tests.support.catalog_warehouse import CatalogWarehouse
from tests.support.command_line import CommandLine


@pytest.fixture
def made(tmp_path: Path) -> CatalogWarehouse:
    found = CatalogWarehouse(tmp_path / "warehouse")
    found.create()
    found.run("alter_table", sql="ALTER TABLE air.flights ADD COLUMN extra INT", branch="dev",
              table="air.flights$branch_dev", line=1, column=1)  # fmt: skip
    return found


@pytest.fixture
def console(made: CatalogWarehouse, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(str(made.folder), capsys)


def test_the_command_and_the_statement_print_one_report(console: CommandLine) -> None:
    asked = console("merge", "dev", "--catalog", "--preview")
    assert asked.code == 0
    assert asked.lines[0] == "clean: dev merges into main, and nothing collides."
    (row,) = [line for line in asked.lines if line.startswith("table")]
    assert row.split() == [
        "table",
        "air.flights",
        "air.flights",
        "added",
        "column",
        "'extra'",
        *"--",
    ]
    for words in ("MERGE BRANCH dev DRY RUN", "MERGE BRANCH dev TO main ON DATABASE air DRY RUN"):
        assert console("sql", words).lines[0] == asked.lines[0]
    assert console("sql", "MERGE BRANCH dev DRY RUN").lines == asked.lines


def test_the_command_and_the_statement_print_one_document(console: CommandLine) -> None:
    found = console.json("merge", "dev", "--catalog", "--preview")
    assert (found["verdict"], found["base"], found["theirs"]) == ("clean", "main@1", "dev@1")
    assert (found["version"], found["steps"]) == (None, 1)
    assert (found["objects"][0]["theirs_did"], found["objects"][0]["theirs_work"]) == (
        ["column"],
        {"commits": 0, "operations": ["column"], "schema": ["added column 'extra'"]},
    )
    assert console.json("sql", "MERGE BRANCH dev DRY RUN") == found
    assert console.json("merge", "dev", "--database", "lab", "--preview")["verdict"] == "up-to-date"


def test_a_dry_run_changes_nothing(made: CatalogWarehouse, console: CommandLine) -> None:
    before = made.files()
    assert console("merge", "dev", "--catalog", "--dry-run").code == 0
    assert made.files() == before


def test_an_option_of_one_table_is_no_option_of_the_catalog(console: CommandLine) -> None:
    answer = console("merge", "dev", "--catalog", "--wait", "60s")
    assert (answer.code, answer.error.split(".")[0]) == (
        2,
        "error INVALID_ARGUMENT: merge_catalog_branch has no argument 'wait'",
    )
