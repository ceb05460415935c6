"""A walk through every page of the demo, by day and by night, wide and narrow."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from branch_console_app.models.parts.exactness import UNREAD
from branch_console_app.models.parts.wording import NOT_READ
from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole, running_console
from tests.browser.visits import Visit

pytestmark = pytest.mark.depth("full")

FLIGHTS = {"db": "air", "table": "flights"}
PAGES = {
    "overview": ("", {}),
    "table": ("table", FLIGHTS),
    "branches": ("branches", {**FLIGHTS, "branch": "fix-delays"}),
    "snapshots": ("snapshots", FLIGHTS),
    "schemas": ("schemas", {"db": "air", "table": "planes", "branch": "fleet-facts"}),
    "fast-forward": ("merge", {**FLIGHTS, "source": "fix-delays", "how": "ff"}),
    "fast-forward-refused": ("merge", {**FLIGHTS, "source": "backfill-2013-12", "how": "ff"}),
    "merge": ("merge", {**FLIGHTS, "source": "old-experiment"}),
    "merge-conflicts": ("merge", {"db": "air", "table": "weather", "source": "fix-wind"}),
    "merge-rows": ("merge", {"db": "air", "table": "planes", "source": "fleet-facts"}),
    "jobs": ("jobs", {}),
}
# What the tab says: two tabs differ.
TITLES = {
    "overview": "Overview · demo",
    "branches": "fix-delays · Branches · air.flights",
    "snapshots": "Snapshots · air.flights",
    "merge": "old-experiment → main · air.flights",
}
_BACKGROUND = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"


@pytest.mark.parametrize("name", PAGES)
def test_every_page_opens_and_fits_by_day_and_by_night(
    name: str, visit: NewVisit, demo_console: RunningConsole, update_screenshots: bool
) -> None:
    path, query = PAGES[name]
    seen = visit(demo_console).turn_to(path, **query)
    if path == "merge":
        check_counts(seen, name)
    if name in TITLES:
        expect(seen.page).to_have_title(f"{TITLES[name]} · Branch Console")
    seen.assert_fits()
    seen.keep_picture(f"{name}-light", update=update_screenshots)
    seen.page.emulate_media(color_scheme="dark")
    seen.waits_for(f"{_BACKGROUND} === 'rgb(14, 17, 23)'")
    seen.settle()
    seen.keep_picture(f"{name}-dark", update=update_screenshots)


def check_counts(seen: Visit, name: str) -> None:
    """Check that a merge shows few counts, none of them zero, and marks only what is not exact."""
    counts = seen.page.locator('.st-key-figures [data-testid="stMetric"]')
    texts = (count.inner_text().splitlines() for count in counts.all())
    told = [[line for line in text if line.strip()] for text in texts]
    assert len(told) <= 4
    marks = set()
    for _, value, *known in told:
        assert value != "0"
        assert (value == NOT_READ) == (UNREAD in known)
        marks.update(known)
    assert "exact" not in marks
    if name == "merge-rows":
        # Only rows tell here what the merge changes.
        assert marks == {UNREAD}


# What a viewer is told, and that no button of any page does anything, tests/console/test_roles.py
# and test_three_way.py see at every depth.
@pytest.mark.depth("long")
def test_a_viewer_opens_every_page_and_is_told_the_role_that_an_action_needs(
    visit: NewVisit, demo_warehouse: Path, tmp_path: Path
) -> None:
    with running_console(demo_warehouse, tmp_path / "state", role="viewer") as console:
        seen = visit(console)
        for path, query in PAGES.values():
            seen.turn_to(path, **query)
        seen.turn_to("merge", **FLIGHTS, source="old-experiment")
        seen.sees("You are a viewer; merging into main takes an editor.")
        expect(seen.page.locator(".st-key-merge-merge button")).to_have_count(0)
        for action, role in (("drop-branch", "an editor"), ("replace-main", "an operator")):
            seen.turn_to("branches", **FLIGHTS, branch="fix-delays", do=action)
            told = seen.page.get_by_role("dialog")
            expect(told).to_contain_text(f"This asks for {role}; you are a viewer. ROLE_REQUIRED")
        seen.assert_fits()


def test_the_sidebar_leads_from_page_to_page_and_keeps_the_table(
    visit: NewVisit, demo_console: RunningConsole
) -> None:
    seen = visit(demo_console).turn_to()
    listed = seen.page.locator(".st-key-rows-tables")
    listed.get_by_role("link", name="air.flights", exact=True).click()
    seen.page.wait_for_url("**/table?**")
    seen.settle()
    for name in ("Branches", "Snapshots", "Schemas", "Merge"):
        seen.go(name)
        seen.asks(**FLIGHTS)
    seen.go("Jobs")
    assert "table" not in seen.query


def test_going_back_leads_to_the_page_before(visit: NewVisit, demo_console: RunningConsole) -> None:
    seen = visit(demo_console).turn_to("branches", **FLIGHTS)
    seen.link("fix-delays").click()
    seen.page.wait_for_url("**branch=fix-delays**")
    seen.settle()
    seen.go("Snapshots")
    seen.asks(branch="fix-delays")
    seen.page.go_back()
    seen.page.wait_for_url("**/branches?**")
    seen.settle()
    seen.asks(branch="fix-delays")
    seen.page.go_back()
    seen.page.wait_for_url(lambda url: "fix-delays" not in url)
    expect(seen.page.locator(".st-key-location-line")).not_to_contain_text("fix-delays")
    seen.settle()


def test_the_dark_theme_is_there_from_the_start(
    visit: NewVisit, demo_console: RunningConsole
) -> None:
    seen = visit(demo_console, scheme="dark").open()
    assert seen.page.evaluate(_BACKGROUND) == "rgb(14, 17, 23)"


def test_a_branch_is_found_from_every_page_by_its_name(
    visit: NewVisit, demo_console: RunningConsole
) -> None:
    seen = visit(demo_console).turn_to("jobs")
    seen.page.keyboard.press("Control+k")
    box = seen.page.get_by_role("dialog")
    box.locator("input").press_sequentially("fix del")
    box.get_by_role("link", name="fix-delays air.flights", exact=True).click()
    seen.page.wait_for_url("**branch=fix-delays**")
    seen.settle()
    expect(seen.page.get_by_role("dialog")).to_have_count(0)
    expect(seen.page).to_have_title("fix-delays · Branches · air.flights · Branch Console")


def test_whoever_opens_the_search_types_at_once_and_over_the_words_of_last_time(
    visit: NewVisit, demo_console: RunningConsole
) -> None:
    seen = visit(demo_console).turn_to("jobs")
    box = seen.page.get_by_role("dialog")
    for words in ("fix-wind", "fix-delays"):
        seen.page.keyboard.press("Control+k")
        expect(box.locator("input")).to_be_focused()
        seen.page.keyboard.type(words)
        expect(box.locator("input")).to_have_value(words)
        expect(box.get_by_role("link", name="Review merge")).to_be_visible()
        seen.page.keyboard.press("Escape")
        seen.page.keyboard.press("Escape")
        expect(box).to_have_count(0)
        seen.settle()
