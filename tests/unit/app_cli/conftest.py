from collections.abc import Mapping
from pathlib import Path

import pytest

from app.services import Services, new_operation_id
from core.errors import PaimonError
from core.jobs.progress import JobState, JobView
from core.procedures.browse_receipts import is_recorded
from core.procedures.call import Argument
from core.procedures.registry import run_call
from core.procedures.stages import InlineStages
from tests.support.branch_bench import BranchBench, TrustingRows
from tests.support.command_line import CommandLine


@pytest.fixture
def console(
    bench: BranchBench,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> CommandLine:
    """The program on the bench of a test; jobs run at once, in this process."""
    monkeypatch.setenv("BRANCH_CONSOLE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("BRANCH_CONSOLE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("BRANCH_CONSOLE_ROLE", "operator")
    jobs: dict[str, JobView] = {}

    def start(
        services: Services,
        name: str,
        arguments: Mapping[str, Argument],
        operation_id: str | None = None,
    ) -> str:
        call = services.call(name, arguments, operation_id or new_operation_id())
        warehouse = bench.warehouse()
        state, message, error, receipt_id = JobState.DONE, "", None, None
        error_class = None
        try:
            receipt = run_call(warehouse, TrustingRows(), call, InlineStages())
            message = " ".join(receipt.notes)
            # As a worker has it: what changed nothing left no receipt to be read later.
            if is_recorded(warehouse, call, receipt):
                receipt_id = receipt.operation_id
        except PaimonError as caught:
            state, message, error = JobState.REFUSED, caught.message, caught.kind
            error_class = type(caught).__name__
        jobs[call.operation_id] = JobView(
            id=call.operation_id,
            name=name,
            statement=call.statement,
            actor=call.actor,
            table="db.t",
            state=state,
            step="",
            message=message,
            error=error,
            error_class=error_class,
            done=0,
            total=None,
            created_millis=0,
            started_millis=0,
            finished_millis=0,
            receipt_id=receipt_id,
        )
        return call.operation_id

    monkeypatch.setattr(Services, "start", start)

    def job(services: Services, job_id: str) -> JobView:
        return jobs[job_id] if job_id in jobs else services.jobs_of_warehouse.get(job_id)

    monkeypatch.setattr(Services, "job", job)
    return CommandLine(tmp_path / "warehouse", capsys)
