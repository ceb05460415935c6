"""The decisions of a person who looks at a merge."""

from dataclasses import replace

from branch_console.merge.plan import (
    Plan,
    conflicts_of,
    cost_of,
    found_by,
    merging,
    schema_of,
    verdict_of,
)
from branch_console.merge.policy_draft import policy_to_compare_by
from branch_console.operations.merge_requests import MergingRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.merge.inputs import (
    DecidedMerge,
    decided_merge,
    decided_under,
    policy_of,
    rules_of,
)
from branch_console.procedures.run.agreed_choices import AgreedChoices, digest, rows_of_plan


def decisions_on_merge(warehouse: Warehouse, call: ProcedureCall) -> AgreedChoices:
    """Return what a person who looks at a merge now decides on.

    Args:
        warehouse: The warehouse of the table.
        call: Arguments of `merge_branch`, with the policy that settles conflicts.
    """
    with warehouse.deciding() as deciding:
        merge = decided_merge(deciding, call)
        rows = _rows_of(deciding, call, merge)
    plan, runs = merge.plan, merging(merge.plan)
    heads, overruled = plan.heads, sorted(plan.notes)
    by_heads = found_by(plan) is None
    parts = {
        "source": str(heads.theirs and heads.theirs.identity),
        "base": str(heads.base and heads.base.identity),
        "rules": repr(plan.rules),
        "schema": _schema(plan),
        "conflicts": repr([each.id for each in conflicts_of(plan)]),
        "overruled": repr([str(verdict_of(plan)), overruled] if by_heads else overruled),
    }
    return AgreedChoices(
        plan_id=plan.id,
        target_id=None if heads.ours is None else heads.ours.id,
        parts={name: digest(text) for name, text in parts.items()},
        rows=rows,
        source_id=None if runs is None else runs.heads.theirs.id,
    )


def _rows_of(warehouse: Warehouse, call: ProcedureCall, merge: DecidedMerge) -> str:
    """Return the digest of row conflicts that were found for the plan or the compared one."""
    plan, target = merge.plan, merge.target
    if not cost_of(plan).buckets_to_compare:
        return ""
    found = rows_of_plan(warehouse, target, plan.id)
    asked = call.request(MergingRequest)
    if found or asked.policy is None:
        return found
    compared_by = replace(asked, policy=policy_to_compare_by(policy_of(call)))
    rules = rules_of(call.asking(compared_by))
    compared = decided_under(warehouse, call, merge, rules).plan
    return rows_of_plan(warehouse, target, compared.id)


def _schema(plan: Plan) -> str:
    merged = schema_of(plan)
    if merged is None:
        return ""
    made = [each.fingerprint for each in merged.schemas]
    return repr(made or merged.final_id)
