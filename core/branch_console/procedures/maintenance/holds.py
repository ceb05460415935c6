"""Why snapshots of a branch stay that an expiry would take: consumers, merges and undo."""

from collections.abc import Iterable, Iterator
from typing import Final

from branch_console.commit.base.read_holds import read_holds
from branch_console.diff.expiry.retention import HoldKind, SnapshotHold
from branch_console.diff.lineage import merge_source
from branch_console.errors import FormatError, NotFound
from branch_console.format.identifier import MAIN_BRANCH, RESCUE_PREFIX
from branch_console.format.lineage_event import LineageEvent, LineageKind, undone_by
from branch_console.format.options import Options
from branch_console.maintenance.references import CatalogReferences, broken_branch, unkept_names
from branch_console.procedures.history.merge_heads import BaseSnapshot, MergeHeads, find_merge_heads
from branch_console.procedures.maintenance.limits import heeds_consumers
from branch_console.table.file_store_table import FileStoreTable

UNDO_WINDOW_MILLIS: Final = 7 * 86_400_000
"""How long what an operation replaced is kept, so that the operation can be undone."""

_MOVES_HEAD: Final = frozenset(
    {
        LineageKind.MERGED,
        LineageKind.CHERRY_PICKED,
        LineageKind.REVERTED,
        LineageKind.FAST_FORWARDED,
        LineageKind.REPLACED,
        LineageKind.ROLLED_BACK,
        LineageKind.PARTITIONS_EXPIRED,
        LineageKind.MISSING_FILES_REMOVED,
    }
)


def find_holds(
    table: FileStoreTable, options: Options, catalog: CatalogReferences, *, now_millis: int
) -> tuple[SnapshotHold, ...]:
    """Return what keeps snapshots of a branch.

    Args:
        table: The table on the branch.
        options: Its options, with those of the request on top.
        catalog: The snapshots that branches and tags of the catalog refer to.
        now_millis: The time.

    Raises:
        FormatError: A consumer, a snapshot, a tag or a version of the catalog cannot be decoded.
        NotFound: A version of the catalog is missing.
    """
    return (
        *_consumers(table, options),
        *_merge_bases(table),
        *_promised_undo(table, now_millis),
        *_running_reads(table, now_millis),
        *_of_catalog(table, catalog),
    )


def _consumers(table: FileStoreTable, options: Options) -> Iterator[SnapshotHold]:
    if not heeds_consumers(options):
        return
    for consumer in table.consumers.all():
        yield SnapshotHold(
            kind=HoldKind.CONSUMER, owner=consumer.id, since_id=consumer.next_snapshot_id
        )


def _merge_bases(table: FileStoreTable) -> Iterator[SnapshotHold]:
    head = table.head()
    if head is None:
        return
    for name in (MAIN_BRANCH, *table.branches.names()):
        other = table.on_listed(name)
        theirs = None
        # A rescue branch is kept to be restored, not to be merged.
        if name != table.branch and not name.startswith(RESCUE_PREFIX):
            try:
                theirs = other.head()
            except FormatError as error:
                raise broken_branch(table, name, error) from error
        if theirs is None:
            continue
        try:
            heads = find_merge_heads(table, other, head, theirs)
        except NotFound:
            continue  # they share nothing that a merge could start from
        for base in heads.bases:
            since = _needed_since(table, heads, base)
            if since is not None:
                yield SnapshotHold(kind=HoldKind.MERGE_BASE, owner=name, since_id=since)


def _needed_since(table: FileStoreTable, heads: MergeHeads, base: BaseSnapshot) -> int | None:
    """Return the oldest snapshot of the branch that a merge from a base looks at."""
    if base.listed_on == table.branch and table.snapshots.holds(base.snapshot):
        return base.snapshot.id
    for snapshot in heads.ours_history:
        source = merge_source(snapshot)
        if source is not None and source.same_as(base.snapshot.identity):
            return snapshot.id
    return heads.root.id if table.snapshots.holds(heads.root) else None


def _promised_undo(table: FileStoreTable, now_millis: int) -> Iterator[SnapshotHold]:
    events = table.ledger.whole()
    undone = undone_by(events)
    for event in _recent(events, now_millis):
        if event.receipt is None or event.operation_id in undone or event.undoes is not None:
            continue
        for move in event.receipt.moves:
            if move.branch == table.branch and move.before is not None and move.before_id:
                found = table.snapshots.find(move.before_id)
                if found is not None and found.identity.same_as(move.before):
                    yield SnapshotHold(
                        kind=HoldKind.UNDO,
                        owner=event.operation_id,
                        since_id=move.before_id,
                        until_millis=event.time_millis + UNDO_WINDOW_MILLIS,
                    )


def _running_reads(table: FileStoreTable, now_millis: int) -> Iterator[SnapshotHold]:
    for hold in read_holds(table, now_millis):
        for held in hold.snapshots:
            if held.branch == table.branch:
                yield SnapshotHold(
                    kind=HoldKind.READ,
                    owner=hold.operation_id,
                    since_id=held.id,
                    until_millis=hold.until_millis,
                )


def _of_catalog(table: FileStoreTable, catalog: CatalogReferences) -> Iterator[SnapshotHold]:
    there = {each.id: each.identity for each in table.snapshots.all()}
    for named in unkept_names(table, catalog):
        found = there.get(named.id)
        if found is not None and found.same_as(named.identity):
            yield SnapshotHold(kind=HoldKind.CATALOG, owner=named.owner, since_id=named.id)


def _recent(events: Iterable[LineageEvent], now_millis: int) -> Iterator[LineageEvent]:
    for event in events:
        is_young = now_millis - event.time_millis < UNDO_WINDOW_MILLIS
        if event.kind in _MOVES_HEAD and is_young:
            yield event
