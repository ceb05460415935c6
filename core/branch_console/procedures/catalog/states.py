"""The databases and tables of main and of catalog branches, each under the id that it has."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

from branch_console.catalog.catalog_branch import CatalogOnBranch, Member, MemberState
from branch_console.catalog.sightings import look_at_main
from branch_console.diff.catalog_identity import RecognisedMain, recognise
from branch_console.diff.catalog_state import CatalogState, Content, DatabaseState, TableState
from branch_console.errors import CommitConflict, ErrorKind, PaimonError
from branch_console.format.catalog.catalog_version import (
    CatalogVersion,
    DatabaseChange,
    TableChange,
    VersionKind,
    VersionName,
)
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.publishing import is_publishing

_TRIES = 25
_WAIT_SECONDS = 0.2
_CONTENTS = {
    MemberState.MADE: Content.MADE,
    MemberState.NOT_MADE: Content.PINNED,
    MemberState.LOST: Content.LOST,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MainNow:
    """Main as its folders show it now.

    Attributes:
        version: Its newest version in the ledger; number 0 if nobody noted anything yet.
        main: The folders of main, and their differences from that version.
    """

    version: VersionName
    main: RecognisedMain


def read_main_now(warehouse: Warehouse) -> MainNow:
    """Look at main, and say of each folder which object it is; nothing is written.

    While a merge is being published, and if main gets another version meanwhile, it is looked at
    again: no look holds half of a merge.

    Raises:
        CommitConflict: Main got new versions all the time.
    """
    ledger = warehouse.ledger
    for _ in range(_TRIES):
        recorded = ledger.recorded(MAIN_BRANCH)
        if is_publishing(warehouse, recorded.version):
            time.sleep(_WAIT_SECONDS)
            continue
        births = [each.birth or "" for each in recorded.tables.values()]
        sighting = look_at_main(warehouse.catalog.reader, ledger.paths, births)
        if ledger.newest(MAIN_BRANCH) == recorded.version.number:
            found = recognise(recorded.databases, recorded.tables, sighting)
            return MainNow(version=recorded.version, main=found)
    newest = VersionName(branch=MAIN_BRANCH, number=ledger.newest(MAIN_BRANCH))
    raise _being_published(warehouse, newest) or _restless()


def note_main(warehouse: Warehouse, now: MainNow, *, operation: str, actor: str) -> MainNow:
    """Note what a look at main showed and the ledger does not have yet.

    Args:
        warehouse: The warehouse.
        now: The state that was read.
        operation: The operation that needs main to have a version.
        actor: The person who asks for it.

    Returns:
        Main under the version that has all of it, after another look if somebody was faster.

    Raises:
        CommitConflict: Main got new versions all the time.
        NotFound: A version at which a branch begins is gone.
    """
    for _ in range(_TRIES):
        number = now.version.number
        if now.main.is_as_known and number:
            return now
        warehouse.ledger.check_not_behind(MAIN_BRANCH)
        version = CatalogVersion(
            branch=MAIN_BRANCH,
            number=number + 1,
            kind=VersionKind.SIGHTED,
            parents=(now.version,) if number else (),
            operation=operation,
            actor=actor,
            time_millis=warehouse.clock(),
            databases=now.main.changed_databases,
            tables=now.main.changed_tables,
        )
        if warehouse.ledger.publish(warehouse.store.publisher, version):
            return replace(now, version=version.name)
        now = read_main_now(warehouse)
    raise _restless()


def state_of_main(warehouse: Warehouse) -> CatalogState:
    """Return the databases and tables of main as its folders show them now."""
    return state_at(read_main_now(warehouse))


def state_at(now: MainNow) -> CatalogState:
    """Return the databases and tables of main as a look showed them."""
    return CatalogState(
        version=str(now.version),
        databases={key: _database(key, each) for key, each in now.main.databases.items()},
        tables={
            key: _table(key, each, Content.MADE, _identity(each), each.schema or 0)
            for key, each in now.main.tables.items()
        },
        left_out=now.main.left_out,
        unclear=now.main.unclear,
    )


def state_of_branch(warehouse: Warehouse, branch: str) -> CatalogState:
    """Return the databases and tables of a catalog branch, or of main, as they are now.

    Raises:
        NotFound: There is no such catalog branch.
    """
    if branch == MAIN_BRANCH:
        return state_of_main(warehouse)
    seen = warehouse.on(branch)
    return state_seen(seen, read_members(seen))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMember:
    """A table of a catalog branch with its content as it is now.

    Attributes:
        head: Its newest snapshot on its table branch; None without one, or if none is made.
        error: Why its table branch cannot be read.
    """

    member: Member
    head: Snapshot | None
    state: TableState
    error: PaimonError | None = None


def read_members(seen: CatalogOnBranch) -> tuple[ReadMember, ...]:
    """Return all tables of a catalog branch, by name; what cannot be read has its error."""
    return tuple(seen.reader.map_parallel(lambda each: _read(seen, each), seen.members()))


def state_seen(seen: CatalogOnBranch, members: Iterable[ReadMember]) -> CatalogState:
    """Return the databases and tables of a catalog branch, whose tables were read."""
    databases = seen.recorded.databases
    return CatalogState(
        version=str(seen.version),
        databases={key: _database(key, each) for key, each in databases.items()},
        tables={each.member.id: each.state for each in members},
        left_out=seen.fork.left_out,
        members=seen.recorded.members,
    )


def state_at_version(warehouse: Warehouse, name: VersionName) -> CatalogState:
    """Return the databases and tables of a branch as the ledger has them at a version.

    Raises:
        NotFound: There is no such version.
    """
    found = warehouse.ledger.recorded(name.branch, name.number)
    return CatalogState(
        version=str(name),
        databases={key: _database(key, each) for key, each in found.databases.items()},
        tables={
            key: _table(key, each, Content.MADE, _identity(each), each.schema or 0)
            for key, each in found.tables.items()
        },
        members=None if name.branch == MAIN_BRANCH else found.members,
    )


def _read(seen: CatalogOnBranch, member: Member) -> ReadMember:
    table, content = member.table, _CONTENTS[member.state]
    newest: Snapshot | None = None
    head, schema, error = _identity(table), table.schema or 0, None
    if member.is_made:
        try:
            newest, read = seen.open_member(member).head_and_schema()
        except PaimonError as caught:
            content, error = Content.LOST, caught
        else:
            head, schema = (None if newest is None else newest.identity), read.id
    state = _table(member.id, table, content, head, schema, folder=member.folder)
    if content is Content.PINNED:
        state = replace(state, read_branch=table.source or MAIN_BRANCH)
    return ReadMember(member=member, head=newest, state=state, error=error)


def _database(key: str, database: DatabaseChange) -> DatabaseState:
    properties = {name: value for name, value in database.properties.items() if value is not None}
    return DatabaseState(id=key, name=database.name or "", properties=properties)


def _table(
    key: str,
    table: TableChange,
    content: Content,
    head: SnapshotIdentity | None,
    schema: int,
    *,
    folder: str | None = None,
) -> TableState:
    return TableState(
        id=key,
        database=table.database or "",
        name=table.name or "",
        folder=folder or table.folder or "",
        birth=table.birth or "",
        head=head,
        schema=schema,
        content=content,
    )


def _identity(table: TableChange) -> SnapshotIdentity | None:
    return None if table.head is None else table.head.identity


def _being_published(warehouse: Warehouse, newest: VersionName) -> CommitConflict | None:
    """Say what is being published all the time; None if nothing is."""
    if not is_publishing(warehouse, newest):
        return None
    operation_id = warehouse.ledger.version(newest).operation
    return CommitConflict(
        f"{newest} of the catalog is still being published, by operation {operation_id}. Nothing "
        "was changed. Wait for it, or run: branch-console recover.",
        kind=ErrorKind.BRANCH_IN_USE,
        operation_id=operation_id,
    )


def _restless() -> CommitConflict:
    return CommitConflict(
        "Main of the catalog got new versions while it was looked at, time and again. Nothing was "
        "changed; try again.",
        kind=ErrorKind.HEAD_MOVED,
    )
