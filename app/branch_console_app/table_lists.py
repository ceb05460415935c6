"""The door to the lists of a warehouse: which tables there are and how they do.

It is apart from `branch_console_app.services`, behind which all of the library stands: a list needs
little of it.
"""

from __future__ import annotations

import functools

from branch_console.format.identifier import Identifier
from branch_console.jobs.kept_counts import COUNTS, KeptCounts
from branch_console.procedures.browse.page_values import NamesInTable, TableItem
from branch_console.procedures.browse.tables import (
    list_databases,
    list_table_names,
    list_tables,
    read_names,
    read_table_items,
)
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.call.warehouse_folder import check_is_warehouse
from branch_console_app.settings import Settings


class TableLists:
    """The lists of one warehouse; nothing is opened before it is needed."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @functools.cached_property
    def warehouse(self) -> Warehouse:
        """The warehouse, for reading: opening it writes nothing.

        Raises:
            InvalidInput: None is named, or the path is something else.
            NotFound: There is nothing at the path.
        """
        return self.open_as(read_only=True)

    def check_warehouse(self) -> None:
        """Open the warehouse, so that a wrong path is told now and not by the first page."""
        _ = self.warehouse

    def databases(self) -> tuple[str, ...]:
        """Return the databases by name."""
        return list_databases(self.warehouse)

    def tables(self, database: str | None = None) -> tuple[TableItem, ...]:
        """Return the tables of one database or of all, broken ones with their error."""
        return list_tables(self.warehouse, database)

    def table_names(self) -> tuple[Identifier, ...]:
        """Return the names of all tables; none of them is opened."""
        return list_table_names(self.warehouse)

    def table_items(self, *tables: Identifier) -> tuple[TableItem, ...]:
        """Return some tables as a list shows them, broken ones with their error."""
        return read_table_items(self.warehouse, tables)

    def names_within(self, *tables: Identifier) -> tuple[NamesInTable, ...]:
        """Return the branches and tags of some tables; one that cannot be listed is left out."""
        return read_names(self.warehouse, tables)

    def open_as(self, *, read_only: bool) -> Warehouse:
        """Open the warehouse of the settings; raises as `warehouse` does."""
        warehouse = Warehouse.open(
            self.settings.get_warehouse(),
            store_options=dict(self.settings.store_options),
            cache_dir=self.settings.cache_dir,
            read_only=read_only,
            catalog_kind=self.settings.catalog_kind,
            counted=KeptCounts(folder=self.settings.warehouse_state_dir / COUNTS),
        )
        check_is_warehouse(warehouse)
        return warehouse
