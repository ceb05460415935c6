"""Schemas: history, comparison by field id, names that do not exist."""

from pathlib import Path

from branch_console.format.identifier import Identifier
from tests.console.pages import Console, air_console, settings
from tests.console.pretend import (
    PretendBranch,
    PretendServices,
    PretendTable,
    air_warehouse,
    schema,
)

FLIGHTS = {"db": "air", "table": "flights"}


def test_the_newest_change_is_compared(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("schemas", **FLIGHTS)
    assert "✓ compatible" in page.text
    table = page.at.dataframe[0].value
    assert list(table["What became of it"]) == ["", "", "widened"]


def test_the_address_names_both_sides(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("schemas", **FLIGHTS, sc_l="main:1", sc_r="main:0")
    assert "✕ breaking" in page.text
    assert "Values may not fit the narrower type\\." in page.text


def test_latest_stands_for_the_newest_version(tmp_path: Path) -> None:
    page = air_console(tmp_path).open(
        "schemas", **FLIGHTS, sc_l="archive-2012:latest", sc_r="main:latest"
    )
    assert list(page.at.dataframe[0].value.columns)[2:5:2] == [
        "archive-2012 schema 0",
        "main schema 1",
    ]


def test_an_unknown_branch_is_said_and_not_replaced(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("schemas", **FLIGHTS, sc_l="backfil:0", sc_r="main:0")
    assert "**Branch `backfil` was not found.** Names that are close: `backfill`." in page.text
    assert not page.at.dataframe


def test_an_unknown_version_is_said(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("schemas", **FLIGHTS, sc_l="main:7", sc_r="main:0")
    assert "**`main` has no schema 7.**" in page.text


def test_one_number_for_two_schemas_is_said_on_top(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    branches = services.listed[1].branches
    branches["audit"].schemas = (schema(), schema(1, columns={"flight": "BIGINT NOT NULL"}))
    page = Console(services).open("schemas", **FLIGHTS, sc_l="main:1", sc_r="audit:1")
    assert "**Schema 1 is one thing on `main` and another on `audit`.**" in page.text


def test_one_version_is_history_only(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("schemas", db="air", table="carriers")
    assert "Both sides are the same schema" in page.text
    assert "First version, 2 columns." in page.text


def test_only_changes_can_be_asked_for(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("schemas", **FLIGHTS, sc_only="true")
    assert len(page.at.dataframe[0].value) == 1


def test_a_thousand_columns_show_their_changes_only(tmp_path: Path) -> None:
    many = {f"c{number}": "INT" for number in range(1_000)}
    wide = PretendBranch(
        "main", schemas=(schema(columns=many), schema(1, columns={**many, "new": "INT"}))
    )
    table = PretendTable(Identifier(database="air", table="flights"), {"main": wide})
    page = Console(PretendServices(settings(tmp_path), [table])).open("schemas", **FLIGHTS)
    assert len(page.at.dataframe[0].value) == 1
