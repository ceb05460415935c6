"""Making files appear: whole, and never in place of another.

A snapshot exists once its file does, so two writers that both believe they made it have lost a
commit. Every publisher here has one outcome more than yes and no: not known.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from itertools import chain, starmap, takewhile
from typing import Final, Protocol

from branch_console.errors import ErrorKind, NotAllowed, PaimonError, StorageError
from branch_console.storage.file_io import FileIO, temporary_beside

_log = logging.getLogger(__name__)
_PARALLEL_WRITES: Final = 16
_UNIQUE: Final = re.compile(r"/manifest/(index-)?manifest(-list)?-[0-9a-f]{8}(-[0-9a-f]{4}){3}-")


class Published(StrEnum):
    """How a publish ended."""

    WON = "WON"
    LOST = "LOST"
    UNKNOWN = "UNKNOWN"


class FilePublisher(Protocol):
    """Makes a file appear whole, and never in place of another."""

    def publish(self, path: str, data: bytes) -> Published:
        """Return WON, LOST (the path was taken) or UNKNOWN (look before trying again).

        Raises:
            StorageError: Nothing was published, and trying again as is will not help.
            NotAllowed: The store cannot publish safely.
        """

    def publish_in_order(
        self, files: Sequence[tuple[str, bytes]], when_named: Callable[[], object] | None = None
    ) -> list[Published]:
        """Publish files one after the other, up to and with the first that is not WON.

        No file appears before those ahead of it, but for those at the beginning whose names are
        ours alone (`is_name_unique`): they come in any order, and some that are not told of may be
        there too. `when_named` may be called once all of them can be
        seen, before they are durable: others need not wait for the disk too.
        """

    def replace_hint(self, path: str, data: bytes) -> bool:
        """Write a hint over what is there; False if it could not be written, which is no harm."""

    def replace(self, path: str, data: bytes) -> bool:
        """Write for good over what is there, in one step; False if that is not known."""


class ExclusiveCreatePublisher:
    """Publishes by one request that the store refuses when the name is taken.

    Object stores: a conditional put; memory: a lock of the process.
    """

    def __init__(self, file_io: FileIO) -> None:
        self._file_io = file_io

    def publish(self, path: str, data: bytes) -> Published:
        """Return WON, LOST (the path was taken) or UNKNOWN (look before trying again)."""
        try:
            self._file_io.create(path, data)
        except FileExistsError:
            return Published.LOST
        except PaimonError:
            raise
        except Exception as error:  # a store's package raises its own classes
            # The request may have arrived although its answer did not.
            _log.warning("publish of %s: outcome unknown: %s", path, error)
            return Published.UNKNOWN
        return Published.WON

    def publish_in_order(
        self, files: Sequence[tuple[str, bytes]], when_named: Callable[[], object] | None = None
    ) -> list[Published]:
        """Publish files one after the other, up to and with the first that is not WON."""
        return in_order(self.publish, files)

    def replace_hint(self, path: str, data: bytes) -> bool:
        """Write a hint over what is there; False if it could not be written, which is no harm."""
        return write_hint(self._file_io, path, data)

    def replace(self, path: str, data: bytes) -> bool:
        """Write for good over what is there, in one step; False if that is not known."""
        return write_hint(self._file_io, path, data)


class RenamePublisher:
    """Publishes by renaming a finished file, on a store whose rename refuses a taken name.

    What the store answers to the rename is not asked: WebHDFS says yes and no in a body that its
    client drops. The finished file tells, as its name is ours alone: it is gone once it moved.
    """

    def __init__(self, file_io: FileIO) -> None:
        self._file_io = file_io

    def publish(self, path: str, data: bytes) -> Published:
        """Return WON, LOST (the path was taken) or UNKNOWN (look before trying again)."""
        temporary = temporary_beside(path)
        self._file_io.replace(temporary, data)
        try:
            self._file_io.rename(temporary, path)
        except PaimonError as error:
            _log.warning("rename to %s failed: %s", path, error)
        try:
            if not self._file_io.exists(temporary):
                return Published.WON if self._file_io.exists(path) else Published.UNKNOWN
            outcome = Published.LOST if self._file_io.exists(path) else Published.UNKNOWN
            # A rename that is still on its way finds nothing to move any more.
            self._file_io.remove(temporary)
        except StorageError as error:
            _log.warning("publish of %s: outcome unknown: %s", path, error)
            return Published.UNKNOWN
        return outcome

    def publish_in_order(
        self, files: Sequence[tuple[str, bytes]], when_named: Callable[[], object] | None = None
    ) -> list[Published]:
        """Publish files one after the other, up to and with the first that is not WON."""
        return in_order(self.publish, files)

    def replace_hint(self, path: str, data: bytes) -> bool:
        """Write a hint over what is there; False if it could not be written, which is no harm."""
        return write_hint(self._file_io, path, data)

    def replace(self, path: str, data: bytes) -> bool:
        """Write for good over what is there, in one step; False if that is not known."""
        return write_hint(self._file_io, path, data)


class RefusingPublisher:
    """Stands in for a store that cannot create a file only if there is none."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def publish(self, path: str, data: bytes) -> Published:
        """Raise NotAllowed."""
        raise NotAllowed(f"{path} was not written: {self.reason}", kind=ErrorKind.STORE_UNSAFE)

    def publish_in_order(
        self, files: Sequence[tuple[str, bytes]], when_named: Callable[[], object] | None = None
    ) -> list[Published]:
        """Raise NotAllowed, unless there is nothing to publish."""
        return [self.publish(path, data) for path, data in files]

    def replace_hint(self, path: str, data: bytes) -> bool:
        """Write nothing."""
        return False

    def replace(self, path: str, data: bytes) -> bool:
        """Write nothing."""
        return False


def is_name_unique(path: str) -> bool:
    """Whether nobody else makes a file of that name, and so nobody looks for it unasked."""
    return _UNIQUE.search(path) is not None


def in_order(
    publish: Callable[[str, bytes], Published], files: Sequence[tuple[str, bytes]]
) -> list[Published]:
    """Publish files one after the other, up to and with the first that is not WON.

    Those at the beginning whose names are ours alone go side by side: nobody looks for them before
    a later one names them, and a store far away takes as long for all as for one.
    """
    ours_alone = list(takewhile(lambda each: is_name_unique(each[0]), files))
    side_by_side: list[Published] = []
    if len(ours_alone) > 1:
        with ThreadPoolExecutor(min(_PARALLEL_WRITES, len(ours_alone))) as pool:
            side_by_side += pool.map(publish, *zip(*ours_alone, strict=True))
    outcomes: list[Published] = []
    for each in chain(side_by_side, starmap(publish, files[len(side_by_side) :])):
        outcomes.append(each)
        if each is not Published.WON:
            break
    return outcomes


def write_hint(file_io: FileIO, path: str, data: bytes) -> bool:
    """Write a hint over what is there; False if it could not be written."""
    try:
        file_io.replace(path, data)
    except StorageError as error:
        _log.warning("hint %s was not written: %s", path, error)
        return False
    return True
