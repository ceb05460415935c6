"""Fast-forward, previewed and run: what the preview shows is what is published, or nothing is."""

import functools
from dataclasses import dataclass, replace

from branch_console.commit.branch.rescue import rescue_name
from branch_console.diff.fast_forward import ForwardDecision, Verdict, plan_fast_forward, plan_id
from branch_console.diff.file_safety import FileSafety
from branch_console.errors import ErrorKind, InvalidInput, Refused
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.journals.history import FORWARD_JOURNAL, HistoryCopy, HistoryJournal
from branch_console.format.journals.written import JUDGED_RESULT, JudgedResult
from branch_console.format.kept_elsewhere import Act, KeptElsewhere
from branch_console.format.receipt import Receipt
from branch_console.operations.branch_requests import FastForwardRequest
from branch_console.procedures.branch.fast_forward_preview import preview_of_forward
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Preview
from branch_console.procedures.call.permissions import check_role
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.stages import Facts, Stages
from branch_console.procedures.call.verify_files import arriving_files, verify
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.call.without_callbacks import (
    journal_of_callbacks,
    left_out_of,
    weigh_callbacks,
)
from branch_console.procedures.history.branch_histories import (
    histories_of,
    inherited_by,
    schema_id_after,
    tags_before,
)
from branch_console.procedures.history.file_sharing import journal_of_sharing
from branch_console.procedures.history.forward_sharing import forward_safety
from branch_console.procedures.history.history_transfer import finish_take_over
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.quality_gate import (
    MESSAGE,
    STAGE,
    gate_journal,
    judge_result,
    rules_digest,
    sides_of_forward,
    told_rules,
)
from branch_console.procedures.run.receipts import (
    number_of,
    receipt_without_change,
    rows_of_heads,
)
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
        return _plan(deciding.table(table.on_branch(target)), source, target)


def preview_forward_call(warehouse: Warehouse, call: ProcedureCall) -> Preview:
    """Tell the consequences of a call of `fast_forward`; raises as `preview_fast_forward` does."""
    with warehouse.deciding() as deciding:
        asked = call.request(FastForwardRequest)
        table = deciding.table(_target_of(asked))
        plan = _plan(table, asked.source, asked.target)
        found = _preview(table, plan, call, _demands(deciding, table, plan, call))
        rules = told_rules(find_rules(deciding, table.identifier)) if found.can_run else []
    return replace(found, consequences=(*found.consequences, *rules))


