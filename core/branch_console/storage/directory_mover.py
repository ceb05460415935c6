"""Giving a whole directory another name in one step, never onto a name that is taken.

`os.rename` will not do: it silently replaces an empty directory, into which another writer may be
about to publish, and looking first leaves a gap. Linux refuses the taken name itself when asked to.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

from branch_console.errors import ErrorKind, InvalidInput, NotFound, StorageError
from branch_console.storage.durable import make_directory, sync_path
from branch_console.storage.file_io import FileIO

_CURRENT_DIRECTORY: Final = -100  # AT_FDCWD
_NO_REPLACE: Final = 1  # RENAME_NOREPLACE
_TAKEN: Final = frozenset({errno.EEXIST, errno.ENOTEMPTY})
# A file system that does not know the flag, a kernel without the call, a folder on another device.
_UNSUPPORTED: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EXDEV})


class MoveOutcome(StrEnum):
    """How a move ended."""

    DONE = "DONE"
    TAKEN = "TAKEN"
    UNSUPPORTED = "UNSUPPORTED"


class DirectoryMover(Protocol):
    """Renames a directory with all it holds."""

    def move(self, from_path: str, to_path: str) -> MoveOutcome:
        """Return DONE, TAKEN (something has that name, be it an empty directory) or UNSUPPORTED.

        Nothing has changed after the last two; after DONE the new name is durable.

        Raises:
            NotFound: There is nothing at `from_path`.
            InvalidInput: A path lies outside the warehouse, or one inside the other.
            StorageError: The file system failed; look at both paths.
        """


class LocalDirectoryMover:
    """Moves by one system call, and syncs the folders that held and hold the name."""

    def __init__(
        self, file_io: FileIO, rename: Callable[[bytes, bytes], int] | None = None
    ) -> None:
        self._file_io = file_io
        self._rename = rename or rename_without_replacing

    def move(self, from_path: str, to_path: str) -> MoveOutcome:
        """Return DONE, TAKEN (something has that name, be it an empty directory) or UNSUPPORTED."""
        for path in (from_path, to_path):
            self._file_io.check_inside(path)
        _check_apart(from_path, to_path)
        source = Path(self._file_io.native_path(from_path))
        target = Path(self._file_io.native_path(to_path))
        make_directory(target.parent)
        code = self._rename(os.fsencode(source), os.fsencode(target))
        if code in _TAKEN:
            return MoveOutcome.TAKEN
        if code in _UNSUPPORTED:
            return MoveOutcome.UNSUPPORTED
        if code == errno.ENOENT:
            raise NotFound(
                f"There is no directory {from_path} to move.",
                kind=ErrorKind.FILE_NOT_FOUND,
                path=from_path,
            )
        try:
            if code:
                raise OSError(code, os.strerror(code))
            for folder in dict.fromkeys((target.parent, source.parent)):
                sync_path(folder)
        except OSError as error:
            raise StorageError(
                f"Whether {from_path} became {to_path} is not known: {error}. Look at both, then "
                "try again.",
                path=from_path,
            ) from error
        return MoveOutcome.DONE


class UnsupportedDirectoryMover:
    """Stands in for a store whose directories are only prefixes of names."""

    def move(self, from_path: str, to_path: str) -> MoveOutcome:
        """Return UNSUPPORTED."""
        return MoveOutcome.UNSUPPORTED


def mover_for(file_io: FileIO) -> DirectoryMover:
    """The mover that suits the store."""
    return LocalDirectoryMover(file_io) if file_io.is_local else UnsupportedDirectoryMover()


def _check_apart(from_path: str, to_path: str) -> None:
    if f"{to_path}/".startswith(f"{from_path}/") or f"{from_path}/".startswith(f"{to_path}/"):
        raise InvalidInput(
            f"{from_path} cannot become {to_path}: one lies in the other. Use another name.",
            kind=ErrorKind.INVALID_NAME,
            path=to_path,
        )


def rename_without_replacing(source: bytes, target: bytes) -> int:
    """Rename unless the target exists; the error number, 0 if it worked."""
    if sys.platform != "linux":
        return errno.ENOSYS
    libc = ctypes.CDLL(None, use_errno=True)
    rename = getattr(libc, "renameat2", None)
    if rename is None:
        return errno.ENOSYS
    ctypes.set_errno(0)
    done = rename(_CURRENT_DIRECTORY, source, _CURRENT_DIRECTORY, target, _NO_REPLACE)
    return 0 if done == 0 else ctypes.get_errno()
