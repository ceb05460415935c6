"""The worker: one process with one warm Spark session that runs the jobs of a store."""

import logging
import os
import signal
import socket
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa
from dbos import DBOS, DBOSConfig, DBOSPortableJSONSerializer

from core.commit.commit_message import CommitMessage
from core.diff.row_diff import RowDiffWork
from core.errors import PaimonError
from core.jobs.client import (
    APPLICATION,
    APPLICATION_VERSION,
    QUEUE,
    JobClient,
    wall_clock_millis,
)
from core.jobs.heartbeat import Heartbeat, worker_lock, write_heartbeat
from core.jobs.kept_diffs import KeptDiffs
from core.jobs.kept_profiles import KeptProfiles, KeptQuality
from core.jobs.results import KeptAnswers
from core.jobs.settings import JobSettings
from core.jobs.warm_writer import WarmWriter
from core.jobs.workflows import JobContext, register_workflow
from core.merge.policy import Policy
from core.merge.row_work import Reconciled, RowScope, RowWork
from core.procedures.recover import recover_table, tables_of
from core.procedures.row_engine import Progress, QuerySource
from core.procedures.warehouse import Warehouse
from core.quality.comparison import QualityComparison
from core.quality.work import QualityWork
from core.spark.profile_pass import ProfilePass
from core.spark.row_compare import compare_rows
from core.spark.row_engine import SparkRowEngine
from core.spark.session import SparkSettings, WarmSession, open_session
from core.sql.answer import Answer
from core.storage.file_io import FileIO
from core.table.file_store_table import FileStoreTable
from core.table.table_state import StagedState

_log = logging.getLogger(__name__)

# All workers of a store share the name: the next one takes up what a killed one left.
_EXECUTOR: Final = "worker"
_BEAT_SECONDS: Final = 0.5
_POLL_SECONDS: Final = 0.2
_GRACE_SECONDS: Final = 10


def run_worker(settings: JobSettings, *, stop: threading.Event | None = None) -> None:
    """Run jobs until a signal to stop, or until there were none for long enough.

    A running job goes on with the next worker.

    Args:
        settings: Which store, and how Spark is started.
        stop: Set it to stop the worker; without it SIGTERM and Ctrl-C do.

    Raises:
        Refused: Another worker runs the jobs of this store.
        NotAllowed: The warehouse cannot be written.
    """
    stopping = stop or threading.Event()
    Path(settings.state_dir).mkdir(parents=True, exist_ok=True)
    if stop is None:
        _stop_on_signals(stopping)
    while not stopping.is_set():
        with worker_lock(settings.lock_path):
            _run_until_idle(settings, stopping)
        # A job that came while this worker was ending found it alive, and started no other.
        if stopping.is_set() or not _has_work(settings):
            return


def _run_until_idle(settings: JobSettings, stopping: threading.Event) -> None:
    warehouse = Warehouse.open(
        settings.warehouse,
        store_options=dict(settings.store_options),
        cache_dir=Path(settings.state_dir) / "cache",
    )
    rows = WarmRows(settings, warehouse.file_io)
    context = JobContext(warehouse, rows, wall_clock_millis)
    pulse = Pulse(settings, context, rows)
    pulse.beat()
    with _jobs_running(settings, context):
        rows.start()
        threading.Thread(target=_recover, args=(warehouse,), daemon=True).start()
        busy_until = time.monotonic()
        while not stopping.wait(_BEAT_SECONDS):
            pulse.beat()
            if context.job is not None:
                busy_until = time.monotonic()
                if _is_cancelled(context.job):
                    rows.cancel()
            elif _is_idle(settings, time.monotonic() - busy_until):
                _log.info("no job for %.0f seconds: the worker ends", settings.idle_seconds)
                break
        rows.cancel()
        pulse.beat(is_last=True)
    rows.close()


def _is_idle(settings: JobSettings, seconds: float) -> bool:
    return settings.idle_seconds is not None and seconds > settings.idle_seconds


def _has_work(settings: JobSettings) -> bool:
    client = JobClient(settings)
    try:
        return client.has_work()
    finally:
        client.close()


