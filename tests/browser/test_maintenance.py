"""An expiry in the browser: dry run, typed count, receipt, and undo within the grace."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole

pytestmark = pytest.mark.depth("full")


def test_snapshots_expire_by_the_dry_run_that_was_shown_and_come_back_by_undo(
    visit: NewVisit, working_console: RunningConsole, own_air: str, update_screenshots: bool
) -> None:
    place = {"db": own_air, "table": "weather"}
    folder = Path(working_console.settings.get_warehouse()) / f"{own_air}.db" / "weather"
    before = metadata_of(folder)
    limits = {"mt_of": "main", "mt_max": "1", "mt_min": "1"}
    seen = visit(working_console).turn_to("maintenance", **place, mt_tab="Expire", **limits)
    seen.page.get_by_role("button", name="Dry run", exact=True).click()
    seen.sees("would expire")
    seen.sees("merge base")
    seen.assert_fits()
    seen.keep_picture("maintenance-light", update=update_screenshots)
    assert metadata_of(folder) == before

    run = seen.page.get_by_role("button", name="Expire ")
    expect(run).to_be_disabled()
    label = run.inner_text()
    count = next(word for word in label.split() if word.isdecimal())
    field = seen.page.get_by_placeholder(count, exact=True)
    field.fill(f"{count}1")
    expect(run).to_be_disabled()
    field.fill(count)
    expect(run).to_be_enabled()
    run.click()
    seen.runs_job()
    gone = before.keys() - metadata_of(folder).keys()
    assert len(gone) == int(count)

    seen.link("Receipt").click()
    seen.page.wait_for_url("**/receipt?**")
    seen.settle().page.get_by_role("button", name="Undo", exact=True).click()
    undo = seen.page.get_by_role("dialog").get_by_role("button", name="Undo", exact=True)
    expect(undo).to_be_enabled()
    undo.click()
    seen.runs_job()
    assert metadata_of(folder) == before

    seen.turn_to("maintenance", **place, mt_tab="Storage").sees("Can be freed now")
    seen.assert_fits()
    seen.keep_picture("storage-light", update=update_screenshots)


def metadata_of(folder: Path) -> dict[str, bytes]:
    """The snapshots of main, by their names."""
    return {path.name: path.read_bytes() for path in (folder / "snapshot").glob("snapshot-*")}
