"""Naming snapshots, and taking names away that nothing stands on."""

import re
from datetime import UTC, datetime
from typing import Final

from branch_console.commit.schema.tag_commit import (
    check_tag_name,
    put_tag,
    remove_tag,
    snapshot_bytes,
    with_retention,
)
from branch_console.errors import AlreadyExists, ErrorKind, InvalidInput, NotFound
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.tags import (
    TAG_JOURNAL,
    UNTAG_JOURNAL,
    TagJournal,
    UntagJournal,
)
from branch_console.format.kept_elsewhere import Act
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.receipt import Counts, Receipt
from branch_console.format.snapshot import Snapshot
from branch_console.format.tag import Tag
from branch_console.operations.tag_requests import CreateTagRequest, DeleteTagRequest
from branch_console.procedures.branch.rollback_tags import RollbackPin, needed_pin
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    NOTHING_TO_UNDO,
    Consequence,
    Preview,
    blocks,
    changes,
    keeps,
    plan_digest,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.row_engine import RowEngine
from branch_console.procedures.call.stages import Stages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.dependents import (
    TagDependent,
    readable_tags,
    rescued_on,
    standing_on,
)
from branch_console.procedures.history.share_pins import branches_needing
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import Planned, Verb, table_of
from branch_console.procedures.run.receipts import (
    event_of,
    receipt_of,
    receipt_without_change,
)
from branch_console.procedures.run.runner import run_verb
from branch_console.table.file_store_table import FileStoreTable

_DURATION: Final = re.compile(
    r"P(?=.)(?:(\d+)W)?(?:(\d+)D)?(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?"
)
_UNITS: Final = (604_800, 86_400, 3_600, 60, 1)


