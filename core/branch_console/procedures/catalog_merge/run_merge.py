"""Running a merge of the catalog: planned, looked at, rows compared, judged, then published.

These are the stages of a merge of one table, over all tables at once.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

import pyarrow as pa

from branch_console.errors import CommitConflict, ErrorKind, InvalidInput, PaimonError, Refused
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.catalog_merge import CATALOG_MERGE_JOURNAL, CatalogMergeJournal
from branch_console.format.journals.written import (
    JUDGED_RESULT,
    NOTHING_WRITTEN,
    WRITTEN_ROWS,
    JudgedResult,
    WrittenRows,
)
from branch_console.format.json_text import JsonObject
from branch_console.format.receipt import Receipt
from branch_console.merge.catalog.catalog_report import reported_words
from branch_console.merge.catalog.catalog_steps import StepKind
from branch_console.merge.plan import merging
from branch_console.operations.catalog_requests import MergeCatalogRequest
from branch_console.procedures.call.call import AGAIN, ProcedureCall
from branch_console.procedures.call.permissions import check_role
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.stages import Facts, Stages
from branch_console.procedures.call.verify_files import verify
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import CatalogOperation, CatalogProcedure
from branch_console.procedures.catalog.states import note_main
from branch_console.procedures.catalog_merge.merge_catalog import (
    plan_catalog_merge_call,
    rules_of_catalog,
)
from branch_console.procedures.catalog_merge.planned_merge import (
    PlannedCatalogMerge,
    forks_of,
    journal_of_catalog_merge,
)
from branch_console.procedures.catalog_merge.publish_catalog import (
    finish_catalog_merge,
    publish_merge_of,
)
from branch_console.procedures.catalog_merge.step_actions import (
    MergeOperation,
    MergeStep,
    StagedContent,
)
from branch_console.procedures.catalog_merge.tables_gate import judge_tables, with_gate
from branch_console.procedures.catalog_merge.turn_back import TURNED_BACK
from branch_console.procedures.merge.inputs import DecidedMerge
from branch_console.procedures.merge.merge_branch import files_of_merge
from branch_console.procedures.merge.merge_kind import MergeKind, option_notes
from branch_console.procedures.merge.reconcile_rows import settle_rows_of
from branch_console.procedures.run.procedure import finish_operation, finish_procedure
from branch_console.procedures.run.quality_gate import STAGE
from branch_console.procedures.run.receipts import number_of
from branch_console.procedures.run.runner import MOST_PLANS
from branch_console.procedures.run.written_rows import release_staged_rows, withdraw_rows
from branch_console.table.file_checks import FILES_TO_VERIFY


def run_catalog_merge(
    procedure: CatalogProcedure[CatalogMergeJournal],
    warehouse: Warehouse,
    rows: RowEngine,
    call: ProcedureCall,
    stages: Stages,
) -> Receipt:
    """Run a merge of the catalog to its receipt; raises as `run_catalog_procedure` does."""
    run = _Run(procedure, warehouse, rows, replace(call, name=procedure.name), stages)
    if call.agreement.plan_again:
        return run.publish_planning_again()
    return run.publish(call.agreement.plan_id)


_MOVED: Final = (ErrorKind.HEAD_MOVED, ErrorKind.COMMIT_CONFLICT)


class _Run:
    def __init__(
        self,
        procedure: CatalogProcedure[CatalogMergeJournal],
        warehouse: Warehouse,
        rows: RowEngine,
        call: ProcedureCall,
        stages: Stages,
    ) -> None:
        self._procedure = procedure
        self._warehouse = warehouse
        self._rows = rows
        self._call = call
        self._stages = stages
        self._known: PlannedCatalogMerge | None = None
        self._notes: list[str] = []

    def publish_planning_again(self) -> Receipt:
        """Run all stages, anew where something moved before the merge was decided.

        Raises:
            Refused: Something would have to be decided anew, or it moves all the time.
            CommitConflict: The merge was decided, and turned back.
        """
        agreed, decided, plans = self._call.agreement.plan_id, self._call.agreement.decisions, 0
        if decided is None:
            found = self._stages.run(
                "plan", lambda _: self._decisions(agreed), message="Looking at what there is."
            )
            decided = str(found["decisions"])
        while True:
            try:
                return self.publish(agreed)
            except (Refused, CommitConflict) as error:
                if error.kind not in _MOVED or TURNED_BACK in error.facts or plans == MOST_PLANS:
                    raise
                moved = error
            plans += 1
            found = self._stages.run(
                "plan again",
                partial(self._plan_again, decided, moved),
                message="A branch moved: planning again.",
            )
            agreed = str(found["plan_id"])
            self._notes.append(f"Planned again: {moved.message.partition('. ')[0]}.")
            if isinstance(moved, CommitConflict):
                # An operation that was taken back is over: this is another one of the same job.
                first, _, _ = self._call.operation_id.partition(AGAIN)
                self._call = replace(self._call, operation_id=f"{first}{AGAIN}{plans}")

    def _decisions(self, agreed: str | None) -> Facts:
        plan = plan_catalog_merge_call(self._warehouse, self._call).plan
        if agreed not in (None, plan.id):
            raise Refused(
                "A branch moved before the run began. Nothing was changed; look at the new "
                "preview.",
                kind=ErrorKind.HEAD_MOVED,
                plan_id=plan.id,
            )
        return {"decisions": plan.decisions}

    def _plan_again(self, decided: str, moved: Refused | CommitConflict, _: Progress) -> Facts:
        plan = plan_catalog_merge_call(self._warehouse, self._call).plan
        if plan.decisions != decided:
            raise Refused(
                f"{moved.message} By now the merge would decide something else. Nothing was "
                "changed; look at the new preview.",
                kind=ErrorKind.HEAD_MOVED,
                plan_id=plan.id,
            )
        return {"plan_id": plan.id}

    def publish(self, agreed: str | None) -> Receipt:
        """Run all stages once."""
        self._known = None
        checked = self._stages.run(
            "check heads", lambda _: self._check(agreed), message="Looking at what there is."
        )
        if "receipt" in checked:
            return Receipt.from_json(str(checked["receipt"]))
        plan_id = None if "plan_id" not in checked else str(checked["plan_id"])
        files, written, judged = 0, dict[str, WrittenRows](), dict[str, JudgedResult]()
        if plan_id is not None:
            verified = self._stages.run(
                "verify files",
                partial(self._verify, plan_id),
                message="Checking that the data files which arrive are there and whole.",
            )
            files = number_of(verified, "files")
            compared = self._stages.run(
                "compare rows",
                partial(self._compare, plan_id),
                message="Comparing rows that both sides may have changed.",
            )
            written = _written(compared)
            found = self._stages.run(
                STAGE,
                partial(self._judge, plan_id, written),
                message="Judging the results by the rules of their tables.",
            )
            judged = _judged(found)
        facts = self._stages.run(
            self._procedure.name.replace("_", " "),
            lambda progress: self._carry_out(plan_id, written, judged, files, progress),
            message=self._procedure.doing,
            publishes=True,
        )
        return Receipt.from_json(str(facts["receipt"]))

    def _check(self, agreed: str | None) -> Facts:
        """Decide, and tell by which plan the rest goes; nothing if the operation has begun."""
        self._warehouse.check_writable()
        if CatalogOperation.find(self._warehouse, self._call.operation_id) is not None:
            return {}
        planned = self._plan(agreed)
        if planned.earlier_receipt is not None:
            return {"receipt": planned.earlier_receipt.to_json()}
        return {"plan_id": planned.preview.plan_id}

    def _plan(self, agreed: str | None) -> PlannedCatalogMerge:
        planned = plan_catalog_merge_call(self._warehouse, self._call)
        check_role(self._call.role, planned.preview.role, self._procedure.what)
        if planned.earlier_receipt is None:
            planned.preview.raise_unless_runnable(agreed)
        self._known = planned
        return planned

    def _planned(self, plan_id: str) -> PlannedCatalogMerge:
        """Return the plan; it is planned again if another process made it."""
        return self._plan(plan_id) if self._known is None else self._known

    def _verify(self, plan_id: str, progress: Progress) -> Facts:
        decided = [each for _, each in _contents(self._planned(plan_id))]
        files = pa.concat_tables([FILES_TO_VERIFY.empty_table(), *map(files_of_merge, decided)])
        return {"files": verify(self._rows, files, "the tables that are merged", progress)}

    def _compare(self, plan_id: str, progress: Progress) -> Facts:
        """Compare rows of each table that needs it; where one has a conflict, all of it goes."""
        planned = self._planned(plan_id)
        written: dict[str, WrittenRows] = {}
        try:
            for step, decided in _contents(planned):
                call = self._call_of(step, decided)
                found = settle_rows_of(self._warehouse, self._rows, call, decided, progress)
                if found != NOTHING_WRITTEN:
                    written[step.object_id] = found
        except BaseException as error:
            self._give_up(planned, written, is_refused=isinstance(error, PaimonError))
            raise
        return {key: WRITTEN_ROWS.encode(each) for key, each in written.items()}

    def _judge(self, plan_id: str, written: dict[str, WrittenRows], progress: Progress) -> Facts:
        """Judge all tables by their rules; where one of them blocks, all of the merge goes."""
        planned = self._planned(plan_id)
        try:
            found = judge_tables(
                self._warehouse,
                self._rows,
                self._call,
                planned.plan,
                planned.decided,
                written,
                progress,
            )
        except BaseException as error:
            self._give_up(planned, written, is_refused=isinstance(error, PaimonError))
            raise
        return {key: JUDGED_RESULT.encode(each) for key, each in found.items()}

    def _give_up(
        self, planned: PlannedCatalogMerge, written: dict[str, WrittenRows], *, is_refused: bool
    ) -> None:
        """Remove rows that were written for nothing, or leave them to recovery."""
        act = withdraw_rows if is_refused else release_staged_rows
        for step, decided in _contents(planned):
            if step.object_id in written:
                call = self._call_of(step, decided)
                act(self._warehouse, call, decided.target, written[step.object_id])

    def _call_of(self, step: MergeStep, decided: DecidedMerge) -> ProcedureCall:
        """The call of one table's merge, under the rules of the whole."""
        asked = self._call.arguments
        return ProcedureCall(
            name=str(MergeKind.MERGE),
            arguments={
                "table": decided.target.identifier.table_name,
                "branch": decided.spec.source,
                "target": decided.spec.target,
                **{
                    key: asked[key]
                    for key in ("strict", "scope", "isolation", "policy")
                    if asked.get(key) is not None
                },
            },
            actor=self._call.actor,
            operation_id=f"{self._call.operation_id}-{step.name}",
            role=self._call.role,
        )

    def _carry_out(
        self,
        plan_id: str | None,
        written: dict[str, WrittenRows],
        judged: dict[str, JudgedResult],
        files: int,
        progress: Progress,
    ) -> Facts:
        warehouse, call = self._warehouse, self._call
        warehouse.check_writable()
        operation = CatalogOperation.find(warehouse, call.operation_id)
        if operation is not None:
            if operation.intent.procedure != self._procedure.name:
                raise InvalidInput(
                    f"Operation {call.operation_id} is a {operation.intent.procedure} already. Use "
                    "an id of its own for each operation.",
                    operation_id=call.operation_id,
                )
            return {"receipt": finish_procedure(self._procedure, operation).to_json()}
        known = self._known
        try:
            planned = self._plan(plan_id)
            if planned.earlier_receipt is not None:
                return {"receipt": planned.earlier_receipt.to_json()}
            planned = self._noted(planned)
            journal = journal_of_catalog_merge(
                warehouse,
                planned,
                call,
                forks=forks_of(warehouse, planned),
                notes=(
                    *_option_notes(planned, call),
                    *reported_words(planned.plan),
                    *self._notes,
                ),
                files_verified=files,
            )
            journal = with_gate(warehouse, call, planned.plan, journal, judged)
        except PaimonError:
            if known is not None:
                self._give_up(known, written, is_refused=True)
            raise
        begun = CatalogOperation.begin(
            warehouse,
            call,
            branch=planned.plan.target,
            codec=CATALOG_MERGE_JOURNAL,
            journal=journal,
        )
        staged = {
            step.object_id: StagedContent(
                decided=decided,
                written=written.get(step.object_id, NOTHING_WRITTEN),
                judged=judged.get(step.object_id),
            )
            for step, decided in _contents(planned)
        }

        def finish(held: CatalogOperation) -> Receipt:
            merge = MergeOperation.of(held)
            return publish_merge_of(
                replace(
                    merge,
                    staged=staged,
                    rules=rules_of_catalog(call),
                    role=call.role,
                    progress=progress,
                )
            )

        return {"receipt": finish_operation(finish, begun).to_json()}

    def _noted(self, planned: PlannedCatalogMerge) -> PlannedCatalogMerge:
        """Note main as it was planned on, so that the version of the merge builds on it."""
        plan, call = planned.plan, self._call
        if planned.main is None:
            return planned
        noted = note_main(
            self._warehouse, planned.main, operation=call.operation_id, actor=call.actor
        )
        if noted.version != planned.main.version and planned.main.version.number:
            # Without it, a merge seems to have made two versions.
            self._notes.append(
                f"{noted.version} notes how main had changed since {planned.main.version}."
            )
        name, versions = str(noted.version), plan.versions
        versions = (
            replace(versions, ours=name)
            if plan.target == MAIN_BRANCH
            else replace(versions, theirs=name)
        )
        return replace(planned, plan=replace(plan, versions=versions))


