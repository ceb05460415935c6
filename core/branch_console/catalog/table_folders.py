"""Where a table of the ledger lies now: in the folder that was noted, or where its birth is."""

from __future__ import annotations

from functools import cached_property

from branch_console.catalog.sightings import birth_of, find_birth
from branch_console.format.catalog.catalog_version import TableChange
from branch_console.storage.catalog_paths import DATABASE_SUFFIX, CatalogPaths
from branch_console.storage.metadata_cache import MetadataReader


class TableFolders:
    """Finds the folders of tables, which another engine may have renamed."""

    def __init__(self, reader: MetadataReader, paths: CatalogPaths, branch: str) -> None:
        """Look for tables by their schemas on main, and on a table branch that has them too."""
        self._reader = reader
        self._paths = paths
        self._branch = branch

    def find(self, table: TableChange) -> str | None:
        """Return the folder of a table below the warehouse, None where it is nowhere, or in two."""
        folder = table.folder or ""
        if self._is_born_there(table, folder):
            return folder
        places = self._by_birth.get(table.birth or "", ())
        return places[0] if len(places) == 1 else None

    def _is_born_there(self, table: TableChange, folder: str) -> bool:
        """Whether the table is in a folder: by what its branch began with, else by main."""
        path = self._paths.folder(folder)
        for place in (f"{path}/branch/branch-{self._branch}", path):
            status = self._reader.files.status(f"{place}/schema/schema-0")
            if status is not None:
                return self._reader.decode(status, birth_of) == table.birth
        return find_birth(self._reader, path) == table.birth

    @cached_property
    def _by_birth(self) -> dict[str, list[str]]:
        """Where tables lie, by the birth of the table of main there and of that of the branch."""
        found: dict[str, list[str]] = {}
        names = self._reader.files.folder_names(self._paths.warehouse)
        for database in (name for name in names if name.endswith(DATABASE_SUFFIX)):
            for table in self._reader.files.folder_names(self._paths.folder(database)):
                folder = f"{database}/{table}"
                path = self._paths.folder(folder)
                places = (path, f"{path}/branch/branch-{self._branch}")
                for birth in {find_birth(self._reader, place) for place in places}:
                    found.setdefault(birth or "", []).append(folder)
        return found
