"""The checks and staged rows of a procedure before anything is published, and their end."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Generic

import pyarrow as pa

from branch_console.diff.history_move import count
from branch_console.errors import ErrorKind, PaimonError, Refused
from branch_console.format.journals.written import (
    JUDGED_RESULT,
    NOTHING_WRITTEN,
    WRITTEN_ROWS,
    JudgedResult,
    StagedResult,
    WrittenRows,
)
from branch_console.format.receipt import Receipt
from branch_console.operations.agreement import Agreement
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.stages import Facts, Stages
from branch_console.procedures.call.target_branch import target_table
from branch_console.procedures.call.verify_files import verify
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.agreed_choices import rows_of_plan
from branch_console.procedures.run.dry_run_results import (
    KEPT_EARLIER_RESULT,
    find_result,
    forget_result,
    has_result,
    keep_result,
    rows_staged,
    take_result,
)
from branch_console.procedures.run.planned_heads import HEADS
from branch_console.procedures.run.procedure import (
    P,
    Procedure,
    another_plan,
    find_operation,
    plan_checked,
)
from branch_console.procedures.run.quality_gate import (
    MESSAGE,
    STAGE,
    judge_result,
    rules_digest,
)
from branch_console.procedures.run.receipts import number_of, text_of, texts_of
from branch_console.procedures.run.written_rows import forget_staged_rows, release_staged_rows
from branch_console.table.file_store_table import FileStoreTable

_CONFLICTS: Final = "conflicts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The results of the stages before anything is published.

    Attributes:
        plan_id: The plan that was agreed to, or made; None without a check.
        notes: The sentences of a dry run.
        is_taken: Whether a dry run had staged the result.
        heads: The heads of that plan, if the run keeps to them.
        receipt: The receipt, if nothing is left to do.
    """

    plan_id: str | None
    heads: str | None = None
    files_verified: int = 0
    written: WrittenRows = NOTHING_WRITTEN
    judged: JudgedResult | None = None
    notes: tuple[str, ...] = ()
    is_taken: bool = False
    receipt: Receipt | None = None


