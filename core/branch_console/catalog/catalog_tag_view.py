"""The catalog as a tag of it has it: tables by the names of then, each at its tag."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from branch_console.catalog.table_folders import TableFolders
from branch_console.errors import ErrorKind, FormatError, NotFound, Refused
from branch_console.format.catalog.catalog_tag import CatalogTag
from branch_console.format.catalog.catalog_version import TableChange
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.near_names import did_you_mean, nearest_names
from branch_console.format.tag import Tag
from branch_console.storage.catalog_paths import SUFFIX, CatalogPaths
from branch_console.storage.metadata_cache import MetadataReader
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.pinned_table import PinnedTable
from branch_console.table.versioned_files import naming_file


class CatalogTags:
    """Reads the tags of the catalog."""

    def __init__(self, reader: MetadataReader, paths: CatalogPaths) -> None:
        self._reader = reader
        self._paths = paths

    def names(self) -> tuple[str, ...]:
        """The names of all catalog tags, sorted."""
        found = self._reader.files.names(self._paths.tags_dir)
        names = (name.removesuffix(SUFFIX) for name in found if name.endswith(SUFFIX))
        return tuple(sorted(name for name in names if not name.startswith(".")))

    def find(self, name: str) -> CatalogTag | None:
        """A catalog tag, None if there is none; raises FormatError."""
        if "/" in name or not name:
            return None
        data = self._reader.files.find(self._paths.tag(name))
        try:
            return None if data is None else CatalogTag.from_json(data)
        except FormatError as error:
            raise naming_file(error, self._paths.tag(name)) from error

    def get(self, name: str) -> CatalogTag:
        """A catalog tag.

        Raises:
            NotFound: There is none of this name.
        """
        found = self.find(name)
        if found is None:
            hint = did_you_mean(nearest_names(name, self.names()))
            raise NotFound(
                f"There is no catalog tag {name!r}.{hint} See: branch-console catalog tags.",
                kind=ErrorKind.TAG_NOT_FOUND,
                tag=name,
            )
        return found


def with_present_folders(
    reader: MetadataReader, paths: CatalogPaths, tag: CatalogTag
) -> CatalogTag:
    """Return a tag with each table in the folder where it lies now, as noted if it is nowhere."""
    branches = {table.source or MAIN_BRANCH for table in tag.tables.values()}
    folders = {branch: TableFolders(reader, paths, branch) for branch in branches}

    def placed(table: TableChange) -> TableChange:
        found = folders[table.source or MAIN_BRANCH].find(table)
        return table if found is None else replace(table, folder=found.folder)

    tables = reader.map_parallel(placed, list(tag.tables.values()))
    return replace(tag, tables=dict(zip(tag.tables, tables, strict=True)))


class CatalogAtTag:
    """The tables of a catalog tag, for reading."""

    def __init__(self, reader: MetadataReader, paths: CatalogPaths, tag: CatalogTag) -> None:
        self._reader = reader
        self._paths = paths
        self._tag = tag

    def open(self, identifier: Identifier) -> FileStoreTable:
        """A handle on a table that shows it at the tag, under the schema of that snapshot.

        Raises:
            NotFound: The tag has no table of this name.
            Refused: Its tag is gone.
        """
        table = self._tables.get(identifier.table_name)
        if table is None:
            hint = did_you_mean(nearest_names(identifier.table_name, self._tables))
            raise NotFound(
                f"Catalog tag {self._tag.name!r} has no table {identifier.table_name}.{hint}",
                kind=ErrorKind.TABLE_NOT_FOUND,
                table=identifier.table_name,
                tag=self._tag.name,
            )
        branch = table.source or MAIN_BRANCH
        found_folder = TableFolders(self._reader, self._paths, branch).find(table)
        if found_folder is None:
            raise self._gone(identifier)
        path, named = self._paths.folder(found_folder.folder), identifier.on_branch(branch)
        source = FileStoreTable(self._reader, path, named)
        found = self._find_tag(source, table)
        if found is None and table.head is not None:
            raise self._gone(identifier)
        last = (table.schema or 0) if found is None else found.snapshot.schema_id
        return PinnedTable(source, branch, found, last)

    def find(self, identifier: Identifier) -> FileStoreTable | None:
        """As `open`, None if the tag has no table of this name."""
        return self.open(identifier) if identifier.table_name in self._tables else None

    def _find_tag(self, source: FileStoreTable, table: TableChange) -> Tag | None:
        found = source.tags.find(self._tag.name)
        is_it = (
            found is not None
            and table.head is not None
            and found.snapshot.identity.same_as(table.head.identity)
        )
        return found if is_it else None

    @cached_property
    def _tables(self) -> dict[str, TableChange]:
        databases = self._tag.databases
        return {
            f"{databases[table.database or ''].name}.{table.name}": table
            for table in self._tag.tables.values()
        }

    def _gone(self, identifier: Identifier) -> Refused:
        return Refused(
            f"The state of {identifier.table_name} at catalog tag {self._tag.name!r} is gone: the "
            "table or its tag was removed. Nothing was changed. Read another state, or put the "
            "folder back from a copy.",
            kind=ErrorKind.FILES_MISSING,
            table=identifier.table_name,
            tag=self._tag.name,
        )
