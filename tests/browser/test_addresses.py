"""Addresses: a copied one opens the same view, a wrong one says so."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole
from tests.browser.visits import Visit

pytestmark = pytest.mark.depth("full")

FLIGHTS = {"db": "air", "table": "flights"}


def test_a_clicked_snapshot_is_in_the_address_and_opens_again_elsewhere(
    visit: NewVisit, demo_console: RunningConsole
) -> None:
    seen = visit(demo_console).turn_to("branches", **FLIGHTS)
    seen.click_mark("append", 2)
    assert seen.query["snap"].startswith("main:3:")
    expect(seen.page.locator(".st-key-card-snapshot")).to_contain_text("Snapshot 3")
    other = visit(demo_console).open("branches", **seen.query)
    assert other.query == seen.query
    expect(other.page.locator(".st-key-card-snapshot")).to_contain_text("Snapshot 3")


@pytest.mark.depth("long")
def test_a_bead_of_the_timeline_opens_its_snapshot(
    visit: NewVisit, demo_console: RunningConsole
) -> None:
    seen = visit(demo_console).turn_to("snapshots", **FLIGHTS)
    seen.click_mark("snapshots", 4)
    assert seen.query["snap"].startswith("main:5:")
    expect(seen.page.locator(".st-key-card-snapshot")).to_contain_text("Snapshot 5")
    seen.page.reload()
    seen.settle()
    expect(seen.page.locator(".st-key-card-snapshot")).to_contain_text("Snapshot 5")


def test_the_parameters_of_a_view_stand_in_the_address(
    visit: NewVisit, demo_console: RunningConsole
) -> None:
    seen = visit(demo_console).turn_to("branches", **FLIGHTS)
    seen.page.get_by_role("radio", name="time").or_(
        seen.page.get_by_role("button", name="time", exact=True)
    ).first.click()
    seen.page.wait_for_url("**br_axis=time**")
    seen.settle()
    other = visit(demo_console).open("branches", **seen.query)
    other.asks(br_axis="time")


def test_the_copied_link_is_the_address(visit: NewVisit, demo_console: RunningConsole) -> None:
    seen = visit(demo_console).turn_to("snapshots", **FLIGHTS, branch="fix-delays")
    seen.page.locator(".st-key-location-line").get_by_role("button").last.click()
    shown = seen.page.locator('[data-testid="stPopoverBody"] code').inner_text()
    assert re.sub(r"\s", "", shown) == seen.page.url


def test_an_unknown_branch_is_not_found_and_near_ones_are_offered(
    visit: NewVisit, demo_console: RunningConsole
) -> None:
    seen = visit(demo_console).turn_to("branches", **FLIGHTS, branch="fix-delay")
    seen.sees("Branch fix-delay was not found.")
    seen.asks(branch="fix-delay")
    expect(seen.page.locator('[data-testid="stPlotlyChart"]')).to_have_count(0)
    seen.link("fix-delays").click()
    seen.page.wait_for_url("**branch=fix-delays**")
    seen.settle()
    expect(seen.page.locator('[data-testid="stPlotlyChart"]')).to_have_count(1)


def test_the_overview_opens_in_a_new_tab_from_any_page(
    visit: NewVisit, demo_console: RunningConsole
) -> None:
    # The property is the address that a new tab opens; the attribute leaves out the path.
    seen = visit(demo_console).turn_to("merge", **FLIGHTS)
    entry = seen.page.locator('[data-testid="stSidebar"]').get_by_role("link", name="Overview")
    seen.page.goto(str(entry.evaluate("link => link.href")))
    seen.settle()
    expect(seen.page).to_have_title("Overview · demo · Branch Console")
    seen.page.go_back()
    expect(seen.page).to_have_title("Merge · air.flights · Branch Console")


def test_a_link_to_a_reused_id_says_so(visit: NewVisit, demo_console: RunningConsole) -> None:
    seen = visit(demo_console).turn_to("snapshots", **FLIGHTS, snap="main:3:00000000")
    seen.sees("is not the one this link was made for")


@pytest.mark.depth("long")
def test_a_click_does_not_move_the_view(visit: NewVisit, demo_console: RunningConsole) -> None:
    seen = visit(demo_console).turn_to("branches", **FLIGHTS)
    view = "document.querySelector('.js-plotly-plot')._fullLayout.xaxis.range.slice()"
    chart = seen.page.locator(".js-plotly-plot .nsewdrag").first
    box = chart.bounding_box()
    assert box
    seen.page.mouse.move(box["x"] + 300, box["y"] + box["height"] - 10)
    seen.page.mouse.down()
    seen.page.mouse.move(box["x"] + 200, box["y"] + box["height"] - 10, steps=5)
    seen.page.mouse.up()
    moved = seen.page.evaluate(view)
    # Two clicks in quick succession are one double click, which resets the view on purpose.
    seen.page.wait_for_timeout(1_000)
    seen.click_mark("append", 8)
    assert seen.page.evaluate(view) == moved
    # Whoever gets this tab next finds a chart that nobody has moved.
    seen.turn_to()


def test_each_click_is_one_step_that_quick_presses_of_forward_take_again(
    visit: NewVisit, demo_console: RunningConsole
) -> None:
    seen = visit(demo_console).turn_to("branches", **FLIGHTS)
    steps = [seen.page.url]
    for number in (1, 3, 5):
        seen.click_mark("append", number)
        steps.append(seen.page.url)
    for step in reversed(steps[:-1]):
        _go_back(seen, step)
    for _ in steps[1:]:
        seen.page.evaluate("history.forward()")
        # Long enough for the script to begin, and too short for it to end.
        seen.page.wait_for_timeout(60)
    seen.page.wait_for_url(steps[-1])
    expect(seen.page.locator(".st-key-card-snapshot")).to_contain_text("Snapshot 6")
    seen.settle()
    for step in reversed(steps[:-1]):
        _go_back(seen, step)


def _go_back(seen: Visit, to: str) -> None:
    seen.page.go_back()
    seen.settle()
    assert seen.page.url == to
