"""Undoing what moved the head of a branch: a fast-forward, a replacement, a rollback.

What was added leaves again, kept by a rescue branch of its own; what had left comes back from the
rescue branch of then, byte for byte.
"""

from dataclasses import replace

from branch_console.commit.base.head_check import is_at
from branch_console.commit.journal import Journal
from branch_console.diff.history_move import count
from branch_console.errors import ErrorKind
from branch_console.format.identifier import rescue_name
from branch_console.format.journals.history import HistoryCopy, HistoryJournal, RollbackJournal
from branch_console.format.journals.intent import Intent
from branch_console.format.journals.merge import MergeJournal
from branch_console.format.journals.missing_files import MissingFilesJournal
from branch_console.format.journals.partitions import DropPartitionsJournal
from branch_console.format.journals.procedures import codec_of
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.receipt import HeadMove
from branch_console.format.snapshot import Snapshot
from branch_console.format.tag import Tag
from branch_console.procedures.branch.drop_branch import open_operations
from branch_console.procedures.branch.fast_forward_preview import rewound_consumers
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Consequence, blocks, changes, keeps, loses
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.dependents import (
    base_tags_among,
    readable_tags,
    tags_read_by,
)
from branch_console.procedures.history.protection import protection_of
from branch_console.procedures.history.way_back import Dropping, Moving, inverse_of
from branch_console.procedures.run.procedure import PlannedOperation
from branch_console.procedures.undo.undo_preview import (
    Traced,
    is_merge,
    journal_gone,
    operation_words,
    planned_undo,
    traced,
)
from branch_console.table.file_store_table import FileStoreTable

_SHOWN = 20


def plan_way_back(
    warehouse: Warehouse, call: ProcedureCall, table: FileStoreTable, event: LineageEvent
) -> PlannedOperation:
    """Decide whether a branch can be what it was before an operation.

    Raises:
        NotFound: The journal of the operation is gone.
    """
    ledger = Journal(warehouse.store, table.paths)
    intent = ledger.find(event.operation_id)
    if intent is None or event.receipt is None:
        raise journal_gone(event)
    move = event.receipt.moves[0]
    done = _done(ledger, intent)
    then = inverse_of(done, move, rescue_name(call.operation_id))
    found = traced(table, event, event.branch)
    kept = found if then.source == then.target else traced(table, event, then.source)
    target = table.on(found.name)
    moved = _moved_tags(target, then, done)
    copy = replace(
        then,
        source=kept.name,
        target=found.name,
        remove_tags=tuple(each for each in then.remove_tags if each not in moved),
    )
    # Of another branch that has the name now nothing is asked.
    consequences = [*found.gone] or [
        *_head_blocks(target, move),
        *_expired_blocks(target, copy),
        *_schema_blocks(target, done, copy),
        *_tag_blocks(target, done, copy),
        *_rescue_blocks(table, copy, kept),
        *open_operations(warehouse, target),
        *_consequences(target, copy, moved),
    ]
    role = Role.EDITOR
    if protection_of(table.ledger.whole(), found.name) is not None:
        role = Role.APPROVER
    was_cut = intent.procedure == "rollback" and isinstance(done, HistoryJournal)
    was_operators = event.kind is LineageKind.REPLACED or was_cut
    return planned_undo(
        call,
        table,
        event,
        consequences,
        branch=found.name,
        journal=HistoryJournal(
            copy=copy,
            event=LineageKind.UNDONE,
            notes=(_undone(event, intent),),
        ),
        role=Role.OPERATOR if was_operators else role,
        rescues=True,
    )


def _done(ledger: Journal, intent: Intent) -> Moving:
    """Return what an operation noted that moved a head.

    Raises:
        FormatError: Its journal cannot be read.
    """
    done: Moving = ledger.decode(intent, codec_of(intent.procedure))
    return done


def _moved_tags(target: FileStoreTable, then: HistoryCopy, done: Moving) -> tuple[str, ...]:
    """Tags that someone moved after the operation made them; undo leaves them.

    What was brought is told by the branch that it came from, or else names a snapshot that leaves.
    """
    came_from = _source_of(done)
    if came_from is None or then.source == then.target == came_from:
        return ()
    assert not isinstance(done, Dropping)
    source, moved, pins = target.on(came_from), [], done.sharing.tags
    for name in then.remove_tags:
        if name in pins:
            continue
        tag, brought = target.tags.find(name), source.tags.find(name)
        if tag is None or (brought is not None and is_at(tag.snapshot, brought.snapshot.identity)):
            continue
        if tag.snapshot.id not in then.remove_snapshot_ids:
            moved.append(name)
    return tuple(moved)


def _source_of(done: Moving) -> str | None:
    """The branch that something came from; None for what the branch itself had or dropped."""
    match done:
        case MergeJournal():
            return done.source
        case HistoryJournal():
            return done.copy.source
        case RollbackJournal() | DropPartitionsJournal() | MissingFilesJournal():
            return None


def _head_blocks(target: FileStoreTable, move: HeadMove) -> tuple[Consequence, ...]:
    """Refuse where something was built on the result."""
    head = target.head()
    if is_at(head, move.after):
        return ()
    newer: list[Snapshot] = []
    for snapshot in target.snapshots.walk():
        if is_at(snapshot, move.after) or len(newer) == _SHOWN:
            break
        newer.append(snapshot)
    now = "has no snapshot" if head is None else f"is at snapshot {head.id}"
    return (
        blocks(
            f"Undo is not possible: {target.branch!r} moved since, and {now}.",
            ErrorKind.UNDO_BLOCKED,
            tuple(f"snapshot {each.id} by {each.commit_user}" for each in newer),
        ),
    )


