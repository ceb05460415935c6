"""A three-way merge from a conflict to the receipt, and back again by undo."""

from playwright.sync_api import expect

from core.format.identifier import Identifier
from core.format.snapshot import Snapshot
from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole
from tests.browser.visits import Visit

WEATHER = {"db": "air", "table": "weather"}
TABLE = Identifier(database="air", table="weather")
_JOB_MILLIS = 240_000


def test_a_conflict_is_settled_by_a_link_the_merge_runs_and_is_undone(
    visit: NewVisit, own_demo_console: RunningConsole, update_screenshots: bool
) -> None:
    before = _head(own_demo_console)
    seen = visit(own_demo_console).open("branches", **WEATHER, branch="fix-wind")
    seen.link("Merge").click()
    seen.page.wait_for_url("**/merge?**")
    seen.settle()
    assert "1 conflict: both sides changed what cannot both stand." in seen.text()
    _follow(seen, "Insert scope: partition", "scope=partition")
    assert "origin=EWR" in seen.text()
    _follow(seen, "Isolation: snapshot", "isolation=snapshot")
    assert "Bring fix-wind (1 commit) into main (1 since the fork)." in seen.text()
    seen.page.get_by_text("Buckets: 1 replayed").click()
    seen.assert_fits()
    seen.page.get_by_role("button", name="Merge fix-wind into main").click()
    job_id = _job(seen)
    seen.link("Receipt").click()
    seen.page.wait_for_url("**/receipt?**")
    seen.settle()
    merged = _head(own_demo_console)
    assert merged.id == before.id + 1
    assert merged.total_record_count == before.total_record_count
    assert f"main: snapshot {before.id}" in seen.text()
    seen.assert_fits()
    seen.keep_picture("merge-receipt-light", update=update_screenshots)

    for scheme in ("light", "dark"):
        graph = visit(own_demo_console, scheme=scheme).open("branches", **WEATHER)
        expect(graph.page.locator(".st-key-page")).to_contain_text("merge")
        graph.keep_picture(f"merge-graph-{scheme}", update=update_screenshots)
    again = visit(own_demo_console).open("merge", **WEATHER, source="fix-wind")
    assert "Nothing to do: main holds all that fix-wind changed." in again.text()

    seen.page.get_by_role("button", name="Undo", exact=True).click()
    dialog = seen.page.get_by_role("dialog")
    dialog.get_by_role("button", name="Undo").click()
    assert _job(seen) != job_id
    assert _head(own_demo_console).identity.same_as(before.identity)


def test_a_target_that_moves_meanwhile_stops_the_run(
    visit: NewVisit, own_demo_console: RunningConsole
) -> None:
    seen = visit(own_demo_console).open("merge", **WEATHER, source="kennedy-first")
    other = visit(own_demo_console).open(
        "merge", **WEATHER, source="fix-wind", isolation="snapshot"
    )
    other.page.get_by_role("button", name="Merge fix-wind into main").click()
    _job(other)
    seen.page.get_by_role("button", name="Merge kennedy-first into main").click()
    expect(seen.page.locator(".st-key-page")).to_contain_text("This preview is out of date")
    seen.settle()
    assert "main moved from 4 to 5 (user ada)" in seen.text()
    seen.page.get_by_role("button", name="Plan again").click()
    expect(seen.page.locator(".st-key-page")).to_contain_text("at snapshot 5")
    expect(seen.page.get_by_role("button", name="Merge kennedy-first into main")).to_be_enabled()


def _follow(seen: Visit, label: str, parameter: str) -> None:
    """Follow a link of this page to this page."""
    seen.page.locator(".st-key-line-settlings").get_by_role("link", name=label).click()
    seen.page.wait_for_url(f"**{parameter}**")
    seen.settle()


def _job(seen: Visit) -> str:
    """Wait until the job that was just started is done, and return its id."""
    seen.page.wait_for_url("**/job?**")
    seen.settle()
    expect(seen.page.locator(".st-key-page")).to_contain_text("is done.", timeout=_JOB_MILLIS)
    seen.settle()
    return seen.query["id"]


def _head(console: RunningConsole) -> Snapshot:
    head = console.services.table(TABLE).head
    assert head is not None
    return head
