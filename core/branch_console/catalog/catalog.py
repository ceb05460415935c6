"""The interface of every catalog: its databases and tables, and a handle on each."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from branch_console.errors import PaimonError
from branch_console.format.identifier import Identifier
from branch_console.format.options import Options
from branch_console.storage.metadata_cache import MetadataReader
from branch_console.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEntry:
    """A table of a listing.

    A table that exists on branches only is listed once a branch, with that branch in its
    identifier. `error` tells why one cannot be used; `table_type` is the option `type`, and any
    other than "table" is shown and not touched.
    """

    identifier: Identifier
    path: str
    table_type: str = "table"
    comment: str | None = None
    options: Options = field(default_factory=Options)
    error: PaimonError | None = None


class Catalog(Protocol):
    """The databases and tables of a warehouse."""

    @property
    def reader(self) -> MetadataReader:
        """The metadata of the warehouse, each file decoded once."""

    def listing_once(self) -> AbstractContextManager[Catalog]:
        """The same catalog, which lists each folder once while the block runs.

        Its handles on tables do so too, and look anew after the block.
        """

    def databases(self) -> tuple[str, ...]:
        """The names of all databases, sorted."""

    def tables(self, database: str, names: Collection[str] | None = None) -> tuple[TableEntry, ...]:
        """The tables of a database by name, broken ones with their error.

        Args:
            database: The database.
            names: The wanted tables; None for all.

        Raises:
            NotFound: There is no such database.
        """

    def table_names(self, database: str) -> tuple[str, ...]:
        """The names of a database's tables, sorted; none of them is opened.

        Raises:
            NotFound: There is no such database.
        """

    def find(self, identifier: Identifier) -> FileStoreTable | None:
        """A handle on a table and branch, None if there is no such database, table or branch.

        Raises:
            InvalidInput: A name is more than one folder.
        """

    def open(self, identifier: Identifier) -> FileStoreTable:
        """A handle on a table and branch.

        Raises:
            NotFound: There is no such database, table or branch.
            InvalidInput: A name is more than one folder.
        """
