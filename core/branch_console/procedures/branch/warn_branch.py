"""Noting in the ledger that a branch is stale, so that whoever answers for it can object."""

from branch_console.format.journals.branches import WARN_JOURNAL
from branch_console.format.journals.terms import OperationJournal
from branch_console.format.lineage_event import LineageKind, born
from branch_console.format.receipt import Receipt
from branch_console.operations.branch_requests import WarnBranchRequest
from branch_console.procedures.branch.drop_branch import existing_branch
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Preview, changes, keeps, plan_digest
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.procedures.run.receipts import event_of, receipt_of


def plan_warning(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide whether a branch can be warned about.

    Raises:
        InvalidInput: It is main.
        NotFound: There is no such table or branch.
    """
    asked, table = call.request(WarnBranchRequest), table_of(warehouse, call)
    name = existing_branch(table, asked.branch, "stale").branch
    made = born(table.ledger.whole(), name)
    owner = "nobody is known to own it" if made is None or made.owner is None else (
        f"{made.owner} owns it"
    )  # fmt: skip
    preview = Preview(
        procedure=call.name,
        title=f"Warn of branch {name!r} of {table.identifier.table_name}",
        plan_id=plan_digest(call),
        consequences=(
            changes(f"The ledger says that branch {name!r} is stale; {owner}."),
            keeps("Nothing else changes: a commit to the branch makes it young again."),
        ),
        typed_name=None,
        role=Role.EDITOR,
        undo="A commit to the branch makes it young again.",
    )
    return PlannedOperation(
        preview=preview,
        table=table,
        branch=name,
        journal=OperationJournal(plan_id=preview.plan_id, reason=asked.reason),
    )


def finish_warning(operation: Operation, _: OperationJournal) -> Receipt:
    """Record the warning."""
    name = operation.intent.branch
    receipt = receipt_of(operation, notes=(f"Branch {name!r} is stale.",))
    return operation.complete(event_of(operation, LineageKind.WARNED, receipt))


WARN_BRANCH = Procedure(
    name=WarnBranchRequest.procedure,
    what="warn of a stale branch",
    doing="Recording the warning.",
    plan=plan_warning,
    codec=WARN_JOURNAL,
    finish=finish_warning,
)