@dataclass(slots=True, kw_only=True)
class AgreedConflicts:
    """The conflicts of rows that were decided on, where a run may plan again.

    Attributes:
        decided: They, as `rows_of_plan` tells them.
        moved: Why it was planned again; None in the first plan, whose conflicts are those.
    """

    decided: str
    moved: str | None = None

    def check(self, found: str) -> None:
        """Raise Refused for conflicts that the person who allowed replanning has not seen."""
        if self.moved is None:
            self.decided = found
        elif found != self.decided:
            raise Refused(
                f"{self.moved} Now other rows collide than those that you decided on. Nothing "
                "was changed, and every decision is kept. Look at the conflicts again.",
                kind=ErrorKind.CONFLICTS_OPEN,
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProcedureRun(Generic[P]):
    """The inputs of a run of a procedure.

    Attributes:
        procedure: The procedure.
        warehouse: The warehouse of the table.
        rows: The engine that reads and writes rows.
        call: The arguments, under the procedure's own name.
        stages: The runner of the stages.
        is_dry: Whether the run ends before anything is published, and keeps the staged result.
    """

    procedure: Procedure[P, Any]
    warehouse: Warehouse
    rows: RowEngine
    call: ProcedureCall
    stages: Stages
    is_dry: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """The staged result of a dry run; `judged` is None if a run must judge it again."""

    written: WrittenRows
    judged: JudgedResult | None


def _facts_of_kept(staged: StagedResult | None) -> Facts:
    if staged is None:
        return {}
    judged = {} if staged.judged is None else JUDGED_RESULT.encode(staged.judged)
    return {"written": WRITTEN_ROWS.encode(staged.written), "judged": judged}


def _kept_from(facts: Facts) -> _Kept | None:
    written, judged = facts.get("written"), facts.get("judged")
    if not isinstance(written, dict):
        return None
    return _Kept(
        written=WRITTEN_ROWS.decode(written),
        judged=JUDGED_RESULT.decode(judged) if isinstance(judged, dict) and judged else None,
    )


class Preparation(Generic[P]):
    """The stages of one plan of a procedure that come before it changes anything."""

    def __init__(
        self, run: ProcedureRun[P], agreed: str | None, decided: AgreedConflicts | None
    ) -> None:
        self._run = run
        self._known: P | None = None
        self._agreed = agreed
        self._decided = decided
        self._written = NOTHING_WRITTEN

    def run(self) -> Prepared:
        """Decide, verify the added files, and stage the rows to publish."""
        arriving = self._run.procedure.files_to_verify
        if arriving is None:
            return Prepared(plan_id=self._agreed)
        checked = self._run.stages.run(
            "check heads", lambda _: self._check(), message="Looking at what there is."
        )
        if "receipt" in checked:
            receipt = Receipt.from_json(str(checked["receipt"]))
            return Prepared(plan_id=receipt.plan_id, receipt=receipt)
        if "plan_id" not in checked:
            return Prepared(plan_id=self._agreed)
        heads = text_of(checked, HEADS)
        if heads is not None:
            self._run = replace(self._run, call=self._run.call.agreeing(Agreement(heads=heads)))
        plan_id, kept = str(checked["plan_id"]), self._staged_before(checked)
        found = self._run.stages.run(
            "verify files",
            partial(self._verify, arriving, plan_id),
            message="Checking that the data files which arrive are there and whole.",
        )
        written = self._compare_rows(plan_id) if kept is None else kept.written
        self._written = written
        before = None if kept is None else kept.judged
        judged = self._judged(plan_id, written, before, text_of(checked, "rules"))
        files = number_of(found, "files")
        return Prepared(
            plan_id=plan_id,
            heads=heads,
            files_verified=files,
            written=written,
            judged=judged,
            notes=(
                *texts_of(checked, "notes"),
                f"{count(files, 'data file')} would come, and each is there and whole.",
                *(written.row_notes or ()),
                rows_staged(written) or "No row had to be written.",
                *(() if judged is None else judged.notes),
            ),
            is_taken=kept is not None and not self._run.is_dry,
        )

    def _check(self) -> Facts:
        """Decide, and tell by which plan the rest goes; nothing if the operation has begun."""
        warehouse, call = self._run.warehouse, self._run.call
        warehouse.check_writable()
        with warehouse.deciding() as deciding:
            if find_operation(deciding, call) is not None:
                return {}
            planned = plan_checked(self._run.procedure, deciding, call, self._agreed)
        self._known = planned
        if planned.earlier_receipt is not None:
            return {"receipt": planned.earlier_receipt.to_json()}
        plan_id = planned.preview.plan_id
        facts: dict[str, object] = {"plan_id": plan_id}
        if planned.heads is not None:
            facts[HEADS] = planned.heads
        digest = None if self._run.procedure.gate is None else rules_digest(call, planned.rules)
        if digest is not None:
            facts["rules"] = digest
        if self._run.procedure.rows is not None and has_result(warehouse, planned.table, plan_id):
            facts["staged"] = True
        if self._run.is_dry:
            head = planned.table.head()
            stands = "has no snapshot" if head is None else f"stays at snapshot {head.id}"
            facts["notes"] = [f"Dry run: {planned.branch!r} {stands}."]
        return facts

    def _staged_before(self, checked: Facts) -> "_Kept | None":
        """Return the result that a dry run staged for the plan; None without one."""
        if "staged" not in checked:
            return None
        plan_id = str(checked["plan_id"])
        facts = self._run.stages.run(
            "take what was staged",
            lambda _: _facts_of_kept(self._find_staged(plan_id)),
            message="Looking at what a dry run has staged.",
        )
        return _kept_from(facts)

    def _find_staged(self, plan_id: str) -> StagedResult | None:
        warehouse, call = self._run.warehouse, self._run.call
        if self._run.is_dry:
            return find_result(warehouse, self._target, plan_id)
        return take_result(warehouse, call, self._target, plan_id)

    @property
    def planned(self) -> P | None:
        """The plan; None if another process made it."""
        return self._known

    @property
    def _target(self) -> FileStoreTable:
        """The table on the branch that changes, opened anew where another process planned."""
        if self._known is None:
            return target_table(self._run.warehouse, self._run.call)
        return self._known.table

    def _planned(self, plan_id: str) -> P:
        """Return the plan; it is made again if another process made it.

        Raises:
            Refused: The new plan is a different one.
        """
        if self._known is None:
            with self._run.warehouse.deciding() as deciding:
                self._known = self._run.procedure.plan(deciding, self._run.call)
            found = self._known.preview.plan_id
            if self._known.earlier_receipt is None and found != plan_id:
                raise another_plan(self._known, "since the run began")
        return self._known

    def _verify(self, arriving: Callable[[P], pa.Table], plan_id: str, progress: Progress) -> Facts:
        files = arriving(self._planned(plan_id))
        return {"files": verify(self._run.rows, files, self._run.call.table, progress)}

    def _compare_rows(self, plan_id: str) -> WrittenRows:
        compare = self._run.procedure.rows
        if compare is None:
            return NOTHING_WRITTEN

        def work(progress: Progress) -> Facts:
            warehouse, call, planned = self._run.warehouse, self._run.call, self._planned(plan_id)
            written = compare(warehouse, self._run.rows, call, planned, progress)
            self._written = written
            facts = WRITTEN_ROWS.encode(written)
            if self._decided is None:
                return facts
            return {**facts, _CONFLICTS: rows_of_plan(warehouse, planned.table, plan_id)}

        facts = self._run.stages.run(
            "compare rows", work, message="Comparing rows that both sides may have changed."
        )
        written = self._written = WRITTEN_ROWS.decode(facts)
        if self._decided is not None and _CONFLICTS in facts:
            try:
                self._decided.check(str(facts[_CONFLICTS]))
            except Refused:
                self.discard(written)
                raise
        return written

    def _judged(
        self, plan_id: str, written: WrittenRows, kept: JudgedResult | None, rules: str | None
    ) -> JudgedResult | None:
        """Have the result judged; where it may not be published, what was written for it goes."""
        gate = self._run.procedure.gate
        if rules is None or gate is None:
            return None
        if kept is not None and kept.digest == rules:
            return kept

        def work(progress: Progress) -> Facts:
            warehouse, rows, call = self._run.warehouse, self._run.rows, self._run.call
            sides = gate(self._planned(plan_id), written)
            return JUDGED_RESULT.encode(judge_result(warehouse, rows, call, sides, progress))

        try:
            return JUDGED_RESULT.decode(self._run.stages.run(STAGE, work, message=MESSAGE))
        except PaimonError:
            self.discard(written)
            raise

    def keep(self, staged: Prepared) -> Facts:
        """Keep what a dry run staged, for a merge to publish."""
        if staged.plan_id is None:
            # Without a plan there is nobody who could publish it.
            self.discard(staged.written)
            return {}
        warehouse, call, written = self._run.warehouse, self._run.call, staged.written
        if written != NOTHING_WRITTEN and written.staged_rows is None:
            # An earlier dry run keeps it, unless somebody has published it by now.
            return {"notes": [KEPT_EARLIER_RESULT]}
        note = keep_result(warehouse, call, self._target, staged.plan_id, written, staged.judged)
        if note is None:
            self.discard(written)
            return {}
        # Last: where this is cut off recovery sees that a result names the rows.
        forget_staged_rows(warehouse, call, self._target, written)
        return {"notes": [note]}

    def discard(self, written: WrittenRows) -> None:
        """Remove rows that were written for nothing."""
        withdraw = self._run.procedure.discard
        # What an earlier dry run keeps is not for this one to remove.
        is_own = written.staged_rows is not None or not self._run.is_dry
        if written != NOTHING_WRITTEN and is_own and withdraw is not None:
            withdraw(self._run.warehouse, self._run.call, self._target, written)

    def release(self) -> None:
        """Leave what was written to recovery, if nothing publishes it."""
        if self._written.staged_rows is not None:
            warehouse, call = self._run.warehouse, self._run.call
            release_staged_rows(warehouse, call, self._target, self._written)

    def forget(self, staged: Prepared) -> None:
        """Forget what was taken of a dry run: it is published by now, or removed."""
        if staged.is_taken and staged.plan_id is not None:
            forget_result(self._run.warehouse, self._target, staged.plan_id)
