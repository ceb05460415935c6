"""Local files that may be opened: regular ones, of a size that fits, inside the warehouse.

To open a pipe waits for its writer, to read a device may have no end, and a link may lead to what
the account of the server can read and its users cannot. All this shows before a file is opened.
"""

import os
import stat
from typing import Final

from branch_console.errors import FormatError
from branch_console.format.bounds import MOST_FILE_BYTES

_READ_BYTES: Final = 1 << 20
_KINDS: Final = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def check_regular(path: str, root: str) -> None:
    """Refuse to open what is no regular file.

    Args:
        path: The path.
        root: The warehouse; a link below it may not lead out of it.

    Raises:
        FileNotFoundError: There is nothing.
        FormatError: It is something else than a file, or a link that leads out.
    """
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        found = _behind_link(path, root)
    if not stat.S_ISREG(found.st_mode):
        raise _no_file(path, found)


def open_regular(path: str, root: str) -> int:
    """Open a regular file to read it; returns the descriptor. Raises as `check_regular`."""
    check_regular(path, root)
    # Somebody may put a pipe there meanwhile, which must not wait for its writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise _no_file(path, found)
    return descriptor


def read_regular(path: str, root: str) -> bytes:
    """Read a regular file whole.

    Raises:
        FileNotFoundError: There is nothing.
        FormatError: It may not be opened, or is too large.
    """
    # Plain system calls: of hundreds of small files, path and file objects are most of the time.
    descriptor = open_regular(path, root)
    try:
        size = os.fstat(descriptor).st_size
        _check_size(path, size)
        data = os.read(descriptor, size + 1)
        if len(data) == size:
            return data
        # It grew or shrank meanwhile, or is more than one call brings.
        parts, total = [data], len(data)
        while parts[-1]:
            parts.append(os.read(descriptor, _READ_BYTES))
            total += len(parts[-1])
            _check_size(path, total)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def _behind_link(path: str, root: str) -> os.stat_result:
    try:
        found = os.stat(path)  # noqa: PTH116  # as below, no path object for each file
    except FileNotFoundError:
        raise
    except OSError as error:
        raise FormatError(
            f"{path} is a link that leads nowhere ({error.strerror}). It was not opened; remove it "
            "or restore the file.",
            path=path,
        ) from error
    home = os.path.realpath(root)
    is_below = path.startswith(f"{root}/")
    if is_below and not os.path.realpath(path).startswith(f"{home}/"):
        raise FormatError(
            f"{path} is a link that leads out of the warehouse. It was not opened; put the file "
            "itself there.",
            path=path,
        )
    return found


def _no_file(path: str, found: os.stat_result) -> FormatError:
    kind = next((name for is_kind, name in _KINDS if is_kind(found.st_mode)), "no regular file")
    return FormatError(
        f"{path} is {kind}, where a file belongs. It was not opened; remove it or restore the "
        "file.",
        path=path,
    )


def _check_size(path: str, size: int) -> None:
    if size > MOST_FILE_BYTES:
        raise FormatError(
            f"{path} has {size:,} bytes or more; {MOST_FILE_BYTES:,} are the most that is read at "
            "once. Restore the file from a copy.",
            path=path,
        )
