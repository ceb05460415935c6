"""Making files appear: whole, and never in place of another.

A snapshot exists once its file does, so two writers that both believe they made it have lost a
commit. Every publisher here has one outcome more than yes and no: not known.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

from core.errors import ErrorKind, NotAllowed, PaimonError, StorageError
from core.storage.durable import make_directory, sync_path, write_synced
from core.storage.file_io import FileIO, temporary_name, temporary_sibling

_log = logging.getLogger(__name__)
_PARALLEL_SYNCS: Final = 16
# Starting a thread takes about as long as syncing so many small files.
_FILES_PER_THREAD: Final = 4


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

    def publish_in_order(self, files: Sequence[tuple[str, bytes]]) -> list[Published]:
        """Publish files one after the other, up to and with the first that is not WON.

        No file appears before those ahead of it.
        """

    def replace_hint(self, path: str, data: bytes) -> bool:
        """Write a hint over what is there; False if it could not be written, which is no harm."""

    def replace(self, path: str, data: bytes) -> bool:
        """Write for good over what is there, in one step; False if that is not known."""


class LocalPublisher:
    """Publishes on the local file system: a synced temporary file gets its name by `link`.

    `link` refuses a taken name in one step, between processes too (C02), and the name shows a
    finished file from the first moment. The directory is synced before a file counts as published.
    """

    def __init__(self, file_io: FileIO, link: Callable[[Path, Path], None] = os.link) -> None:
        self._file_io = file_io
        self._link = link

    def publish(self, path: str, data: bytes) -> Published:
        """Return WON, LOST (the path was taken) or UNKNOWN (look before trying again)."""
        return self.publish_in_order([(path, data)])[0]

    def publish_in_order(self, files: Sequence[tuple[str, bytes]]) -> list[Published]:
        """Publish files one after the other, up to and with the first that is not WON."""
        for path, _ in files:
            self._file_io.check_inside(path)
        targets = [Path(self._file_io.native_path(path)) for path, _ in files]
        temporaries = [temporary_sibling(target) for target in targets]
        try:
            for folder in dict.fromkeys(target.parent for target in targets):
                make_directory(folder)
            self._write_all(temporaries, [data for _, data in files])
            outcomes = self._link_all(temporaries, targets)
        finally:
            for temporary in temporaries:
                # What is left over is ignored by every reader; the outcome must not depend on it.
                with contextlib.suppress(OSError):
                    temporary.unlink()
        return _sync_directories(targets, outcomes)

    def replace_hint(self, path: str, data: bytes) -> bool:
        """Write a hint over what is there; False if it could not be written, which is no harm."""
        return write_hint(self._file_io, path, data)

    def replace(self, path: str, data: bytes) -> bool:
        """Write for good over what is there, in one step; False if that is not known."""
        self._file_io.check_inside(path)
        target = Path(self._file_io.native_path(path))
        temporary = temporary_sibling(target)
        try:
            write_synced(temporary, data)
            temporary.replace(target)
            sync_path(target.parent)
        except OSError as error:
            _log.warning("%s was not replaced for sure: %s", path, error)
            return False
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()
        return True

    def _write_all(self, temporaries: list[Path], contents: list[bytes]) -> None:
        try:
            files = list(zip(temporaries, contents, strict=True))
            threads = min(_PARALLEL_SYNCS, len(files) // _FILES_PER_THREAD)
            if threads <= 1:
                _write_share(files)
                return
            # Syncs wait for the disk: many at once are one wait. A thread gets its share in one go,
            # as handing over each file costs as much as writing it.
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(_write_share, [files[start::threads] for start in range(threads)]))
        except OSError as error:
            raise StorageError(
                f"{temporaries[0].parent} cannot be written: {error}. Nothing was published.",
                path=str(temporaries[0].parent),
            ) from error

    def _link_all(self, temporaries: list[Path], targets: list[Path]) -> list[Published]:
        outcomes: list[Published] = []
        for temporary, target in zip(temporaries, targets, strict=True):
            outcomes.append(self._link_one(temporary, target))
            if outcomes[-1] is not Published.WON:
                break
        return outcomes

    def _link_one(self, temporary: Path, target: Path) -> Published:
        try:
            self._link(temporary, target)
        except FileExistsError:
            # A repeated request of a network file system may meet its own first success.
            return Published.WON if _has_two_names(temporary) else Published.LOST
        except OSError as error:
            _log.warning("link of %s failed: %s", target, error)
            return Published.WON if _has_two_names(temporary) else _after_failed_link(target, error)
        return Published.WON


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

    def publish_in_order(self, files: Sequence[tuple[str, bytes]]) -> list[Published]:
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
        folder, _, name = path.rpartition("/")
        temporary = f"{folder}/{temporary_name(name)}"
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

    def publish_in_order(self, files: Sequence[tuple[str, bytes]]) -> list[Published]:
        """Publish files one after the other, up to and with the first that is not WON."""
        return in_order(self.publish, files)

    def replace_hint(self, path: str, data: bytes) -> bool:
        """Write a hint over what is there; False if it could not be written, which is no harm."""
        return write_hint(self._file_io, path, data)

    def replace(self, path: str, data: bytes) -> bool:
        """Write for good over what is there, in one step; False if that is not known."""
        return write_hint(self._file_io, path, data)


class RefusingPublisher:
    """Stands in for a store that cannot create a file only where there is none."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def publish(self, path: str, data: bytes) -> Published:
        """Raise NotAllowed."""
        raise NotAllowed(f"{path} was not written: {self.reason}", kind=ErrorKind.STORE_UNSAFE)

    def publish_in_order(self, files: Sequence[tuple[str, bytes]]) -> list[Published]:
        """Raise NotAllowed, unless there is nothing to publish."""
        return [self.publish(path, data) for path, data in files]

    def replace_hint(self, path: str, data: bytes) -> bool:
        """Write nothing."""
        return False

    def replace(self, path: str, data: bytes) -> bool:
        """Write nothing."""
        return False


