"""Merging a branch into another one, as one snapshot on the target: files move, rows do not."""

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

import pyarrow as pa

from branch_console.diff.history_move import count
from branch_console.errors import CommitConflict, ErrorKind, Refused
from branch_console.format.journals.history import HistoryJournal
from branch_console.format.journals.merge import MERGE_JOURNAL, AnyMergeJournal
from branch_console.format.journals.terms import OperationJournal
from branch_console.format.kept_elsewhere import Act
from branch_console.format.receipt import Receipt
from branch_console.merge.conflict import Conflict, ConflictKind
from branch_console.merge.plan import (
    FastForwardPlan,
    Plan,
    RefusedPlan,
    SchemaPlan,
    ThreeWayPlan,
    UpToDatePlan,
    can_run,
    found_by,
    merging,
)
from branch_console.procedures.branch.drop_branch import open_operations
from branch_console.procedures.branch.fast_forward import journal_of_forward, with_counted_rows
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    NOTHING_TO_UNDO,
    Consequence,
    Preview,
    blocks,
    changes,
    keeps,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.branch_histories import tags_before
from branch_console.procedures.history.file_sharing import journal_of_sharing, sharing_consequences
from branch_console.procedures.history.protection import protection_of, rule_text
from branch_console.procedures.merge.carried_plan import CarriedPlan
from branch_console.procedures.merge.inputs import (
    DecidedMerge,
    PlannedMerge,
    decided_again,
    decided_merge,
)
from branch_console.procedures.merge.merge_choices import decisions_on_merge
from branch_console.procedures.merge.merge_kind import MergeKind, MergeSpec
from branch_console.procedures.merge.publish import finish_merge, journal_of_merge
from branch_console.procedures.merge.reconcile_rows import settle_rows
from branch_console.procedures.merge.result_states import states_to_judge
from branch_console.procedures.merge.row_consequences import (
    comparison_consequences,
    snapshot_consequence,
)
from branch_console.procedures.run.dry_run_results import find_judgement
from branch_console.procedures.run.planned_heads import PlannedHeads
from branch_console.procedures.run.procedure import Procedure
from branch_console.procedures.run.quality_gate import rule_consequences
from branch_console.procedures.run.receipts import receipt_without_change
from branch_console.procedures.run.rule_evaluation import find_rules
from branch_console.procedures.run.written_rows import withdraw_rows
from branch_console.quality.rules import RuleSet
from branch_console.table.data_file_paths import data_file_paths
from branch_console.table.file_checks import FILES_TO_VERIFY
from branch_console.table.file_store_table import FileStoreTable


def plan_merge_call(warehouse: Warehouse, call: ProcedureCall) -> PlannedMerge:
    """Decide on a merge, and note what its run needs.

    Arguments of the call: `table`, `branch` (the source), `target` (main), `strict`, `scope`
    (table, partition), `isolation` (serializable, snapshot), `policy` (YAML that settles conflicts
    of rows), `override_gate` (why an operator publishes what the gate blocks), `reason`, `plan_id`,
    `plan_again` (go on with a new plan where the target moved and `decisions` still stand), `wait`
    (how long to keep trying), `heads` (at which it was planned, while the branches go on).

    Raises:
        NotFound: There is no such table or branch.
        InvalidInput: A rule is not known, or both branches are one.
    """
    return _planned(warehouse, call, decided_merge(warehouse, call))


def plan_merge_on(warehouse: Warehouse, call: ProcedureCall, earlier: PlannedMerge) -> PlannedMerge:
    """Decide like `plan_merge_call`; heads that did not move are not read again."""
    return _planned(warehouse, call, decided_again(warehouse, call, earlier.merge))


