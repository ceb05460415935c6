"""The current folders of the ledger's tables: the recorded folder, or the one with their birth."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from branch_console.catalog.sightings import birth_of, find_birth
from branch_console.format.catalog.catalog_version import TableChange
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.storage.catalog_paths import DATABASE_SUFFIX, CatalogPaths
from branch_console.storage.metadata_cache import MetadataReader
from branch_console.storage.table_paths import BASE_TAG_PREFIX, SCHEMA_PREFIX
from branch_console.table.file_store_table import FileStoreTable
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

    def __init__(
        self,
        reader: MetadataReader,
        paths: CatalogPaths,
        branch: str,
        twins: Collection[str] = (),
    ) -> None:
        """Look for tables by their schemas on main, and on table branches that have them too.

        Args:
            reader: The metadata of the warehouse.
            paths: Its paths.
            branch: The name of the table branches.
            twins: The births that several tables share, which were made at the same moment.
        """
        self._reader = reader
        self._paths = paths
        self._branch = branch
        self._twins = twins

    def find(
        self, table: TableChange, folder_on_main: Callable[[], str | None] = lambda: None
    ) -> FoundFolder | None:
        """Return the folder of a table, None if it is nowhere, or may be in two places.

        Args:
            table: The table.
            folder_on_main: Asked where its birth does not tell it from another table: the folder
                that main has noted of it.
        """
        folder = table.folder or ""
        found = self._find_in(folder, table)
        is_twin = table.birth in self._twins
        if found is not None and (not is_twin or self._holds_base(folder, table)):
            return found
        places = self._places_of(table)
        if len(places) > 1:
            held = [each for each in places if self._holds_base(each, table)]
            if len(held) != 1:
                noted = folder_on_main()
                held = [each for each in places if each == noted]
            places = held
        return self._find_in(places[0], table) if len(places) == 1 else found

    def _holds_base(self, folder: str, table: TableChange) -> bool:
        """Whether the snapshot that the branch began at is in a folder: by its tag, or by itself.

        The branch keeps it where main has dropped the table.
        """
        if table.head is None:
            return False
        head, name = table.head.identity, table.base_tag or f"{BASE_TAG_PREFIX}{self._branch}"
        path = self._paths.folder(folder)
        any_name = Identifier(database="any", table="any")
        opened = FileStoreTable(self._reader, path, any_name.on_branch(table.source or MAIN_BRANCH))
        kept = (each.tags.find(name) for each in (opened, opened.on(self._branch)))
        if any(tag is not None and tag.snapshot.identity.same_as(head) for tag in kept):
            return True
        snapshot = opened.snapshots.find(table.head.id)
        return snapshot is not None and snapshot.identity.same_as(head)

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
        if not self._reader.files.is_local:
            # The listing tells all, and whoever reads the table needs it as well.
            return find_birth(self._reader, place) == table.birth
        # By name first: a listing of each of ten thousand tables takes a second.
        status = self._reader.files.status(f"{place}/schema/schema-0")
        if status is not None:
            return self._reader.decode(status, birth_of) == table.birth
        return self._reader.files.exists(place) and find_birth(self._reader, place) == table.birth

    def _branch_in(self, folder: str, branch: str | None = None) -> str:
        return f"{self._paths.folder(folder)}/branch/branch-{branch or self._branch}"

    def _origins_in(self, folder: str, table: TableChange) -> Iterator[str]:
        """Yield the places that may have the schemas of a table that is not made yet."""
        yield self._paths.folder(folder)
        if table.source is not None:
            yield self._branch_in(folder, table.source)

    def _places_of(self, table: TableChange) -> list[str]:
        """Return the folders of a birth: on main, on the branch, or on the branch it came from."""
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
        """The folders of tables, by the birth of the table on main and on the branch."""
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
