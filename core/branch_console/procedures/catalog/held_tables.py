"""The tables of main that other catalog branches use: a drop on main must leave them intact."""

from collections.abc import Collection, Iterator
from typing import Final

from branch_console.catalog.catalog_branch import CatalogOnBranch, MemberState
from branch_console.catalog.sightings import find_birth
from branch_console.commit.journal import Journal
from branch_console.format.catalog.catalog_version import TableChange
from branch_console.format.journals.intent import Intent
from branch_console.procedures.branch.create_branch import finish_creation
from branch_console.procedures.branch.member_branch import open_to_write
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import finish_operation
from branch_console.table.file_store_table import FileStoreTable

_CREATE_BRANCH: Final = "create_branch"


def holders_of(warehouse: Warehouse, folder: str) -> tuple[str, ...]:
    """Return the catalog branches that hold a table in a folder, by name.

    Args:
        warehouse: The warehouse.
        folder: Below the warehouse, such as `air.db/flights`.
    """
    return tuple(dict.fromkeys(branch for branch, _ in _held(warehouse, folder)))


def holders_in(warehouse: Warehouse, database: str) -> tuple[str, ...]:
    """Return the catalog branches that hold a table in the folder of a database, by name."""
    if not warehouse.ledger.branches():
        return ()
    paths = warehouse.ledger.paths
    names = warehouse.file_io.folder_names(paths.database(database))
    folders = (
        paths.relative(paths.table(database, name)) for name in names if not name.startswith(".")
    )
    return tuple(
        dict.fromkeys(each for folder in folders for each in holders_of(warehouse, folder))
    )


def readers_of(warehouse: Warehouse, seen: CatalogOnBranch) -> dict[str, tuple[str, ...]]:
    """Return what other catalog branches read on the table branches of one.

    Returns:
        By the name of the branch, the tables that it has not made yet and that begin there.
    """
    found: dict[str, tuple[str, ...]] = {}
    for branch in warehouse.ledger.branches():
        other = warehouse.on(branch)
        begun = (
            other.member(key)
            for key, table in other.recorded.tables.items()
            if table.source == seen.content and branch != seen.branch
        )
        names = sorted(each.name for each in begun if each.state is MemberState.NOT_MADE)
        if names:
            found[branch] = tuple(names)
    return found


def make_held(warehouse: Warehouse, folder: str, intent: Intent) -> None:
    """Make the branches of a table that catalog branches read on main, before it leaves main.

    Args:
        warehouse: The warehouse.
        folder: Below the warehouse.
        intent: The operation that takes the table from main.
    """
    call = ProcedureCall(name=_CREATE_BRANCH, actor=intent.actor, operation_id=intent.operation_id)
    for branch, key in _held(warehouse, folder):
        seen = warehouse.on(branch)
        member = seen.member(key)
        if member.state is MemberState.NOT_MADE:
            open_to_write(warehouse, seen, member, call)
        elif member.state is MemberState.MADE:
            _finish_making(warehouse, seen.open_member(member))


def _finish_making(warehouse: Warehouse, table: FileStoreTable) -> None:
    """Finish the creation of a branch that was cut off: without main it would be taken back."""
    journal = Journal(warehouse.store, table.paths)
    for intent in journal.unfinished():
        if intent.procedure == _CREATE_BRANCH and table.branch in intent.makes:
            operation = Operation(
                warehouse=warehouse, table=table, journal=journal, intent=intent, is_resumed=True
            )
            finish_operation(finish_creation, operation)


def _held(warehouse: Warehouse, folder: str) -> Iterator[tuple[str, str]]:
    """The catalog branches that hold the table of a folder, by place or birth, with its id."""
    ledger = warehouse.ledger
    branches = ledger.branches()
    if not branches:
        return
    reader, path = warehouse.catalog.reader, ledger.paths.folder(folder)
    of_main = find_birth(reader, path)
    for branch in branches:
        recorded = ledger.recorded(branch)
        content = branch if recorded.fork is None else recorded.fork.content or branch
        # The folder may have moved since, and with it what branches alone have in it.
        origins = {content, *(each.source for each in recorded.tables.values() if each.source)}
        found = (find_birth(reader, f"{path}/branch/branch-{each}") for each in origins)
        births = {of_main, *found} - {None}
        for key, table in recorded.tables.items():
            is_moved = table.birth in births and not _is_at_home(warehouse, table, origins)
            if table.folder == folder or is_moved:
                yield branch, key


def _is_at_home(warehouse: Warehouse, table: TableChange, origins: Collection[str]) -> bool:
    """Whether a table is where its branch knows it: tables that were made at once look alike."""
    if table.folder is None:
        return False
    reader, home = warehouse.catalog.reader, warehouse.ledger.paths.folder(table.folder)
    places = (home, *(f"{home}/branch/branch-{each}" for each in origins))
    return any(find_birth(reader, place) == table.birth for place in places)
