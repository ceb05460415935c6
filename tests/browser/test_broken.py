"""What is broken is said with its file, and everything else stays usable."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole

pytestmark = pytest.mark.depth("full")


@pytest.mark.depth("long")
def test_a_broken_table_is_named_with_its_file(
    visit: NewVisit, broken_console: RunningConsole
) -> None:
    seen = visit(broken_console).turn_to(ov_q="truncated")
    seen.sees("fixtures.truncated", within=".st-key-card-attention")
    seen.sees("schema-0", within=".st-key-card-attention")
    seen.assert_fits()
    table = visit(broken_console).turn_to("table", db="fixtures", table="truncated")
    table.sees("BROKEN_FILE")
    table.sees("schema-0")


def test_a_broken_branch_is_a_card_and_the_others_can_be_looked_at(
    visit: NewVisit, broken_console: RunningConsole
) -> None:
    seen = visit(broken_console).turn_to("branches", db="fixtures", table="branches_diverged")
    seen.sees("cannot be read")
    seen.link("diverged").click()
    seen.page.wait_for_url("**branch=diverged**")
    seen.settle()
    expect(seen.page.locator(".st-key-card-branch")).to_contain_text("diverged")
    torn = visit(broken_console).turn_to(
        "snapshots", db="fixtures", table="branches_diverged", branch="evolved"
    )
    torn.sees("cannot be read")


def test_markup_in_a_name_is_shown_and_not_run(
    visit: NewVisit, broken_console: RunningConsole
) -> None:
    name = "<img src=x onerror=alert(1)>"
    # A dialog that a page opens fails every test.
    seen = visit(broken_console).turn_to(ov_q="onerror")
    expect(seen.page.locator(".st-key-page img")).to_have_count(0)
    seen.sees(name)
    for page in ("table", "branches", "snapshots", "schemas"):
        seen.turn_to(page, db="fixtures", table=name)
        seen.sees(name)
        expect(seen.page.locator(".st-key-page img")).to_have_count(0)


def test_a_name_that_would_leave_the_warehouse_is_refused(
    visit: NewVisit, broken_console: RunningConsole
) -> None:
    seen = visit(broken_console).turn_to("table", db="..", table="../etc")
    seen.sees("INVALID_NAME")
