"""What lists and pages show of the branches of the catalog."""

from dataclasses import dataclass

from branch_console.catalog.catalog_branch import CatalogOnBranch, Member, MemberState
from branch_console.errors import PaimonError
from branch_console.format.catalog.catalog_version import CatalogVersion
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.call.warehouse import Warehouse


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogBranchItem:
    """A branch of the catalog in a list.

    Attributes:
        version: Its newest version, such as `dev@7`.
        scope: What it holds, for people.
        base: The version that it began at.
        made, not_made, lost: How many of its tables have their branch, have none yet, or lost it.
        changed: How many of its tables were written on it.
        error: Why nothing else can be told.
    """

    name: str
    version: str = ""
    scope: str = ""
    base: str = ""
    mode: str = ""
    owner: str | None = None
    reason: str | None = None
    created_millis: int | None = None
    tables: int = 0
    made: int = 0
    not_made: int = 0
    lost: int = 0
    changed: int = 0
    error: PaimonError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberItem:
    """A table of a catalog branch in a list.

    Attributes:
        name: As the branch calls it.
        state: `made`, `not made yet` or `lost`.
        base: The id of the snapshot that it began at.
        head: Its newest snapshot; None without one.
        is_changed: Whether it was written or altered on the branch.
    """

    name: str
    state: str
    folder: str
    base: int | None
    head: Snapshot | None
    is_changed: bool
    error: PaimonError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogBranchDetail:
    """A branch of the catalog with its tables, changed ones first."""

    item: CatalogBranchItem
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
    members = _members(seen)
    return CatalogBranchDetail(
        item=_item(seen, members),
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
        return _item(seen, _members(seen))
    except PaimonError as error:
        return CatalogBranchItem(name=name, error=error)


def _item(seen: CatalogOnBranch, members: tuple[MemberItem, ...]) -> CatalogBranchItem:
    fork, states = seen.fork, [each.state for each in members]
    return CatalogBranchItem(
        name=seen.branch,
        version=str(seen.version),
        scope=str(seen.scope),
        base=str(fork.parents[0]),
        mode="" if fork.mode is None else str(fork.mode),
        owner=fork.owner,
        reason=fork.reason,
        created_millis=fork.time_millis,
        tables=len(members),
        made=states.count(MemberState.MADE),
        not_made=states.count(MemberState.NOT_MADE),
        lost=states.count(MemberState.LOST),
        changed=sum(each.is_changed for each in members),
    )


def _members(seen: CatalogOnBranch) -> tuple[MemberItem, ...]:
    return tuple(seen.reader.each(lambda each: _member(seen, each), seen.members()))


def _member(seen: CatalogOnBranch, member: Member) -> MemberItem:
    base = member.table.head
    head: Snapshot | None = None
    is_changed, error = False, None
    if member.is_made:
        try:
            head, schema = seen.open_member(member).head_and_schema()
        except PaimonError as caught:
            error = caught
        else:
            same = (head is None) == (base is None) and (
                head is None or base is None or head.identity.same_as(base.identity)
            )
            is_changed = not same or schema.id != member.table.schema
    return MemberItem(
        name=member.name,
        state=str(member.state),
        folder=member.folder or member.table.folder or "",
        base=None if base is None else base.id,
        head=head,
        is_changed=is_changed,
        error=error,
    )
