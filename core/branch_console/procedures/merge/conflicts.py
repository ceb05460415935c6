"""Resolving: the conflicts that a comparison found, and the draft of the policy that settles them.

A draft belongs to a source, a target and their base, not to a plan: when a head moves it stays, and
what it says of a value that is another one now asks to be looked at again.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from branch_console.commit.rows.policy_drafts import (
    DraftPlace,
    find_policy_draft,
    publish_policy_draft,
)
from branch_console.errors import ErrorKind, PaimonError, Refused
from branch_console.merge.plan import Plan
from branch_console.merge.policy import Policy
from branch_console.merge.policy_draft import PolicyDraft, draft_id, policy_to_compare_by, rebase
from branch_console.operations.merge_requests import MergeRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.permissions import Role, check_role
from branch_console.procedures.call.target_branch import target_table
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.merge.inputs import (
    decided_merge,
    decided_under,
    planned_merge,
    rules_of,
)

_ATTEMPTS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resolution:
    """The conflicts to decide on, and the decisions made.

    Attributes:
        plan: The plan by which rows are compared. It depends on the heads and on decisions that
            change which rows conflict, not on the resolutions of conflicts.
        policy: The policy that the comparison is asked with; None without one.
        draft: The current draft.
    """

    plan: Plan
    policy: str | None
    draft: PolicyDraft


def find_resolution(warehouse: Warehouse, call: ProcedureCall) -> Resolution:
    """Return what there is to decide on for a merge.

    Args:
        warehouse: The warehouse of the table.
        call: Arguments of `merge_branch`; a policy in them does not count.

    Raises:
        NotFound: There is no such table or branch.
        InvalidInput: The kept draft cannot be read; it names the line.
    """
    plain = _asked(call, None)
    with warehouse.deciding() as deciding:
        merge = decided_merge(deciding, plain)
        draft = _draft(deciding, plain, merge.plan)
        policy = policy_to_compare_by(draft.policy)
        if policy is not None:
            rules = rules_of(_asked(call, policy))
            merge = decided_under(deciding, plain, merge, rules)
    return Resolution(plan=merge.plan, policy=policy, draft=draft)


def save_draft(
    warehouse: Warehouse, call: ProcedureCall, seen: PolicyDraft, wanted: Policy
) -> PolicyDraft:
    """Keep what somebody decided, on top of what others have decided in the meantime.

    Args:
        warehouse: The warehouse of the table.
        call: As for `find_resolution`; its actor decides.
        seen: The draft that was looked at.
        wanted: The draft to save.

    Returns:
        The draft as it stands now.

    Raises:
        NotAllowed: The role does not reach, or the warehouse is open for reading only.
        Refused: Somebody else has decided the same thing otherwise, or the branches have another
            base now.
    """
    check_role(call.role, Role.EDITOR, "settle conflicts")
    warehouse.check_writable()
    plain = _asked(call, None)
    plan = planned_merge(warehouse, plain)
    paths = target_table(warehouse, plain).paths
    return keep_draft(warehouse, paths, lambda: _draft(warehouse, plain, plan), seen, wanted)


def keep_draft(
    warehouse: Warehouse,
    paths: DraftPlace,
    read: Callable[[], PolicyDraft],
    seen: PolicyDraft,
    wanted: Policy,
) -> PolicyDraft:
    """Publish what somebody decided, on top of what others have decided in the meantime.

    Args:
        warehouse: Open for writing.
        paths: The paths of the draft.
        read: Reads the draft as it is now.
        seen: The draft that was looked at.
        wanted: The draft to save.

    Returns:
        The draft as it stands now.

    Raises:
        Refused: Somebody else has decided the same thing otherwise, or the branches have another
            base now.
    """
    for _ in range(_ATTEMPTS):
        newest = read()
        if newest.id != seen.id:
            raise Refused(
                "The branches have another base than when you looked. Nothing was kept; open the "
                "merge again.",
                kind=ErrorKind.HEAD_MOVED,
            )
        policy = wanted
        if newest.version != seen.version:
            policy = rebase(seen.policy, wanted, newest.policy)
        version = newest.version + 1
        if publish_policy_draft(warehouse.store, paths, newest.id, version, policy.to_yaml()):
            return PolicyDraft(id=newest.id, version=version, policy=policy)
    raise PaimonError(
        "The draft is changed by too many people at a time; yours was not kept. Try again.",
        kind=ErrorKind.COMMIT_CONFLICT,
    )


def kept_draft(warehouse: Warehouse, paths: DraftPlace, draft: str) -> PolicyDraft:
    """Return a draft as it stands, version 0 if nobody decided anything yet."""
    kept = find_policy_draft(warehouse.store.files, paths, draft)
    if kept is None:
        return PolicyDraft(id=draft)
    version, text = kept
    return PolicyDraft(id=draft, version=version, policy=_parsed(text))


def _draft(warehouse: Warehouse, call: ProcedureCall, plan: Plan) -> PolicyDraft:
    base = plan.heads.base
    if base is None:
        return PolicyDraft(id="")
    draft = draft_id(plan.source, plan.target, base.identity)
    return kept_draft(warehouse, target_table(warehouse, call).paths, draft)


@functools.lru_cache(maxsize=8)
def _parsed(text: str) -> Policy:
    """A kept policy; each look at a page reads it, and thousands of choices take their time."""
    return Policy.from_yaml(text)


def _asked(call: ProcedureCall, policy: str | None) -> ProcedureCall:
    """The merge as it would be asked for with a policy, or without one."""
    return call.asking(replace(call.request(MergeRequest), policy=policy))
