"""The console's and the command line's side of jobs: enqueue, read, cancel, resume.

Nothing here runs a procedure or knows Spark; the worker does, in another process.
"""

import logging
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import update_wrapper
from itertools import count, islice
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from dbos import DBOSClient, EnqueueOptions

import branch_console
from branch_console.errors import ErrorKind, FormatError, NotFound, Refused, StorageError
from branch_console.jobs.heartbeat import Heartbeat, read_heartbeat, worker_view
from branch_console.jobs.job_store import answering, open_client
from branch_console.jobs.kept_files import make_private_file, make_private_folder
from branch_console.jobs.progress import JobState, JobStep, JobView, TargetMove, WorkerView
from branch_console.jobs.settings import JobSettings
from branch_console.jobs.store_identity import name_in, store_identity
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.permissions import Role, check_role

_log = logging.getLogger(__name__)

QUEUE: Final = "calls"
WORKFLOW: Final = "run_call"
STAGE: Final = "stage"
# Jobs outlive an upgrade: their input is a ProcedureCall, which every release can read.
APPLICATION_VERSION: Final = "1"
# Until its first heartbeat a worker that was started cannot be seen.
_STARTING_MILLIS: Final = 10_000
_PAGE: Final = 200
# A worker that nobody started by hand holds some gigabytes; the next job starts another one.
_IDLE_SECONDS: Final = 900
_LAUNCH: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from branch_console.jobs import worker; worker.main()"
)
_DETACH: Final = (
    "import subprocess, sys; subprocess.Popen([sys.executable, '-c', *sys.argv[1:]], "
    "start_new_session=True)"
)


def wall_clock_millis() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


T = TypeVar("T")
P = ParamSpec("P")


def _answered(
    method: "Callable[Concatenate[JobClient, P], T]",
) -> "Callable[Concatenate[JobClient, P], T]":
    """Have a method tell in a sentence that the job store does not answer."""

    def answered(self: "JobClient", /, *arguments: P.args, **named: P.kwargs) -> T:
        with answering(self.settings):
            return method(self, *arguments, **named)

    return update_wrapper(answered, method)


