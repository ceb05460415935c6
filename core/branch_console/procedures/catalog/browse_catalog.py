"""The lists and pages of the catalog's branches."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from operator import attrgetter

from branch_console.catalog.catalog_branch import CatalogOnBranch, MemberState
from branch_console.diff.catalog_diff import (
    ChangedTable,
    DatabaseSide,
    catalog_changes,
    has_same_content,
)
from branch_console.diff.catalog_state import CatalogState
from branch_console.diff.database_operation import DatabaseOperation
from branch_console.diff.table_operation import TableOperation
from branch_console.diff.three_way import ThreeWay
from branch_console.errors import PaimonError
from branch_console.format.catalog.catalog_version import CatalogVersion
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.snapshot import Snapshot
from branch_console.merge.catalog.object_merge import ObjectKind
from branch_console.procedures.browse.catalog_values import CatalogBranchItem
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.states import (
    ReadMember,
    read_members,
    state_at_version,
    state_seen,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberItem:
    """A table of a catalog branch in a list.

    Attributes:
        name: As the branch calls it.
        state: `made`, `not made yet` or `lost`.
        base: The id of the snapshot that it began at.
        head: Its newest snapshot; None without one.
        is_changed: Whether it was made, renamed, written or altered on the branch.
    """

    name: str
    state: str
    folder: str
    base: int | None
    head: Snapshot | None
    is_changed: bool
    error: PaimonError | None = None


class ObjectChange(StrEnum):
    """The change of a database or table by a branch of the catalog since its fork."""

    CREATED = "created"
    DROPPED = "dropped"
    RENAMED = "renamed"
    WRITTEN = "written"
    ALTERED = "altered"
    PROPERTIES_SET = "properties set"
    PROPERTIES_UNSET = "properties unset"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedObject:
    """A database or table that differs from how a branch of the catalog began.

    Attributes:
        name: As the branch calls it, or called it before it dropped it.
        was: As it was called where the branch began; None of one that the branch made.
        did: The changes, of which only the net effect counts.
        properties: The keys of a database that got another value, or none.
    """

    kind: ObjectKind
    id: str
    name: str
    was: str | None
    did: tuple[ObjectChange, ...]
    properties: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogBranchDetail:
    """A branch of the catalog: what changed on it, and its tables, changed ones first."""

    item: CatalogBranchItem
    changes: tuple[ChangedObject, ...]
    members: tuple[MemberItem, ...]
    left_out: tuple[tuple[str, str], ...]


def catalog_branches(warehouse: Warehouse) -> tuple[CatalogBranchItem, ...]:
    """Return the branches of the catalog by name, broken ones with their error."""
    return tuple(_item_or_error(warehouse, name) for name in warehouse.ledger.branches())


def read_catalog_branch(warehouse: Warehouse, branch: str) -> CatalogBranchDetail:
    """Return a branch of the catalog with its tables.

    Raises:
        NotFound: There is no such catalog branch.
    """
    seen = warehouse.on(branch)
    read = read_members(seen)
    changes = changes_on_branch(warehouse, seen, read)
    changed = {each.id for each in changes}
    members = (_member(each, is_changed=each.member.id in changed) for each in read)
    return CatalogBranchDetail(
        item=branch_item(seen, read, changed=len(changes)),
        changes=changes,
        members=tuple(sorted(members, key=lambda each: (not each.is_changed, each.name))),
        left_out=tuple(seen.fork.left_out.items()),
    )


def catalog_log(warehouse: Warehouse, branch: str) -> tuple[CatalogVersion, ...]:
    """Return the versions of a catalog branch, or of main, newest first; also of a dropped one.

    Raises:
        NotFound: There never was such a catalog branch.
    """
    found = tuple(warehouse.ledger.versions(branch))
    if not found and branch != MAIN_BRANCH:
        raise warehouse.ledger.no_branch(branch)
    return found


def _item_or_error(warehouse: Warehouse, name: str) -> CatalogBranchItem:
    try:
        seen = warehouse.on(name)
        read = read_members(seen)
        changes = changes_on_branch(warehouse, seen, read)
        return branch_item(seen, read, changed=len(changes))
    except PaimonError as error:
        return CatalogBranchItem(name=name, error=error)


def branch_item(
    seen: CatalogOnBranch, read: Collection[ReadMember], *, changed: int
) -> CatalogBranchItem:
    """Return a branch as a list shows it.

    Args:
        seen: The catalog seen from it.
        read: Its tables.
        changed: How many of its databases and tables differ from how it began.
    """
    fork, states = seen.fork, [each.member.state for each in read]
    return CatalogBranchItem(
        name=seen.branch,
        version=str(seen.version),
        scope=str(seen.scope),
        base=str(fork.parents[0]),
        mode="" if fork.mode is None else str(fork.mode),
        owner=fork.owner,
        reason=fork.reason,
        created_millis=fork.time_millis,
        tables=len(states),
        made=states.count(MemberState.MADE),
        not_made=states.count(MemberState.NOT_MADE),
        lost=states.count(MemberState.LOST),
        changed=changed,
    )


def _member(read: ReadMember, *, is_changed: bool) -> MemberItem:
    member, base = read.member, read.member.table.head
    return MemberItem(
        name=member.name,
        state=str(member.state),
        folder=member.folder or member.table.folder or "",
        base=None if base is None else base.id,
        head=read.head,
        is_changed=is_changed,
        error=read.error,
    )


def changes_on_branch(
    warehouse: Warehouse, seen: CatalogOnBranch, read: Iterable[ReadMember]
) -> tuple[ChangedObject, ...]:
    """Compare a branch with how it began; by name, databases first."""
    base, now = _beginning(warehouse, seen), state_seen(seen, read)
    found = catalog_changes(ThreeWay(base=base, ours=base, theirs=now))
    databases = (
        ChangedObject(
            kind=ObjectKind.DATABASE,
            id=each.id,
            name=now.name_of(each.id) or base.name_of(each.id) or each.id,
            was=base.name_of(each.id),
            did=_done_to_database(each.theirs),
            properties=tuple(sorted((*each.theirs.set, *each.theirs.unset))),
        )
        for each in found.databases
    )
    tables = (
        ChangedObject(
            kind=ObjectKind.TABLE,
            id=each.id,
            name=now.name_of(each.id) or base.name_of(each.id) or each.id,
            was=base.name_of(each.id),
            did=did,
        )
        for each in found.tables
        if (did := _done_to_table(each))
    )
    by_name = attrgetter("name", "id")
    return (*sorted(databases, key=by_name), *sorted(tables, key=by_name))


def _beginning(warehouse: Warehouse, seen: CatalogOnBranch) -> CatalogState:
    """Return the first state of a branch, and the objects added later as they were then."""
    base = state_at_version(warehouse, seen.fork.name)
    for name in seen.recorded.added:
        state, version = state_at_version(warehouse, name), warehouse.ledger.version(name)
        base = replace(
            base,
            databases={
                **base.databases,
                **{key: state.databases[key] for key in version.databases},
            },
            tables={**base.tables, **{key: state.tables[key] for key in version.tables}},
            members=state.members,
        )
    return base


def _done_to_database(side: DatabaseSide) -> tuple[ObjectChange, ...]:
    found = {
        ObjectChange.CREATED: side.is_created,
        ObjectChange.DROPPED: DatabaseOperation.DROP in side.operations,
        ObjectChange.RENAMED: DatabaseOperation.RENAME in side.operations,
        ObjectChange.PROPERTIES_SET: bool(side.set),
        ObjectChange.PROPERTIES_UNSET: bool(side.unset),
    }
    return tuple(each for each, is_done in found.items() if is_done)


def _done_to_table(change: ChangedTable) -> tuple[ObjectChange, ...]:
    """Return the changes of a table; none for a table that was lost, which is no change."""
    base, now, side = change.sides.base, change.sides.theirs, change.theirs
    is_written = is_altered = False
    if side.has_content and base is not None and now is not None:
        is_altered = base.schema != now.schema
        is_written = not has_same_content(base, replace(now, schema=base.schema))
    found = {
        ObjectChange.CREATED: side.is_created,
        ObjectChange.DROPPED: TableOperation.DROP in side.operations,
        ObjectChange.RENAMED: TableOperation.RENAME in side.operations,
        ObjectChange.WRITTEN: is_written,
        ObjectChange.ALTERED: is_altered,
    }
    return tuple(each for each, is_done in found.items() if is_done)
