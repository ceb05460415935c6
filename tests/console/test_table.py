"""Table: summary and tabs, each read only when it is looked at."""

from pathlib import Path
from threading import Event

import pytest

from branch_console.errors import FormatError
from branch_console.format.identifier import Identifier
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.procedures.browse.page_values import FallbackView, SnapshotDetail
from branch_console.quality.rule_file import parse_rules
from branch_console_app.widgets.parts import rows
from tests.console.pages import Console, air_console, settings
from tests.console.pretend import (
    NOW,
    PretendBranch,
    PretendServices,
    PretendTable,
    air_warehouse,
    receipt,
    schema,
)

FLIGHTS = {"db": "air", "table": "flights"}


def test_the_summary_tells_kind_and_columns(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("table", db="air", table="carriers")
    columns = page.at.dataframe[0].value
    assert list(columns["Role"]) == ["key", ""]
    assert list(columns["Null"]) == ["not null", ""]
    assert "Rows 16" in page.text


def test_the_card_of_the_head_shows_its_own_tags_and_counts_the_others(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("table", **FLIGHTS)
    assert "⚑" not in page.text
    assert "2 tags of other snapshots: see *Snapshots*." in page.text


def test_files_are_summed_up_first(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("table", **FLIGHTS, t_tab="Files")
    assert "Data files 10" in page.text
    frame = page.at.dataframe[0].value
    assert list(frame["Files"]) == [6, 4]
    # Sizes are numbers that are read in units: a click on the title sorts them.
    assert list(frame["Size"]) == [70_000, 40_000]
    assert "68.4 KiB" in rows.in_units(frame, "Size").to_html()


def test_many_files_are_summed_up_beside_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = air_console(tmp_path)
    read, done = console.services.snapshot, Event()

    def read_slowly(table: Identifier, version: str) -> SnapshotDetail:
        assert done.wait(30)
        return read(table, version)

    monkeypatch.setattr(console.services, "snapshot", read_slowly)
    page = console.open("table", **FLIGHTS, t_tab="Files")
    assert "summed up from all manifests" in page.text
    assert "Rows 88,000" in page.text
    assert "Data files" not in page.text
    done.set()
    for _ in range(100):
        page.run()
        if "Data files 10" in page.text:
            break
    frame = page.at.dataframe[0].value
    assert list(frame["Files"]) == [6, 4]


def test_many_files_that_cannot_be_read_are_told_and_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = air_console(tmp_path)
    read = console.services.snapshot

    def fail(table: Identifier, version: str) -> SnapshotDetail:
        raise FormatError("A manifest is broken.", path="manifest-7")

    monkeypatch.setattr(console.services, "snapshot", fail)
    page = console.open("table", **FLIGHTS, t_tab="Files")
    assert "A manifest is broken" in page.text
    monkeypatch.setattr(console.services, "snapshot", read)
    assert "Data files 10" in page.run().text


def test_single_files_are_a_choice(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("table", **FLIGHTS, t_tab="Files", t_files="files")
    assert list(page.at.dataframe[0].value["file_path"]) == ["files.parquet"]


def falling_back(tmp_path: Path, problem: str | None = None) -> Console:
    main = PretendBranch("main", schemas=(schema(options={"scan.fallback-branch": "dev"}),))
    table = Identifier(database="air", table="flights")
    view = FallbackView(
        option="scan.fallback-branch",
        branch="main",
        other="dev",
        is_partitioned=True,
        own_partitions=2,
        other_partitions=() if problem else ("month=1", "month=2", "month=3"),
        problem=problem,
    )
    listed = [PretendTable(table, {"main": main})]
    return Console(PretendServices(settings(tmp_path), listed, fallbacks={table: view}))


def test_options_that_name_a_branch_stand_on_top(tmp_path: Path) -> None:
    page = falling_back(tmp_path).open("table", **FLIGHTS, t_tab="Options")
    assert "`scan.fallback-branch` = `dev`" in page.text


@pytest.mark.parametrize("page", ["table", "branches"])
def test_it_says_which_partitions_come_from_the_fallback_branch(page: str, tmp_path: Path) -> None:
    text = falling_back(tmp_path).open(page, **FLIGHTS).text.replace("\\", "")
    assert "Batch reads take 3 partitions from `dev` and 2 from `main`" in text


@pytest.mark.parametrize("page", ["table", "branches"])
def test_it_says_why_a_fallback_branch_cannot_be_read(page: str, tmp_path: Path) -> None:
    text = falling_back(tmp_path, "The columns differ.").open(page, **FLIGHTS).text
    assert "The columns differ" in text
    assert "Batch reads take" not in text


def test_the_history_tells_each_operation(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("table", **FLIGHTS, t_tab="Events")
    assert "**1 operation**" in page.text
    assert "created" in page.text
    empty = air_console(tmp_path).open("table", db="air", table="carriers", t_tab="Events")
    assert "The ledger is empty" in empty.text


@pytest.mark.parametrize("page", ["table", "branches"])
def test_a_history_with_a_broken_event_is_told_to_be_incomplete(page: str, tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    services.listed[1].broken_events = (FormatError("event-7 is broken: it is cut short."),)
    text = Console(services).open(page, **FLIGHTS).text.replace("\\", "")
    assert "The history of operations is incomplete" in text
    assert "event-7 is broken" in text


def test_the_history_is_filtered_and_leads_to_receipts(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    flights = services.listed[1]
    main = flights.branches["main"].snapshots
    moved = LineageEvent(
        id="e2", branch="main", operation_id="b" * 32, actor="grace",
        kind=LineageKind.FAST_FORWARDED, source_branch="backfill", time_millis=NOW,
        receipt=receipt("b" * 32, main[-2], main[-1]),
    )  # fmt: skip
    flights.events = (*flights.events, moved)
    page = Console(services).open("table", **FLIGHTS, t_tab="Events", hi_q="grace")
    assert "**1 operation**" in page.text
    queries = [query for label, query in page.links() if label == "Receipt"]
    assert len(queries) == 1
    assert f"id={'b' * 32}" in queries[0]
    none = Console(services).open("table", **FLIGHTS, t_tab="Events", hi_q="nobody")
    assert "No operation has these words and kinds." in none.text


def test_nobody_reading_is_said(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("table", **FLIGHTS, t_tab="Consumers")
    assert "Nobody keeps a reading position on `main`." in page.text


def test_a_table_without_commits_shows_its_schema(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("table", db="sea", table="empty")
    assert "No commit yet on `main`." in page.text
    assert len(page.at.dataframe[0].value) == 3


def test_a_broken_table_is_a_card(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("table", db="air", table="weather")
    assert "The schema file is not JSON\\. `BROKEN_FILE`" in page.text
    assert "File: `/warehouse/air.db/weather/schema/schema-0`" in page.text


def test_a_table_with_its_branch_is_that_branch_and_never_main(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("table", table="air.flights$branch_backfill")
    assert "Branch\nbackfill" in "\n".join(f"{b.label}\n{b.value}" for b in page.at.selectbox)
    twice = air_console(tmp_path).open("table", table="air.flights$branch_backfill", branch="main")
    assert "**Table `air.flights$branch_backfill` was not found.**" in twice.text


def test_a_system_table_is_no_table_of_the_page(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("table", db="air", table="flights$snapshots")
    assert "**Table `air.flights$snapshots` was not found.**" in page.text
    assert any(label == "`air.flights`" for label, _ in page.links())


def test_a_name_that_leaves_the_warehouse_is_refused(tmp_path: Path) -> None:
    page = air_console(tmp_path).open("table", db="..", table="x/y")
    assert "INVALID_NAME" in page.text


def test_the_table_page_shows_the_rules_and_the_file_they_are_read_from(tmp_path: Path) -> None:
    console = air_console(tmp_path)
    page = console.open("table", db="air", table="flights")
    assert "No quality rules" in page.text
    assert "`.branch-console/quality/air.flights.yaml`" in page.text
    console.services.kept_rules = parse_rules(
        "table: air.flights\nrules:\n"
        "  - {id: tail, rule: not_null, columns: [carrier], severity: block}\n",
        "air.flights",
    )
    page = console.open("table", db="air", table="flights")
    assert "**Quality rules** :gray[1 rule]" in page.text
    assert "`.branch-console/quality/air.flights.yaml`" in page.text