def _planned(warehouse: Warehouse, call: ProcedureCall, merge: DecidedMerge) -> PlannedMerge:
    target, plan = merge.target, merge.plan
    heads = PlannedHeads.of(call)
    moving = merging(plan)
    if moving is not None and heads.target_id is not None:
        _check_carried(target, moving)
    rules = find_rules(warehouse, target.identifier) if can_run(plan) else None
    preview = preview_of_merge(warehouse, merge, rules)
    journal = journal_of_decision(merge, call.operation_id)
    if isinstance(plan, FastForwardPlan) and isinstance(journal, HistoryJournal):
        journal = with_counted_rows(warehouse, target, plan.move.decision, journal)
    already = None
    if isinstance(plan, UpToDatePlan):
        already = _nothing_to_do(warehouse, call, plan)
    planned = PlannedHeads.of_plan(plan)
    return PlannedMerge(
        merge=merge,
        preview=preview,
        act=Act.COMMIT,
        rules=rules,
        table=target,
        branch=target.branch,
        journal=replace(journal, plan_id=plan.id, reason=call.reason),
        earlier_receipt=already,
        heads=None if planned is None else planned.to_text(),
    )


def journal_of_decision(merge: DecidedMerge, operation_id: str) -> OperationJournal:
    """Return the journal of a merge; an empty one if the merge could not run."""
    target, spec, plan = merge.target, merge.spec, merge.plan
    if isinstance(plan, FastForwardPlan):
        move = plan.move
        return journal_of_forward(target, move.decision, move.safety, operation_id)
    moving = merging(plan)
    if moving is None:
        return OperationJournal()
    return replace(
        journal_of_merge(spec, moving),
        sharing=journal_of_sharing(
            moving.safety,
            target.on(spec.source),
            operation_id,
            (plan.source, plan.target, *moving.ancestor_branches),
        ),
        tags_before=tags_before(target, {schema.id for schema in moving.schema.schemas}),
    )


def _check_carried(target: FileStoreTable, plan: ThreeWayPlan) -> None:
    """Refuse a plan that does not hold on the head as it is, before anything is done for it."""
    try:
        CarriedPlan(target, plan).check(target.head())
    except CommitConflict as error:
        raise Refused(error.message, kind=error.kind, plan_id=plan.id) from error


def preview_of_merge(warehouse: Warehouse, merge: DecidedMerge, rules: RuleSet | None) -> Preview:
    """Tell the consequences of a merge, a pick or a revert that rules of the table will judge."""
    target, spec, plan = merge.target, merge.spec, merge.plan
    events, open_ones = target.reader.both(
        target.ledger.whole, lambda: open_operations(warehouse, target)
    )
    rule = protection_of(events, plan.target)
    consequences = [*_in_the_way(plan), *comparison_consequences(plan), *open_ones]
    if can_run(plan):
        consequences += _gains(plan)
        judged = None if rules is None else find_judgement(warehouse, target, plan.id)
        consequences += rule_consequences(rules, judged=judged)
    consequences += [changes(note) for note in plan.notes]
    if rule is not None:
        consequences.append(changes(f"Branch {plan.target!r} is protected by {rule_text(rule)}."))
    consequences += [keeps(text) for text in _kept(spec)]
    return Preview(
        procedure=str(spec.kind),
        title=f"{spec.title} of {plan.table}",
        plan_id=plan.id,
        consequences=tuple(consequences),
        typed_name=None,
        role=Role.EDITOR if rule is None else Role.APPROVER,
        undo=NOTHING_TO_UNDO
        if isinstance(plan, UpToDatePlan)
        else f"You can undo this until the next commit on {plan.target!r}.",
    )


def _in_the_way(plan: Plan) -> list[Consequence]:
    """Why a plan is refused, or which conflicts stop it."""
    match plan:
        case RefusedPlan():
            return [blocks(each.text, each.kind) for each in plan.blocks]
        case ThreeWayPlan() | SchemaPlan():
            return _open_conflicts(plan.conflicts)
        case UpToDatePlan() | FastForwardPlan():
            return []
        case _:
            assert_never(plan)


def _open_conflicts(conflicts: Sequence[Conflict]) -> list[Consequence]:
    if not conflicts:
        return []
    # What no policy settles needs another way out.
    advice = dict.fromkeys(
        f" {each.advice}"
        for each in conflicts
        if each.kind is ConflictKind.FILE_REWRITTEN and each.advice
    )
    return [
        blocks(
            f"{count(len(conflicts), 'conflict')} must be settled first.{''.join(advice)}",
            ErrorKind.CONFLICTS_OPEN,
            tuple(
                f"{each.kind}: {each.subject} ({each.rule}): {each.sides.theirs} on the "
                f"source, {each.sides.ours} on the target"
                for each in conflicts
            ),
        )
    ]


