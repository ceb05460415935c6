"""Reading what somebody has to look after in a table: names and options, and no manifest."""

from dataclasses import replace

from branch_console.commit.journal import Journal
from branch_console.commit.rows.staged_results import staged_results
from branch_console.diff.expiry.retention import HoldKind, SnapshotHold, plan_expiry
from branch_console.diff.health.open_operations import OpenOperationFacts
from branch_console.diff.health.upkeep_rules import (
    BlockingRelease,
    ConsumerFacts,
    FenceFacts,
    StagedFacts,
    UpkeepFacts,
)
from branch_console.errors import PaimonError
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.options import SNAPSHOT_EXPIRE_LIMIT
from branch_console.format.scan_options import moment_text
from branch_console.maintenance.references import CatalogReferences
from branch_console.operations.maintenance_requests import ExpireSnapshotsRequest
from branch_console.procedures.browse.health_facts import Unchecked
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.releases import releases_in_grace
from branch_console.procedures.maintenance.holds import find_holds
from branch_console.procedures.maintenance.limits import retention_of
from branch_console.procedures.maintenance.release_files import find_broken_retired
from branch_console.storage.table_paths import FENCE_ID
from branch_console.table.branch_manager import is_openable
from branch_console.table.file_store_table import FileStoreTable


def read_upkeep(
    warehouse: Warehouse, table: FileStoreTable
) -> tuple[UpkeepFacts, tuple[Unchecked, ...]]:
    """Return the facts of a table that need maintenance, and the files that could not be read.

    Args:
        warehouse: The warehouse of the table.
        table: The table on any branch.
    """
    unchecked: list[Unchecked] = []
    journal = Journal(warehouse.store, table.paths)
    found = journal.open_intents()
    unchecked += [Unchecked(branch=None, error=each.error) for each in found.broken]
    catalog, now = warehouse.catalog_references, warehouse.clock()
    being_made = {name for intent in found.readable for name in intent.makes}
    half_made, consumers, fences = [], [], []
    for name in (MAIN_BRANCH, *table.branches.names()):
        if name in being_made or not is_openable(name):
            continue
        branch = table.on_listed(name)
        try:
            if branch.schemas.find_latest() is None:
                if name != MAIN_BRANCH:
                    half_made.append((name, bool(branch.snapshots.ids() or branch.tags.names())))
                continue
            theirs, fence = _holds(branch, catalog, now)
        except PaimonError as error:
            unchecked.append(Unchecked(branch=name, error=error))
            continue
        consumers += theirs
        fences += [] if fence is None else [fence]
    events = table.ledger.states()
    newest = max((each.modified_millis for each in events), default=now)
    facts = UpkeepFacts(
        table=table.identifier.table_name,
        operations=tuple(
            OpenOperationFacts(
                id=intent.operation_id,
                what=intent.procedure.replace("_", " "),
                branch=intent.branch,
                age_millis=max(0, now - intent.time_millis),
            )
            for intent in found.readable
        ),
        half_made=tuple(half_made),
        consumers=tuple(consumers),
        fences=tuple(fences),
        staged=tuple(
            StagedFacts(
                plan_id=each.plan_id,
                subject=each.subject,
                branch=each.branch,
                age_millis=now - each.time_millis,
            )
            for each in staged_results(table.reader.files, table.paths)
        ),
        store_ahead_millis=max(0, newest - now),
        blocking=_blocking_releases(warehouse, table, unchecked),
    )
    return facts, tuple(unchecked)


def _blocking_releases(
    warehouse: Warehouse, table: FileStoreTable, unchecked: list[Unchecked]
) -> tuple[BlockingRelease, ...]:
    """Return the released branches that stop an expiry; adds what could not be checked."""
    try:
        return tuple(
            BlockingRelease(
                operation_id=each.operation_id,
                procedure=each.procedure,
                branch=each.branch,
                until=moment_text(each.until_millis),
            )
            for each in releases_in_grace(warehouse, table)
            if find_broken_retired(table, each.operation_id) is not None
        )
    except PaimonError as error:
        unchecked.append(Unchecked(branch=None, error=error))
        return ()


def _holds(
    branch: FileStoreTable, catalog: CatalogReferences, now_millis: int
) -> tuple[list[ConsumerFacts], FenceFacts | None]:
    """Return the consumers that keep snapshots of a branch from its expiry, and the fence."""
    listed = branch.consumers.states_with_fence()
    if not listed:
        return [], None
    times = {each.id: each.time_millis for each in branch.snapshots.all()}
    if not times:
        return [], None
    options = branch.schema().options
    asked = ExpireSnapshotsRequest(table=branch.identifier.full_name)
    # However many one run takes: the consumer keeps them from every one.
    retention = replace(retention_of(asked, options, now_millis), max_deletes=len(times))

    def held(since: int) -> int:
        hold = SnapshotHold(kind=HoldKind.CONSUMER, owner="", since_id=since)
        return plan_expiry(times, retention).count - plan_expiry(times, retention, [hold]).count

    consumers = []
    for state in listed:
        if state.error is not None and state.name != FENCE_ID:
            raise state.error
        if state.value is None or state.name == FENCE_ID:
            continue
        next_id = state.value.next_snapshot_id
        consumers.append(
            ConsumerFacts(
                id=state.name,
                branch=branch.branch,
                next_id=next_id,
                idle_millis=now_millis - state.modified_millis,
                held=held(next_id),
            )
        )
    limit = options.read(SNAPSHOT_EXPIRE_LIMIT)
    is_fenced = any(each.name == FENCE_ID for each in listed)
    if not is_fenced or plan_expiry(times, retention).count <= limit:
        return consumers, None
    # To look for what else keeps snapshots takes longer than all the rest.
    holds = find_holds(branch, options, catalog, now_millis=now_millis)
    due = plan_expiry(times, retention, holds).count
    return consumers, FenceFacts(branch=branch.branch, held=due, limit=limit)
