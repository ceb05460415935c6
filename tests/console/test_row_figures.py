"""Every figure called rows is what `count(*)` returns, on each page and in each command.

The tables have more records in their files than rows: with a key that several records share, and
with deletion vectors that hide some.
"""

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from app.services import Services
from app.settings import Settings
from core.diff.row_diff import plan_row_diff
from core.format.identifier import Identifier
from core.procedures.compare_states import compare_states
from core.procedures.warehouse import Warehouse
from core.spark.readers import plan_table
from core.table.table_state import ReadState
from tests.console.pages import Console, Page
from tests.support.command_line import CommandLine
from tests.support.compared_rows import compared_rows
from tests.support.local_tables import rows_of
from tests.support.warehouses import FixtureWarehouse

TABLES = ("key_levels", "key_partitioned", "vectors_append")
BRANCHES = {"key_partitioned": "fixes"}
# A bound such as `≤ 6 rows` is no count, nor is the end of `2 to 6 rows`.
BOUNDS = ("most_rows", "at_most", "at_least")
SAID = re.compile(r"(?<!≤ )(?<! to )(?<![\d,.])([+\N{MINUS SIGN}-]?[\d,]+) rows?\b(?! group)")
LABELLED = re.compile(r"^rows[^\n]*?\s+([+\N{MINUS SIGN}-]?[\d,]+)$", re.IGNORECASE | re.MULTILINE)


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


class Truth:
    """What readers get of each snapshot of a table, and what its files hold."""

    def __init__(self, warehouse: FixtureWarehouse, table: str) -> None:
        opened = Warehouse.open(str(warehouse.path), read_only=True)
        found = opened.table(Identifier.parse(f"fixtures.{table}"))
        self.rows, self.records = set(), set()
        for branch in ("main", *found.branches.names()):
            there = found.on(branch)
            for snapshot in there.snapshots.all():
                state = ReadState.as_it_was(there, snapshot)
                self.rows.add(rows_of(plan_table(opened.file_io, state)).num_rows)
                self.records.add(snapshot.total_record_count or 0)
        changes = {after - before for before, after in permutations(self.rows, 2)}
        self.allowed = {0, *self.rows, *changes, *self._differing(opened, table)}
        assert self.records - self.allowed, "records that are not rows could not be told from rows"

    @staticmethod
    def _differing(opened: Warehouse, name: str) -> set[int]:
        """How many rows of main a branch has otherwise, found by comparing their cells."""
        if name not in BRANCHES:
            return set()
        table = opened.table(Identifier.parse(f"fixtures.{name}"))
        diff = compare_states(opened, table.identifier, "main", BRANCHES[name])
        found = compared_rows(opened.file_io, table, plan_row_diff(diff))
        kinds = Counter(kind for rows in found for kind in rows["kind"].to_pylist())
        return set(kinds.values())

    def check(self, numbers: Iterator[int], where: object) -> None:
        """Assert that numbers called rows are rows."""
        assert {number for number in numbers if number not in self.allowed} == set(), where


def numbers_in(text: str) -> Iterator[int]:
    for pattern in (SAID, LABELLED):
        for found in pattern.findall(text):
            yield int(found.replace(",", "").replace("\N{MINUS SIGN}", "-"))


def numbers_under_rows(document: Any, name: str = "") -> Iterator[int]:
    """The numbers of a JSON document below a key that says rows."""
    if isinstance(document, dict):
        for key, value in document.items():
            if key not in BOUNDS:
                yield from numbers_under_rows(value, key if "rows" in key or not name else name)
    elif isinstance(document, list):
        for value in document:
            yield from numbers_under_rows(value)
    elif "rows" in name and isinstance(document, int) and not isinstance(document, bool):
        yield document


def commands(table: str) -> Iterator[tuple[str, ...]]:
    name = f"fixtures.{table}"
    for command in ("show", "branches", "snapshots", "tags", "graph", "schemas", "count"):
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
    yield ("rollback", name, "1", "--dry-run")


@pytest.mark.parametrize("table", TABLES)
def test_commands_and_documents_call_rows_what_readers_get(
    overrides: dict[str, str],
    warehouse_200: FixtureWarehouse,
    capsys: pytest.CaptureFixture[str],
    table: str,
) -> None:
    console, truth = CommandLine(overrides["warehouse"], capsys), Truth(warehouse_200, table)
    for command in commands(table):
        printed = console(*command)
        truth.check(numbers_in(printed.out), (command, printed.out))
        told = console(*command, "--json")
        truth.check(numbers_under_rows(told.document), (command, told.out))


def shown(page: Page) -> Iterator[int]:
    yield from numbers_in(page.text)
    for frame in page.at.dataframe:
        for column in frame.value.columns:
            if str(column).startswith("Rows"):
                yield from (
                    int(str(cell).replace(",", "").replace("\N{MINUS SIGN}", "-"))
                    for cell in frame.value[column]
                    if re.fullmatch(r"[+\N{MINUS SIGN}-]?[\d,]+", str(cell))
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
        yield "merge", {"source": branch, "target": "main", "how": "fast-forward"}


@pytest.mark.parametrize("table", TABLES)
def test_pages_call_rows_what_readers_get(
    overrides: dict[str, str], warehouse_200: FixtureWarehouse, table: str
) -> None:
    services: Any = Services(Settings.from_environment(overrides, {}))
    console, truth = Console(services), Truth(warehouse_200, table)
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
    assert {said for label, said in beside.items() if "Records" in label} <= {"not rows"}


def test_lists_of_tables_call_rows_what_readers_get(
    overrides: dict[str, str], own_copy: FixtureWarehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {**overrides, "warehouse": str(own_copy.path)}
    truths = [Truth(own_copy, table) for table in TABLES]
    allowed = set[int]().union(*(each.allowed for each in truths))
    command = CommandLine(own_copy.path, capsys)
    told = [numbers_in(command("tables").out), numbers_under_rows(command.json("tables"))]
    services: Any = Services(Settings.from_environment(asked, {}))
    page = Console(services).open()
    for numbers in (*told, shown(page)):
        assert {number for number in numbers if number not in allowed} == set()
    # The figures of a list stand below its head, each by itself.
    lines = page.text.splitlines()
    assert "Rows" in lines
    for truth in truths:
        assert not {f"{number:,}" for number in truth.records - allowed} & set(lines)


def test_receipts_and_jobs_call_rows_what_readers_get(
    overrides: dict[str, str], own_copy: FixtureWarehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    table, name = "key_partitioned", "fixtures.key_partitioned"
    command = CommandLine(own_copy.path, capsys)
    before = Truth(own_copy, table).allowed
    done = command.json("fast-forward", name, BRANCHES[table], "--force", "--confirm", "main")
    truth = Truth(own_copy, table)
    truth.allowed |= before
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
    for page, query in (("receipt", {"id": done["operation_id"]}), ("jobs", {})):
        opened = Console(services).open(page, db="fixtures", table=table, **query)
        truth.check(shown(opened), (page, opened.text))
