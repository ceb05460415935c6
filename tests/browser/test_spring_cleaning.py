"""A branch of the catalog: seen, previewed, its conflict settled, merged, undone, merged again."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole, running_console
from tests.browser.visits import Visit
from tests.support.spring_cleaning import BRANCH, SpringCleaning

pytestmark = pytest.mark.depth("full")


@pytest.fixture
def cleaned(
    working_console: RunningConsole,
    demo_warehouse: Path,
    tmp_path: Path,
    update_screenshots: bool,
) -> Iterator[tuple[RunningConsole, SpringCleaning]]:
    """The story on databases of its own; on the demo where pictures are taken."""
    if update_screenshots:
        folder = shutil.copytree(demo_warehouse, tmp_path / "demo")
        story = SpringCleaning(folder)
        story.tell()
        with running_console(folder, tmp_path / "state") as console:
            yield console, story
        return
    folder = Path(working_console.settings.get_warehouse())
    story = SpringCleaning(folder, air="sky", reports="sky_reports")
    story.make_tables()
    story.tell()
    yield working_console, story


def test_a_branch_over_many_tables_is_seen_settled_merged_undone_and_merged_again(
    visit: NewVisit,
    cleaned: tuple[RunningConsole, SpringCleaning],
    update_screenshots: bool,
) -> None:
    console, story = cleaned
    air, reports = story.air, story.reports
    before, airlines = story.tables(), story.head_id(f"{air}.airlines")
    assert airlines is not None
    seen = visit(console).turn_to("catalog", ca_b=BRANCH)
    seen.sees("Changes 7 databases or tables")
    for words in ("→ renamed", "+ new", "~ changed", "dropped"):
        seen.sees(words)
    seen.assert_fits()
    seen.keep_picture("catalog-light", update=update_screenshots)
    if update_screenshots:
        night = visit(console, scheme="dark").turn_to("catalog", ca_b=BRANCH)
        night.keep_picture("catalog-dark", update=True)

    seen.page.get_by_role("button", name="Review merge").click()
    seen.page.wait_for_url("**/merge?**")
    seen.sees(f"1 conflict to settle, in {reports}.gates.")
    seen.page.get_by_role("button", name=f"{air}.airlines").click()
    seen.sees("On the target afterwards")
    seen.page.get_by_role("button", name="Settle 1 conflict").click()
    seen.asks(cm_part="conflicts").settle()
    seen.page.get_by_role("button", name="Keep target").click()
    seen.sees("1 conflict settled.")
    seen.assert_fits()
    seen.page.get_by_role("radio", name="Objects").or_(
        seen.page.get_by_role("button", name="Objects")
    ).first.click()
    seen.settle()
    seen.keep_picture("catalog-merge-light", update=update_screenshots)

    receipt = _merge(seen)
    assert story.tables() == {
        air: sorted({*before[air]} - {"airports"}),
        reports: ["carriers", "delays_by_day", "gates", "routes"],
    }
    assert story.head_id(f"{air}.airlines") == airlines + 1
    seen.page.get_by_role("button", name="Undo", exact=True).click()
    seen.page.get_by_role("dialog").get_by_role("button", name="Undo").click()
    assert seen.runs_job() != receipt
    assert story.tables() == before
    assert story.head_id(f"{air}.airlines") == airlines

    seen.turn_to("merge", of="catalog", source=BRANCH)
    assert _merge(seen) != receipt
    assert story.head_id(f"{air}.airlines") == airlines + 1
    seen.turn_to("merge", of="catalog", source=BRANCH)
    seen.sees(f"main already has every change of {BRANCH}.")


def _merge(seen: Visit) -> str:
    """Confirm the merge that is shown, and open its receipt; return the id of its job."""
    seen.sees("1 conflict settled.")
    seen.page.get_by_role("button", name="Merge into main…").click()
    dialog = seen.page.get_by_role("dialog")
    dialog.get_by_role("button", name="Merge into main", exact=True).click()
    job_id = seen.runs_job()
    seen.link("Receipt").click()
    seen.page.wait_for_url("**/receipt?**")
    seen.settle()
    seen.sees("was merged into")
    return job_id
