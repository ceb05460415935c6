"""The gate in the browser: what a rule blocks is not published but for a reason that is kept."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from branch_console.quality.rule_file import rule_path
from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole
from tests.support.contested_table import ContestedTable

# What this walk shows, sends and refuses, tests/console/test_gates.py sees at every depth; what the
# gate judges and the receipt keeps, tests/spark/test_quality_gate.py.
pytestmark = pytest.mark.depth("long")

# The branch measured two minutes more than main ever had.
RULES = """
table: {}
rules:
  - {{id: plausible, rule: in_range, column: dep_delay, max: 16, severity: block}}
"""
REASON = "The airport confirmed both"


def test_a_red_gate_publishes_nothing_and_an_override_is_in_the_receipt(
    visit: NewVisit,
    working_console: RunningConsole,
    contested: ContestedTable,
    update_screenshots: bool,
) -> None:
    table = contested
    path = Path(rule_path(str(table.folder), table.name))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(RULES.format(table.name))
    working_console.settle(table.name, "theirs")
    before, snapshots = table.head, _snapshots(table)

    seen = visit(working_console).turn_to("merge", **table.place, source="fix-delays")
    seen.sees("1 rule, not run yet.")
    seen.page.get_by_role("button", name="Compare rows").click()
    seen.sees("All 28 conflicts are settled")
    seen.chooses_publish()
    seen.merges()
    seen.sees("Blocked by rule plausible: 4 of")
    seen.page.get_by_role("tab", name="Checks").click()
    seen.sees("GATE_FAILED")
    seen.page.get_by_test_id("stMain").get_by_role("button", name="Show rows").first.click()
    seen.page.get_by_role("dialog").wait_for()
    seen.sees("Condition: dep_delay ≤ 16")
    seen.sees("Failing rows (4)")
    failing = seen.page.get_by_role("dialog").get_by_test_id("stExpander")
    expect(failing.get_by_test_id("stDataFrame")).to_be_visible()
    seen.assert_fits()
    seen.keep_picture("gate-light", update=update_screenshots)
    seen.page.keyboard.press("Escape")
    expect(seen.page.get_by_role("dialog")).to_have_count(0)
    assert table.head == before
    assert _snapshots(table) == snapshots

    seen.overrides_gate(REASON)
    seen.is_merged()
    seen.page.get_by_role("button", name="View receipt").click()
    seen.page.wait_for_url("**/receipt?**")
    seen.sees(REASON)
    after = table.head
    assert after.id == before.id + 1
    assert REASON in str(dict(after.properties))


def _snapshots(table: ContestedTable) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in (table.path / "snapshot").iterdir()}
