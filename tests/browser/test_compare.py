"""Comparing a branch: at once by files, then row by row, by addresses that others can open."""

import pytest
from playwright.sync_api import expect
from pyarrow import csv

from branch_console.format.identifier import Identifier
from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole
from tests.support.kept_quality import keep_quality

pytestmark = pytest.mark.depth("full")

FLIGHTS = {"db": "air", "table": "flights"}


def test_a_branch_is_compared_by_files_and_a_square_of_the_map_is_in_the_address(
    visit: NewVisit, demo_console: RunningConsole, update_screenshots: bool
) -> None:
    seen = visit(demo_console).turn_to("branches", **FLIGHTS, branch="fix-delays")
    seen.page.locator(".st-key-compare-branch button").click()
    seen.page.wait_for_url("**/compare?**")
    seen.settle()
    seen.sees("From main (snapshot 12) to fix-delays (snapshot 14)")
    # Nobody has started a worker: manifests are enough.
    assert demo_console.services.worker() is None
    seen.assert_fits()
    seen.keep_picture("compare-light", update=update_screenshots)
    seen.click_mark("more", 0)
    part = seen.query["cmp_part"]
    expect(seen.page.locator(".st-key-page")).to_contain_text(f"Partition {part}")
    other = visit(demo_console, scheme="dark").open("compare", **seen.query)
    assert other.query == seen.query
    other.sees(f"Partition {part}")
    other.keep_picture("compare-dark", update=update_screenshots)


# Both buttons, what they send and what comes of it, tests/console/test_compare.py sees at every
# depth; that the jobs find what is there, tests/spark/test_compare_rows.py and others.
@pytest.mark.depth("long")
def test_jobs_compare_rows_cell_by_cell_and_columns_by_their_quality(
    visit: NewVisit, working_console: RunningConsole, update_screenshots: bool
) -> None:
    seen = visit(working_console).turn_to("compare", **FLIGHTS, cmp_b="fix-delays", cmp_tab="rows")
    seen.sees("26 files that only one side has")
    seen.page.get_by_role("button", name="Compare rows").click()
    seen.sees("1,025 removed, 717 changed")
    seen.sees("to fix-delays (snapshot 14): 1,025 rows removed, 717 rows changed.")
    seen.assert_fits()
    seen.keep_picture("compare-rows-light", update=update_screenshots)
    again = seen.turn_to(
        "compare", **FLIGHTS, cmp_b="fix-delays", cmp_tab="rows", cmp_cols="arr_delay"
    )
    again.sees("arr_delay in 100 %")
    with again.page.expect_download() as download:
        again.page.get_by_role("button", name="CSV", exact=True).click()
    written = csv.read_csv(download.value.path())
    assert written.num_rows == 717
    assert written["before:arr_delay"].null_count == 717
    assert written["after:arr_delay"].null_count == 0
    planes = {"db": "air", "table": "planes", "cmp_b": "fleet-facts", "cmp_tab": "quality"}
    asked = seen.turn_to("compare", **planes)
    asked.page.get_by_role("button", name="Compare quality").click()
    asked.sees("manufacturer is beyond the alarm threshold.")


def test_columns_that_drifted_come_first_and_a_click_shows_how_their_values_lie(
    visit: NewVisit, demo_console: RunningConsole, update_screenshots: bool
) -> None:
    place = {**FLIGHTS, "cmp_b": "backfill-2013-12", "cmp_tab": "quality"}
    # Of all months only December is read: what both sides have is not asked for here.
    keep_quality(
        demo_console.services, Identifier.parse("air.flights"), "main", "backfill-2013-12",
        shared_bytes=0,
    )  # fmt: skip
    seen = visit(demo_console).turn_to("compare", **place)
    seen.sees("dep_delay and 1 more are beyond the alarm threshold; watch 4 more.")
    seen.click_mark("drift", 1)
    seen.asks(cmp_qcol="dep_time")
    seen.assert_fits()
    seen.keep_picture("compare-quality-light", update=update_screenshots)
    dark = visit(demo_console, scheme="dark").turn_to("compare", **place)
    dark.assert_fits()
    dark.keep_picture("compare-quality-dark", update=update_screenshots)


@pytest.mark.depth("long")
def test_a_square_of_the_drift_map_is_in_the_address_and_the_file_of_it_is_whole(
    visit: NewVisit, demo_console: RunningConsole, update_screenshots: bool
) -> None:
    place = {**FLIGHTS, "cmp_b": "backfill-2013-12", "cmp_tab": "quality"}
    found = keep_quality(
        demo_console.services, Identifier.parse("air.flights"), "main", "backfill-2013-12",
        shared_bytes=0,
    )  # fmt: skip
    seen = visit(demo_console).turn_to("compare", **place)
    seen.page.locator(".st-key-cmp-drift-map").scroll_into_view_if_needed()
    seen.click_mark("conflict", 0)
    assert seen.query["cmp_part"] == "month=2013-12"
    assert seen.query["cmp_qcol"] == found.scopes[0].columns[0].name
    expect(seen.page.locator(".st-key-page")).to_contain_text("rows that only B has against")
    seen.assert_fits()
    seen.keep_picture("compare-drift-light", update=update_screenshots)
    with seen.page.expect_download() as download:
        seen.page.get_by_role("button", name="HTML", exact=True).click()
    assert "Quality of air.flights" in download.value.path().read_text()
    dark = visit(demo_console, scheme="dark").turn_to("compare", **seen.query)
    assert dark.query == seen.query
    dark.keep_picture("compare-drift-dark", update=update_screenshots)
