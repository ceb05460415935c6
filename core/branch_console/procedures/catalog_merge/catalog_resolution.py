"""Settling the conflicts of a merge of the catalog: what there is to decide on, and the draft.

The draft belongs to a source, a target and the versions that they have in common: a branch that
moves on keeps it, a merge begins another one.
"""

from dataclasses import dataclass, replace

from branch_console.merge.catalog.catalog_plan import CatalogMergePlan
from branch_console.merge.policy import Policy
from branch_console.merge.policy_draft import PolicyDraft, draft_id
from branch_console.operations.catalog_requests import MergeCatalogRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Preview
from branch_console.procedures.call.permissions import Role, check_role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import paths_of
from branch_console.procedures.catalog_merge.merge_catalog import (
    catalog_merge_of,
    plan_catalog_merge_call,
)
from branch_console.procedures.merge.conflicts import keep_draft, kept_draft


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CatalogResolution:
    """The conflicts of a merge of the catalog, and the decisions of its draft.

    Attributes:
        asked: The plan without the draft: it has all conflicts.
        plan: The plan with the draft: it has only open conflicts.
        preview: The preview of a run with the draft.
    """

    asked: CatalogMergePlan
    plan: CatalogMergePlan
    draft: PolicyDraft
    preview: Preview

    @property
    def policy(self) -> str | None:
        """The policy to run with, as YAML; None without a decision."""
        return self.draft.policy.to_yaml() if self.draft.decisions else None


def find_catalog_resolution(warehouse: Warehouse, call: ProcedureCall) -> CatalogResolution:
    """Return what there is to decide on for a merge of the catalog.

    Args:
        warehouse: The warehouse of the branches.
        call: Arguments of `merge_catalog_branch`; a policy in them does not count.

    Raises:
        NotFound: A branch is no catalog branch, or there is no such database.
        InvalidInput: The kept draft cannot be read; it names the line.
    """
    planned = plan_catalog_merge_call(warehouse, _with_policy(call, None))
    asked = planned.plan
    draft = _draft(warehouse, asked)
    found = CatalogResolution(asked=asked, plan=asked, draft=draft, preview=planned.preview)
    if found.policy is None:
        return found
    planned = plan_catalog_merge_call(warehouse, _with_policy(call, found.policy))
    return replace(found, plan=planned.plan, preview=planned.preview)


def save_catalog_draft(
    warehouse: Warehouse, call: ProcedureCall, seen: PolicyDraft, wanted: Policy
) -> PolicyDraft:
    """Keep what somebody decided, as `save_draft` does for a table; raises as that does.

    Args:
        warehouse: The warehouse of the branches.
        call: As for `find_catalog_resolution`; its actor decides.
        seen: The draft that was looked at.
        wanted: The draft to save.
    """
    check_role(call.role, Role.EDITOR, "settle conflicts")
    warehouse.check_writable()
    asked = catalog_merge_of(warehouse, _with_policy(call, None))
    paths = paths_of(warehouse)
    return keep_draft(warehouse, paths, lambda: _draft(warehouse, asked), seen, wanted)


def _draft(warehouse: Warehouse, asked: CatalogMergePlan) -> PolicyDraft:
    named = draft_id(asked.source, asked.target, asked.versions.base)
    return kept_draft(warehouse, paths_of(warehouse), named)


def _with_policy(call: ProcedureCall, policy: str | None) -> ProcedureCall:
    return call.asking(replace(call.request(MergeCatalogRequest), policy=policy))
