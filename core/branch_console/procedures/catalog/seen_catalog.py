"""Which databases and tables a session sees: those of a catalog branch, or else those of main."""

from collections.abc import Mapping

from branch_console.catalog.catalog import Catalog
from branch_console.catalog.catalog_branch import CatalogOnBranch
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import paths_of
from branch_console.table.database_files import read_database_file


def seen_from(warehouse: Warehouse, named: str | None, session: str = MAIN_BRANCH) -> Catalog:
    """Return the catalog as one sees it.

    Args:
        warehouse: The warehouse.
        named: The catalog branch that a statement names; None where it names none.
        session: The branch of the session, which may be one of tables only.

    Raises:
        NotFound: There is no catalog branch of the name.
    """
    if named is not None and named != MAIN_BRANCH:
        return warehouse.on(named)
    if named is None and warehouse.has_catalog_branch(session):
        return warehouse.on(session)
    return warehouse.catalog


def properties_on(warehouse: Warehouse, seen: Catalog, database: str) -> Mapping[str, str]:
    """Return the properties of a database in a catalog that `seen_from` returned."""
    if isinstance(seen, CatalogOnBranch):
        return seen.database(database)
    return read_database_file(warehouse.file_io, paths_of(warehouse), database).content.properties
