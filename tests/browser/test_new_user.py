"""What a new user does on the demo, from the first page to the second merge."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from branch_console.format.identifier import Identifier
from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole
from tests.browser.visits import Visit
from tests.support.java_child import Read, read_with_java
from tests.support.warehouses import VERSIONS

# Each step of it is in a walk of test_compare.py and test_merge.py, in each full run on a smaller
# table; what Java reads of a merge, tests/interop asks there.
pytestmark = pytest.mark.depth("long")

DECEMBER = ("month", "2013-12")
_KEY, _DELAY = slice(0, 4), 7
_LATE, _TYPED = 60, 7777
_RESULT = 5


def test_a_branch_is_found_judged_settled_in_three_ways_merged_undone_and_merged_again(
    visit: NewVisit,
    working_console: RunningConsole,
    own_air: str,
    tmp_path: Path,
) -> None:
    services = working_console.services
    warehouse = Path(services.settings.get_warehouse())
    table = Identifier(database=own_air, table="flights")
    main, source = table.table_name, f"{table.table_name}$branch_backfill-2013-12"
    ours, theirs = (
        {row[_KEY]: row for row in rows} for rows in _december(VERSIONS[0], warehouse, main, source)
    )
    before = services.table(table).head
    assert before is not None

    seen = visit(working_console).open()
    seen.page.get_by_label("Find a table").fill(main)
    seen.sees(main, within=".st-key-rows-tables")
    seen.link(main).click()
    seen.asks(db=own_air, table="flights").settle()
    seen.link("Branches", within="sidebar").click()
    seen.page.wait_for_url("**/branches?**")
    seen.settle().link("backfill-2013-12").click()
    seen.asks(branch="backfill-2013-12")
    seen.sees("1 commit ahead of main, 1 behind.")
    branch = seen.page.url
    seen.page.get_by_role("button", name="Compare", exact=True).click()
    seen.page.wait_for_url("**/compare?**")
    seen.settle().page.get_by_text("quality", exact=True).click()
    seen.asks(cmp_tab="quality").settle()
    seen.page.get_by_role("button", name="Compare quality").click()
    seen.sees("dep_delay and 1 more are beyond the alarm threshold")

    seen.page.goto(branch)
    seen.settle().page.get_by_role("button", name="Review merge").click()
    seen.page.wait_for_url("**/merge?**")
    seen.settle().page.get_by_role("button", name="Compare rows").click()
    seen.page.get_by_role("button", name="Settle 21,296 conflicts").click()
    seen.page.wait_for_url("**/conflicts?**")
    seen.settle()
    edited = _key_of(seen.line(0)[0])
    seen.types_in_cell(0, _RESULT, str(_TYPED))
    seen.sees_line(0, ["edit", str(_TYPED)])
    seen.sees("21,295 of 21,296 conflicts open.")
    seen.page.get_by_text("Condition", exact=True).click()
    seen.settle()
    seen.page.locator(".st-key-rule-when input").fill(f"ours.dep_delay > {_LATE}")
    seen.page.keyboard.press("Enter")
    seen.pick_rule("Take", "target")
    seen.page.get_by_role("button", name="Apply rule").click()
    policy = tmp_path / "carriers.yaml"
    policy.write_text(f"version: 1\ntables: {{{main}: {{take: theirs}}}}\n")
    seen.page.locator('input[type="file"]').set_input_files(policy)
    seen.sees("All 21,296 conflicts settled.")

    seen.page.get_by_role("button", name="Continue to merge").click()
    seen.page.wait_for_url("**/merge?**")
    merged = _merge(seen, as_snapshot=before.id + 1)
    seen.page.get_by_role("button", name="Undo", exact=True).click()
    seen.page.get_by_role("dialog").get_by_role("button", name="Undo").click()
    undone = seen.runs_job()
    back = services.table(table).head
    assert back is not None
    assert back.identity.same_as(before.identity)
    seen.turn_to("merge", db=own_air, table="flights", source="backfill-2013-12")
    again = _merge(seen, as_snapshot=before.id + 1)
    assert len({merged, undone, again}) == 3

    expected = ours | theirs
    for key in ours.keys() & theirs.keys():
        delay = ours[key][_DELAY]
        if delay is not None and delay > _LATE:
            expected[key] = _with_delay(expected[key], delay)
    expected[edited] = _with_delay(expected[edited], _TYPED)
    for version in VERSIONS:
        (found,) = _december(version, warehouse, main)
        assert sorted(found) == sorted(expected.values()), version


def _merge(seen: Visit, *, as_snapshot: int) -> str:
    """Publish the merge whose page is open, and look at its receipt; the id of its job."""
    seen.sees("All 21,296 conflicts are settled")
    seen.chooses_publish()
    seen.merges()
    job_id = seen.is_merged()
    seen.page.get_by_role("button", name="View receipt").click()
    seen.page.wait_for_url("**/receipt?**")
    seen.sees(f"as snapshot {as_snapshot}")
    return job_id


def _december(version: str, warehouse: Path, *tables: str) -> list[list[tuple[Any, ...]]]:
    """The rows of December in each of some tables, as Java reads them."""
    reads = [Read(table=table, partition=DECEMBER) for table in tables]
    answers = read_with_java(version, warehouse, reads)
    found = []
    for read in reads:
        rows = answers[read]
        assert isinstance(rows, list), rows
        found.append(rows)
    return found


def _key_of(text: str) -> tuple[object, ...]:
    time_hour, carrier, flight = text.split(" · ")
    return DECEMBER[1], datetime.fromisoformat(time_hour), carrier, int(flight)


def _with_delay(row: tuple[object, ...], delay: object) -> tuple[object, ...]:
    return (*row[:_DELAY], delay, *row[_DELAY + 1 :])
