"""The search: who opens it types at once, and keeps the focus where they have moved it."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole

pytestmark = pytest.mark.depth("full")


def test_the_search_is_typed_into_at_once_and_lets_the_focus_go(
    visit: NewVisit, demo_console: RunningConsole
) -> None:
    page = visit(demo_console).turn_to("table", db="air", table="flights").page
    page.keyboard.press("Control+k")
    field = page.locator(".st-key-search-words input")
    expect(field).to_be_focused()
    page.keyboard.type("fix")
    expect(field).to_have_value("fix")
    page.locator(".st-key-hits-branch").wait_for()
    page.keyboard.press("Escape")
    field.wait_for(state="detached")
    # Soon after it has opened again, over the hits of last time.
    page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    page.keyboard.press("Tab")
    page.wait_for_timeout(700)
    expect(field).not_to_be_focused()