class JobClient:
    """Jobs of one store, as seen from outside the worker.

    Attributes:
        settings: The settings of the job store and of workers.
    """

    def __init__(
        self, settings: JobSettings, *, clock: Callable[[], int] = wall_clock_millis
    ) -> None:
        self.settings = settings
        self._clock = clock
        self._client: DBOSClient | None = None
        self._opened_store = ""
        self._was_replaced = False
        self._worker_started_millis = 0

    @_answered
    def start(self, call: ProcedureCall) -> str:
        """Enqueue a call and return its job id; the same operation id is the same job."""
        table = call.find_table
        options: EnqueueOptions = {
            "workflow_name": WORKFLOW,
            "queue_name": QUEUE,
            "workflow_id": call.operation_id,
            "app_version": APPLICATION_VERSION,
            "attributes": {
                "created_millis": self._clock(),
                "procedure": call.name,
                "actor": call.actor,
                "table": table if isinstance(table, str) else "",
            },
        }
        self._jobs().enqueue(options, call.to_json())
        return call.operation_id

    @_answered
    def list(
        self, *, limit: int = 50, offset: int = 0, table: str | None = None
    ) -> tuple[JobView, ...]:
        """Return jobs, newest first."""
        found = list(islice(self._newest_first(table), offset, offset + limit))
        heartbeat = read_heartbeat(self.settings.heartbeat_path)
        worker = self._judge(heartbeat)
        return tuple(self._view(status, heartbeat, worker) for status in found)

    @_answered
    def get(self, job_id: str) -> JobView:
        """Return one job with its steps.

        Raises:
            NotFound: There is no such job.
        """
        status = self._status(job_id)
        heartbeat = read_heartbeat(self.settings.heartbeat_path)
        steps = tuple(
            JobStep(
                name=step["function_name"],
                started_millis=step["started_at_epoch_ms"],
                finished_millis=step["completed_at_epoch_ms"],
                error=_step_error(step["output"]),
            )
            for step in self._jobs().list_workflow_steps(job_id)
            if not step["function_name"].startswith("DBOS.")
        )
        return self._view(status, heartbeat, self._judge(heartbeat), steps)

    @_answered
    def call_of(self, job_id: str) -> ProcedureCall:
        """Return the command that a job runs.

        Raises:
            NotFound: There is no such job.
            FormatError: Its command cannot be read any more.
        """
        return _call(self._status(job_id))

    @_answered
    def cancel(self, job_id: str, *, actor: str, role: str) -> JobView:
        """Cancel a job that has not begun to publish; its target stays as it was.

        Args:
            job_id: The job.
            actor: The person who asks; the person who started the job may cancel it.
            role: The role of the actor; others may from EDITOR on.

        Raises:
            NotAllowed: The job is somebody else's, and the role does not reach.
            Refused: The job is over, or publishes already.
        """
        job = self.get(job_id)
        if actor != job.actor:
            check_role(role, Role.EDITOR, "cancel a job that somebody else started")
        if not job.state.can_cancel:
            raise Refused(
                f"Job {job_id} is {job.state}; only a job that has not begun to publish can be "
                "cancelled. Nothing was changed.",
                kind=ErrorKind.INVALID_ARGUMENT,
                job=job_id,
            )
        self._jobs().cancel_workflow(job_id)
        if self._stage(job_id).get("state") == JobState.PUBLISHING:
            # It began to publish in between: a half-published target is worse than a late one.
            self._jobs().resume_workflow(job_id, queue_name=QUEUE)
        return self.get(job_id)

    @_answered
    def resume(self, job_id: str, *, role: str) -> JobView:
        """Let a cancelled, failed or interrupted job go on; finished steps are not repeated.

        Args:
            job_id: The job.
            role: The role of who asks. The job runs with the role of who started it, so that one
                must be covered.

        Raises:
            NotAllowed: The role does not reach.
            Refused: The job runs, or is done.
        """
        job = self.get(job_id)
        check_role(role, Role(job.role), "resume this job")
        if job.state is JobState.INTERRUPTED:
            # A worker takes up what another one left as soon as it starts.
            self.start_worker()
        elif job.state is JobState.CANCELLED:
            self._jobs().resume_workflow(job_id, queue_name=QUEUE)
        elif job.state.can_resume:
            self._jobs().rewind_workflow(job_id, queue_name=QUEUE)
        else:
            raise Refused(
                f"Job {job_id} is {job.state}; there is nothing to resume.",
                kind=ErrorKind.NOTHING_TO_DO,
                job=job_id,
            )
        return self.get(job_id)

    def wait(self, job_id: str, *, timeout_seconds: float, poll_seconds: float = 0.2) -> JobView:
        """Return the job once it is over, or as it stands when the time is up."""
        deadline = time.monotonic() + timeout_seconds
        job = self.get(job_id)
        while not job.state.is_over and time.monotonic() < deadline:
            time.sleep(poll_seconds)
            job = self.get(job_id)
        return job

    def worker(self) -> WorkerView | None:
        """Return the worker that reported last, alive or not; None if there never was one."""
        return self._judge(read_heartbeat(self.settings.heartbeat_path))

    @_answered
    def start_worker(self) -> bool:
        """Start a worker in the background, which ends by itself; False if one runs already."""
        worker = self.worker()
        asked = self._worker_started_millis
        # One that has reported since is there, or is dead: it is not waited for.
        has_come = worker is not None and worker.started_millis >= asked
        is_starting = not has_come and self._clock() - asked < _STARTING_MILLIS
        if (worker is not None and worker.is_alive) or is_starting:
            return False
        self._worker_started_millis = self._clock()
        settings = self.settings
        if settings.idle_seconds is None:
            settings = replace(settings, idle_seconds=_IDLE_SECONDS)
        state_dir = Path(self.settings.state_dir)
        make_private_folder(state_dir)
        make_private_file(self.settings.log_path)
        package_root = str(Path(branch_console.__file__).parent.parent)
        with self.settings.log_path.open("ab") as log:
            # The process between leaves at once: the worker is nobody's child and no zombie, and
            # it inherits the pipe with the settings, which hold secrets.
            try:
                subprocess.run(
                    [sys.executable, "-c", _DETACH, _LAUNCH, package_root],
                    input=settings.to_json().encode(),
                    stdout=log,
                    stderr=log,
                    cwd=state_dir,
                    check=True,
                    timeout=60,
                )
            except (OSError, subprocess.SubprocessError) as error:
                raise StorageError(
                    f"No worker could be started: {error}. Start one: branch-console worker.",
                    kind=ErrorKind.NO_WORKER,
                ) from error
        return True

    @_answered
    def has_work(self) -> bool:
        """Whether a job waits for a worker or was cut off in one."""
        waiting = ["PENDING", "ENQUEUED", "DELAYED"]
        return bool(self._jobs().list_workflows(name=WORKFLOW, status=waiting, limit=1))

    def close(self) -> None:
        """Leave the database of the jobs."""
        if self._client is not None:
            self._client.destroy()
            self._client = None

    def _newest_first(self, table: str | None) -> Iterator[Any]:
        # SQLite cannot be asked for the jobs of one table.
        for start in count(0, _PAGE):
            page = self._jobs().list_workflows(
                name=WORKFLOW, limit=_PAGE, offset=start, sort_desc=True
            )
            # SQLite keeps whole seconds only.
            for status in sorted(page, key=_created_millis, reverse=True):
                if table is None or (status.attributes or {}).get("table") == table:
                    yield status
            if len(page) < _PAGE:
                return

    def _status(self, job_id: str) -> Any:
        found = self._jobs().list_workflows(workflow_ids=[job_id], name=WORKFLOW)
        if not found:
            since = (
                " The job store was removed or replaced meanwhile; the jobs in it are gone."
                if self._was_replaced
                else ""
            )
            raise NotFound(
                f"There is no job {job_id!r}.{since} List the jobs to find it.",
                kind=ErrorKind.JOB_NOT_FOUND,
                job=job_id,
            )
        return found[0]

    def _jobs(self) -> DBOSClient:
        if self._client is not None and store_identity(self.settings) != self._opened_store:
            # What is written to a file that was removed, nobody reads any more.
            _log.warning("the job store %s was removed or replaced", self._opened_store)
            self._was_replaced = True
            self.close()
        if self._client is None:
            self._client = open_client(self.settings)
            self._opened_store = store_identity(self.settings)
        return self._client

    def _judge(self, heartbeat: Heartbeat | None) -> WorkerView | None:
        if heartbeat is None:
            return None
        return worker_view(
            heartbeat,
            self.settings.lock_path,
            self._clock(),
            store=store_identity(self.settings),
        )

    def _stage(self, job_id: str) -> Mapping[str, Any]:
        stage = self._jobs().get_event(job_id, STAGE, timeout_seconds=0)
        return stage if isinstance(stage, dict) else {}

    def _view(
        self,
        status: Any,
        heartbeat: Heartbeat | None,
        worker: WorkerView | None,
        steps: tuple[JobStep, ...] = (),
    ) -> JobView:
        stage = {} if status.status in _WITHOUT_STAGE else self._stage(status.workflow_id)
        outcome = _outcome(status)
        state = _state(status, stage, outcome, worker)
        beats = heartbeat is not None and heartbeat.job == status.workflow_id
        progress = (
            heartbeat if beats and heartbeat and heartbeat.step == stage.get("step") else None
        )
        attributes = status.attributes or {}
        created = _created_millis(status)
        call = _find_call(status)
        return JobView(
            id=status.workflow_id,
            name=attributes.get("procedure", status.name),
            actor=attributes.get("actor", ""),
            table=attributes.get("table") or None,
            statement=str(status.name) if call is None else call.statement,
            # Nobody but an operator may let what cannot be read go on.
            role=Role.OPERATOR if call is None else call.role,
            arguments={} if call is None else call.arguments,
            step=outcome.get("step") or stage.get("step", ""),
            message=_message(status, state, stage, outcome, worker),
            state=state,
            done=progress.done if progress else 0,
            total=progress.total if progress else None,
            error=_error_kind(state, outcome, worker),
            error_class=outcome.get("error_class"),
            error_facts=outcome.get("error_facts", {}),
            target_is=TargetMove.of(state, stage, outcome),
            recovers=bool(outcome.get("recovers") or stage.get("recovers")),
            created_millis=created,
            started_millis=outcome.get("started_millis") or status.dequeued_at or created,
            finished_millis=outcome.get("finished_millis") or status.completed_at,
            receipt_id=outcome.get("receipt_id"),
            steps=steps,
        )


