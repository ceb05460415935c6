"""The worker: one process, with one Spark session where rows are asked for, runs the jobs."""

import logging
import os
import signal
import socket
import sys
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from dbos import DBOS, DBOSConfig, DBOSPortableJSONSerializer

from branch_console.errors import PaimonError
from branch_console.jobs.client import APPLICATION_VERSION, QUEUE, JobClient, wall_clock_millis
from branch_console.jobs.heartbeat import Heartbeat, worker_lock, write_heartbeat
from branch_console.jobs.job_store import APPLICATION, answering, prepare_store
from branch_console.jobs.kept_counts import KeptCounts
from branch_console.jobs.kept_files import make_private_folder
from branch_console.jobs.schedules import Schedules
from branch_console.jobs.settings import JobSettings
from branch_console.jobs.store_identity import store_identity
from branch_console.jobs.warm_rows import WarmRows
from branch_console.jobs.workflows import JobContext, register_workflow
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.recover import Recovery, recover_catalog, recover_table, tables_of

_log = logging.getLogger(__name__)

# All workers of a store share the name: the next one takes up what a killed one left.
_EXECUTOR: Final = "worker"
_BEAT_SECONDS: Final = 0.5
_POLL_SECONDS: Final = 0.2
_POLICY_SECONDS: Final = 30.0
_GRACE_SECONDS: Final = 10


def run_worker(settings: JobSettings, *, stop: threading.Event | None = None) -> None:
    """Run jobs until a signal to stop, or until there were none for `settings.idle_seconds`.

    The worker does not depend on a console: it runs on if the browser or the console is closed.
    While schedules are there it does not end, but stops Spark when it is idle. A job that a signal
    cuts off goes on with the next worker.

    Args:
        settings: The settings of the job store and of Spark.
        stop: Set it to stop the worker; without it SIGTERM and Ctrl-C do.

    Raises:
        Refused: Another worker runs the jobs of this store.
        NotAllowed: The warehouse cannot be written.
    """
    stopping = stop or threading.Event()
    make_private_folder(Path(settings.state_dir))
    if stop is None:
        _stop_on_signals(stopping)
    while not stopping.is_set():
        with worker_lock(settings.lock_path):
            # With the lock held again, the last heartbeat of a dead worker would pass for life.
            settings.heartbeat_path.unlink(missing_ok=True)
            _run_until_idle(settings, stopping)
        # A job that came while this worker was ending found it alive, and started no other.
        if stopping.is_set() or not _has_work(settings):
            return


def _run_until_idle(settings: JobSettings, stopping: threading.Event) -> None:
    warehouse = Warehouse.open(
        settings.warehouse,
        store_options=dict(settings.store_options),
        cache_dir=Path(settings.state_dir) / "cache",
        catalog_kind=settings.catalog_kind,
        counted=KeptCounts(folder=settings.counts_path),
    )
    rows = WarmRows(settings, warehouse.file_io)
    warehouse = replace(warehouse, file_lister=rows.file_lister)
    context = JobContext(warehouse, rows, wall_clock_millis)
    prepare_store(settings)
    store = store_identity(settings)
    pulse = Pulse(settings, context, rows, store)
    pulse.beat()
    with _jobs_running(settings, context) as schedules:
        threading.Thread(target=_recover, args=(warehouse,), daemon=True).start()
        last_busy = looked = time.monotonic()
        while not stopping.wait(_BEAT_SECONDS):
            pulse.beat()
            if time.monotonic() - looked > _POLICY_SECONDS:
                _follow_policies(settings, schedules)
                looked = time.monotonic()
            if store_identity(settings) != store:
                _log.error("the job store %s was removed or replaced: the worker ends", store)
                break
            if context.job is not None:
                last_busy = time.monotonic()
                if _is_cancelled(context.job):
                    rows.cancel()
            elif not _is_idle(settings, time.monotonic() - last_busy):
                continue
            elif schedules.are_there:
                # Nobody else would be there when the next one is due.
                rows.rest(lambda: context.job is not None)
            else:
                _log.info("no job for %.0f seconds: the worker ends", settings.idle_seconds)
                break
        rows.end()
        pulse.beat(is_last=True)
    rows.close()


def _follow_policies(settings: JobSettings, schedules: Schedules) -> None:
    try:
        with answering(settings):
            schedules.follow_policies()
    except PaimonError as error:
        _log.warning("the schedules stay as they are: %s", error.message)


def _is_idle(settings: JobSettings, seconds: float) -> bool:
    return settings.idle_seconds is not None and seconds > settings.idle_seconds


def _has_work(settings: JobSettings) -> bool:
    client = JobClient(settings)
    try:
        return client.has_work()
    finally:
        client.close()


class Pulse:
    """Tells others that this worker lives and what it does."""

    def __init__(
        self, settings: JobSettings, context: JobContext, rows: WarmRows, store: str
    ) -> None:
        self._store = store
        self._path = settings.heartbeat_path
        self._context = context
        self._rows = rows
        self._started_millis = wall_clock_millis()
        self._id = uuid.uuid4().hex

    def beat(self, *, is_last: bool = False) -> None:
        """Write a heartbeat; the last one is old from the start."""
        context = self._context
        try:
            write_heartbeat(
                self._path,
                Heartbeat(
                    id=self._id,
                    process_id=os.getpid(),
                    host=socket.gethostname(),
                    started_millis=self._started_millis,
                    heartbeat_millis=0 if is_last else wall_clock_millis(),
                    spark=self._rows.state,
                    store=self._store,
                    job=context.job,
                    step=context.step,
                    done=context.done,
                    total=context.total,
                ),
            )
        except OSError as error:
            # A full disk must not end the job that runs: others see no sign of life meanwhile.
            _log.warning("the heartbeat was not written: %s", error)


def main() -> None:
    """Run a worker whose settings come on the standard input."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    settings = JobSettings.from_json(sys.stdin.read())
    try:
        run_worker(settings)
    except PaimonError as error:
        _log.error("%s (%s)", error.message, error.kind)  # a sentence is enough
        sys.exit(1)


@contextmanager
def _jobs_running(settings: JobSettings, context: JobContext) -> Iterator[Schedules]:
    config: DBOSConfig = {
        "name": APPLICATION,
        "system_database_url": settings.jobs_url,
        "serializer": DBOSPortableJSONSerializer(),
        "application_version": APPLICATION_VERSION,
        "executor_id": _EXECUTOR,
        "log_level": "WARNING",
    }
    DBOS(config=config)
    client = JobClient(settings)
    try:
        register_workflow(context)
        schedules = Schedules(context.warehouse, client.start)
        with answering(settings):
            DBOS.launch()
            DBOS.register_queue(
                QUEUE,
                worker_concurrency=1,
                global_concurrency=1,
                polling_interval_sec=_POLL_SECONDS,
            )
        _follow_policies(settings, schedules)
        yield schedules
    finally:
        client.close()
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
        _log_recovery(recover_catalog(warehouse, running=own))
        for table in tables_of(warehouse, None):
            _log_recovery(recover_table(warehouse, table, running=own))
    except PaimonError as error:
        _log.warning("recovery stopped: %s", error.message)


def _log_recovery(recovered: Iterable[Recovery]) -> None:
    for each in recovered:
        if each.error is None:
            _log.info("recovered %s: %s", each.operation_id, each.message)
        else:
            _log.warning("%s of %s: %s", each.operation_id, each.subject, each.message)


def _stop_on_signals(stopping: threading.Event) -> None:
    def stop(_signal: int, _frame: object) -> None:
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
