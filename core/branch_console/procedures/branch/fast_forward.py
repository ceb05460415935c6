"""Fast-forward, previewed and run: what the preview shows is what is published, or nothing is."""

from dataclasses import dataclass, replace

import pyarrow as pa

from branch_console.diff.fast_forward import ForwardDecision, Verdict, plan_forward_move, plan_id
from branch_console.diff.file_safety import FileSafety
from branch_console.errors import ErrorKind, InvalidInput, Refused
from branch_console.format.identifier import MAIN_BRANCH, Identifier, rescue_name
from branch_console.format.journals.history import FORWARD_JOURNAL, HistoryJournal
from branch_console.format.journals.terms import OperationJournal
from branch_console.format.journals.written import WrittenRows
from branch_console.format.kept_elsewhere import Act
from branch_console.format.receipt import Receipt
from branch_console.operations.branch_requests import FastForwardRequest
from branch_console.procedures.branch.fast_forward_preview import preview_of_forward
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_figures import counted_change
from branch_console.procedures.call.verify_files import arriving_files
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.branch_histories import (
    before_replacing,
    copy_of_move,
    read_histories,
    schema_id_after,
    tags_before,
)
from branch_console.procedures.history.commit_deletes import with_deletes
from branch_console.procedures.history.file_sharing import journal_of_sharing
from branch_console.procedures.history.forward_sharing import forward_safety
from branch_console.procedures.history.history_transfer import finish_history_transfer
from branch_console.procedures.run.procedure import PlannedOperation, Procedure
from branch_console.procedures.run.quality_gate import StatesToJudge, sides_of_forward
from branch_console.procedures.run.receipts import receipt_without_change, rows_of_heads
from branch_console.procedures.run.rule_evaluation import find_rules
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.missing_branch import no_branch


def preview_fast_forward(
    warehouse: Warehouse, table: Identifier, source: str, target: str = MAIN_BRANCH
) -> ForwardDecision:
    """Decide what a fast-forward would do, and change nothing.

    Raises:
        NotFound: There is no such table or branch.
        InvalidInput: Source and target are one branch.
        FormatError: A snapshot, schema or tag of either cannot be decoded.
    """
    with warehouse.deciding() as deciding:
        plan = _plan(deciding.table(table.on_branch(target)), source, target)
        return with_deletes(deciding, plan)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlannedForward(PlannedOperation):
    """A fast-forward that was decided on.

    Attributes:
        decision: The decision.
        safety: What it takes that both branches hold the files; None if nothing moves.
    """

    decision: ForwardDecision
    safety: FileSafety | None


def plan_forward(warehouse: Warehouse, call: ProcedureCall) -> PlannedForward:
    """Decide what moves a branch to the head of another one that holds all of it.

    Arguments of the call: `table`, `branch` (the source), `target` (main), `plan_id` of the
    preview, `force` (replace a target that moved, which a rescue branch keeps), `reason`,
    `override_gate` (why an operator publishes what the gate blocks), `without_callbacks` (why one
    leaves out what Paimon would do for others).

    Raises:
        NotFound: There is no such table or branch.
        InvalidInput: Source and target are one branch.
        FormatError: A snapshot, schema or tag of either cannot be decoded.
    """
    asked = call.request(FastForwardRequest)
    table = _target(warehouse, asked)
    plan = _plan(table, asked.source, asked.target)
    moves = plan.can_run or (asked.force and plan.can_replace)
    return _planned(warehouse, call, table, plan, _safety(table, plan) if moves else None)


def plan_forward_on(
    warehouse: Warehouse, call: ProcedureCall, earlier: PlannedForward
) -> PlannedForward:
    """Decide again, before anything is changed: the histories are compared by their heads.

    Raises:
        Refused: The plan is another one by now.
    """
    asked, plan = call.request(FastForwardRequest), earlier.decision
    table = _target(warehouse, asked)
    if asked.force:
        # What leaves is read only if something may.
        found = _plan(table, plan.source, plan.target).id
    else:
        histories = read_histories(table.on(plan.source), table, head_only=True)
        found = plan_id(table.identifier.table_name, *histories)
    if found != plan.id:
        raise Refused(
            f"Branch {plan.source!r} or {plan.target!r} changed while the files were checked. "
            "Nothing was done; look at the new preview.",
            kind=ErrorKind.HEAD_MOVED,
            plan_id=found,
        )
    return _planned(warehouse, call, table, plan, earlier.safety)


def _target(warehouse: Warehouse, asked: FastForwardRequest) -> FileStoreTable:
    return warehouse.table(Identifier.parse(asked.table).on_branch(asked.target))


