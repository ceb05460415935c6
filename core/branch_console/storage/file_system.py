"""Bringing a whole file system down to the disk at once, where that is sure and soon done.

One call takes as long for hundreds of new files as for a few, while each sync of its own costs a
share of the journal. It also writes what others have left to be written there, so with much of that
it is the longer way.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

# Known to write everything down and to tell of what could not be, as of that release of Linux.
_KINDS: Final = frozenset({"ext4", "xfs"})
_LEAST_RELEASE: Final = (5, 12)
_MOST_WAITING_KIB: Final = 64 << 10
_WAITING: Final = re.compile(r"^(?:Dirty|Writeback): *(\d+) kB$", re.MULTILINE)


def suits_one_sync(folders: Iterable[str]) -> bool:
    """Whether folders are of one file system that is to be synced as a whole now."""
    devices = {os.stat(folder).st_dev for folder in folders}  # noqa: PTH116 - many, and often
    return len(devices) == 1 and _is_known(devices.pop()) and _is_little_waiting()


def sync_file_system(descriptor: int) -> None:
    """Bring all that was written to a file system down to the disk.

    Args:
        descriptor: Something on it that was opened before what is to be synced was written: errors
            since then are told.

    Raises:
        OSError: Something could not be written.
    """
    if ctypes.CDLL(None, use_errno=True).syncfs(descriptor):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@functools.lru_cache(maxsize=64)
def _is_known(device: int) -> bool:
    release = re.match(r"(\d+)\.(\d+)", os.uname().release)
    if release is None or tuple(map(int, release.groups())) < _LEAST_RELEASE:
        return False
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in _read_system_file("/proc/self/mountinfo").splitlines():
        mount, _, kind = line.partition(" - ")
        if mount.split(" ", 3)[2:3] == [wanted]:
            return kind.split(" ", 1)[0] in _KINDS
    return False


def _is_little_waiting() -> bool:
    found = _WAITING.findall(_read_system_file("/proc/meminfo"))
    return len(found) == 2 and sum(map(int, found)) <= _MOST_WAITING_KIB


def _read_system_file(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