def create_tag(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Create or move a tag; the arguments and errors are those of `plan_tag`."""
    return run_verb(CREATE_TAG, warehouse, rows, call, stages)


def plan_tag(warehouse: Warehouse, call: ProcedureCall) -> Planned:
    """Decide on a new tag, or on one that moves.

    Arguments of the call: `table` (with its branch), `tag`, `snapshot` (the head if left out),
    `replace` (move the tag where there is one), `time_retained` (such as `P7D`; it lasts for ever
    if left out).

    Raises:
        AlreadyExists: The name stands for another snapshot, or lasts for another time, and is not
            to be replaced.
        InvalidInput: The name or the time is none that a tag may have.
        NotFound: There is no such table, branch or snapshot.
    """
    asked = call.request(CreateTagRequest)
    table, name = table_of(warehouse, call), asked.tag
    check_tag_name(name)
    snapshot, retained = _snapshot(table, asked.snapshot), asked.time_retained
    seconds = None if retained is None else retention_seconds(retained)
    old, replaces = table.tags.find(name), asked.replace
    is_same = old is not None and old.snapshot.identity.same_as(snapshot.identity)
    lasts_as_asked = old is not None and old.time_retained_seconds == seconds
    if old is not None and not replaces and not (is_same and lasts_as_asked):
        raise _is_taken(table, old)
    data = snapshot_bytes(table, snapshot)
    if seconds is not None:
        # As Paimon writes it: the wall clock of who writes, without a zone.
        made = datetime.fromtimestamp(warehouse.clock() / 1000, UTC).astimezone()
        data = with_retention(data, made.replace(tzinfo=None), seconds)
    # To replace a tag by the same lets its time begin anew.
    stays = is_same and lasts_as_asked and not (replaces and seconds)
    verb, undo = "Create", "Delete the tag: nothing else changes."
    if stays:
        undo = NOTHING_TO_UNDO
        text = f"Tag {name!r} of {table.branch!r} names snapshot {snapshot.id} already."
        told: tuple[Consequence, ...] = (keeps(text),)
    else:
        if old is not None:
            verb = "Replace" if is_same else "Move"
            undo = "Undo gives the name back what it stood for."
        told = _told_of_tag(table, Tag.from_json(name, data), old, retained)
    kept = None if old is None else [str(old.snapshot.identity), old.time_retained_seconds]
    preview = Preview(
        procedure=call.name,
        title=f"{verb} tag {name!r} of {table.identifier}",
        plan_id=plan_digest(call, [str(snapshot.identity), kept]),
        consequences=told,
        typed_name=None,
        role=Role.EDITOR,
        undo=undo,
    )
    already = None
    if stays:
        now, notes = warehouse.clock(), (told[0].text, "Nothing was changed.")
        already = receipt_without_change(
            call, preview.plan_id, notes, started_millis=now, finished_millis=now
        )
    return Planned(
        preview=preview,
        act=Act.TAG,
        table=table,
        branch=table.branch,
        journal=TagJournal(
            plan_id=preview.plan_id,
            tag=name,
            content=data.decode(),
            replaces=_content(table, name) if old is not None else None,
            snapshot_id=snapshot.id,
        ),
        already=already,
    )


def _told_of_tag(
    table: FileStoreTable, new: Tag, old: Tag | None, retained: str | None
) -> tuple[Consequence, ...]:
    told = [changes(f"Tag {new.name!r} of {table.branch!r} names snapshot {new.snapshot.id}.")]
    if old is not None:
        if not old.snapshot.identity.same_as(new.snapshot.identity):
            told.append(changes(f"It names snapshot {old.snapshot.id} until then."))
        told += replacement_blocks(table, old, new)
        if retained is None and old.time_retained_seconds is not None:
            told.append(changes("It no longer expires by itself."))
    if retained is not None:
        told.append(
            changes(f"It expires by itself {retained} after it was made, at a commit to main.")
        )
    return tuple(told)


def _is_taken(table: FileStoreTable, old: Tag) -> AlreadyExists:
    lasts = "for good" if old.time_retained_seconds is None else "until it expires by itself"
    return AlreadyExists(
        f"Branch {table.branch!r} has a tag {old.name!r} already: it names snapshot "
        f"{old.snapshot.id}, {lasts}. Choose another name, or replace it.",
        tag=old.name,
        snapshot_id=old.snapshot.id,
    )


def finish_tag(operation: Operation, journal: TagJournal) -> Receipt:
    """Make or move the tag.

    Raises:
        CommitConflict: The name got another meaning in the meantime.
    """
    name, replaces = journal.tag, journal.replaces
    table = operation.table.on(operation.intent.branch)
    put_tag(
        table,
        operation.warehouse.store,
        name,
        journal.content.encode(),
        replaces=None if replaces is None else replaces.encode(),
    )
    receipt = receipt_of(
        operation,
        counts=Counts(tags_added=1, tags_removed=int(replaces is not None)),
        notes=(f"Tag {name!r} names snapshot {journal.snapshot_id} of {table.branch!r}.",),
    )
    return operation.complete(_event(operation, LineageKind.TAGGED, journal, receipt))


def plan_tag_deletion(warehouse: Warehouse, call: ProcedureCall) -> Planned:
    """Decide whether a tag may go.

    Arguments of the call: `table` (with its branch), `tag`, `reason`.

    Raises:
        NotFound: There is no such table, branch or tag.
    """
    asked = call.request(DeleteTagRequest)
    table, name = table_of(warehouse, call), asked.tag
    tag = table.tags.get(name)
    in_history = table.snapshots.find(tag.snapshot.id)
    is_kept = in_history is not None and in_history.identity.same_as(tag.snapshot.identity)
    consequences = [
        changes(
            f"The name {name!r} is gone from {table.branch!r}: it meant snapshot {tag.snapshot.id}."
        ),
        *vital_blocks(table, name, "deleted"),
        keeps("No data file is deleted. What only the tag kept is found by a search for orphans."),
    ]
    if not is_kept:
        consequences.append(
            changes(
                f"Snapshot {tag.snapshot.id} has expired from {table.branch!r}: without the tag "
                "it can no longer be read there."
            )
        )
    preview = Preview(
        procedure=call.name,
        title=f"Delete tag {name!r} of {table.identifier}",
        plan_id=plan_digest(call, str(tag.snapshot.identity)),
        consequences=tuple(consequences),
        typed_name=None if is_kept else name,
        role=Role.EDITOR,
        undo="Undo makes the tag again, byte for byte; the ledger keeps it.",
    )
    return Planned(
        preview=preview,
        act=Act.TAG,
        table=table,
        branch=table.branch,
        journal=UntagJournal(
            plan_id=preview.plan_id,
            tag=name,
            content=_content(table, name),
            reason=asked.reason,
        ),
    )


def finish_tag_deletion(operation: Operation, journal: UntagJournal) -> Receipt:
    """Take the tag away.

    Raises:
        CommitConflict: It is another one now.
    """
    name, table = journal.tag, operation.table.on(operation.intent.branch)
    remove_tag(table, operation.warehouse.store, name, journal.content.encode())
    receipt = receipt_of(
        operation,
        counts=Counts(tags_removed=1),
        notes=(f"Tag {name!r} of {table.branch!r} is deleted.",),
    )
    return operation.complete(_event(operation, LineageKind.UNTAGGED, journal, receipt))


CREATE_TAG = Verb(
    name="create_tag",
    what="make a tag",
    doing="Making the tag.",
    plan=plan_tag,
    codec=TAG_JOURNAL,
    finish=finish_tag,
)
DELETE_TAG = Verb(
    name="delete_tag",
    what="delete a tag",
    doing="Deleting the tag.",
    plan=plan_tag_deletion,
    codec=UNTAG_JOURNAL,
    finish=finish_tag_deletion,
)


def retention_seconds(text: str) -> float:
    """Read a duration such as `P7D` or `PT12H`.

    Raises:
        InvalidInput: It is none, or no time at all.
    """
    match = _DURATION.fullmatch(text)
    seconds = (
        sum(int(part) * unit for part, unit in zip(match.groups("0"), _UNITS, strict=True))
        if match
        else 0
    )
    if not seconds:
        raise InvalidInput(
            f"{text!r} is no time for which a tag can be kept. Write P7D, PT12H or P1DT6H.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    return float(seconds)


def replacement_blocks(table: FileStoreTable, old: Tag, new: Tag) -> tuple[Consequence, ...]:
    """Refuse to turn a tag that something stands on into one that does not keep its files for good.

    Args:
        table: The table on the branch of the tag.
        old: The tag.
        new: What it would become.
    """
    if not old.snapshot.identity.same_as(new.snapshot.identity):
        return vital_blocks(table, old.name, "moved")
    if new.time_retained_seconds in (None, old.time_retained_seconds):
        return ()
    return vital_blocks(table, old.name, "given a retention time")


def vital_blocks(table: FileStoreTable, name: str, what: str) -> tuple[Consequence, ...]:
    """Refuse to take a tag from under a branch, or from under a head that was rolled back.

    Args:
        table: The table on the branch of the tag.
        name: The tag.
        what: What is not done to it, such as `deleted`.
    """
    events = table.ledger.whole()
    where = "" if table.branch == MAIN_BRANCH else f" of {table.branch!r}"
    refused = f"Tag {name!r}{where} cannot be {what}:"
    standing = standing_on(table, events, readable_tags(table)).get(name, ())
    needing = [each for each in standing if each.is_vital]
    if table.branch == MAIN_BRANCH:
        rescued = rescued_on(table, events, name)
        needing += [TagDependent(branch=each, is_base_tag=True, others=()) for each in rescued]
    pin, sharing = needed_pin(table, events, name), branches_needing(table, events, name)
    found = []
    if needing:
        shown = ", ".join(repr(each.branch) for each in needing)
        whose = (
            f"it is the base tag of branch {shown}"
            if all(each.is_base_tag for each in needing)
            else f"nothing else keeps the snapshot that branch {shown} began at"
        )
        found.append(
            blocks(
                f"{refused} {whose}, and expiry elsewhere would delete files that the branch "
                "needs. Drop the branch first.",
                ErrorKind.FILES_IN_USE,
                tuple(each.branch for each in needing),
            )
        )
    if sharing:
        shown = ", ".join(repr(each) for each in sharing)
        found.append(
            blocks(
                f"{refused} branch {shown} holds files that it keeps, and the expiry of main "
                "elsewhere would delete them.",
                ErrorKind.FILES_IN_USE,
                sharing,
            )
        )
    if pin is not None:
        found.append(
            blocks(f"{refused} {_pin_text(pin, table.branch)}", ErrorKind.FILES_IN_USE),
        )
    return tuple(found)


def _pin_text(pin: RollbackPin, branch: str) -> str:
    made = f"rollback {pin.operation_id} made snapshot {pin.snapshot_id}"
    if pin.is_on_it:
        return (
            f"{made}, whose files older tags hold too, and expiry elsewhere looks only at the "
            "newest tag before they leave. Delete the older tags first, or undo the rollback."
        )
    return (
        f"{made} of what it keeps, and the expiry of older snapshots elsewhere would delete those "
        f"files. Try again once snapshot {pin.snapshot_id} is the oldest of {branch!r}, or undo "
        "the rollback."
    )


def _event(
    operation: Operation, kind: LineageKind, journal: TagJournal | UntagJournal, receipt: Receipt
) -> LineageEvent:
    return event_of(operation, kind, receipt, tag=journal.tag, undoes=journal.undoes)


def _content(table: FileStoreTable, name: str) -> str:
    return table.reader.files.read(table.paths.tag(name)).decode()


def _snapshot(table: FileStoreTable, snapshot_id: int | None) -> Snapshot:
    if snapshot_id is not None:
        return table.snapshots.get(snapshot_id)
    head = table.head()
    if head is None:
        raise NotFound(
            f"{table.identifier} has no snapshot to name. Commit to it first.",
            kind=ErrorKind.BRANCH_EMPTY,
        )
    return head
