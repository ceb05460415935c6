"""The life of a branch in the browser: made, tagged, renamed, dropped and had again."""

import json
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Locator, expect

from core.format.identifier import Identifier
from core.format.snapshot import Snapshot, SnapshotIdentity
from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole
from tests.browser.visits import Visit

pytestmark = pytest.mark.depth("full")

FLIGHTS = {"db": "air", "table": "flights"}
TABLE = Identifier(database="air", table="flights")
_ZONE = ZoneInfo("Europe/Berlin")
_PARTS_OF_A_TIME = {"year": "%Y", "month": "%m", "day": "%d", "hour": "%H", "minute": "%M"}
WEATHER = Identifier(database="air", table="weather")


def test_a_branch_is_made_tagged_renamed_dropped_and_restored(
    visit: NewVisit, own_demo_console: RunningConsole, update_screenshots: bool
) -> None:
    seen = visit(own_demo_console).open("branches", **FLIGHTS, branch="fix-delays")
    before = _head(own_demo_console, "fix-delays")

    seen.page.get_by_role("button", name="Create branch").click()
    _fill(seen, "Name", "a.b")
    expect(_dialog(seen)).to_contain_text("holds only letters")
    _fill(seen, "Name", "sandbox")
    expect(_dialog(seen)).to_contain_text("begins at snapshot 14 of 'fix-delays'")
    seen.assert_fits()
    seen.keep_picture("create-branch-light", update=update_screenshots)
    _run(seen, "Create sandbox")
    assert _head(own_demo_console, "sandbox").same_as(before)

    seen.open("snapshots", **FLIGHTS, branch="sandbox")
    seen.page.get_by_role("button", name="Tag", exact=True).click()
    _fill(seen, "Name", "checked")
    _run(seen, "Create tag checked")
    tags = own_demo_console.services.tags(TABLE.on_branch("sandbox"))
    assert "checked" in [item.name for item in tags]

    seen.open("branches", **FLIGHTS, branch="sandbox")
    seen.page.get_by_role("button", name="Rename", exact=True).click()
    _fill(seen, "New name", "delays")
    _run(seen, "Rename to delays")
    assert _names(own_demo_console) >= {"delays"}
    assert "sandbox" not in _names(own_demo_console)

    seen.open("branches", **FLIGHTS, branch="delays")
    seen.page.get_by_role("button", name="Drop", exact=True).click()
    drop = _dialog(seen).get_by_role("button", name="Drop delays")
    expect(drop).to_be_disabled()
    seen.keep_picture("drop-branch-light", update=update_screenshots)
    night = visit(own_demo_console, scheme="dark")
    night.open("branches", **FLIGHTS, branch="delays", do="drop-branch")
    expect(_dialog(night)).to_contain_text("Type delays to confirm")
    night.assert_fits()
    night.keep_picture("drop-branch-dark", update=update_screenshots)
    _dialog(seen).get_by_placeholder("delays").fill("delays")
    _run(seen, "Drop delays")
    assert "delays" not in _names(own_demo_console)

    seen.open("branches", **FLIGHTS)
    expect(seen.page.locator(".st-key-rows-dropped")).to_contain_text("delays")
    seen.page.get_by_role("button", name="Restore").click()
    _run(seen, "Undo")
    assert _head(own_demo_console, "delays").same_as(before)
    tags = own_demo_console.services.tags(TABLE.on_branch("delays"))
    assert "checked" in [item.name for item in tags]

    seen.open("table", **FLIGHTS, t_tab="Events")
    seen.assert_fits()
    seen.keep_picture("history-light", update=update_screenshots)


def test_going_back_from_a_job_leads_to_the_page_that_asked_for_it(
    visit: NewVisit, own_demo_console: RunningConsole
) -> None:
    seen = visit(own_demo_console)
    seen.open("branches", **FLIGHTS, branch="fix-delays", br_axis="time")
    before = seen.query
    seen.page.get_by_role("button", name="Create branch").click()
    _fill(seen, "Name", "sandbox")
    _run(seen, "Create sandbox")
    for _ in ("as it stands", "opened anew"):
        seen.page.go_back()
        seen.page.wait_for_url("**/branches?**br_axis=time**")
        seen.settle()
        assert seen.query == before
        expect(_dialog(seen)).to_have_count(0)
        seen.page.go_forward()
        seen.page.wait_for_url("**/job?**")
        seen.settle()
        expect(seen.page.locator(".st-key-page")).to_contain_text("is done")
        seen.page.reload()
        seen.settle()


