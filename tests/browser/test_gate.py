"""The gate in the browser: what a rule blocks is not published but for a reason that is kept."""

from pathlib import Path

import pytest

from core.format.identifier import Identifier
from core.format.snapshot import Snapshot
from core.merge.policy import Policy, Settling
from core.merge.policy_draft import with_table_rule
from core.quality.rule_file import rule_path
from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole
from tests.support.contested_table import NAME, ContestedTable

pytestmark = pytest.mark.depth("full")

DELAYS = {"db": "air", "table": "delays", "source": "fix-delays"}
# The branch measured two minutes more than main ever had.
RULES = f"""
table: {NAME}
rules:
  - {{id: plausible, rule: in_range, column: dep_delay, max: 16, severity: block}}
"""
REASON = "The airport confirmed both"


def test_a_red_gate_publishes_nothing_and_an_override_is_in_the_receipt(
    visit: NewVisit, contested: tuple[ContestedTable, RunningConsole], update_screenshots: bool
) -> None:
    table, console = contested
    path = Path(rule_path(str(table.folder), NAME))
    path.parent.mkdir(parents=True)
    path.write_text(RULES)
    asked = {"table": NAME, "branch": "fix-delays", "target": "main"}
    theirs = with_table_rule(Policy(), NAME, Settling.parse("theirs"))
    console.services.save_draft(asked, console.services.resolution(asked).draft, theirs)
    before, snapshots = _head(console), _snapshots(table)

    seen = visit(console).open("merge", **DELAYS)
    seen.sees("1 quality rule will be judged on the staged result")
    seen.chooses_publish()
    seen.page.get_by_role("button", name="Merge fix-delays into main").click()
    seen.page.wait_for_url("**/job?**")
    seen.sees("Quality gate")
    seen.sees("GATE_FAILED")
    seen.sees("Asked: dep_delay ≤ 16")
    seen.page.get_by_text("Rows that fail: 4 of 4").click()
    seen.assert_fits()
    seen.keep_picture("gate-light", update=update_screenshots)
    assert _head(console) == before
    assert _snapshots(table) == snapshots

    seen.open("merge", **DELAYS)
    seen.chooses_publish()
    seen.page.get_by_text("Override the gate").click()
    seen.page.get_by_label("Why it is published all the same").fill(REASON)
    seen.page.keyboard.press("Enter")
    seen.settle()
    seen.page.get_by_role("button", name="Merge fix-delays into main").click()
    seen.runs_job()
    seen.link("Receipt").click()
    seen.page.wait_for_url("**/receipt?**")
    seen.sees(REASON)
    after = _head(console)
    assert after.id == before.id + 1
    assert REASON in str(dict(after.properties))


def _head(console: RunningConsole) -> Snapshot:
    head = console.services.table(Identifier.parse(NAME)).head
    assert head is not None
    return head


def _snapshots(table: ContestedTable) -> dict[str, bytes]:
    folder = table.folder / "air.db" / "delays" / "snapshot"
    return {each.name: each.read_bytes() for each in folder.iterdir()}
