"""Merging a branch of the catalog: decided, and told before anything is changed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from branch_console.errors import ErrorKind, InvalidInput, NotFound
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.terms import OperationJournal
from branch_console.merge.catalog.catalog_plan import CatalogMergePlan, plan_catalog_merge
from branch_console.merge.catalog.catalog_report import (
    conflict_words,
    cost_words,
    object_words,
    verdict_words,
)
from branch_console.merge.catalog.catalog_steps import CatalogStep, StepKind
from branch_console.merge.catalog.object_merge import ObjectMerge
from branch_console.merge.catalog.object_rules import ObjectRules
from branch_console.merge.file_moves import MergeRules
from branch_console.merge.plan import MergeVerdict, can_run
from branch_console.merge.policy import Policy
from branch_console.operations.catalog_requests import MergeCatalogRequest
from branch_console.procedures.branch.drop_branch import open_operations
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    NOTHING_TO_UNDO,
    Consequence,
    Preview,
    blocks,
    changes,
    keeps,
    loses,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.create import check_catalog_kind
from branch_console.procedures.catalog.database_words import some_names
from branch_console.procedures.catalog.seen_catalog import tables_with_branch
from branch_console.procedures.catalog_merge.actions import ACTIONS, not_served
from branch_console.procedures.catalog_merge.catalog_sides import (
    CatalogMergeSpec,
    ReadSides,
    read_catalog_sides,
)
from branch_console.procedures.catalog_merge.planned_merge import PlannedCatalogMerge, subject_of
from branch_console.procedures.catalog_merge.step_checks import blocks_of_steps
from branch_console.procedures.catalog_merge.tables_gate import rule_consequences_of
from branch_console.procedures.history.protection import protection_of, rule_text
from branch_console.procedures.merge.inputs import DecidedMerge, rules_by
from branch_console.procedures.run.archived import archive_blocks
from branch_console.procedures.run.receipts import receipt_without_change

_AS_AN_OPERATOR: Final = (StepKind.DROP_DATABASE, StepKind.DROP_TABLE)


def preview_catalog_merge(
    warehouse: Warehouse,
    spec: CatalogMergeSpec,
    rules: MergeRules | None = None,
    objects: ObjectRules | None = None,
) -> CatalogMergePlan:
    """Decide what merging a branch of the catalog would do; nothing is written.

    Raises:
        NotFound: A branch is no catalog branch, or there is no such database.
        InvalidInput: Source and target are one branch.
        NotAllowed: Another catalog keeps the databases.
    """
    return _decided(warehouse, spec, rules or MergeRules(), objects).plan


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Decided:
    """The plan of a merge, with what was read for it."""

    plan: CatalogMergePlan
    read: ReadSides


def _decided(
    warehouse: Warehouse, spec: CatalogMergeSpec, rules: MergeRules, objects: ObjectRules | None
) -> _Decided:
    check_catalog_kind(warehouse)
    if spec.source == spec.target:
        raise InvalidInput(
            f"Branch {spec.source!r} cannot be merged into itself. Name two.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    for branch in (spec.source, spec.target):
        if branch != MAIN_BRANCH and not warehouse.has_catalog_branch(branch):
            raise _no_catalog_branch(warehouse, branch)
    read = read_catalog_sides(warehouse, spec, rules)
    heads = {
        key: plan.heads.ours
        for key, plan in read.sides.plans.items()
        if plan.heads.ours is not None
    }
    plan = plan_catalog_merge(
        read.sides,
        objects or ObjectRules(strict=rules.strict),
        newest_commits={key: head.time_millis for key, head in heads.items()},
        policy=repr(rules),
    )
    # Only what would run: where something has to be settled first, other steps may come of it.
    found = blocks_of_steps(warehouse, plan, read.decided) if plan.can_run else {}
    return _Decided(plan=plan.blocked(found) if found else plan, read=read)


def catalog_merge_of(warehouse: Warehouse, call: ProcedureCall) -> CatalogMergePlan:
    """Decide on the merge that a call asks for; raises as `preview_catalog_merge` does."""
    return _decided_for(warehouse, call).plan


def _decided_for(warehouse: Warehouse, call: ProcedureCall) -> _Decided:
    asked = call.request(MergeCatalogRequest)
    policy = None if asked.policy is None else Policy.from_yaml(asked.policy)
    spec = CatalogMergeSpec(
        source=asked.source, target=asked.target or MAIN_BRANCH, database=asked.database
    )
    objects = ObjectRules(strict=asked.strict, choices=() if policy is None else policy.objects)
    return _decided(warehouse, spec, rules_by(asked, policy), objects)


def rules_of_catalog(call: ProcedureCall) -> MergeRules:
    """Return the rules by which the tables of a merge are merged; raises InvalidInput."""
    asked = call.request(MergeCatalogRequest)
    return rules_by(asked, None if asked.policy is None else Policy.from_yaml(asked.policy))


def _no_catalog_branch(warehouse: Warehouse, branch: str) -> NotFound:
    """Say that a branch is none of the catalog, and which tables have one of its name."""
    having = list(tables_with_branch(warehouse, branch))
    if not having:
        return warehouse.ledger.no_branch(branch)
    return NotFound(
        f"{branch!r} is no branch of the catalog, but tables have a branch of this name: "
        f"{some_names(having)}. Merge each: MERGE BRANCH {branch} ON TABLE {having[0]}.",
        kind=ErrorKind.BRANCH_NOT_FOUND,
        branch=branch,
    )


# --- as a procedure ------------------------------------------------------------------------------


def plan_catalog_merge_call(warehouse: Warehouse, call: ProcedureCall) -> PlannedCatalogMerge:
    """Decide on the merge that a call asks for, and tell it as a preview."""
    found = _decided_for(warehouse, call)
    plan, decided = found.plan, found.read.decided
    already = None
    if plan.verdict is MergeVerdict.UP_TO_DATE:
        now = warehouse.clock()
        notes = (verdict_words(plan), "Nothing was changed.")
        already = receipt_without_change(
            call, plan.id, notes, started_millis=now, finished_millis=now
        )
    return PlannedCatalogMerge(
        preview=replace(_preview(warehouse, plan, decided), is_idle=already is not None),
        journal=OperationJournal(plan_id=plan.id),
        branch=plan.target,
        earlier_receipt=already,
        plan=plan,
        decided=decided,
        main=found.read.main,
    )


def not_served_of(warehouse: Warehouse, plan: CatalogMergePlan) -> tuple[Consequence, ...]:
    """Tell the steps that no run of this release carries out, here or anywhere."""
    kinds = dict.fromkeys(each.kind for each in plan.steps if each.kind not in ACTIONS)
    refusals = map(not_served, kinds)
    consequences = [blocks(each.message, each.kind) for each in refusals]
    if plan.target == MAIN_BRANCH and not warehouse.file_io.is_local:
        moved = dict.fromkeys(
            plan.states.theirs.name_of(each.id) or each.id
            for each in plan.steps
            if _moves_a_folder(plan, each)
        )
        if moved:
            consequences.append(
                blocks(
                    "This store cannot give a folder another name in one step, so that main cannot "
                    f"call these as {plan.source!r} does: {some_names(moved)}. Give them the names "
                    f"of main on {plan.source!r}, or merge databases without them, with ON "
                    "DATABASE.",
                    ErrorKind.UNSUPPORTED,
                )
            )
    return tuple(consequences)


def _moves_a_folder(plan: CatalogMergePlan, step: CatalogStep) -> bool:
    """Whether a step gives a folder of main another place."""
    if step.kind in (StepKind.MOVE_TABLE, StepKind.RENAME_DATABASE):
        return True
    table = plan.states.theirs.tables.get(step.id)
    if step.kind is not StepKind.CREATE_TABLE or table is None or step.after is None:
        return False
    home = plan.result.databases.get(step.after.database)
    if step.after.is_aside or home is None:
        return True
    before = plan.states.ours.databases.get(home.id, home)
    return table.folder != f"{before.name}.db/{step.after.name}"


def _on_targets(
    warehouse: Warehouse, decided: Mapping[str, DecidedMerge]
) -> tuple[list[Consequence], Role]:
    """Tell what the branches say that get content, and which role may change all of them."""
    consequences: list[Consequence] = []
    role = Role.EDITOR
    for merge in decided.values():
        if not can_run(merge.plan):
            continue
        target, name = merge.target, merge.plan.table
        found = open_operations(warehouse, target)
        consequences += [replace(each, text=f"{name}: {each.text}") for each in found]
        found = archive_blocks(target, target.branch, "committed to")
        consequences += [replace(each, text=f"{name}: {each.text}") for each in found]
        rule = protection_of(target.ledger.whole(), target.branch)
        if rule is not None:
            role = Role.APPROVER
            consequences.append(
                changes(f"Branch {target.branch!r} of {name} is protected by {rule_text(rule)}.")
            )
    return consequences, role


def _preview(
    warehouse: Warehouse, plan: CatalogMergePlan, decided: Mapping[str, DecidedMerge]
) -> Preview:
    of_targets, role = _on_targets(warehouse, decided)
    if any(each.kind in _AS_AN_OPERATOR for each in plan.steps):
        role = Role.OPERATOR  # as the statements that do the same
    consequences = [keeps(verdict_words(plan))]
    consequences += [consequence for each in plan.objects for consequence in _consequences(each)]
    consequences += [changes(text) for text in plan.reported]
    if plan.steps and (cost := cost_words(plan)):
        consequences.append(changes(cost))
    consequences += rule_consequences_of(warehouse, plan)
    consequences += of_targets
    consequences += not_served_of(warehouse, plan)
    return Preview(
        procedure=MergeCatalogRequest.procedure,
        title=f"Merge {plan.source!r} into {plan.target!r}, {subject_of(plan)}",
        plan_id=plan.id,
        consequences=tuple(consequences),
        typed_name=None,
        role=role,
        undo=NOTHING_TO_UNDO
        if plan.verdict is MergeVerdict.UP_TO_DATE
        else "You can undo this until one of the merged tables gets a commit.",
    )


def _consequences(merged: ObjectMerge) -> Iterator[Consequence]:
    for block in merged.blocks:
        yield blocks(block.text, block.kind)
    for conflict in merged.conflicts:
        yield blocks(conflict_words(conflict), ErrorKind.CONFLICTS_OPEN, merged.cells)
    is_dropped = merged.names.ours is not None and merged.merged_name is None
    how = loses if is_dropped else changes
    yield how(object_words(merged), merged.reported)
