"""Statements over several tables while a merge of the catalog is being published."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from branch_console.errors import NotFound
from branch_console.format.catalog.catalog_version import VersionKind, VersionName
from branch_console.format.journals.intent import Ending
from branch_console.format.journals.terms import TERMS, OperationJournal
from branch_console.procedures.catalog import publishing
from branch_console.procedures.catalog.catalog_operation import CatalogOperation
from branch_console.procedures.statement import query_sources
from branch_console.procedures.statement.query_sources import OpenedQuery, open_query
from branch_console.sql.query import parse_query
from tests.support.catalog_warehouse import CatalogWarehouse

BOTH = "SELECT * FROM air.flights, lab.notes"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CatalogWarehouse:
    """Three tables and a branch of all of them; nobody waits for long."""
    monkeypatch.setattr(publishing, "_WAIT_SECONDS", 0)
    found = CatalogWarehouse(tmp_path / "warehouse")
    found.create()
    return found


def decide(made: CatalogWarehouse, branch: str = "main") -> CatalogOperation:
    """Make the version of a merge whose tables are all as before."""
    ledger, number = made.warehouse.ledger, made.warehouse.ledger.newest(branch)
    operation = CatalogOperation.begin(
        made.warehouse,
        replace(made.call("recover"), operation_id="op-merge"),
        branch=branch,
        codec=TERMS,
        journal=OperationJournal(),
    )
    merged = replace(
        ledger.version(VersionName(branch=branch, number=number)),
        number=number + 1,
        kind=VersionKind.MERGED,
        operation="op-merge",
        tables={},
        databases={},
    )
    assert ledger.publish(made.warehouse.store.publisher, merged)
    return operation


def read(made: CatalogWarehouse, text: str = BOTH, branch: str = "main") -> OpenedQuery:
    return open_query(made.warehouse, parse_query(text), branch, "asked")


def heads(opened: OpenedQuery) -> list[int | None]:
    return [each.snapshot_id for each in opened.reads]


def once_after_the_first_table(
    monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]
) -> None:
    """Have something happen when a statement has opened the first of its tables."""
    opens, calls = query_sources._source, []

    def meddled(*arguments: object) -> object:
        found = opens(*arguments)  # type: ignore[arg-type]
        calls.append(found)
        if len(calls) == 1:
            happens()
        return found

    monkeypatch.setattr(query_sources, "_source", meddled)


def test_a_merge_that_comes_while_tables_are_opened_is_read_whole(
    made: CatalogWarehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def merge() -> None:
        operation = decide(made)
        for name in ("air.flights", "lab.notes"):
            made.commit(name, 2)
        operation.end(Ending.DONE)

    once_after_the_first_table(monkeypatch, merge)
    found = read(made)
    assert (heads(found), found.notes) == ([2, 2], ())


def test_a_statement_waits_for_the_end_of_a_merge_and_reads_it_whole(
    made: CatalogWarehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation = decide(made)
    made.commit("air.flights", 2)

    def rest(_: float) -> None:
        made.commit("lab.notes", 2)
        operation.end(Ending.DONE)

    monkeypatch.setattr(publishing.time, "sleep", rest)
    found = read(made)
    assert (heads(found), found.notes) == ([2, 2], ())


@pytest.mark.parametrize(
    ("text", "branch", "changed"),
    [
        (BOTH, "main", "main"),
        (BOTH, "dev", "dev"),
        ("SELECT * FROM `air$branch_dev`.flights, lab.notes", "main", "dev"),
        ("SELECT * FROM air.`flights$branch_dev`, lab.notes", "main", "dev"),
    ],
)
def test_a_merge_that_takes_too_long_is_told(
    made: CatalogWarehouse, text: str, branch: str, changed: str
) -> None:
    operation = decide(made, changed)
    made.commit("air.flights", 2, branch=changed)
    found = read(made, text, branch)
    version = f"{changed}@{made.warehouse.ledger.newest(changed)}"
    assert heads(found) == [2, 1]
    assert found.notes == (
        f"{version}, a merge of the catalog, went on being published for longer than a statement "
        "waits: some tables may be read as before, and some as after. Read a tag of the catalog "
        "where that matters.",
    )
    operation.end(Ending.DONE)
    assert read(made, text, branch).notes == ()


@pytest.mark.parametrize(
    "text", ["SELECT * FROM air.flights", "SELECT * FROM air.flights AS a, air.flights AS b"]
)
def test_a_statement_over_one_table_waits_for_no_merge(
    made: CatalogWarehouse, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(publishing.time, "sleep", lambda _: pytest.fail("It waited."))
    decide(made)
    assert read(made, text).notes == ()


def test_a_table_that_was_on_its_way_is_looked_for_again(
    made: CatalogWarehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = made.folder / "lab.db/notes"

    def merge() -> None:
        notes.rename(made.folder / "lab.db/on-its-way")
        operation = decide(made)

        def rest(_: float) -> None:
            (made.folder / "lab.db/on-its-way").rename(notes)
            operation.end(Ending.DONE)

        monkeypatch.setattr(publishing.time, "sleep", rest)

    once_after_the_first_table(monkeypatch, merge)
    assert heads(read(made)) == [1, 1]
    with pytest.raises(NotFound, match="no table"):
        read(made, "SELECT * FROM air.flights, lab.other")
