"""Taking an operation back, while nothing builds on what it did."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from core.commit.branch_move import BranchMove
from core.errors import ErrorKind, InvalidInput, NotFound
from core.format.json_text import without_nulls
from core.format.lineage_event import LineageEvent, LineageKind
from core.format.receipt import HeadMove, Receipt
from core.format.snapshot import SnapshotIdentity
from core.procedures.call import ProcedureCall
from core.procedures.consequence import (
    Consequence,
    Preview,
    blocks,
    changes,
    keeps,
    plan_digest,
)
from core.procedures.dependents import options_naming
from core.procedures.drop_branch import move_of_branch, open_operations
from core.procedures.operation import Operation
from core.procedures.permissions import Role
from core.procedures.protection import protection_blocks
from core.procedures.records import event_of, receipt_of, text_of
from core.procedures.rename_branch import carry_out_move, finish_rename
from core.procedures.verb import Planned, Verb, table_of
from core.procedures.warehouse import Warehouse
from core.table.file_store_table import FileStoreTable

Way = Callable[[Warehouse, ProcedureCall, FileStoreTable, LineageEvent], Planned]


def plan_undo(warehouse: Warehouse, call: ProcedureCall) -> Planned:
    """Decide whether an operation can be taken back.

    Arguments of the call: `table`, `operation` (its id), `plan_id`.

    Raises:
        InvalidInput: It is an operation of a kind that is not undone.
        NotFound: The ledger of the table knows no such operation.
    """
    table, operation_id = table_of(warehouse, call), call.text("operation")
    events = table.ledger.written()
    event = next(
        (each for each in events if each.operation_id == operation_id and each.receipt), None
    )
    if event is None:
        raise NotFound(
            f"The ledger of {table.identifier.table_name} has no operation {operation_id!r}: it "
            "changed nothing, has not ended, or was another table's.",
            kind=ErrorKind.OPERATION_NOT_FOUND,
            operation_id=operation_id,
        )
    undone = next((each for each in events if each.undoes == operation_id), None)
    if undone is not None and undone.receipt is not None:
        return _already(call, table, undone, undone.receipt)
    way = _WAYS.get(event.kind)
    if way is None:
        raise InvalidInput(
            f"Operation {operation_id} is not undone by this: {_INSTEAD.get(event.kind, 'it')}",
            kind=ErrorKind.UNSUPPORTED,
            operation_id=operation_id,
        )
    return way(warehouse, call, table, event)


def finish_undo(operation: Operation) -> Receipt:
    """Carry out the journalled way back.

    Raises:
        CommitConflict: Somebody came in between; what the operation did stands.
    """
    return _FINISHES[str(operation.intent.plan["way"])](operation)


UNDO = Verb(name="undo", what="undo this operation", plan=plan_undo, finish=finish_undo)


def _already(
    call: ProcedureCall, table: FileStoreTable, undone: LineageEvent, receipt: Receipt
) -> Planned:
    told = f"Operation {undone.undoes} was undone already, by operation {undone.operation_id}."
    preview = Preview(
        procedure=call.name,
        title=f"Undo operation {undone.undoes}",
        plan_id=plan_digest(call, undone.id),
        consequences=(keeps(told),),
        typed_name=None,
        role=Role.VIEWER,
        undo="There is nothing to undo.",
    )
    return Planned(preview=preview, table=table, branch="", journal={}, already=receipt)


def _restore(
    warehouse: Warehouse, call: ProcedureCall, table: FileStoreTable, event: LineageEvent
) -> Planned:
    """Bring a dropped branch back from its rescue branch."""
    assert event.receipt is not None
    rescue, name = event.receipt.rescue_branch or "", event.branch
    told: list[Consequence] = []
    if not table.branches.exists(rescue):
        told.append(_gone(rescue))
    if table.branches.exists(name):
        told.append(_taken(name))
    move = move_of_branch(table.on(rescue), name)
    if table.branches.exists(rescue):
        told += _moved_since(event.before, move)
        told += open_operations(warehouse, table.on(rescue))
    told.append(changes(f"Branch {name!r} is back as it was, from {rescue!r}."))
    return _planned(
        call,
        table,
        event,
        told,
        branch=name,
        journal={**move.to_object(), "way": "restore", "makes": [name]},
    )


def _finish_restore(operation: Operation) -> Receipt:
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


def _rename_back(
    warehouse: Warehouse, call: ProcedureCall, table: FileStoreTable, event: LineageEvent
) -> Planned:
    """Give a renamed branch its old name, and turn the options that name it."""
    name, old = event.branch, event.source_branch or ""
    told: list[Consequence] = []
    if not table.branches.exists(name):
        told.append(_gone(name))
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
    return _planned(
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


def _planned(
    call: ProcedureCall,
    table: FileStoreTable,
    event: LineageEvent,
    told: list[Consequence],
    *,
    branch: str,
    journal: Mapping[str, object],
    role: Role = Role.EDITOR,
) -> Planned:
    preview = Preview(
        procedure=call.name,
        title=f"Undo operation {event.operation_id} of {table.identifier.table_name}",
        plan_id=plan_digest(call, journal, [each.text for each in told]),
        consequences=tuple(told),
        typed_name=None,
        role=role,
        undo="Run the operation again.",
    )
    return Planned(
        preview=preview,
        table=table,
        branch=branch,
        journal=without_nulls({**journal, "planId": preview.plan_id, "undoes": event.operation_id}),
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


def _gone(branch: str) -> Consequence:
    return blocks(
        f"Undo is not possible: branch {branch!r} is gone. Where it was dropped or renamed, undo "
        "that first.",
        ErrorKind.UNDO_BLOCKED,
    )


def _taken(branch: str) -> Consequence:
    return blocks(
        f"Undo is not possible: there is a branch {branch!r} again. Rename or drop that one first.",
        ErrorKind.UNDO_BLOCKED,
    )


_WAYS: Final[Mapping[LineageKind, Way]] = MappingProxyType(
    {
        LineageKind.DROPPED: _restore,
        LineageKind.RENAMED: _rename_back,
    }
)
_FINISHES: Final[Mapping[str, Callable[[Operation], Receipt]]] = MappingProxyType(
    {
        "restore": _finish_restore,
        "rename": finish_rename,
    }
)
_INSTEAD: Final = MappingProxyType(
    {
        LineageKind.CREATED: "drop the branch instead.",
        LineageKind.FORKED: "drop the branch instead.",
        LineageKind.PROTECTED: "remove the protection instead.",
        LineageKind.UNPROTECTED: "protect the branch again instead.",
        LineageKind.PINNED: "delete the tag instead.",
    }
)
