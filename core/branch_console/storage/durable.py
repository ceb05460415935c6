"""The calls by which files and names on a local file system outlive a crash of the machine.

A file is durable once it is synced, its name once the folder that holds the name is. Every local
change that a commit relies on goes through these few functions. A sync waits for the disk, and many
at once are one wait: the file system writes its journal once for all of them. From a few files on
they are synced with all of their file system, where that is sooner.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Final

from branch_console.errors import StorageError
from branch_console.storage import file_system

_PARALLEL_SYNCS: Final = 16
_OPEN_AT_ONCE: Final = 128
MANY: Final = 8
"""So many new files are synced with their file system, where that suits them."""


def write_synced(path: Path, data: bytes) -> None:
    """Write a new file down to the disk; its name is durable when its folder is synced."""
    write_all([(path, data)])


def write_unsynced(path: str | Path, data: bytes) -> None:
    """Write a new file that a crash of the machine may take."""
    descriptor = _create(path)
    try:
        _fill(descriptor, data)
    finally:
        os.close(descriptor)


def write_all(files: Sequence[tuple[str | Path, bytes]], folders: Iterable[Path] = ()) -> None:
    """Write new files, and bring them and the names in some folders down to the disk.

    Raises:
        FileExistsError: One of the files is there already; others are written.
        OSError: Some are written, perhaps in part.
    """
    folders = list(folders)
    if len(files) >= MANY:
        holders = dict.fromkeys(map(str, [*folders, *folders_of(path for path, _ in files)]))
        if file_system.suits_one_sync(holders):
            _write_with_file_system(files, next(iter(holders)))
            return
    for start in range(0, max(len(files), 1), _OPEN_AT_ONCE):
        is_last = start + _OPEN_AT_ONCE >= len(files)
        _write_some(files[start : start + _OPEN_AT_ONCE], folders if is_last else ())


def sync_path(path: Path) -> None:
    """Bring what was written to a file, or the names in a folder, down to the disk."""
    sync_paths([path])


def sync_paths(paths: Iterable[Path]) -> None:
    """Bring what was written to files, or the names in folders, down to the disk."""
    write_all((), paths)


def folders_of(paths: Iterable[str | Path]) -> list[Path]:
    """The folders that hold some paths, each once."""
    return [
        Path(folder) for folder in dict.fromkeys(str(path).rpartition("/")[0] for path in paths)
    ]


def make_directory(folder: Path) -> None:
    """Make a folder and those above it, each of them synced into the one that holds it.

    Raises:
        StorageError: A folder cannot be made.
    """
    sync_paths(make_directories([folder]))


def make_directories(folders: Iterable[Path]) -> list[Path]:
    """Make folders and those above them.

    Returns:
        The folders that hold a new one, whose names are durable once these are synced.

    Raises:
        StorageError: A folder cannot be made.
    """
    missing: dict[Path, None] = {}
    for folder in folders:
        above, chain = folder, []
        while above not in missing and not above.exists():
            chain.append(above)
            above = above.parent
        missing |= dict.fromkeys(reversed(chain))
    for each in missing:
        try:
            each.mkdir(exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"{each} cannot be made: {error}. Nothing was published.", path=str(each)
            ) from error
    return list(dict.fromkeys(each.parent for each in missing))


def _write_with_file_system(files: Sequence[tuple[str | Path, bytes]], holder: str) -> None:
    watched = os.open(holder, os.O_RDONLY)
    try:
        # In one thread: new names wait for their folder, and two would only wait for each other.
        for path, data in files:
            write_unsynced(path, data)
        file_system.sync_file_system(watched)
    finally:
        os.close(watched)


def _create(path: str | Path) -> int:
    # Plain system calls: with many small files Python's file objects cost more than disk.
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)


def _fill(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _write_some(files: Sequence[tuple[str | Path, bytes]], folders: Iterable[Path]) -> None:
    descriptors: list[int] = []
    try:
        for path, data in files:
            descriptors.append(_create(path))
            _fill(descriptors[-1], data)
        descriptors.extend(os.open(folder, os.O_RDONLY) for folder in folders)
        _sync_side_by_side(descriptors)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _sync_side_by_side(descriptors: Sequence[int]) -> None:
    first, *others = (descriptors[start::_PARALLEL_SYNCS] for start in range(_PARALLEL_SYNCS))
    started = [_threads().submit(_sync_share, share) for share in others if share]
    try:
        _sync_share(first)
    finally:
        wait(started)  # nothing may be closed before all of them are through
    for each in started:
        each.result()


def _sync_share(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.fsync(descriptor)


@functools.cache
def _threads() -> ThreadPoolExecutor:
    # They stay: starting a thread takes about as long as a sync.
    return ThreadPoolExecutor(_PARALLEL_SYNCS, thread_name_prefix="sync")


# Threads do not come along into a forked process.
os.register_at_fork(after_in_child=_threads.cache_clear)
