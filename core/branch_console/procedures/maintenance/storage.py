"""The cost of a table's files by branch, from its current references."""

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import pyarrow as pa

from branch_console.commit.journal import Journal
from branch_console.diff.expiry.retention import SnapshotHold
from branch_console.diff.expiry.storage_cost import (
    FileAmount,
    FileOwner,
    OrphanScan,
    OwnedReference,
    OwnerKind,
    StorageCost,
    TableStorage,
    UnreadOwner,
    storage_cost,
)
from branch_console.errors import FormatError, InvalidInput, NotFound, PaimonError
from branch_console.format.identifier import (
    MAIN_BRANCH,
    RESCUE_PREFIX,
    RESERVED_PREFIXES,
    Identifier,
)
from branch_console.format.journals.branches import BranchTag
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.maintenance.named_files import NamedFiles, lists_of, read_named_files
from branch_console.maintenance.references import (
    CatalogReferences,
    Reference,
    ReferenceKind,
    find_references,
)
from branch_console.operations.maintenance_requests import ExpireSnapshotsRequest
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.maintenance.branch_tags import standing_blocks, tags_made_for
from branch_console.procedures.maintenance.expire_snapshots import plan_branch_expiry
from branch_console.procedures.maintenance.orphan_files import waiting_cleanings
from branch_console.procedures.maintenance.release_branch import promised_undo
from branch_console.procedures.maintenance.release_files import (
    due_releases,
    find_grace,
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

    A branch that cannot be read is left out of the figures and named.

    Args:
        warehouse: The warehouse.
        table: The table on any branch.

    Raises:
        NotFound: There is no such table.
        FormatError: The ledger of the table cannot be read.
    """
    with warehouse.deciding() as deciding:
        main = deciding.table(table.on_branch(MAIN_BRANCH))
        known = _read_known(deciding, main)
        # What cannot be read may need any file.
        may_go = _MayGo(going=_NOTHING) if known.unread else _what_may_go(deciding, main)
        return TableStorage(
            cost=_cost(main, known, may_go.going),
            holds=may_go.holds,
            orphans=_last_scan(deciding, main),
            unread=(*known.unread, *may_go.unread),
        )


def storage_rows(storage: TableStorage) -> pa.Table:
    """Return the columns of STORAGE."""
    rows: list[dict[str, object]] = []
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
    # Figures that nobody knows are null.
    rows += [
        {"needed_by": each.owner.name, "what": str(each.owner.kind)}
        for each in storage.unread
        if not each.is_counted
    ]
    return pa.Table.from_pylist(rows, schema=STORAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Going:
    """The references that may leave the table now.

    Attributes:
        operations: The operations whose retired names nobody can restore any more.
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


_NOTHING: Final = _Going(
    operations=frozenset(), branches=frozenset(), snapshots=frozenset(), tags=frozenset()
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Known:
    """The readable references of a table.

    Attributes:
        references: The references of owners that can be read completely.
        files: The files that the references lead to.
        unread: The other owners.
    """

    references: tuple[Reference, ...]
    files: NamedFiles
    unread: tuple[UnreadOwner, ...]


def _read_known(warehouse: Warehouse, table: FileStoreTable) -> _Known:
    references, unread = find_references(table)
    errors: dict[FileOwner, PaimonError] = {}
    for each in unread:
        errors.setdefault(_owner(each.branch, each.expiry), each.error)
    owned: dict[FileOwner, list[Reference]] = {}
    for reference in references:
        owned.setdefault(_owner_of(reference), []).append(reference)
    # The newest schema of any branch may say where index files lie.
    without_schema = {
        name
        for name in _branch_names(table)
        if _error_of(table.on_listed(name).schemas.find_latest) is not None
    }

    def read() -> _Known:
        known = tuple(each for each in references if _owner_of(each) not in errors)
        left = tuple(
            UnreadOwner(owner=owner, error=error, blocked_until=_undo_ends(warehouse, table, owner))
            for owner, error in errors.items()
        )
        return _Known(
            references=known, files=_read_files(table, known, without_schema), unread=left
        )

    try:
        return read()
    except (FormatError, NotFound):
        # A list or a manifest is broken: each owner is asked by itself whether it names that one.
        for owner, own in owned.items():
            error = _error_of(partial(_read_files, table, own, without_schema))
            if error is not None:
                errors.setdefault(owner, error)
        return read()


def _undo_ends(warehouse: Warehouse, table: FileStoreTable, owner: FileOwner) -> int | None:
    """When undo ends of the operation that removed an owner; None once it has, and for others."""
    if owner.kind is not OwnerKind.RETIRED:
        return None
    grace = find_grace(Journal(warehouse.store, table.paths), owner.name)
    return None if grace is None or grace.until_millis <= warehouse.clock() else grace.until_millis


def _read_files(
    table: FileStoreTable, references: Sequence[Reference], without_schema: Collection[str]
) -> NamedFiles:
    return read_named_files(table, [lists_of(each) for each in references], without_schema)


def _branch_names(table: FileStoreTable) -> tuple[str, ...]:
    return (MAIN_BRANCH, *table.branches.names())


def _error_of(read: Callable[[], object]) -> PaimonError | None:
    try:
        read()
    except (FormatError, NotFound) as error:
        return error
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _MayGo:
    """The references that may leave now, the holds on snapshots that are due, and unread owners."""

    going: _Going
    holds: Mapping[str, tuple[SnapshotHold, ...]] = field(default_factory=dict)
    unread: tuple[UnreadOwner, ...] = ()


def _what_may_go(warehouse: Warehouse, table: FileStoreTable) -> _MayGo:
    now, events, catalog = warehouse.clock(), table.ledger.whole(), warehouse.catalog_references
    snapshots: set[tuple[str, str]] = set()
    tags: dict[str, tuple[BranchTag, ...]] = {}
    holds: dict[str, tuple[SnapshotHold, ...]] = {}
    unread: list[UnreadOwner] = []
    asked = ExpireSnapshotsRequest(table=table.identifier.table_name)
    for name in _branch_names(table):
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
        except (FormatError, NotFound) as error:
            unread.append(UnreadOwner(owner=_owner(name, None), error=error, is_counted=True))
            continue
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
    return _MayGo(going=going, holds=holds, unread=tuple(unread))


def _tags_of_release(
    branch: FileStoreTable,
    events: tuple[LineageEvent, ...],
    catalog: CatalogReferences,
    now_millis: int,
) -> tuple[BranchTag, ...] | None:
    """The tags that go with a branch that an operation kept; None if the branch must stay."""
    if promised_undo(branch.branch, events, now_millis) is not None:
        return None
    tags = tags_made_for(branch, events)
    return None if any(standing_blocks(branch, events, tags, catalog)) else tags


def _cost(table: FileStoreTable, known: _Known, going: _Going) -> StorageCost:
    files, references = known.files, known.references
    branches = (_owner(each, None) for each in _branch_names(table))
    left_out = {each.owner for each in known.unread}
    everyone = dict.fromkeys((*branches, *map(_owner_of, references)))
    owners = [each for each in everyone if each not in left_out]
    numbers = {owner: number for number, owner in enumerate(owners)}
    heads = _heads(references)
    owned = []
    for reference in references:
        lists = lists_of(reference)
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
    return _owner(reference.branch, reference.expiry)


def _owner(branch: str, expiry: str | None) -> FileOwner:
    if expiry is not None:
        return FileOwner(kind=OwnerKind.RETIRED, name=expiry)
    is_rescue = branch.startswith(RESCUE_PREFIX)
    return FileOwner(kind=OwnerKind.RESCUE if is_rescue else OwnerKind.BRANCH, name=branch)


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
