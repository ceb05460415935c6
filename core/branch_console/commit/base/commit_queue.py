"""Processes of ours on one machine commit to a branch one after the other.

Only a courtesy that saves lost tries: what keeps commits apart is that a snapshot is never
published over another, which does not ask who queued.
"""

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from branch_console.storage.system_lock import Hold, locked, place_on_this_machine
from branch_console.table.file_store_table import FileStoreTable

_LONGEST_WAIT_SECONDS: Final = 30.0

EndTurn: TypeAlias = Callable[[], object]
"""Ends a turn before its time; later calls do nothing."""


class CommitQueue(Protocol):
    """The queue in which a commit waits for its turn."""

    def turn(self) -> AbstractContextManager[EndTurn]:
        """Hold a turn; it may be granted at once, and to several commits."""


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
        self, directory: Path, gate: Path, *, longest_wait_seconds: float = _LONGEST_WAIT_SECONDS
    ) -> None:
        self._directory = directory
        self._gate = gate
        self._longest_wait_seconds = longest_wait_seconds

    @contextlib.contextmanager
    def turn(self) -> Iterator[EndTurn]:
        """Wait for the turn; a folder or a file system that knows no locks grants it at once."""
        with contextlib.ExitStack() as held:
            with self._locked(self._gate):
                held.enter_context(self._locked(self._directory))
            yield held.close

    def _locked(self, directory: Path) -> AbstractContextManager[Hold]:
        return locked(directory, longest_wait_seconds=self._longest_wait_seconds)


def queue_of(table: FileStoreTable) -> CommitQueue:
    """The queue for a branch: at its folders, or for a store far away at some of this machine."""
    files, paths = table.reader.files, table.paths
    if files.is_local:
        turn, gate = (
            Path(files.native_path(each)) for each in (paths.snapshot_dir, paths.schema_dir)
        )
        return DirectoryQueue(turn, gate)
    digest = hashlib.sha256(files.url(paths.snapshot_dir).encode()).hexdigest()[:32]
    turn, gate = (place_on_this_machine(digest, name) for name in ("turn", "gate"))
    return DirectoryQueue(turn, gate)
