"""Processes of ours on one machine commit to a branch one after the other.

Only a courtesy that saves lost tries: what keeps commits apart is that a snapshot is never
published over another, which does not ask who queued.
"""

import contextlib
import fcntl
import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol

from core.table.file_store_table import FileStoreTable

_LONGEST_WAIT_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.002


class CommitQueue(Protocol):
    """Where a commit waits for its turn."""

    def turn(self) -> AbstractContextManager[None]:
        """Hold a turn; it may come at once, and it may be granted to several."""


class NoQueue:
    """Everybody at once."""

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Begin at once."""
        yield


class DirectoryQueue:
    """A lock of the operating system on the folder of the snapshots, which goes with its holder.

    It makes no file. Who waits too long begins without it: a holder may be stopped, not dead.
    """

    def __init__(self, directory: Path, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._directory = directory
        self._sleep = sleep

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for the turn; a folder or a file system that knows no locks grants it at once."""
        try:
            descriptor = os.open(self._directory, os.O_RDONLY)
        except OSError:
            yield
            return
        try:
            self._wait(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _wait(self, descriptor: int) -> None:
        for _ in range(round(_LONGEST_WAIT_SECONDS / _POLL_SECONDS)):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._sleep(_POLL_SECONDS)
            except OSError:
                return
            else:
                return


def queue_of(table: FileStoreTable) -> CommitQueue:
    """The queue for a branch: at its folder, or for a store far away at one of this machine."""
    files, folder = table.reader.files, table.paths.snapshot_dir
    if files.is_local:
        return DirectoryQueue(Path(files.native_path(folder)))
    digest = hashlib.sha256(files.url(folder).encode()).hexdigest()
    place = Path(tempfile.gettempdir()) / f"branch-console-queues-{os.getuid()}" / digest[:32]
    with contextlib.suppress(OSError):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return DirectoryQueue(place)
