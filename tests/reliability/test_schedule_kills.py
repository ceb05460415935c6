"""kill -9 of a worker that runs schedules: each time is carried out once, or not at all."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.jobs.client import JobClient
from branch_console.jobs.job_store import open_client
from branch_console.jobs.progress import JobState
from branch_console.jobs.schedules import TICK
from branch_console.jobs.settings import JobSettings
from branch_console.procedures.kept_receipts import read_receipt
from branch_console.procedures.run.kept_policies import keep_policy
from branch_console.procedures.run.scheduled_calls import ACTOR
from tests.support.branch_bench import BranchBench
from tests.support.schedule_child import POINTS

ROOT = Path(__file__).resolve().parents[2]
_POLICY = 'version: 1\nmaintenance: { expire: "*/3 * * * * *", grace: 0 s }\n'
_KEEPS_ONE = {
    "snapshot.num-retained.min": "1",
    "snapshot.num-retained.max": "1",
    "snapshot.time-retained": "1 ms",
}
_JOB = re.compile(r"expire-(\d{8}T\d{6}Z)-[0-9a-f]{10}")
_PATIENCE_SECONDS = 90
_CHEAP = "before files leave"


class ScheduledTables:
    """Two tables whose snapshots a schedule expires, and the worker that runs it."""

    def __init__(self, folder: Path, database_url: str | None) -> None:
        root = folder / "warehouse"
        root.mkdir()
        self.tables = [BranchBench(root, name=name, options=_KEEPS_ONE) for name in ("t", "u")]
        self.commits = 0
        self.settings = JobSettings(
            warehouse=str(root),
            state_dir=str(folder / "state"),
            database_url=database_url,
            # It has nothing to do most of the time, and yet stays for what is due.
            idle_seconds=0.0,
        )
        self.client = JobClient(self.settings)
        self.worker: subprocess.Popen[bytes] | None = None
        self._mark = folder / "mark"
        self._log = folder / "log"

    def commit(self) -> None:
        """Commit to both tables."""
        self.commits += 1
        for each in self.tables:
            each.append(str(self.commits))

    def start(self, point: str) -> None:
        """Start a worker that stops at a point; an empty one never."""
        with self._log.open("ab") as log:
            self.worker = subprocess.Popen(
                [sys.executable, "-m", "tests.support.schedule_child", self.settings.to_json(),
                 point, str(self._mark)],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(["core", "app", "."])},
                stdout=log,
                stderr=log,
            )  # fmt: skip

    def kill(self) -> None:
        """Kill the worker, as a machine that fails does."""
        assert self.worker is not None
        self.worker.send_signal(signal.SIGKILL)
        self.worker.wait()
        self.worker = None

    def await_mark(self) -> None:
        """Wait until the worker has come to its point."""
        self.until(self._mark.exists, "the worker at its point")

    def until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain for {what}: {self.log}"
            assert self.worker is not None
            assert self.worker.poll() is None, self.log
            time.sleep(0.1)

    @property
    def log(self) -> str:
        """What the workers said."""
        return self._log.read_text()

    def are_expired(self) -> bool:
        """Whether both tables are down to their heads."""
        return all(len(each.table().snapshots.ids()) == 1 for each in self.tables)

    def times(self) -> list[float]:
        """The times of all jobs, in seconds since the epoch."""
        found = [_JOB.fullmatch(job.id) for job in self.client.list(limit=1_000)]
        assert all(found)
        return [
            datetime.strptime(each[1], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
            for each in found
            if each
        ]

    def expiries(self) -> list[tuple[BranchBench, LineageEvent]]:
        """The expiries of both tables, as their ledgers tell them."""
        return [
            (each, event)
            for each in self.tables
            for event in each.table().ledger.events()
            if event.kind is LineageKind.EXPIRED
        ]

    def close(self) -> None:
        if self.worker is not None:
            self.kill()
        self.client.close()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.depth("long"))])
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ScheduledTables]:
    url = None
    if request.param == "postgresql":
        server = sa.make_url(request.getfixturevalue("postgres"))
        name = f"jobs_{os.getpid()}_{time.time_ns()}"
        engine = sa.create_engine(server, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(sa.text(f"CREATE DATABASE {name}"))
        engine.dispose()
        url = server.set(database=name).render_as_string(hide_password=False)
    made = ScheduledTables(tmp_path, url)
    keep_policy(made.tables[0].warehouse(), None, _POLICY)
    for _ in range(3):
        made.commit()
    yield made
    made.close()


@pytest.mark.parametrize(
    "point",
    [
        pytest.param(each, marks=pytest.mark.depth("full" if each == _CHEAP else "long"))
        for each in POINTS
    ],
)
def test_a_time_whose_worker_is_killed_is_carried_out_once_or_not_at_all(
    tables: ScheduledTables, point: str
) -> None:
    tables.start(point)
    tables.await_mark()
    killed = time.time()
    tables.kill()
    time.sleep(4.5)  # one time at least passes without a worker
    restarted = time.time()
    tables.start("")
    tables.until(tables.are_expired, "the expiry that was cut off")
    tables.commit()
    tables.until(tables.are_expired, "another one")
    tables.until(lambda: not tables.client.has_work(), "the end of what was enqueued")
    tables.kill()

    jobs = tables.client.list(limit=1_000)
    assert {job.state for job in jobs} <= {JobState.DONE, JobState.QUEUED, JobState.INTERRUPTED}
    assert {job.actor for job in jobs} == {ACTOR}
    times = tables.times()
    assert all(each % 3 == 0 for each in times)
    # Nothing is made up for: what passed without a worker is left out.
    assert not [each for each in times if killed < each < restarted]
    # A job is one call of one time and table.
    assert max(times.count(each) for each in times) <= len(tables.tables)
    expiries = tables.expiries()
    operations = [event.operation_id for _, event in expiries]
    assert len(operations) == len(set(operations))
    for bench in tables.tables:
        mine = [event for each, event in expiries if each is bench]
        removed = [read_receipt(bench.warehouse(), each.operation_id) for each in mine]
        assert sum(each.counts.snapshots_removed for each in removed) == tables.commits - 1
        assert bench.live_names() == {
            f"data-{each}.parquet" for each in range(1, tables.commits + 1)
        }
    _check_ticks(tables.settings)


def _check_ticks(settings: JobSettings) -> None:
    """See that each time was enqueued once, and that all but the last came to their end."""
    client = open_client(settings)
    ticks = client.list_workflows(name=TICK, sort_desc=True)
    client.destroy()
    assert len({each.workflow_id for each in ticks}) == len(ticks)
    assert {each.status for each in ticks[2:]} <= {"SUCCESS"}
