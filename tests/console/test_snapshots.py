"""Snapshots: timeline, inspector, and links to snapshots that are no more."""

from pathlib import Path

import pytest

from branch_console.errors import ErrorKind, NotFound
from branch_console.format.identifier import Identifier
from branch_console.procedures.browse.page_values import SnapshotDetail
from tests.console.pages import Console, air_console, settings
from tests.console.pretend import air_warehouse

FLIGHTS = {"db": "air", "table": "flights"}


def test_the_head_is_inspected_where_the_address_names_none(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("snapshots", **FLIGHTS)
    assert "##### Snapshot 12 :blue-badge[head]" in page.text
    assert "Kept because: it is the head." in page.text


def test_the_chart_says_its_finding(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("snapshots", **FLIGHTS)
    (chart,) = page.at.get("plotly_chart")
    assert chart.proto.alt.startswith("main: 12 snapshots, 88,000 rows at the head")


def test_the_snapshot_of_the_address_is_inspected(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    fourth = services.listed[1].branches["main"].snapshots[3]
    page = Console(services).open("snapshots", **FLIGHTS, snap=f"main:4:{fourth.identity.short}")
    assert "##### Snapshot 4" in page.text
    assert "⚑ 2013\\-q1" in page.text
    assert "107 KiB" in page.text


def test_a_reused_id_is_said_and_no_other_snapshot_is_shown(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("snapshots", **FLIGHTS, snap="main:4:00000000")
    assert "is not the one this link was made for" in page.text
    assert "##### Snapshot" not in page.text
    assert "Show the head" in [label for label, _ in page.links()]


@pytest.mark.parametrize("path", ["snapshots", "branches"])
def test_what_names_no_snapshot_is_said_and_none_is_shown(path: str, tmp_path: Path) -> None:
    page = air_console(tmp_path).open(path, **FLIGHTS, snap="main-7")
    assert "**`main-7` names no snapshot.**" in page.text
    assert "##### Snapshot" not in page.text


def test_a_tag_is_not_put_on_the_head_in_place_of_what_names_no_snapshot(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("snapshots", **FLIGHTS, do="create-tag", what="7th")
    assert "**`7th` names no snapshot.**" in page.text
    assert not any(field.label == "Name" for field in page.at.text_input)


def test_an_expired_snapshot_is_said(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("snapshots", **FLIGHTS, snap="main:99:00000000")
    assert "**Snapshot 99 of `main` is not there.**" in page.text


def test_a_snapshot_whose_files_are_gone_leads_to_the_card_of_its_branch(tmp_path: Path) -> None:
    console = air_console(tmp_path)

    def read(table: Identifier, version: str) -> SnapshotDetail:
        raise NotFound(f"{table} lacks a file of {version}.", kind=ErrorKind.FILES_MISSING)

    console.services.snapshot = read  # type: ignore[method-assign]
    page = console.open("snapshots", **FLIGHTS, branch="fix-delays")
    assert "The files of this snapshot cannot be read." in page.text
    assert "branch=fix-delays" in dict(page.links())["See cause and fix"]


def test_two_branches_stand_on_one_scale(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("snapshots", **FLIGHTS, sn_b2="backfill")
    (chart,) = page.at.get("plotly_chart")
    assert "main: 12 snapshots" in chart.proto.alt
    assert "backfill: 14 snapshots" in chart.proto.alt


def test_a_kind_can_be_asked_for(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("snapshots", **FLIGHTS, sn_kind="compact")
    (table,) = [each for each in page.at.dataframe if "Snapshot" in each.value.columns]
    assert set(table.value["Kind"]) == {"□ compact"}


def test_a_range_of_ids_can_be_asked_for(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("snapshots", **FLIGHTS, sn_from="3", sn_to="5")
    (table,) = [each for each in page.at.dataframe if "Snapshot" in each.value.columns]
    assert list(table.value["Snapshot"]) == [5, 4, 3]


def test_a_branch_without_commits_says_so(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("snapshots", db="sea", table="empty")
    assert "No commit yet on `main`." in page.text


def test_without_a_table_there_is_a_choice(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("snapshots")
    assert "`air.flights`" in [label for label, _ in page.links()]
