"""A warehouse is a folder: databases are `<name>.db`, tables folders with a schema in them.

Hive and JDBC catalogs keep the same layout by default, so their warehouses open as well.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from branch_console.catalog.catalog import TableEntry
from branch_console.errors import (
    ErrorKind,
    FormatError,
    InvalidInput,
    NotAllowed,
    NotFound,
    PaimonError,
)
from branch_console.format import options as table_options
from branch_console.format.identifier import (
    MAIN_BRANCH,
    RESERVED_PREFIXES,
    Identifier,
    check_object_name,
)
from branch_console.format.near_names import MOST_NEAR, did_you_mean, nearest_names
from branch_console.format.table_schema import TableSchema
from branch_console.storage.catalog_paths import DATABASE_SUFFIX, CatalogPaths
from branch_console.storage.file_io import FileReader, FileStatus
from branch_console.storage.metadata_cache import MetadataCache, MetadataReader
from branch_console.storage.parallel_io import aside
from branch_console.table.branch_manager import name_error
from branch_console.table.database_files import find_database_file
from branch_console.table.file_store_table import FileStoreTable, check_branch_segment
from branch_console.table.missing_branch import no_branch
from branch_console.table.shared_scan import SharedScan


class FilesystemCatalog:
    """Finds databases and tables by listing folders [Paimon FileSystemCatalog]."""

    def __init__(
        self, file_io: FileReader, warehouse: str, cache: MetadataCache | None = None
    ) -> None:
        self._reader = MetadataReader(file_io, cache)
        self._scan = SharedScan(self._reader)
        self._warehouse = warehouse.rstrip("/")
        self._paths = CatalogPaths(warehouse=self._warehouse)

    @contextmanager
    def listing_once(self) -> Iterator[FilesystemCatalog]:
        """The same catalog, which lists each folder once while the block runs."""
        with self._reader.listing_once() as reader:
            catalog = copy.copy(self)
            catalog._reader = reader
            yield catalog

    @property
    def reader(self) -> MetadataReader:
        """The metadata of the warehouse, each file decoded once."""
        return self._reader

    def databases(self) -> tuple[str, ...]:
        """The names of all databases, sorted.

        Raises:
            NotFound: There is no such warehouse.
        """
        folders = self._folders(self._warehouse)
        if not folders and self._reader.files.is_local:
            self._check_warehouse()
        names = (folder.name for folder in folders if folder.name.endswith(DATABASE_SUFFIX))
        found = [name.removesuffix(DATABASE_SUFFIX) for name in names if name != DATABASE_SUFFIX]
        if not self._may_share_folders():
            return tuple(found)
        shown = self._reader.map_parallel(self._is_on_main, found)
        return tuple(name for name, is_on_main in zip(found, shown, strict=True) if is_on_main)

    def tables(self, database: str, names: Collection[str] | None = None) -> tuple[TableEntry, ...]:
        """The tables of a database by name, broken ones with their error; raises NotFound."""
        path = self._database_path(database)
        if names is None:
            folders = self._folders(path)
        else:
            found_folders = (self._reader.files.status(f"{path}/{each}") for each in sorted(names))
            folders = [each for each in found_folders if each is not None and each.is_directory]
        if not folders:
            self._check_database(database)
        found = self._reader.map_parallel(lambda folder: self._entries(database, folder), folders)
        return tuple(entry for entries in found for entry in entries)

    def _may_share_folders(self) -> bool:
        """Whether a folder may hold what main lacks, as it is a branch's or was dropped there."""
        return self._reader.files.exists(self._paths.root)

    def _is_on_main(self, database: str) -> bool:
        """Whether main shows a database: one of a branch is hidden until main has a table in it."""
        folder = self._paths.database(database)
        try:
            found = find_database_file(self._reader.files, self._paths, folder)
        except FormatError:
            return True  # broken: whoever changes it is told
        if found is None or found.content.is_on_main:
            return True
        return bool(self._of_main(self._folders(folder)))

    def _of_main(self, folders: list[FileStatus]) -> list[FileStatus]:
        """Return the folders in which main has a table."""
        shown = self._reader.map_parallel(self._has_schema, folders)
        return [each for each, is_shown in zip(folders, shown, strict=True) if is_shown]

    def _has_schema(self, folder: FileStatus) -> bool:
        # By the name of the first one: a listing of each of a thousand tables takes longer, and few
        # tables have lost it.
        files, path = self._reader.files, f"{folder.path}/schema"
        return files.exists(f"{path}/schema-0") or bool(files.names(path))

    def table_names(self, database: str) -> tuple[str, ...]:
        """The names of a database's tables, sorted, from one listing; raises NotFound.

        Folders in which main has no table are left out where such may be, as they are those of
        catalog branches.
        """
        folders = self._folders(self._database_path(database))
        if not folders:
            self._check_database(database)
        if self._may_share_folders():
            folders = self._of_main(folders)
        return tuple(sorted(folder.name for folder in folders))

    def open(self, identifier: Identifier) -> FileStoreTable:
        """A handle on a table and branch; raises NotFound or InvalidInput."""
        table = self.find(identifier)
        if table is None:
            raise self._missing(identifier)
        return table

    def find(self, identifier: Identifier) -> FileStoreTable | None:
        """A handle on a table and branch, None if there is none; raises InvalidInput."""
        path = self._table_path(identifier)
        check_branch_segment(identifier.branch)
        table = FileStoreTable(self._reader, path, identifier, self._scan)
        try:
            schema = table.schemas.find_latest()
        except (FormatError, NotFound):
            return table  # broken: its readers say so
        if schema is not None:
            _check_type(identifier, schema)
            return table
        if table.branches.exists(identifier.branch):
            return table  # broken: its readers say what is missing
        return None

    def _missing(self, identifier: Identifier) -> NotFound:
        """The error for a table or branch that is not there, with what is perhaps meant."""
        path = self._table_path(identifier)
        near = aside(lambda: self._near_tables(identifier))
        if not self._reader.files.exists(self._database_path(identifier.database)):
            return self._no_database(identifier.database, near() or ())
        table = FileStoreTable(self._reader, path, identifier, self._scan)
        if table.branches.exists(MAIN_BRANCH) or table.branches.names():
            return no_branch(table, identifier.branch)
        # Where the folder is there, its name was meant.
        is_there = self._reader.files.exists(path)
        hint = "" if is_there else did_you_mean(near() or ())
        where = f".{hint}" if hint else f": {path} holds no schema."
        return NotFound(
            f"There is no table {identifier.table_name}{where}",
            kind=ErrorKind.TABLE_NOT_FOUND,
            path=path,
        )

    def _near_tables(self, identifier: Identifier) -> tuple[str, ...]:
        """Tables of its database with a name like its own, else such of any other database."""
        databases = self.databases()
        if identifier.database in databases:
            names = nearest_names(identifier.table, self.table_names(identifier.database))
            if names:
                return tuple(f"{identifier.database}.{name}" for name in names)
        # One after the other: who waits no longer for the answer lets no pool of threads run on.
        known = [f"{each}.{name}" for each in databases for name in self.table_names(each)]
        namesakes = [each for each in known if each.endswith(f".{identifier.table}")]
        return tuple(namesakes[:MOST_NEAR]) or nearest_names(identifier.table_name, known)

    def _entries(self, database: str, folder: FileStatus) -> list[TableEntry]:
        identifier = Identifier(database=database, table=folder.name)
        table = FileStoreTable(self._reader, folder.path, identifier, self._scan)
        try:
            schema = table.schemas.find_latest()
            if schema is not None:
                return [
                    TableEntry(
                        identifier=identifier,
                        path=folder.path,
                        table_type=schema.options.read(table_options.TABLE_TYPE),
                        comment=schema.comment,
                        options=schema.options,
                    )
                ]
            branches = [
                name for name in table.branches.names() if table.on_listed(name).schemas.ids()
            ]
        except PaimonError as error:
            return [TableEntry(identifier=identifier, path=folder.path, error=error)]
        kept = [name for name in branches if not name.startswith(RESERVED_PREFIXES)]
        if branches and not kept:
            return []  # dropped; its rescue branches wait for an undo
        if kept:
            return [
                TableEntry(
                    identifier=identifier.on_branch(name),
                    path=folder.path,
                    error=name_error(name, folder.path),
                )
                for name in kept
            ]
        missing = FormatError(
            f"{folder.path} is no table of Paimon: it holds no schema. Restore its schema files, "
            "or remove the folder if nobody else keeps data there.",
            path=folder.path,
        )
        return [TableEntry(identifier=identifier, path=folder.path, error=missing)]

    def _folders(self, path: str) -> list[FileStatus]:
        found = self._reader.files.list(path)
        return [each for each in found if each.is_directory and not each.name.startswith(".")]

    def _database_path(self, database: str) -> str:
        check_object_name(database)
        return f"{self._warehouse}/{database}{DATABASE_SUFFIX}"

    def _table_path(self, identifier: Identifier) -> str:
        if identifier.is_of_catalog:
            raise InvalidInput(
                f"{identifier} is a table of a branch of the catalog, and is not opened here. Name "
                "the branch of the table, as database.table$branch_name.",
                kind=ErrorKind.INVALID_NAME,
            )
        check_object_name(identifier.table)
        return f"{self._database_path(identifier.database)}/{identifier.table}"

    def _check_database(self, database: str) -> None:
        if not self._reader.files.exists(self._database_path(database)):
            raise self._no_database(database)

    def _no_database(self, database: str, near_tables: tuple[str, ...] = ()) -> NotFound:
        path = self._database_path(database)
        near = near_tables or nearest_names(database, aside(self.databases)() or ())
        hint = did_you_mean(near)
        where = f".{hint}" if hint else f": {path} is missing."
        return NotFound(
            f"There is no database {database!r}{where}",
            kind=ErrorKind.DATABASE_NOT_FOUND,
            path=path,
        )

    def _check_warehouse(self) -> None:
        if not self._reader.files.exists(self._warehouse):
            raise NotFound(
                f"There is no warehouse {self._warehouse}. Check the path.",
                path=self._warehouse,
            )


def _check_type(identifier: Identifier, schema: TableSchema) -> None:
    kind = schema.options.read(table_options.TABLE_TYPE)
    if kind not in table_options.TYPES_WITH_BRANCHES:
        raise NotAllowed(
            f"{identifier} is a {kind}: only tables of type 'table' have snapshots and branches.",
            kind=ErrorKind.UNSUPPORTED,
            table_type=kind,
        )
