"""Files that are kept beside the jobs: whole or not at all, the newest of them only.

They hold rows of tables, and the jobs what was asked: only their owner may read them.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from uuid import uuid4

from branch_console.errors import StorageError

_FOLDER_MODE: Final = 0o700
_FILE_MODE: Final = 0o600


def make_private_folder(folder: Path) -> None:
    """Make a folder, with those above it, that only its owner may look into.

    One that is there already is closed to others, but none above it.

    Raises:
        OSError: It cannot be made, or others may look into it and it is not ours to close.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        # Another process may make it at the same time.
        each.mkdir(mode=_FOLDER_MODE, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        folder.chmod(_FOLDER_MODE)


def make_private_file(path: Path) -> None:
    """Make an empty file that only its owner may read; one that is there keeps its content."""
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, _FILE_MODE))
    if path.stat().st_mode & 0o077:
        path.chmod(_FILE_MODE)


@contextmanager
def unfinished(path: Path) -> Iterator[Path]:
    """Give the path of a file to write, which takes its place if the block ends well.

    Others may write the same file at the same time: the last one counts.

    Raises:
        StorageError: The disk is full.
    """
    make_private_folder(path.parent)
    draft = path.parent / f"{uuid4().hex}.tmp"
    try:
        # Whoever writes it opens it, and so keeps its mode.
        make_private_file(draft)
        yield draft
        draft.replace(path)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise StorageError(
            f"There is no room left for {path}: the disk is full. No table was changed. Free some "
            "space or choose another state directory, then try again.",
            path=str(path),
        ) from error
    finally:
        draft.unlink(missing_ok=True)


def forget_oldest(folder: Path, pattern: str, kept: int) -> None:
    """Remove the files of a folder but for so many that were made last."""
    newest = sorted(folder.glob(pattern), key=lambda each: -each.stat().st_mtime_ns)
    for old in newest[kept:]:
        old.unlink(missing_ok=True)
