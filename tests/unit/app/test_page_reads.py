"""What the page of a merge reads of a table before it shows the plan."""

from pathlib import Path

import pytest

from branch_console_app.services import Services
from branch_console_app.settings import Settings
from tests.support.read_counts import branched, read_counts


# Heads, sides, forward plans, opened tables and listed folders.
@pytest.mark.parametrize(("diverged", "reads"), [(False, (1, 0, 1, 1, 7)), (True, (1, 1, 0, 1, 6))])
def test_the_page_of_a_merge_plans_it_once(
    diverged: bool, reads: tuple[int, ...], tmp_path: Path
) -> None:
    branched(tmp_path / "warehouse", diverged=diverged)
    overrides = {"warehouse": str(tmp_path / "warehouse"), "state_dir": str(tmp_path / "state")}
    services = Services(Settings.from_environment(overrides, {}))
    # Opening a warehouse probes its store.
    assert services.warehouse
    with read_counts() as counts:
        decision = services.preview_merge({"table": "db.t", "branch": "dev"})
    assert decision.preview.plan_id == decision.plan.id
    assert counts.all == reads