def test_a_branch_begins_at_a_time_whose_snapshot_is_named_or_at_nothing(
    visit: NewVisit, own_demo_console: RunningConsole
) -> None:
    services = own_demo_console.services
    history = services.snapshots(TABLE)
    snapshots = {item.id: item.snapshot for item in history if item.snapshot is not None}
    head, before = snapshots[max(snapshots)], snapshots[max(snapshots) - 1]
    between = datetime.fromtimestamp((head.time_millis - 60_000) / 1_000, _ZONE)
    assert before.time_millis <= between.replace(second=0, microsecond=0).timestamp() * 1_000

    seen = visit(own_demo_console).open("branches", **FLIGHTS, branch="main", do="create-branch")
    _fill(seen, "Name", "then")
    _dialog(seen).get_by_text("time", exact=True).click()
    for part, digits in _PARTS_OF_A_TIME.items():
        _dialog(seen).get_by_role("spinbutton", name=f"{part},").click()
        seen.page.keyboard.type(between.strftime(digits))
    # A click beside the calendar closes it.
    _dialog(seen).get_by_label("Name").click()
    expect(_dialog(seen)).to_contain_text(f"begins at snapshot {before.id} of 'main'")
    _run(seen, "Create then")
    assert _head(own_demo_console, "then").same_as(before.identity)

    seen.open("branches", **FLIGHTS, branch="main", do="create-branch")
    _fill(seen, "Name", "afresh")
    _dialog(seen).get_by_text("empty", exact=True).click()
    expect(_dialog(seen)).to_contain_text("An empty branch has no base.")
    _run(seen, "Create afresh")
    (made,) = [item for item in services.branches(TABLE) if item.name == "afresh"]
    assert made.head is None
    seen.open("merge", **FLIGHTS, source="afresh", how="ff")
    expect(seen.page.get_by_role("button", name="Fast-forward main")).to_have_count(0)


def test_a_snapshot_is_picked_onto_main_and_taken_back(
    visit: NewVisit, own_demo_console: RunningConsole, update_screenshots: bool
) -> None:
    weather = {"db": "air", "table": "weather"}
    seen = visit(own_demo_console).open("snapshots", **weather, branch="missing-hours")
    before = _snapshot(own_demo_console, "main", WEATHER)
    picked = _snapshot(own_demo_console, "missing-hours", WEATHER).id

    seen.page.get_by_role("button", name="Pick onto another branch").click()
    _dialog(seen).get_by_label("Onto branch").click()
    seen.page.get_by_role("option", name="main", exact=True).click()
    expect(_dialog(seen)).to_contain_text("'main' gets 1 snapshot")
    seen.assert_fits()
    seen.keep_picture("pick-snapshot-light", update=update_screenshots)
    _run(seen, f"Pick snapshot {picked} onto main")
    after = _snapshot(own_demo_console, "main", WEATHER)
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
    taken_back = _snapshot(own_demo_console, "main", WEATHER)
    assert taken_back.id == after.id + 1
    assert taken_back.total_record_count == before.total_record_count