class WarmRows(WarmWriter):
    """The row engine of this process; Spark starts in the background, once."""

    def __init__(self, settings: JobSettings, file_io: FileIO) -> None:
        self._settings = settings
        self._file_io = file_io
        self._lock = threading.Lock()
        self._session: WarmSession | None = None
        self.state = "cold"

    def start(self) -> None:
        """Start Spark on a thread of its own."""
        threading.Thread(target=self._warm_up, name="spark-start", daemon=True).start()

    def verify_files(self, files: pa.Table, progress: Progress) -> pa.Table:
        """Compare data files with what the manifests say of them."""
        return self._engine().verify_files(files, progress)

    def write_rows(
        self, table: FileStoreTable, rows: pa.Table, progress: Progress
    ) -> tuple[CommitMessage, ...]:
        """Write rows as data files in tasks."""
        return self._engine().write_rows(table, rows, progress)

    def find_changed_keys(
        self, table: FileStoreTable, scope: RowScope, work: Sequence[RowWork], progress: Progress
    ) -> pa.Table:
        """Count the keys that each side changed, and that both changed, in each bucket."""
        return self._engine().find_changed_keys(table, scope, work, progress)

    def reconcile(
        self,
        table: FileStoreTable,
        scope: RowScope,
        work: Sequence[RowWork],
        policy: Policy,
        progress: Progress,
        *,
        writes: bool = True,
    ) -> Reconciled[CommitMessage]:
        """Merge rows that both sides changed, and write what replaying would not give."""
        return self._engine().reconcile(table, scope, work, policy, progress, writes=writes)

    def query(
        self, sql: str, sources: Mapping[str, QuerySource], limit: int, progress: Progress
    ) -> tuple[pa.Table, str]:
        """Run a query of the sources, and return its rows with the plan."""
        return self._engine().query(sql, sources, limit, progress)

    def keep(self, operation_id: str, answer: Answer) -> None:
        """Keep an answer in the folder that the worker shares with those who asked."""
        KeptAnswers(folder=self._settings.answers_path).keep(operation_id, answer)

    def compare_states(
        self,
        table: FileStoreTable,
        work: RowDiffWork,
        name: str,
        facts: Mapping[str, object],
        progress: Progress,
    ) -> Mapping[str, int]:
        """Find the rows in which two states differ, and keep them in the folder of comparisons."""
        kept = KeptDiffs(folder=self._settings.diffs_path)
        if kept.find(name) is None:
            with kept.draft(name) as draft:
                compare_rows(
                    self._open(),
                    self._file_io,
                    table,
                    work,
                    lambda found: draft.write(found, work, facts),
                    progress=progress,
                )
        return kept.counts(name)

    def compare_quality(
        self,
        table: FileStoreTable,
        work: QualityWork,
        name: str,
        finished_millis: int,
        progress: Progress,
        *,
        merged: StagedState | None = None,
    ) -> QualityComparison:
        """Profile the columns of two states, and keep the result in the folder of comparisons."""
        results = KeptQuality(folder=self._settings.quality_path)
        found = results.find(name)
        if found is None:
            units = KeptProfiles(folder=self._settings.quality_path / "units")
            made = ProfilePass(self._file_io, self._open, units, progress)
            found = made.compare(table, work, merged=merged, finished_millis=finished_millis)
            units.forget_oldest()
            results.keep(name, found)
        return found

    def cancel(self) -> None:
        """Stop what runs now; the running call raises."""
        session = self._session
        if session is not None:
            session.cancel()

    def close(self) -> None:
        """Stop Spark."""
        with self._lock:
            if self._session is not None:
                self._session.close()
                self._session = None
            self.state = "cold"

    def _engine(self) -> SparkRowEngine:
        return SparkRowEngine(self._open(), self._file_io)

    def _warm_up(self) -> None:
        try:
            self._open().warm_up()
        except PaimonError as error:
            _log.warning("Spark did not start: %s", error.message)

    def _open(self) -> WarmSession:
        with self._lock:
            if self._session is None:
                self.state = "starting"
                try:
                    self._session = open_session(spark_settings(self._settings))
                except PaimonError as error:
                    self.state = error.message
                    raise
                self.state = "warm"
            return self._session


class Pulse:
    """Tells others that this worker lives and what it does."""

    def __init__(self, settings: JobSettings, context: JobContext, rows: WarmRows) -> None:
        self._path = settings.heartbeat_path
        self._context = context
        self._rows = rows
        self._started_millis = wall_clock_millis()
        self._id = uuid.uuid4().hex

    def beat(self, *, is_last: bool = False) -> None:
        """Write a heartbeat; the last one is old from the start."""
        context = self._context
        write_heartbeat(
            self._path,
            Heartbeat(
                id=self._id,
                process_id=os.getpid(),
                host=socket.gethostname(),
                started_millis=self._started_millis,
                heartbeat_millis=0 if is_last else wall_clock_millis(),
                spark=self._rows.state,
                job=context.job,
                step=context.step,
                done=context.done,
                total=context.total,
            ),
        )


def spark_settings(settings: JobSettings) -> SparkSettings:
    """What the settings say of Spark; the rest stays at its defaults."""
    default = SparkSettings()
    return SparkSettings(
        master=settings.spark_master or default.master,
        remote=settings.spark_remote,
        memory=settings.spark_memory or default.memory,
        cache=Path(settings.state_dir) / "java",
        conf=dict(settings.spark_conf),
    )


def main() -> None:
    """Run a worker whose settings come on the standard input."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("py4j").setLevel(logging.WARNING)
    settings = JobSettings.from_json(sys.stdin.read())
    try:
        run_worker(settings)
    except PaimonError as error:
        _log.error("%s (%s)", error.message, error.kind)  # a sentence is enough
        sys.exit(1)


@contextmanager
def _jobs_running(settings: JobSettings, context: JobContext) -> Iterator[None]:
    config: DBOSConfig = {
        "name": APPLICATION,
        "system_database_url": settings.jobs_url,
        "serializer": DBOSPortableJSONSerializer(),
        "application_version": APPLICATION_VERSION,
        "executor_id": _EXECUTOR,
        "log_level": "WARNING",
    }
    DBOS(config=config)
    try:
        register_workflow(context)
        DBOS.launch()
        DBOS.register_queue(
            QUEUE, worker_concurrency=1, global_concurrency=1, polling_interval_sec=_POLL_SECONDS
        )
        yield
    finally:
        DBOS.destroy(workflow_completion_timeout_sec=_GRACE_SECONDS)


def _is_cancelled(job_id: str) -> bool:
    status = DBOS.get_workflow_status(job_id)
    return status is not None and status.status == "CANCELLED"


def _recover(warehouse: Warehouse) -> None:
    """Finish what was cut off elsewhere; jobs of this store take themselves up."""
    if not warehouse.verdict.can_write:
        return
    own = {each.workflow_id for each in DBOS.list_workflows(status=["PENDING", "ENQUEUED"])}
    try:
        for table in tables_of(warehouse, None):
            for each in recover_table(warehouse, table, running=own):
                _log.info("recovered %s: %s", each.operation_id, each.message)
    except PaimonError as error:
        _log.warning("recovery stopped: %s", error.message)


def _stop_on_signals(stopping: threading.Event) -> None:
    def stop(_signal: int, _frame: object) -> None:
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
