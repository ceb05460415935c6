"""Where a table of the ledger lies now: in the folder that was noted, or where its birth is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from branch_console.catalog.sightings import birth_of, find_birth
from branch_console.format.catalog.catalog_version import TableChange
from branch_console.storage.catalog_paths import DATABASE_SUFFIX, CatalogPaths
from branch_console.storage.metadata_cache import MetadataReader
from branch_console.storage.table_paths import SCHEMA_PREFIX
from branch_console.table.versioned_files import list_numbered


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFolder:
    """The folder of a table, below the warehouse, and whether the table branch is there.

    Attributes:
        is_taken: Whether a branch of that name is there, but of another table: one that had the
            folder before, and that somebody dropped.
    """

    folder: str
    has_branch: bool
    is_taken: bool = False


class TableFolders:
    """Finds the folders of tables, which another engine may have renamed."""

    def __init__(self, reader: MetadataReader, paths: CatalogPaths, branch: str) -> None:
        """Look for tables by their schemas on main, and on table branches that have them too."""
        self._reader = reader
        self._paths = paths
        self._branch = branch

    def find(self, table: TableChange) -> FoundFolder | None:
        """Return the folder of a table, None where it is nowhere, or may be in two places."""
        found = self._find_in(table.folder or "", table)
        if found is not None:
            return found
        places = self._places_of(table)
        return self._find_in(places[0], table) if len(places) == 1 else None

    def _find_in(self, folder: str, table: TableChange) -> FoundFolder | None:
        branch = self._branch_in(folder)
        if self._is_born_at(table, branch):
            return FoundFolder(folder=folder, has_branch=True)
        for origin in self._origins_in(folder, table):
            if self._is_born_at(table, origin):
                is_there = self._reader.files.exists(branch)
                is_its_own = is_there and self._is_branch_of(origin, branch)
                return FoundFolder(
                    folder=folder, has_branch=is_its_own, is_taken=is_there and not is_its_own
                )
        return None

    def _is_branch_of(self, origin: str, branch: str) -> bool:
        """Whether a branch began with a schema of the table; older engines copy the newest alone.

        One that has no schema yet is being made.
        """
        began = list_numbered(self._reader, f"{branch}/schema", SCHEMA_PREFIX)
        if not began:
            return True
        oldest = self._reader.files.find(f"{origin}/schema/{SCHEMA_PREFIX}{min(began)}")
        return oldest is not None and self._reader.decode(began[min(began)], birth_of) == birth_of(
            oldest
        )

    def _is_born_at(self, table: TableChange, place: str) -> bool:
        # By name first: a listing of each of ten thousand tables takes a second.
        status = self._reader.files.status(f"{place}/schema/schema-0")
        if status is not None:
            return self._reader.decode(status, birth_of) == table.birth
        return self._reader.files.exists(place) and find_birth(self._reader, place) == table.birth

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
