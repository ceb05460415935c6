"""A merge that three tabs start while its worker is killed in one stage after the other."""

from itertools import pairwise

import pytest
from playwright.sync_api import expect

from app.services import Services
from core.format.identifier import Identifier
from core.jobs.progress import JobState
from core.merge.policy import Policy, Settling
from core.merge.policy_draft import with_table_rule
from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole
from tests.browser.visits import Visit
from tests.browser.workers import ask_to_stop, kill_stopped
from tests.support.contested_table import NAME, ContestedTable

pytestmark = pytest.mark.depth("full")

DELAYS = {"db": "air", "table": "delays", "source": "fix-delays"}
TABLE = Identifier(database="air", table="delays")
_STAGES = ("check heads", "verify files", "compare rows")


def test_two_browsers_start_one_merge_that_outlives_its_workers_and_is_done_once(
    visit: NewVisit, contested: tuple[ContestedTable, RunningConsole]
) -> None:
    table, console = contested
    services = console.services
    before = services.table(TABLE).head
    assert before is not None
    published = table.folder / f"air.db/delays/snapshot/snapshot-{before.id + 1}"
    asked = {"table": NAME, "branch": "fix-delays", "target": "main"}
    theirs = with_table_rule(Policy(), NAME, Settling.parse("theirs"))
    services.save_draft(asked, services.resolution(asked).draft, theirs)

    ada, bob, eve = (visit(console).open("merge", **DELAYS) for _ in range(3))
    for each in (ada, bob, eve):
        each.chooses_publish()
    ask_to_stop(services, f"{_STAGES[0]} begins")
    _press(ada)
    job_id = _job_of(ada)
    for stage, after in pairwise((*_STAGES, "merge branch")):
        kill_stopped(services)
        _sees_stop(ada, services, job_id, "the target is unchanged")
        assert services.job(job_id).step == stage
        assert not published.exists(), stage
        ask_to_stop(services, f"{after} {'ends' if after == 'merge branch' else 'begins'}")
        if stage == _STAGES[0]:
            # Who asks for the same merge gets the same job, and with it a worker.
            _press(bob)
            assert _job_of(bob) == job_id
        else:
            _resume(ada)
    kill_stopped(services)
    assert published.exists()
    _sees_stop(ada, services, job_id, "Publishing was cut off")
    _resume(ada)

    ada.sees("is done.")
    bob.sees("is done.")
    for name in (*_STAGES, "merge branch"):
        ada.sees(name, within=".st-key-card-steps")
    ada.link("Receipt").click()
    ada.page.wait_for_url("**/receipt?**")
    ada.sees(f"as snapshot {before.id + 1}")
    head = services.table(TABLE).head
    assert head is not None
    assert head.id == before.id + 1
    assert services.receipt(job_id).counts.snapshots_added == 1

    # Who still looks at the preview of before is told what changed, and keeps what was decided.
    _press(eve)
    eve.sees(f"This preview is out of date: main moved from {before.id} to {head.id}")
    eve.sees("Kept: 1 decision")
    assert len(services.jobs()) == 1


def _press(seen: Visit) -> None:
    button = seen.page.get_by_role("button", name="Merge fix-delays into main")
    expect(button).to_be_enabled()
    button.click()


def _job_of(seen: Visit) -> str:
    """The job that the page has moved on to."""
    seen.page.wait_for_url("**/job?**")
    return seen.settle().query["id"]


def _sees_stop(seen: Visit, services: Services, job_id: str, says: str) -> None:
    """See that the page tells of the stop, which lasts as long as nobody starts a worker."""
    stopped = services.job(job_id)
    assert stopped.state is JobState.INTERRUPTED
    assert says in stopped.message
    seen.sees("stopped in the middle.")
    seen.sees(stopped.message)


def _resume(seen: Visit) -> None:
    seen.page.get_by_role("button", name="Resume").click()
