"""Waiting for writers that look whether a name is free and then rename over it.

Paimon's own writers do on a local file system: between their look and their rename, a file that
was published in between is replaced. Their finished temporary file lies beside it all that while,
so once none does, whatever could still happen to the name has happened.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from branch_console.storage.file_io import FileReader

_POLL_SECONDS: Final = 0.001
_POLLS: Final = 500
# What a writer that died left behind is nobody's any more.
_LEFT_BEHIND_SECONDS: Final = 30.0


def wait_for_renames(
    files: FileReader, path: str, sleep: Callable[[float], object] = time.sleep
) -> bool:
    """Wait until no writer holds a temporary file that is to become `path`.

    Args:
        files: The store; one that is not local has no such files, and there is nothing to wait for.
        path: A file that was just published.
        sleep: Waits that many seconds.

    Returns:
        False if one was still there after half a second.

    References:
        Paimon FileIO.tryToWriteAtomic, LocalFileIO.rename, Path.createTempPath.
    """
    if not files.is_local:
        return True
    target = Path(files.native_path(path))
    for _ in range(_POLLS):
        if not _is_awaited(target):
            return True
        sleep(_POLL_SECONDS)
    return False


def _is_awaited(target: Path) -> bool:
    try:
        names = os.listdir(target.parent)  # noqa: PTH208 - a name is all that is needed
    except FileNotFoundError:
        return False
    prefix = f".{target.name}."
    return any(_is_fresh(target.with_name(name)) for name in names if name.startswith(prefix))


def _is_fresh(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime < _LEFT_BEHIND_SECONDS
    except FileNotFoundError:
        return False
