"""A merge that three tabs start while its worker is killed in one stage after the other."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import expect

from branch_console.jobs.progress import JobState, TargetMove
from branch_console_app.services import Services
from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole, running_console
from tests.browser.visits import Visit
from tests.browser.workers import ask_to_stop, kill_stopped
from tests.support.contested_table import ContestedTable

# In each full run tests/reliability/test_worker_kill.py kills workers again and again and clicks
# twice, and tests/console sees what a stopped job and an outdated preview say and offer.
pytestmark = pytest.mark.depth("long")

_SAID = {
    TargetMove.UNCHANGED: "The target is unchanged.",
    TargetMove.UNKNOWN: "Whether the target has changed is not known yet: recovery finishes what "
    "was cut off, or takes it back.",
}
# The worker is killed as each of them begins.
_STAGES = ("check heads", "verify files", "compare rows")


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[tuple[ContestedTable, RunningConsole]]:
    """A table with conflicts, and a console of its own.

    A tab that another test left could start a worker of the one that all share, and with it what
    this test wants to see stopped.
    """
    table = ContestedTable(tmp_path / "warehouse", flights=12)
    with running_console(table.folder, tmp_path / "state") as running:
        yield table, running


def test_two_browsers_start_one_merge_that_outlives_its_workers_and_is_done_once(
    visit: NewVisit,
    alone: tuple[ContestedTable, RunningConsole],
) -> None:
    table, console = alone
    before, services = table.head, console.services
    published = table.path / "snapshot" / f"snapshot-{before.id + 1}"
    table.call("compare_rows", branch="fix-delays", target="main")
    console.settle(table.name, "theirs")

    ada, bob, eve = (
        visit(console).turn_to("merge", **table.place, source="fix-delays") for _ in range(3)
    )
    for each in (ada, bob, eve):
        each.chooses_publish()
    ask_to_stop(services, f"{_STAGES[0]} begins")
    _press(ada)
    job_id = _job_of(ada)
    for stage, after in pairwise((*_STAGES, "merge branch")):
        kill_stopped(services)
        _sees_stop(ada, services, job_id, TargetMove.UNCHANGED)
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
    _sees_stop(ada, services, job_id, TargetMove.UNKNOWN)
    _resume(ada)

    ada.sees("is done.")
    bob.sees("is done.")
    for name in (*_STAGES, "merge branch"):
        ada.sees(name, within=".st-key-card-steps")
    ada.link("Receipt").click()
    ada.page.wait_for_url("**/receipt?**")
    ada.sees(f"as snapshot {before.id + 1}")
    head = table.head
    assert head.id == before.id + 1
    assert services.receipt(job_id).counts.snapshots_added == 1

    # Who still looks at the preview of before is told what changed, and keeps what was decided.
    _press(eve)
    eve.sees(f"main got 1 snapshot ({head.id}, the newest by", within='[role="dialog"]')
    eve.sees("Your 1 decision is kept.", within='[role="dialog"]')
    assert len(services.jobs(table=table.name)) == 1


def _press(seen: Visit) -> None:
    dialog = seen.page.get_by_role("dialog")
    button = dialog.get_by_role("button", name="Merge into main", exact=True)
    expect(button).to_be_enabled()
    button.click()


def _job_of(seen: Visit) -> str:
    """The job that the page follows; its own page is opened."""
    seen.page.get_by_role("button", name="View job").click()
    seen.page.wait_for_url("**/job?**")
    return seen.settle().query["id"]


def _sees_stop(seen: Visit, services: Services, job_id: str, target_is: TargetMove) -> None:
    """See that the page tells of the stop, which lasts as long as nobody starts a worker."""
    stopped = services.job(job_id)
    assert stopped.state is JobState.INTERRUPTED
    assert stopped.target_is is target_is
    seen.sees("stopped in the middle.")
    seen.sees(_SAID[target_is])
    seen.sees(stopped.message)


def _resume(seen: Visit) -> None:
    seen.page.get_by_role("button", name="Resume").click()