def _plan(table: FileStoreTable, source: str, target: str) -> ForwardDecision:
    if source == target:
        raise InvalidInput(f"Branch {source!r} cannot be fast-forwarded to itself. Name two.")
    for branch in (source, target):
        if not table.branches.exists(branch):
            raise no_branch(table, branch)
    name, onto = table.identifier.table_name, table.on(target)
    theirs, ours = read_histories(table.on(source), onto)
    decision = plan_forward_move(name, theirs, ours)
    if decision.verdict is not Verdict.REFUSED:
        return decision
    # Only what replaces the target takes something away from it.
    return plan_forward_move(name, theirs, before_replacing(onto, ours))


def _planned(
    warehouse: Warehouse,
    call: ProcedureCall,
    table: FileStoreTable,
    plan: ForwardDecision,
    safety: FileSafety | None,
) -> PlannedForward:
    asked = call.request(FastForwardRequest)
    rules = None if safety is None else find_rules(warehouse, table.identifier)
    already = None
    if plan.verdict is Verdict.UP_TO_DATE:
        already = _nothing_to_do(warehouse, call, plan)
    return PlannedForward(
        decision=plan,
        safety=safety,
        preview=preview_of_forward(
            plan,
            table.ledger.whole(),
            force=asked.force,
            actor=call.actor,
            sharing=safety,
            rules=rules,
        ),
        act=Act.COMMIT,
        rules=rules,
        table=table,
        branch=plan.target,
        journal=OperationJournal()
        if safety is None
        else replace(
            with_counted_rows(
                warehouse, table, plan, journal_of_forward(table, plan, safety, call.operation_id)
            ),
            reason=call.reason,
        ),
        earlier_receipt=already,
    )


def journal_of_forward(
    target: FileStoreTable, plan: ForwardDecision, safety: FileSafety, operation_id: str
) -> HistoryJournal:
    """Return the journal of an operation that moves a branch to the head of another one."""
    removed = plan.would_remove
    rescue = None if removed.is_empty else rescue_name(operation_id)
    copy = copy_of_move(plan, removed, rescue)
    source = target.on(plan.source)
    sharing = journal_of_sharing(safety, source, operation_id, (plan.source, plan.target))
    return HistoryJournal(
        copy=copy,
        sharing=sharing,
        schema_id_after=schema_id_after(target, copy),
        tags_before=tags_before(target, copy.schema_ids),
        plan_id=plan.id,
        records=plan.arrives.figure.records,
        rows_counted=rows_of_heads(target.on(plan.target), plan.target_head, plan.source_head),
        notes=tuple(plan.notes),
    )


def with_counted_rows(
    warehouse: Warehouse, table: FileStoreTable, plan: ForwardDecision, journal: HistoryJournal
) -> HistoryJournal:
    """Return a journal with the rows that a job has counted between both heads, for the receipt."""
    before, after = (plan.target, plan.target_head), (plan.source, plan.source_head)
    counts = counted_change(warehouse, table, before, after)
    if counts is None:
        return journal
    return replace(
        journal,
        rows_counted=(counts.before, counts.after),
        rows_changed=(counts.added, counts.removed, counts.changed),
    )


def _safety(target: FileStoreTable, plan: ForwardDecision) -> FileSafety:
    """Decide on the files that both branches hold once the target has the source's history."""
    return forward_safety(target.on(plan.source), target, plan.arrives, plan.would_remove)


def files_to_forward(planned: PlannedForward) -> pa.Table:
    """Data files of the source that the target does not hold; columns of FILES_TO_VERIFY."""
    plan = planned.decision
    return arriving_files(planned.table.on(plan.source), plan.source_head, plan.target_head)


def _sides(planned: PlannedForward, _: WrittenRows) -> StatesToJudge:
    plan = planned.decision
    return sides_of_forward(planned.table, planned.table.on(plan.source), plan.id)


def _nothing_to_do(warehouse: Warehouse, call: ProcedureCall, plan: ForwardDecision) -> Receipt:
    now = warehouse.clock()
    text = f"Branch {plan.target!r} already contains {plan.source!r}; nothing was changed."
    return receipt_without_change(call, plan.id, (text,), started_millis=now, finished_millis=now)


FAST_FORWARD = Procedure(
    name="fast_forward",
    what="fast-forward a branch",
    doing="Copying metadata to the target.",
    plan=plan_forward,
    plan_on=plan_forward_on,
    codec=FORWARD_JOURNAL,
    finish=finish_history_transfer,
    files_to_verify=files_to_forward,
    gate=_sides,
    stage="publish",
)
