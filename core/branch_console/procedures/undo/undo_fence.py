"""Undoing a fence, or its removal."""

from branch_console.errors import ErrorKind
from branch_console.format.journals.branches import FenceBranchJournal
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.procedures.branch.fence_branch import fencing_consequences, freeing_consequences
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    blocks,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.procedure import PlannedOperation
from branch_console.procedures.undo.undo_preview import planned_undo, traced
from branch_console.table.file_store_table import FileStoreTable


def plan_fence_back(
    warehouse: Warehouse, call: ProcedureCall, table: FileStoreTable, event: LineageEvent
) -> PlannedOperation:
    """Decide whether a branch can lose the fence that an operation made, or have it again."""
    found = traced(table, event, event.branch)
    is_fence = event.kind is LineageKind.UNFENCED
    consequences = list(found.gone)
    if not consequences:
        branch = table.on(found.name)
        consequences = [
            each
            if each.kind is None
            else blocks(f"Undo is not possible: {each.text}", ErrorKind.UNDO_BLOCKED)
            for each in (fencing_consequences(branch) if is_fence else freeing_consequences(branch))
        ]
    return planned_undo(
        call,
        table,
        event,
        consequences,
        branch=found.name,
        journal=FenceBranchJournal(fenced=is_fence),
        role=Role.EDITOR if is_fence else Role.OPERATOR,
    )
