"""Undoing a reset of consumers: each reads on where it did."""

from branch_console.commit.journal import Journal
from branch_console.errors import ErrorKind
from branch_console.format.journals.consumers import (
    CONSUMERS_JOURNAL,
    ConsumerChange,
    ConsumersJournal,
)
from branch_console.format.lineage_event import LineageEvent
from branch_console.procedures.branch.consumers import find_content, find_next
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Consequence, blocks, changes
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.procedure import PlannedOperation
from branch_console.procedures.undo.undo_preview import intent_of, planned_undo, traced
from branch_console.table.file_store_table import FileStoreTable


def plan_consumers_back(
    warehouse: Warehouse, call: ProcedureCall, table: FileStoreTable, event: LineageEvent
) -> PlannedOperation:
    """Decide whether consumers can read on where they did before an operation.

    Raises:
        NotFound: The journal of the operation is gone.
    """
    ledger = Journal(warehouse.store, table.paths)
    intent = intent_of(ledger, event)
    found = traced(table, event, event.branch)
    done = ledger.decode(intent, CONSUMERS_JOURNAL).changes
    consequences = list(found.gone)
    if not consequences:
        branch = table.on(found.name)
        consequences = [_consequence(branch, each) for each in done]
    return planned_undo(
        call,
        table,
        event,
        consequences,
        branch=found.name,
        journal=ConsumersJournal(
            changes=tuple(
                ConsumerChange(consumer=each.consumer, before=each.after, after=each.before)
                for each in done
            )
        ),
        role=Role.OPERATOR,
    )


def _consequence(branch: FileStoreTable, done: ConsumerChange) -> Consequence:
    who, next_id = f"Consumer {done.consumer!r} of {branch.branch!r}", find_next(done.before)
    if find_content(branch, done.consumer) != done.after:
        return blocks(
            f"Undo is not possible: {who[0].lower()}{who[1:]} has moved since.",
            ErrorKind.UNDO_BLOCKED,
        )
    if next_id is None:
        return changes(f"{who} is gone again." if done.before is None else f"{who} is back.")
    earliest = branch.snapshots.earliest_id()
    if earliest is not None and next_id < earliest:
        return blocks(
            f"Undo is not possible: snapshot {next_id}, which {who[0].lower()}{who[1:]} would read "
            "next, has expired.",
            ErrorKind.UNDO_BLOCKED,
        )
    return changes(f"{who} reads snapshot {next_id} next again.")
