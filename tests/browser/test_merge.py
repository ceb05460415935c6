"""A three-way merge from its conflicts to the receipt, and back again by undo."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from branch_console.merge.policy import Policy
from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole
from tests.browser.visits import SIZES, Visit
from tests.browser.workers import ask_to_stop, held
from tests.support.contested_table import ContestedTable

pytestmark = pytest.mark.depth("full")

WEATHER = {"db": "air", "table": "weather"}
FIRST_DAY = {"cf_kind": "changed on both", "cf_col": "dep_delay", "cf_part": "day=2013-03-08"}
_TAKE, _RESULT = 4, 5
_FITS_GRID = """() => {
    const grid = document.querySelector('[data-testid="stDataFrame"] .dvn-scroller');
    return grid && grid.scrollWidth <= grid.clientWidth;
}"""


def test_an_option_settles_a_conflict_by_a_link(
    visit: NewVisit, demo_console: RunningConsole
) -> None:
    seen = visit(demo_console).turn_to("branches", **WEATHER, branch="fix-wind")
    seen.page.get_by_role("button", name="Review merge").click()
    seen.page.wait_for_url("**/merge?**")
    seen.settle()
    seen.sees("1 conflict to settle")
    seen.page.get_by_role("button", name="Settle 1 conflict").click()
    seen.asks(tab="conflicts").settle()
    bar = seen.page.locator(".st-key-merge-verdict")
    bar.get_by_role("button", name="Settle: keep added rows as they are").click()
    seen.asks(isolation="snapshot").settle()
    seen.sees("The conflict is settled. Leaves the")
    bar.get_by_role("button", name="Change").click()
    seen.settle().sees("1 conflict to settle")
    # The rows that the one answer is about can be seen before somebody agrees to it.
    tab = seen.page.get_by_role("tabpanel", name="Conflicts")
    tab.get_by_role("link", name="Rows that fix-wind changed").click()
    seen.asks(cmp_tab="rows").settle()
    seen.page.go_back()
    seen.settle().sees("1 conflict to settle")
    bar.get_by_role("button", name="Settle: keep added rows as they are").click()
    seen.asks(isolation="snapshot").settle()
    seen.sees("Option isolation of this merge settles the conflict")
    seen.page.get_by_role("tab", name="Details").click()
    seen.settle().page.get_by_text("Buckets: 1 with files added").click()
    seen.opens_merge()
    expect(seen.page.get_by_role("button", name="Start dry run")).to_be_enabled()
    seen.page.keyboard.press("Escape")
    seen.settle()
    seen.assert_fits()


def test_a_merge_is_tried_published_and_undone_and_stops_where_the_target_moved(
    visit: NewVisit,
    working_console: RunningConsole,
    contested: ContestedTable,
    update_screenshots: bool,
) -> None:
    table, before = contested, contested.head
    working_console.settle(table.name, "theirs")
    seen = visit(working_console).turn_to("merge", **table.place, source="fix-delays")
    seen.page.get_by_role("button", name="Compare rows").click()
    seen.sees("All 28 conflicts are settled")
    seen.opens_merge()
    seen.page.get_by_role("button", name="Start dry run").click()
    seen.sees("Dry run passed. main is unchanged")
    staged = {each.name for each in table.path.rglob("data-*")}
    seen.keep_picture("merge-dry-run-light", update=update_screenshots)
    assert table.head.identity.same_as(before.identity)
    seen.page.get_by_role("button", name="Merge this result into main…").click()
    seen.page.get_by_role("dialog").get_by_role("button", name="Merge this result").click()
    job_id = seen.is_merged()
    assert {each.name for each in table.path.rglob("data-*")} == staged
    seen.page.get_by_role("button", name="View receipt").click()
    seen.page.wait_for_url("**/receipt?**")
    seen.settle()
    assert table.head.id == before.id + 1
    seen.sees("28 conflicts of rows settled")
    seen.assert_fits()
    seen.keep_picture("merge-receipt-light", update=update_screenshots)
    graph = visit(working_console).turn_to("branches", **table.place)
    graph.sees("merge")
    graph.keep_picture("merge-graph-light", update=update_screenshots)
    if update_screenshots:
        night = visit(working_console, scheme="dark").turn_to("branches", **table.place)
        night.sees("merge").keep_picture("merge-graph-dark", update=True)

    seen.page.get_by_role("button", name="Undo", exact=True).click()
    seen.page.get_by_role("dialog").get_by_role("button", name="Undo").click()
    assert seen.runs_job() != job_id
    assert table.head.identity.same_as(before.identity)

    # After the undo all is decided still; then somebody commits, and nothing runs unseen.
    other = graph.turn_to("merge", **table.place, source="fix-delays")
    other.sees("All 28 conflicts are settled")
    table.write("main", delay=6, note="late")
    other.page.locator(".st-key-merge-merge button").click()
    other.sees("main got 2 snapshots")
    other.sees("Your 1 decision is kept.")
    assert other.page.get_by_role("button", name="Start dry run").count() == 0


def test_two_people_settle_cells_by_edit_by_rules_and_take_the_policy_away(
    visit: NewVisit,
    working_console: RunningConsole,
    contested: ContestedTable,
    update_screenshots: bool,
) -> None:
    table = contested
    table.call("compare_rows", branch="fix-delays", target="main")
    seen = visit(working_console).turn_to("merge", **table.place, source="fix-delays")
    seen.sees("28 conflicts to settle")
    seen.assert_fits()
    seen.page.get_by_role("button", name="Settle 28 conflicts").click()
    seen.page.wait_for_url("**/conflicts?**")
    group = {**seen.settle().query, **FIRST_DAY}
    seen.turn_to("conflicts", **group)
    other = visit(working_console, scheme="dark").open("conflicts", **group)

    seen.types_in_cell(0, _RESULT, "42")
    seen.sees_line(0, ["5", "7", "edit", "42"])
    _fits_all_that_is_decided_on(seen)
    _turns_columns(seen)
    seen.sees_line(0, ["0", "5", "7", "edit", "42", "ada"])
    _turns_columns(seen)
    seen.sees_line(0, ["5", "7", "edit", "42"])
    seen.types_in_cell(1, _RESULT, "soon")
    seen.sees("soon is no value of column dep_delay")
    seen.sees_line(1, ["6", "8", "undecided", ""])
    # The other person looks at the page of before, chooses the same cell, and another one.
    other.sees_line(0, ["undecided", ""])
    other.types_in_cell(0, _TAKE, "source")
    other.sees("Somebody has decided this in the meantime: dep_delay")
    other.sees_line(0, ["edit", "42"])
    other.types_in_cell(1, _TAKE, "source")
    other.sees_line(1, ["source", "8"])
    other.keep_picture("resolver-dark", update=update_screenshots)

    seen.pick_rule("Column", "note")
    seen.pick_rule("Take", "concatenate")
    seen.sees("Settles 4 conflicts.")
    seen.page.get_by_role("button", name="Apply rule").click()
    seen.sees("22 of 28 conflicts open.")
    seen.page.get_by_text("Condition", exact=True).click()
    seen.settle()
    condition = seen.page.locator(".st-key-rule-when input")
    condition.fill("flight >= 0")
    seen.page.keyboard.press("Enter")
    seen.pick_rule("Take", "source")
    seen.sees("28 conflicts match. Settles 22 conflicts, changes 4 settled")
    seen.assert_fits()
    seen.keep_picture("resolver-light", update=update_screenshots)
    condition.fill("flight > 0 and ours.note is not null or ours.flight is null")
    seen.page.keyboard.press("Enter")
    seen.sees("Settles 21 conflicts")
    seen.page.get_by_role("button", name="Apply rule").click()
    seen.sees("1 of 28 conflicts open.")
    seen.turn_to("conflicts", **{**group, "cf_part": "day=2013-03-09"})
    seen.page.get_by_role("button", name="Keep target", exact=True).click()
    seen.sees("All 28 conflicts settled.")
    with seen.page.expect_download() as download:
        seen.page.get_by_role("button", name="Download", exact=True).click()
    kept = Policy.from_yaml(download.value.path().read_text()).for_table(table.name)[-1]
    assert sorted(kept.choices["take"].to_pylist()) == ["theirs", "value"]
    seen.page.get_by_role("button", name="Continue to merge").click()
    seen.page.wait_for_url("**/merge?**")
    seen.sees("All 28 conflicts are settled")
    expect(seen.page.locator(".st-key-merge-merge button")).to_be_enabled()


def _turns_columns(seen: Visit) -> None:
    """Show the columns that wait behind their button, or hide them again."""
    columns = seen.page.get_by_role("button", name="Columns", exact=True)
    columns.click()
    for name in ("Base", "Decided by"):
        seen.page.locator("label").get_by_text(name, exact=True).click()
        seen.settle()
    columns.click()
    seen.settle()


def _fits_all_that_is_decided_on(seen: Visit) -> None:
    """See that a narrow window shows target, source, take and result, and the groups as a box."""
    groups, box = (seen.page.locator(f".st-key-{name}") for name in ("rows-groups", "groups-box"))
    expect(groups).to_be_visible()
    expect(box).to_be_hidden()
    seen.page.set_viewport_size({"width": 1024, "height": 768})
    expect(groups).to_be_hidden()
    expect(box).to_be_visible()
    seen.waits_for(_FITS_GRID)
    assert seen.page.locator("canvas thead th").all_text_contents()[-4:] == [
        "Target", "Source", "Decision", "Result",
    ]  # fmt: skip
    seen.page.set_viewport_size({"width": SIZES[0][0], "height": SIZES[0][1]})
    seen.settle()


# That a file settles the cells it names, tests/console/test_conflicts.py sees at every depth; which
# decisions need another look, tests/unit/merge/test_resolution.py.
@pytest.mark.depth("long")
def test_a_policy_file_settles_the_same_cells_of_another_plan(
    visit: NewVisit,
    working_console: RunningConsole,
    new_contested: Callable[[], ContestedTable],
    tmp_path: Path,
) -> None:
    table, other = new_contested(), new_contested()
    table.call("compare_rows", branch="fix-delays", target="main")
    place, notes = {**table.place, "source": "fix-delays"}, {**FIRST_DAY, "cf_col": "note"}
    seen = visit(working_console).turn_to("conflicts", **place, **FIRST_DAY)
    seen.types_in_cell(0, _RESULT, "42")
    seen.sees_line(0, ["edit", "42"])
    seen.types_in_cell(1, _TAKE, "source")
    seen.sees_line(1, ["source", "8"])
    seen.turn_to("conflicts", **place, **notes)
    seen.types_in_cell(0, _TAKE, "source")
    seen.sees("25 of 28 conflicts open.")
    with seen.page.expect_download() as download:
        seen.page.get_by_role("button", name="Download", exact=True).click()
    # The console has another table for the other plan: only its name is changed.
    policy = tmp_path / download.value.suggested_filename
    policy.write_text(download.value.path().read_text().replace(table.name, other.name))

    other.write("main", delay=5, note="corrected", every=10, deletes_last=True)
    other.call("compare_rows", branch="fix-delays", target="main")
    there = {**other.place, "source": "fix-delays"}
    again = visit(working_console).turn_to("conflicts", **there, **notes)
    again.sees("28 of 28 conflicts open.")
    again.page.locator('input[type="file"]').set_input_files(policy)
    again.sees("26 of 28 conflicts open.")
    # Main's note is another one than that which was decided on.
    again.sees_line(0, ["open", "", "a value changed since"])
    again.sees_line(1, ["open", "", ""])
    again.turn_to("conflicts", **there, **FIRST_DAY)
    again.sees_line(0, ["edit", "42"])
    again.sees_line(1, ["source", "8"])


def test_a_merge_that_is_cancelled_leaves_the_target_as_it_was(
    visit: NewVisit, working_console: RunningConsole, contested: ContestedTable
) -> None:
    table, services = contested, working_console.services
    working_console.settle(table.name, "theirs")
    before = _metadata(table)
    seen = visit(working_console).turn_to("merge", **table.place, source="fix-delays")
    seen.page.get_by_role("button", name="Compare rows").click()
    seen.sees("All 28 conflicts are settled")
    seen.chooses_publish()
    ask_to_stop(services, "verify files ends")
    seen.merges()
    with held(services):
        seen.page.get_by_role("button", name="Cancel", exact=True).click()
        seen.settle()
    seen.sees("The merge was cancelled.")
    assert _metadata(table) == before
    (job,) = (each for each in services.jobs(table=table.name) if each.name == "merge_branch")
    assert job.receipt_id is None


def _metadata(table: ContestedTable) -> dict[str, bytes]:
    """The snapshots, schemas and tags of the target."""
    return {
        str(path.relative_to(table.path)): path.read_bytes()
        for kind in ("snapshot", "schema", "tag")
        for path in (table.path / kind).glob("*")
    }


def _follow(seen: Visit, label: str, parameter: str) -> None:
    """Follow a link of this page to this page."""
    settlings = seen.page.locator('[class*="st-key-line-settlings"]')
    settlings.get_by_role("link", name=label).click()
    seen.page.wait_for_url(f"**{parameter}**")
    seen.settle()
