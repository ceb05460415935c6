"""Going back to an earlier snapshot: by a new snapshot, or by cutting the history."""

from dataclasses import dataclass, replace

import pyarrow as pa

from branch_console.commit.schema.tag_commit import put_tag, snapshot_bytes, without_retention
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.commit.snapshot.publish_check import renew_hints
from branch_console.diff.file_safety import FileSafety
from branch_console.diff.lineage import OPERATION, RESTORES
from branch_console.diff.rows.row_figure import difference, with_sign
from branch_console.errors import CommitConflict, ErrorKind, InvalidInput
from branch_console.format.identifier import rescue_name
from branch_console.format.journals.history import (
    ROLLBACK_JOURNAL,
    HistoryCopy,
    HistoryJournal,
    RollbackJournal,
)
from branch_console.format.kept_elsewhere import Act
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Counts, Receipt
from branch_console.format.snapshot import Snapshot
from branch_console.format.tag import Tag
from branch_console.operations.branch_requests import ROLLED_BACK_TO, RollbackRequest
from branch_console.procedures.branch.drop_branch import open_operations
from branch_console.procedures.branch.rollback_tags import PIN_PREFIX, pin_names, rollback_pins
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    Consequence,
    Preview,
    blocks,
    changes,
    keeps,
    loses,
    plan_digest,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.row_figures import head_figure
from branch_console.procedures.call.verify_files import arriving_files
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.dependents import dependents_of, readable_tags
from branch_console.procedures.history.file_sharing import (
    Share,
    journal_of_sharing,
    notes_of_sharing,
    put_fences,
    safety_of,
    sharing_consequences,
)
from branch_console.procedures.history.history_transfer import finish_history_transfer
from branch_console.procedures.history.protection import protection_of, rule_text
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.procedures.run.receipts import event_of, move_of, receipt_of
from branch_console.table.consumer_manager import Consumer
from branch_console.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlannedRollback(PlannedOperation):
    """A rollback that was decided on: `then` is the snapshot that it goes back to."""

    then: Snapshot


def plan_rollback(warehouse: Warehouse, call: ProcedureCall) -> PlannedRollback:
    """Decide on going back, and say what that takes out of sight.

    Arguments of the call: `table` (with its branch); one of `snapshot`, `tag`, `timestamp` and
    `watermark` (milliseconds); `cut` (move the history back instead of adding a snapshot);
    `reason`, `plan_id`.

    Raises:
        InvalidInput: Not one place is named, but none or two.
        NotFound: There is no such table, branch, snapshot or tag, or all snapshots are later.
    """
    asked = call.request(RollbackRequest)
    table, cut = table_of(warehouse, call), asked.cut
    then, tag = _place(table, asked)
    head = table.head()
    rule = protection_of(table.ledger.whole(), table.branch)
    consequences: list[Consequence] = [*open_operations(warehouse, table)]
    if head is not None and head.identity.same_as(then.identity):
        text = f"Snapshot {then.id} is the head of {table.branch!r} already."
        consequences.append(blocks(text, ErrorKind.NOTHING_TO_DO))
    journal: HistoryJournal | RollbackJournal
    decided: list[object] = [str(then.identity), str(head and head.identity)]
    if cut:
        copy, expired = _cut(table, head, then, tag, call)
        rewound = _rewound(table, then)
        sharing = safety_of(Share(branches=(table,), for_rescue=(then,), can_copy=False))
        consequences += _cut_consequences(table, then, copy, expired, rewound)
        # Not where readers stand: they go on while somebody looks.
        decided += [copy.remove_tags, [each.id for each in rewound]]
        journal = HistoryJournal(
            copy=copy,
            event=LineageKind.ROLLED_BACK,
            expired_tag=tag.name if expired and tag is not None else None,
            notes=(f"Branch {table.branch!r} is cut back to snapshot {then.id}.",),
        )
    else:
        # What keeps the files that come back are the tags of the rollback itself.
        sharing = safety_of(Share(branches=(table,), on_main=(None,), can_copy=False))
        sharing = replace(sharing, pins=())
        consequences += _restore_consequences(table, head, then)
        pin, pin_made = pin_names(call.operation_id)
        journal = RollbackJournal(
            snapshot_id=then.id,
            then=then.identity,
            tag=None if tag is None else tag.name,
            pin=pin,
            pin_made=pin_made,
            expected_head=None if head is None else head.identity,
            expected_head_id=None if head is None else head.id,
        )
    consequences += _sharing_consequences(sharing)
    shared = journal_of_sharing(sharing, table, call.operation_id, (table.branch,))
    if rule is not None:
        consequences.append(changes(f"Branch {table.branch!r} is protected by {rule_text(rule)}."))
    least = Role.EDITOR if rule is None else Role.APPROVER
    place = f"tag {tag.name!r}" if tag is not None else f"snapshot {then.id}"
    preview = Preview(
        procedure=call.name,
        title=f"{'Cut' if cut else 'Roll'} {table.identifier} back to {place}",
        plan_id=plan_digest(call, *decided),
        consequences=tuple(consequences),
        typed_name=table.branch if cut else None,
        role=Role.OPERATOR if cut else least,
        undo=f"You can undo this until the next commit on {table.branch!r}.",
    )
    return PlannedRollback(
        then=then,
        preview=preview,
        act=Act.COMMIT,
        table=table,
        branch=table.branch,
        journal=replace(journal, sharing=shared, plan_id=preview.plan_id, reason=asked.reason),
    )


