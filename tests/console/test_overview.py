"""Overview: tables, what needs attention, filters, and an empty warehouse."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from branch_console.errors import ErrorKind, FormatError, StorageError
from branch_console.format.catalog.catalog_version import CatalogVersion, VersionKind, VersionName
from branch_console.format.journals.written import GateOverride
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.receipt import Receipt
from branch_console.jobs.progress import JobState
from branch_console_app import reads
from branch_console_app.state import now_millis
from tests.console.pages import Console, air_console, settings
from tests.console.pretend import (
    HOUR,
    NOW,
    PretendBranch,
    PretendServices,
    air_warehouse,
    job,
    receipt,
)


def event(
    name: str, kind: LineageKind, *, actor: str = "ada", undoes: str | None = None, at: int = 0
) -> LineageEvent:
    """Something that happened to main of a table, `at` hours from now."""
    return LineageEvent(
        id=name, branch="main", operation_id=name, actor=actor, kind=kind, undoes=undoes,
        source_branch="fix-delays", time_millis=NOW + at * HOUR,
    )  # fmt: skip


def test_it_lists_every_table_with_its_figures(tmp_path: Path) -> None:
    page = air_console(tmp_path).open()
    labels = [label for label, _ in page.links()]
    assert ":gray[air.]flights" in labels
    assert "88,000" in page.text
    assert "**5 tables, 10 branches**" in page.text
    assert not page.at.metric


def test_a_broken_table_is_named_with_its_file_and_spoils_no_other(tmp_path: Path) -> None:
    page = air_console(tmp_path).open()
    assert "/warehouse/air.db/weather/schema/schema-0" in page.text
    assert "`half-made`" in page.text
    assert ":gray[sea.]empty" in [label for label, _ in page.links()]


def test_a_dropped_branch_that_stops_the_cleaning_is_named_until_it_is_released(
    tmp_path: Path,
) -> None:
    console = air_console(tmp_path)
    flights = console.services.listed[1]
    broken = FormatError("A list is missing.", kind=ErrorKind.FILES_MISSING)
    flights.branches["rescue-0b"] = PretendBranch("rescue-0b", (), error=broken)
    page = console.open()
    assert (
        "Expiry of **air\\.flights** is blocked: rescue branch `rescue-0b` cannot be read. "
        "Release it." in page.text
    )
    way_out = [query for label, query in page.links() if label == "See cause and fix"]
    assert any("branch=rescue-0b" in query for query in way_out)
    # Its card says why, that it can go now, and what ends with it.
    card = console.open("branches", db="air", table="flights", branch="rescue-0b")
    assert "Expiry of the table is blocked until it is released." in card.text
    assert "You can release it now. The drop can then no longer be undone." in card.text
    # Once it is released, expiry is blocked for as long as undo can bring it back.
    del flights.branches["rescue-0b"]
    assert "Expiry of" not in console.open().text
    flights.blocked_until = 4_000_000_000_000
    assert "Expiry of **air\\.flights** is blocked until " in console.open().text
    flights.blocked_until = 1_000_000_000_000
    assert "Expiry of" not in console.open().text


def test_names_are_text(tmp_path: Path) -> None:
    page = air_console(tmp_path).open()
    assert ":gray[air.]\\<b\\>bold\\</b\\>" in [label for label, _ in page.links()]
    assert not any(element.allow_html for element in page.at.markdown)


def test_the_filter_of_the_address_is_kept(tmp_path: Path) -> None:
    page = air_console(tmp_path).open(ov_q="carr")
    labels = [label for label, _ in page.links()]
    assert ":gray[air.]carriers" in labels
    assert ":gray[air.]flights" not in labels


def test_a_filter_that_finds_nothing_says_so(tmp_path: Path) -> None:
    page = air_console(tmp_path).open(ov_q="zzz")
    assert "No table or branch matches `zzz`." in page.text
    assert ":gray[air.]flights" in [label for label, _ in page.click("ov-clear").links()]


def test_the_box_finds_branches_too(tmp_path: Path) -> None:
    page = air_console(tmp_path).open(ov_q="delays")
    (found,) = (query for label, query in page.links() if "delays :gray[air" in label)
    assert "branch=fix-delays" in found
    (merge,) = (query for label, query in page.links() if label == "Review merge")
    assert "source=fix-delays" in merge
    assert "No table or branch" not in page.text


def test_only_what_needs_attention_can_be_listed(tmp_path: Path) -> None:
    page = air_console(tmp_path).open(ov_state="broken")
    labels = [label for label, _ in page.links()]
    assert ":gray[air.]weather" in labels
    assert ":gray[air.]flights" not in labels


@pytest.mark.parametrize(("old", "new"), [("healthy", "intact"), ("at-risk", "at risk")])
def test_an_address_may_call_the_state_of_files_by_its_old_word(
    tmp_path: Path, old: str, new: str
) -> None:
    console = air_console(tmp_path)
    names = {label for label, _ in console.open(ov_state=new).links() if label.startswith(":gray[")}
    page = console.open(ov_state=old)
    assert {label for label, _ in page.links() if label.startswith(":gray[")} == names
    assert page.at.selectbox(key="ov_state").value is not None
    # Who copies the address now, or reloads the page, gets today's word and the same list.
    assert page.at.query_params["ov_state"] == new
    page.run()
    assert page.at.selectbox(key="ov_state").value is not None


def test_an_empty_warehouse_says_how_to_fill_it(tmp_path: Path) -> None:
    page = Console(PretendServices(settings(tmp_path))).open()
    assert "No tables under" in page.text
    assert "branch-console demo" in page.text
    for name in ("branches", "merge", "conflicts"):
        page = Console(PretendServices(settings(tmp_path))).open(name)
        assert "No tables yet" in page.text
        assert "Which table" not in page.text
        assert "Overview: how to begin" in [label for label, _ in page.links()]


def test_another_warehouse_in_the_address_is_not_this_one(tmp_path: Path) -> None:
    page = air_console(tmp_path).open(wh="other-123456")
    assert "**Warehouse `other-123456` was not found.**" in page.text
    assert "No name is close. Those that there are:" in page.text
    (query,) = (query for label, query in page.links() if label.startswith("`warehouse-"))
    assert not air_console(tmp_path).open(wh=query.removeprefix("wh=")).at.error
    assert not page.at.metric


def test_a_warehouse_that_does_not_answer_is_a_card(tmp_path: Path) -> None:
    services = PretendServices(settings(tmp_path))
    services.unreachable = StorageError("s3://lake did not answer in 30 s.")
    page = Console(services).open()
    assert "**This page cannot be shown.**" in page.text
    assert "`STORE_UNREACHABLE`" in page.text


def test_the_role_is_told(tmp_path: Path) -> None:
    page = air_console(tmp_path, role="viewer").open()
    assert "acts as ada · viewer" in page.text


def test_what_cannot_be_read_opens_with_its_way_out(tmp_path: Path) -> None:
    page = air_console(tmp_path).open()
    queries = [query for label, query in page.links() if label == "See cause and fix"]
    assert len(queries) == 2
    assert any("table=flights" in query and "branch=half-made" in query for query in queries)


def test_a_merge_and_its_undo_are_one_entry(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    flights = services.listed[1]
    flights.events = (*flights.events, event("m", LineageKind.MERGED, at=-2), event(
        "u", LineageKind.UNDONE, actor="bo", undoes="m"))  # fmt: skip
    page = Console(services).open()
    merged = "ada merged `fix-delays` into `main` of air\\.flights"
    (line,) = [line for line in page.text.splitlines() if "merged `fix-delays`" in line]
    assert line.startswith(merged)
    assert "undone by bo" in line
    assert "undid" not in page.text
    assert "ada created branch `fix-delays` from `main`" in page.text


def test_the_last_twenty_operations_of_all_tables_are_listed_and_the_rest_is_activity(
    tmp_path: Path,
) -> None:
    services = air_warehouse(settings(tmp_path))
    carriers, flights = services.listed[:2]
    flights.events = tuple(event(f"f{n}", LineageKind.TAGGED, at=-2 * n) for n in range(20))
    carriers.events = tuple(event(f"c{n}", LineageKind.TAGGED, at=-2 * n - 1) for n in range(20))
    console = Console(services)
    told = [line for line in console.open().text.splitlines() if "created tags" in line]
    assert [line.count("carriers") for line in told] == [0, 1] * 10
    page = console.open("activity")
    assert "**40 operations**" in page.text
    assert "**20 operations**" in console.open("activity", ac_table="air.carriers").text
    assert "**40 operations**" in console.open("activity", ac_by="ada", ac_kind="tags").text


def test_activity_is_chosen_by_time(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    now = now_millis()
    services.listed[1].events = tuple(
        replace(event(name, LineageKind.TAGGED), time_millis=now - hours * HOUR)
        for name, hours in (("a", 0.5), ("b", 30), ("c", 24 * 8))
    )
    console = Console(services)
    assert "**3 operations**" in console.open("activity").text
    assert "**1 operation**" in console.open("activity", ac_when="last hour").text
    assert "**2 operations**" in console.open("activity", ac_when="last 7 days").text


def test_a_job_that_failed_waits_for_who_started_it_until_it_is_run_again(tmp_path: Path) -> None:
    services = air_warehouse(settings(tmp_path))
    sides = {"branch": "fix-delays", "target": "main"}
    failed = replace(
        job("7", state=JobState.REFUSED, name="merge_branch", message="Blocked by rule `tail`."),
        created_millis=now_millis(), arguments=sides,
    )  # fmt: skip
    services.known_jobs["7"] = failed
    page = Console(services).open()
    assert "**Waiting for you** :orange-badge[1]" in page.text
    assert "**Merge `fix-delays` into `main`** of air\\.flights" in page.text
    assert "Blocked by rule" in page.text
    (query,) = (query for label, query in page.links() if label == "Open job")
    assert "id=7" in query
    services.known_jobs = {"8": replace(failed, id="8", state=JobState.DONE), "7": failed}
    assert "Waiting for you" not in Console(services).open().text


def test_a_merge_of_the_catalog_that_overrode_a_rule_is_marked_and_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services, asked = air_warehouse(settings(tmp_path)), list[str]()
    merged = CatalogVersion(
        branch="main", number=2, kind=VersionKind.MERGED, operation="m", actor="bo",
        time_millis=NOW, parents=(VersionName(branch="main", number=1),
                                  VersionName(branch="spring", number=4)),
    )  # fmt: skip
    finding = {
        "rule": "tail", "severity": "block", "asked": "tail not null", "verdict": "block",
        "said": "Fails.", "examples": [], "partitions": [],
    }  # fmt: skip
    override = GateOverride(reason="Known, see 41", actor="bo", time_millis=NOW)
    main = services.listed[1].branches["main"].snapshots
    kept = replace(receipt("m", main[-2], main[-1]), gate=override.on({"findings": [finding]}))

    def receipts(operation_ids: Sequence[str]) -> Mapping[str, Receipt]:
        asked.extend(operation_ids)
        return {"m": kept}

    monkeypatch.setattr(services, "catalog_events", lambda: (merged,))
    monkeypatch.setattr(services, "catalog_receipts", receipts)
    page = Console(services).open("activity")
    told = next(line for line in page.run().text.splitlines() if "of the catalog" in line)
    assert told.startswith("bo merged `spring` into `main` of the catalog")
    assert ":orange-badge[:material/gpp_maybe: rule `tail` overridden]" in told
    assert "Known, see 41" in told
    assert asked == ["m"]


def test_receipts_of_the_catalog_are_kept_as_long_as_their_versions_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services, asked, parsed = air_warehouse(settings(tmp_path)), list[str](), list[str]()
    main = services.listed[1].branches["main"].snapshots

    def version(number: int, operation: str) -> CatalogVersion:
        return CatalogVersion(
            branch="main", number=number, kind=VersionKind.MERGED, operation=operation,
            actor="bo", time_millis=NOW,
            parents=(VersionName(branch="main", number=number - 1),
                     VersionName(branch="spring", number=4)),
        )  # fmt: skip

    def receipts(operation_ids: Sequence[str]) -> Mapping[str, Receipt]:
        asked.extend(operation_ids)
        return {name: receipt(name, main[-2], main[-1]) for name in operation_ids}

    def undone(found: Receipt) -> None:
        parsed.append(found.operation_id)

    listed = [version(2, "m")]
    monkeypatch.setattr(services, "catalog_events", lambda: tuple(listed))
    monkeypatch.setattr(services, "catalog_receipts", receipts)
    monkeypatch.setattr(reads, "undone_operation", undone)
    console = Console(services)
    for later in (version(3, "n"), version(4, "o")):
        console.open("activity")
        listed.append(later)
        reads.forget()
    console.open("activity")
    assert asked == ["m", "n", "o"]
    # The oldest leaves the list; were it listed again, it would be read again.
    first = listed.pop(0)
    listed.append(version(5, "p"))
    reads.forget()
    console.open("activity")
    listed.append(first)
    reads.forget()
    console.open("activity")
    assert asked == ["m", "n", "o", "p", "m"]
    # No merge undid another operation, so no statement of one is parsed to ask.
    assert parsed == []
