"""The life of a branch in the browser: made, tagged, renamed, dropped and had again."""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Locator, expect

from branch_console.format.identifier import Identifier
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.procedures.browse.page_values import BranchItem
from branch_console_app.services import Services
from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole
from tests.browser.visits import Visit

pytestmark = pytest.mark.depth("full")

_ZONE = ZoneInfo("Europe/Berlin")
_PARTS_OF_A_TIME = {"year": "%Y", "month": "%m", "day": "%d", "hour": "%H", "minute": "%M"}


@dataclass(frozen=True, slots=True)
class OwnTable:
    """A table that the demo has, in a database of one test alone."""

    services: Services
    identifier: Identifier

    @property
    def place(self) -> dict[str, str]:
        return {"db": self.identifier.database, "table": self.identifier.table}

    @property
    def folder(self) -> Path:
        warehouse = Path(self.services.settings.get_warehouse())
        return warehouse / f"{self.identifier.database}.db" / self.identifier.table

    @property
    def branches(self) -> dict[str, BranchItem]:
        return {item.name: item for item in self.services.branches(self.identifier)}

    def snapshot(self, branch: str) -> Snapshot:
        head = self.branches[branch].head
        assert head is not None
        return head

    def head(self, branch: str) -> SnapshotIdentity:
        return self.snapshot(branch).identity


@pytest.fixture
def flights(working_console: RunningConsole, own_air: str) -> OwnTable:
    return OwnTable(working_console.services, Identifier(database=own_air, table="flights"))


@pytest.fixture
def weather(working_console: RunningConsole, own_air: str) -> OwnTable:
    return OwnTable(working_console.services, Identifier(database=own_air, table="weather"))


def test_a_branch_is_made_tagged_renamed_dropped_and_restored(
    visit: NewVisit, working_console: RunningConsole, flights: OwnTable, update_screenshots: bool
) -> None:
    seen = visit(working_console).turn_to("branches", **flights.place, branch="fix-delays")
    before = flights.head("fix-delays")

    seen.page.get_by_role("button", name="Create branch").click()
    _fill(seen, "Name", "a.b")
    expect(_dialog(seen)).to_contain_text("holds only letters")
    _fill(seen, "Name", "sandbox")
    expect(_dialog(seen)).to_contain_text("begins at snapshot 14 of fix-delays")
    seen.assert_fits()
    seen.keep_picture("create-branch-light", update=update_screenshots)
    _run_here(seen, "Create sandbox")
    assert flights.head("sandbox").same_as(before)
    seen.sees("Branch sandbox created.")
    assert seen.query["branch"] == "sandbox"

    seen.turn_to("snapshots", **flights.place, branch="sandbox")
    seen.page.get_by_role("button", name="Tag", exact=True).click()
    _fill(seen, "Name", "checked")
    _run(seen, "Create tag checked")
    tags = flights.services.tags(flights.identifier.on_branch("sandbox"))
    assert "checked" in [item.name for item in tags]

    seen.turn_to("branches", **flights.place, branch="sandbox")
    seen.picks("More", "Rename…")
    _fill(seen, "New name", "delays")
    _run_here(seen, "Rename to delays")
    assert "delays" in flights.branches
    assert "sandbox" not in flights.branches
    assert seen.query["branch"] == "delays"

    seen.picks("More", "Drop…")
    drop = _dialog(seen).get_by_role("button", name="Drop delays")
    expect(drop).to_be_disabled()
    seen.keep_picture("drop-branch-light", update=update_screenshots)
    night = visit(working_console, scheme="dark")
    night.turn_to("branches", **flights.place, branch="delays", do="drop-branch")
    expect(_dialog(night)).to_contain_text("Type delays to confirm")
    night.assert_fits()
    night.keep_picture("drop-branch-dark", update=update_screenshots)
    _dialog(seen).get_by_placeholder("delays").fill("delays")
    _run_here(seen, "Drop delays")
    assert "delays" not in flights.branches
    assert seen.query["branch"] == "main"
    expect(seen.page.locator(".st-key-rows-dropped")).to_contain_text("delays")
    seen.page.get_by_role("button", name="Undo", exact=True).click()
    _run_here(seen, "Undo")
    assert flights.head("delays").same_as(before)
    assert seen.query["branch"] == "delays"
    tags = flights.services.tags(flights.identifier.on_branch("delays"))
    assert "checked" in [item.name for item in tags]

    seen.turn_to("table", **flights.place, t_tab="Events")
    seen.assert_fits()
    seen.keep_picture("history-light", update=update_screenshots)


