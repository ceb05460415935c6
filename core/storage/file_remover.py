"""Removing files. Only `core.commit` and `core.maintenance` may import this module."""

from __future__ import annotations

from collections.abc import Iterable

from core.storage.file_io import FileIO


class FileRemover:
    """Removes files of a warehouse, never anything outside it."""

    def __init__(self, file_io: FileIO) -> None:
        self._file_io = file_io

    def remove(self, paths: Iterable[str]) -> int:
        """Remove files; those that are gone already are no error.

        Every path is checked before the first file goes.

        Returns:
            How many were there.

        Raises:
            InvalidInput: A path lies outside the warehouse; nothing was removed.
            StorageError: The store did not answer; what stands before that path is removed.
        """
        doomed = tuple(paths)
        for path in doomed:
            self._file_io.check_inside(path)
        return sum(self._file_io.remove(path) for path in doomed)

    def remove_empty_directories(self, paths: Iterable[str]) -> int:
        """Remove those of the directories that hold nothing, in the order given."""
        return sum(self._file_io.remove_empty_directory(path) for path in paths)
