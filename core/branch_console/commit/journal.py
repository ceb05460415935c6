"""The journal of operations that change more than one file: intent first, then steps, then the end.

It lives in the table's ledger, or in the catalog's. What was cut off between intent and end is
found by its intent and finished by doing the same again, as every step leaves alone what is done
already.

Only two things wait for the disk: the intent is durable before anything else is done, and all that
is done before the end is written. In between any part may be lost to a power cut, as the intent
says what belongs there; and whoever reads a claim asks whether its holder is still at work, so a
claim needs no wait of its own, neither to be made nor to be given back.
"""

import hashlib
import re
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeVar

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.metadata_copy import publish_once
from branch_console.errors import ErrorKind, FormatError, InvalidInput
from branch_console.format.journals.codec import Codec
from branch_console.format.journals.intent import End, Intent
from branch_console.format.json_text import JsonObject
from branch_console.format.lineage_event import LineageEvent
from branch_console.storage.file_publisher import Published
from branch_console.storage.system_lock import Hold, locked, place_on_this_machine
from branch_console.storage.table_paths import EVENT_PREFIX

J = TypeVar("J")

_EVENT_NAME: Final = re.compile(rf"{EVENT_PREFIX}(\d{{13}})-")
_OPERATION_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenIntent:
    """The unreadable intent of an operation without an end.

    Attributes:
        error: Why it cannot be read, which file that is, and what to do.
    """

    operation_id: str
    error: FormatError


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenIntents:
    """The intents without an end: readable ones, oldest first, and unreadable ones."""

    readable: tuple[Intent, ...]
    broken: tuple[BrokenIntent, ...]


class JournalPlace(Protocol):
    """The place of a journal: in the ledger of a table, or beside that of the catalog."""

    @property
    def lineage_dir(self) -> str:
        """The folder of intents, steps, ends, claims and events."""

    def event(self, time_millis: int, event_id: str) -> str:
        """The path of an event; names sort by time."""