def test_going_back_from_a_job_leads_to_the_page_that_asked_for_it(
    visit: NewVisit, working_console: RunningConsole, flights: OwnTable
) -> None:
    seen = visit(working_console)
    seen.turn_to("snapshots", **flights.place, branch="fix-delays", sn_axis="time")
    before = seen.query
    seen.page.get_by_role("button", name="Tag", exact=True).click()
    _fill(seen, "Name", "checked")
    _run(seen, "Create tag checked")
    for _ in ("as it stands", "opened anew"):
        seen.page.go_back()
        seen.page.wait_for_url("**/snapshots?**sn_axis=time**")
        seen.settle()
        assert seen.query == before
        expect(_dialog(seen)).to_have_count(0)
        seen.page.go_forward()
        seen.page.wait_for_url("**/job?**")
        seen.settle()
        expect(seen.page.locator(".st-key-page")).to_contain_text("is done")
        seen.page.reload()
        seen.settle()


@pytest.mark.depth("long")
def test_a_branch_begins_at_a_time_whose_snapshot_is_named_or_at_nothing(
    visit: NewVisit, working_console: RunningConsole, flights: OwnTable
) -> None:
    history = flights.services.snapshots(flights.identifier)
    snapshots = {item.id: item.snapshot for item in history if item.snapshot is not None}
    head, before = snapshots[max(snapshots)], snapshots[max(snapshots) - 1]
    between = datetime.fromtimestamp((head.time_millis - 60_000) / 1_000, _ZONE)
    assert before.time_millis <= between.replace(second=0, microsecond=0).timestamp() * 1_000

    seen = visit(working_console).turn_to(
        "branches", **flights.place, branch="main", do="create-branch"
    )
    _fill(seen, "Name", "then")
    _dialog(seen).get_by_text("time", exact=True).click()
    for part, digits in _PARTS_OF_A_TIME.items():
        _dialog(seen).get_by_role("spinbutton", name=f"{part},").click()
        seen.page.keyboard.type(between.strftime(digits))
    # A click beside the calendar closes it.
    _dialog(seen).get_by_label("Name").click()
    expect(_dialog(seen)).to_contain_text(f"begins at snapshot {before.id} of main")
    _run_here(seen, "Create then")
    assert flights.head("then").same_as(before.identity)

    seen.turn_to("branches", **flights.place, branch="main", do="create-branch")
    _fill(seen, "Name", "afresh")
    _dialog(seen).get_by_text("empty", exact=True).click()
    expect(_dialog(seen)).to_contain_text("An empty branch has no base.")
    _run_here(seen, "Create afresh")
    assert flights.branches["afresh"].head is None
    seen.turn_to("merge", **flights.place, source="afresh", how="ff")
    expect(seen.page.locator(".st-key-merge-merge button")).to_have_count(0)


# What the dialogs of this walk and the next show, send and refuse, tests/console/test_dialogs.py
# sees at every depth; that picks, reverts and pins do it, tests/unit/procedures.
@pytest.mark.depth("long")
def test_a_snapshot_is_picked_onto_main_and_taken_back(
    visit: NewVisit, working_console: RunningConsole, weather: OwnTable, update_screenshots: bool
) -> None:
    seen = visit(working_console).turn_to("snapshots", **weather.place, branch="missing-hours")
    before = weather.snapshot("main")
    picked = weather.snapshot("missing-hours").id

    seen.page.get_by_role("button", name="Pick onto another branch").click()
    _dialog(seen).get_by_label("Onto branch").click()
    seen.page.get_by_role("option", name="main", exact=True).click()
    expect(_dialog(seen)).to_contain_text("main gets 1 snapshot")
    seen.assert_fits()
    seen.keep_picture("pick-snapshot-light", update=update_screenshots)
    _run(seen, f"Pick snapshot {picked} onto main")
    after = weather.snapshot("main")
    assert after.id == before.id + 1
    assert after.total_record_count != before.total_record_count

    seen.page.get_by_role("link", name="Receipt").first.click()
    seen.page.wait_for_url("**/receipt?**")
    seen.settle().page.get_by_role("button", name="Revert", exact=True).click()
    _fill(seen, "Reason", "too early")
    expect(_dialog(seen)).to_contain_text("What came later stays")
    seen.assert_fits()
    seen.keep_picture("revert-light", update=update_screenshots)
    _run(seen, "Revert")
    taken_back = weather.snapshot("main")
    assert taken_back.id == after.id + 1
    assert taken_back.total_record_count == before.total_record_count


