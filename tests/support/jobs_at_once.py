"""Jobs that run in this process as soon as somebody starts them, in place of a worker's."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from branch_console.errors import PaimonError
from branch_console.jobs.progress import JobState, JobView
from branch_console.jobs.warm_rows import WarmRows
from branch_console.procedures.call.call import Argument
from branch_console.procedures.call.row_engine import RowEngine
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.kept_receipts import is_recorded
from branch_console.spark.session.session import WarmSession
from branch_console_app.services import Services, new_operation_id
from tests.support.command_line import CommandLine


def run_jobs_at_once(
    monkeypatch: pytest.MonkeyPatch,
    warehouse: Callable[[], Warehouse],
    rows: Callable[[Services], RowEngine],
) -> None:
    """Let jobs run when they are started.

    Args:
        monkeypatch: Of the test.
        warehouse: Opens the warehouse of the jobs.
        rows: Returns the engine of the jobs of somebody.
    """
    jobs: dict[str, JobView] = {}

    def start(
        services: Services,
        name: str,
        arguments: Mapping[str, Argument],
        operation_id: str | None = None,
    ) -> str:
        call = services.call(name, arguments, operation_id or new_operation_id())
        opened = warehouse()
        state, message, error, receipt_id = JobState.DONE, "", None, None
        error_class, now = None, time.time_ns() // 1_000_000
        try:
            receipt = run_call(opened, rows(services), call, InlineStages())
            message = " ".join(receipt.notes)
            # As a worker has it: what changed nothing left no receipt to be read later.
            if is_recorded(opened, call, receipt):
                receipt_id = receipt.operation_id
        except PaimonError as caught:
            state, message, error = JobState.REFUSED, caught.message, caught.kind
            error_class = type(caught).__name__
        jobs[call.operation_id] = JobView(
            id=call.operation_id,
            name=name,
            statement=call.statement,
            actor=call.actor,
            table=call.find_table or "",
            state=state,
            step="",
            message=message,
            error=error,
            error_class=error_class,
            done=0,
            total=None,
            created_millis=now,
            started_millis=now,
            finished_millis=now,
            receipt_id=receipt_id,
        )
        return call.operation_id

    def job(services: Services, job_id: str) -> JobView:
        return jobs[job_id] if job_id in jobs else services.jobs_of_warehouse.get(job_id)

    monkeypatch.setattr(Services, "start", start)
    monkeypatch.setattr(Services, "job", job)


def rows_in(session: Callable[[], WarmSession]) -> Callable[[Services], RowEngine]:
    """Return what makes the engine of somebody's jobs, which reads and writes rows in a session."""

    class RowsOfSession(WarmRows):
        def _open(self) -> WarmSession:
            return session()

    return lambda services: RowsOfSession(services.job_settings, services.warehouse.file_io)


def operate(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    session: Callable[[], WarmSession],
) -> CommandLine:
    """Return the command line of an operator of a warehouse, whose jobs run at once.

    Args:
        folder: The warehouse. State and cache are kept beside it, for the test alone.
        monkeypatch: Of the test.
        capsys: Of the test.
        session: Returns the session that reads and writes rows.
    """
    for setting in ("state", "cache"):
        monkeypatch.setenv(f"BRANCH_CONSOLE_{setting.upper()}_DIR", str(folder.parent / setting))
    monkeypatch.setenv("BRANCH_CONSOLE_ROLE", "operator")
    monkeypatch.setenv("COLUMNS", "400")
    run_jobs_at_once(monkeypatch, lambda: Warehouse.open(str(folder)), rows_in(session))
    return CommandLine(folder, capsys)
