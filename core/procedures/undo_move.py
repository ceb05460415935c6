"""Undoing what moved a branch: a drop, a rename."""

from core.commit.branch_move import BranchMove
from core.errors import ErrorKind
from core.format.lineage_event import LineageEvent, LineageKind
from core.format.receipt import HeadMove, Receipt
from core.format.snapshot import SnapshotIdentity
from core.procedures.call import ProcedureCall
from core.procedures.consequence import Consequence, blocks, changes
from core.procedures.dependents import options_naming
from core.procedures.drop_branch import move_of_branch, open_operations
from core.procedures.operation import Operation
from core.procedures.protection import protection_blocks
from core.procedures.records import event_of, receipt_of, text_of
from core.procedures.rename_branch import carry_out_move
from core.procedures.undo_plan import gone, planned_undo
from core.procedures.verb import Planned
from core.procedures.warehouse import Warehouse
from core.table.file_store_table import FileStoreTable


def plan_restore(
    warehouse: Warehouse, call: ProcedureCall, table: FileStoreTable, event: LineageEvent
) -> Planned:
    """Bring a dropped branch back from its rescue branch."""
    assert event.receipt is not None
    rescue, name = event.receipt.rescue_branch or "", event.branch
    told: list[Consequence] = []
    if not table.branches.exists(rescue):
        told.append(gone(rescue))
    if table.branches.exists(name):
        told.append(_taken(name))
    move = move_of_branch(table.on(rescue), name)
    if table.branches.exists(rescue):
        told += _moved_since(event.before, move)
        told += open_operations(warehouse, table.on(rescue))
    told.append(changes(f"Branch {name!r} is back as it was, from {rescue!r}."))
    return planned_undo(
        call,
        table,
        event,
        told,
        branch=name,
        journal={**move.to_object(), "way": "restore", "makes": [name]},
    )


def finish_restore(operation: Operation) -> Receipt:
    """Move the rescue branch to the name of the dropped one, and record it.

    Raises:
        CommitConflict: It got a commit, or the name was taken in the meantime; it is as it was.
    """
    move = BranchMove.from_object(operation.intent.plan)
    carry_out_move(operation, move)
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
            source_branch=move.source,
            after=move.head,
            undoes=text_of(operation.intent.plan, "undoes"),
        )
    )
    operation.journal.release(move.target, operation.intent.operation_id)
    return done


def plan_rename_back(
    warehouse: Warehouse, call: ProcedureCall, table: FileStoreTable, event: LineageEvent
) -> Planned:
    """Give a renamed branch its old name, and turn the options that name it."""
    name, old = event.branch, event.source_branch or ""
    told: list[Consequence] = []
    if not table.branches.exists(name):
        told.append(gone(name))
    if table.branches.exists(old):
        told.append(_taken(old))
    move = move_of_branch(table.on(name), old)
    if table.branches.exists(name):
        told += _moved_since(event.after, move)
        told += open_operations(warehouse, table.on(name))
        told += protection_blocks(table.ledger.events(), name, "renamed")
    uses = options_naming(table, name)
    told += [
        changes(f"Option {use.key!r} of {use.branch!r} names {old!r} by a new schema.")
        for use in uses
    ]
    told.append(changes(f"Branch {name!r} is {old!r} again."))
    return planned_undo(
        call,
        table,
        event,
        told,
        branch=name,
        journal={
            **move.to_object(),
            "way": "rename",
            "makes": [old],
            "options": [[use.branch, use.key] for use in uses],
        },
    )


def _moved_since(expected: SnapshotIdentity | None, move: BranchMove) -> tuple[Consequence, ...]:
    same = move.head is expected or (
        move.head is not None and expected is not None and move.head.same_as(expected)
    )
    if same or move.head is None:
        return ()
    return (
        blocks(
            f"Undo is not possible: branch {move.source!r} has newer commits, up to snapshot "
            f"{move.head_id}.",
            ErrorKind.UNDO_BLOCKED,
        ),
    )


def _taken(branch: str) -> Consequence:
    return blocks(
        f"Undo is not possible: there is a branch {branch!r} again. Rename or drop that one first.",
        ErrorKind.UNDO_BLOCKED,
    )
