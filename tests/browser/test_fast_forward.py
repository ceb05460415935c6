"""The fast-forward from the button to the receipt, by a worker that the console started."""

import pytest
from playwright.sync_api import expect

from branch_console.format.identifier import Identifier
from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole

FLIGHTS = {"db": "air", "table": "flights"}


def test_it_runs_from_the_preview_to_the_receipt(
    visit: NewVisit, working_console: RunningConsole, own_air: str, update_screenshots: bool
) -> None:
    flights = {"db": own_air, "table": "flights"}
    seen = visit(working_console).turn_to("branches", **flights, branch="fix-delays")
    seen.page.get_by_role("button", name="Review merge").click()
    seen.page.wait_for_url("**/merge?**")
    seen.settle()
    seen.sees("a fast-forward adds the 2 commits of fix-delays unchanged.")
    seen.opens_merge()
    seen.merges()
    job_id = seen.is_merged()
    if update_screenshots:
        day = visit(working_console).turn_to("job", **flights, id=job_id)
        day.keep_picture("job-light", update=True)
    seen.page.get_by_role("button", name="View receipt").click()
    seen.page.wait_for_url("**/receipt?**")
    seen.settle()
    seen.sees("main: snapshot 12")
    seen.sees("snapshot 14")
    seen.assert_fits()
    seen.keep_picture("receipt-light", update=update_screenshots)
    if update_screenshots:
        night = visit(working_console, scheme="dark")
        night.turn_to("job", **flights, id=job_id).keep_picture("job-dark", update=True)
        night.turn_to("receipt", **flights, id=job_id).keep_picture("receipt-dark", update=True)

    table = Identifier(database=own_air, table="flights")
    branches = {item.name: item for item in working_console.services.branches(table)}
    head, source = branches["main"].head, branches["fix-delays"].head
    assert head is not None
    assert source is not None
    assert head.identity.same_as(source.identity)
    seen.turn_to("merge", **flights, source="fix-delays", how="ff")
    seen.sees("main already has every change of fix-delays.")


@pytest.mark.depth("full")
def test_a_moved_target_is_refused_and_nothing_changes(
    visit: NewVisit, demo_console: RunningConsole
) -> None:
    before = _heads(demo_console)
    seen = visit(demo_console).turn_to("merge", **FLIGHTS, source="backfill-2013-12", how="ff")
    seen.sees("It would remove 1 commit of main. Merge instead.")
    expect(seen.page.locator(".st-key-merge-merge button")).to_have_count(0)
    seen.page.get_by_role("tab", name="Details").click()
    seen.settle().page.get_by_text("Replace main by backfill-2013-12").click()
    replace = seen.page.get_by_role("button", name="Replace main", exact=True)
    expect(replace).to_be_disabled()
    assert _heads(demo_console) == before


def _heads(console: RunningConsole) -> dict[str, int | None]:
    branches = console.services.branches(_flights())
    return {item.name: item.head.id if item.head else None for item in branches}


def _flights() -> Identifier:
    return Identifier(database="air", table="flights")
