"""Undoing what moved the head of a branch: a fast-forward, a replacement, a rollback.

What was added leaves again, kept by a rescue branch of its own; what had left comes back from the
rescue branch of then, byte for byte.
"""

from collections.abc import Mapping
from dataclasses import replace

from branch_console.commit.base.head_check import is_at
from branch_console.commit.branch.history_copy import HistoryCopy
from branch_console.commit.branch.rescue import rescue_name
from branch_console.commit.journal import Intent, Journal
from branch_console.errors import ErrorKind, NotFound
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.json_text import JsonObject
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.receipt import HeadMove, identity_from
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
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
from branch_console.procedures.history.file_sharing import pins_of
from branch_console.procedures.history.protection import protection_of
from branch_console.procedures.run.procedure import Planned
from branch_console.procedures.run.receipts import text_of, texts_of
from branch_console.procedures.undo.undo_preview import Traced, planned_undo, traced
from branch_console.table.file_store_table import FileStoreTable

_SHOWN = 20


def plan_way_back(
    warehouse: Warehouse, call: ProcedureCall, table: FileStoreTable, event: LineageEvent
) -> Planned:
    """Decide whether a branch can be what it was before an operation.

    Raises:
        NotFound: The journal of the operation is gone.
    """
    intent = Journal(warehouse.store, table.paths).find(event.operation_id)
    assert event.receipt is not None
    if intent is None:
        raise NotFound(
            f"The journal of operation {event.operation_id} is gone, and with it the way back.",
            kind=ErrorKind.OPERATION_NOT_FOUND,
            operation_id=event.operation_id,
        )
    move = event.receipt.moves[0]
    then = _inverse(intent, move, rescue_name(call.operation_id))
    found = traced(table, event, event.branch)
    kept = found if then.source == then.target else traced(table, event, then.source)
    target = table.on(found.name)
    moved = _moved_tags(target, then, intent)
    copy = replace(
        then,
        source=kept.name,
        target=found.name,
        remove_tags=tuple(each for each in then.remove_tags if each not in moved),
    )
    # Of another branch that has the name now nothing is asked.
    told = [*found.gone] or [
        *_head_blocks(target, move),
        *_expired_blocks(target, copy),
        *_schema_blocks(target, intent.plan, copy),
        *_tag_blocks(target, intent.plan, copy),
        *_rescue_blocks(table, copy, kept),
        *open_operations(warehouse, target),
        *_told(target, copy, moved),
    ]
    role = Role.EDITOR
    if protection_of(table.ledger.whole(), found.name) is not None:
        role = Role.APPROVER
    was_operators = event.kind is LineageKind.REPLACED or intent.plan.get("way") == "cut"
    return planned_undo(
        call,
        table,
        event,
        told,
        branch=found.name,
        journal={
            **copy.to_object(),
            "way": "history",
            "makes": [copy.rescue_branch],
            "event": str(LineageKind.UNDONE),
            "notes": [f"Operation {event.operation_id} ({intent.procedure}) is undone."],
        },
        role=Role.OPERATOR if was_operators else role,
    )


def _inverse(intent: Intent, move: HeadMove, rescue_branch: str) -> HistoryCopy:
    """Turn what an operation did around."""
    adds_one = intent.procedure == "rollback" and intent.plan.get("way") != "cut"
    if adds_one or intent.plan.get("way") == "three-way":
        pins = (text_of(intent.plan, key) for key in ("pin", "pinMade"))
        return HistoryCopy(
            source=move.branch,
            target=move.branch,
            expected_head=move.after,
            expected_head_id=move.after_id,
            new_head=move.before,
            new_head_id=move.before_id,
            schema_ids=(),
            tags=(),
            snapshot_ids=(),
            # It added one snapshot, whose number only its end knows.
            remove_snapshot_ids=() if move.after_id is None else (move.after_id,),
            remove_schema_ids=tuple(
                TableSchema.from_json(text).id for text in texts_of(intent.plan, "schemas")
            ),
            remove_tags=(*(pin for pin in pins if pin is not None), *_pins(intent, move)),
            rescue_branch=rescue_branch,
        )
    done = HistoryCopy.from_object(intent.plan)
    removed = done.snapshot_ids
    if text_of(intent.plan, "expiredTag") is not None and done.new_head_id is not None:
        removed = (done.new_head_id, *removed)
    return HistoryCopy(
        source=done.rescue_branch or done.target,
        target=done.target,
        expected_head=done.new_head,
        expected_head_id=done.new_head_id,
        new_head=done.expected_head,
        new_head_id=done.expected_head_id,
        schema_ids=done.remove_schema_ids,
        tags=done.remove_tags,
        snapshot_ids=tuple(sorted(done.remove_snapshot_ids)),
        remove_snapshot_ids=removed,
        remove_schema_ids=done.schema_ids,
        remove_tags=(*done.tags, *_pins(intent, move)),
        rescue_branch=rescue_branch,
    )