class Journal:
    """Reads and writes the journal of one table, or of the catalog."""

    def __init__(self, store: CommitStore, paths: JournalPlace) -> None:
        self._store = store
        self._paths = paths

    def begin(self, intent: Intent) -> Intent:
        """Write the intent, or return the one that this operation wrote before; raises FormatError.

        Whatever else the operation does waits until the intent is durable, and only its claim goes
        along: one that outlived its intent is nobody's.
        """
        path, data = self._path("intent", intent.operation_id), intent.to_json().encode()
        files = [(path, data)]
        if intent.claims is not None:
            files.append((self._claim_path(intent.claims), intent.operation_id.encode()))
        if self._store.publisher.publish_in_order(files)[0] is not Published.WON:
            _, data = publish_once(self._store, path, data)
        return _intent_from(path, data)

    def find(self, operation_id: str) -> Intent | None:
        """Return the intent of an operation, None if it has not begun; raises FormatError."""
        path = self._path("intent", operation_id)
        data = self._store.files.find(path)
        return None if data is None else _intent_from(path, data)

    def decode(self, intent: Intent, codec: Codec[J]) -> J:
        """Return the plan of an intent as its procedure noted it.

        Raises:
            FormatError: It is broken, or a newer release wrote it; the message names the file.
        """
        try:
            return codec.decode(intent.plan)
        except FormatError as error:
            raise _unreadable(self._path("intent", intent.operation_id), error) from error

    def decode_step(self, operation_id: str, step: str, content: bytes, codec: Codec[J]) -> J:
        """Return what an operation noted at a step; raises FormatError, which names the file."""
        try:
            return codec.decode(JsonObject.parse(content, codec.what).values)
        except FormatError as error:
            path = self._path("step", f"{operation_id}-{step}")
            raise _unreadable(path, error) from error

    def hold(
        self, operation_id: str, *, longest_wait_seconds: float
    ) -> AbstractContextManager[Hold]:
        """Be the only one on this machine that is at work on an operation, until it is let go.

        A lock of the operating system on the intent, or for a store far away on a folder of this
        machine, which a few operations share.
        """
        files, path = self._store.files, self._path("intent", operation_id)
        if files.is_local:
            place = Path(files.native_path(path))
        else:
            digest = hashlib.sha256(files.url(path).encode()).hexdigest()
            place = place_on_this_machine("operations", digest[:3])
        return locked(place, longest_wait_seconds=longest_wait_seconds)

    def find_event(self, intent: Intent) -> LineageEvent | None:
        """Return the event that an operation is recorded by, None if it is not done."""
        path = self._paths.event(intent.event_millis, intent.operation_id)
        found = self._store.files.find(path)
        return None if found is None else LineageEvent.from_json(found)

    def time_for_event(self, now_millis: int) -> int:
        """Return a time later than that of every event, also if a clock lags behind.

        Events are read in the order of their times.
        """
        names = self._store.files.names(self._paths.lineage_dir)
        events = [name for name in names if name.startswith(EVENT_PREFIX)]
        # Their times have one width, so the last name tells the newest; a foreign one tells none.
        newest = _EVENT_NAME.match(max(events, default=""))
        found = [newest] if newest is not None else map(_EVENT_NAME.match, events)
        times = (int(each[1]) for each in found if each is not None)
        return max(now_millis, max(times, default=-1) + 1)

    def mark(self, operation_id: str, step: str, content: bytes = b"{}") -> bytes:
        """Note that an operation has reached a step, with what is needed to go on from it.

        Doing it twice is no harm: the first content stays.

        Returns:
            The content that stands.
        """
        return publish_once(self._store, self._path("step", f"{operation_id}-{step}"), content)[1]

    def ended_with(self, step: str) -> tuple[str, ...]:
        """Return the operations that reached a step and have ended, by their ids."""
        names = self._store.files.names(self._paths.lineage_dir)
        reached, suffix = _operations_with("step", names), f"-{step}"
        at_it = {each.removesuffix(suffix) for each in reached if each.endswith(suffix)}
        return tuple(sorted(at_it & _operations_with("done", names)))

    def has_reached(self, operation_id: str, step: str) -> bool:
        """Whether the operation has reached a step."""
        return self._find("step", f"{operation_id}-{step}") is not None

    def find_step(self, operation_id: str, step: str) -> bytes | None:
        """Return the content of a step, None if the operation has not reached it."""
        return self._find("step", f"{operation_id}-{step}")

    def forget_step(self, operation_id: str, step: str) -> None:
        """Take back a step, for good: what it says must not be done any more."""
        self._store.remover.remove([self._path("step", f"{operation_id}-{step}")])

    def remove_intent(self, operation_id: str, steps: Sequence[str] = ()) -> None:
        """Remove the intent and steps of an operation that is complete."""
        # For good and first: an intent that came back without its steps would be read as one
        # that had not got so far.
        self._store.remover.remove([self._path("intent", operation_id)])
        self._store.remover.discard(
            [self._path("step", f"{operation_id}-{step}") for step in steps]
        )

    def finish(self, operation_id: str, end: End) -> End:
        """Write the end, or return the one that was written before."""
        _, found = publish_once(self._store, *self._end_file(operation_id, end))
        return End.from_json(found)

    def conclude(self, operation_id: str, events: Sequence[LineageEvent], end: End) -> None:
        """Add the events and then the end, with one wait for the disk; what is there stays."""
        files = [
            *((self._paths.event(e.time_millis, e.id), e.to_json().encode()) for e in events),
            self._end_file(operation_id, end),
        ]
        done = self._store.publisher.publish_in_order(files).count(Published.WON)
        for path, data in files[done:]:
            publish_once(self._store, path, data)

    def end_of(self, operation_id: str) -> End | None:
        """Return how an operation ended, None while it is open."""
        data = self._find("done", operation_id)
        return None if data is None else End.from_json(data)

    def open_intents(self, names: Collection[str] | None = None) -> OpenIntents:
        """Return the intents without an end; a broken one spoils itself only.

        Args:
            names: What lies in the folder of the journal, where somebody has just listed it.
        """
        if names is None:
            names = self._store.files.names(self._paths.lineage_dir)
        there = frozenset(names)
        open_ids = sorted(
            each for each in _operations_with("intent", names) if f"done-{each}.json" not in there
        )
        paths = {each: self._path("intent", each) for each in open_ids}
        found = self._store.files.read_many(list(paths.values()))
        readable, broken = [], []
        for (operation_id, path), data in zip(paths.items(), found, strict=True):
            try:
                readable.append(_intent_from(path, data))
            except FormatError as error:
                broken.append(BrokenIntent(operation_id=operation_id, error=error))
        readable.sort(key=lambda each: (each.time_millis, each.operation_id))
        return OpenIntents(readable=tuple(readable), broken=tuple(broken))

    def unfinished(self) -> tuple[Intent, ...]:
        """Return the intents without an end that can be read, oldest first."""
        return self.open_intents().readable

    def being_made(self) -> frozenset[str]:
        """Return the branches that open operations make: nobody should be shown them yet.

        What an operation makes whose intent cannot be read is not known, and so not among them.
        """
        return frozenset(name for intent in self.unfinished() for name in intent.makes)

    def claim(self, branch: str, operation_id: str) -> str:
        """Reserve the name of a branch for one operation; return who holds it now."""
        path = self._claim_path(branch)
        holder = self._holder(path) or self._take(path, operation_id)
        if holder == operation_id or self._is_at_work(holder):
            return holder
        # It ended and died before it gave the name back, or a power cut took its intent.
        self._remove_claim(path, holder)
        return self._take(path, operation_id)

    def release(self, branch: str, operation_id: str) -> None:
        """Give the name of a branch back, where this operation holds it."""
        self._remove_claim(self._claim_path(branch), operation_id)

    def _take(self, path: str, operation_id: str) -> str:
        _, data = publish_once(self._store, path, operation_id.encode())
        return data.decode()

    def _holder(self, path: str) -> str | None:
        found = self._store.files.find(path)
        return None if found is None else found.decode()

    def _is_at_work(self, operation_id: str) -> bool:
        return self.end_of(operation_id) is None and self.find(operation_id) is not None

    def _remove_claim(self, path: str, holder: str) -> None:
        if self._holder(path) == holder:
            # A crash may bring it back: it says of itself that it is over.
            self._store.remover.discard([path])

    def _claim_path(self, branch: str) -> str:
        # Other software makes names that no file of ours may have.
        usable = _OPERATION_ID.fullmatch(branch) is not None
        name = branch if usable else f"named-{hashlib.sha256(branch.encode()).hexdigest()}"
        return self._path("claim", name)

    def _end_file(self, operation_id: str, end: End) -> tuple[str, bytes]:
        return self._path("done", operation_id), end.to_json().encode()

    def _find(self, kind: str, name: str) -> bytes | None:
        return self._store.files.find(self._path(kind, name))

    def _path(self, kind: str, name: str) -> str:
        if not _OPERATION_ID.fullmatch(name):
            raise InvalidInput(
                f"{name!r} cannot name an operation: letters, digits, '-' and '_' only.",
                kind=ErrorKind.INVALID_NAME,
            )
        return f"{self._paths.lineage_dir}/{kind}-{name}.json"


def _operations_with(kind: str, names: Collection[str]) -> frozenset[str]:
    """The operations of which the ledger holds a file of a kind."""
    start, end = f"{kind}-", ".json"
    # No generator, which would take as long as a listing where a table has thousands.
    return frozenset(
        [
            name[len(start) : -len(end)]
            for name in names
            if name.startswith(start) and name.endswith(end)
        ]
    )


def _intent_from(path: str, data: bytes) -> Intent:
    try:
        return Intent.from_json(data)
    except FormatError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: FormatError) -> FormatError:
    """Return the error for an intent or a step that cannot be read, with its file."""
    if error.kind is ErrorKind.UNKNOWN_VERSION:
        text = f"{path} cannot be read. {error.message}"
    else:
        text = (
            f"{path} is broken: {error.message} What its operation was at is not known. Put the "
            "file back from a copy, then run: branch-console recover. Where there is no copy, look "
            "whether the branches of the table are as they should be, then remove the file."
        )
    return FormatError(text, kind=error.kind, **{**error.facts, "path": path})