def _contents(planned: PlannedCatalogMerge) -> Iterator[tuple[MergeStep, DecidedMerge]]:
    """The steps that bring content, with the merges of their tables."""
    for step in planned.steps:
        decided = planned.decided.get(step.object_id)
        if step.kind is StepKind.MERGE_CONTENT and decided is not None:
            yield step, decided


def _option_notes(planned: PlannedCatalogMerge, call: ProcedureCall) -> tuple[str, ...]:
    """Say which rows the options leave alone; nothing if no table gets a merged snapshot."""
    if all(merging(decided.plan) is None for _, decided in _contents(planned)):
        return ()
    plan, asked = planned.plan, call.request(MergeCatalogRequest)
    return option_notes(plan.source, plan.target, isolation=asked.isolation, scope=asked.scope)


def _written(facts: Facts) -> dict[str, WrittenRows]:
    raw = JsonObject(facts, "rows of a merge of the catalog")
    return {key: WRITTEN_ROWS.decode(raw.get(key, dict)) for key in facts}


def _judged(facts: Facts) -> dict[str, JudgedResult]:
    raw = JsonObject(facts, "verdicts of a merge of the catalog")
    return {key: JUDGED_RESULT.decode(raw.get(key, dict)) for key in facts}


MERGE_CATALOG: Final = CatalogProcedure(
    name=MergeCatalogRequest.procedure,
    what="merge a branch of the catalog",
    doing="Merging.",
    plan=plan_catalog_merge_call,
    codec=CATALOG_MERGE_JOURNAL,
    finish=finish_catalog_merge,
    run=run_catalog_merge,
)
