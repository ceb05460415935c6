"""Running a verb: what is looked at and staged first, then one stage that changes something.

A dry run is the same way, up to that stage: what it staged is kept, and published as it is by the
run that finds nothing moved.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from core.diff.history_move import count
from core.errors import CommitConflict, ErrorKind, PaimonError, Refused
from core.format.receipt import Receipt
from core.procedures.call import AGAIN, ProcedureCall
from core.procedures.decisions import (
    DECISIONS,
    PLAN_AGAIN,
    Decisions,
    look_first,
    plan_again,
    rows_of_plan,
)
from core.procedures.kept_results import (
    AS_GOOD,
    find_result,
    forget_result,
    has_result,
    keep_result,
    rows_staged,
    take_result,
)
from core.procedures.operation import Operation
from core.procedures.quality_gate import (
    MESSAGE,
    STAGE,
    gate_journal,
    judge_result,
    rules_digest,
)
from core.procedures.records import number_of, receipt_without_change, texts_of
from core.procedures.row_engine import Progress, RowEngine
from core.procedures.stages import Facts, Stages
from core.procedures.staging import (
    STAGED,
    forget_staged_rows,
    hand_over_staged_rows,
    let_go_staged_rows,
    take_staged_rows,
)
from core.procedures.verb import Verb, check_rows, find_begun, finish_verb, plan_to_run
from core.procedures.verify_files import verify
from core.procedures.warehouse import Warehouse

MOST_PLANS: Final = 3
"""How often a run plans again where heads move."""

_MOVED: Final = (ErrorKind.HEAD_MOVED, ErrorKind.COMMIT_CONFLICT)
_CONFLICTS: Final = "conflicts"


def run_verb(
    verb: Verb,
    warehouse: Warehouse,
    rows: RowEngine,
    call: ProcedureCall,
    stages: Stages,
    *,
    is_dry: bool = False,
) -> Receipt:
    """Run a verb to its receipt; a call that ran before returns the receipt of then.

    Args:
        verb: What is done.
        warehouse: Where the table lies.
        rows: Looks at rows and writes them.
        call: Its arguments; of a dry run under any name.
        stages: Runs the stages.
        is_dry: Do all that comes before anything is published, and keep what was staged.

    Raises:
        NotAllowed: The role does not reach, or the store is not safe to write.
        Refused: Something stands in the way, or the heads are not those of the preview.
        CommitConflict: Another writer came in between; nothing of it is lost.
    """
    run = _Run(verb, warehouse, rows, replace(call, name=verb.name), stages, is_dry=is_dry)
    try:
        if is_dry:
            return run.try_out(call)
        if verb.decisions is not None and call.flag(PLAN_AGAIN):
            return run.publish_planning_again(verb.decisions)
        return run.publish()
    except BaseException:
        run.let_go()
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class _Staged:
    """What there is before anything is published.

    Attributes:
        plan_id: Of the plan that was agreed to, or found; None where nobody looked.
        notes: What a dry run tells.
        is_taken: Whether a dry run had staged it.
        receipt: Where nothing is left to be done.
    """

    plan_id: str | None
    files_verified: int = 0
    written: Facts = field(default_factory=dict)
    judged: Facts = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    is_taken: bool = False
    receipt: Receipt | None = None


class _Run:
    """One run of a verb."""

    def __init__(
        self,
        verb: Verb,
        warehouse: Warehouse,
        rows: RowEngine,
        call: ProcedureCall,
        stages: Stages,
        *,
        is_dry: bool,
    ) -> None:
        self._verb = verb
        self._warehouse = warehouse
        self._rows = rows
        self._call = call
        self._stages = stages
        self._is_dry = is_dry
        self._agreed = call.find_text("plan_id")
        self._notes: list[str] = []
        self._written: Facts = {}
        # Where a run may plan again: the conflicts of rows that were decided on.
        self._decided_rows: str | None = None

    def let_go(self) -> None:
        """Leave what was written to recovery, where nothing publishes it."""
        let_go_staged_rows(self._warehouse, self._call, self._written)

    def publish(self) -> Receipt:
        """Run all stages once."""
        staged = self._stage()
        if staged.receipt is not None:
            return staged.receipt
        facts = self._stages.run(
            self._verb.name.replace("_", " "),
            lambda _: self._carry_out(staged),
            message=self._verb.doing,
            publishes=True,
        )
        return Receipt.from_json(str(facts["receipt"]))

    def publish_planning_again(
        self, decisions: Callable[[Warehouse, ProcedureCall], Decisions]
    ) -> Receipt:
        """Run all stages, anew where a head moved and what was decided still stands."""
        text = self._call.find_text(DECISIONS)
        decided = self._decided(decisions) if text is None else Decisions.from_text(text)
        self._agreed, self._decided_rows = decided.plan_id, decided.rows
        asked, plans = self._call, 0
        while True:
            try:
                return self.publish()
            except (Refused, CommitConflict) as error:
                if error.kind not in _MOVED:
                    raise
                if plans == MOST_PLANS:
                    raise Refused(
                        f"{error.message} It was planned again {plans} times already.",
                        kind=error.kind,
                    ) from error
                began = isinstance(error, CommitConflict)
            plans += 1
            again = self._stages.run(
                "plan again",
                lambda _: plan_again(self._warehouse, self._call, decided, decisions),
                message="A branch moved: planning again.",
            )
            self._agreed = str(again["plan_id"])
            self._notes.append(str(again["note"]))
            if began:
                # An operation that was taken back is over: this is another one of the same job.
                self._call = replace(asked, operation_id=f"{asked.operation_id}{AGAIN}{plans}")

    def _decided(self, decisions: Callable[[Warehouse, ProcedureCall], Decisions]) -> Decisions:
        """What is decided on where the call does not say so: what there is now."""
        facts = self._stages.run(
            "plan",
            lambda _: {DECISIONS: look_first(self._warehouse, self._call, decisions).to_text()},
            message="Looking at what there is.",
        )
        return Decisions.from_text(str(facts[DECISIONS]))

    def try_out(self, asked: ProcedureCall) -> Receipt:
        """Run the stages that change nothing, keep what they staged, and tell what there was."""
        started = self._warehouse.clock()
        staged = self._stage()
        notes = staged.notes
        if staged.receipt is not None:
            notes = staged.receipt.notes
        elif staged.written or staged.judged:
            kept = self._stages.run(
                "keep the result",
                lambda _: self._keep(staged),
                message="Keeping what was staged, for a merge to publish.",
            )
            notes = (*notes, *texts_of(kept, "notes"))
        return receipt_without_change(
            asked,
            staged.plan_id or asked.operation_id,
            (*notes, "No branch was changed."),
            started_millis=started,
            finished_millis=self._warehouse.clock(),
        )

    def _stage(self) -> _Staged:
        """Decide, look at what would come, and stage what is to be published."""
        if self._verb.arriving is None:
            return _Staged(plan_id=self._agreed)
        checked = self._stages.run(
            "check heads", lambda _: self._check(), message="Looking at what there is."
        )
        if "receipt" in checked:
            receipt = Receipt.from_json(str(checked["receipt"]))
            return _Staged(plan_id=receipt.plan_id, receipt=receipt)
        if "plan_id" not in checked:
            return _Staged(plan_id=self._agreed)
        plan_id, kept = str(checked["plan_id"]), self._staged_before(checked)
        found = self._stages.run(
            "verify files",
            self._verify,
            message="Checking that the data files which arrive are there and whole.",
        )
        written = kept.get("written")
        if not isinstance(written, dict):
            written = self._compare_rows(plan_id)
        self._written = written
        judged = self._judged(plan_id, written, kept.get("judged"), checked.get("rules"))
        files = number_of(found, "files")
        return _Staged(
            plan_id=plan_id,
            files_verified=files,
            written=written,
            judged=judged,
            notes=(
                *texts_of(checked, "notes"),
                f"{count(files, 'data file')} would come, and each is there and whole.",
                *texts_of(written, "rowNotes"),
                rows_staged(written) or "No row had to be written.",
                *texts_of(judged, "notes"),
            ),
            is_taken=bool(kept) and not self._is_dry,
        )

    def _check(self) -> Facts:
        """Decide, and tell by which plan the rest goes; nothing where the operation has begun."""
        warehouse, call = self._warehouse, self._call
        warehouse.check_writable()
        if find_begun(warehouse, call) is not None:
            return {}
        planned = plan_to_run(self._verb, warehouse, call, self._agreed)
        if planned.already is not None:
            return {"receipt": planned.already.to_json()}
        plan_id = planned.preview.plan_id
        facts: dict[str, object] = {"plan_id": plan_id}
        digest = None if self._verb.gate is None else rules_digest(warehouse, call)
        if digest is not None:
            facts["rules"] = digest
        if self._verb.rows is not None and has_result(warehouse, call, plan_id):
            facts["staged"] = True
        if self._is_dry:
            head = planned.table.head()
            stands = "has no snapshot" if head is None else f"stays at snapshot {head.id}"
            facts["notes"] = [f"Dry run: {planned.branch!r} {stands}."]
        return facts

    def _staged_before(self, checked: Facts) -> Facts:
        """What a dry run has staged for the plan; nothing where none did."""
        if "staged" not in checked:
            return {}
        plan_id = str(checked["plan_id"])
        find = find_result if self._is_dry else take_result
        return self._stages.run(
            "take what was staged",
            lambda _: find(self._warehouse, self._call, plan_id),
            message="Looking at what a dry run has staged.",
        )

    def _verify(self, progress: Progress) -> Facts:
        assert self._verb.arriving is not None
        files = self._verb.arriving(self._warehouse, self._call)
        return {"files": verify(self._rows, files, self._call.text("table"), progress)}

    def _compare_rows(self, plan_id: str) -> Facts:
        compare = self._verb.rows
        if compare is None:
            return {}

        def work(progress: Progress) -> Facts:
            written = compare(self._warehouse, self._rows, self._call, progress)
            self._written = written
            if self._decided_rows is None:
                return written
            return {**written, _CONFLICTS: rows_of_plan(self._warehouse, self._call, plan_id)}

        facts = self._stages.run(
            "compare rows", work, message="Comparing rows that both sides may have changed."
        )
        written = {name: value for name, value in facts.items() if name != _CONFLICTS}
        self._written = written
        if _CONFLICTS in facts:
            self._check_decided(str(facts[_CONFLICTS]), written)
        return written

    def _check_decided(self, conflicts: str, written: Facts) -> None:
        """Refuse conflicts of rows that nobody who let the run plan again has seen."""
        if not self._notes:
            # The plan of the preview itself: whatever settles its conflicts was decided on.
            self._decided_rows = conflicts
        elif conflicts != self._decided_rows:
            self._withdraw(written)
            raise Refused(
                f"{self._notes[-1]} But other rows collide than those that were decided on. "
                "Nothing was changed and every decision is kept; look at the conflicts again.",
                kind=ErrorKind.CONFLICTS_OPEN,
            )

    def _judged(self, plan_id: str, written: Facts, kept: object, rules: object) -> Facts:
        """Have the result judged; where it may not be published, what was written for it goes."""
        gate = self._verb.gate
        if rules is None or gate is None:
            return {}
        if isinstance(kept, dict) and kept.get("digest") == rules:
            return kept

        def work(progress: Progress) -> Facts:
            sides = gate(self._warehouse, self._call, plan_id, written)
            return judge_result(self._warehouse, self._rows, self._call, sides, progress)

        try:
            return self._stages.run(STAGE, work, message=MESSAGE)
        except PaimonError:
            self._withdraw(written)
            raise

    def _keep(self, staged: _Staged) -> Facts:
        assert staged.plan_id is not None
        warehouse, call, written = self._warehouse, self._call, staged.written
        if written and STAGED not in written:
            # An earlier dry run keeps it, unless somebody has published it by now.
            return {"notes": [AS_GOOD]}
        # First: once the rows are kept anybody may publish them, and nobody may sweep them.
        forget_staged_rows(warehouse, call, written)
        note = keep_result(warehouse, call, staged.plan_id, written, staged.judged)
        if note is None:
            self._withdraw(written)
            return {}
        return {"notes": [note]}

    def _withdraw(self, written: Facts) -> None:
        # What an earlier dry run keeps is not for this one to remove.
        is_own = STAGED in written or not self._is_dry
        if written and is_own and self._verb.withdraw is not None:
            self._verb.withdraw(self._warehouse, self._call, written)

    def _carry_out(self, staged: _Staged) -> Facts:
        try:
            receipt = self._finish(staged)
        except PaimonError:
            self._forget(staged)
            raise
        self._forget(staged)
        return {"receipt": receipt.to_json()}

    def _forget(self, staged: _Staged) -> None:
        if staged.is_taken and staged.plan_id is not None:
            forget_result(self._warehouse, self._call, staged.plan_id)

    def _finish(self, staged: _Staged) -> Receipt:
        warehouse, call = self._warehouse, self._call
        warehouse.check_writable()
        operation = find_begun(warehouse, call)
        if operation is None:
            try:
                planned = plan_to_run(self._verb, warehouse, call, staged.plan_id)
                check_rows(planned, staged.written)
                journal = dict(planned.journal)
                if self._verb.gate is not None and planned.already is None:
                    plan_id = planned.preview.plan_id
                    journal = gate_journal(warehouse, call, plan_id, planned.journal, staged.judged)
            except PaimonError:
                self._withdraw(staged.written)
                raise
            if planned.already is not None:
                return planned.already
            take_staged_rows(warehouse, call, staged.written)
            written = _without_name(staged.written)
            journal |= {name: each for name, each in written.items() if name != "plan_id"}
            if staged.files_verified:
                journal["filesVerified"] = staged.files_verified
            if self._notes:
                journal["notes"] = [*texts_of(journal, "notes"), *self._notes]
            operation = Operation.begin(
                warehouse, planned.table, call, branch=planned.branch, plan=journal
            )
        hand_over_staged_rows(warehouse, call, staged.written, operation.intent.plan)
        return finish_verb(self._verb, operation)


def _without_name(written: Facts) -> Facts:
    return {name: each for name, each in written.items() if name != STAGED}