def _pins(intent: Intent, move: HeadMove) -> tuple[str, ...]:
    """The pins that leave with what an operation brought to main.

    Those of a merge that took files of main to another branch stay: its rescue branch has them.
    """
    return pins_of(intent.plan) if move.branch == MAIN_BRANCH else ()


def _moved_tags(target: FileStoreTable, then: HistoryCopy, intent: Intent) -> tuple[str, ...]:
    """Tags that an operation brought, and that somebody has moved since: these are theirs.

    What was brought is told by the branch that it came from, or else names a snapshot that leaves.
    """
    done = text_of(intent.plan, "source")
    if done is None or then.source == then.target == done:
        return ()
    source, moved, pins = target.on(done), [], pins_of(intent.plan)
    for name in then.remove_tags:
        if name in pins:
            continue
        tag, brought = target.tags.find(name), source.tags.find(name)
        if tag is None or (brought is not None and is_at(tag.snapshot, brought.snapshot.identity)):
            continue
        if tag.snapshot.id not in then.remove_snapshot_ids:
            moved.append(name)
    return tuple(moved)


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
    target: FileStoreTable, plan: Mapping[str, object], copy: HistoryCopy
) -> tuple[Consequence, ...]:
    """Refuse where the table was altered since, so that schemas in the middle would leave."""
    expected, latest = plan.get("schemaIdAfter"), max(target.schemas.ids(), default=None)
    if not (copy.schema_ids or copy.remove_schema_ids) or expected in (None, latest):
        return ()
    return (
        blocks(
            f"Undo is not possible: {target.branch!r} was altered since; its schema is {latest}.",
            ErrorKind.UNDO_BLOCKED,
        ),
    )


def _tag_blocks(
    target: FileStoreTable, plan: Mapping[str, object], copy: HistoryCopy
) -> tuple[Consequence, ...]:
    """Refuse where a tag that stays is read by a schema that leaves.

    The base tag of a branch keeps files: it is read on that branch, by the schema it has there. And
    a tag that was there before the schema is as it was without that.
    """
    staying = [
        tag
        for tag in tags_read_by(target, copy.remove_schema_ids)
        if tag.name not in copy.remove_tags and not _was_there(target, plan, copy, tag)
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


def _was_there(
    target: FileStoreTable, plan: Mapping[str, object], copy: HistoryCopy, tag: Tag
) -> bool:
    """Whether a tag was there before the operation, as its rescue branch or its journal tells."""
    if copy.source != copy.target:
        kept = target.on(copy.source).tags.find(tag.name)
        return kept is not None and kept.snapshot.identity.same_as(tag.snapshot.identity)
    raw = JsonObject(plan, "journal of what is undone")
    before = JsonObject(raw.find("tagsBefore", dict) or {}, raw.what).find(tag.name, dict)
    noted = identity_from(before, raw.what)
    return noted is not None and noted.same_as(tag.snapshot.identity)


def _rescue_blocks(
    table: FileStoreTable, copy: HistoryCopy, kept: Traced
) -> tuple[Consequence, ...]:
    """Refuse where what was kept is gone, or is another history by now."""
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


def _told(target: FileStoreTable, copy: HistoryCopy, moved: tuple[str, ...]) -> list[Consequence]:
    back = "empty" if copy.new_head_id is None else f"at snapshot {copy.new_head_id}"
    told = [changes(f"Branch {target.branch!r} is {back} again, with every byte of then.")]
    if copy.remove_snapshot_ids:
        told.append(
            loses(
                f"What the operation brought leaves {target.branch!r}.",
                tuple(f"snapshot {each}" for each in sorted(copy.remove_snapshot_ids)[:_SHOWN]),
            )
        )
        told += rewound_consumers(target.branch, _past(target, min(copy.remove_snapshot_ids)))
    there = set(target.tags.names())
    going = tuple(name for name in copy.remove_tags if name in there)
    if going:
        told.append(loses("Tags that the operation brought go.", going))
    if moved:
        told.append(keeps("Tags stay that were moved since.", moved))
    leaving = set(copy.remove_snapshot_ids) - set(copy.snapshot_ids)
    staying = tuple(
        tag.name
        for tag in readable_tags(target)
        if tag.snapshot.id in leaving and tag.name not in copy.remove_tags
    )
    if staying:
        told.append(changes("Tags stay that name what leaves.", staying))
    told.append(keeps("A rescue branch keeps what leaves, byte for byte."))
    return told


def _past(target: FileStoreTable, first_id: int) -> list[tuple[str, int]]:
    """The consumers that have read the first snapshot that leaves, and what each reads next."""
    read = (state.value for state in target.consumers.states())
    return [(c.id, c.next_snapshot_id) for c in read if c and c.next_snapshot_id > first_id]
