"""Where a table of the ledger lies now: in the folder that was noted, or where its birth is."""

from __future__ import annotations

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
        """Look for tables by their schemas on main, and on a table branch that has them too."""
        self._reader = reader
        self._paths = paths
        self._branch = branch

    def find(self, table: TableChange) -> FoundFolder | None:
        """Return the folder of a table, None where it is nowhere, or may be in two places."""
        folder = table.folder or ""
        if self._is_born_at(table, self._branch_in(folder)):
            return FoundFolder(folder=folder, has_branch=True)
        if self._is_born_at(table, self._paths.folder(folder)):
            return FoundFolder(folder=folder, has_branch=self._has_branch(folder))
        places = self._by_birth.get(table.birth or "", ())
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

    def _branch_in(self, folder: str) -> str:
        return f"{self._paths.folder(folder)}/branch/branch-{self._branch}"

    @cached_property
    def _by_birth(self) -> dict[str, list[str]]:
        """Where tables lie, by the birth of the table of main there and of that of the branch."""
        found: dict[str, list[str]] = {}
        names = self._reader.files.folder_names(self._paths.warehouse)
        for database in (name for name in names if name.endswith(DATABASE_SUFFIX)):
            for table in self._reader.files.folder_names(self._paths.folder(database)):
                folder = f"{database}/{table}"
                path = self._paths.folder(folder)
                places = (path, self._branch_in(folder))
                for birth in {find_birth(self._reader, place) for place in places}:
                    found.setdefault(birth or "", []).append(folder)
        return found
