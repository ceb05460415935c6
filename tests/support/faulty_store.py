"""A store that numbers every change made through it, and fails at those that it is told to.

A kill raises a BaseException, and from then on every call of the store raises as well: nothing can
tidy up behind a dead process. What no store could get wrong is not offered: a lost answer of a
removal or a move is an error, while that of a publish is an outcome of its own.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from branch_console.commit.base.commit_store import CommitStore
from branch_console.errors import NotFound, StorageError
from branch_console.storage.directory_mover import DirectoryMover, MoveOutcome
from branch_console.storage.file_io import FileIO, FileReader, FileStatus, FolderMark
from branch_console.storage.file_publisher import FilePublisher, Published
from branch_console.storage.file_remover import FileRemover

T = TypeVar("T")


class Killed(BaseException):
    """The process died here."""


class When(StrEnum):
    """Whether the fault comes before or after the change, or in the middle of writing it."""

    BEFORE = "before"
    AFTER = "after"
    TORN = "torn"


class What(StrEnum):
    """What goes wrong; the last three befall calls that only read."""

    KILL = "kill"
    FAIL = "fail"
    SAY_UNKNOWN = "say unknown"
    SAY_LOST = "say lost"
    STALE = "stale listing"
    PARTIAL = "partial listing"
    SHORT = "short read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What goes wrong at a call, and whether the call does its work first."""

    what: What
    when: When = When.BEFORE


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """A fault: at which change, counted from 1, and which."""

    call: int
    when: When = When.BEFORE
    what: What = What.KILL


@dataclass(kw_only=True)
class FaultyStore:
    """Wraps a local store.

    Attributes:
        fault: The one fault of an exact plan.
        draw: Asked at every call, by its kind, for the fault that befalls it.
        meanwhile: Called before a change, by its number.
        changes: What was changed so far, or was about to be.
        faults: What went wrong so far.
    """

    inner: CommitStore
    fault: At | None = None
    draw: Callable[[str], Fault | None] | None = None
    meanwhile: dict[int, Callable[[], object]] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    is_dead: bool = False

    @property
    def store(self) -> CommitStore:
        """The store as a procedure is handed it."""
        return CommitStore(
            files=FaultyReader(self),
            publisher=FaultyPublisher(self),
            remover=FaultyRemover(self),
            mover=FaultyMover(self),
        )

    def read(self, what: str, path: str, call: Callable[[], T]) -> tuple[T, What | None]:
        """Make a call that changes nothing; return the lie that is due with what it found."""
        self.check_alive()
        due = self._note(what, path, self.draw(what) if self.draw is not None else None)
        if due is not None and due.what is What.FAIL:
            raise StorageError(f"{path}: the store did not answer (injected).")
        return call(), None if due is None else due.what

    def change(
        self, what: str, path: str, make: Callable[[], T], tear: Callable[[], object]
    ) -> tuple[T | None, What | None]:
        """Make a change, or the fault that is due; a lost answer is None, with the lie."""
        self.check_alive()
        self.changes.append(f"{what} {path}")
        number = len(self.changes)
        if number in self.meanwhile:
            self.meanwhile.pop(number)()
        due = self._note(what, path, self._due(what, number))
        if due is None:
            return make(), None
        if due.when is When.TORN:
            tear()
            self._die()
        if due.when is When.AFTER:
            make()
        if due.what is What.KILL:
            self._die()
        if due.what is What.FAIL:
            raise StorageError(f"{path}: the store did not answer (injected).")
        return None, due.what

    def check_alive(self) -> None:
        """Raise Killed if the process is dead."""
        if self.is_dead:
            raise Killed

    def _due(self, what: str, number: int) -> Fault | None:
        if self.fault is not None and self.fault.call == number:
            return Fault(what=self.fault.what, when=self.fault.when)
        return None if self.draw is None else self.draw(what)

    def _note(self, what: str, path: str, due: Fault | None) -> Fault | None:
        if due is not None:
            self.faults.append(f"{due.what} {due.when} {what} {path}")
        return due

    def _die(self) -> None:
        self.is_dead = True
        raise Killed


