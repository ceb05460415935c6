"""Publishing on the local file system: files, and new folders with all that is in them."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from branch_console.errors import ErrorKind, StorageError
from branch_console.storage.directory_mover import rename_without_replacing
from branch_console.storage.durable import (
    folders_of,
    make_directories,
    sync_paths,
    write_all,
    write_synced,
    write_unsynced,
)
from branch_console.storage.file_io import FileIO, temporaries_beside, temporary_beside
from branch_console.storage.file_publisher import Published, is_name_unique

_log = logging.getLogger(__name__)


class LocalPublisher:
    """Publishes on the local file system: a synced temporary file gets its name by `link`.

    `link` refuses a taken name in one step, between processes too (C02), and the name shows a
    finished file from the first moment. The directory is synced before a file counts as published.

    Manifests and their lists get their names at once: nobody else makes such a name, and nobody
    looks for it before a snapshot says so. Where files begin with some of these, they are durable,
    names and all, before the first of the others gets its name.

    Where the last files need a folder that is not there, as those of a new branch do, they are
    written into one beside it, which then takes its name with all of them at once: nobody sees a
    part of them. Where somebody else makes that folder meanwhile, they are linked one by one.
    """

    def __init__(
        self,
        file_io: FileIO,
        link: Callable[[str, str], None] = os.link,
        rename: Callable[[bytes, bytes], int] = rename_without_replacing,
    ) -> None:
        self._file_io = file_io
        self._link = link
        self._rename = rename

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
        layout = _Layout.of([self._file_io.native_path(path) for path, _ in files])
        outcomes = [Published.WON] * len(layout.named)
        try:
            _write_down(layout, [data for _, data in files])
            found, new_names = self._give_names(layout)
        finally:
            # What is left over is ignored by every reader; the outcome must not depend on it.
            _unlink(temporary for temporary, _ in layout.linked)
            if layout.draft is not None:
                shutil.rmtree(layout.draft, ignore_errors=True)
        if when_named is not None and len(outcomes) + found.count(Published.WON) == len(files):
            when_named()
        return [*outcomes, *_synced(found, new_names)]

    def replace_hint(self, path: str, data: bytes) -> bool:
        """Write a hint in place of what is there; False, which is no harm, if that failed.

        For a moment there may be none. A name that replaces another makes the file system bring the
        data to the disk at once, which nobody needs of a hint.
        """
        self._file_io.check_inside(path)
        target = self._file_io.native_path(path)
        temporary = temporary_beside(target)
        try:
            write_unsynced(temporary, data)
            _unlink([target])
            os.rename(temporary, target)  # noqa: PTH104 - a path object takes as long as the call
        except OSError as error:
            _log.warning("hint %s was not written: %s", path, error)
            return False
        finally:
            _unlink([temporary])
        return True

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

    def _give_names(self, layout: _Layout) -> tuple[list[Published], list[str]]:
        """Name what is not named yet; the outcomes, and the names that are not durable yet."""
        outcomes = self._link_all(layout.linked)
        new_names = [target for _, target in layout.linked]
        if layout.draft is not None and outcomes.count(Published.WON) == len(outcomes):
            if not self._rename(os.fsencode(layout.draft), os.fsencode(layout.folder)):
                outcomes += [Published.WON] * len(layout.drafted)
                return outcomes, [*new_names, layout.folder]
            sync_paths(make_directories(folders_of(target for _, target in layout.drafted)))
            outcomes += self._link_all(layout.drafted)
            new_names += [target for _, target in layout.drafted]
        return outcomes, new_names[: outcomes.count(Published.WON)]

    def _link_all(self, pairs: Iterable[tuple[str, str]]) -> list[Published]:
        outcomes: list[Published] = []
        for temporary, target in pairs:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """The places of files, in their order, before they have their names.

    Attributes:
        named: The first files, which are written under their final names: only we use these names,
            and they are free.
        linked: The places and final names of the next files.
        drafted: The places and final names of the last files, for a new folder.
        draft, folder: The place and the name of that folder; None and empty without one.
    """

    named: list[str]
    linked: list[tuple[str, str]]
    drafted: list[tuple[str, str]]
    draft: str | None = None
    folder: str = ""

    @classmethod
    def of(cls, targets: list[str]) -> _Layout:
        """Decide by what is there now."""
        named = list(takewhile(_is_ours_alone, targets))
        others = targets[len(named) :]
        folder, count = _new_folder(others)
        cut = len(others) - count
        alone, together = others[:cut], others[cut:]
        draft = temporary_beside(folder) if together else None
        return cls(
            named=named,
            linked=list(zip(temporaries_beside(alone), alone, strict=True)),
            drafted=[(f"{draft}{each[len(folder) :]}", each) for each in together],
            draft=draft,
            folder=folder,
        )

    @property
    def places(self) -> list[str]:
        """The place that each file is written to."""
        return [*self.named, *(place for place, _ in (*self.linked, *self.drafted))]


def _is_ours_alone(path: str) -> bool:
    return is_name_unique(path) and not Path(path).exists()


def _new_folder(targets: list[str]) -> tuple[str, int]:
    """The missing folder that holds the last files, and how many; none for a single file."""
    if len(targets) < 2:
        return "", 0
    missing = list(takewhile(lambda above: not above.exists(), Path(targets[-1]).parents))
    if not missing:
        return "", 0
    begins = f"{missing[-1]}/"
    inside = list(takewhile(lambda path: path.startswith(begins), reversed(targets)))
    return (os.path.commonpath(folders_of(inside)), len(inside)) if len(inside) > 1 else ("", 0)


def _write_down(layout: _Layout, contents: list[bytes]) -> None:
    """Write files down to the disk, with all names that they and their folders have so far."""
    places = layout.places
    holders = make_directories(folders_of(places))
    new_names = [*layout.named, *(place for place, _ in layout.drafted)]
    try:
        write_all(
            list(zip(places, contents, strict=True)),
            dict.fromkeys([*holders, *folders_of(new_names)]),
        )
    except OSError as error:
        # A file that could not be synced may look whole to who reads it later.
        _unlink(layout.named)
        folder = str(folders_of(places)[0])
        raise StorageError(
            # Not the name of the temporary file, which nobody chose.
            f"{folder} cannot be written: {error.strerror or error}. Nothing was published.",
            path=folder,
        ) from error


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


def _synced(outcomes: list[Published], new_names: list[str]) -> list[Published]:
    """The outcomes, once the folders of new names are synced; unknown where they cannot be."""
    try:
        sync_paths(folders_of(new_names))
    except OSError as error:
        _log.warning("sync of the folder of %s failed: %s", new_names[0], error)
        return [Published.UNKNOWN if each is Published.WON else each for each in outcomes]
    return outcomes


def _unlink(places: Iterable[str]) -> None:
    for place in places:
        with contextlib.suppress(OSError):
            os.unlink(place)  # noqa: PTH108
