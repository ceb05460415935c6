"""What the files of a table cost each branch, as its references tell now."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from branch_console.commit.branch.rescue import RESCUE_PREFIX
from branch_console.diff.expiry.retention import SnapshotHold
from branch_console.diff.expiry.storage_cost import (
    FileAmount,
    FileOwner,
    OrphanScan,
    OwnedReference,
    OwnerKind,
    StorageCost,
    TableStorage,
    storage_cost,
)
from branch_console.errors import InvalidInput
from branch_console.format.identifier import MAIN_BRANCH, RESERVED_PREFIXES, Identifier
from branch_console.format.journals.branches import BranchTag
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.maintenance.named_files import lists_of, read_named_files
from branch_console.maintenance.references import (
    CatalogReferences,
    Reference,
    ReferenceKind,
    list_references,
)
from branch_console.operations.maintenance_requests import ExpireSnapshotsRequest
from branch_console.procedures.branch.drop_branch import rescued_for
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.maintenance.branch_tags import standing_blocks, tags_made_for
from branch_console.procedures.maintenance.expire_snapshots import plan_branch_expiry
from branch_console.procedures.maintenance.holds import UNDO_WINDOW_MILLIS
from branch_console.procedures.maintenance.orphan_files import waiting_cleanings
from branch_console.procedures.maintenance.release_files import (
    due_releases,
    referred_manifests,
    size_of,
)
from branch_console.table.file_store_table import FileStoreTable

STORAGE = pa.schema(
    [("needed_by", pa.string()), ("what", pa.string())]
    + [
        (f"{part}_{unit}", pa.int64())
        for part in ("head", "history", "exclusive", "shared", "reclaimable")
        for unit in ("files", "bytes")
    ]
    + [
        (
            "overlaps",
            pa.list_(
                pa.struct([("with", pa.string()), ("files", pa.int64()), ("bytes", pa.int64())])
            ),
        )
    ]
)
"""Owners of files as rows; what each shares with each of the others."""


def read_storage(warehouse: Warehouse, table: Identifier) -> TableStorage:
    """Return which branches need the files of a table, and how large these are.

    Args:
        warehouse: The warehouse.
        table: The table on any branch.

    Raises:
        NotFound: There is no such table.
        FormatError: A reference of the table cannot be read, so that who needs what is not known.
    """
    with warehouse.deciding() as deciding:
        main = deciding.table(table.on_branch(MAIN_BRANCH))
        references = list_references(main)
        going, holds = _what_may_go(deciding, main)
        cost = _cost(main, references, going)
        return TableStorage(cost=cost, holds=holds, orphans=_last_scan(deciding, main))


def storage_rows(storage: TableStorage) -> pa.Table:
    """Return the columns of STORAGE."""
    rows = []
    for each in storage.cost.owners:
        parts = {
            "head": each.head,
            "history": each.history,
            "exclusive": each.exclusive,
            "shared": each.shared,
            "reclaimable": each.reclaimable,
        }
        row: dict[str, object] = {"needed_by": each.owner.name, "what": str(each.owner.kind)}
        for name, amount in parts.items():
            row |= {f"{name}_files": amount.file_count, f"{name}_bytes": amount.byte_count}
        row["overlaps"] = [
            {
                "with": other.name,
                "files": pair.amount.file_count,
                "bytes": pair.amount.byte_count,
            }
            for pair in storage.cost.overlaps
            if each.owner in pair.owners
            for other in pair.owners
            if other != each.owner
        ]
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=STORAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Going:
    """What may leave the table now.

    Attributes:
        operations: Those whose retired names nobody can bring back any more.
        branches: Rescue branches that may be released.
        snapshots: The snapshots that an expiry by the options of each branch takes.
        tags: The tags that keep files for those branches alone.
    """

    operations: frozenset[str]
    branches: frozenset[str]
    snapshots: frozenset[tuple[str, str]]
    tags: frozenset[BranchTag]

    def takes(self, reference: Reference) -> bool:
        """Whether a reference is among it."""
        if reference.expiry is not None:
            return reference.expiry in self.operations
        if reference.branch in self.branches:
            return True
        if reference.kind is ReferenceKind.TAG:
            return BranchTag(branch=reference.branch, name=reference.name) in self.tags
        is_snapshot = reference.kind is ReferenceKind.SNAPSHOT
        return is_snapshot and (reference.branch, reference.name) in self.snapshots


def _what_may_go(
    warehouse: Warehouse, table: FileStoreTable
) -> tuple[_Going, Mapping[str, tuple[SnapshotHold, ...]]]:
    """What may leave the table now, and what keeps snapshots that are due."""
    now, events, catalog = warehouse.clock(), table.ledger.whole(), warehouse.catalog_references
    snapshots: set[tuple[str, str]] = set()
    tags: dict[str, tuple[BranchTag, ...]] = {}
    holds: dict[str, tuple[SnapshotHold, ...]] = {}
    asked = ExpireSnapshotsRequest(table=table.identifier.table_name)
    for name in (MAIN_BRANCH, *table.branches.names()):
        branch = table.on_listed(name)
        if name.startswith(RESERVED_PREFIXES):
            released = _tags_of_release(branch, events, catalog, now)
            if released is not None:
                tags[name] = released
            continue
        try:
            plan = plan_branch_expiry(branch, asked, catalog, now)
        except InvalidInput:
            continue  # its options contradict each other, so that no expiry takes anything
        if plan is not None:
            snapshots |= {(name, str(each)) for each in plan.ids}
            if plan.expiry.holds:
                holds[name] = plan.expiry.holds
    going = _Going(
        operations=frozenset(due_releases(warehouse, table, now)),
        branches=frozenset(tags),
        snapshots=frozenset(snapshots),
        tags=frozenset(itertools.chain.from_iterable(tags.values())),
    )
    return going, holds


def _tags_of_release(
    branch: FileStoreTable,
    events: tuple[LineageEvent, ...],
    catalog: CatalogReferences,
    now_millis: int,
) -> tuple[BranchTag, ...] | None:
    """The tags that go with a branch that an operation kept; None where the branch must stay."""
    promised = rescued_for(branch.branch, events)
    if promised is not None and now_millis < promised.time_millis + UNDO_WINDOW_MILLIS:
        return None
    tags = tags_made_for(branch, events)
    return None if any(standing_blocks(branch, events, tags, catalog)) else tags


def _cost(table: FileStoreTable, references: Sequence[Reference], going: _Going) -> StorageCost:
    branches = (_owner_of_branch(each) for each in (MAIN_BRANCH, *table.branches.names()))
    owners = list(dict.fromkeys((*branches, *map(_owner_of, references))))
    numbers = {owner: number for number, owner in enumerate(owners)}
    heads = _heads(references)
    named = [lists_of(each) for each in references]
    files = read_named_files(table, named)
    owned = []
    for reference, lists in zip(references, named, strict=True):
        is_snapshot = reference.kind is ReferenceKind.SNAPSHOT
        index = lists.index_manifest
        owned.append(
            OwnedReference(
                owner=numbers[_owner_of(reference)],
                manifests=referred_manifests(files, lists, 0),
                index_files={} if index is None else files.index_files[index],
                is_head=is_snapshot and heads[reference.branch] == int(reference.name),
                is_going=going.takes(reference),
            )
        )
    return storage_cost(files.columns, owned, owners)


def _owner_of(reference: Reference) -> FileOwner:
    if reference.expiry is not None:
        return FileOwner(kind=OwnerKind.RETIRED, name=reference.expiry)
    return _owner_of_branch(reference.branch)


def _owner_of_branch(name: str) -> FileOwner:
    is_rescue = name.startswith(RESCUE_PREFIX)
    return FileOwner(kind=OwnerKind.RESCUE if is_rescue else OwnerKind.BRANCH, name=name)


def _heads(references: Sequence[Reference]) -> Mapping[str, int]:
    """The newest snapshot of each branch."""
    heads: dict[str, int] = {}
    for each in references:
        if each.kind is ReferenceKind.SNAPSHOT:
            heads[each.branch] = max(heads.get(each.branch, 0), int(each.name))
    return heads


def _last_scan(warehouse: Warehouse, table: FileStoreTable) -> OrphanScan | None:
    scans = [each for each in table.ledger.whole() if each.kind is LineageKind.CLEANED]
    if not scans:
        return None
    last = max(scans, key=lambda each: each.time_millis)
    waiting = [files for _, files in waiting_cleanings(warehouse, table).values()]
    return OrphanScan(
        operation_id=last.operation_id,
        time_millis=last.time_millis,
        waiting=FileAmount(
            file_count=sum(each.num_rows for each in waiting), byte_count=sum(map(size_of, waiting))
        ),
    )