def fast_forward(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Move a branch to the head of another one that holds all of it.

    Arguments of the call: `table`, `branch` (the source), `target` (main), `plan_id` of the
    preview, `force` (replace a target that moved, which a rescue branch keeps), `override_gate`
    (why an operator publishes what the gate blocks), `without_callbacks` (why one leaves out what
    Paimon would do for others).

    Raises:
        Refused: The target moved, or the heads are not those of the preview; nothing was changed.
        CommitConflict: Another writer came in between; the target is a shorter fast-forward.
    """
    # By the stage that needs it first, and not where all of them are done.
    asked = call.request(FastForwardRequest)
    opened = functools.cache(lambda: warehouse.table(_target_of(asked)))
    facts = stages.run(
        "check heads",
        lambda _: _check(warehouse, opened(), call),
        message=f"Comparing {asked.source!r} with {asked.target!r}.",
    )
    if facts["verdict"] == Verdict.UP_TO_DATE:
        return _nothing_to_do(warehouse, call, str(facts["plan_id"]))
    verified = stages.run(
        "verify files",
        lambda progress: _verify(rows, opened(), call, progress),
        message="Checking that the data files which arrive are there and whole.",
    )
    judged = None
    if "rules" in facts:
        found = stages.run(
            STAGE,
            lambda progress: _judge(warehouse, rows, opened(), call, facts, progress),
            message=MESSAGE,
        )
        judged = JUDGED_RESULT.decode(found)
    published = stages.run(
        "publish",
        lambda progress: _publish(warehouse, opened(), call, facts, verified, judged, progress),
        message=f"Copying metadata to {asked.target!r}.",
        publishes=True,
    )
    return Receipt.from_json(str(published["receipt"]))


def _plan(table: FileStoreTable, source: str, target: str) -> ForwardDecision:
    if source == target:
        raise InvalidInput(f"Branch {source!r} cannot be fast-forwarded to itself. Name two.")
    for branch in (source, target):
        if not table.branches.exists(branch):
            raise no_branch(table, branch)
    return plan_fast_forward(
        table.identifier.table_name, *histories_of(table.on(source), table.on(target))
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Demands:
    """What a fast-forward that can run takes.

    Attributes:
        safety: That both branches hold the files.
        left_out: What others keep of the table, and are not told.
    """

    safety: FileSafety
    left_out: tuple[KeptElsewhere, ...]


def _demands(
    warehouse: Warehouse, table: FileStoreTable, plan: ForwardDecision, call: ProcedureCall
) -> _Demands | None:
    """What it takes to carry out a plan; None where it does not run."""
    force = call.request(FastForwardRequest).force
    if not (plan.can_run or (force and plan.can_replace)):
        return None
    moved = bool(plan.arrives.schema_ids or plan.would_remove.schema_ids)
    return _Demands(
        safety=_safety(table, plan),
        left_out=left_out_of(warehouse, table, Act.COMMIT, changes_schema=moved),
    )


def _preview(
    table: FileStoreTable, plan: ForwardDecision, call: ProcedureCall, demands: _Demands | None
) -> Preview:
    found = preview_of_forward(
        plan,
        table.ledger.whole(),
        force=call.request(FastForwardRequest).force,
        actor=call.actor,
        sharing=None if demands is None else demands.safety,
    )
    return found if demands is None else weigh_callbacks(found, call, demands.left_out)


def _check(warehouse: Warehouse, table: FileStoreTable, call: ProcedureCall) -> Facts:
    """Plan again and compare with the preview; an operation that has begun keeps its plan."""
    warehouse.check_writable()
    if Operation.find(warehouse, table, call.operation_id) is not None:
        return {"verdict": str(Verdict.FAST_FORWARD), "plan_id": call.agreement.plan_id or ""}
    with table.listing_once() as listed:
        return _plan_to_run(warehouse, listed, call)


def _plan_to_run(warehouse: Warehouse, table: FileStoreTable, call: ProcedureCall) -> Facts:
    asked = call.request(FastForwardRequest)
    source, target, force = asked.source, asked.target, asked.force
    plan = _plan(table, source, target)
    demands = _demands(warehouse, table, plan, call)
    preview = _preview(table, plan, call, demands)
    check_role(call.role, preview.role, _what(target, force=force))
    wanted = call.agreement.plan_id
    if wanted is not None and wanted != plan.id:
        raise Refused(
            f"This preview is out of date: {source!r} or {target!r} changed. Nothing was done; "
            "look at the new preview.",
            kind=ErrorKind.HEAD_MOVED,
            plan_id=plan.id,
        )
    if plan.verdict is Verdict.REFUSED and not (force and plan.can_replace):
        raise _refusal(plan)
    preview.raise_unless_runnable(wanted)
    if demands is None:
        return {"verdict": str(plan.verdict), "plan_id": plan.id}
    digest = rules_digest(call, find_rules(warehouse, table.identifier))
    return {
        "verdict": str(plan.verdict),
        "plan_id": plan.id,
        "journal": FORWARD_JOURNAL.encode(
            replace(
                journal_of_forward(table, plan, demands.safety, call.operation_id),
                without_callbacks=journal_of_callbacks(call, demands.left_out),
            )
        ),
        **({} if digest is None else {"rules": digest}),
    }


def journal_of_forward(
    target: FileStoreTable, plan: ForwardDecision, safety: FileSafety, operation_id: str
) -> HistoryJournal:
    """What an operation notes that moves a branch to the head of another one."""
    copy = _copy_of(plan, operation_id)
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


def _safety(target: FileStoreTable, plan: ForwardDecision) -> FileSafety:
    """Decide on the files that both branches hold once the target has the source's history."""
    return forward_safety(target.on(plan.source), target, plan.arrives, plan.would_remove)


def _verify(
    rows: RowEngine, target: FileStoreTable, call: ProcedureCall, progress: Progress
) -> Facts:
    """Have the row engine look at the data files that the target does not hold yet."""
    source = target.on(call.request(FastForwardRequest).source)
    files = arriving_files(source, source.head(), target)
    return {"files": verify(rows, files, repr(source.branch), progress)}


def _judge(
    warehouse: Warehouse,
    rows: RowEngine,
    target: FileStoreTable,
    call: ProcedureCall,
    checked: Facts,
    progress: Progress,
) -> Facts:
    source = target.on(call.request(FastForwardRequest).source)
    sides = sides_of_forward(target, source, str(checked["plan_id"]))
    return JUDGED_RESULT.encode(judge_result(warehouse, rows, call, sides, progress))


def _refusal(plan: ForwardDecision) -> Refused:
    reasons = " ".join(reason.text for reason in plan.reasons)
    ways = ", ".join(str(way) for way in plan.ways_out)
    return Refused(
        f"Fast-forward of {plan.target!r} to {plan.source!r} is refused. {reasons} Nothing was "
        f"changed. Ways out: {ways}.",
        kind=plan.reasons[0].kind,
        plan=plan.to_object(),
    )


def _publish(
    warehouse: Warehouse,
    table: FileStoreTable,
    call: ProcedureCall,
    checked: Facts,
    verified: Facts,
    judged: JudgedResult | None,
    progress: Progress,
) -> Facts:
    asked = call.request(FastForwardRequest)
    source, target = asked.source, asked.target
    operation = Operation.find(warehouse, table, call.operation_id)
    if operation is None:
        found = _plan_id(table, source, target, takes=asked.force)
        noted = checked.get("journal")
        if found != checked["plan_id"] or not isinstance(noted, dict):
            raise Refused(
                f"Branch {source!r} or {target!r} changed while the files were checked. "
                "Nothing was done; look at the new preview.",
                kind=ErrorKind.HEAD_MOVED,
                plan_id=found,
            )
        journal = replace(
            gate_journal(
                call,
                found,
                FORWARD_JOURNAL.decode(noted),
                judged,
                find_rules(warehouse, table.identifier),
            ),
            files_verified=number_of(verified, "files"),
        )
        operation = Operation.begin(
            warehouse, table, call, branch=target, codec=FORWARD_JOURNAL, journal=journal
        )
    with operation.carried_out() as held:
        done = finish_take_over(held, held.read(FORWARD_JOURNAL), progress)
        return {"receipt": done.to_json()}


def _plan_id(table: FileStoreTable, source: str, target: str, *, takes: bool) -> str:
    """What the plan is called by now; what leaves is read only where something may."""
    with table.listing_once() as listed:
        if takes:
            return _plan(listed, source, target).id
        histories = histories_of(listed.on(source), listed, head_only=True)
        return plan_id(table.identifier.table_name, *histories)


def _copy_of(plan: ForwardDecision, operation_id: str) -> HistoryCopy:
    """Turn the decision into files to copy and, where it is forced, files to take away."""
    source, target = plan.source_head, plan.target_head
    removed = plan.would_remove
    return HistoryCopy(
        source=plan.source,
        target=plan.target,
        expected_head=None if target is None else target.identity,
        expected_head_id=None if target is None else target.id,
        new_head=None if source is None else source.identity,
        new_head_id=None if source is None else source.id,
        schema_ids=plan.arrives.schema_ids,
        tags=tuple(tag.name for tag in plan.arrives.tags),
        snapshot_ids=tuple(snapshot.id for snapshot in plan.arrives.snapshots),
        inherited=inherited_by(plan.arrives),
        remove_snapshot_ids=tuple(snapshot.id for snapshot in removed.snapshots),
        remove_schema_ids=removed.schema_ids,
        remove_tags=tuple(tag.name for tag in removed.tags),
        rescue_branch=rescue_name(operation_id) if not removed.is_empty else None,
    )


def _nothing_to_do(warehouse: Warehouse, call: ProcedureCall, plan_id: str) -> Receipt:
    now = warehouse.clock()
    asked = call.request(FastForwardRequest)
    text = f"Branch {asked.target!r} already holds all of {asked.source!r}; nothing was changed."
    return receipt_without_change(call, plan_id, (text,), started_millis=now, finished_millis=now)


def _target_of(asked: FastForwardRequest) -> Identifier:
    return Identifier.parse(asked.table).on_branch(asked.target)


def _what(target: str, *, force: bool) -> str:
    return f"replace {target!r}" if force else f"fast-forward {target!r}"
