"""Doing what a maintenance policy says about the branches of a table, one ordinary call a branch.

Each step is an operation of its own with its receipt, and is decided anew right before it is taken:
a branch that got a commit in the meantime stays as it is.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Final

from branch_console.diff.lifecycle.ladder import BranchPlan
from branch_console.diff.lifecycle.policy import LifecycleStep
from branch_console.errors import CommitConflict, NotFound, Refused
from branch_console.format.identifier import Identifier
from branch_console.format.receipt import Receipt
from branch_console.format.scan_options import moment_text
from branch_console.operations.policy_requests import ApplyPolicyRequest, SetPolicyRequest
from branch_console.procedures.branch.archive_branch import ARCHIVE_BRANCH
from branch_console.procedures.branch.drop_branch import DROP_BRANCH
from branch_console.procedures.branch.warn_branch import WARN_BRANCH
from branch_console.procedures.browse.stale_branches import plan_stale_branches
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.permissions import Role, check_role
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.stages import Facts, InlineStages, Stages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.maintenance.holds import UNDO_WINDOW_MILLIS
from branch_console.procedures.maintenance.policy_report import read_policy_report
from branch_console.procedures.maintenance.release_branch import RELEASE_BRANCH, promised_undo
from branch_console.procedures.registry import PROCEDURES
from branch_console.procedures.run.kept_policies import get_policy, keep_policy, subject_of
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.receipts import (
    receipt_of_stage,
    receipt_without_change,
    texts_of,
)
from branch_console.procedures.run.runner import run_procedure

_PROCEDURES: Final[Mapping[LifecycleStep, str]] = MappingProxyType(
    {
        LifecycleStep.WARN: WARN_BRANCH.name,
        LifecycleStep.ARCHIVE: ARCHIVE_BRANCH.name,
        LifecycleStep.DROP: DROP_BRANCH.name,
        LifecycleStep.RELEASE: RELEASE_BRANCH.name,
    }
)


def set_policy(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Set the maintenance policy of a table, or of the warehouse.

    Raises:
        NotAllowed: The role does not reach, or the warehouse cannot be written.
        InvalidInput: The policy cannot be read; the message names line and key.
        NotFound: There is no such table.
        CommitConflict: Somebody else set another one in the meantime.
    """
    asked = call.request(SetPolicyRequest)
    check_role(call.role, Role.OPERATOR, "set a maintenance policy")
    warehouse.check_writable()

    def keep(_: Progress) -> Facts:
        table = None if asked.table is None else warehouse.table(asked.table).identifier
        kept = keep_policy(warehouse, table, asked.policy)
        return {
            "notes": [f"The maintenance policy of {subject_of(kept.table)} is version "
                      f"{kept.version}."]
        }  # fmt: skip

    return receipt_of_stage(
        warehouse, call, stages, "set policy", keep, message="Setting the policy.", publishes=True
    )


def apply_policy(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Warn of, archive and drop the stale branches of a table; a dry run only reports.

    Raises:
        NotAllowed: The role does not reach, or the warehouse cannot be written.
        NotFound: There is no such table, or no policy for it.
        InvalidInput: The policy cannot be read.
    """
    asked, started = call.request(ApplyPolicyRequest), warehouse.clock()
    table = Identifier.parse(asked.table)
    if not asked.report_only:
        check_role(call.role, Role.OPERATOR, "apply a maintenance policy")
        warehouse.check_writable()
    decided = stages.run(
        "plan",
        lambda _: _plan(warehouse, table, reports_all=asked.report_only),
        message="Looking for stale branches.",
    )
    notes = list(texts_of(decided, "notes"))
    for branch in () if asked.report_only else texts_of(decided, "due"):
        taken = stages.run(
            f"branch {branch}",
            partial(_take_step, warehouse, rows, call, table, branch),
            message=f"Looking after branch {branch!r}.",
            publishes=True,
        )
        notes += texts_of(taken, "notes")
    return receipt_without_change(
        call,
        call.operation_id,
        tuple(notes) or ("No branch is due for a step.",),
        started_millis=started,
        finished_millis=warehouse.clock(),
    )


def _plan(warehouse: Warehouse, table: Identifier, *, reports_all: bool) -> Facts:
    if reports_all:
        report = read_policy_report(warehouse, table)
        return {"due": [], "notes": [each.sentence for each in report.branches]}
    plans, now = _plans(warehouse, table), warehouse.clock()
    return {"due": [each.branch for each in plans if each.is_due(now)], "notes": []}


def _plans(
    warehouse: Warehouse, table: Identifier, only: str | None = None
) -> tuple[BranchPlan, ...]:
    return plan_stale_branches(warehouse, table, get_policy(warehouse, table).policy, only)


def _take_step(
    warehouse: Warehouse,
    rows: RowEngine,
    call: ProcedureCall,
    table: Identifier,
    branch: str,
    _: Progress,
) -> Facts:
    """Take the next step of a branch, if it is still due; a step that has begun is finished."""
    step_id = f"{call.operation_id}-{hashlib.sha256(branch.encode()).hexdigest()[:8]}"
    begun = Operation.find(warehouse, warehouse.table(table), step_id)
    if begun is not None:
        procedure = begun.intent.procedure
    else:
        plan = next(iter(_plans(warehouse, table, branch)), None)
        if plan is None or plan.step is None or not plan.is_due(warehouse.clock()):
            return {"notes": [f"Branch {branch!r} is not due any more, and stays as it is."]}
        promise = _promise(warehouse, table, branch) if plan.step is LifecycleStep.RELEASE else None
        if promise is not None:
            return {"notes": [promise]}
        procedure = _PROCEDURES[plan.step]
    step = replace(
        call,
        name=procedure,
        arguments={
            "table": table.table_name,
            "branch": branch,
            "reason": f"It is stale: maintenance policy, operation {call.operation_id}.",
        },
        operation_id=step_id,
    )
    try:
        receipt = run_procedure(PROCEDURES[procedure], warehouse, rows, step, InlineStages())
    except (Refused, CommitConflict, NotFound) as error:
        return {"notes": [error.message]}
    return {"notes": list(receipt.notes)}


def _promise(warehouse: Warehouse, table: Identifier, branch: str) -> str | None:
    """Return why a rescue branch must stay: its undo is promised, and nobody is asked here."""
    promised = promised_undo(branch, warehouse.table(table).ledger.events(), warehouse.clock())
    if promised is None:
        return None
    return (
        f"The release of branch {branch!r} is refused: undo of operation {promised.operation_id} "
        f"({promised.kind}) is promised until "
        f"{moment_text(promised.time_millis + UNDO_WINDOW_MILLIS)}, and a policy ends no promise."
    )
