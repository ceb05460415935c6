"""The trash of a table: where files that nothing names wait before they go for good.

A list says durably what an operation put there before it moves the first file, so that whoever
goes on after a crash, brings the files back or empties the trash needs no listing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.metadata_copy import publish_once
from branch_console.maintenance.kept_list import decode_list, encode_list
from branch_console.table.file_store_table import FileStoreTable

_LIST: Final = ".arrow"
_AT_ONCE: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Trash:
    """The files that one operation put into the trash of a table.

    Attributes:
        table: The table on any branch.
        store: Its store.
        operation_id: The operation.
    """

    table: FileStoreTable
    store: CommitStore
    operation_id: str

    def find(self) -> pa.Table | None:
        """Return the files that the operation noted, with columns of RELEASED_FILES, or None.

        Raises:
            FormatError: The list is cut off.
        """
        found = self.store.files.find(self._list)
        return None if found is None else decode_list(self.table, self._list, found)

    def note(self, files: pa.Table) -> None:
        """Note durably which files the operation is about to put there; what it noted first stands.

        Args:
            files: Columns of RELEASED_FILES.
        """
        publish_once(self.store, self._list, encode_list(self.table, files))

    def put(self, paths: Sequence[str]) -> int:
        """Move files there that were noted; return how many were where they lay."""
        return self.store.remover.move([(path, self._place(path)) for path in paths])

    def bring_back(self) -> None:
        """Move the files back to where they lay; one whose name is taken by now goes for good."""
        for paths in self._portions():
            free = [path for path in paths if not self.store.files.exists(path)]
            # The list goes next: what a crash put into the trash again nobody would find there.
            self.store.remover.move([(self._place(path), path) for path in free], for_good=True)
            self.store.remover.discard(map(self._place, paths))
        self._forget()

    def empty(self) -> int:
        """Remove the files for good; return how many were there."""
        removed = sum(
            self.store.remover.discard(map(self._place, paths)) for paths in self._portions()
        )
        self._forget()
        return removed

    def holds(self, path: str) -> str | None:
        """Return where a file of the table lies in this trash; None if it is not there.

        Asked by its name, so that the list need not be readable.
        """
        place = self._place(path)
        return place if self.store.files.exists(place) else None

    @property
    def _list(self) -> str:
        return f"{self.folder}{_LIST}"

    @property
    def folder(self) -> str:
        """The folder of its files: each lies there at its path below the table."""
        return f"{self.table.paths.trash_dir}/{self.operation_id}"

    def _place(self, path: str) -> str:
        return f"{self.folder}/{path.removeprefix(self.table.paths.table).lstrip('/')}"

    def _portions(self) -> Sequence[Sequence[str]]:
        files = self.find()
        paths = [] if files is None else files["path"].to_pylist()
        return [paths[first : first + _AT_ONCE] for first in range(0, len(paths), _AT_ONCE)]

    def _forget(self) -> None:
        """Remove the list, once all that it names is moved or gone, and the folders above that."""
        places = (self._place(path) for paths in self._portions() for path in paths)
        above = {
            folder for place in places for folder in _folders_above(place) if self._holds(folder)
        }
        deepest_first = sorted(above, key=len, reverse=True)
        self.store.remover.remove([self._list])
        above_all = self.table.paths.trash_dir
        self.store.remover.remove_empty_directories([*deepest_first, above_all])

    def _holds(self, folder: str) -> bool:
        return f"{folder}/".startswith(f"{self.folder}/")


def has_trash(store: CommitStore) -> bool:
    """Whether a store has a trash: to rename a file there costs nothing, as nothing is copied."""
    return store.remover.moves_freely


def trash_operations(table: FileStoreTable) -> tuple[str, ...]:
    """Return the operations that have put files into the trash of a table."""
    names = table.reader.files.names(table.paths.trash_dir)
    return tuple(sorted(each.removesuffix(_LIST) for each in names if each.endswith(_LIST)))


def _folders_above(path: str) -> Sequence[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(len(parts) - 1, 0, -1)]
