"""A query from the editor to its rows, files and history; cancelled; shown, never run as HTML."""

import io

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole
from tests.browser.visits import Scheme, Visit

pytestmark = pytest.mark.depth("full")

QUERY = (
    "SELECT carrier, count(*) AS flights, round(avg(dep_delay), 2) AS delay,\n"
    "  '<img src=x onerror=alert(1)>' AS html\n"
    "FROM air.flights\nGROUP BY carrier ORDER BY flights DESC"
)


def test_a_query_runs_and_its_rows_are_shown_and_taken_away(
    visit: NewVisit, working_console: RunningConsole, update_screenshots: bool
) -> None:
    seen = visit(working_console).turn_to("sql", branch="fix-delays")
    seen.sees("SELECT * FROM air.")
    editor = seen.page.get_by_role("textbox", name="Statement")
    editor.fill(QUERY)
    editor.press("Control+Enter")
    seen.page.wait_for_url("**/sql?**id=**")
    seen.sees("16 rows in")
    seen.sees("air.flights on fix-delays at snapshot")
    seen.asks(q=QUERY)
    seen.assert_fits()
    with seen.page.expect_download() as download:
        seen.page.get_by_role("button", name="Parquet", exact=True).click()
    rows = pq.read_table(io.BytesIO(download.value.path().read_bytes()))
    assert rows.column_names == ["carrier", "flights", "delay", "html"]
    assert rows["html"][0].as_py() == "<img src=x onerror=alert(1)>"
    with seen.page.expect_download() as download:
        seen.page.get_by_role("button", name="CSV", exact=True).click()
    assert download.value.path().read_text().startswith('"carrier","flights","delay","html"\n"UA",')

    # Whoever gets the address sees the same, at night too; nothing runs again.
    schemes: tuple[Scheme, ...] = ("light", "dark") if update_screenshots else ("dark",)
    for scheme in schemes:
        other = visit(working_console, scheme=scheme).open("sql", **seen.query)
        other.sees("16 rows in")
        expect(other.page.get_by_role("textbox", name="Statement")).to_have_value(QUERY)
        other.keep_picture(f"sql-{scheme}", update=update_screenshots)
    seen.page.get_by_role("tab", name="Plan").click()
    seen.sees("== Physical Plan ==")

    _run(seen, "SELECT carier FROM air.flights")
    seen.sees("Line 1, column 8")
    seen.sees("`carrier`")


@pytest.mark.depth("long")
def test_a_long_query_is_cancelled(visit: NewVisit, working_console: RunningConsole) -> None:
    seen = visit(working_console).turn_to("sql")
    slow = "SELECT count(*) FROM range(100000000000) a JOIN range(100000) b ON a.id % 7 = b.id % 11"
    _run(seen, slow)
    cancel = seen.page.get_by_role("button", name="Cancel")
    seen.sees("Runs for")
    cancel.click()
    seen.sees("The query was cancelled.")
    # The worker is free for the next one.
    _run(seen, "SELECT 40 + 2 AS answer")
    seen.sees("1 row in")


def _run(seen: Visit, text: str) -> None:
    before = seen.page.url
    seen.page.get_by_role("textbox", name="Statement").fill(text)
    seen.page.get_by_role("button", name="Run").click()
    seen.page.wait_for_url(lambda url: url != before)
