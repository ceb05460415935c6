"""What the page of a merge reads of a table before it shows the plan."""

from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest

from branch_console.format.identifier import Identifier
from branch_console_app.reads import Begun, Reading, identity_of
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


def test_a_store_that_answers_too_late_is_an_error_and_no_reading_under_way() -> None:
    future: Future[Reading] = Future()
    begun = Begun(future, lambda reading: reading.value)
    assert not begun.is_done()
    # Python raises the same error where a future is waited for too long.
    future.set_exception(TimeoutError("the store did not answer"))
    assert begun.is_done()
    with pytest.raises(TimeoutError, match="did not answer"):
        begun.result()


def test_a_schema_that_was_made_again_under_the_same_id_is_another_state(tmp_path: Path) -> None:
    branched(tmp_path / "warehouse", diverged=True)
    overrides = {"warehouse": str(tmp_path / "warehouse"), "state_dir": str(tmp_path / "state")}
    services = Services(Settings.from_environment(overrides, {}))
    state, _ = services.find_states(Identifier.parse("db.t"), "dev", "main")
    renamed = replace(state.schema, comment="made again")
    assert (renamed.id, state.branch) == (state.schema.id, "dev")
    assert identity_of(replace(state, schema=renamed)) != identity_of(state)
    assert identity_of(replace(state, name=state.pinned)) == identity_of(state)
