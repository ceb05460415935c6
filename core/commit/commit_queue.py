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
from typing import Final, Protocol, TypeAlias

from core.table.file_store_table import FileStoreTable

_LONGEST_WAIT_SECONDS: Final = 30.0
# Of a turn on a disk and of one on a store far away, which lasts ten times as long.
_POLL_SECONDS: Final = 0.002
_FAR_POLL_SECONDS: Final = 0.02
# Only one waits for the turn itself, and a turn that nobody takes is lost to all.
_POLLS_FOR_TURN: Final = 7


EndTurn: TypeAlias = Callable[[], object]
"""Ends a turn before its time; later calls do nothing."""


class CommitQueue(Protocol):
    """Where a commit waits for its turn."""

    def turn(self) -> AbstractContextManager[EndTurn]:
        """Hold a turn; it may come at once, and it may be granted to several."""


class NoQueue:
    """Everybody at once."""

    @contextlib.contextmanager
    def turn(self) -> Iterator[EndTurn]:
        """Begin at once."""
        yield lambda: None


class DirectoryQueue:
    """Locks of the operating system on two folders, which go with their holder; no file is made.

    Whoever has the gate is next. Without it who commits again and again would take the next turn
    before any other has noticed that it is free. Who waits too long begins without a turn: a
    holder may be stopped, not dead.
    """

    def __init__(
        self,
        directory: Path,
        gate: Path,
        *,
        sleep: Callable[[float], None] = time.sleep,
        poll_seconds: float = _POLL_SECONDS,
    ) -> None:
        self._directory = directory
        self._gate = gate
        self._sleep = sleep
        self._poll_seconds = poll_seconds

    @contextlib.contextmanager
    def turn(self) -> Iterator[EndTurn]:
        """Wait for the turn; a folder or a file system that knows no locks grants it at once."""
        with contextlib.ExitStack() as held:
            with self._locked(self._gate, self._poll_seconds):
                turn_poll_seconds = self._poll_seconds / _POLLS_FOR_TURN
                held.enter_context(self._locked(self._directory, turn_poll_seconds))
            yield held.close

    @contextlib.contextmanager
    def _locked(self, directory: Path, poll_seconds: float) -> Iterator[None]:
        try:
            descriptor = os.open(directory, os.O_RDONLY)
        except OSError:
            yield
            return
        try:
            self._wait(descriptor, poll_seconds)
            yield
        finally:
            os.close(descriptor)

    def _wait(self, descriptor: int, poll_seconds: float) -> None:
        for _ in range(round(_LONGEST_WAIT_SECONDS / poll_seconds)):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._sleep(poll_seconds)
            except OSError:
                return
            else:
                return


def queue_of(table: FileStoreTable) -> CommitQueue:
    """The queue for a branch: at its folders, or for a store far away at some of this machine."""
    files, paths = table.reader.files, table.paths
    if files.is_local:
        turn, gate = (
            Path(files.native_path(each)) for each in (paths.snapshot_dir, paths.schema_dir)
        )
        return DirectoryQueue(turn, gate)
    digest = hashlib.sha256(files.url(paths.snapshot_dir).encode()).hexdigest()
    place = Path(tempfile.gettempdir()) / f"branch-console-queues-{os.getuid()}" / digest[:32]
    with contextlib.suppress(OSError):
        for name in ("turn", "gate"):
            (place / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    return DirectoryQueue(place / "turn", place / "gate", poll_seconds=_FAR_POLL_SECONDS)
