"""The events of a warehouse, from the ledgers of its tables and of the catalog."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import islice

from branch_console.errors import PaimonError
from branch_console.format.catalog.catalog_version import CatalogVersion
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.procedures.browse.page_values import TableEvents
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.storage.parallel_io import map_parallel


def read_table_events(
    warehouse: Warehouse, tables: Sequence[Identifier]
) -> tuple[TableEvents, ...]:
    """Return the ledgers of some tables; one that cannot be read is left out."""

    def read(table: Identifier) -> TableEvents | None:
        try:
            found = warehouse.table(table.on_branch(MAIN_BRANCH))
            return TableEvents(table=found.identifier, events=found.ledger.as_written())
        except PaimonError:
            # The list of tables says why it cannot be read.
            return None

    return tuple(one for one in map_parallel(warehouse.file_io, read, tables) if one is not None)


def read_catalog_events(warehouse: Warehouse, *, most: int) -> tuple[CatalogVersion, ...]:
    """Return the newest versions of main and of each branch of the catalog.

    Args:
        warehouse: The warehouse.
        most: How many of each branch.
    """
    found: list[CatalogVersion] = []
    for branch in (MAIN_BRANCH, *warehouse.ledger.branches()):
        # A branch that cannot be read spoils no other: the page of the catalog says why.
        with suppress(PaimonError):
            found += islice(warehouse.ledger.versions(branch), most)
    return tuple(found)