def finish_rollback(operation: Operation, journal: HistoryJournal | RollbackJournal) -> Receipt:
    """Go back as the journal says.

    Raises:
        CommitConflict: Another writer came in between; what was there stays.
    """
    match journal:
        case HistoryJournal():
            return finish_history_transfer(operation, journal)
        case RollbackJournal():
            return _finish_restore(operation, journal)


def files_that_return(planned: PlannedRollback) -> pa.Table:
    """Data files of then that the head does not hold, with the columns of FILES_TO_VERIFY."""
    return arriving_files(planned.table, planned.then, planned.table.head())


ROLLBACK = Procedure(
    name="rollback",
    what="roll a branch back",
    doing="Going back.",
    plan=plan_rollback,
    codec=ROLLBACK_JOURNAL,
    finish=finish_rollback,
    files_to_verify=files_that_return,
)


def _place(table: FileStoreTable, asked: RollbackRequest) -> tuple[Snapshot, Tag | None]:
    match asked.snapshot, asked.tag, asked.timestamp, asked.watermark:
        case None, str(name), None, None:
            tag = table.tags.get(name)
            return tag.snapshot, tag
        case int(snapshot_id), None, None, None:
            return table.snapshots.get(snapshot_id), None
        case None, None, int(time_millis), None:
            return table.snapshot_for(timestamp_millis=time_millis), None
        case None, None, None, int(watermark):
            return table.snapshots.at_watermark(watermark), None
        case _:
            raise InvalidInput(
                "A rollback goes to one place: give a snapshot or a tag, a time or a watermark.",
                kind=ErrorKind.INVALID_ARGUMENT,
            )


def _restore_consequences(
    table: FileStoreTable, head: Snapshot | None, then: Snapshot
) -> list[Consequence]:
    schema = table.schema()
    moved = difference(head_figure(table, head, schema), head_figure(table, then, schema))
    number = 1 if head is None else head.id + 1
    consequences = [
        changes(
            f"Snapshot {number} of {table.branch!r} holds again what snapshot {then.id} held: "
            f"{moved.words(with_sign)}."
        ),
        keeps(f"The history stays: every snapshot up to {number - 1} can be read as before."),
        keeps(
            f"New tags {PIN_PREFIX}… on snapshots {then.id} and {number} stay: without them the "
            "expiry of other engines deletes the files that come back, then or when they leave "
            "again."
        ),
    ]
    latest = table.schema().id
    if latest != then.schema_id:
        consequences.append(
            keeps(
                f"The schema stays {latest}; snapshot {then.id} was written with {then.schema_id}."
            )
        )
    return consequences


def _sharing_consequences(sharing: FileSafety) -> list[Consequence]:
    """Tell what keeps the files that come back, or that nothing would."""
    if sharing.shares:
        return sharing_consequences(sharing)
    text = f"An expiry would remove files that come back. {' '.join(sharing.reasons)}"
    return [blocks(text, ErrorKind.FILES_IN_USE)]


def _cut(
    table: FileStoreTable,
    head: Snapshot | None,
    then: Snapshot,
    tag: Tag | None,
    call: ProcedureCall,
) -> tuple[HistoryCopy, bool]:
    """Return the history that a rollback removes, and whether a tag must restore the snapshot."""
    ids = table.snapshots.ids()
    found = table.snapshots.find(then.id)
    expired = found is None and (not ids or then.id < ids[0])
    if found is None and not expired:
        raise InvalidInput(_foreign(table, then), kind=ErrorKind.NO_COMMON_HISTORY)
    if found is not None and not found.identity.same_as(then.identity):
        raise InvalidInput(_foreign(table, then), kind=ErrorKind.NO_COMMON_HISTORY)
    tags, events = readable_tags(table), table.ledger.events()
    standing = dependents_of(table, events, tags)
    pins = {pin.tag for pin in rollback_pins(events, table.branch) if pin.snapshot_id <= then.id}
    leaving = [
        each.name
        for each in tags
        if each.snapshot.id > then.id
        and each is not tag
        and each.name not in pins
        and not any(one.is_vital for one in standing.get(each.name, ()))
    ]
    copy = HistoryCopy(
        source=table.branch,
        target=table.branch,
        expected_head=None if head is None else head.identity,
        expected_head_id=None if head is None else head.id,
        new_head=then.identity,
        new_head_id=then.id,
        schema_ids=(),
        tags=(),
        snapshot_ids=(),
        remove_snapshot_ids=tuple(each for each in ids if each > then.id),
        remove_tags=tuple(leaving),
        rescue_branch=rescue_name(call.operation_id),
    )
    return copy, expired


