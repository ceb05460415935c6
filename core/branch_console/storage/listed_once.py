"""A store as one plan sees it: each folder is listed once, however often it is asked for."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from branch_console.storage.file_io import FileReader, FileStatus, FolderMark


class ListedOnce:
    """A FileReader that lists each folder once, until `look_anew` is called.

    A decision reads the schemas, tags and snapshots of a branch in many places, and wants one
    answer to all of them. What a file holds, and whether it is there, is asked each time.

    Args:
        files: The store.
        without: The paths of files that are to count as gone already, until `look_anew` is called.
    """

    def __init__(self, files: FileReader, without: Collection[str] = ()) -> None:
        self._files, self._without = files, frozenset(without)
        if isinstance(files, ListedOnce):
            # Who decides on behalf of somebody who has decided before asks the store itself.
            self._files, self._without = files._files, self._without | files._without
        self._is_over = False
        # Threads that ask for a folder at once list it twice, and keep one of the answers.
        self._names: dict[str, Collection[str]] = {}
        self._folders: dict[str, Collection[str]] = {}
        self._children: dict[str, tuple[FileStatus, ...]] = {}

    def look_anew(self) -> None:
        """List again what is asked for from now on: whoever keeps a handle sees what there is."""
        self._is_over = True

    @property
    def is_local(self) -> bool:
        """Whether the operating system can open the paths of this store."""
        return self._files.is_local

    def native_file(self, path: str) -> str:
        """The path of a file as the operating system opens it; raises as the store does."""
        return self._files.native_file(path)

    def native_path(self, path: str) -> str:
        """The path as the operating system takes it; raises as the store does."""
        return self._files.native_path(path)

    def url(self, path: str) -> str:
        """The path with its scheme."""
        return self._files.url(path)

    def path_of(self, location: str) -> str:
        """The path of a URL that metadata holds; raises as the store does."""
        return self._files.path_of(location)

    def read(self, path: str) -> bytes:
        """The whole file; raises as the store does."""
        return self._files.read(path)

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """A part of the file."""
        return self._files.read_range(path, offset, length)

    def read_many(self, paths: Sequence[str]) -> list[bytes]:
        """Whole files in the order of the paths."""
        return self._files.read_many(paths)

    def find(self, path: str) -> bytes | None:
        """The whole file, None if there is none."""
        return None if self._is_hidden(path) else self._files.find(path)

    def exists(self, path: str) -> bool:
        """Whether there is a file or directory of that path, as of now."""
        return not self._is_hidden(path) and self._files.exists(path)

    def status(self, path: str) -> FileStatus | None:
        """Return the status of the path by now, None if there is nothing."""
        return None if self._is_hidden(path) else self._files.status(path)

    def folder_marks(self, paths: Sequence[str]) -> Sequence[FolderMark | None]:
        """The marks of folders, as of now; None for those that were listed before.

        Their listings may be older than their marks, and others would believe them. None for all
        where files count as gone.
        """
        marks = self._files.folder_marks(paths)
        if self._is_over:
            return marks
        return [
            None if self._without or self._is_listed(path) else mark
            for path, mark in zip(paths, marks, strict=True)
        ]

    def names(self, path: str) -> Collection[str]:
        """Their names alone."""
        if self._is_over:
            return self._files.names(path)
        if path in self._children or not self.is_local:
            return [each.name for each in self.list(path)]
        if path not in self._names:
            names = self._files.names(path)
            self._names[path] = tuple(
                each for each in names if f"{path}/{each}" not in self._without
            )
        return self._names[path]

    def folder_names(self, path: str) -> Collection[str]:
        """The names of those that are folders."""
        if self._is_over:
            return self._files.folder_names(path)
        if path in self._children or not self.is_local:
            return [each.name for each in self.list(path) if each.is_directory]
        if path not in self._folders:
            self._folders[path] = tuple(self._files.folder_names(path))
        return self._folders[path]

    def list(self, path: str) -> list[FileStatus]:
        """The direct children by name, as they were when the folder was listed first."""
        if self._is_over:
            return self._files.list(path)
        if path not in self._children:
            names = self._names.get(path)
            # On this machine the names are the listing, and each is asked about on its own.
            found = (
                self._files.list(path)
                if names is None
                else filter(None, (self.status(f"{path}/{each}") for each in sorted(names)))
            )
            self._children[path] = tuple(
                each for each in found if f"{path}/{each.name}" not in self._without
            )
        return [*self._children[path]]

    def _is_hidden(self, path: str) -> bool:
        return not self._is_over and path in self._without

    def _is_listed(self, path: str) -> bool:
        return path in self._children or path in self._names or path in self._folders