@pytest.mark.depth("long")
def test_a_branch_whose_base_tag_is_gone_is_marked_and_pinned_again_or_told_what_is_missing(
    visit: NewVisit, working_console: RunningConsole, flights: OwnTable, update_screenshots: bool
) -> None:
    base, older, folder = flights.branches["fix-delays"].base_tag, "old-experiment", flights.folder
    assert base is not None
    tag = folder / "tag" / f"tag-{base}"
    before = tag.read_bytes()
    tag.unlink()
    # Another tag on the same snapshot would keep what the branch began at.
    (folder / "tag" / "tag-2013-full").unlink()
    # Of the other one nothing is left of where it began.
    fork = flights.branches[older].fork
    assert fork is not None
    for kind in ("tag", "snapshot"):
        for path in folder.glob(f"**/{kind}/{kind}-*"):
            if json.loads(path.read_text())["id"] == fork.snapshot_id:
                path.unlink()
    seen = visit(working_console).turn_to("branches", **flights.place, branch="fix-delays")
    card = ".st-key-card-branch"
    seen.sees("at risk", within=card)
    seen.sees(base, within=card)
    seen.page.get_by_role("button", name="Pin merge base…").click()
    expect(_dialog(seen)).to_contain_text(f"Tag '{base}' on main keeps snapshot")
    seen.assert_fits()
    seen.keep_picture("pin-branch-light", update=update_screenshots)
    _run_here(seen, "Pin fix-delays")
    assert tag.read_bytes() == before
    seen.turn_to("branches", **flights.place, branch="fix-delays").sees("healthy", within=card)

    seen.turn_to("branches", **flights.place, branch=older).sees("at risk", within=card)
    seen.page.get_by_role("button", name="Pin merge base…").click()
    expect(_dialog(seen)).to_contain_text("is nowhere any more")
    expect(_dialog(seen)).to_contain_text("Tag its oldest snapshot instead")


def test_main_is_replaced_under_its_typed_name_and_undo_brings_every_byte_back(
    visit: NewVisit, working_console: RunningConsole, flights: OwnTable, update_screenshots: bool
) -> None:
    before = _metadata_of_main(flights.folder)
    seen = visit(working_console).turn_to("branches", **flights.place, branch="backfill-2013-12")
    seen.picks("More", "Replace main…")
    expect(_dialog(seen)).to_contain_text("snapshot 12")
    button = _dialog(seen).get_by_role("button", name="Replace main", exact=False).last
    expect(button).to_be_disabled()
    _dialog(seen).get_by_placeholder("main").fill("mein")
    expect(button).to_be_disabled()
    _dialog(seen).get_by_placeholder("main").fill("main")
    expect(button).to_be_enabled()
    seen.assert_fits()
    seen.keep_picture("replace-main-light", update=update_screenshots)
    seen.runs_here(button.click)
    source = flights.head("backfill-2013-12")
    assert flights.head("main").same_as(source)

    seen.page.get_by_role("button", name="Undo", exact=True).click()
    _run_here(seen, "Undo")
    assert _metadata_of_main(flights.folder) == before


def _dialog(seen: Visit) -> Locator:
    return seen.page.get_by_role("dialog")


def _fill(seen: Visit, label: str, text: str) -> None:
    _dialog(seen).get_by_label(label).fill(text)


def _run(seen: Visit, button: str) -> None:
    """Press the button of a form, follow its job to the end."""
    _press(seen, button)
    seen.runs_job()


def _run_here(seen: Visit, button: str) -> None:
    """Press the button of a form on Branches, which tells there that it is done."""
    seen.runs_here(lambda: _press(seen, button))


def _press(seen: Visit, button: str) -> None:
    pressed = _dialog(seen).get_by_role("button", name=button, exact=True)
    expect(pressed).to_be_enabled()
    pressed.click()


def _metadata_of_main(folder: Path) -> dict[str, bytes]:
    """The snapshots, schemas and tags of main."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for kind in ("snapshot", "schema", "tag")
        for path in (folder / kind).iterdir()
    }
