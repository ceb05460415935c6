"""Making files appear: whole, and never in place of another.

A snapshot exists once its file does, so two writers that both believe they made it have lost a
commit. Every publisher here has one outcome more than yes and no: not known.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from itertools import chain, starmap, takewhile
from pathlib import Path
from typing import Final, Protocol

from core.errors import ErrorKind, NotAllowed, PaimonError, StorageError
from core.storage.durable import make_directories, sync_paths, write_all, write_synced
from core.storage.file_io import FileIO, temporary_beside

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


class LocalPublisher:
    """Publishes on the local file system: a synced temporary file gets its name by `link`.

    `link` refuses a taken name in one step, between processes too (C02), and the name shows a
    finished file from the first moment. The directory is synced before a file counts as published.

    Manifests and their lists get their names at once: nobody else makes such a name, and nobody
    looks for it before a snapshot says so. Where files begin with some of these, they are durable,
    names and all, before the first of the others gets its name.
    """

    def __init__(self, file_io: FileIO, link: Callable[[str, str], None] = os.link) -> None:
        self._file_io = file_io
        self._link = link

    def publish(self, path: str, data: bytes) -> Published:
        """Return WON, LOST (the path was taken) or UNKNOWN (look before trying again)."""
        return self.publish_in_order([(path, data)])[0]

    def publish_in_order(
        self, files: Sequence[tuple[str, bytes]], when_named: Callable[[], object] | None = None
    ) -> list[Published]:
        """Publish files one after the other, up to and with the first that is not WON."""
        for path, _ in files:
            self._file_io.check_inside(path)
        # Text, for of hundreds of small files path objects are a fifth of the time.
        targets = [self._file_io.native_path(path) for path, _ in files]
        named = _count_ours_alone(files, targets)
        places = [*targets[:named], *map(temporary_beside, targets[named:])]
        outcomes = [Published.WON] * named
        try:
            self._write_all(places, [data for _, data in files], targets, named)
            outcomes += self._link_all(places[named:], targets[named:])
        finally:
            # What is left over is ignored by every reader; the outcome must not depend on it.
            _unlink(places[named:])
        if when_named is not None and outcomes.count(Published.WON) == len(files):
            when_named()
        return _sync_directories(targets, outcomes, named)

    def replace_hint(self, path: str, data: bytes) -> bool:
        """Write a hint over what is there; False if it could not be written, which is no harm."""
        return write_hint(self._file_io, path, data)

    def replace(self, path: str, data: bytes) -> bool:
        """Write for good over what is there, in one step; False if that is not known."""
        self._file_io.check_inside(path)
        target = self._file_io.native_path(path)
        temporary = Path(temporary_beside(target))
        try:
            write_synced(temporary, data)
            temporary.replace(target)
            sync_paths([temporary.parent])
        except OSError as error:
            _log.warning("%s was not replaced for sure: %s", path, error)
            return False
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()
        return True

    def _write_all(
        self, places: list[str], contents: list[bytes], targets: list[str], named: int
    ) -> None:
        """Write files down to the disk, the first so many of them under the names they keep."""
        holders = make_directories(_folders(targets))
        folders = dict.fromkeys([*holders, *_folders(targets[:named])])
        try:
            write_all(list(zip(places, contents, strict=True)), folders)
        except OSError as error:
            # A file that could not be synced may look whole to who reads it later.
            _unlink(places[:named])
            folder = str(_folders(places)[0])
            raise StorageError(
                f"{folder} cannot be written: {error}. Nothing was published.", path=folder
            ) from error

    def _link_all(self, temporaries: list[str], targets: list[str]) -> list[Published]:
        outcomes: list[Published] = []
        for temporary, target in zip(temporaries, targets, strict=True):
            outcomes.append(self._link_one(temporary, target))
            if outcomes[-1] is not Published.WON:
                break
        return outcomes

    def _link_one(self, temporary: str, target: str) -> Published:
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
    """Stands in for a store that cannot create a file only where there is none."""

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


def _has_two_names(temporary: str) -> bool:
    try:
        return Path(temporary).stat().st_nlink > 1
    except OSError:
        return False


def _after_failed_link(target: str, error: OSError) -> Published:
    if Path(target).exists():
        return Published.UNKNOWN
    raise StorageError(
        f"{target} was not published: the file system refuses links ({error}). "
        "Use a file system with hard links, or open the warehouse for reading.",
        kind=ErrorKind.STORE_UNSAFE,
        path=target,
    ) from error


def _sync_directories(
    targets: list[str], outcomes: list[Published], durable: int
) -> list[Published]:
    """Sync the folders of what was published, but for the first files, which are durable."""
    won = [
        target
        for target, each in zip(targets[durable:], outcomes[durable:], strict=False)
        if each is Published.WON
    ]
    try:
        sync_paths(_folders(won))
    except OSError as error:
        _log.warning("sync of the folder of %s failed: %s", won[0], error)
        unsure = [Published.UNKNOWN if each is Published.WON else each for each in outcomes]
        return [*outcomes[:durable], *unsure[durable:]]
    return outcomes


def _count_ours_alone(files: Sequence[tuple[str, bytes]], targets: list[str]) -> int:
    """How many files the sequence begins with whose names are ours alone, and free."""
    count = 0
    for (path, _), target in zip(files, targets, strict=True):
        if not is_name_unique(path) or Path(target).exists():
            break
        count += 1
    return count


def _folders(paths: Iterable[str]) -> list[Path]:
    """The folders of paths, each once."""
    return [Path(folder) for folder in dict.fromkeys(path.rpartition("/")[0] for path in paths)]


def _unlink(places: list[str]) -> None:
    for place in places:
        with contextlib.suppress(OSError):
            os.unlink(place)  # noqa: PTH108