class FaultyReader:
    """The reading half: it works until the process is dead, unless a lie is drawn."""

    def __init__(self, faulty: FaultyStore) -> None:
        self._faulty = faulty
        self._inner: FileReader = faulty.inner.files
        self._listed: dict[str, list[FileStatus]] = {}

    @property
    def for_rows(self) -> "FaultyFiles":
        """The store as the tasks of a row engine are handed it."""
        return FaultyFiles(self._faulty)

    @property
    def is_local(self) -> bool:
        return self._inner.is_local

    def native_path(self, path: str) -> str:
        self._faulty.check_alive()
        return self._inner.native_path(path)

    def native_file(self, path: str) -> str:
        self._faulty.check_alive()
        return self._inner.native_file(path)

    def path_of(self, location: str) -> str:
        return self._inner.path_of(location)

    def url(self, path: str) -> str:
        return self._inner.url(path)

    def read(self, path: str) -> bytes:
        data, lie = self._faulty.read("read", path, lambda: self._inner.read(path))
        return data[: len(data) // 2] if lie is What.SHORT else data

    def find(self, path: str) -> bytes | None:
        try:
            return self.read(path)
        except NotFound:
            return None

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        data, lie = self._faulty.read(
            "read", path, lambda: self._inner.read_range(path, offset, length)
        )
        return data[: len(data) // 2] if lie is What.SHORT else data

    def read_many(self, paths: Sequence[str]) -> list[bytes]:
        return [self.read(path) for path in paths]

    def exists(self, path: str) -> bool:
        return self._faulty.read("look", path, lambda: self._inner.exists(path))[0]

    def status(self, path: str) -> FileStatus | None:
        return self._faulty.read("look", path, lambda: self._inner.status(path))[0]

    def names(self, path: str) -> list[str]:
        return [each.name for each in self.list(path)]

    def folder_names(self, path: str) -> list[str]:
        return [each.name for each in self.list(path) if each.is_directory]

    def folder_marks(self, paths: Sequence[str]) -> list[FolderMark | None]:
        return [self._mark(path) for path in paths]

    def _mark(self, path: str) -> FolderMark | None:
        return self._faulty.read("look", path, lambda: self._inner.folder_marks([path])[0])[0]

    def list(self, path: str) -> list[FileStatus]:
        found, lie = self._faulty.read("list", path, lambda: self._inner.list(path))
        if lie is What.STALE:
            return self._listed.get(path, found)
        self._listed[path] = found
        return found[:-1] if lie is What.PARTIAL else found


class FaultyFiles(FaultyReader):
    """What tasks read rows from and write data files to: every file that they make is a change.

    Their readers ask for ranges, as those of a remote store do, so that each of them may fail.
    """

    @property
    def is_local(self) -> bool:
        return False

    def create(self, path: str, data: bytes) -> None:
        files = self._inner
        assert isinstance(files, FileIO)

        def make() -> bool:
            files.create(path, data)
            return True

        done, _ = self._faulty.change(
            "create",
            path,
            make,
            lambda: files.create(path, data[: len(data) // 2]),
        )
        if done is None:
            raise StorageError(f"Whether {path} was made is not known (injected).")


class FaultyPublisher:
    """Each file is a change of its own, also of those published together."""

    def __init__(self, faulty: FaultyStore) -> None:
        self._faulty = faulty
        self._inner: FilePublisher = faulty.inner.publisher

    def publish(self, path: str, data: bytes) -> Published:
        answer, lie = self._faulty.change(
            "publish", path, lambda: self._inner.publish(path, data), lambda: _torn(path, data)
        )
        if answer is not None:
            return answer
        return Published.LOST if lie is What.SAY_LOST else Published.UNKNOWN

    def publish_in_order(
        self, files: Sequence[tuple[str, bytes]], _when_named: object = None
    ) -> list[Published]:
        outcomes: list[Published] = []
        for path, data in files:
            outcomes.append(self.publish(path, data))
            if outcomes[-1] is not Published.WON:
                break
        return outcomes

    def replace_hint(self, path: str, data: bytes) -> bool:
        try:
            done, _ = self._faulty.change(
                "hint",
                path,
                lambda: self._inner.replace_hint(path, data),
                lambda: self._inner.replace_hint(path, b""),
            )
        except StorageError:
            return False  # as every publisher answers when its store fails
        return bool(done)

    def replace(self, path: str, data: bytes) -> bool:
        done, _ = self._faulty.change(
            "replace",
            path,
            lambda: self._inner.replace(path, data),
            lambda: _torn(path, data),
        )
        return bool(done)


class FaultyRemover(FileRemover):
    """Each file that goes is a change of its own."""

    def __init__(self, faulty: FaultyStore) -> None:
        self._faulty = faulty
        self._inner = faulty.inner.remover

    def remove(self, paths: Iterable[str]) -> int:
        return sum(self._each("remove", path, self._inner.remove) for path in paths)

    def remove_together(self, paths: Iterable[str]) -> int:
        return sum(self._each("remove", path, self._inner.remove_together) for path in paths)

    def discard(self, paths: Iterable[str]) -> int:
        return sum(self._each("remove", path, self._inner.discard) for path in paths)

    @property
    def moves_freely(self) -> bool:
        return self._inner.moves_freely

    def move(self, moves: Iterable[tuple[str, str]], *, for_good: bool = False) -> int:
        pairs = dict(moves)

        def move(paths: Iterable[str]) -> int:
            return self._inner.move([(path, pairs[path]) for path in paths], for_good=for_good)

        return sum(self._each("set aside", path, move) for path in pairs)

    def remove_empty_directories(self, paths: Iterable[str]) -> int:
        remove = self._inner.remove_empty_directories
        return sum(self._each("remove directory", path, remove) for path in paths)

    def _each(self, what: str, path: str, remove: Callable[[Iterable[str]], int]) -> int:
        removed, _ = self._faulty.change(what, path, lambda: remove([path]), lambda: None)
        if removed is None:
            raise StorageError(f"Whether {path} was removed is not known (injected).")
        return removed


class FaultyMover:
    """A move is one change; nothing is left behind by one that was cut off."""

    def __init__(self, faulty: FaultyStore) -> None:
        self._faulty = faulty
        self._inner: DirectoryMover = faulty.inner.mover

    def move(self, from_path: str, to_path: str) -> MoveOutcome:
        moved, _ = self._faulty.change(
            "move", from_path, lambda: self._inner.move(from_path, to_path), lambda: None
        )
        if moved is None:
            raise StorageError(f"Whether {from_path} became {to_path} is not known (injected).")
        return moved


def _torn(path: str, data: bytes) -> None:
    """Leave what a writer leaves that died before it gave the file its name."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.with_name(f".{target.name}.torn.tmp").write_bytes(data[: len(data) // 2])
