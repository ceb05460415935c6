"""Every figure called rows is what `count(*)` returns, on each page and in each command.

The tables have more records in their files than rows: with a key that several records share, and
with deletion vectors that hide some.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from branch_console_app.cli.commands import DONE, REFUSED
from branch_console_app.models.parts.actions import Action
from branch_console_app.services import Services
from branch_console_app.settings import Settings
from branch_console_app.state import PageName
from tests.console.pages import Console, Page, settings
from tests.support.catalog_bench import CatalogBench
from tests.support.command_line import CommandLine
from tests.support.contested_table import ContestedTable
from tests.support.row_figures import Truth, as_number, is_number, numbers_in, numbers_under_rows
from tests.support.warehouses import FixtureWarehouse

TABLES = ("key_levels", "key_partitioned", "vectors_append")
BRANCHES = {"key_partitioned": "fixes"}


@pytest.fixture
def own_copy(warehouse_200: FixtureWarehouse, tmp_path: Path) -> FixtureWarehouse:
    """A warehouse of these tables alone, to list and to change."""
    copy = FixtureWarehouse(path=tmp_path / "warehouse", version=warehouse_200.version)
    for table in TABLES:
        name = f"fixtures.{table}"
        shutil.copytree(warehouse_200.table_path(name), copy.table_path(name))
    return copy


@pytest.fixture
def overrides(
    warehouse_200: FixtureWarehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    monkeypatch.setenv("BRANCH_CONSOLE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("BRANCH_CONSOLE_CACHE_DIR", str(tmp_path / "cache"))
    return {
        "warehouse": str(warehouse_200.path),
        "actor": "ada",
        "state_dir": str(tmp_path / "state"),
        "cache_dir": str(tmp_path / "cache"),
    }


def truth_of(warehouse: FixtureWarehouse, table: str) -> Truth:
    branch = BRANCHES.get(table)
    compared = () if branch is None else (("main", branch),)
    return Truth(warehouse.path, f"fixtures.{table}", compared)


def commands(table: str) -> Iterator[tuple[str, ...]]:
    name = f"fixtures.{table}"
    for command in ("show", "branches", "snapshots", "tags", "graph", "schemas", "count", "files"):
        yield (command, name)
    yield ("compare", name, "main@1", "main")
    branch = BRANCHES.get(table)
    if branch is not None:
        yield ("compare", name, "main", branch)
        yield ("count", name, "main", branch)
        yield ("snapshots", name, "--branch", branch)
        yield ("fast-forward", name, branch, "--dry-run", "--force")
        yield ("merge", branch, "--table", name, "--preview")
        yield ("drop-branch", name, branch, "--dry-run")
    yield ("rollback", name, "--snapshot", "1", "--dry-run")


@pytest.mark.parametrize("table", TABLES)
def test_commands_and_documents_call_rows_what_readers_get(
    overrides: dict[str, str],
    warehouse_200: FixtureWarehouse,
    capsys: pytest.CaptureFixture[str],
    table: str,
) -> None:
    console, truth = CommandLine(overrides["warehouse"], capsys), truth_of(warehouse_200, table)
    for command in commands(table):
        printed = console(*command)
        assert printed.code in (DONE, REFUSED), (command, printed)
        truth.check(numbers_in(printed.out), (command, printed.out))
        told = console(*command, "--json")
        truth.check(numbers_under_rows(told.document), (command, told.out))


def shown(page: Page) -> Iterator[int]:
    yield from numbers_in(page.text)
    for frame in page.at.dataframe:
        for column in frame.value.columns:
            if str(column).startswith("Rows"):
                yield from (
                    as_number(str(cell)) for cell in frame.value[column] if is_number(str(cell))
                )


def addresses(table: str) -> Iterator[tuple[str, dict[str, str]]]:
    branch = BRANCHES.get(table)
    yield "table", {}
    yield "table", {"t_tab": "Files"}
    yield "branches", {}
    yield "snapshots", {}
    yield "compare", {"cmp_a": "main@1", "cmp_b": "main"}
    if branch is not None:
        yield "branches", {"branch": branch}
        yield "compare", {"cmp_a": "main", "cmp_b": branch}
        yield "merge", {"source": branch, "target": "main", "how": "three-way"}
        yield "merge", {"source": branch, "target": "main", "how": "ff"}


@pytest.mark.parametrize("table", TABLES)
def test_pages_call_rows_what_readers_get(
    overrides: dict[str, str], warehouse_200: FixtureWarehouse, table: str
) -> None:
    services: Any = Services(Settings.from_environment(overrides, {}))
    console, truth = Console(services), truth_of(warehouse_200, table)
    for page, query in addresses(table):
        opened = console.open(page, db="fixtures", table=table, **query)
        truth.check(shown(opened), (page, query, opened.text))


def test_exact_never_stands_beside_records(
    overrides: dict[str, str], warehouse_200: FixtureWarehouse
) -> None:
    services: Any = Services(Settings.from_environment(overrides, {}))
    page = Console(services).open(
        "merge", db="fixtures", table="key_partitioned", source="fixes", target="main",
        how="three-way",
    )  # fmt: skip
    beside = {metric.label: metric.delta for metric in page.at.metric}
    assert beside
    assert {said for label, said in beside.items() if "Records" in label} <= {"", None}


def test_lists_of_tables_call_rows_what_readers_get(
    overrides: dict[str, str], own_copy: FixtureWarehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {**overrides, "warehouse": str(own_copy.path)}
    truths = [truth_of(own_copy, table) for table in TABLES]
    allowed = set[int]().union(*(each.allowed for each in truths))
    command = CommandLine(own_copy.path, capsys)
    told = [numbers_in(command("tables").out), numbers_under_rows(command.json("tables"))]
    services: Any = Services(Settings.from_environment(asked, {}))
    page = Console(services).open()
    for numbers in (*told, shown(page)):
        assert {number for number in numbers if number not in allowed} == set()
    # The figures of a list stand below its head, each by itself.
    lines = page.text.splitlines()
    assert "Rows or records" in lines
    assert any(line.endswith(" :gray[rows]") for line in lines)
    for truth in truths:
        wrong = [f"{number:,}" for number in truth.records - allowed]
        assert not {*wrong, *(f"{number} :gray[rows]" for number in wrong)} & set(lines)


@pytest.mark.depth("full")
def test_receipts_and_jobs_call_rows_what_readers_get(
    overrides: dict[str, str], own_copy: FixtureWarehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    table, name = "key_partitioned", "fixtures.key_partitioned"
    command = CommandLine(own_copy.path, capsys)
    truth = truth_of(own_copy, table)
    done = command.json("fast-forward", name, BRANCHES[table], "--force", "--confirm", "main")
    truth.learn()
    truth.check(numbers_under_rows(done), done)
    asked = {**overrides, "warehouse": str(own_copy.path)}
    services: Any = Services(Settings.from_environment(asked, {}))
    for words in (
        ("receipt", done["operation_id"]),
        ("undo", done["operation_id"], "--dry-run"),
        ("lost-commits", name),
        ("jobs", "list"),
        ("doctor", name),
    ):
        printed, document = command(*words), command(*words, "--json")
        truth.check(numbers_in(printed.out), (words, printed.out))
        truth.check(numbers_under_rows(document.document), (words, document.out))
    by_id = {"id": done["operation_id"]}
    for page, query in (("receipt", by_id), ("jobs", {}), ("job", by_id)):
        opened = Console(services).open(page, db="fixtures", table=table, **query)
        truth.check(shown(opened), (page, opened.text))


def pages_and_dialogs(operation: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Every page of a table, and every dialog in an address, with the page that draws it."""
    sides = {"source": "fix-delays", "target": "main"}
    yield "overview", {}
    yield "activity", {}
    yield "table", {}
    yield "branches", {"branch": "fix-delays"}
    yield "snapshots", {}
    yield "snapshots", {"snapshot": "3"}
    yield "schemas", {}
    for tab in ("Health", "Expire", "Orphans", "Storage", "Tags", "Rescue", "Policy"):
        yield "maintenance", {"mt_tab": tab}
    yield "maintenance", {"do": Action.REMEDY, "what": "F01:0:fix-delays"}
    yield "maintenance", {"do": Action.RELEASE, "what": "rescue-x"}
    for tab in ("partitions", "files", "schema", "rows", "quality"):
        yield "compare", {"cmp_a": "main", "cmp_b": "fix-delays", "cmp_tab": tab}
    yield "merge", {**sides, "how": "three-way"}
    yield "merge", {**sides, "how": "ff"}
    yield "merge", {**sides, "source": "spring", "do": Action.MERGE}
    yield "merge", {**sides, "do": Action.FAILING_ROWS, "what": operation}
    yield "conflicts", sides
    for column in ("dep_delay", "note"):
        yield "conflicts", {**sides, "cf_kind": "changed on both", "cf_col": column}
    yield "sql", {}
    yield "jobs", {}
    yield "job", {"id": operation}
    yield "receipt", {"id": operation}
    for catalog in (
        {}, {"do": Action.CREATE_CATALOG}, {"branch": "spring", "do": Action.DROP_CATALOG,
         "what": "spring"},
    ):  # fmt: skip
        yield "catalog", catalog
    merge = {"of": "catalog", "source": "spring", "target": "main"}
    yield "merge", merge
    yield "merge", {**merge, "do": Action.MERGE_CATALOG, "what": "spring"}
    for action in (Action.CREATE, Action.RENAME, Action.PROTECT, Action.DROP, Action.REPLACE_MAIN,
                   Action.PIN, Action.FENCE, Action.REPAIR):  # fmt: skip
        yield "branches", {"branch": "fix-delays", "do": action, "what": "fix-delays"}
    for action, what in (
        (Action.TAG, "3"), (Action.DELETE_TAG, "branch-base-fix-delays"), (Action.ROLLBACK, "1"),
        (Action.REVERT, "3"), (Action.PICK, "3"),
    ):  # fmt: skip
        yield "snapshots", {"do": action, "what": what}
    yield "receipt", {"id": operation, "do": Action.UNDO, "what": operation}
    yield "job", {"id": operation, "do": Action.AGAIN, "what": operation}


@pytest.mark.depth("full")
def test_every_page_and_dialog_calls_rows_what_readers_get(tmp_path: Path) -> None:
    table = ContestedTable(tmp_path / "warehouse", flights=300)
    table.call("compare_rows", branch="fix-delays", target="main")
    CatalogBench(root=table.folder)("CREATE BRANCH spring ON CATALOG")
    table.write("spring", delay=9, note="in spring")
    truth = Truth(table.folder, table.name, (("main", "fix-delays"), ("main", "spring")))
    operation = table.call("create_tag", tag="v1").operation_id
    services: Any = Services(settings(tmp_path))
    walked, dialogs = set(), set()
    for page, query in pages_and_dialogs(operation):
        opened = Console(services).open(page, **table.place, **query)
        truth.check(shown(opened), (page, query, opened.text))
        walked.add(page)
        dialogs.add(query.get("do"))
    assert walked == {*PageName}
    assert dialogs - {None} == {*Action}
    assert not services.jobs(), "a look at a page started a job"
    assert services.worker() is None
