"""Undoing what moved a branch: a drop, a rename."""

from branch_console.commit.base.fences import put_fence
from branch_console.errors import CommitConflict, ErrorKind
from branch_console.format.journals.branches import BranchMove, OptionUse, RenameBranchJournal
from branch_console.format.journals.undo import RestoreBranchJournal
from branch_console.format.lineage_event import LineageEvent, LineageKind, released_name
from branch_console.format.receipt import HeadMove, Receipt
from branch_console.format.snapshot import SnapshotIdentity
from branch_console.maintenance.references import retired_branches
from branch_console.maintenance.retire import forget_retired
from branch_console.procedures.branch.drop_branch import move_of_branch, open_operations
from branch_console.procedures.branch.rename_branch import carry_out_move
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Consequence, blocks, changes
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.dependents import options_naming
from branch_console.procedures.history.protection import protection_blocks
from branch_console.procedures.maintenance.maintenance_turn import claim_maintenance, give_up_turn
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation
from branch_console.procedures.run.receipts import event_of, receipt_of
from branch_console.procedures.undo.undo_preview import planned_undo, traced
from branch_console.table.file_store_table import FileStoreTable


def plan_restore(
    warehouse: Warehouse, call: ProcedureCall, table: FileStoreTable, event: LineageEvent
) -> PlannedOperation:
    """Bring a dropped branch back from its rescue branch, whatever that was renamed to."""
    kept_as = None if event.receipt is None else event.receipt.rescue_branch
    if kept_as is None:
        return _plan_return(call, table, event)
    name = event.branch
    found = traced(table, event, kept_as)
    rescue, uses = found.name, options_naming(table, found.name)
    consequences: list[Consequence] = list(found.gone)
    if table.branches.exists(name):
        consequences.append(_taken(name))
    move = move_of_branch(table.on(rescue), name)
    if not found.gone:
        consequences += _moved_since(event.before, move)
        consequences += open_operations(warehouse, table.on(rescue))
    if rescue != kept_as:
        # Somebody made it a branch like any other.
        consequences += protection_blocks(table.ledger.events(), rescue, "renamed")
    consequences += _turned(uses, name)
    consequences.append(changes(f"Branch {name!r} is back as it was, from {rescue!r}."))
    return planned_undo(
        call,
        table,
        event,
        consequences,
        branch=name,
        journal=RestoreBranchJournal(move=move, options=uses),
    )


def _plan_return(
    call: ProcedureCall, table: FileStoreTable, event: LineageEvent
) -> PlannedOperation:
    """Bring back a branch whose names were retired, as long as none of its files was removed."""
    name, taken_by = event.branch, event.operation_id
    consequences: list[Consequence] = []
    if name not in retired_branches(table, taken_by):
        consequences.append(
            blocks(
                f"Undo is not possible: the files that only branch {name!r} needed were removed.",
                ErrorKind.UNDO_BLOCKED,
            )
        )
    elif table.branches.exists(name):
        consequences.append(_taken(name))
    consequences.append(changes(f"Branch {name!r} is back as it was. No file was removed."))
    return planned_undo(
        call,
        table,
        event,
        consequences,
        branch=name,
        journal=RestoreBranchJournal(
            move=move_of_branch(table.retired(taken_by, name), name), retired_by=taken_by
        ),
        role=Role.OPERATOR,
    )


def finish_restore(operation: Operation, journal: RestoreBranchJournal) -> Receipt:
    """Move a dropped branch back to its name, from where it was kept, and record it.

    Raises:
        CommitConflict: It got a commit, or the name was taken in the meantime; it is as it was.
    """
    move, taken_by, kept_as = journal.move, journal.retired_by, journal.move.source
    if taken_by is None:
        carry_out_move(operation, move, journal.options)
    else:
        _return(operation, move, taken_by)
        kept_as = released_name(move.source, taken_by)
    put_fence(operation.table.on(move.target), operation.warehouse.store)
    receipt = receipt_of(
        operation,
        moves=(
            HeadMove(
                branch=move.target,
                before=None,
                before_id=None,
                after=move.head,
                after_id=move.head_id,
            ),
        ),
        notes=(f"Branch {move.target!r} is back as it was.",),
    )
    done = operation.complete(
        event_of(
            operation,
            LineageKind.RESTORED,
            receipt,
            branch=move.target,
            source_branch=kept_as,
            after=move.head,
            undoes=journal.undoes,
        )
    )
    operation.journal.release(move.target, operation.intent.operation_id)
    if taken_by is not None:
        give_up_turn(operation)
    return done


def _return(operation: Operation, move: BranchMove, taken_by: str) -> None:
    claim_maintenance(operation)
    retired = operation.table.retired(taken_by, move.source)
    try:
        carry_out_move(operation, move, (), retired)
    except CommitConflict:
        give_up_turn(operation)
        raise
    forget_retired(operation.table, operation.warehouse.store, taken_by, (move.source,))


def plan_rename_back(
    warehouse: Warehouse, call: ProcedureCall, table: FileStoreTable, event: LineageEvent
) -> PlannedOperation:
    """Give a renamed branch its old name, and turn the options that name it."""
    found, old = traced(table, event, event.branch), event.source_branch or ""
    name = found.name
    consequences: list[Consequence] = list(found.gone)
    if name == old and not found.gone:
        consequences.append(_named_so(old))
    elif table.branches.exists(old):
        consequences.append(_taken(old))
    move = move_of_branch(table.on(name), old)
    if not found.gone:
        consequences += _moved_since(event.after, move)
        consequences += open_operations(warehouse, table.on(name))
        consequences += protection_blocks(table.ledger.whole(), name, "renamed")
    uses = options_naming(table, name)
    consequences += _turned(uses, old)
    consequences.append(changes(f"Branch {name!r} is {old!r} again."))
    return planned_undo(
        call,
        table,
        event,
        consequences,
        branch=name,
        journal=RenameBranchJournal(move=move, options=uses),
    )


def _moved_since(expected: SnapshotIdentity | None, move: BranchMove) -> tuple[Consequence, ...]:
    same = move.head is expected or (
        move.head is not None and expected is not None and move.head.same_as(expected)
    )
    is_broken = move.head is None and move.head_id is not None
    if same or is_broken:
        return ()
    now = "has no snapshot any more: it is another one, or was emptied"
    if move.head is not None:
        now = f"has newer commits, up to snapshot {move.head_id}"
    text = f"Undo is not possible: branch {move.source!r} {now}. Rename it instead."
    return (blocks(text, ErrorKind.UNDO_BLOCKED),)


def _turned(uses: tuple[OptionUse, ...], to: str) -> list[Consequence]:
    return [
        changes(f"Option {use.key!r} of {use.branch!r} names {to!r} by a new schema.")
        for use in uses
    ]


def _named_so(branch: str) -> Consequence:
    return blocks(
        f"Undo is not possible: branch {branch!r} has that name again already. There is nothing "
        "to undo.",
        ErrorKind.UNDO_BLOCKED,
    )


def _taken(branch: str) -> Consequence:
    return blocks(
        f"Undo is not possible: there is a branch {branch!r} again. Rename or drop that one first.",
        ErrorKind.UNDO_BLOCKED,
    )
