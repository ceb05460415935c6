"""A store that numbers every change made through it, and fails at the one it is told to.

A kill raises a BaseException, and from then on every call of the store raises as well: nothing can
tidy up behind a dead process.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from core.commit.commit_store import CommitStore
from core.errors import StorageError
from core.storage.directory_mover import DirectoryMover, Moved
from core.storage.file_io import FileReader, FileStatus
from core.storage.file_publisher import FilePublisher, Published
from core.storage.file_remover import FileRemover

T = TypeVar("T")


class Killed(BaseException):
    """The process died here."""


class When(StrEnum):
    """Whether the fault comes before or after the change, or in the middle of writing it."""

    BEFORE = "before"
    AFTER = "after"
    TORN = "torn"


class What(StrEnum):
    """What goes wrong."""

    KILL = "kill"
    FAIL = "fail"
    SAY_UNKNOWN = "say unknown"
    SAY_LOST = "say lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """A fault: at which change, counted from 1, and which."""

    call: int
    when: When = When.BEFORE
    what: What = What.KILL


@dataclass(kw_only=True)
class FaultyStore:
    """Wraps a local store; `meanwhile` is called before a change, by its number."""

    inner: CommitStore
    fault: At | None = None
    meanwhile: dict[int, Callable[[], object]] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)
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

    def read(self, call: Callable[[], T]) -> T:
        """Make a call that changes nothing."""
        self._check_alive()
        return call()

    def change(
        self, what: str, path: str, make: Callable[[], T], tear: Callable[[], object]
    ) -> T | None:
        """Make a change, or the fault that is due; None stands for an answer that was lost."""
        self._check_alive()
        self.changes.append(f"{what} {path}")
        number = len(self.changes)
        if number in self.meanwhile:
            self.meanwhile.pop(number)()
        due = self.fault if self.fault is not None and self.fault.call == number else None
        if due is None:
            return make()
        if due.when is When.TORN:
            tear()
            self._die()
        if due.when is When.AFTER:
            make()
        if due.what is What.KILL:
            self._die()
        if due.what is What.FAIL:
            raise StorageError(f"{path}: the store did not answer (injected).")
        return None

    def _die(self) -> None:
        self.is_dead = True
        raise Killed

    def _check_alive(self) -> None:
        if self.is_dead:
            raise Killed


class FaultyReader:
    """The reading half: it works until the process is dead."""

    def __init__(self, faulty: FaultyStore) -> None:
        self._faulty = faulty
        self._inner: FileReader = faulty.inner.files

    @property
    def is_local(self) -> bool:
        return self._inner.is_local

    def native_path(self, path: str) -> str:
        return self._inner.native_path(path)

    def url(self, path: str) -> str:
        return self._inner.url(path)

    def read(self, path: str) -> bytes:
        return self._faulty.read(lambda: self._inner.read(path))

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        return self._faulty.read(lambda: self._inner.read_range(path, offset, length))

    def read_many(self, paths: Sequence[str]) -> list[bytes]:
        return self._faulty.read(lambda: self._inner.read_many(paths))

    def exists(self, path: str) -> bool:
        return self._faulty.read(lambda: self._inner.exists(path))

    def status(self, path: str) -> FileStatus | None:
        return self._faulty.read(lambda: self._inner.status(path))

    def list(self, path: str) -> list[FileStatus]:
        return self._faulty.read(lambda: self._inner.list(path))


class FaultyPublisher:
    """Each file is a change of its own, also of those published together."""

    def __init__(self, faulty: FaultyStore) -> None:
        self._faulty = faulty
        self._inner: FilePublisher = faulty.inner.publisher

    def publish(self, path: str, data: bytes) -> Published:
        answer = self._faulty.change(
            "publish", path, lambda: self._inner.publish(path, data), lambda: _torn(path, data)
        )
        if answer is not None:
            return answer
        fault = self._faulty.fault
        said_lost = fault is not None and fault.what is What.SAY_LOST
        return Published.LOST if said_lost else Published.UNKNOWN

    def publish_in_order(self, files: Sequence[tuple[str, bytes]]) -> list[Published]:
        outcomes: list[Published] = []
        for path, data in files:
            outcomes.append(self.publish(path, data))
            if outcomes[-1] is not Published.WON:
                break
        return outcomes

    def replace_hint(self, path: str, data: bytes) -> bool:
        done = self._faulty.change(
            "hint",
            path,
            lambda: self._inner.replace_hint(path, data),
            lambda: self._inner.replace_hint(path, b""),
        )
        return bool(done)


class FaultyRemover(FileRemover):
    """Each file that goes is a change of its own."""

    def __init__(self, faulty: FaultyStore) -> None:
        self._faulty = faulty
        self._inner = faulty.inner.remover

    def remove(self, paths: Iterable[str]) -> int:
        return sum(self._each("remove", path, self._inner.remove) for path in paths)

    def remove_empty_directories(self, paths: Iterable[str]) -> int:
        remove = self._inner.remove_empty_directories
        return sum(self._each("remove directory", path, remove) for path in paths)

    def _each(self, what: str, path: str, remove: Callable[[Iterable[str]], int]) -> int:
        return self._faulty.change(what, path, lambda: remove([path]), lambda: None) or 0


class FaultyMover:
    """A move is one change; nothing is left behind by one that was cut off."""

    def __init__(self, faulty: FaultyStore) -> None:
        self._faulty = faulty
        self._inner: DirectoryMover = faulty.inner.mover

    def move(self, from_path: str, to_path: str) -> Moved:
        moved = self._faulty.change(
            "move", from_path, lambda: self._inner.move(from_path, to_path), lambda: None
        )
        if moved is None:
            # A rename has no third outcome: an answer that was lost is an error.
            raise StorageError(f"Whether {from_path} became {to_path} is not known (injected).")
        return moved


def _torn(path: str, data: bytes) -> None:
    """Leave what a writer leaves that died before it gave the file its name."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.with_name(f".{target.name}.torn.tmp").write_bytes(data[: len(data) // 2])