def _write_share(files: Iterable[tuple[Path, bytes]]) -> None:
    for path, data in files:
        write_synced(path, data)


def publisher_for(file_io: FileIO) -> FilePublisher:
    """The publisher that suits the store; one that refuses where none is safe."""
    if file_io.is_local:
        return LocalPublisher(file_io)
    if file_io.creates_exclusively:
        return ExclusiveCreatePublisher(file_io)
    if file_io.renames_exclusively:
        return RenamePublisher(file_io)
    is_hdfs = file_io.scheme in ("hdfs", "viewfs")
    return RefusingPublisher(
        f"no way is known to create a file on {file_io.scheme}:// without overwriting another. "
        + ("Open it as webhdfs://, or give" if is_hdfs else "Give")
        + " the store option claims=URL of a database that all writers share."
    )


def in_order(
    publish: Callable[[str, bytes], Published], files: Sequence[tuple[str, bytes]]
) -> list[Published]:
    """Publish files one after the other, up to and with the first that is not WON."""
    outcomes: list[Published] = []
    for path, data in files:
        outcomes.append(publish(path, data))
        if outcomes[-1] is not Published.WON:
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


def _has_two_names(temporary: Path) -> bool:
    try:
        return temporary.stat().st_nlink > 1
    except OSError:
        return False


def _after_failed_link(target: Path, error: OSError) -> Published:
    if target.exists():
        return Published.UNKNOWN
    raise StorageError(
        f"{target} was not published: the file system refuses links ({error}). "
        "Use a file system with hard links, or open the warehouse for reading.",
        kind=ErrorKind.STORE_UNSAFE,
        path=str(target),
    ) from error


def _sync_directories(targets: list[Path], outcomes: list[Published]) -> list[Published]:
    won = [target for target, each in zip(targets, outcomes, strict=False) if each == Published.WON]
    try:
        for folder in dict.fromkeys(target.parent for target in won):
            sync_path(folder)
    except OSError as error:
        _log.warning("sync of the folder of %s failed: %s", won[0], error)
        return [Published.UNKNOWN if each is Published.WON else each for each in outcomes]
    return outcomes