def files_to_merge(planned: PlannedMerge) -> pa.Table:
    """Data files that come to the target, with the columns of FILES_TO_VERIFY."""
    return files_of_merge(planned.merge)


def files_of_merge(merge: DecidedMerge) -> pa.Table:
    """Data files that a merge brings to its target, with the columns of FILES_TO_VERIFY."""
    plan = found_by(merge.plan)
    if plan is None:
        return FILES_TO_VERIFY.empty_table()
    parts = []
    target, source = merge.as_decided
    for holder, files in (
        (source, plan.moves.add),
        (source, plan.moves.replays),
        (target, plan.moves.restore),
    ):
        columns = [files["file_size"], files["row_count"]]
        parts.append(pa.table([data_file_paths(holder, files), *columns], schema=FILES_TO_VERIFY))
    return pa.concat_tables(parts)


def _procedure(kind: MergeKind, what: str, doing: str) -> Procedure[PlannedMerge, AnyMergeJournal]:
    return Procedure(
        name=str(kind),
        what=what,
        doing=doing,
        plan=plan_merge_call,
        codec=MERGE_JOURNAL,
        finish=finish_merge,
        files_to_verify=files_to_merge,
        rows=settle_rows,
        discard=withdraw_rows,
        gate=lambda planned, written: states_to_judge(planned.merge, written),
        decisions=decisions_on_merge,
        plan_on=plan_merge_on,
    )


MERGE_BRANCH = _procedure(MergeKind.MERGE, "merge a branch", "Merging.")
CHERRY_PICK = _procedure(MergeKind.CHERRY_PICK, "pick a snapshot", "Picking the snapshot.")
REVERT = _procedure(MergeKind.REVERT, "revert a snapshot", "Reverting.")


def _kept(spec: MergeSpec) -> tuple[str, ...]:
    match spec.kind:
        case MergeKind.MERGE:
            return (
                f"{spec.source!r} and the snapshots that {spec.target!r} has now do not change.",
            )
        case MergeKind.CHERRY_PICK:
            return (
                f"{spec.source!r} and the snapshots that {spec.target!r} has now do not change.",
                f"A later merge of {spec.source!r} finds the same change, and takes it once.",
            )
        case MergeKind.REVERT:
            return (
                f"Every snapshot of {spec.target!r} stays, and so does its schema.",
                "If this reverts a merge, the next merge of that branch leaves its changes out. To "
                "have them again, revert the revert first.",
            )


def _gains(plan: Plan) -> list[Consequence]:
    """Return what a merge that can run adds to the target, and the measures for shared files."""
    match plan:
        case ThreeWayPlan():
            return [*_moved(plan), *sharing_consequences(plan.safety)]
        case FastForwardPlan():
            return sharing_consequences(plan.move.safety)
        case SchemaPlan():
            return _new_schema(plan)
        case UpToDatePlan() | RefusedPlan():
            return []
        case _:
            assert_never(plan)


def _moved(plan: ThreeWayPlan) -> list[Consequence]:
    cost = plan.cost
    consequences = [snapshot_consequence(plan)]
    if cost.files_restored:
        consequences.append(
            changes(
                f"{count(cost.files_restored, 'data file')} of before a compaction of "
                f"{plan.target!r} {'is' if cost.files_restored == 1 else 'are'} restored, because "
                "the source changed rows in them."
            )
        )
    if cost.bytes_to_copy:
        consequences.append(changes(f"{cost.bytes_to_copy:,} bytes are copied."))
    return [*consequences, *_new_schema(plan)]


def _new_schema(plan: ThreeWayPlan | SchemaPlan) -> list[Consequence]:
    new = [each.id for each in plan.schema.schemas]
    return [changes(f"{plan.target!r} gets schema {new[-1]}.")] if new else []


def _nothing_to_do(warehouse: Warehouse, call: ProcedureCall, plan: UpToDatePlan) -> Receipt:
    now = warehouse.clock()
    notes = (*plan.notes, "Nothing was changed.")
    return receipt_without_change(call, plan.id, notes, started_millis=now, finished_millis=now)
