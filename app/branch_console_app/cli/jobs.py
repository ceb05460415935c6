"""The commands on jobs, and following one until it is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer

from branch_console.errors import ErrorKind, NotFound, PaimonError, StorageError
from branch_console.format.identifier import Identifier
from branch_console.jobs.progress import JobState, JobView, WorkerView
from branch_console.jobs.store_identity import name_in
from branch_console.procedures.call.call import Argument
from branch_console_app.cli.arguments import JsonOption, WarehouseOption, hand_down, open_services
from branch_console_app.cli.output import (
    local_time,
    print_fields,
    print_json,
    print_line,
    print_rows,
    progress,
)

if TYPE_CHECKING:
    from branch_console.diff.state_diff import StateDiff
    from branch_console_app.services import Services

_Found = TypeVar("_Found")

jobs = typer.Typer(invoke_without_command=True, help="List, show, cancel and resume jobs.")

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="The id of the job.")]

_POLL_SECONDS: Final = 0.2
# A worker imports a database driver and half of Spark before its first heartbeat.
_PATIENCE_SECONDS: Final = 60.0


@jobs.callback()
def _jobs(
    context: typer.Context, warehouse: WarehouseOption = None, as_json: JsonOption = False
) -> None:
    """List, show, cancel and resume jobs."""
    hand_down(context, warehouse=warehouse, as_json=as_json)
    if context.invoked_subcommand is None:
        list_jobs(warehouse=warehouse, as_json=as_json)


@jobs.command("list")
def list_jobs(
    table: Annotated[
        str | None, typer.Option("--table", "-t", help="Jobs on this table only.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Jobs to list.")] = 50,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """List jobs, newest first, and tell whether a worker runs."""
    services = open_services(warehouse)
    found, worker = services.jobs(limit=limit, table=table), services.worker()
    if as_json:
        print_json({"worker": worker, "jobs": found})
        return
    print_line(_worker_text(worker))
    print_rows(
        ("job", "state", "what", "table", "by", "created", "message"),
        (
            (job.id, str(job.state), job.name, job.table, job.actor, _created(job), job.message)
            for job in found
        ),
    )


@jobs.command("show")
def show_job(
    job_id: JobArgument,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a job with its steps."""
    print_job(open_services(warehouse).job(job_id), as_json=as_json)


