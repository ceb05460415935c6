"""Running a procedure: what is looked at and staged first, then one stage that changes something.

A dry run is the same way, up to that stage: what it staged is kept, and published as it is by the
run that finds nothing moved.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Generic

from branch_console.diff.history_move import count
from branch_console.errors import CommitConflict, ErrorKind, PaimonError, Refused
from branch_console.format.journals.merge import MergeJournal
from branch_console.format.journals.terms import OperationJournal
from branch_console.format.journals.written import NOTHING_WRITTEN, WrittenRows
from branch_console.format.receipt import Receipt
from branch_console.operations.agreement import Agreement
from branch_console.procedures.call.call import AGAIN, ProcedureCall
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.stages import Facts, Stages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.agreed_choices import (
    DECISIONS,
    AgreedChoices,
    choices_now,
    plan_again,
)
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.planned_heads import HEADS, PlannedHeads
from branch_console.procedures.run.prepare import (
    AgreedConflicts,
    Preparation,
    Prepared,
    ProcedureRun,
)
from branch_console.procedures.run.procedure import (
    P,
    Procedure,
    check_rows,
    find_operation,
    finish_procedure,
    plan_checked,
)
from branch_console.procedures.run.quality_gate import gate_journal
from branch_console.procedures.run.receipts import number_of, receipt_without_change, texts_of
from branch_console.procedures.run.written_rows import (
    hand_over_staged_rows,
    rows_of_journal,
    take_staged_rows,
)

MOST_PLANS: Final = 3
"""How often a run plans again where heads move, unless the call says how long."""

_MOVED: Final = (ErrorKind.HEAD_MOVED, ErrorKind.COMMIT_CONFLICT)


def run_procedure(
    procedure: Procedure[P, Any],
    warehouse: Warehouse,
    rows: RowEngine,
    call: ProcedureCall,
    stages: Stages,
    *,
    is_dry: bool = False,
) -> Receipt:
    """Run a procedure to its receipt; a call that ran before returns the receipt of then.

    Args:
        procedure: The procedure.
        warehouse: The warehouse of the table.
        rows: Looks at rows and writes them.
        call: Its arguments; of a dry run under any name.
        stages: Runs the stages.
        is_dry: Do all that comes before anything is published, and keep what was staged.

    Raises:
        NotAllowed: The role does not reach, or the store is not safe to write.
        Refused: Something stands in the way, or the heads are not those of the preview.
        CommitConflict: Another writer came in between; nothing of it is lost.
    """
    given = ProcedureRun(
        procedure=procedure,
        warehouse=warehouse,
        rows=rows,
        call=replace(call, name=procedure.name),
        stages=stages,
        is_dry=is_dry,
    )
    run = _Runner(given)
    try:
        if is_dry:
            return run.try_out(call)
        wait = call.agreement.wait_millis
        if procedure.decisions is not None and call.agreement.plan_again:
            return run.publish_planning_again(procedure.decisions, wait)
        if wait is not None:
            return run.publish_within(wait)
        return run.publish(call.agreement.plan_id)
    except BaseException:
        run.release()
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class _Patience:
    """Since when a run tries, and for how long; in milliseconds."""

    began: int
    wait: int

    def check(self, now: int, tries: int, stopped: Refused | CommitConflict) -> None:
        """Raise Refused with what stopped the last try once the time is over."""
        if now - self.began >= self.wait:
            how = f"It was tried {count(tries, 'time')} in {self.wait / 1000:g} s."
            raise _tried(stopped, how) from stopped


class _Runner(Generic[P]):
    """Takes one run of a procedure through its stages."""

    def __init__(self, run: ProcedureRun[P]) -> None:
        self._run = run
        self._notes: list[str] = []
        self._staging: Preparation[P] | None = None

    def release(self) -> None:
        """Leave what was written to recovery, if nothing publishes it."""
        if self._staging is not None:
            self._staging.release()

    def try_out(self, asked: ProcedureCall) -> Receipt:
        """Run the stages that change nothing, keep their result, and report it."""
        started = self._run.warehouse.clock()
        staging = self._begin(asked.agreement.plan_id)
        staged = staging.run()
        notes = staged.notes
        if staged.receipt is not None:
            notes = staged.receipt.notes
        elif staged.written != NOTHING_WRITTEN or staged.judged is not None:
            kept = self._run.stages.run(
                "keep the result",
                lambda _: staging.keep(staged),
                message="Keeping what was staged, for a merge to publish.",
            )
            notes = (*notes, *texts_of(kept, "notes"))
        return receipt_without_change(
            asked,
            staged.plan_id or asked.operation_id,
            (*notes, "No branch was changed."),
            started_millis=started,
            finished_millis=self._run.warehouse.clock(),
        )

    def publish(self, agreed: str | None, decided: AgreedConflicts | None = None) -> Receipt:
        """Run all stages once."""
        staging = self._begin(agreed, decided)
        staged = staging.run()
        if staged.receipt is not None:
            return staged.receipt
        if staged.heads is not None:
            # What was staged is published as it was planned, wherever the branches are by then.
            self._keep_to(staged.heads)
        facts = self._run.stages.run(
            self._run.procedure.stage or self._run.procedure.name.replace("_", " "),
            lambda progress: self._carry_out(staging, staged, progress),
            message=self._run.procedure.doing,
            publishes=True,
        )
        return Receipt.from_json(str(facts["receipt"]))

    def publish_within(self, wait: int) -> Receipt:
        """Run all stages; stage and publish again each time that others commit first.

        What does not hold on the head any more is not tried again: nobody let this plan again.
        """
        patience, tries = self._patience(wait), 0
        while True:
            try:
                return self.publish(self._run.call.agreement.plan_id)
            except CommitConflict as error:
                if not _lost_all_tries(error):
                    raise
                lost = error
            tries += 1
            self._run.stages.run(
                "try again",
                partial(self._try_again, patience, tries, lost),
                message="Others were faster: trying again.",
            )
            self._take_another_id(tries)

    def publish_planning_again(
        self,
        decisions: Callable[[Warehouse, ProcedureCall], AgreedChoices],
        wait: int | None,
    ) -> Receipt:
        """Run all stages, again if a head moved and the decisions still apply."""
        patience = None if wait is None else self._patience(wait)
        text = self._run.call.agreement.decisions
        decided = self._decided(decisions) if text is None else AgreedChoices.from_text(text)
        rows = AgreedConflicts(decided=decided.rows)
        agreed, plans = decided.plan_id, 0
        if decided.source_id is not None:
            seen = PlannedHeads(source_id=decided.source_id, target_id=decided.target_id)
            self._keep_to(seen.to_text())
        while True:
            try:
                return self.publish(agreed, rows)
            except (Refused, CommitConflict) as error:
                if error.kind not in _MOVED:
                    raise
                if wait is None and plans == MOST_PLANS:
                    raise _tried(error, f"It was planned again {plans} times already.") from error
                moved = error
            plans += 1
            found = self._run.stages.run(
                "plan again",
                partial(self._plan_again, patience, plans, moved, decided, decisions),
                message="A branch moved: planning again.",
            )
            agreed = str(found["plan_id"])
            self._notes.append(str(found["note"]))
            rows.moved = self._notes[-1]
            if HEADS in found:
                self._keep_to(str(found[HEADS]))
            if isinstance(moved, CommitConflict):
                self._take_another_id(plans)

    def _patience(self, wait: int) -> "_Patience":
        facts = self._run.stages.run(
            "begin",
            lambda _: {"began": self._run.warehouse.clock()},
            message="Looking at the clock.",
        )
        return _Patience(began=number_of(facts, "began"), wait=wait)

    def _try_again(
        self, patience: "_Patience", tries: int, stopped: Refused | CommitConflict, _: Progress
    ) -> Facts:
        patience.check(self._run.warehouse.clock(), tries, stopped)
        return {}

    def _plan_again(
        self,
        patience: "_Patience | None",
        tries: int,
        stopped: Refused | CommitConflict,
        decided: AgreedChoices,
        decisions: Callable[[Warehouse, ProcedureCall], AgreedChoices],
        _: Progress,
    ) -> Facts:
        if patience is not None:
            patience.check(self._run.warehouse.clock(), tries, stopped)
        return plan_again(self._run.warehouse, self._run.call, decided, decisions)

    def _keep_to(self, heads: str) -> None:
        self._run = replace(self._run, call=self._run.call.agreeing(Agreement(heads=heads)))

    def _take_another_id(self, number: int) -> None:
        # An operation that was taken back is over: this is another one of the same job.
        first, _, _ = self._run.call.operation_id.partition(AGAIN)
        call = replace(self._run.call, operation_id=f"{first}{AGAIN}{number}")
        self._run = replace(self._run, call=call)

    def _begin(self, agreed: str | None, decided: AgreedConflicts | None = None) -> Preparation[P]:
        self._staging = Preparation(self._run, agreed, decided)
        return self._staging

    def _decided(
        self, decisions: Callable[[Warehouse, ProcedureCall], AgreedChoices]
    ) -> AgreedChoices:
        """Return the decisions of the call, or the current ones if the call has none."""
        facts = self._run.stages.run(
            "plan",
            lambda _: {
                DECISIONS: choices_now(self._run.warehouse, self._run.call, decisions).to_text()
            },
            message="Looking at what there is.",
        )
        return AgreedChoices.from_text(str(facts[DECISIONS]))

    def _carry_out(self, staging: Preparation[P], staged: Prepared, progress: Progress) -> Facts:
        try:
            receipt = self._finish(staging, staged, progress)
        except PaimonError:
            staging.forget(staged)
            raise
        staging.forget(staged)
        return {"receipt": receipt.to_json()}

    def _finish(self, staging: Preparation[P], staged: Prepared, progress: Progress) -> Receipt:
        warehouse, call = self._run.warehouse, self._run.call
        warehouse.check_writable()
        known = staging.planned
        table = None if known is None else known.table
        with warehouse.deciding(table) as deciding:
            begun = find_operation(deciding, call, table)
            found = (
                self._plan_to_run(deciding, staging, staged)
                if begun is None
                # It is carried out on what there is then.
                else replace(begun, warehouse=warehouse)
            )
        if isinstance(found, tuple):
            planned, journal = found
            if planned.earlier_receipt is not None:
                return planned.earlier_receipt
            found = self._begun(planned, journal, staged)
        if staged.written != NOTHING_WRITTEN:
            rows = rows_of_journal(found.read(self._run.procedure.codec))
            target = found.table.on_listed(found.intent.branch)
            hand_over_staged_rows(warehouse, call, target, staged.written, rows)
        return finish_procedure(self._run.procedure, replace(found, progress=progress))

    def _plan_to_run(
        self, deciding: Warehouse, staging: Preparation[P], staged: Prepared
    ) -> tuple[P, OperationJournal]:
        """Decide once more; a plan with its journal. What is refused leaves no rows behind."""
        call = self._run.call
        try:
            planned = plan_checked(
                self._run.procedure, deciding, call, staged.plan_id, staging.planned
            )
            check_rows(planned, staged.written)
            journal = planned.journal
            if self._run.procedure.gate is not None and planned.earlier_receipt is None:
                plan_id = planned.preview.plan_id
                journal = gate_journal(call, plan_id, journal, staged.judged, planned.rules)
        except PaimonError:
            staging.discard(staged.written)
            raise
        return planned, journal

    def _begun(self, planned: P, journal: OperationJournal, staged: Prepared) -> Operation:
        """Note what was decided and staged, so that recovery may finish it."""
        warehouse, call = self._run.warehouse, self._run.call
        take_staged_rows(warehouse, call, planned.table, staged.written)
        return Operation.begin(
            warehouse,
            planned.table,
            call,
            branch=planned.branch,
            codec=self._run.procedure.codec,
            journal=replace(
                _with_rows(journal, staged.written),
                files_verified=staged.files_verified,
                notes=(*journal.notes, *self._notes),
            ),
        )


def _with_rows(journal: OperationJournal, written: WrittenRows) -> OperationJournal:
    """Return a journal with the rows that were written for it."""
    if written == NOTHING_WRITTEN or not isinstance(journal, MergeJournal):
        return journal
    return replace(journal, row_messages=written.row_messages, row_notes=written.row_notes)


def _lost_all_tries(error: CommitConflict) -> bool:
    """Whether others were faster each time, so that the same commit may land yet."""
    return error.kind is ErrorKind.COMMIT_CONFLICT and "rule" not in error.facts


def _tried(error: Refused | CommitConflict, how: str) -> Refused:
    return Refused(f"{error.message} {how}", kind=error.kind)
