"""Branches: graph, inspector, list, and addresses that name what is not there."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from branch_console.errors import ErrorKind, FormatError
from branch_console.format.identifier import Identifier
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.procedures.undo.undo import UndoChance
from branch_console.sql.parser import parse_statements
from branch_console.sql.query import parse_query
from branch_console_app.models.parts.actions import DroppedFiles
from branch_console_app.models.parts.query_answer import first_rows_query
from tests.console.pages import Console, Page, air_console, settings
from tests.console.pretend import (
    HOUR,
    NOW,
    PretendBranch,
    PretendServices,
    PretendTable,
    air_warehouse,
    receipt,
    snapshot,
)

FLIGHTS = {"db": "air", "table": "flights"}


def test_every_branch_is_listed_with_its_standing(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("branches", **FLIGHTS)
    for words in ("main branch", "+3 \N{MINUS SIGN}3", "+2 \N{MINUS SIGN}0", "= even"):
        assert words in page.text
    assert "**6 branches**" in page.text


def test_the_list_speaks_of_files_as_no_rule_was_asked(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("branches", **FLIGHTS)
    assert ":green-badge[✓ intact]" in page.text
    assert "healthy" not in page.text


def test_the_chart_says_its_finding(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("branches", **FLIGHTS, branch="fix-delays")
    (chart,) = page.at.get("plotly_chart")
    assert "fix-delays: 3 ahead, 3 behind" in chart.proto.alt
    assert "half-made: cannot be read" in chart.proto.alt


def test_the_inspector_tells_of_the_branch_in_the_address(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("branches", **FLIGHTS, branch="fix-delays")
    assert "Delays of UA are off by an hour" in page.text
    assert "3 commits ahead of `main`, 3 behind." in page.text
    assert "`main` at snapshot 9" in page.text
    assert "Snapshot 9 stands on both branches\\." in page.text


def test_the_card_has_one_primary_button_one_more_and_a_menu(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("branches", **FLIGHTS, branch="backfill")
    assert "2 commits ahead of `main`, none behind." in page.text
    kinds = {button.key: button.proto.type for button in page.at.button}
    assert [key for key, kind in kinds.items() if kind == "primary"] == ["review-merge"]
    assert kinds["compare-branch"] == "secondary"
    assert menu(page) == [
        "Snapshots", "Schemas", "Query", "Rename…", "Protect…", "Pin merge base…", "Replace main…",
        "Drop…",
    ]  # fmt: skip


def test_the_primary_button_leads_to_the_merge_of_the_branch(tmp_path: Path) -> None:
    page = (
        air_console(tmp_path).open("branches", **FLIGHTS, branch="backfill").click("review-merge")
    )
    query = page.at.query_params
    assert (query["source"], query["target"]) == ("backfill", "main")


def test_without_a_record_a_branch_shows_the_time_of_its_folder(tmp_path: Path) -> None:
    # Other software made the branch, or its folder was copied: the time is no time of creation.
    card = air_console(tmp_path).open("branches", **FLIGHTS, branch="audit").text
    assert "Folder made" in card
    assert "Created" not in card


def test_a_branch_says_whose_net_change_stands_beside_the_rows_that_it_holds(
    tmp_path: Path,
) -> None:
    card = air_console(tmp_path).open("branches", **FLIGHTS, branch="backfill").text
    assert re.search(
        r"Net change since the merge base with main.*\n*.*this branch [+\N{MINUS SIGN}0]", card
    )


def test_main_has_no_time_of_creation_but_a_branch_has(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    assert "Created" in console.open("branches", **FLIGHTS, branch="backfill").text
    assert "Created" not in console.open("branches", **FLIGHTS, branch="main").text


def menu(page: Page) -> list[str]:
    """What the menu of the card offers."""
    (found,) = page.at.get("menu_button")
    return list(found.proto.options)


def test_an_unknown_branch_is_not_found_and_main_is_not_shown(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("branches", **FLIGHTS, branch="fixdelays")
    assert "**Branch `fixdelays` was not found.**" in page.text
    assert "`fix-delays`" in [label for label, _ in page.links()]
    assert not page.at.get("plotly_chart")


def test_an_unknown_table_is_not_found_with_near_names(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("branches", db="air", table="flight")
    assert "**Table `air.flight` was not found.**" in page.text
    assert "`air.flights`" in [label for label, _ in page.links()]


def test_a_broken_branch_is_a_card_with_its_ways_out_and_the_others_stay(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("branches", **FLIGHTS, branch="half-made")
    assert page.at.get("plotly_chart")
    assert "**6 branches**" in page.text
    assert "so it cannot be read\\. Other branches are not affected, but expiry" in page.text
    kinds = {button.key: button.proto.type for button in page.at.button}
    assert [key for key, kind in kinds.items() if kind == "primary"] == ["do-drop-branch"]
    assert "snapshot/LATEST" in page.unfold("br_files").at.dataframe[0].value["File"].tolist()
    dropped = page.click("do-drop-branch")
    assert dropped.at.query_params["do"] == "drop-branch"
    other = air_console(tmp_path).open("branches", **FLIGHTS)
    assert "✕ cannot be read" in other.text


def test_the_drop_of_a_branch_that_blocks_expiry_keeps_its_files_and_says_what_ends_that(
    tmp_path: Path,
) -> None:
    console = air_console(tmp_path)
    lost = FormatError("A list is missing.", kind=ErrorKind.FILES_MISSING)
    console.services.listed[1].branches["torn"] = PretendBranch("torn", (), error=lost)
    page = console.open("branches", **FLIGHTS, branch="torn")
    assert "expiry of the table is blocked until this one is restored, or dropped" in page.text
    dialog = page.click("do-drop-branch")
    (choice,) = (each for each in dialog.at.radio if each.key == "do-files")
    assert choice.value == DroppedFiles.STAY
    captions = choice.proto.captions
    assert captions[0] == "Expiry stays blocked until the rescue branch is released."
    assert captions[1].startswith("Expiry works again after this period.")
    # One that can be read blocks nothing, so there is nothing to say about expiry.
    other = console.open("branches", **FLIGHTS, branch="fix-delays", do="drop-branch")
    (choice,) = (each for each in other.at.radio if each.key == "do-files")
    assert choice.value == DroppedFiles.STAY
    assert not choice.proto.captions


def test_pages_about_a_broken_branch_show_main_and_say_so(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    for page in ("table", "snapshots", "schemas"):
        opened = console.open(page, **FLIGHTS, branch="half-made")
        assert "`half-made` cannot be read, so this page shows `main`." in opened.text, page
        (query,) = (query for label, query in opened.links() if label == "See cause and fix")
        assert "branch=half-made" in query
        assert not opened.at.error, page


def test_the_snapshot_of_the_address_is_inspected(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    third = services.listed[1].branches["main"].snapshots[2]
    page = Console(services).open(
        "branches", **FLIGHTS, branch="main", snap=f"main:3:{third.identity.short}"
    )
    assert "##### Snapshot 3 of `main`" in page.text
    figure = json.loads(page.at.get("plotly_chart")[0].proto.spec)
    marked = [trace for trace in figure["data"] if trace.get("selectedpoints")]
    assert [trace["customdata"][trace["selectedpoints"][0]][1] for trace in marked] == [3]


def test_a_reused_id_is_said(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("branches", **FLIGHTS, branch="main", snap="main:3:00000000")
    assert "is not the one this link was made for" in page.text


def test_the_list_can_be_searched(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("branches", **FLIGHTS, br_q="back")
    labels = [label for label, _ in page.links()]
    # The lane is there in any case; the list is not.
    assert labels.count("backfill") == 2
    assert labels.count("audit") == 1
    assert "**1 of 6 branches**" in page.text


def test_links_keep_the_view(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("branches", **FLIGHTS, br_axis="time")
    queries = dict(page.links())
    assert "br_axis=time" in queries["backfill"]
    assert "branch=backfill" in queries["backfill"]


def test_a_branch_that_has_gone_since_its_table_was_read_is_not_found(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    at = {**FLIGHTS, "branch": "backfill"}
    assert "backfill" in console.open("table", **at).text
    del console.services.listed[1].branches["backfill"]
    page = console.open_soon("branches", **at, do="rename-branch")
    assert "**Branch `backfill` was not found.**" in page.text


def test_an_unknown_branch_to_compare_with_is_not_found(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("branches", **FLIGHTS, br_vs="backfil")
    assert "**Branch `backfil` was not found.**" in page.text
    assert any("br_vs=backfill" in query for label, query in page.links() if label == "`backfill`")


def test_a_table_with_main_only_says_how_to_make_a_branch(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("branches", db="air", table="carriers")
    assert page.at.button(key="create-first-branch").label == "Create the first branch"


def test_rescue_branches_wait_until_asked_for(tmp_path: Path) -> None:
    main = air_warehouse(settings(tmp_path)).listed[1].branches["main"].snapshots
    table = PretendTable(
        Identifier(database="air", table="flights"),
        {
            "main": PretendBranch("main", main),
            "rescue-0a": PretendBranch("rescue-0a", main[:5], parent="main"),
        },
    )
    console = Console(PretendServices(settings(tmp_path), [table]))
    for show in ("false", "true"):
        page = console.open("branches", **FLIGHTS, br_show=show)
        assert "**1 branch, 1 rescue**" in page.text
        assert ("rescue\\-0a" in dict(page.links())) == (show == "true")


def test_a_rescue_branch_is_released_and_never_dropped_into_another_one(tmp_path: Path) -> None:
    main = air_warehouse(settings(tmp_path)).listed[1].branches["main"].snapshots
    broken = FormatError("No schema.", kind=ErrorKind.SCHEMA_NOT_FOUND)
    table = PretendTable(
        Identifier(database="air", table="flights"),
        {
            "main": PretendBranch("main", main),
            "rescue-0a": PretendBranch("rescue-0a", main[:5], parent="main"),
            "rescue-0b": PretendBranch("rescue-0b", (), error=broken),
        },
    )
    console = Console(PretendServices(settings(tmp_path), [table]))
    offered = menu(console.open("branches", **FLIGHTS, branch="rescue-0a"))
    assert offered[-1] == "Release…"
    assert "Drop…" not in offered
    page = console.open("branches", **FLIGHTS, branch="rescue-0b")
    assert not page.has_button("do-drop-branch")
    query = page.click("do-release").at.query_params
    assert (query["do"], query["what"]) == ("release-branch", "rescue-0b")


def test_the_inspector_tells_what_may_break_a_branch_and_offers_the_remedy(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("branches", **FLIGHTS, branch="archive-2012")
    assert "△ The tag that keeps its base ends in 2 days\\. `F03`" in page.text
    assert page.at.button(key="fix-pin-branch").label == "Pin merge base…"
    assert not page.has_button("fix-fence")
    assert "quiet for 1 year" in page.text


def _ended(console: Console, **parts: Any) -> Console:
    """Have the ledger of flights say what became of the branch `trial`."""
    flights = console.services.listed[1]
    event = LineageEvent(id="e9", operation_id="9f2a", actor="bo", time_millis=NOW - HOUR, **parts)
    flights.events = (*flights.events, event)
    return console


@pytest.mark.parametrize(
    ("page", "view"),
    [
        ("table", {"branch": "trial"}),
        ("branches", {"branch": "trial"}),
        ("merge", {"source": "trial"}),
    ],
)
def test_a_renamed_branch_leads_to_the_same_page_under_its_new_name(
    tmp_path: Path, page: str, view: dict[str, str]
) -> None:
    console = _ended(
        air_console(tmp_path), kind=LineageKind.RENAMED, branch="backfill", source_branch="trial"
    )
    seen = console.open(page, **FLIGHTS, **view)
    assert "**Branch `trial` is now `backfill`.** bo renamed it " in seen.text
    (parameter,) = view
    assert f"{parameter}=backfill" in dict(seen.links())["Go on with `backfill`"]


def test_a_dropped_branch_says_who_dropped_it_and_can_be_restored(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    branches = console.services.listed[1].branches
    branches["rescue-9f2a"] = replace(branches["backfill"], name="rescue-9f2a")
    _ended(
        console, kind=LineageKind.DROPPED, branch="trial",
        receipt=replace(
            receipt("9f2a", snapshot("a", 1), snapshot("b", 2)), rescue_branch="rescue-9f2a"
        ),
    )  # fmt: skip
    seen = console.open("merge", **FLIGHTS, source="trial")
    assert "**Branch `trial` was dropped.** bo dropped it " in seen.text
    assert "Rescue branch `rescue-9f2a` keeps all it had." in seen.text
    restore = dict(seen.links())["Restore it"]
    assert {"do=undo", "what=9f2a"} <= set(restore.split("&"))
    # Without its rescue branch there is nothing to restore, as undo says.
    del branches["rescue-9f2a"]
    console.services.undo_chances["9f2a"] = UndoChance(obstacle="Branch 'rescue-9f2a' is gone.")
    seen = console.open("merge", **FLIGHTS, source="trial")
    assert "was dropped.**" in seen.text
    assert "keeps all it had" not in seen.text
    assert "Restore it" not in dict(seen.links())


def test_the_query_of_a_branch_names_it_as_a_statement_needs_it() -> None:
    table = Identifier.parse("air.flights")
    assert first_rows_query(table) == "SELECT * FROM air.flights LIMIT 100"
    branch = table.on_branch("fix-delays")
    assert first_rows_query(branch) == "SELECT * FROM air.`flights$branch_fix-delays` LIMIT 100"


WORDS_OF_SQL = (
    "select",
    "from",
    "where",
    "join",
    "values",
    "on",
    "using",
    "union",
    "with",
    "cross",
)


@pytest.mark.parametrize("name", [*WORDS_OF_SQL, "order", "date", "über"])
def test_the_query_of_a_table_can_be_read_whatever_its_name_means_in_a_statement(name: str) -> None:
    for table in (f"air.{name}", f"{name}.flights", f"{name}.{name}"):
        for branch in ("main", "dev"):
            asked = Identifier.parse(table).on_branch(branch)
            (statement,) = parse_statements(first_rows_query(asked))
            (read,) = parse_query(str(statement.arguments["sql"])).references
            assert read.identifier == asked
