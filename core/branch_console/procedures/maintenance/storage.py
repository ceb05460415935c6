"""What the files of a table cost each branch, as its references tell now."""

from collections.abc import Mapping, Sequence

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
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.lineage_event import LineageKind
from branch_console.maintenance.named_files import lists_of, read_named_files
from branch_console.maintenance.references import Reference, ReferenceKind, list_references
from branch_console.operations.maintenance_requests import ExpireSnapshotsRequest
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.maintenance.expire_snapshots import plan_branch_expiry
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
    """Tell what the files of a table cost, all branches looked at.

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
        due = due_releases(deciding, main, deciding.clock())
        cost = _cost(main, references, going, due)
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


def _what_may_go(
    warehouse: Warehouse, table: FileStoreTable
) -> tuple[set[tuple[str, str]], Mapping[str, tuple[SnapshotHold, ...]]]:
    """The snapshots that an expiry by the options of each branch would take, and what stays."""
    going: set[tuple[str, str]] = set()
    holds: dict[str, tuple[SnapshotHold, ...]] = {}
    asked = ExpireSnapshotsRequest(table=table.identifier.table_name)
    catalog, now = warehouse.catalog_references, warehouse.clock()
    for branch in (MAIN_BRANCH, *table.branches.names()):
        try:
            plan = plan_branch_expiry(table.on_listed(branch), asked, catalog, now)
        except InvalidInput:
            continue  # its options contradict each other, so that no expiry takes anything
        if plan is not None:
            ids = range(plan.expiry.first_id, plan.expiry.end_id)
            going |= {(branch, str(each)) for each in ids}
            if plan.expiry.holds:
                holds[branch] = plan.expiry.holds
    return going, holds


def _cost(
    table: FileStoreTable,
    references: Sequence[Reference],
    going: set[tuple[str, str]],
    due: Sequence[str],
) -> StorageCost:
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
                is_going=reference.expiry in due
                or (is_snapshot and (reference.branch, reference.name) in going),
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
