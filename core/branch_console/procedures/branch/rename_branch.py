"""Renaming a branch: its history, owner, protection and fork follow the new name."""

from dataclasses import replace

from branch_console.commit.branch.branch_move import move_branch
from branch_console.commit.schema.schema_commit import SchemaChange, change_schema
from branch_console.errors import AlreadyExists, CommitConflict, ErrorKind
from branch_console.format.identifier import check_branch_name
from branch_console.format.journals.branches import (
    MOVE,
    RENAME_JOURNAL,
    BranchMove,
    OptionUse,
    RenameBranchJournal,
)
from branch_console.format.journals.intent import Ending
from branch_console.format.lineage_event import LineageKind, base_tag_of
from branch_console.format.receipt import HeadMove, Receipt
from branch_console.format.table_schema import TableSchema
from branch_console.operations.branch_requests import RenameBranchRequest
from branch_console.procedures.branch.drop_branch import (
    existing_branch,
    move_of_branch,
    open_operations,
)
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
from branch_console.procedures.history.catalog_membership import membership_blocks
from branch_console.procedures.history.dependents import options_naming
from branch_console.procedures.history.protection import protection_blocks
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.procedures.run.receipts import event_of, receipt_of
from branch_console.table.file_store_table import FileStoreTable


def plan_rename(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide whether a branch may be given another name.

    Arguments of the call: `table`, `branch`, `to`, `update_options` (change the options that name
    it), `reason`.

    Raises:
        AlreadyExists: The new name is taken.
        InvalidInput: It is main, or the new name is none that a branch may have.
        NotFound: There is no such table or branch.
    """
    asked = call.request(RenameBranchRequest)
    table, to = table_of(warehouse, call), asked.to
    branch = existing_branch(table, asked.branch, "renamed")
    check_branch_name(to)
    if table.branches.exists(to):
        raise AlreadyExists(
            f"Table {table.identifier.table_name} has a branch {to!r} already. Choose another "
            "name.",
            branch=to,
        )
    events = table.ledger.whole()
    uses, move = options_naming(table, branch.branch), move_of_branch(branch, to)
    base_tag = base_tag_of(events, branch.branch)
    consumers = [state.name for state in branch.consumers.states()]
    consequences = [
        *membership_blocks(warehouse, branch, is_drop=False),
        *protection_blocks(events, branch.branch, "renamed"),
        *open_operations(warehouse, branch),
        *_uses(uses, move, update=asked.update_options),
        changes(
            f"Jobs of other engines that use the name {branch.branch!r} fail until they use {to!r}."
        ),
        keeps("Owner, protection by name, fork and history follow the new name."),
    ]
    if base_tag is not None:
        consequences.append(keeps(f"Its base tag keeps the name {base_tag!r}."))
    if consumers:
        consequences.append(keeps("Its streaming readers keep their place.", tuple(consumers)))
    preview = Preview(
        procedure=call.name,
        title=f"Rename branch {branch.branch!r} of {table.identifier.table_name} to {to!r}",
        plan_id=plan_digest(call, MOVE.write(move), [[use.branch, use.key] for use in uses]),
        consequences=tuple(consequences),
        typed_name=None,
        role=Role.EDITOR,
        undo="Undo gives the old name back, until the branch moves or somebody takes that name.",
    )
    return PlannedOperation(
        preview=preview,
        table=table,
        branch=branch.branch,
        journal=RenameBranchJournal(
            move=move,
            plan_id=preview.plan_id,
            reason=asked.reason,
            options=uses,
        ),
    )


def finish_rename(operation: Operation, journal: RenameBranchJournal) -> Receipt:
    """Move the branch to its new name, with the options that name it, and record it.

    Raises:
        CommitConflict: It got a commit, or the name was taken in the meantime; it is as it was.
    """
    move = journal.move
    carry_out_move(operation, move, journal.options)
    receipt = receipt_of(
        operation,
        moves=(
            HeadMove(
                branch=move.target,
                before=move.head,
                before_id=move.head_id,
                after=move.head,
                after_id=move.head_id,
            ),
        ),
        notes=(
            f"Branch {move.source!r} is now {move.target!r}.",
            *(f"Option {use.key!r} of {use.branch!r} names it." for use in journal.options),
        ),
    )
    done = operation.complete(
        event_of(
            operation,
            LineageKind.RENAMED,
            receipt,
            branch=move.target,
            source_branch=move.source,
            before=move.head,
            after=move.head,
            undoes=journal.undoes,
        )
    )
    operation.journal.release(move.target, operation.intent.operation_id)
    return done


def carry_out_move(
    operation: Operation,
    move: BranchMove,
    uses: tuple[OptionUse, ...],
    source: FileStoreTable | None = None,
) -> None:
    """Reserve the new name, move the branch, and turn the options that name it.

    Args:
        operation: The operation.
        move: The old and new names.
        uses: The options.
        source: The names that an operation removed from the branch, if they are restored.

    Raises:
        CommitConflict: It got a commit, or the name was taken in the meantime; it is as it was.
    """
    journal, operation_id = operation.journal, operation.intent.operation_id
    holder = journal.claim(move.target, operation_id)
    if holder != operation_id:
        message = f"Operation {holder} makes a branch {move.target!r}. Choose another name."
        operation.end(Ending.STOPPED, message)
        raise CommitConflict(message, kind=ErrorKind.NAME_TAKEN, branch=move.target)

    def turn_options() -> None:
        _turn(operation, uses, move.source, move.target)

    try:
        move_branch(
            source or operation.table.on(move.source),
            operation.table.on(move.target),
            operation.warehouse.store,
            journal,
            operation_id,
            move,
            # While both names have the branch, no reader is sent to nothing.
            between=turn_options if uses else None,
        )
    except CommitConflict:
        _turn(operation, uses, move.target, move.source)
        journal.release(move.target, operation_id)
        raise


RENAME_BRANCH = Procedure(
    name="rename_branch",
    what="rename a branch",
    doing="Moving the branch to its new name.",
    plan=plan_rename,
    codec=RENAME_JOURNAL,
    finish=finish_rename,
)


def _uses(
    uses: tuple[OptionUse, ...], move: BranchMove, *, update: bool
) -> tuple[Consequence, ...]:
    if update:
        return tuple(
            changes(f"Option {use.key!r} of {use.branch!r} names {move.target!r} by a new schema.")
            for use in uses
        )
    return tuple(
        blocks(
            f"Option {use.key!r} of {use.branch!r} names {move.source!r}: its readers would lose "
            "rows and not be told. Have the options updated, or unset them first.",
            ErrorKind.BRANCH_IN_USE,
        )
        for use in uses
    )


def _turn(operation: Operation, uses: tuple[OptionUse, ...], old: str, new: str) -> None:
    """Let options that name one branch name another; those that do not stay."""
    for use in uses:
        holder = operation.table.on_listed(use.branch)
        change_schema(
            holder,
            operation.warehouse.store,
            [_turned(use.key, old, new)],
            now_millis=operation.intent.time_millis,
        )


def _turned(key: str, old: str, new: str) -> SchemaChange:
    def change(schema: TableSchema) -> TableSchema:
        if schema.options.get(key) != old:
            return schema
        return replace(schema, options=schema.options.merged({key: new}))

    return change
