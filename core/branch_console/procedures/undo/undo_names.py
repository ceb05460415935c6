"""Undoing an expiry of tags or changelogs: the names come back, as long as no file was removed."""

from typing import Final

from branch_console.commit.schema.tag_commit import remove_tags
from branch_console.diff.history_move import count
from branch_console.errors import CommitConflict, ErrorKind
from branch_console.format.journals.names import NamesBackJournal, NamesJournal
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.receipt import Counts, Receipt
from branch_console.maintenance.references import retired_branches
from branch_console.maintenance.retire import bring_names_back, forget_retired
from branch_console.procedures.branch.tags import vital_blocks
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Consequence, blocks, changes, keeps
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.maintenance.maintenance_turn import (
    claim_maintenance,
    end_turn,
    give_up_turn,
)
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation
from branch_console.procedures.run.receipts import receipt_of
from branch_console.procedures.undo.undo_preview import planned_undo, traced
from branch_console.table.file_store_table import FileStoreTable

_BACK: Final = "names-back"


def plan_names_back(
    warehouse: Warehouse,
    call: ProcedureCall,
    table: FileStoreTable,
    event: LineageEvent,
    done: NamesJournal,
) -> PlannedOperation:
    """Decide whether a branch can have back the names that an operation took.

    Args:
        warehouse: The warehouse.
        call: The call of the undo.
        table: The table.
        event: The operation.
        done: The journal of the operation.
    """
    found = traced(table, event, event.branch)
    branch = table.on(found.name)
    consequences: list[Consequence] = list(found.gone)
    took = bool(done.tags or done.changelogs)
    if took and event.branch not in retired_branches(table, event.operation_id):
        consequences.append(
            blocks(
                "Undo is not possible: files that only the expired names held were removed.",
                ErrorKind.UNDO_BLOCKED,
            )
        )
    if not consequences:
        consequences += _consequences(branch, done)
    return planned_undo(
        call,
        table,
        event,
        consequences,
        branch=found.name,
        journal=NamesBackJournal(
            expiry=event.operation_id,
            then=event.branch,
            tags=done.tags,
            changelogs=done.changelogs,
            made=done.made,
        ),
        role=Role.OPERATOR if took else Role.EDITOR,
    )


def finish_names_back(operation: Operation, journal: NamesBackJournal) -> Receipt:
    """Bring the names back, and take away the tags that were made.

    Raises:
        CommitConflict: Another operation is at work on files of the table, their files have gone,
            or a tag was changed in the meantime.
    """
    claim_maintenance(operation)
    try:
        receipt = _bring_back(operation, journal)
    except CommitConflict:
        give_up_turn(operation)
        raise
    return end_turn(operation, LineageKind.UNDONE, receipt, undoes=journal.undoes)


def _bring_back(operation: Operation, journal: NamesBackJournal) -> Receipt:
    operation_id, store = operation.intent.operation_id, operation.warehouse.store
    table = operation.table.on(operation.intent.branch)
    # What a try before has brought back is forgotten last.
    if not operation.journal.has_reached(operation_id, _BACK):
        remove_tags(table, store, {each.tag: each.content.encode() for each in journal.made})
        bring_names_back(
            table,
            store,
            journal.expiry,
            journal.then,
            {each.tag: each.content.encode() for each in journal.tags},
            journal.changelogs,
        )
        operation.journal.mark(operation_id, _BACK)
    forget_retired(table, store, journal.expiry, (journal.then,))
    return receipt_of(
        operation,
        counts=Counts(tags_added=len(journal.tags), tags_removed=len(journal.made)),
        notes=(
            *(f"Tag {each.tag!r} of {table.branch!r} is back." for each in journal.tags),
            *(f"Tag {each.tag!r} of {table.branch!r} is gone." for each in journal.made),
            *(
                (f"{count(len(journal.changelogs), 'changelog')} of {table.branch!r} came back.",)
                if journal.changelogs
                else ()
            ),
        ),
    )


def _consequences(branch: FileStoreTable, done: NamesJournal) -> list[Consequence]:
    consequences: list[Consequence] = []
    for each in done.tags:
        data = branch.reader.files.find(branch.paths.tag(each.tag))
        if data is not None and data != each.content.encode():
            consequences.append(
                blocks(
                    f"Undo is not possible: {branch.branch!r} has another tag {each.tag!r} now.",
                    ErrorKind.UNDO_BLOCKED,
                )
            )
    for each in done.made:
        data = branch.reader.files.find(branch.paths.tag(each.tag))
        if data is not None and data != each.content.encode():
            consequences.append(
                blocks(
                    f"Undo is not possible: tag {each.tag!r} of {branch.branch!r} was changed "
                    "since.",
                    ErrorKind.UNDO_BLOCKED,
                )
            )
        consequences += vital_blocks(branch, each.tag, "deleted")
    if done.tags or done.made:
        back = tuple(f"tag {each.tag} is back" for each in done.tags)
        gone = tuple(f"tag {each.tag} is gone" for each in done.made)
        consequences.append(changes(f"Tags of {branch.branch!r} are as before.", (*back, *gone)))
    if done.changelogs:
        number = count(len(done.changelogs), "changelog")
        consequences.append(changes(f"{number} of {branch.branch!r} come back."))
    if done.tags or done.changelogs:
        consequences.append(keeps("No file was removed: all that they held is there."))
    return consequences