def _expired_blocks(target: FileStoreTable, copy: HistoryCopy) -> tuple[Consequence, ...]:
    """Refuse where the head of then has expired: the branch would be left without a snapshot."""
    if copy.new_head_id is None or copy.new_head_id in copy.snapshot_ids:
        return ()
    if is_at(target.snapshots.find(copy.new_head_id), copy.new_head):
        return ()
    return (
        blocks(
            f"Undo is not possible: snapshot {copy.new_head_id} of {target.branch!r}, which it "
            "would go back to, has expired. Revert the operation instead.",
            ErrorKind.UNDO_BLOCKED,
        ),
    )


def _schema_blocks(
    target: FileStoreTable, done: Moving, copy: HistoryCopy
) -> tuple[Consequence, ...]:
    """Refuse where the table was altered since, so that schemas in the middle would leave."""
    expected = done.schema_id_after if isinstance(done, MergeJournal | HistoryJournal) else None
    latest = max(target.schemas.ids(), default=None)
    if not (copy.schema_ids or copy.remove_schema_ids) or expected in (None, latest):
        return ()
    return (
        blocks(
            f"Undo is not possible: {target.branch!r} was altered since; its schema is {latest}.",
            ErrorKind.UNDO_BLOCKED,
        ),
    )


def _tag_blocks(target: FileStoreTable, done: Moving, copy: HistoryCopy) -> tuple[Consequence, ...]:
    """Refuse where a tag that stays is read by a schema that leaves.

    The base tag of a branch keeps files: it is read on that branch, by the schema it has there. And
    a tag that was there before the schema is as it was without that.
    """
    staying = [
        tag
        for tag in tags_read_by(target, copy.remove_schema_ids)
        if tag.name not in copy.remove_tags and not _was_there(target, done, copy, tag)
    ]
    bases = base_tags_among(target, target.ledger.events(), staying) if staying else ()
    needing = [tag.name for tag in staying if tag.name not in bases]
    if not needing:
        return ()
    return (
        blocks(
            f"Undo is not possible: tags of {target.branch!r} need schemas that would leave. "
            "Delete the tags first.",
            ErrorKind.UNDO_BLOCKED,
            tuple(f"tag {name}" for name in needing),
        ),
    )


def _was_there(target: FileStoreTable, done: Moving, copy: HistoryCopy, tag: Tag) -> bool:
    """Whether a tag was there before the operation, as its rescue branch or its journal tells."""
    if copy.source != copy.target:
        kept = target.on(copy.source).tags.find(tag.name)
        return kept is not None and kept.snapshot.identity.same_as(tag.snapshot.identity)
    before = done.tags_before if isinstance(done, MergeJournal | HistoryJournal) else None
    noted = (before or {}).get(tag.name)
    return noted is not None and noted.same_as(tag.snapshot.identity)


def _rescue_blocks(
    table: FileStoreTable, copy: HistoryCopy, kept: Traced
) -> tuple[Consequence, ...]:
    """Refuse if the rescue branch is gone, or has another history now."""
    if copy.source == copy.target:
        return ()
    if kept.gone:
        return kept.gone
    if is_at(table.on(copy.source).head(), copy.new_head):
        return ()
    return (
        blocks(
            f"Undo is not possible: branch {copy.source!r} is not what was kept then; somebody "
            "wrote to it.",
            ErrorKind.UNDO_BLOCKED,
        ),
    )


def _undone(event: LineageEvent, intent: Intent) -> str:
    words = operation_words(event)
    known = words if is_merge(event) else f"{words} ({intent.procedure})"
    return f"{known[0].upper()}{known[1:]} is undone."


def _consequences(
    target: FileStoreTable, copy: HistoryCopy, moved: tuple[str, ...]
) -> list[Consequence]:
    back = "no snapshot" if copy.new_head_id is None else f"snapshot {copy.new_head_id}"
    consequences = [changes(f"{target.branch!r} goes back to {back}, exactly as it was.")]
    if copy.remove_snapshot_ids:
        consequences.append(
            loses(
                f"{target.branch!r} loses {count(len(copy.remove_snapshot_ids), 'snapshot')}.",
                tuple(f"snapshot {each}" for each in sorted(copy.remove_snapshot_ids)[:_SHOWN]),
            )
        )
        consequences += rewound_consumers(
            target.branch, _past(target, min(copy.remove_snapshot_ids))
        )
    there = set(target.tags.names())
    going = tuple(name for name in copy.remove_tags if name in there)
    if going:
        consequences.append(loses("The tags that the operation set are removed.", going))
    if moved:
        consequences.append(keeps("Tags that were moved since stay where they are.", moved))
    leaving = set(copy.remove_snapshot_ids) - set(copy.snapshot_ids)
    staying = tuple(
        tag.name
        for tag in readable_tags(target)
        if tag.snapshot.id in leaving and tag.name not in copy.remove_tags
    )
    if staying:
        consequences.append(changes("Tags that name removed snapshots stay.", staying))
    consequences.append(
        keeps(
            "All that is removed is kept on a new rescue branch. Release that branch when "
            "you no longer need it."
        )
    )
    return consequences


def _past(target: FileStoreTable, first_id: int) -> list[tuple[str, int]]:
    """The consumers that have read the first snapshot that leaves, and what each reads next."""
    read = (state.value for state in target.consumers.states())
    return [(c.id, c.next_snapshot_id) for c in read if c and c.next_snapshot_id > first_id]
