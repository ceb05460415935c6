"""Removing files, or setting them aside.

Only the packages `commit` and `maintenance` may import this module.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from branch_console.errors import NotFound, StorageError
from branch_console.storage.durable import sync_path
from branch_console.storage.file_io import FileIO
from branch_console.storage.parallel_io import many_side_by_side


class FileRemover:
    """Removes files of a warehouse, never anything outside it."""

    def __init__(self, file_io: FileIO) -> None:
        self._file_io = file_io

    def remove(self, paths: Iterable[str]) -> int:
        """Remove files for good; those that are gone already are no error.

        Every path is checked before the first file goes. On a local store no crash brings them
        back: a snapshot that did come back would stand on top of another history.

        Returns:
            How many were there.

        Raises:
            InvalidInput: A path lies outside the warehouse; nothing was removed.
            StorageError: The store did not answer; what stands before that path is removed.
        """
        doomed = self._checked(paths)
        removed = sum(self._file_io.remove(path) for path in doomed)
        self._sync_folders_of(doomed)
        return removed

    def remove_together(self, paths: Iterable[str]) -> int:
        """Remove files for good, in any order; where the store failed, any of them may be gone.

        As `remove` otherwise.
        """
        doomed = tuple(paths)
        removed = self.discard(doomed)
        self._sync_folders_of(doomed)
        return removed

    def discard(self, paths: Iterable[str]) -> int:
        """Remove files that nothing refers to, in any order; a crash may well bring them back.

        As `remove` otherwise, without a wait for the disk; where the store did not answer, any of
        them may be removed.
        """
        return sum(many_side_by_side(self._file_io.remove, self._checked(paths)))

    @property
    def moves_freely(self) -> bool:
        """Whether `move` costs no copy, as on a local store; object stores read and write all."""
        return self._file_io.is_local

    def move(self, moves: Iterable[tuple[str, str]], *, for_good: bool = False) -> int:
        """Give files that nothing refers to other names; those that are gone are no error.

        They go in any order, and no two may get one name.

        Args:
            moves: Each file's path, and the one that it gets.
            for_good: Whether no crash gives a file its old name back, for which the disk is waited
                for.

        Returns:
            How many were there.

        Raises:
            InvalidInput: A path lies outside the warehouse; nothing was moved.
            StorageError: The store did not answer; any of them may be moved.
        """
        pairs = tuple(moves)
        self._checked(path for pair in pairs for path in pair)
        for folder in dict.fromkeys(path.rpartition("/")[0] for _, path in pairs):
            self._file_io.make_directory(folder)
        moved = sum(many_side_by_side(lambda pair: self._has_moved(*pair), pairs))
        if for_good:
            self._sync_folders_of(path for _, path in pairs)
        return moved

    def remove_empty_directories(self, paths: Iterable[str]) -> int:
        """Remove those of the directories that hold nothing, in the order given, for good."""
        doomed = tuple(paths)
        removed = sum(self._file_io.remove_empty_directory(path) for path in doomed)
        self._sync_folders_of(doomed)
        return removed

    def _checked(self, paths: Iterable[str]) -> tuple[str, ...]:
        checked = tuple(paths)
        for path in checked:
            self._file_io.check_inside(path)
        return checked

    def _has_moved(self, from_path: str, to_path: str) -> bool:
        try:
            self._file_io.rename(from_path, to_path)
        except NotFound:
            return False
        return True

    def _sync_folders_of(self, paths: Iterable[str]) -> None:
        if not self._file_io.is_local:
            return
        folders = dict.fromkeys(Path(self._file_io.native_path(path)).parent for path in paths)
        for folder in folders:
            try:
                sync_path(folder)
            except FileNotFoundError:
                continue  # it went too
            except OSError as error:
                raise StorageError(
                    f"Files of {folder} were removed, but whether a crash brings them back is not "
                    f"known: {error}. Try again.",
                    path=str(folder),
                ) from error
