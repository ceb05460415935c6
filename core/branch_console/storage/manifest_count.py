"""How many manifests a decision has read, for those who wait for it.

Whoever begins a decision follows it by a context variable, which the threads that read for it
share: no function in between has to pass it on.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final


class _Count:
    """Counts each manifest once, however often and by how many threads it is read."""

    def __init__(self, report: Callable[[int, int], None]) -> None:
        self._report = report
        self._wanted, self._unread = set[str](), set[str]()
        self._lock = threading.Lock()

    def want(self, paths: Sequence[str]) -> None:
        with self._lock:
            self._unread.update(path for path in paths if path not in self._wanted)
            self._wanted.update(paths)
            self._tell()

    def note_read(self, path: str) -> None:
        with self._lock:
            if path in self._unread:
                self._unread.remove(path)
                self._tell()

    def _tell(self) -> None:
        self._report(len(self._wanted) - len(self._unread), len(self._wanted))


_COUNT: Final[ContextVar[_Count | None]] = ContextVar("manifest_count", default=None)


@contextmanager
def counting_manifests(report: Callable[[int, int], None]) -> Iterator[None]:
    """Report the manifests that are read while the block runs, by this thread and its helpers.

    Args:
        report: Called at each change with how many are read, of how many that are known to be
            needed so far. One call follows the other, whatever their thread.
    """
    token = _COUNT.set(_Count(report))
    try:
        yield
    finally:
        _COUNT.reset(token)


def want_manifests(paths: Sequence[str]) -> None:
    """Count manifests that are about to be read."""
    count = _COUNT.get()
    if count is not None:
        count.want(paths)


def note_read(path: str) -> None:
    """Count a file as read if it is a manifest that is wanted."""
    count = _COUNT.get()
    if count is not None:
        count.note_read(path)
