"""Naming the first snapshot at or after a time, or with a watermark, wherever it is still kept."""

from collections.abc import Callable, Iterable

from branch_console.errors import ErrorKind, NotFound
from branch_console.format.journals.tags import TAG_JOURNAL, TagJournal
from branch_console.format.receipt import Receipt
from branch_console.format.snapshot import Snapshot
from branch_console.format.tag import Tag
from branch_console.operations.tag_requests import (
    TagFromTimestampRequest,
    TagFromWatermarkRequest,
    TaggingRequest,
)
from branch_console.procedures.branch.tags import finish_tag, planned_tag, tag_taken
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.table.file_store_table import FileStoreTable

_NO_WATERMARK = -(2**63)


def plan_tag_from_timestamp(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide on a tag on the first snapshot that was committed at or after a time.

    Raises:
        AlreadyExists: There is a tag of that name.
        InvalidInput: The name or the time it is kept is none that a tag may have.
        NotFound: All snapshots and tags are older, or there is no such table or branch.
    """
    asked, table = call.request(TagFromTimestampRequest), table_of(warehouse, call)
    found = _first(table, asked.timestamp, lambda snapshot: snapshot.time_millis)
    return _planned(warehouse, call, table, found, f"committed at {asked.timestamp} or later")


def plan_tag_from_watermark(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide on a tag on the first snapshot whose watermark had reached a value.

    Raises:
        AlreadyExists: There is a tag of that name.
        InvalidInput: The name or the time it is kept is none that a tag may have.
        NotFound: No snapshot or tag has such a watermark, or there is no such table or branch.
    """
    asked, table = call.request(TagFromWatermarkRequest), table_of(warehouse, call)
    found = _first(table, asked.watermark, _watermark)
    return _planned(warehouse, call, table, found, f"with a watermark of {asked.watermark} or more")


def find_at_or_after(
    snapshots: Iterable[Snapshot],
    tags: Iterable[Tag],
    least: int,
    value_of: Callable[[Snapshot], int | None],
) -> Snapshot | None:
    """Return the first snapshot whose value is not less, of a branch or of its tags.

    Args:
        snapshots: The snapshots of the branch, by rising id.
        tags: The tags of the branch, whose snapshots may have expired there.
        least: The value.
        value_of: A time of a snapshot, None if it has none.

    References:
        Paimon CreateTagFromTimestampProcedure, CreateTagFromWatermarkProcedure.
    """

    def first(among: Iterable[Snapshot]) -> tuple[int, Snapshot] | None:
        for snapshot in among:
            value = value_of(snapshot)
            if value is not None and value >= least:
                return value, snapshot
        return None

    found = first(snapshots)
    # A tag may keep a snapshot that expired on the branch and is the first at that time.
    kept = first(sorted((tag.snapshot for tag in tags), key=lambda snapshot: snapshot.id))
    if kept is not None and (found is None or kept[0] < found[0]):
        return kept[1]
    return None if found is None else found[1]


def _first(
    table: FileStoreTable, least: int, value_of: Callable[[Snapshot], int | None]
) -> Snapshot | None:
    return find_at_or_after(table.snapshots.all(), table.tags.all(), least, value_of)


def _watermark(snapshot: Snapshot) -> int | None:
    # Java writes its least long for a missing watermark.
    return None if snapshot.watermark == _NO_WATERMARK else snapshot.watermark


def _planned(
    warehouse: Warehouse,
    call: ProcedureCall,
    table: FileStoreTable,
    found: Snapshot | None,
    wanted: str,
) -> PlannedOperation:
    if found is None:
        raise NotFound(
            f"{table.identifier} has no snapshot {wanted}, and no tag on one. No tag was made; "
            "choose an earlier one.",
            kind=ErrorKind.SNAPSHOT_NOT_FOUND,
        )
    old = table.tags.find(call.request(TaggingRequest).tag)
    if old is not None:
        raise tag_taken(table, old)
    return planned_tag(warehouse, call, table, found, replaces=False)


def finish_tag_from_time(operation: Operation, journal: TagJournal) -> Receipt:
    """Make the tag, and tell what it names; raises as `finish_tag`."""
    named = Tag.from_json(journal.tag, journal.content).snapshot
    watermark = "null" if named.watermark is None else str(named.watermark)
    return finish_tag(
        operation,
        journal,
        answer=(
            {
                "tagName": journal.tag,
                "snapshot": named.id,
                "commit_time": named.time_millis,
                "watermark": watermark,
            },
        ),
    )


CREATE_TAG_FROM_TIMESTAMP = Procedure(
    name="create_tag_from_timestamp",
    what="make a tag",
    doing="Making the tag.",
    plan=plan_tag_from_timestamp,
    codec=TAG_JOURNAL,
    finish=finish_tag_from_time,
)
CREATE_TAG_FROM_WATERMARK = Procedure(
    name="create_tag_from_watermark",
    what="make a tag",
    doing="Making the tag.",
    plan=plan_tag_from_watermark,
    codec=TAG_JOURNAL,
    finish=finish_tag_from_time,
)