def test_a_branch_whose_base_tag_is_gone_is_marked_and_pinned_again_or_told_what_is_missing(
    visit: NewVisit, own_demo_console: RunningConsole, update_screenshots: bool
) -> None:
    services = own_demo_console.services
    base, older = _base_tag(own_demo_console, "fix-delays"), "old-experiment"
    folder = Path(services.settings.warehouse) / "air.db" / "flights"
    tag = folder / "tag" / f"tag-{base}"
    before = tag.read_bytes()
    tag.unlink()
    # Another tag on the same snapshot would keep what the branch began at.
    (folder / "tag" / "tag-2013-full").unlink()
    # Of the other one nothing is left of where it began.
    fork = _fork(own_demo_console, older)
    for kind in ("tag", "snapshot"):
        for path in folder.glob(f"**/{kind}/{kind}-*"):
            if json.loads(path.read_text())["id"] == fork:
                path.unlink()
    seen = visit(own_demo_console).open("branches", **FLIGHTS, branch="fix-delays")
    card = ".st-key-card-branch"
    seen.sees("at risk", within=card)
    seen.sees(base, within=card)
    seen.page.get_by_role("button", name="Pin", exact=True).click()
    expect(_dialog(seen)).to_contain_text(f"Tag '{base}' on main keeps snapshot")
    seen.assert_fits()
    seen.keep_picture("pin-branch-light", update=update_screenshots)
    _run(seen, "Pin fix-delays")
    assert tag.read_bytes() == before
    seen.open("branches", **FLIGHTS, branch="fix-delays").sees("healthy", within=card)

    seen.open("branches", **FLIGHTS, branch=older).sees("at risk", within=card)
    seen.page.get_by_role("button", name="Pin", exact=True).click()
    expect(_dialog(seen)).to_contain_text("is nowhere any more")
    expect(_dialog(seen)).to_contain_text("Tag its oldest snapshot instead")


def test_main_is_replaced_under_its_typed_name_and_undo_brings_every_byte_back(
    visit: NewVisit, own_demo_console: RunningConsole, update_screenshots: bool
) -> None:
    folder = Path(own_demo_console.services.settings.warehouse) / "air.db" / "flights"
    before = _metadata_of_main(folder)
    seen = visit(own_demo_console).open("branches", **FLIGHTS, branch="backfill-2013-12")
    seen.page.get_by_role("button", name="Replace main", exact=True).click()
    expect(_dialog(seen)).to_contain_text("snapshot 12")
    button = _dialog(seen).get_by_role("button", name="Replace main", exact=False).last
    expect(button).to_be_disabled()
    _dialog(seen).get_by_placeholder("main").fill("mein")
    expect(button).to_be_disabled()
    _dialog(seen).get_by_placeholder("main").fill("main")
    expect(button).to_be_enabled()
    seen.assert_fits()
    seen.keep_picture("replace-main-light", update=update_screenshots)
    button.click()
    seen.runs_job()
    source = _head(own_demo_console, "backfill-2013-12")
    assert _head(own_demo_console, "main").same_as(source)

    seen.link("Receipt").click()
    seen.page.wait_for_url("**/receipt?**")
    seen.settle().page.get_by_role("button", name="Undo", exact=True).click()
    _run(seen, "Undo")
    assert _metadata_of_main(folder) == before


def _dialog(seen: Visit) -> Locator:
    return seen.page.get_by_role("dialog")


def _fill(seen: Visit, label: str, text: str) -> None:
    _dialog(seen).get_by_label(label).fill(text)


def _run(seen: Visit, button: str) -> None:
    """Press the button of a form, follow its job to the end."""
    pressed = _dialog(seen).get_by_role("button", name=button, exact=True)
    expect(pressed).to_be_enabled()
    pressed.click()
    seen.runs_job()


def _head(console: RunningConsole, branch: str) -> SnapshotIdentity:
    return _snapshot(console, branch).identity


def _snapshot(console: RunningConsole, branch: str, table: Identifier = TABLE) -> Snapshot:
    head = {item.name: item.head for item in console.services.branches(table)}[branch]
    assert head is not None
    return head


def _names(console: RunningConsole) -> set[str]:
    return {item.name for item in console.services.branches(TABLE)}


def _base_tag(console: RunningConsole, branch: str) -> str:
    found = {item.name: item.base_tag for item in console.services.branches(TABLE)}[branch]
    assert found is not None
    return found


def _fork(console: RunningConsole, branch: str) -> int:
    fork = {item.name: item.fork for item in console.services.branches(TABLE)}[branch]
    assert fork is not None
    assert fork.snapshot_id is not None
    return fork.snapshot_id


def _metadata_of_main(folder: Path) -> dict[str, bytes]:
    """The snapshots, schemas and tags of main."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for kind in ("snapshot", "schema", "tag")
        for path in (folder / kind).iterdir()
    }
