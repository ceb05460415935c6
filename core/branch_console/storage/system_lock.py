"""Locks of the operating system on a folder or a file, which end with their process.

Nothing is written: a holder that is killed leaves nothing behind.
"""

import contextlib
import fcntl
import os
import tempfile
import threading
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path


class Hold(StrEnum):
    """How a lock was come by."""

    AT_ONCE = "at once"
    WAITED = "waited"
    NOT = "not"


@contextlib.contextmanager
def locked(path: Path, *, longest_wait_seconds: float) -> Iterator[Hold]:
    """Hold the lock of a folder or a file; one that knows no locks is held at once.

    Args:
        path: The path to lock, also against other threads of this process.
        longest_wait_seconds: How long to wait for who holds it: who is stopped is not dead.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        yield Hold.AT_ONCE
        return
    try:
        if _lock_at_once(descriptor):
            yield Hold.AT_ONCE
            return
        got = threading.Event()
        if longest_wait_seconds > 0:
            # Not by asking again and again: with some that wait, asking would take the
            # processor from whoever has the lock.
            waiter = threading.Thread(target=_lock, args=(os.dup(descriptor), got), daemon=True)
            waiter.start()
            waiter.join(longest_wait_seconds)
        yield Hold.WAITED if got.is_set() else Hold.NOT
    finally:
        os.close(descriptor)


def place_on_this_machine(*names: str) -> Path:
    """The folder of this user whose lock stands for something that lies far away."""
    place = Path(tempfile.gettempdir(), f"branch-console-queues-{os.getuid()}", *names)
    with contextlib.suppress(OSError):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return place


def _lock_at_once(descriptor: int) -> bool:
    """Lock a descriptor; False if another holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _lock(descriptor: int, got: threading.Event) -> None:
    """Wait for the lock, which other descriptors of the same opening share, and go with the last.

    So one that comes too late is nobody's.
    """
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        got.set()
    finally:
        os.close(descriptor)
