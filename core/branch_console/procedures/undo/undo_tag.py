"""Undoing what was done to tags."""

from branch_console.commit.journal import Journal
from branch_console.errors import ErrorKind, FormatError
from branch_console.format.journals.names import NamesJournal
from branch_console.format.journals.procedures import codec_of
from branch_console.format.journals.tags import (
    RenameTagJournal,
    TagJournal,
    TagsJournal,
    UntagJournal,
    UntagsJournal,
)
from branch_console.format.journals.undo import UndoJournal
from branch_console.format.lineage_event import LineageEvent, tag_name_now
from branch_console.format.tag import Tag
from branch_console.procedures.branch.tags import replacement_blocks, vital_blocks
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Consequence, blocks, changes
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.procedure import PlannedOperation
from branch_console.procedures.undo.undo_names import plan_names_back
from branch_console.procedures.undo.undo_preview import intent_of, planned_undo, traced
from branch_console.table.file_store_table import FileStoreTable


def plan_tag_back(
    warehouse: Warehouse, call: ProcedureCall, table: FileStoreTable, event: LineageEvent
) -> PlannedOperation:
    """Decide whether names can mean again what they meant, or nothing.

    Raises:
        NotFound: The journal of the operation is gone.
    """
    ledger = Journal(warehouse.store, table.paths)
    intent = intent_of(ledger, event)
    found = traced(table, event, event.branch)
    branch = table.on(found.name)
    consequences: list[Consequence] = list(found.gone)
    journal: UndoJournal
    match ledger.decode(intent, codec_of(intent.procedure)):
        case NamesJournal() as done:
            return plan_names_back(warehouse, call, table, event, done)
        case UntagsJournal() as done:
            journal = _tags_back(branch, done, consequences)
        case RenameTagJournal() as done:
            journal = _name_back(branch, done, consequences)
        case TagJournal() | UntagJournal() as done:
            name = tag_name_now(table.ledger.whole(), event) or done.tag
            journal = _tag_back(branch, name, done, consequences)
        case _:
            raise AssertionError(intent.procedure)
    return planned_undo(call, table, event, consequences, branch=found.name, journal=journal)


def _tag_back(
    branch: FileStoreTable,
    name: str,
    done: TagJournal | UntagJournal,
    consequences: list[Consequence],
) -> TagJournal | UntagJournal:
    before, after = _contents(done)
    consequences += _changed(branch, name, after)
    if before is None:
        consequences += vital_blocks(branch, name, "deleted")
        consequences.append(changes(f"Tag {name!r} of {branch.branch!r} is gone again."))
        return UntagJournal(tag=name, content=after or "")
    number = _snapshot_id(name, before)
    if after is not None:
        old, new = Tag.from_json(name, before), Tag.from_json(name, after)
        consequences += replacement_blocks(branch, new, old)
    consequences.append(changes(_back_text(branch, name, number)))
    return TagJournal(tag=name, content=before, replaces=after, snapshot_id=number)


def _tags_back(
    branch: FileStoreTable, done: UntagsJournal, consequences: list[Consequence]
) -> TagsJournal:
    for each in done.tags:
        consequences += _changed(branch, each.tag, None)
        number = _snapshot_id(each.tag, each.content)
        consequences.append(changes(_back_text(branch, each.tag, number)))
    return TagsJournal(tags=done.tags)


def _name_back(
    branch: FileStoreTable, done: RenameTagJournal, consequences: list[Consequence]
) -> RenameTagJournal:
    now, then = done.target_tag, done.tag
    consequences += _changed(branch, now, done.content)
    consequences += _changed(branch, then, None)
    consequences += vital_blocks(branch, now, "renamed")
    consequences.append(changes(f"Tag {now!r} of {branch.branch!r} is called {then!r} again."))
    return RenameTagJournal(tag=now, target_tag=then, content=done.content)


def _snapshot_id(name: str, content: str) -> int | None:
    """Return the snapshot that a tag names; None if it was deleted because it is broken."""
    try:
        return Tag.from_json(name, content).snapshot.id
    except FormatError:
        return None


def _back_text(branch: FileStoreTable, name: str, snapshot_id: int | None) -> str:
    if snapshot_id is None:
        return f"Tag {name!r} of {branch.branch!r} is back, and cannot be read."
    return f"Tag {name!r} of {branch.branch!r} names snapshot {snapshot_id} again."


def _contents(done: TagJournal | UntagJournal) -> tuple[str | None, str | None]:
    """The file of a tag before and after an operation; None if there was none."""
    if isinstance(done, UntagJournal):
        return done.content, None
    return done.replaces, done.content


def _changed(branch: FileStoreTable, name: str, expected: str | None) -> tuple[Consequence, ...]:
    """Refuse where a tag is not what an operation left."""
    found = branch.reader.files.find(branch.paths.tag(name))
    if found == (None if expected is None else expected.encode()):
        return ()
    text = f"Undo is not possible: tag {name!r} of {branch.branch!r} was changed since."
    return (blocks(text, ErrorKind.UNDO_BLOCKED),)
