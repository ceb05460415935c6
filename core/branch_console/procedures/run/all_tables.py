"""All tables of a warehouse: those of main, and those that branches of the catalog alone have."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.table.file_store_table import FileStoreTable


def all_tables(warehouse: Warehouse) -> Iterator[tuple[Identifier, FileStoreTable]]:
    """Open all tables that can be opened, each folder once, under a name that opens it again.

    That is its name on main, else the one on a branch of the catalog, else that of a table branch.
    """
    known, of_branches = set(), []
    for database in warehouse.catalog.databases():
        for entry in warehouse.catalog.tables(database):
            if entry.error is not None:
                continue
            found = warehouse.table(entry.identifier)
            if entry.identifier.is_main:
                known.add(found.paths.table)
                yield entry.identifier, found
            else:
                of_branches.append((entry.identifier, found))
    for name, found in (*_of_catalog_branches(warehouse, known), *of_branches):
        if found.paths.table not in known:
            known.add(found.paths.table)
            yield name, found


def _of_catalog_branches(
    warehouse: Warehouse, known: Collection[str]
) -> Iterator[tuple[Identifier, FileStoreTable]]:
    """The tables that branches of the catalog have made, but for those in folders of others."""
    paths = warehouse.ledger.paths
    for branch in warehouse.ledger.branches():
        seen = warehouse.on(branch)
        for key, table in seen.recorded.tables.items():
            if paths.folder(table.folder or "") in known:
                continue
            member = seen.member(key)
            if member.is_made:
                called = replace(member.identifier.on_branch(MAIN_BRANCH), catalog_branch=branch)
                yield called, seen.open_member(member)
