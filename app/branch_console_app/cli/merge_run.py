"""How a merge is decided, told and run: the verdict first, then what would move and collides."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from branch_console.diff.rows.row_figure import with_sign
from branch_console.diff.schema_diff import SchemaDiff
from branch_console.errors import ErrorKind, NotFound, PaimonError, Refused
from branch_console.format.identifier import Identifier
from branch_console.format.receipt import HeadMove, Receipt
from branch_console.jobs.progress import JobView
from branch_console.merge.conflict import Conflict
from branch_console.merge.known_rows import (
    NOTHING_KNOWN,
    KnownRows,
    ResultFigures,
    count_result,
)
from branch_console.merge.plan import (
    FastForwardPlan,
    Plan,
    RefusedPlan,
    ThreeWayPlan,
    UpToDatePlan,
    can_run,
    conflicts_of,
    found_by,
    plan_object,
    schema_of,
    waits_for_rows,
)
from branch_console.operations.agreement import Agreement
from branch_console.operations.merge_requests import DryRunRequest, MergeRequest
from branch_console.procedures.call.call import Argument
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.merge.row_consequences import same_rows_words
from branch_console.procedures.run.planned_heads import PlannedHeads
from branch_console.procedures.run.quality_gate import STAGE
from branch_console.quality.findings import GATE_ERRORS, RuleFinding, findings_of
from branch_console.quality.rules import RuleSet
from branch_console_app.cli.branches import run_call, snapshot_text
from branch_console_app.cli.check import OVERRIDE_HINT, gate_document, print_check, print_gate
from branch_console_app.cli.output import (
    count,
    error_object,
    print_error,
    print_fields,
    print_json,
    print_line,
    print_note,
    print_rows,
    size,
)
from branch_console_app.judged_heads import JudgementReads, read_gate_run
from branch_console_app.models.branches.head_checks import HeadCheck
from branch_console_app.models.merge.gate_run import GateRun, SoughtMerge
from branch_console_app.models.merge.merge_facts import MergeAttempt, MergeFacts, RowsOfMerge
from branch_console_app.models.merge.merge_preview import (
    MergeDecision,
    SeenPlan,
    SettleOption,
    candidates,
    left_by,
    options_of,
    otherwise_words,
    parts_to_compare,
    proven,
    schema_change,
    strategies_words,
)
from branch_console_app.models.merge.merge_state import MergeStanding, MergeState
from branch_console_app.services import Services

_REFUSED: Final = 1
_CONFLICTS_LISTED: Final = 50


def run_merge(
    services: Services,
    identifier: Identifier,
    arguments: Mapping[str, Argument],
    *,
    plan_again: bool,
    preview: bool,
    dry_run: bool,
    background: bool,
    as_json: bool,
) -> int:
    """Preview a merge and run it unless something stops it; return the exit code.

    Args:
        services: The door to the core.
        identifier: The table.
        arguments: The arguments of the procedure.
        plan_again: Whether to go on where the target moves and the decisions stay.
        preview: Whether to stop once it is told.
        dry_run: Whether to do all but publish.
        background: Whether to leave once the job is enqueued.
        as_json: Whether to print a document.
    """
    decision = services.preview_merge(arguments)
    plan = decision.plan
    rules = services.rules(identifier) if can_run(plan) else None
    rows = _rows_of(services, identifier, plan)
    decision = decision.knowing(rows)
    # A run judges the result itself; what was found before is for those who only look.
    gate = _last_gate_run(services, identifier, arguments, plan, rules) if preview else None
    check = None if gate is None else gate.check_of(plan.target)
    is_overridden = Agreement.decode(MergeRequest.procedure, arguments).override_gate is not None
    state = decision.state(
        MergeFacts(
            rows=rows,
            parts=_parts(services, identifier, plan, rows),
            gate=None if is_overridden else gate,
        )
    )
    if not as_json:
        schema = _schema_change(services, identifier, plan)
        print_merge(state, plan, schema, rows, _settlings(services, arguments, plan))
        print_gate(rules)
        if check is not None:
            print_check(plan.source, check)
    is_done = isinstance(plan, UpToDatePlan)
    refusal = None if is_done else _refusal(decision)
    if preview or refusal is not None or is_done:
        document = _document(plan, state, rows, rules, check)
        if preview and not as_json:
            _print_excusable(decision)
            if state.takes_override and Role(services.settings.role).covers(Role.OPERATOR):
                print_note(OVERRIDE_HINT)
        return _print_end(state, document, refusal, is_preview=preview, as_json=as_json)
    heads = PlannedHeads.of_plan(plan)
    seen = Agreement(
        plan_id=plan.id,
        heads=None if heads is None else heads.to_text(),
        plan_again=plan_again,
        decisions=services.decisions(arguments) if plan_again else None,
    )
    return run_call(
        services,
        (DryRunRequest if dry_run else MergeRequest).procedure,
        {**arguments, **seen.encode()},
        background=background,
        as_json=as_json,
        beside=_document(plan, state, rows, rules),
        after=lambda job: _after(services, identifier, arguments, plan, rules, job),
        tell=lambda receipt: {"snapshot": _snapshot_after(receipt, plan.target)},
    )


def _after(
    services: Services,
    identifier: Identifier,
    arguments: Mapping[str, Argument],
    plan: Plan,
    rules: RuleSet | None,
    job: JobView,
) -> dict[str, object]:
    """Return the state of a merge and of its rules as a job of it has left them."""
    findings = _findings(services, job)
    rows = _rows_of(services, identifier, plan)
    attempt = MergeAttempt(job=job, plan_id=plan.id, findings=findings)
    facts = MergeFacts(
        rows=rows, seen_by="command", now_millis=time.time_ns() // 1_000_000,
        zone=datetime.now(UTC).astimezone().tzinfo,
    )  # fmt: skip
    if job.name == DryRunRequest.procedure:
        state = MergeState.of(plan, replace(facts, dry_run=attempt))
    elif job.error is ErrorKind.HEAD_MOVED:
        newer = services.preview_merge(arguments).plan
        stale = SeenPlan.of(plan).staleness(newer, "this command made its plan")
        state = MergeState.of(newer, replace(facts, merge=attempt, stale=stale))
    else:
        if job.receipt_id is not None:
            attempt = _with_receipt(services, identifier, attempt, job.receipt_id, plan.target)
        state = MergeState.after_run(plan, replace(facts, merge=attempt))
    compared = {} if rows is None else {"row_comparison": rows.known.to_object()}
    return {"state": state.to_object(), **compared, **gate_document(rules, findings)}


def _with_receipt(
    services: Services, identifier: Identifier, attempt: MergeAttempt, receipt_id: str, target: str
) -> MergeAttempt:
    head = _head_after(services.receipt(receipt_id), target)
    chance = services.undo_chance(receipt_id, identifier)
    return replace(
        attempt,
        snapshot_id=None if head is None else head.after_id,
        can_undo=chance.obstacle is None,
    )


def _findings(services: Services, job: JobView) -> tuple[RuleFinding, ...]:
    """Return what the rules found in the result of a job; nothing if it did not get that far."""
    if job.error not in GATE_ERRORS and all(each.name != STAGE for each in job.steps):
        return ()
    with suppress(NotFound):  # where it was the rules that moved, nothing was judged
        return findings_of(services.answer(job.id).rows.to_pylist())
    return ()


def print_merge(
    state: MergeState,
    plan: Plan,
    schema: SchemaDiff | None,
    rows: RowsOfMerge | None = None,
    settlings: Sequence[SettleOption] = (),
) -> None:
    """Print what a merge would do: its verdict, its sides, what moves, and what collides.

    Args:
        state: The verdict.
        plan: The decision.
        schema: What becomes of the target's schema; None if that stays.
        rows: What is known of the rows that both sides changed; None if none has to be compared.
        settlings: The options that were tried and settle conflicts.
    """
    print_line(f"{state.standing}: {state.text}")
    print_line()
    print_fields(
        {
            "table": plan.table,
            "base": snapshot_text(plan.heads.base),
            "target": f"{plan.target} at {snapshot_text(plan.heads.ours)}",
            "source": f"{plan.source} at {snapshot_text(plan.heads.theirs)}",
            **_moves(plan, NOTHING_KNOWN if rows is None else rows.known),
        }
    )
    _print_schema(schema)
    _print_conflicts(conflicts_of(plan), settlings)
    if plan.notes:
        print_line()
    for note in plan.notes:
        print_line(note)
    if waits_for_rows(plan):
        print_line(
            f"Rows both sides changed: branch-console conflicts {plan.source} --table {plan.table} "
            f"--to {plan.target}"
        )


def _rows_of(services: Services, table: Identifier, plan: Plan) -> RowsOfMerge | None:
    """Return what is known of the rows of a plan; None if none of them has to be read."""
    found = found_by(plan)
    if found is None or not found.reads_rows:
        return None
    staged = services.staged_figures(table, plan.id)
    if not found.cost.buckets_to_compare:
        return RowsOfMerge.of_plan(plan, staged)
    conflicts = services.row_conflicts(table, plan.id)
    if conflicts is None:
        return RowsOfMerge.of_plan(plan, staged)
    return RowsOfMerge.of_conflicts(conflicts, staged)


def _refusal(decision: MergeDecision) -> PaimonError | None:
    blocks = decision.preview.blocks
    if not blocks:
        return None
    texts = " ".join(each.text for each in blocks)
    return Refused(
        f"Merge refused; {decision.plan.target!r} is unchanged. {texts}", kind=blocks[0].kind
    )


def _print_excusable(decision: MergeDecision) -> None:
    """Print what stops a run that nobody gives a reason for; the verdict does not count it."""
    for each in decision.preview.blocks:
        if each.excused_by is not None:
            print_line(f"{each.kind}: {each.text}")


def _last_gate_run(
    services: Services,
    identifier: Identifier,
    arguments: Mapping[str, Argument],
    plan: Plan,
    rules: RuleSet | None,
) -> GateRun | None:
    """Return the last run of the rules on the result of a plan; None if it says nothing of it."""
    if rules is None:
        return None
    # `fast-forward` runs the same move under a plan of its own.
    move = plan.move.decision if isinstance(plan, FastForwardPlan) else None
    sought = SoughtMerge(
        request=MergeRequest.decode(MergeRequest.procedure, arguments),
        ours=plan.heads.ours,
        theirs=plan.heads.theirs,
        plan_ids=(plan.id,) if move is None else (plan.id, move.id),
        is_forward=move is not None,
        digest=rules.digest,
        depends_on_time=rules.depends_on_time,
    )
    found = read_gate_run(JudgementReads.of(services), identifier, sought)
    return None if found is None or found.outdated else found


def _document(
    plan: Plan,
    state: MergeState,
    rows: RowsOfMerge | None,
    rules: RuleSet | None,
    check: HeadCheck | None = None,
) -> dict[str, object]:
    compared = {} if rows is None else {"row_comparison": rows.known.to_object()}
    findings = () if check is None else check.report.findings
    return {
        **plan_object(plan),
        "state": state.to_object(),
        **compared,
        **gate_document(rules, findings),
        **({} if check is None else {"check": check.to_object()}),
    }


def _print_end(
    state: MergeState,
    document: Mapping[str, object],
    refusal: PaimonError | None,
    *,
    is_preview: bool,
    as_json: bool,
) -> int:
    """End without a run: this was only to be looked at, nothing is to do, or something blocks."""
    if as_json:
        error = {} if refusal is None or is_preview else {"error": error_object(refusal)}
        print_json({**document, **error})
    elif refusal is not None and not is_preview:
        print_error(refusal, as_json=False)
    # What only waits, such as another job on the target, is no part of a preview.
    stops = state.standing in (
        MergeStanding.REFUSED,
        MergeStanding.CONFLICTS,
        MergeStanding.GATE_RED,
    )
    is_refused = stops if is_preview else refusal is not None
    return _REFUSED if is_refused else 0


def _schema_change(services: Services, identifier: Identifier, plan: Plan) -> SchemaDiff | None:
    merged = schema_of(plan)
    if merged is None or not merged.schemas:
        return None
    return schema_change(plan, services.table(identifier.on_branch(plan.target)).schema)


def _parts(
    services: Services, identifier: Identifier, plan: Plan, rows: RowsOfMerge | None
) -> tuple[str, ...]:
    """Return the partitions whose rows have to be compared; nothing else needs their names."""
    if rows is None or not rows.is_needed or rows.is_compared:
        return ()
    return parts_to_compare(plan, services.table(identifier.on_branch(plan.target)).schema)


def _moves(plan: Plan, known: KnownRows) -> dict[str, object]:
    """Return the files and rows that would move, by name; empty if nothing does."""
    if isinstance(plan, FastForwardPlan):
        arrives = plan.move.decision.arrives
        commits = count(len(arrives.snapshots), "commit")
        return {"arrives": f"{commits}, {arrives.figure.words(with_sign)}"}
    found = found_by(plan)
    if found is None or isinstance(plan, RefusedPlan):
        return {}
    cost = found.cost
    free = "both branches name the same files" if found.shares_files else "hard links"
    return {
        "buckets": strategies_words(plan, is_compared=known.is_compared) or "none changes",
        **_counted(found, known),
        "copied": size(cost.bytes_to_copy) if cost.bytes_to_copy else f"nothing: {free}",
    }


def _counted(plan: ThreeWayPlan, known: KnownRows) -> dict[str, object]:
    """Count files and rows, or say what has to happen before they can be counted."""
    result, cost = count_result(plan, known), plan.cost
    if result is None:
        if plan.conflicts or known.open_conflicts:
            return {"files": "follow from how the conflicts are settled"}
        if known.is_compared:
            return {"files": "counted by a dry run"}
        least = f"at least {cost.files_added:,} in, {cost.files_removed:,} out"
        return {"files": least, "records": "counted by a dry run"}
    files = [f"{result.files_added:,} in", f"{result.files_removed:,} out"]
    if cost.files_restored:
        files.append(f"{cost.files_restored:,} back")
    if cost.files_joined:
        files.append(f"rows of {cost.files_joined:,} rewritten")
    return {"files": ", ".join(files), **_rows_words(plan, result)}


def _rows_words(plan: ThreeWayPlan, result: ResultFigures) -> dict[str, object]:
    if result.rows_counted is not None:
        before, after = result.rows_counted
        if before == after:
            return {"rows": same_rows_words(result, after, has_key=plan.did.ours.has_key)}
        return {"rows": f"{after:,} afterwards, {before:,} now"}
    come, go = result.records_in, result.records_out
    if result.is_of_rows:
        return {"rows": f"{come:,} in, {go:,} out"}
    return {"records": f"{come:,} in added files, {go:,} in removed files"}


def _print_schema(schema: SchemaDiff | None) -> None:
    if schema is None:
        return
    print_line()
    print_rows(
        ("schema", "of", "from", "to"),
        ((str(each.kind), each.subject, each.before, each.after) for each in schema.changes),
    )


def _print_conflicts(conflicts: tuple[Conflict, ...], settlings: Sequence[SettleOption]) -> None:
    if not conflicts:
        return
    print_line()
    print_rows(
        ("conflict", "of", "rule", "base", "target", "source", "settled by"),
        (
            (
                str(each.kind),
                str(each.subject),
                each.rule,
                each.sides.base or None,
                each.sides.ours,
                each.sides.theirs,
                _settled_by(each, settlings),
            )
            for each in conflicts[:_CONFLICTS_LISTED]
        ),
        total=len(conflicts),
    )
    for advice in dict.fromkeys(each.advice for each in conflicts[:_CONFLICTS_LISTED]):
        if advice:
            print_line(advice)


def _settled_by(conflict: Conflict, settlings: Sequence[SettleOption]) -> str:
    """The options of this command that were tried and settle a conflict, or what else does."""
    tried = [dict(each.view) for each in settlings]
    options = [
        f"--{name} {value}"
        for option in options_of(conflict)
        for name, value in option.view.items()
        if dict(option.view) in tried
    ]
    return " or ".join(options) or otherwise_words(conflict.settle_with)


def _settlings(
    services: Services, arguments: Mapping[str, Argument], plan: Plan
) -> tuple[SettleOption, ...]:
    """Have the planner try the options that may settle conflicts."""
    found = conflicts_of(plan)
    return proven(
        candidates(found, plan.rules),
        len(found),
        lambda option: left_by(services.preview_merge({**arguments, **option.view}).plan),
    )


def _head_after(receipt: Receipt, target: str) -> HeadMove | None:
    """Return the move of the target; None if it has no snapshot afterwards."""
    moves = (each for each in receipt.moves if each.branch == target and each.after is not None)
    return next(moves, None)


def _snapshot_after(receipt: Receipt, target: str) -> Mapping[str, object] | None:
    move = _head_after(receipt, target)
    if move is None or move.after is None:
        return None
    return {"id": move.after_id, "identity": move.after.short}
