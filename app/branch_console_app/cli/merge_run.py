"""How a merge is decided, told and run: the verdict first, then what would move and collides."""

from collections.abc import Mapping
from typing import Final, assert_never

from branch_console.diff.schema_diff import SchemaDiff
from branch_console.errors import PaimonError, Refused
from branch_console.format.identifier import Identifier
from branch_console.format.receipt import Receipt
from branch_console.merge.conflict import Conflict
from branch_console.merge.plan import (
    FastForwardPlan,
    Plan,
    RefusedPlan,
    SchemaPlan,
    ThreeWayPlan,
    UpToDatePlan,
    can_run,
    conflicts_of,
    cost_of,
    found_by,
    plan_object,
    schema_of,
    verdict_of,
)
from branch_console.operations.agreement import Agreement
from branch_console.operations.merge_requests import DryRunRequest, MergeRequest
from branch_console.procedures.call.call import Argument
from branch_console.procedures.run.planned_heads import PlannedHeads
from branch_console.quality.rules import RuleSet
from branch_console_app.cli.branches import run_call, snapshot_text
from branch_console_app.cli.check import gate_document, print_gate
from branch_console_app.cli.output import (
    count,
    error_object,
    print_error,
    print_fields,
    print_json,
    print_line,
    print_rows,
    size,
)
from branch_console_app.models.merge.merge_figures import records_moved
from branch_console_app.models.merge.merge_preview import (
    MergeDecision,
    otherwise_words,
    schema_change,
    settling_option,
    strategies_words,
)
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
        arguments: Of the procedure.
        plan_again: Whether to go on where the target moves and the decisions stay.
        preview: Whether to stop once it is told.
        dry_run: Whether to do all but publish.
        background: Whether to leave once the job is enqueued.
        as_json: Whether to print a document.
    """
    decision = services.preview_merge(arguments)
    plan = decision.plan
    rules = services.rules(identifier) if can_run(plan) else None
    if not as_json:
        print_merge(plan, _schema_change(services, identifier, plan))
        print_gate(rules)
    is_done = isinstance(plan, UpToDatePlan)
    refusal = None if is_done else _refusal(decision)
    if preview or refusal is not None or is_done:
        return _print_end(plan, rules, refusal, is_preview=preview, as_json=as_json)
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
        beside={**plan_object(plan), **gate_document(rules)},
        tell=lambda receipt: {"snapshot": _head_after(receipt, plan.target)},
    )


def print_merge(plan: Plan, schema: SchemaDiff | None) -> None:
    """Print what a merge would do: its verdict, its sides, what moves, and what collides.

    Args:
        plan: The decision.
        schema: What becomes of the target's schema; None where that stays.
    """
    print_line(_verdict_text(plan))
    print_line()
    print_fields(
        {
            "table": plan.table,
            "base": snapshot_text(plan.heads.base),
            "ours": f"{plan.target} at {snapshot_text(plan.heads.ours)}",
            "theirs": f"{plan.source} at {snapshot_text(plan.heads.theirs)}",
            **_moves(plan),
        }
    )
    _print_schema(schema)
    _print_conflicts(conflicts_of(plan))
    if plan.notes:
        print_line()
    for note in plan.notes:
        print_line(note)
    if cost_of(plan).buckets_to_compare:
        print_line(
            f"Rows both sides changed: branch-console conflicts {plan.source} --table {plan.table} "
            f"--to {plan.target}"
        )


def _refusal(decision: MergeDecision) -> PaimonError | None:
    blocks = decision.preview.blocks
    if not blocks:
        return None
    texts = " ".join(each.text for each in blocks)
    return Refused(
        f"Merge refused; {decision.plan.target!r} is unchanged. {texts}", kind=blocks[0].kind
    )


def _print_end(
    plan: Plan,
    rules: RuleSet | None,
    refusal: PaimonError | None,
    *,
    is_preview: bool,
    as_json: bool,
) -> int:
    """End without a run: this was only to be looked at, nothing is to do, or something blocks."""
    if as_json:
        error = {} if refusal is None or is_preview else {"error": error_object(refusal)}
        print_json({**plan_object(plan), **gate_document(rules), **error})
    elif refusal is not None:
        print_error(refusal, as_json=False)
    # What only waits, such as another job on the target, is no part of a preview.
    stops = isinstance(plan, RefusedPlan) or bool(conflicts_of(plan))
    is_refused = stops if is_preview else refusal is not None
    return _REFUSED if is_refused else 0


def _schema_change(services: Services, identifier: Identifier, plan: Plan) -> SchemaDiff | None:
    merged = schema_of(plan)
    if merged is None or not merged.schemas:
        return None
    return schema_change(plan, services.table(identifier.on_branch(plan.target)).schema)


def _verdict_text(plan: Plan) -> str:
    source, target = plan.source, plan.target
    match plan:
        case ThreeWayPlan() | SchemaPlan() if plan.conflicts:
            text = f"{count(len(plan.conflicts), 'thing')} changed on both {source} and {target}"
        case ThreeWayPlan() if plan.is_undecided:
            text = _to_read(plan)
        case ThreeWayPlan():
            text = f"{source} merges into {target}, and nothing collides"
        case SchemaPlan():
            text = f"{source} has no snapshot; its columns and options come to {target}"
        case UpToDatePlan():
            text = f"{target} holds all that {source} changed"
        case FastForwardPlan():
            text = f"{target} takes over the history of {source}"
        case RefusedPlan():
            text = f"{source} cannot be merged into {target}"
        case _:
            assert_never(plan)
    return f"{verdict_of(plan)}: {text}"


def _to_read(plan: ThreeWayPlan) -> str:
    if plan.cost.buckets_to_compare:
        buckets = count(plan.cost.buckets_to_compare, "bucket")
        return f"{buckets} to compare, a job reads the changed keys"
    files = count(plan.cost.files_joined, "data file")
    return f"rows of {files} were changed on both branches, a job reads them"


def _moves(plan: Plan) -> dict[str, object]:
    """What would move, as names and values; nothing where the heads alone decided."""
    found = found_by(plan)
    if found is None:
        return {}
    cost = found.cost
    come, go = records_moved(found)
    files = [f"{cost.files_added:,} in", f"{cost.files_removed:,} out"]
    if cost.files_restored:
        files.append(f"{cost.files_restored:,} back")
    if cost.files_joined:
        files.append(f"rows of {cost.files_joined:,} written again")
    free = "both branches name the same files" if found.shares_files else "hard links"
    return {
        "buckets": strategies_words(plan) or "none changes",
        "files": ", ".join(files),
        **_moved_words(found, come, go),
        "copied": size(cost.bytes_to_copy) if cost.bytes_to_copy else f"nothing: {free}",
    }


def _moved_words(plan: ThreeWayPlan, come: int, go: int) -> dict[str, str]:
    if plan.cost.figure.rows is not None:
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


def _print_conflicts(conflicts: tuple[Conflict, ...]) -> None:
    if not conflicts:
        return
    print_line()
    print_rows(
        ("conflict", "of", "rule", "base", "ours", "theirs", "settled by"),
        (
            (
                str(each.kind),
                str(each.subject),
                each.rule,
                each.sides.base or None,
                each.sides.ours,
                each.sides.theirs,
                _settled_by(each),
            )
            for each in conflicts[:_CONFLICTS_LISTED]
        ),
        total=len(conflicts),
    )
    for advice in dict.fromkeys(each.advice for each in conflicts[:_CONFLICTS_LISTED]):
        if advice:
            print_line(advice)


def _settled_by(conflict: Conflict) -> str:
    """The options of this command that settle a conflict, or what else does."""
    options = [
        f"--{name} {value}"
        for take in conflict.settle_with
        for name, value in (settling_option(take) or {}).items()
    ]
    return " or ".join(options) or otherwise_words(conflict.settle_with)


def _head_after(receipt: Receipt, target: str) -> Mapping[str, object] | None:
    for move in receipt.moves:
        if move.branch == target and move.after is not None:
            return {"id": move.after_id, "identity": move.after.short}
    return None
