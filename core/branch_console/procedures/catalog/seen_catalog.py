"""The databases and tables that a session sees: those of its catalog branch, or of main."""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from branch_console.catalog.catalog import Catalog
from branch_console.catalog.catalog_branch import CatalogOnBranch
from branch_console.errors import ErrorKind, NotFound, PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.near_names import did_you_mean, nearest_names
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import paths_of
from branch_console.table.database_files import find_database_file


def seen_from(warehouse: Warehouse, named: str | None, session: str = MAIN_BRANCH) -> Catalog:
    """Return the catalog as one sees it.

    Args:
        warehouse: The warehouse.
        named: The catalog branch that a statement names; None if it names none.
        session: The branch of the session, which may be one of tables only.

    Raises:
        NotFound: There is no catalog branch of the name.
    """
    if named is not None and named != MAIN_BRANCH:
        return warehouse.on(named)
    if named is None and warehouse.has_catalog_branch(session):
        return warehouse.on(session)
    return warehouse.catalog


def check_session(warehouse: Warehouse, branch: str) -> None:
    """Refuse a branch that neither the catalog nor a table has: it is misspelt, and main is read.

    Tables are looked at until one has it; who names tables is told by these.

    Raises:
        NotFound: There is no such branch anywhere.
    """
    if branch == MAIN_BRANCH or warehouse.has_catalog_branch(branch):
        return
    if next(tables_with_branch(warehouse, branch), None) is None:
        known = warehouse.ledger.branches()
        raise NotFound(
            f"There is no branch {branch!r}: neither the catalog nor a table has one."
            f"{did_you_mean(nearest_names(branch, known))} Nothing was run.",
            kind=ErrorKind.BRANCH_NOT_FOUND,
            branch=branch,
        )


def tables_with_branch(warehouse: Warehouse, branch: str) -> Iterator[str]:
    """The tables of main that have a table branch, by their names; broken ones are left out."""
    for database in warehouse.catalog.databases():
        for name in warehouse.catalog.table_names(database):
            with suppress(PaimonError):
                table = warehouse.table(Identifier(database=database, table=name))
                if table.branches.exists(branch):
                    yield table.identifier.table_name


def properties_on(warehouse: Warehouse, seen: Catalog, database: str) -> Mapping[str, str]:
    """Return the properties of a database in a catalog that `seen_from` returned."""
    if isinstance(seen, CatalogOnBranch):
        return seen.database(database)
    paths = paths_of(warehouse)
    found = find_database_file(warehouse.file_io, paths, paths.database(database))
    return {} if found is None else found.content.properties
