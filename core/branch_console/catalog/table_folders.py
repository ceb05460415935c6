"""Where a table of the ledger lies now: in the folder that was noted, or where its birth is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from branch_console.catalog.sightings import birth_of, find_birth
from branch_console.format.catalog.catalog_version import TableChange
from branch_console.storage.catalog_paths import DATABASE_SUFFIX, CatalogPaths
from branch_console.storage.metadata_cache import MetadataReader


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFolder:
    """The folder of a table, below the warehouse, and whether the table branch is there."""

    folder: str
    has_branch: bool


class TableFolders:
    """Finds the folders of tables, which another engine may have renamed."""

    def __init__(self, reader: MetadataReader, paths: CatalogPaths, branch: str) -> None:
        """Look for tables by their schemas on main, and on table branches that have them too."""
        self._reader = reader
        self._paths = paths
        self._branch = branch

    def find(self, table: TableChange) -> FoundFolder | None:
        """Return the folder of a table, None where it is nowhere, or may be in two places."""
        folder = table.folder or ""
        if self._is_born_at(table, self._branch_in(folder)):
            return FoundFolder(folder=folder, has_branch=True)
        if any(self._is_born_at(table, place) for place in self._origins_in(folder, table)):
            return FoundFolder(folder=folder, has_branch=self._has_branch(folder))
        places = self._places_of(table)
        if len(places) != 1:
            return None
        return FoundFolder(folder=places[0], has_branch=self._has_branch(places[0]))

    def _is_born_at(self, table: TableChange, place: str) -> bool:
        # By name first: a listing of each of ten thousand tables takes a second.
        status = self._reader.files.status(f"{place}/schema/schema-0")
        if status is not None:
            return self._reader.decode(status, birth_of) == table.birth
        return self._reader.files.exists(place) and find_birth(self._reader, place) == table.birth

    def _has_branch(self, folder: str) -> bool:
        return self._reader.files.exists(self._branch_in(folder))

    def _branch_in(self, folder: str, branch: str | None = None) -> str:
        return f"{self._paths.folder(folder)}/branch/branch-{branch or self._branch}"

    def _origins_in(self, folder: str, table: TableChange) -> Iterator[str]:
        """Where the schemas of a table that is not made yet lie: main may have none of it."""
        yield self._paths.folder(folder)
        if table.source is not None:
            yield self._branch_in(folder, table.source)

    def _places_of(self, table: TableChange) -> list[str]:
        """Where tables of a birth lie, on main, on the branch, or on the one that it came from."""
        found = self._by_birth.get(table.birth or "", [])
        if found or table.source is None:
            return found
        return [
            folder
            for folder in self._table_folders
            if find_birth(self._reader, self._branch_in(folder, table.source)) == table.birth
        ]

    @cached_property
    def _by_birth(self) -> dict[str, list[str]]:
        """Where tables lie, by the birth of the table of main there and of that of the branch."""
        found: dict[str, list[str]] = {}
        for folder in self._table_folders:
            places = (self._paths.folder(folder), self._branch_in(folder))
            for birth in {find_birth(self._reader, place) for place in places}:
                found.setdefault(birth or "", []).append(folder)
        return found

    @cached_property
    def _table_folders(self) -> list[str]:
        files = self._reader.files
        names = files.folder_names(self._paths.warehouse)
        return [
            f"{database}/{table}"
            for database in names
            if database.endswith(DATABASE_SUFFIX)
            for table in files.folder_names(self._paths.folder(database))
        ]
