"""What it takes on a local file system that files and names outlive a crash of the machine.

A file is durable once it is synced, its name once the folder that holds the name is. Every local
change that a commit relies on goes through these few functions.
"""

from __future__ import annotations

import os
from pathlib import Path

from core.errors import StorageError


def write_synced(path: Path, data: bytes) -> None:
    """Write a new file down to the disk; its name is durable when its folder is synced."""
    # Plain system calls: with many small files at once Python's file objects cost more than disk.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_path(path: Path) -> None:
    """Bring what was written to a file, or the names in a folder, down to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directory(folder: Path) -> None:
    """Make a folder and those above it, each of them synced into the one that holds it.

    Raises:
        StorageError: A folder cannot be made.
    """
    missing = []
    above = folder
    while not above.exists():
        missing.append(above)
        above = above.parent
    for each in reversed(missing):
        try:
            each.mkdir(exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"{each} cannot be made: {error}. Nothing was published.", path=str(each)
            ) from error
        sync_path(each.parent)
