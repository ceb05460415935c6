"""Running a ProcedureCall durably: each stage is a step whose result survives the process.

A killed worker leaves its workflow pending; the next one runs it again from the last finished
stage. Stages are idempotent, so the one that was cut off may be repeated.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from dbos import DBOS

from branch_console import errors
from branch_console.errors import ErrorKind, PaimonError, error_of
from branch_console.format.receipt import Receipt
from branch_console.jobs.client import STAGE, WORKFLOW
from branch_console.jobs.progress import JobState, TargetMove
from branch_console.jobs.target_moves import (
    keeps_journal,
    target_after_failure,
    target_when_done,
    writes_in_any_stage,
)
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.stages import Facts
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.kept_receipts import is_recorded

_log = logging.getLogger(__name__)

# What refuses a call leaves everything as it was; what fails may have been in the middle.
_REFUSALS: Final = (
    errors.Refused,
    errors.NotAllowed,
    errors.InvalidInput,
    errors.NotFound,
    errors.AlreadyExists,
    errors.CommitConflict,
)
_MAX_STARTS: Final = 20


class StageStopped(BaseException):
    """The running stage was stopped from outside: no result, so that it is run again."""


class JobContext:
    """The objects that workflows of this process use, and the progress for the heartbeat.

    Attributes:
        job, step, done, total: The running job and step, and its progress in units.
    """

    def __init__(self, warehouse: Warehouse, rows: RowEngine, clock: Callable[[], int]) -> None:
        self.warehouse = warehouse
        self.rows = rows
        self.clock = clock
        self.job: str | None = None
        self.step = ""
        self.done = 0
        self.total: int | None = None

    def progress(self, done: int, total: int | None) -> None:
        """Note how far the running stage is."""
        self.done, self.total = done, total


class DurableStages:
    """Runs stages as steps of the workflow that called.

    Attributes:
        last: The stage that ran last.
        target_is: Whether the stages so far changed the target; not known from the beginning of one
            that publishes to its end.
        has_ended_one: Whether a stage that may change the target has ended.
    """

    def __init__(self, context: JobContext, call: ProcedureCall) -> None:
        self._context = context
        self._writes_in_any = writes_in_any_stage(call)
        self._recovers = keeps_journal(call)
        self.has_ended_one = False
        self.last = ""
        self.target_is = TargetMove.UNCHANGED

    def run(
        self,
        name: str,
        work: Callable[[Progress], Facts],
        *,
        message: str,
        publishes: bool = False,
    ) -> Facts:
        """Run a stage, or return what it left when it finished before."""
        state = JobState.PUBLISHING if publishes else JobState.RUNNING
        context = self._context
        self.last = context.step = name
        context.progress(0, None)
        if publishes or self._writes_in_any:
            self.target_is = TargetMove.UNKNOWN
        stage = {
            "step": name,
            "state": str(state),
            "message": message,
            "target_is": str(self.target_is),
            "recovers": self._recovers,
        }
        # A cancelled workflow raises here: up to this line a cancel changes nothing.
        DBOS.set_event(STAGE, stage)
        result: Mapping[str, Any] = DBOS.run_step({"name": name}, _step, work, context.progress)
        if "error" in result:
            raise _error_from(result["error"])
        self.has_ended_one |= publishes or self._writes_in_any
        if publishes:
            self.target_is = TargetMove.MOVED
        value: Facts = result["value"]
        return value


def register_workflow(context: JobContext) -> None:
    """Tell DBOS how a call is run; before it is launched."""

    @DBOS.workflow(name=WORKFLOW, max_recovery_attempts=_MAX_STARTS)
    def run(call_json: str) -> dict[str, object]:
        call = ProcedureCall.from_json(call_json)
        context.job = call.operation_id
        started = context.clock()
        stages = DurableStages(context, call)
        try:
            receipt = run_call(context.warehouse, context.rows, call, stages)
            is_kept = is_recorded(context.warehouse, call, receipt)
            target_is = target_when_done(call, stages.target_is, is_kept=is_kept)
            outcome = _done(receipt, target_is, is_kept=is_kept)
        except PaimonError as error:
            target_is = _target_at_end(context.warehouse, call, stages, error)
            outcome = _ended(error, target_is)
        finally:
            context.job, context.step = None, ""
        return {
            **outcome,
            "recovers": keeps_journal(call),
            "step": stages.last,
            "started_millis": started,
            "finished_millis": context.clock(),
        }


def _step(work: Callable[[Progress], Facts], progress: Progress) -> dict[str, object]:
    """Run the work of a stage; errors of ours are results, so that a replay tells them again."""
    try:
        return {"value": dict(work(progress))}
    except PaimonError as error:
        if error.kind is ErrorKind.CANCELLED:
            raise StageStopped from error
        _log.info("stage ended with %s: %s", error.kind, error.message)
        return {"error": _error_object(error)}


def _target_at_end(
    warehouse: Warehouse, call: ProcedureCall, stages: DurableStages, error: PaimonError
) -> TargetMove:
    """Say whether a job that an error ended changed its target."""
    if stages.target_is is not TargetMove.UNKNOWN:
        return stages.target_is
    found = target_after_failure(warehouse, call, error)
    if found is not None:
        return found
    # A refusal is of its own stage: what stages before it changed it does not take back.
    is_unchanged = isinstance(error, _REFUSALS) and not stages.has_ended_one
    return TargetMove.UNCHANGED if is_unchanged else TargetMove.UNKNOWN


def _done(receipt: Receipt, target: TargetMove, *, is_kept: bool) -> dict[str, object]:
    moves = [
        f"{move.branch!r} is at snapshot {move.after_id}."
        for move in receipt.moves
        if move.after_id is not None
    ]
    return {
        "state": str(JobState.DONE),
        "message": " ".join([*moves, *receipt.notes]),
        "target_is": str(target),
        # What changed nothing left no event, and so no receipt to read later.
        "receipt_id": receipt.operation_id if is_kept else None,
    }


def _ended(error: PaimonError, target: TargetMove) -> dict[str, object]:
    state = JobState.REFUSED if isinstance(error, _REFUSALS) else JobState.FAILED
    return {
        "state": str(state),
        "error": str(error.kind),
        "error_class": type(error).__name__,
        "error_facts": _plain(error.facts),
        "message": error.message,
        "target_is": str(target),
    }


def _error_object(error: PaimonError) -> dict[str, object]:
    return {
        "class": type(error).__name__,
        "kind": str(error.kind),
        "message": error.message,
        "facts": _plain(error.facts),
    }


def _error_from(stored: Mapping[str, Any]) -> PaimonError:
    # Steps of an earlier release kept no facts.
    facts = stored.get("facts", {})
    return error_of(str(stored["class"]), stored["message"], ErrorKind(stored["kind"]), **facts)


def _plain(fact: Any) -> Any:
    """The facts of an error as JSON has them: what is no value of JSON is its text."""
    match fact:
        case None | bool() | int() | str():
            return fact
        case Mapping():
            return {str(name): _plain(part) for name, part in fact.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(part) for part in fact]
    return str(fact)
