"""Search, help and tour: what each finds and where it leads, on every page."""

from pathlib import Path

import pytest

from branch_console.procedures.demo_marker import MARKER
from branch_console_app.models.parts.tour import STATIONS
from tests.console.pages import Console, air_console, settings
from tests.console.pretend import air_warehouse


def test_the_search_finds_branches_tags_and_pages(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("jobs")
    page.at.session_state["search-words"] = "delays"
    labels = dict(page.click("search").links())
    (found,) = (query for label, query in labels.items() if "delays :gray[air" in label)
    assert "table=flights" in found
    assert "branch=fix-delays" in found


def test_the_search_finds_what_the_ledgers_tell_and_parts_of_maintenance(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    ledger = console.services.listed[1].events
    assert ledger
    page = console.open("table", db="air", table="flights")
    page.at.session_state["search-words"] = ledger[0].operation_id
    found = [label for label, _ in page.click("search").links() if ledger[0].operation_id in label]
    assert found, "an operation is found by its id"

    page = console.open("table", db="air", table="flights")
    page.at.session_state["search-words"] = "orphans"
    (query,) = (query for label, query in page.click("search").links() if "Orphans" in label)
    assert "mt_tab=Orphans" in query


def test_the_search_finds_the_settings_of_each_table_from_every_page(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    page = console.open("jobs")
    page.at.session_state["search-words"] = "policy flights"
    (query,) = (query for label, query in page.click("search").links() if "Policy" in label)
    assert "table=flights" in query
    assert "mt_tab=Policy" in query
    page = console.open("table", db="air", table="flights")
    page.at.session_state["search-words"] = "settings"
    first, *others = (query for label, query in page.click("search").links() if "settings" in label)
    assert "table=flights" in first
    assert "t_tab=Options" in first
    assert any("table=flights" not in query for query in others)


def test_what_no_name_has_is_said(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("table", db="air", table="flights")
    page.at.session_state["search-words"] = "zebra"
    assert "No name has `zebra` in it." in page.click("search").text


def test_the_help_has_the_words_of_the_document(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("jobs")
    page.click("help")
    assert "**merge base**: the newest snapshot that both branches contain" in page.text
    assert "`Ctrl+K`" in page.text
    assert "branch-console demo" in "".join(str(each.value) for each in page.at.code)


@pytest.fixture
def demo(tmp_path: Path) -> Console:
    folder = tmp_path / "warehouse"
    folder.mkdir()
    (folder / MARKER).write_text("{}")
    return Console(air_warehouse(settings(tmp_path)))


def test_the_tour_is_offered_once_on_the_first_page_of_the_demo(
    demo: Console, tmp_path: Path
) -> None:
    page = demo.open()
    assert "**New here?**" in page.text
    assert "**New here?**" not in page.click("tour-no").text
    assert "**New here?**" not in demo.open("jobs").text


def test_a_warehouse_that_is_no_demo_offers_no_tour(tmp_path: Path) -> None:
    assert "**New here?**" not in air_console(tmp_path).open().text


def test_each_station_leads_to_the_next_until_it_ends(demo: Console) -> None:
    page = demo.open("branches", db="air", table="flights", tour="1")
    assert "**1 of 6: The branches of a table**" in page.text
    (following,) = (query for label, query in page.links() if label.startswith("Next: "))
    assert "tour=2" in following
    assert "cmp_b=fix-delays" in following
    last = demo.open("jobs", tour=str(len(STATIONS)))
    assert not [label for label, _ in last.links() if label.startswith("Next: ")]
    assert "6 of 6" not in last.click("tour-end").text


@pytest.mark.parametrize("number", ["0", "7", "x"])
def test_a_station_that_is_not_there_is_none(demo: Console, number: str) -> None:
    assert " of 6" not in demo.open("jobs", tour=number).text
