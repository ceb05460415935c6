"""Undoing what was done to a tag."""

from branch_console.commit.journal import Journal
from branch_console.errors import ErrorKind, NotFound
from branch_console.format.journals.intent import Intent
from branch_console.format.journals.tags import (
    TAG_JOURNAL,
    UNTAG_JOURNAL,
    TagJournal,
    UntagJournal,
)
from branch_console.format.lineage_event import LineageEvent
from branch_console.format.tag import Tag
from branch_console.procedures.branch.tags import replacement_blocks, vital_blocks
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Consequence, blocks, changes
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.procedure import Planned
from branch_console.procedures.undo.undo_preview import planned_undo, traced
from branch_console.table.file_store_table import FileStoreTable


def plan_tag_back(
    warehouse: Warehouse, call: ProcedureCall, table: FileStoreTable, event: LineageEvent
) -> Planned:
    """Decide whether a name can mean again what it meant, or nothing.

    Raises:
        NotFound: The journal of the operation is gone.
    """
    ledger = Journal(warehouse.store, table.paths)
    intent = ledger.find(event.operation_id)
    if intent is None or event.tag is None:
        raise NotFound(
            f"The journal of operation {event.operation_id} is gone, and with it the way back.",
            kind=ErrorKind.OPERATION_NOT_FOUND,
            operation_id=event.operation_id,
        )
    found, name = traced(table, event, event.branch), event.tag
    branch = table.on(found.name)
    before, after = _contents(ledger, intent)
    told: list[Consequence] = list(found.gone)
    if not told and _bytes_of(branch, name) != (None if after is None else after.encode()):
        told.append(
            blocks(
                f"Undo is not possible: tag {name!r} of {branch.branch!r} was changed since.",
                ErrorKind.UNDO_BLOCKED,
            )
        )
    if before is None:
        told += vital_blocks(branch, name, "deleted")
        told.append(changes(f"Tag {name!r} of {branch.branch!r} is gone again."))
        journal: TagJournal | UntagJournal = UntagJournal(tag=name, content=after or "")
    else:
        old = Tag.from_json(name, before)
        number = old.snapshot.id
        if after is not None:
            told += replacement_blocks(branch, Tag.from_json(name, after), old)
        told.append(changes(f"Tag {name!r} of {branch.branch!r} names snapshot {number} again."))
        journal = TagJournal(tag=name, content=before, replaces=after, snapshot_id=number)
    return planned_undo(call, table, event, told, branch=found.name, journal=journal)


def _contents(ledger: Journal, intent: Intent) -> tuple[str | None, str | None]:
    """The file of a tag before and after an operation; None where there was none."""
    if intent.procedure == "delete_tag":
        return ledger.decode(intent, UNTAG_JOURNAL).content, None
    made = ledger.decode(intent, TAG_JOURNAL)
    return made.replaces, made.content


def _bytes_of(table: FileStoreTable, name: str) -> bytes | None:
    return table.reader.files.find(table.paths.tag(name))
