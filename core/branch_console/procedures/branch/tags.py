"""Naming snapshots, and taking names away that nothing stands on."""

import re
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Final

from branch_console.commit.schema.tag_commit import (
    check_tag_name,
    put_tag,
    put_tags,
    remove_tags,
    snapshot_bytes,
    with_retention,
)
from branch_console.errors import AlreadyExists, ErrorKind, FormatError, InvalidInput, NotFound
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.tags import (
    TAG_JOURNAL,
    UNTAG_JOURNAL,
    TagFile,
    TagJournal,
    TagsJournal,
    UntagJournal,
    UntagsJournal,
)
from branch_console.format.kept_elsewhere import Act
from branch_console.format.lineage_event import LineageKind
from branch_console.format.options import TAG_DEFAULT_TIME_RETAINED, parse_duration
from branch_console.format.receipt import AnswerRow, Counts, Receipt
from branch_console.format.snapshot import Snapshot
from branch_console.format.tag import Tag
from branch_console.operations.tag_requests import (
    CreateTagRequest,
    DeleteTagRequest,
    ReplaceTagRequest,
    TaggingRequest,
)
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
from branch_console.procedures.history.catalog_readers import catalog_blocks
from branch_console.procedures.history.dependents import (
    TagDependent,
    dependents_of,
    readable_tags,
    rescues_of,
)
from branch_console.procedures.history.share_pins import SHARE_PIN_PREFIX, branches_needing
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.procedures.run.receipts import (
    event_of,
    receipt_of,
    receipt_without_change,
)
from branch_console.procedures.run.runner import run_procedure
from branch_console.storage.table_paths import BASE_TAG_PREFIX
from branch_console.table.file_store_table import FileStoreTable

_DURATION: Final = re.compile(
    r"P(?=.)(?:(\d+)W)?(?:(\d+)D)?(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?"
)
_UNITS: Final = (604_800, 86_400, 3_600, 60, 1)


