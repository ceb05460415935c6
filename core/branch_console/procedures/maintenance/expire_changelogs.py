"""Expiring decoupled changelogs: changes that outlived the snapshots which they led to."""

from branch_console.diff.expiry.retention import (
    Expiry,
    HoldKind,
    SnapshotHold,
    plan_changelog_expiry,
)
from branch_console.diff.history_move import count, id_range
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.names import NAMES_JOURNAL
from branch_console.format.snapshot import Snapshot
from branch_console.operations.changelog_requests import ExpireChangelogsRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Consequence, keeps, loses
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.maintenance.expire_names import (
    LeavingNames,
    finish_names,
    planned_names,
)
from branch_console.procedures.maintenance.limits import changelog_retention_of
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.storage.table_paths import CHANGELOG_PREFIX
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.missing_branch import no_branch
from branch_console.table.versioned_files import decode_states, list_numbered, values_of


def plan_changelog_expiries(warehouse: Warehouse, call: ProcedureCall) -> PlannedOperation:
    """Decide which decoupled changelogs of a branch go.

    Raises:
        InvalidInput: A limit contradicts another, or is none.
        NotFound: There is no such table or branch.
        FormatError: A changelog, a consumer or a reference of the table cannot be read, so nothing
            may go.
    """
    asked, table = call.request(ExpireChangelogsRequest), table_of(warehouse, call)
    if table.branch != MAIN_BRANCH and not table.branches.exists(table.branch):
        raise no_branch(table, table.branch)
    changelogs = _changelogs(table)
    if asked.delete_all:
        going, consequences = _all_of(table, changelogs)
    else:
        going, consequences = _old_ones(table, asked, changelogs, warehouse.clock())
    return planned_names(
        warehouse,
        call,
        table,
        LeavingNames(changelogs=going, takes_all=asked.delete_all),
        consequences or [keeps(f"No changelog of {table.branch!r} is due to expire.")],
        title=f"Expire changelogs of {table.identifier}",
        grace_millis=asked.grace_millis(),
        reason=asked.reason,
        typed_name=table.branch if asked.delete_all else None,
    )


EXPIRE_CHANGELOGS = Procedure(
    name="expire_changelogs",
    what="expire changelogs",
    doing="Expiring changelogs.",
    plan=plan_changelog_expiries,
    codec=NAMES_JOURNAL,
    finish=finish_names,
)


def _changelogs(table: FileStoreTable) -> tuple[Snapshot, ...]:
    """The decoupled changelogs of a branch, by rising id; raises FormatError."""
    listed = list_numbered(table.reader, table.paths.changelog_dir, CHANGELOG_PREFIX)
    states = decode_states(
        table.reader,
        {str(number): status for number, status in listed.items()},
        Snapshot.from_json,
    )
    return tuple(sorted(values_of(states), key=lambda snapshot: snapshot.id))


def _all_of(
    table: FileStoreTable, changelogs: tuple[Snapshot, ...]
) -> tuple[tuple[Snapshot, ...], list[Consequence]]:
    if not changelogs:
        return (), []
    consequences = [loses(_goes(table, changelogs))]
    readers = tuple(
        f"{consumer.id} reads {consumer.next_snapshot_id} next"
        for consumer in table.consumers.all()
        if consumer.next_snapshot_id <= changelogs[-1].id
    )
    if readers:
        consequences.append(loses("Streaming readers no longer find what they read next.", readers))
    return changelogs, consequences


def _old_ones(
    table: FileStoreTable,
    asked: ExpireChangelogsRequest,
    changelogs: tuple[Snapshot, ...],
    now_millis: int,
) -> tuple[tuple[Snapshot, ...], list[Consequence]]:
    retention = changelog_retention_of(asked, table.schema().options, now_millis)
    head = table.head()
    if not changelogs or head is None:
        return (), []
    expiry = plan_changelog_expiry(
        {each.id: each.time_millis for each in changelogs},
        head.id,
        retention,
        [
            SnapshotHold(kind=HoldKind.CONSUMER, owner=each.id, since_id=each.next_snapshot_id)
            for each in table.consumers.all()
        ],
    )
    going = tuple(each for each in changelogs if each.id < expiry.end_id)
    consequences = [loses(_goes(table, going))] if going else []
    return going, [*consequences, *_held(table, expiry)]


def _goes(table: FileStoreTable, going: tuple[Snapshot, ...]) -> str:
    ids = range(going[0].id, going[-1].id + 1)
    return f"{count(len(going), 'changelog')} of {table.branch!r} go: {id_range(ids)}."


def _held(table: FileStoreTable, expiry: Expiry) -> list[Consequence]:
    return [
        keeps(
            f"Changelog {hold.since_id} of {table.branch!r} and later ones stay: consumer "
            f"{hold.owner!r} reads {hold.since_id} next."
        )
        for hold in expiry.holds
    ]