@jobs.command("cancel")
def cancel_job(
    job_id: JobArgument,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Cancel a job that has not begun to publish; its target stays as it was."""
    print_job(open_services(warehouse).cancel_job(job_id), as_json=as_json)


@jobs.command("resume")
def resume_job(
    job_id: JobArgument,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a cancelled, failed or interrupted job go on from its last finished step."""
    services = open_services(warehouse)
    job = services.resume_job(job_id)
    services.start_worker()
    print_job(job, as_json=as_json)


def print_job(job: JobView, *, as_json: bool) -> None:
    """Print a job with its steps."""
    if as_json:
        print_json(job)
        return
    print_fields(
        {
            "job": job.id,
            "state": str(job.state),
            "message": job.message,
            "code": str(job.error) if job.error else None,
            "target": str(job.target_is),
            "statement": job.statement,
            "by": job.actor,
            "created": _created(job),
            "finished": local_time(job.finished_millis),
            "receipt": job.receipt_id,
        }
    )
    if job.steps:
        print_line()
        print_rows(
            ("step", ">seconds", "error"),
            (
                (step.name, _seconds(step.started_millis, step.finished_millis), step.error or "")
                for step in job.steps
            ),
        )


def finish_job(services: Services, procedure: str, arguments: Mapping[str, Argument]) -> JobView:
    """Start a job whose result is all that is wanted of it, and wait until it is done.

    Whoever stops waiting, by Ctrl-C, cancels it.

    Raises:
        PaimonError: The job was refused, failed or was cancelled.
    """
    job_id = services.start(procedure, arguments)
    try:
        job = follow_job(services, job_id)
    except KeyboardInterrupt:
        # It may be over by now, or its store gone; the command ends either way.
        with suppress(PaimonError):
            services.cancel_job(job_id)
        raise
    if job.state is not JobState.DONE:
        raise job.failure()
    return job


def find_by_job(
    services: Services,
    procedure: str,
    identifier: Identifier,
    diff: StateDiff,
    find: Callable[[Identifier, StateDiff], _Found | None],
    *,
    lost: str,
) -> _Found:
    """Have a worker find what is kept about two states, and return it.

    Args:
        services: The services of the warehouse in which the job runs.
        procedure: It takes a table and two states, `a` and `b`.
        identifier: The table.
        diff: The states.
        find: Looks up what is kept of them.
        lost: The message if it is gone already.

    Raises:
        PaimonError: The job was refused, failed or was cancelled, or what it found is gone.
    """
    sides = {"a": str(diff.before.pinned), "b": str(diff.after.pinned)}
    finish_job(services, procedure, {"table": identifier.table_name, **sides})
    found = find(identifier, diff)
    if found is None:
        raise NotFound(lost, kind=ErrorKind.FILE_NOT_FOUND)
    return found


def follow_job(services: Services, job_id: str) -> JobView:
    """Show the progress of a job until it is over.

    Raises:
        StorageError: No worker comes up to run it.
    """
    last_alive = time.monotonic()
    with progress() as tell:
        while True:
            job = services.job(job_id)
            if job.state.is_over:
                return job
            waits = job.error is ErrorKind.NO_WORKER
            tell("Starting a worker." if waits else job.message, job.done, job.total)
            if job.state not in (JobState.QUEUED, JobState.INTERRUPTED) or _is_alive(services):
                last_alive = time.monotonic()
            elif time.monotonic() - last_alive > _PATIENCE_SECONDS:
                raise _no_worker(services, job)
            if waits:
                _have_worker(services, job)
            time.sleep(_POLL_SECONDS)


def _have_worker(services: Services, job: JobView) -> None:
    """Start a worker for a job that waits for one, as the last one may have ended since.

    Raises:
        StorageError: One runs that takes its jobs from another store, and keeps others away.
    """
    worker = services.worker()
    if worker is not None and worker.serves_other_store:
        raise StorageError(job.message, kind=ErrorKind.NO_WORKER, job=job.id)
    services.start_worker()


def _is_alive(services: Services) -> bool:
    worker = services.worker()
    return worker is not None and worker.is_alive


def _no_worker(services: Services, job: JobView) -> StorageError:
    return StorageError(
        f"Job {job.id} waits, and no worker has reported for {_PATIENCE_SECONDS:.0f} seconds. "
        f"Look at {services.job_settings.log_path}, then start one: branch-console worker.",
        kind=ErrorKind.NO_WORKER,
        job=job.id,
    )


def _worker_text(worker: WorkerView | None) -> str:
    if worker is None:
        return "No worker has run yet. One starts with the console or the next job."
    if not worker.is_alive:
        # A worker that was stopped, and not killed, takes its last sign of life back.
        if not worker.heartbeat_millis:
            return "No worker runs. One starts with the console or the next job."
        return f"No worker runs; the last one reported at {local_time(worker.heartbeat_millis)}."
    if worker.other_store:
        return (
            f"Worker {worker.process_id} on {worker.host} takes its jobs from another job store, "
            f"{name_in(worker.other_store)}; it runs none of these."
        )
    work = f"runs job {worker.job}" if worker.job else "waits for jobs"
    return f"Worker {worker.process_id} on {worker.host} {work}; Spark is {worker.spark}."


def _created(job: JobView) -> str:
    return local_time(job.created_millis)


def _seconds(started: int | None, finished: int | None) -> str | None:
    if started is None or finished is None:
        return None
    return f"{(finished - started) / 1000:,.1f}"