def _foreign(table: FileStoreTable, then: Snapshot) -> str:
    return (
        f"Snapshot {then.id} is none of the history of {table.branch!r}, so that cannot be cut "
        "back to it. Roll back by a new snapshot instead."
    )


def _rewound(table: FileStoreTable, then: Snapshot) -> tuple[Consumer, ...]:
    """The streaming readers that are ahead of what a branch is cut back to."""
    return tuple(each for each in table.consumers.all() if each.next_snapshot_id > then.id + 1)


def _cut_consequences(
    table: FileStoreTable,
    then: Snapshot,
    copy: HistoryCopy,
    expired: bool,
    rewound: tuple[Consumer, ...],
) -> list[Consequence]:
    ids = copy.remove_snapshot_ids
    consequences = (
        [
            loses(
                f"Snapshots {ids[0]} to {ids[-1]} leave the history of {table.branch!r}."
                if len(ids) > 1
                else f"Snapshot {ids[0]} leaves the history of {table.branch!r}."
            )
        ]
        if ids
        else []
    )
    if copy.remove_tags:
        consequences.append(
            loses("Tags on them go.", tuple(f"tag {name}" for name in copy.remove_tags))
        )
    if rewound:
        consequences.append(
            loses(
                "Streaming readers wait for snapshots that are gone; reset them.",
                tuple(f"{each.id} reads {each.next_snapshot_id} next" for each in rewound),
            )
        )
    kept = [
        tag.name
        for tag in readable_tags(table)
        if tag.snapshot.id > then.id and tag.name not in copy.remove_tags
    ]
    if kept:
        consequences.append(
            keeps("Tags stay that other branches or rollbacks stand on.", tuple(kept))
        )
    if expired:
        consequences.append(
            changes(f"Snapshot {then.id} has expired, and is made again from its tag.")
        )
    consequences.append(keeps("The schema stays the newest one."))
    consequences.append(keeps("A rescue branch keeps all that goes, byte for byte."))
    return consequences


def _finish_restore(operation: Operation, journal: RollbackJournal) -> Receipt:
    table, store = operation.table.on(operation.intent.branch), operation.warehouse.store
    then = _journalled(table, journal)
    put_fences(operation, journal.sharing)
    _pin(operation, table, then, journal.pin)
    landed = FileStoreCommit(
        table, store, without_callbacks=journal.without_callbacks is not None
    ).restore(
        then,
        user=operation.intent.actor,
        identifier=operation.commit_identifier,
        guard=journal.expected_head,
        properties={
            OPERATION: "rollback",
            RESTORES: then.delta_manifest_list,
            "branch.operation-id": operation.intent.operation_id,
        },
        seen_id=journal.expected_head_id or 0,
    )
    if journal.pin_made is not None:
        _pin(operation, table, landed, journal.pin_made)
    renew_hints(table, store, landed)
    before = table.snapshots.find(landed.id - 1)
    receipt = receipt_of(
        operation,
        moves=(move_of(table.branch, before, landed),),
        counts=Counts(
            snapshots_added=1,
            files_verified=journal.files_verified,
            records_added=landed.delta_record_count or 0,
        ),
        notes=(
            f"Snapshot {landed.id} of {table.branch!r} holds what snapshot {then.id} held.",
            *notes_of_sharing(journal.sharing),
        ),
        answer=({ROLLED_BACK_TO: then.id},),
    )
    return operation.complete(
        event_of(
            operation,
            LineageKind.ROLLED_BACK,
            receipt,
            branch=table.branch,
            before=None if before is None else before.identity,
            after=landed.identity,
            parents=() if before is None else (before.identity,),
        )
    )


def _pin(operation: Operation, table: FileStoreTable, snapshot: Snapshot, name: str) -> None:
    """Keep what comes back from expiry, which judges by the snapshot that had taken it away.

    Paimon spares what the last tag before that snapshot holds; it looks at main's tags, newer
    releases at those of the branch. On main a tag of another branch would need that branch's schema
    and, by its id, take the place of main's own tags there (F06).
    Source: Paimon SnapshotDeletion.createDataFileSkipperForTags.
    """
    data = without_retention(snapshot_bytes(table, snapshot))
    put_tag(table, operation.warehouse.store, name, data, replaces=None)


def _journalled(table: FileStoreTable, journal: RollbackJournal) -> Snapshot:
    """The snapshot to go back to, which must still be the one that was decided on."""
    name, number, wanted = journal.tag, journal.snapshot_id, journal.then
    tag = None if name is None else table.tags.find(name)
    found = table.snapshots.find(number) if tag is None else tag.snapshot
    if found is None or wanted is None or not found.identity.same_as(wanted):
        raise CommitConflict(
            f"Snapshot {number} of {table.branch!r} is gone in the meantime. Nothing was changed; "
            "plan again.",
            kind=ErrorKind.HEAD_MOVED,
            branch=table.branch,
        )
    return found