# The outcome of a job says all that its last stage did.
_WITHOUT_STAGE: Final = frozenset({"DELAYED", "SUCCESS"})


def _is_served(worker: WorkerView | None) -> bool:
    """Whether a worker lives that takes jobs from this store."""
    return worker is not None and worker.is_alive and not worker.serves_other_store


def _created_millis(status: Any) -> int:
    attributes = status.attributes or {}
    return int(attributes.get("created_millis") or status.created_at or 0)


def _outcome(status: Any) -> Mapping[str, Any]:
    if status.status == "SUCCESS" and isinstance(status.output, dict):
        return status.output
    if status.status == "ERROR":
        return {
            "state": JobState.FAILED,
            "error": ErrorKind.UNEXPECTED,
            "message": f"{status.error} Look at the worker's log, then resume.",
        }
    if status.status == "MAX_RECOVERY_ATTEMPTS_EXCEEDED":
        return {
            "state": JobState.FAILED,
            "error": ErrorKind.INTERRUPTED,
            "message": "The worker stopped too often while it ran this job. Look at its log.",
        }
    return {}


def _state(
    status: Any, stage: Mapping[str, Any], outcome: Mapping[str, Any], worker: WorkerView | None
) -> JobState:
    if outcome:
        return JobState(outcome["state"])
    if status.status == "CANCELLED":
        return JobState.CANCELLED
    if status.status in ("ENQUEUED", "DELAYED"):
        return JobState.QUEUED
    if not _is_served(worker):
        return JobState.INTERRUPTED
    return JobState(stage.get("state", JobState.RUNNING))


