"""Actors that take turns exactly as a schedule says, stopping before each phase of their work.

Each actor is a thread, but only one runs at any time: it holds the floor until it comes to the
next phase or to its end. What happens is therefore decided by the schedule alone.
"""

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import combinations

from branch_console.commit.base.commit_store import CommitStore
from branch_console.storage.directory_mover import DirectoryMover
from branch_console.storage.file_io import FileReader, FileStatus, FolderMark
from branch_console.storage.file_publisher import FilePublisher, Published

_BOUND_SECONDS = 60.0


class Phase(IntEnum):
    """Where an actor stops, in the order of an attempt."""

    READ_HEAD = 1
    CHECK = 2
    WRITE = 3
    PUBLISH = 4
    HINT = 5
    CALLBACK = 6


@dataclass(eq=False)
class Actor:
    """One actor: its work, which calls `stop` before each phase, and what became of it."""

    work: Callable[["Actor"], object]
    result: object = None
    error: Exception | None = None
    phases: list[Phase] = field(default_factory=list)
    is_done: bool = False
    _go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    _stopped: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def stop(self, phase: Phase) -> None:
        """Wait for a turn before a phase; a phase that goes on, or has been left, stops nobody.

        Reading the head after a publish begins another attempt.
        """
        reached = self.phases[-1] if self.phases else 0
        begins_anew = phase is Phase.READ_HEAD and reached == Phase.PUBLISH
        if phase > reached or begins_anew:
            self.phases.append(phase)
            self._stopped.release()
            self._wait(self._go)

    def start(self) -> None:
        """Begin, up to the first phase."""
        threading.Thread(target=self._run, daemon=True).start()
        self._wait(self._stopped)

    def turn(self) -> None:
        """Let the actor do one phase."""
        self._go.release()
        self._wait(self._stopped)

    def _run(self) -> None:
        try:
            self.result = self.work(self)
        except Exception as error:  # what became of it is for the test to judge
            self.error = error
        self.is_done = True
        self._stopped.release()

    def _wait(self, semaphore: threading.Semaphore) -> None:
        if not semaphore.acquire(timeout=_BOUND_SECONDS):
            raise TimeoutError(f"An actor did not come on after {self.phases}.")


def play(order: Sequence[int], works: Sequence[Callable[[Actor], object]]) -> list[Actor]:
    """Run actors by a schedule, and those that are left in turn until all are done.

    Args:
        order: Numbers of actors, from 0; each lets that actor do one phase.
        works: What the actors do.
    """
    actors = [Actor(work) for work in works]
    for actor in actors:
        actor.start()
    for number in order:
        if not actors[number].is_done:
            actors[number].turn()
    while left := [actor for actor in actors if not actor.is_done]:
        for actor in left:
            actor.turn()
    return actors


def all_schedules(phases: int) -> Iterator[tuple[int, ...]]:
    """Every order in which two actors of that many phases can take their turns."""
    turns = range(2 * phases)
    for chosen in combinations(turns, phases):
        yield tuple(0 if turn in chosen else 1 for turn in turns)


def phased(store: CommitStore, actor: Actor) -> CommitStore:
    """The store as an actor uses it, which stops before each phase."""
    return CommitStore(
        files=_PhasedReader(store.files, actor),
        publisher=_PhasedPublisher(store.publisher, actor),
        remover=store.remover,
        mover=_PhasedMover(store.mover, actor),
    )


def _phase_of(path: str) -> Phase | None:
    if "/snapshot" in path:
        return Phase.READ_HEAD
    return Phase.CHECK if "/manifest/" in path else None


class _PhasedReader:
    def __init__(self, inner: FileReader, actor: Actor) -> None:
        self._inner = inner
        self._actor = actor

    @property
    def is_local(self) -> bool:
        return self._inner.is_local

    def native_path(self, path: str) -> str:
        self._reads(path)
        return self._inner.native_path(path)

    def native_file(self, path: str) -> str:
        self._reads(path)
        return self._inner.native_file(path)

    def path_of(self, location: str) -> str:
        return self._inner.path_of(location)

    def url(self, path: str) -> str:
        return self._inner.url(path)

    def read(self, path: str) -> bytes:
        self._reads(path)
        return self._inner.read(path)

    def find(self, path: str) -> bytes | None:
        self._reads(path)
        return self._inner.find(path)

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        self._reads(path)
        return self._inner.read_range(path, offset, length)

    def read_many(self, paths: Sequence[str]) -> list[bytes]:
        for path in paths:
            self._reads(path)
        return self._inner.read_many(paths)

    def exists(self, path: str) -> bool:
        self._reads(path)
        return self._inner.exists(path)

    def status(self, path: str) -> FileStatus | None:
        self._reads(path)
        return self._inner.status(path)

    def list(self, path: str) -> list[FileStatus]:
        self._reads(path)
        return self._inner.list(path)

    def names(self, path: str) -> Collection[str]:
        self._reads(path)
        return self._inner.names(path)

    def folder_names(self, path: str) -> Collection[str]:
        self._reads(path)
        return self._inner.folder_names(path)

    def folder_marks(self, paths: Sequence[str]) -> Sequence[FolderMark | None]:
        for path in paths:
            self._reads(path)
        return self._inner.folder_marks(paths)

    def _reads(self, path: str) -> None:
        phase = _phase_of(path)
        if phase is not None:
            self._actor.stop(phase)


class _PhasedPublisher:
    def __init__(self, inner: FilePublisher, actor: Actor) -> None:
        self._inner = inner
        self._actor = actor

    def publish(self, path: str, data: bytes) -> Published:
        return self.publish_in_order([(path, data)])[0]

    def publish_in_order(
        self, files: Sequence[tuple[str, bytes]], _when_named: object = None
    ) -> list[Published]:
        count = sum("/manifest/" in path for path, _ in files)
        if count:
            self._actor.stop(Phase.WRITE)
            outcomes = self._inner.publish_in_order(files[:count])
            if count == len(files) or outcomes[-1] is not Published.WON:
                return outcomes
            return [*outcomes, *self.publish_in_order(files[count:])]
        if files and "/branch-lineage/" in files[0][0]:
            is_intent = "/intent-" in files[0][0]
            self._actor.stop(Phase.WRITE if is_intent else Phase.CALLBACK)
        else:
            self._actor.stop(Phase.PUBLISH)
        return self._inner.publish_in_order(files)

    def replace_hint(self, path: str, data: bytes) -> bool:
        self._actor.stop(Phase.HINT)
        return self._inner.replace_hint(path, data)

    def replace(self, path: str, data: bytes) -> bool:
        self._actor.stop(Phase.PUBLISH)
        return self._inner.replace(path, data)


class _PhasedMover:
    def __init__(self, inner: DirectoryMover, actor: Actor) -> None:
        self._inner = inner
        self._actor = actor

    def move(self, from_path: str, to_path: str) -> object:
        self._actor.stop(Phase.PUBLISH)
        return self._inner.move(from_path, to_path)
