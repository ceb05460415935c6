"""Tags that leave a branch once they are past their time, and those that it gets by itself."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from branch_console.commit.schema.tag_commit import snapshot_bytes, with_retention
from branch_console.diff.expiry.automatic_tags import TagCreation, plan_automatic_tags, tag_rule
from branch_console.diff.expiry.tags import AgedTag, expired_tags
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.names import NAMES_JOURNAL
from branch_console.format.options import TAG_DEFAULT_TIME_RETAINED, TAG_TIME_EXPIRE_ENABLED
from branch_console.format.snapshot import Snapshot
from branch_console.operations.tag_requests import ExpireTagsRequest, TriggerTagsRequest
from branch_console.procedures.branch.tags import retention_seconds, vital_blocks
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Consequence, changes, keeps, loses
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.catalog_readers import catalog_readers
from branch_console.procedures.maintenance.expire_names import (
    LeavingNames,
    finish_names,
    planned_names,
)
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.missing_branch import no_branch
from branch_console.table.versioned_files import values_of

_MOST_SHOWN: Final = 20


def plan_tag_expiry(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide which tags of a branch are past their time.

    Raises:
        InvalidInput: The time is none.
        NotFound: There is no such table or branch.
        FormatError: A tag cannot be decoded, or a reference of the table, so nothing may go.
    """
    asked, table = call.request(ExpireTagsRequest), _branch_of(warehouse, call)
    older = asked.older_than_millis()
    expired = _expired(table, warehouse.clock(), None if older is None else _on_the_wall(older))
    going, consequences = _without_vital(warehouse, table, expired)
    if not consequences:
        consequences.append(keeps(f"No tag of {table.branch!r} is past its time."))
    return planned_names(
        warehouse,
        call,
        table,
        LeavingNames(tags=going),
        consequences,
        title=f"Expire tags of {table.identifier}",
        grace_millis=asked.grace_millis(),
        reason=asked.reason,
    )


def plan_automatic_creation(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide which tags a branch gets by its options, and which it lets go.

    Raises:
        InvalidInput: An option is none.
        NotFound: There is no such table or branch.
        FormatError: A snapshot or a tag cannot be decoded, or a reference of the table.
    """
    asked, table = call.request(TriggerTagsRequest), _branch_of(warehouse, call)
    options, now = table.schema().options, warehouse.clock()
    rule = tag_rule(options)
    tags = table.tags.all()
    planned = plan_automatic_tags(rule, table.snapshots.all(), tags)
    retained = options.read(TAG_DEFAULT_TIME_RETAINED)
    seconds = None if retained is None else retention_seconds(retained)
    made = {
        name: _tag_bytes(table, snapshot, seconds, now) for name, snapshot in planned.made.items()
    }
    expired: tuple[str, ...] = ()
    if options.read(TAG_TIME_EXPIRE_ENABLED):
        expired = _expired(table, now, None)
    going, consequences = _without_vital(
        warehouse, table, dict.fromkeys((*planned.surplus, *expired))
    )
    for name, snapshot in planned.made.items():
        consequences.append(
            changes(f"Tag {name!r} of {table.branch!r} names snapshot {snapshot.id}.")
        )
    if not consequences:
        consequences.append(keeps(_nothing_due(table, rule.creation)))
    return planned_names(
        warehouse,
        call,
        table,
        LeavingNames(tags=going, made=made),
        consequences,
        title=f"Create tags of {table.identifier} by its options",
        grace_millis=asked.grace_millis(),
        reason=asked.reason,
    )


EXPIRE_TAGS = Procedure(
    name="expire_tags",
    what="expire tags",
    doing="Expiring tags.",
    plan=plan_tag_expiry,
    codec=NAMES_JOURNAL,
    finish=finish_names,
)
TRIGGER_TAGS = Procedure(
    name="trigger_tag_automatic_creation",
    what="create tags",
    doing="Creating tags.",
    plan=plan_automatic_creation,
    codec=NAMES_JOURNAL,
    finish=finish_names,
)


def _branch_of(warehouse: Warehouse, call: ProcedureCall) -> FileStoreTable:
    table = table_of(warehouse, call)
    if table.branch != MAIN_BRANCH and not table.branches.exists(table.branch):
        raise no_branch(table, table.branch)
    return table


def _expired(
    table: FileStoreTable, now_millis: int, older_than: datetime | None
) -> tuple[str, ...]:
    states = table.tags.states()
    aged = [
        AgedTag(tag=tag, written=_on_the_wall(state.modified_millis))
        for state, tag in zip(states, values_of(states), strict=True)
    ]
    return tuple(tag.name for tag in expired_tags(aged, _on_the_wall(now_millis), older_than))


def _without_vital(
    warehouse: Warehouse, table: FileStoreTable, names: Iterable[str]
) -> tuple[tuple[str, ...], list[Consequence]]:
    """The tags that may go, and what is told of these and of those that stay."""
    going: list[str] = []
    vital: list[str] = []
    for name in names:
        # One by one: of two tags at one fork, which keep it for each other, the second stays.
        is_vital = vital_blocks(table, name, "expired", beside=going) or catalog_readers(
            table, {*going, name}, warehouse.catalog_references
        )
        (vital if is_vital else going).append(name)
    consequences: list[Consequence] = []
    if going:
        verb = "tags go" if len(going) > 1 else "tag goes"
        text = f"{len(going):,} {verb} from {table.branch!r}: their time is over."
        consequences.append(loses(text, tuple(going[:_MOST_SHOWN])))
    if vital:
        verb = "tags stay" if len(vital) > 1 else "tag stays"
        text = f"{len(vital):,} {verb}, which a branch, a rollback or the catalog stands on."
        consequences.append(keeps(text, tuple(vital[:_MOST_SHOWN])))
    return tuple(going), consequences


def _tag_bytes(
    table: FileStoreTable, snapshot: Snapshot, seconds: float | None, now_millis: int
) -> bytes:
    data = snapshot_bytes(table, snapshot)
    return data if seconds is None else with_retention(data, _on_the_wall(now_millis), seconds)


def _nothing_due(table: FileStoreTable, creation: TagCreation) -> str:
    match creation:
        case TagCreation.NONE:
            return (
                f"Option 'tag.automatic-creation' of {table.branch!r} is 'none': it gets no tag by "
                "itself. Set it to process-time or watermark."
            )
        case TagCreation.BATCH:
            return (
                f"Option 'tag.automatic-creation' of {table.branch!r} is 'batch': Paimon makes "
                "such a tag at the end of each batch write, and none in between."
            )
        case TagCreation.PROCESS_TIME | TagCreation.WATERMARK:
            return f"No tag of {table.branch!r} is due: the next period is not over."


def _on_the_wall(millis: int) -> datetime:
    # As Paimon writes it: the wall clock of who writes, without a zone.
    return datetime.fromtimestamp(millis / 1000)
