"""What is left of a folder when the machine loses power: the real file system, watched.

Only what was synced is sure to be there. A `CrashClone` sees every `fsync` of this process and
notes what it makes durable: the content of a file, or the names in a folder; all of both where the
file system is synced as a whole. An image of a crash then holds all, none or a random part of the
rest: a name may be the old or the new one, a file that was never synced may be empty or cut short.
A directory that got another name has exactly one of the two, as every journalling file system sees
to.
"""

import os
import random
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Self, TypeAlias

from branch_console.storage import file_system

Image: TypeAlias = dict[str, bytes | None]
"""What each file of a folder holds, by relative path; None for a folder, which comes first."""


class Luck(StrEnum):
    """How much of what was not synced outlives the crash."""

    ALL = "all"
    NONE = "none"
    SOME = "some"


@dataclass(frozen=True, slots=True)
class _Entry:
    inode: int
    is_directory: bool


@dataclass
class _Disk:
    """Names by folder and contents by file, both by inode."""

    names: dict[int, dict[str, _Entry]] = field(default_factory=dict)
    contents: dict[int, bytes] = field(default_factory=dict)


class CrashClone:
    """Watches a folder; a context manager. Everything in it counts as synced at the start.

    Args:
        root: The folder.
        on_sync: Called before each sync takes effect, with its number from 1.
    """

    def __init__(self, root: Path, on_sync: Callable[[int], object] = lambda _: None) -> None:
        self._root = root
        self._on_sync = on_sync
        self._fsync = os.fsync
        self._sync_file_system = file_system.sync_file_system
        self._lock = RLock()
        # An open descriptor keeps the number of a file that goes from being given away again.
        self._kept: list[int] = []
        self._durable = _scan(root)
        self.syncs = 0

    def __enter__(self) -> Self:
        os.fsync = self._watched  # type: ignore[assignment]
        file_system.sync_file_system = self._watched_whole
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.fsync = self._fsync
        file_system.sync_file_system = self._sync_file_system
        for descriptor in self._kept:
            os.close(descriptor)
        self._kept.clear()

    def images(self, chances: Iterable[tuple[Luck, random.Random]]) -> Iterator[Image]:
        """Tell what crashes at this moment would leave of the folder, one for each chance."""
        with self._lock:
            now = _scan(self._root)
            for luck, rng in chances:
                maker = _ImageMaker(durable=self._durable, now=now, luck=luck, rng=rng)
                yield maker.image(self._root.stat().st_ino)

    def _watched(self, descriptor: int) -> None:
        with self._lock:
            self.syncs += 1
            self._on_sync(self.syncs)
            found = os.fstat(descriptor)
            if stat.S_ISDIR(found.st_mode):
                with os.scandir(descriptor) as entries:
                    self._durable.names[found.st_ino] = {
                        each.name: _Entry(each.inode(), each.is_dir()) for each in entries
                    }
            else:
                self._durable.contents[found.st_ino] = _content(f"/proc/self/fd/{descriptor}")
                self._kept.append(os.dup(descriptor))
        self._fsync(descriptor)

    def _watched_whole(self, descriptor: int) -> None:
        with self._lock:
            self.syncs += 1
            self._on_sync(self.syncs)
            for folder, _, names in os.walk(self._root):
                for name in names:
                    with suppress(FileNotFoundError):
                        self._kept.append(os.open(f"{folder}/{name}", os.O_RDONLY))
            now = _scan(self._root)
            self._durable.names |= now.names
            self._durable.contents |= now.contents
        self._sync_file_system(descriptor)


def write_image(image: Image, to: Path) -> None:
    """Make a folder of an image."""
    # Crash tests write many thousand: paths stay text.
    os.mkdir(to)  # noqa: PTH102
    for name, content in image.items():
        path = f"{to}/{name}"
        if content is None:
            os.mkdir(path)  # noqa: PTH102
        else:
            with open(path, "wb") as file:  # noqa: PTH123
                file.write(content)


@dataclass
class _ImageMaker:
    durable: _Disk
    now: _Disk
    luck: Luck
    rng: random.Random

    def __post_init__(self) -> None:
        # A folder that moved is under its old name or its new one, never both, never neither.
        before, after = _places(self.durable), _places(self.now)
        self._moved = {
            inode: self._is_new()
            for inode in before.keys() & after.keys()
            if before[inode] != after[inode]
        }

    def image(self, inode: int, prefix: str = "") -> Image:
        image: Image = {}
        old = self.durable.names.get(inode, {})
        # A folder that is gone by now holds what it is known to have held.
        new = self.now.names.get(inode, old)
        for name in sorted(old.keys() | new.keys()):
            kept = self._choose(old.get(name), new.get(name))
            if kept is None:
                continue
            path = prefix + name
            if kept.is_directory:
                image[path] = None
                image |= self.image(kept.inode, f"{path}/")
            else:
                image[path] = self._content(kept.inode)
        return image

    def _choose(self, old: _Entry | None, new: _Entry | None) -> _Entry | None:
        if old == new:
            return new
        for each, is_new in ((old, False), (new, True)):
            if each is not None and each.inode in self._moved:
                return each if self._moved[each.inode] is is_new else None
        return new if self._is_new() else old

    def _content(self, inode: int) -> bytes:
        synced, written = self.durable.contents.get(inode), self.now.contents.get(inode)
        if written is None or written == synced:
            return synced or b""  # one that is gone and was never synced was not written down
        match self.luck:
            case Luck.ALL:
                return written
            case Luck.NONE:
                return synced or b""
            case Luck.SOME:
                cut = written[: self.rng.randint(0, len(written))]
                return self.rng.choice((synced or b"", cut, written))

    def _is_new(self) -> bool:
        return self.luck is Luck.ALL or (self.luck is Luck.SOME and self.rng.random() < 0.5)


def _places(disk: _Disk) -> dict[int, tuple[int, str]]:
    return {
        entry.inode: (folder, name)
        for folder, names in disk.names.items()
        for name, entry in names.items()
        if entry.is_directory
    }


def _scan(root: Path) -> _Disk:
    """What is there while others may be at work: what goes meanwhile has a name but no content."""
    disk = _Disk()
    left = [(os.stat(root).st_ino, str(root))]  # noqa: PTH116
    while left:
        inode, folder = left.pop()
        names = disk.names.setdefault(inode, {})
        with suppress(FileNotFoundError), os.scandir(folder) as entries:
            for each in entries:
                names[each.name] = _Entry(each.inode(), each.is_dir())
                if each.is_dir():
                    left.append((each.inode(), each.path))
                else:
                    with suppress(FileNotFoundError):
                        disk.contents[each.inode()] = _content(each.path)
    return disk


def _content(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123
        return file.read()