def _message(
    status: Any,
    state: JobState,
    stage: Mapping[str, Any],
    outcome: Mapping[str, Any],
    worker: WorkerView | None,
) -> str:
    if outcome:
        return str(outcome.get("message", ""))
    if state is JobState.QUEUED and worker and worker.is_alive and worker.other_store:
        return (
            f"Queued, but worker {worker.process_id} on {worker.host} takes its jobs from another "
            f"job store, {name_in(worker.other_store)}. Give both the same setting job_store, or "
            "stop that worker."
        )
    if state is JobState.QUEUED and not _is_served(worker):
        return "Queued; no worker is running. Start one: branch-console worker."
    if state is JobState.QUEUED:
        return "Queued."
    if state is JobState.INTERRUPTED and stage.get("state") == JobState.PUBLISHING:
        return "Publishing was cut off. It goes on when a worker is back, and happens once."
    if state is JobState.INTERRUPTED:
        step = stage.get("step")
        return f"Stopped{f' while at {step!r}' if step else ''}. It goes on when a worker is back."
    if state is JobState.CANCELLED:
        return "Cancelled before anything was published."
    return str(stage.get("message", "")) or "Started."


def _error_kind(
    state: JobState, outcome: Mapping[str, Any], worker: WorkerView | None
) -> ErrorKind | None:
    if outcome:
        return ErrorKind(outcome["error"]) if outcome.get("error") else None
    if state is JobState.QUEUED and not _is_served(worker):
        return ErrorKind.NO_WORKER
    if state is JobState.INTERRUPTED:
        return ErrorKind.INTERRUPTED
    return ErrorKind.CANCELLED if state is JobState.CANCELLED else None


def _find_call(status: Any) -> ProcedureCall | None:
    try:
        return _call(status)
    except FormatError:
        return None


def _call(status: Any) -> ProcedureCall:
    try:
        return ProcedureCall.from_json(status.input["args"][0])
    except (LookupError, TypeError) as error:
        raise FormatError(f"The command of job {status.workflow_id!r} cannot be read.") from error


def _step_error(output: Any) -> str | None:
    if isinstance(output, dict) and isinstance(output.get("error"), dict):
        return str(output["error"].get("message"))
    return None
