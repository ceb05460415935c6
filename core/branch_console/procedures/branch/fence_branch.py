"""Fencing a branch: other engines expire no snapshot of it from then on."""

from branch_console.commit.base.fences import fence_state, put_fence, remove_fence
from branch_console.errors import ErrorKind
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.branches import FENCE_JOURNAL, FenceBranchJournal
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Receipt
from branch_console.operations.branch_requests import FenceBranchRequest
from branch_console.procedures.branch.drop_branch import existing_branch
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    Consequence,
    Preview,
    blocks,
    changes,
    keeps,
    plan_digest,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.procedures.run.receipts import event_of, receipt_of
from branch_console.table.file_store_table import FileStoreTable

_GROWS = (
    "Its files stay until they are expired from here: what writers remove goes on taking space."
)
_AT_RISK = (
    "Other engines may expire it again, and delete files that other branches need: see "
    "branch-console doctor."
)


def plan_fence(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide whether a branch can be fenced, or freed from its fence.

    Arguments of the call: `table`, `branch` (main may be one), `fenced` (false takes the fence
    away), `reason`.

    Raises:
        NotFound: There is no such table or branch, or it has no schema.
        FormatError: Its newest schema cannot be decoded.
    """
    asked = call.request(FenceBranchRequest)
    main, name = table_of(warehouse, call).on(MAIN_BRANCH), asked.branch
    table = main if name == MAIN_BRANCH else existing_branch(main, name, "fenced")
    is_fence = asked.fenced
    consequences = fencing_consequences(table) if is_fence else freeing_consequences(table)
    verb = "Fence" if is_fence else "Remove the fence of"
    preview = Preview(
        procedure=call.name,
        title=f"{verb} branch {name!r} of {table.identifier.table_name}",
        plan_id=plan_digest(call, [each.text for each in consequences]),
        consequences=consequences,
        typed_name=None,
        role=Role.EDITOR if is_fence else Role.OPERATOR,
        undo="Undo removes the fence." if is_fence else "Undo makes the fence again.",
    )
    return PlannedOperation(
        preview=preview,
        table=table,
        branch=name,
        journal=FenceBranchJournal(plan_id=preview.plan_id, fenced=is_fence, reason=asked.reason),
    )


def finish_fence(operation: Operation, journal: FenceBranchJournal) -> Receipt:
    """Make the fence, or take it away.

    Raises:
        CommitConflict: Somebody else keeps writing another consumer in its place.
    """
    branch, is_fence = operation.intent.branch, journal.fenced
    table, store = operation.table.on(branch), operation.warehouse.store
    if is_fence:
        put_fence(table, store)
    else:
        remove_fence(table, store)
    text = "is fenced" if is_fence else "has no fence any more"
    receipt = receipt_of(operation, notes=(f"Branch {branch!r} {text}.",))
    kind = LineageKind.FENCED if is_fence else LineageKind.UNFENCED
    return operation.complete(event_of(operation, kind, receipt, undoes=journal.undoes))


FENCE_BRANCH = Procedure(
    name="fence_branch",
    what="fence a branch",
    doing="Fencing the branch.",
    plan=plan_fence,
    codec=FENCE_JOURNAL,
    finish=finish_fence,
)


def fencing_consequences(table: FileStoreTable) -> tuple[Consequence, ...]:
    """Return what follows from fencing the branch of a table."""
    state = fence_state(table)
    if state.obstacles:
        options = " and ".join(map(repr, state.obstacles))
        return (
            blocks(
                f"Option {options} of {table.branch!r} lets other engines expire past a fence. "
                f"Unset {options} first.",
                ErrorKind.INVALID_OPTION,
            ),
        )
    if state.is_effective:
        return (blocks(f"Branch {table.branch!r} is fenced already.", ErrorKind.NOTHING_TO_DO),)
    return (
        changes(
            f"Other engines expire no snapshot of {table.branch!r} any more: a consumer that reads "
            "nothing holds all of them."
        ),
        keeps("What its snapshots hold stays readable, here and on branches that share files."),
        changes(_GROWS),
    )


def freeing_consequences(table: FileStoreTable) -> tuple[Consequence, ...]:
    """Return what follows from taking the fence of the branch of a table away."""
    if not fence_state(table).is_there:
        return (blocks(f"Branch {table.branch!r} has no fence.", ErrorKind.NOTHING_TO_DO),)
    return (
        changes(f"The fence of {table.branch!r} goes. {_AT_RISK}"),
        keeps("No file is deleted by this."),
    )