def create_tag(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Create or move a tag; the arguments and errors are those of `plan_tag`."""
    return run_procedure(CREATE_TAG, warehouse, rows, call, stages)


def plan_tag(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
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
    asked, table = call.request(CreateTagRequest), table_of(warehouse, call)
    snapshot = _snapshot(table, asked.snapshot)
    return planned_tag(warehouse, call, table, snapshot, replaces=asked.replace)


def plan_tag_replacement(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide on a tag that gets another snapshot, or lasts for another time.

    Raises:
        InvalidInput: The time is none that a tag may be kept.
        NotFound: There is no such table, branch, tag or snapshot.
    """
    asked, table = call.request(ReplaceTagRequest), table_of(warehouse, call)
    table.tags.get(asked.tag)
    return planned_tag(warehouse, call, table, _snapshot(table, asked.snapshot), replaces=True)


def planned_tag(
    warehouse: Warehouse,
    call: ProcedureCall,
    table: FileStoreTable,
    snapshot: Snapshot,
    *,
    replaces: bool,
) -> PlannedOperation:
    """Return the plan of a tag on a snapshot; raises as `plan_tag`.

    Args:
        warehouse: Tells the time.
        call: The call of a TaggingRequest.
        table: The table on the branch of the tag.
        snapshot: The snapshot of the tag.
        replaces: Whether a tag of that name may be there, and gets another meaning.
    """
    asked = call.request(TaggingRequest)
    name = asked.tag
    check_tag_name(name)
    retained = asked.time_retained or table.schema().options.read(TAG_DEFAULT_TIME_RETAINED)
    seconds = None if retained is None else retention_seconds(retained)
    old = table.tags.find(name)
    is_same = old is not None and old.snapshot.identity.same_as(snapshot.identity)
    lasts_as_asked = old is not None and old.time_retained_seconds == seconds
    if old is not None and not replaces and not (is_same and lasts_as_asked):
        raise tag_taken(table, old)
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
        consequences: tuple[Consequence, ...] = (keeps(text),)
    else:
        if old is not None:
            verb = "Replace" if is_same else "Move"
            undo = "Undo gives the name back what it stood for."
        consequences = _tag_consequences(table, Tag.from_json(name, data), old, retained)
    kept = None if old is None else [str(old.snapshot.identity), old.time_retained_seconds]
    preview = Preview(
        procedure=call.name,
        title=f"{verb} tag {name!r} of {table.identifier}",
        plan_id=plan_digest(call, [str(snapshot.identity), kept]),
        consequences=consequences,
        typed_name=None,
        role=Role.EDITOR,
        undo=undo,
    )
    already = None
    if stays:
        now, notes = warehouse.clock(), (consequences[0].text, "Nothing was changed.")
        already = receipt_without_change(
            call, preview.plan_id, notes, started_millis=now, finished_millis=now
        )
    return PlannedOperation(
        preview=preview,
        act=Act.TAG,
        table=table,
        branch=table.branch,
        journal=TagJournal(
            plan_id=preview.plan_id,
            tag=name,
            content=data.decode(),
            replaces=tag_text(table, name) if old is not None else None,
            snapshot_id=snapshot.id,
        ),
        earlier_receipt=already,
    )


def _tag_consequences(
    table: FileStoreTable, new: Tag, old: Tag | None, retained: str | None
) -> tuple[Consequence, ...]:
    consequences = [
        changes(f"Tag {new.name!r} of {table.branch!r} names snapshot {new.snapshot.id}.")
    ]
    if old is not None:
        if not old.snapshot.identity.same_as(new.snapshot.identity):
            consequences.append(changes(f"It names snapshot {old.snapshot.id} until then."))
        consequences += replacement_blocks(table, old, new)
        if retained is None and old.time_retained_seconds is not None:
            consequences.append(changes("It no longer expires by itself."))
    if retained is not None:
        consequences.append(
            changes(f"It expires by itself {retained} after it was made, at a commit to main.")
        )
    return tuple(consequences)


def tag_taken(table: FileStoreTable, old: Tag) -> AlreadyExists:
    """Return the refusal of a name that another tag has."""
    lasts = "for good" if old.time_retained_seconds is None else "until it expires by itself"
    return AlreadyExists(
        f"Branch {table.branch!r} has a tag {old.name!r} already: it names snapshot "
        f"{old.snapshot.id}, {lasts}. Choose another name, or replace it.",
        tag=old.name,
        snapshot_id=old.snapshot.id,
    )


def finish_tag(
    operation: Operation, journal: TagJournal, *, answer: tuple[AnswerRow, ...] = ()
) -> Receipt:
    """Make or move the tag.

    Args:
        operation: The operation.
        journal: The tag.
        answer: The result of a call in the receipt.

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
        notes=(_named_text(table, journal),),
        answer=answer,
    )
    return operation.complete(
        event_of(operation, LineageKind.TAGGED, receipt, tag=name, undoes=journal.undoes)
    )


def finish_tags(operation: Operation, journal: TagsJournal) -> Receipt:
    """Make tags again that were deleted at once.

    Raises:
        CommitConflict: A name stands for another snapshot by now; no tag is made.
    """
    table = operation.table.on(operation.intent.branch)
    files = {each.tag: each.content.encode() for each in journal.tags}
    put_tags(table, operation.warehouse.store, files)
    receipt = receipt_of(
        operation,
        counts=Counts(tags_added=len(journal.tags)),
        notes=tuple(f"Tag {each.tag!r} of {table.branch!r} is back." for each in journal.tags),
    )
    return operation.complete(
        event_of(operation, LineageKind.TAGGED, receipt, undoes=journal.undoes)
    )


def plan_tag_deletion(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide whether tags may go.

    Arguments of the call: `table` (with its branch), `tag` (one, or several with commas between
    them), `reason`.

    Raises:
        NotFound: There is no such table, branch or tag.
        FormatError: A tag that we made for a branch cannot be decoded.
    """
    asked, table = call.request(DeleteTagRequest), table_of(warehouse, call)
    names = _names(table, asked.tag)
    tags = {name: _find_or_broken(table, name) for name in names}
    consequences: list[Consequence] = []
    expired = []
    for name, tag in tags.items():
        if tag is None:
            consequences += [
                changes(
                    f"Tag {name!r} of {table.branch!r} cannot be read, so nothing tells which "
                    "snapshot it kept. The name is gone then."
                ),
                *vital_blocks(table, name, "deleted", beside=names),
            ]
            continue
        snapshot = tag.snapshot
        consequences += [
            changes(
                f"The name {name!r} is gone from {table.branch!r}: it meant snapshot {snapshot.id}."
            ),
            *vital_blocks(table, name, "deleted", beside=names),
        ]
        if not table.snapshots.holds(snapshot):
            expired.append(name)
            consequences.append(
                changes(
                    f"Snapshot {snapshot.id} has expired from {table.branch!r}: without the tag "
                    "it can no longer be read there."
                )
            )
    consequences += catalog_blocks(table, names, warehouse.catalog_references, "deleted")
    consequences.append(
        keeps("No data file is deleted. What only the tag kept is found by a search for orphans.")
    )
    shown = f"tag {names[0]!r}" if len(names) == 1 else f"tags {', '.join(map(repr, names))}"
    preview = Preview(
        procedure=call.name,
        title=f"Delete {shown} of {table.identifier}",
        plan_id=plan_digest(
            call,
            *(
                tag_text(table, name) if tag is None else str(tag.snapshot.identity)
                for name, tag in tags.items()
            ),
        ),
        consequences=tuple(consequences),
        typed_name=asked.tag if expired else None,
        role=Role.EDITOR,
        undo="Undo makes the tag again, byte for byte; the ledger keeps it.",
    )
    files = tuple(TagFile(tag=name, content=tag_text(table, name)) for name in names)
    one = files[0]
    return PlannedOperation(
        preview=preview,
        act=Act.TAG,
        table=table,
        branch=table.branch,
        journal=(
            UntagJournal(
                plan_id=preview.plan_id, tag=one.tag, content=one.content, reason=asked.reason
            )
            if len(files) == 1
            else UntagsJournal(plan_id=preview.plan_id, tags=files, reason=asked.reason)
        ),
    )


def finish_tag_deletion(operation: Operation, journal: UntagJournal | UntagsJournal) -> Receipt:
    """Take the tags away.

    Raises:
        CommitConflict: One is another one now; all of them stay.
    """
    table, store = operation.table.on(operation.intent.branch), operation.warehouse.store
    match journal:
        case UntagJournal():
            files: tuple[TagFile, ...] = (TagFile(tag=journal.tag, content=journal.content),)
            tag: str | None = journal.tag
        case UntagsJournal():
            files, tag = journal.tags, None
    remove_tags(table, store, {each.tag: each.content.encode() for each in files})
    receipt = receipt_of(
        operation,
        counts=Counts(tags_removed=len(files)),
        notes=tuple(f"Tag {each.tag!r} of {table.branch!r} is deleted." for each in files),
    )
    return operation.complete(
        event_of(operation, LineageKind.UNTAGGED, receipt, tag=tag, undoes=journal.undoes)
    )


CREATE_TAG = Procedure(
    name="create_tag",
    what="make a tag",
    doing="Making the tag.",
    plan=plan_tag,
    codec=TAG_JOURNAL,
    finish=finish_tag,
)
REPLACE_TAG = Procedure(
    name="replace_tag",
    what="replace a tag",
    doing="Replacing the tag.",
    plan=plan_tag_replacement,
    codec=TAG_JOURNAL,
    finish=finish_tag,
)
DELETE_TAG = Procedure(
    name="delete_tag",
    what="delete a tag",
    doing="Deleting the tag.",
    plan=plan_tag_deletion,
    codec=UNTAG_JOURNAL,
    finish=finish_tag_deletion,
)


def retention_seconds(text: str) -> float:
    """Read a duration as Paimon's options write it, such as `7 d`, or as ISO does: `P7D`, `PT12H`.

    Raises:
        InvalidInput: It is none, or no time at all.
    """
    match = _DURATION.fullmatch(text)
    if match is not None:
        parts = zip(match.groups("0"), _UNITS, strict=True)
        seconds = float(sum(int(part) * unit for part, unit in parts))
    else:
        try:
            seconds = parse_duration(text) / 1000
        except ValueError:
            seconds = 0.0
    if not seconds:
        raise InvalidInput(
            f"{text!r} is no time for which a tag can be kept. Write 7 d, 12 h, P7D or P1DT6H.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    return seconds


def replacement_blocks(table: FileStoreTable, old: Tag, new: Tag) -> tuple[Consequence, ...]:
    """Refuse to turn a tag that something stands on into one that does not keep its files for good.

    Args:
        table: The table on the branch of the tag.
        old: The tag.
        new: The new snapshot of the tag.
    """
    if not old.snapshot.identity.same_as(new.snapshot.identity):
        return vital_blocks(table, old.name, "moved")
    if new.time_retained_seconds in (None, old.time_retained_seconds):
        return ()
    return vital_blocks(table, old.name, "given a retention time")


def vital_blocks(
    table: FileStoreTable, name: str, what: str, *, beside: Collection[str] = ()
) -> tuple[Consequence, ...]:
    """Refuse to take a tag from under a branch, or from under a head that was rolled back.

    Args:
        table: The table on the branch of the tag.
        name: The tag.
        what: The refused action, such as `deleted`.
        beside: Tags that go with it, so that none of them is left in its place.
    """
    events = table.ledger.whole()
    where = "" if table.branch == MAIN_BRANCH else f" of {table.branch!r}"
    refused = f"Tag {name!r}{where} cannot be {what}:"
    tags = [tag for tag in readable_tags(table) if tag.name == name or tag.name not in beside]
    standing = dependents_of(table, events, tags).get(name, ())
    needing = [each for each in standing if each.is_vital]
    if table.branch == MAIN_BRANCH:
        rescued = rescues_of(table, events, name)
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


def _named_text(table: FileStoreTable, journal: TagJournal) -> str:
    if journal.snapshot_id is None:
        return f"Tag {journal.tag!r} of {table.branch!r} is back, and cannot be read."
    return f"Tag {journal.tag!r} names snapshot {journal.snapshot_id} of {table.branch!r}."


def _find_or_broken(table: FileStoreTable, name: str) -> Tag | None:
    """Return a tag that may be deleted; None if nobody can decode it."""
    try:
        return table.tags.get(name)
    except FormatError:
        # What a branch stands on is no tag to give up, whatever it looks like.
        if name.startswith((BASE_TAG_PREFIX, SHARE_PIN_PREFIX)):
            raise
        return None


def _names(table: FileStoreTable, said: str) -> tuple[str, ...]:
    """Return the tags that a text names: one of just this name, or those between its commas."""
    if "," not in said or said in table.tags.names():
        return (said,)
    return tuple(dict.fromkeys(name.strip() for name in said.split(",") if name.strip()))


def tag_text(table: FileStoreTable, name: str) -> str:
    """Return the file of a tag."""
    return table.reader.files.read(table.paths.tag(name)).decode()


def _snapshot(table: FileStoreTable, snapshot_id: int | None) -> Snapshot:
    if snapshot_id is not None:
        found = table.snapshots.find(snapshot_id)
        # Of what has expired a tag may still tell.
        kept = (tag.snapshot for tag in readable_tags(table) if tag.snapshot.id == snapshot_id)
        return found or next(kept, None) or table.snapshots.get(snapshot_id)
    head = table.head()
    if head is None:
        raise NotFound(
            f"{table.identifier} has no snapshot to name. Commit to it first.",
            kind=ErrorKind.BRANCH_EMPTY,
        )
    return head
