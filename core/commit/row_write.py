"""The writing of rows from its first file to its snapshot, so that a crash leaves nothing behind.

Before the first file the journal learns the id that all names of this write hold; before the
snapshot it learns what is to be published. Cut off before the second entry, a write is taken back:
its files are found by the id. Cut off after it, the commit is finished. What went well leaves one
small file that says so.
"""

import hashlib
import json
import logging
import os
import platform
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from core.commit.commit_check import check_features
from core.commit.commit_message import CommitMessage
from core.commit.commit_store import CommitStore
from core.commit.file_store_commit import FileStoreCommit
from core.commit.journal import End, Ending, Intent, Journal
from core.commit.message_codec import decode_messages, encode_messages
from core.errors import CommitConflict, ErrorKind, InvalidInput, NotAllowed, PaimonError
from core.format import options as table_options
from core.format.json_text import JsonObject, to_pretty_json, without_nulls
from core.format.receipt import identity_from, identity_to
from core.format.snapshot import Snapshot, SnapshotIdentity
from core.table.file_store_table import FileStoreTable

PROCEDURE: Final = "write_rows"
"""What the journal calls every write of rows."""

_PUBLISH: Final = "publish"
_RESULT: Final = "result"
_WRITE_ID: Final = "writeId"
_HOST: Final = "host"
_PROCESS: Final = "process"
# Spark gives a Python worker that it stops so long to end; until then it may finish a file.
_TASKS_END_SECONDS: Final = 2.5
_FOREIGN_MILLIS: Final = 3_600_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PreparedRows:
    """What tasks made of rows.

    Attributes:
        messages: Files that nothing refers to yet.
        row_count: Rows that were inserted, deleted or changed.
        expected_head: The only head on which these files are right; None where any will do.
    """

    messages: tuple[CommitMessage, ...]
    row_count: int
    expected_head: SnapshotIdentity | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowCommit:
    """What the writers of one write made, and how it becomes a snapshot.

    Attributes:
        messages: From the writers.
        overwrites: Whether partitions are replaced.
        partitions: The encoded partitions that an overwrite replaces, as
            `FileStoreCommit.overwrite` takes them.
        expected_head: The only head that this may stand on; None where any will do.
        summary: Figures of the write that are to be remembered.
    """

    messages: tuple[CommitMessage, ...]
    overwrites: bool = False
    partitions: tuple[bytes, ...] | None = None
    expected_head: SnapshotIdentity | None = None
    summary: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def to_json(self, seen_id: int) -> str:
        """Encode for the journal, with the head before the first try."""
        partitions = self.partitions
        return to_pretty_json(
            without_nulls(
                {
                    "messages": encode_messages(self.messages),
                    "overwrites": self.overwrites,
                    "partitions": None if partitions is None else [p.hex() for p in partitions],
                    "expectedHead": identity_to(self.expected_head),
                    "summary": dict(self.summary),
                    "seenId": seen_id,
                }
            )
        )

    @classmethod
    def from_json(cls, data: bytes) -> tuple["RowCommit", int]:
        """Decode what `to_json` wrote; raises FormatError."""
        raw = JsonObject.parse(data, "journal of a write")
        partitions = raw.find("partitions", list)
        commit = cls(
            messages=decode_messages(raw.objects("messages")),
            overwrites=raw.get("overwrites", bool),
            partitions=None if partitions is None else tuple(map(bytes.fromhex, partitions)),
            expected_head=identity_from(raw.find("expectedHead", dict), raw.what),
            summary=raw.find("summary", dict) or {},
        )
        return commit, raw.get("seenId", int)


class RowWrite:
    """One write of rows to one branch, from its journal entry to its snapshot.

    Attributes:
        write_id: What the name of every file of this write holds.
    """

    def __init__(
        self, table: FileStoreTable, store: CommitStore, intent: Intent, clock: Callable[[], int]
    ) -> None:
        self._table = table
        self._store = store
        self._intent = intent
        self._clock = clock
        self._journal = Journal(store, table.paths)
        self.write_id = str(intent.plan[_WRITE_ID])

    @classmethod
    def begin(
        cls,
        table: FileStoreTable,
        store: CommitStore,
        *,
        operation_id: str,
        actor: str,
        statement: str,
        clock: Callable[[], int],
        process: Mapping[str, object] | None = None,
    ) -> "RowWrite":
        """Write the journal entry that comes before the first file.

        Args:
            table: The table on the branch to be written.
            store: Its store.
            operation_id: Names the write; see `resume` for one that may have begun before.
            actor: Who writes; the commit user.
            statement: What was asked for.
            clock: Milliseconds since the epoch.
            process: Who writes, from `this_process`; this process if left out.

        Raises:
            NotAllowed: The table has a feature whose commits are not made here.
        """
        check_features(table, table.schema())
        now_millis = clock()
        intent = Journal(store, table.paths).begin(
            Intent(
                operation_id=operation_id,
                procedure=PROCEDURE,
                actor=actor,
                branch=table.branch,
                statement=statement,
                time_millis=now_millis,
                event_millis=now_millis,
                plan={_WRITE_ID: uuid.uuid4().hex, **(process or this_process())},
            )
        )
        return cls(table, store, intent, clock)

    def publish(self, commit: RowCommit) -> Snapshot | None:
        """Make the snapshot and forget the journal's entries.

        Returns:
            The snapshot, None where nothing changed.

        Raises:
            CommitConflict: The commit cannot stand, or `recover` took the write back.
            StorageError: Whether the snapshot stands is not known; `recover` finds out.
        """
        head = self._table.head()
        seen_id = 0 if head is None else head.id
        content = commit.to_json(seen_id).encode()
        self._journal.mark(self._intent.operation_id, _PUBLISH, content)
        _raise_if_ended(self._journal, self._intent.operation_id)
        return land(self._table, self._store, self._intent, commit, self._clock, seen_id=None)

    def finish(self, figures: Mapping[str, int | None] | None = None) -> None:
        """End a write that stands, and keep what is to be told of it if it is asked for again."""
        operation_id = self._intent.operation_id
        if figures:
            content = json.dumps(dict(figures)).encode()
            self._journal.mark(operation_id, _RESULT, content)
        self._journal.forget(operation_id, (_PUBLISH,))

    @staticmethod
    def resume(
        table: FileStoreTable, store: CommitStore, operation_id: str, clock: Callable[[], int]
    ) -> Mapping[str, int | None] | None:
        """Look what became of an operation that may have run before.

        Where its commit had begun it is finished; where it had not, its files are removed.

        Returns:
            The figures of the write where it stands; None where it is to be made.

        Raises:
            CommitConflict: Its commit cannot stand any more, or `recover` took the write back.
        """
        journal = Journal(store, table.paths)
        known = journal.find(operation_id)
        if known is not None and journal.has_reached(operation_id, _PUBLISH):
            recover_write(table, store, known, clock)
        elif known is not None and not journal.has_reached(operation_id, _RESULT):
            RowWrite(table, store, known, clock).abandon(waits=False)
        result = journal.find_step(operation_id, _RESULT)
        if result is not None:
            found: Mapping[str, int | None] = json.loads(result)
            return found
        _raise_if_ended(journal, operation_id)
        return None

    def abandon(self, *, waits: bool = True) -> None:
        """Remove what was written; no snapshot names it.

        Args:
            waits: Whether tasks may still be at work, whose last files are waited for.
        """
        operation_id = self._intent.operation_id
        # Whoever recovers from here on must not commit files that are about to go.
        self._journal.forget_step(operation_id, _PUBLISH)
        _discard(self._table, self._store, self.write_id)
        if waits:
            time.sleep(_TASKS_END_SECONDS)
            _discard(self._table, self._store, self.write_id)
        self._journal.forget(operation_id, (_PUBLISH,))

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Take the write back where the body fails, unless it may have been published."""
        try:
            yield
        except BaseException as error:
            if self._may_stand(error):
                raise
            # What is refused was told by tasks that have ended; what failed or was stopped was not.
            has_ended = isinstance(error, InvalidInput | NotAllowed | CommitConflict)
            try:
                self.abandon(waits=not has_ended)
            except PaimonError as second:
                # Recovery finds the files by the journal; the first error is what happened.
                _log.warning("files of write %s stay until recovery: %s", self.write_id, second)
            raise

    def _may_stand(self, error: BaseException) -> bool:
        """Whether the snapshot may be there, or may come to be by somebody else's hand."""
        if isinstance(error, InvalidInput | NotAllowed):
            return False
        if isinstance(error, CommitConflict) and error.kind is not ErrorKind.INTERRUPTED:
            # One that only lost all its tries may have had an answer that came to nothing.
            return error.kind is ErrorKind.COMMIT_CONFLICT and "rule" not in error.facts
        try:
            return self._journal.has_reached(self._intent.operation_id, _PUBLISH)
        except PaimonError:
            return True


def _raise_if_ended(journal: Journal, operation_id: str) -> None:
    ended = journal.end_of(operation_id)
    if ended is not None:
        raise CommitConflict(
            ended.message or f"Operation {operation_id} was taken back.",
            kind=ErrorKind.INTERRUPTED,
        )


def this_process() -> dict[str, object]:
    """Who writes: by it `recover` knows a writer that is still at work."""
    return {_HOST: platform.node(), _PROCESS: os.getpid()}


def is_at_work(intent: Intent, now_millis: int) -> bool:
    """Whether the writer of a journal entry is alive, or may be where that cannot be asked."""
    plan = JsonObject(intent.plan, "journal of a write")
    if plan.find(_HOST, str) != platform.node():
        return now_millis - intent.time_millis < _FOREIGN_MILLIS
    process = plan.find(_PROCESS, int) or 0
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def recover_write(
    table: FileStoreTable, store: CommitStore, intent: Intent, clock: Callable[[], int]
) -> End:
    """Finish a write whose commit had begun, take back any other.

    Raises:
        CommitConflict: The commit cannot stand any more; its files are removed.
    """
    journal = Journal(store, table.paths)
    on_branch = table.on(intent.branch)
    write = RowWrite(on_branch, store, intent, clock)
    taken_back = End(
        ending=Ending.ROLLED_BACK,
        time_millis=clock(),
        message="The write had been cut off; its files are removed. Write the rows again.",
    )
    content = journal.find_step(intent.operation_id, _PUBLISH)
    if content is None:
        # From here on the writer, should it be alive after all, does not commit.
        taken_back = journal.finish(intent.operation_id, taken_back)
        content = journal.find_step(intent.operation_id, _PUBLISH)
    if content is None:
        write.abandon(waits=False)
        return taken_back
    commit, seen_id = RowCommit.from_json(content)
    try:
        snapshot = land(on_branch, store, intent, commit, clock, seen_id=seen_id)
    except CommitConflict as error:
        journal.finish(
            intent.operation_id,
            End(ending=Ending.STOPPED, time_millis=clock(), message=error.message),
        )
        write.abandon(waits=False)
        raise
    number = "no snapshot" if snapshot is None else f"snapshot {snapshot.id}"
    message = f"The commit was finished: {number}."
    done = journal.finish(
        intent.operation_id, End(ending=Ending.DONE, time_millis=clock(), message=message)
    )
    write.finish(
        {"snapshot_id": None if snapshot is None else snapshot.id, **commit.summary}
        if commit.summary
        else None
    )
    return done


def land(
    table: FileStoreTable,
    store: CommitStore,
    intent: Intent,
    commit: RowCommit,
    clock: Callable[[], int],
    *,
    seen_id: int | None,
) -> Snapshot | None:
    """Publish a commit of rows; with `seen_id` one that may have landed is looked for first."""
    publisher = FileStoreCommit(table, store, clock=clock)
    digest = hashlib.sha256(intent.operation_id.encode()).digest()
    identifier = int.from_bytes(digest[:7])
    if commit.overwrites:
        return publisher.overwrite(
            commit.messages,
            user=intent.actor,
            identifier=identifier,
            partitions=commit.partitions,
            expected_head=commit.expected_head,
            seen_id=seen_id,
        )
    return publisher.commit(
        commit.messages,
        user=intent.actor,
        identifier=identifier,
        expected_head=commit.expected_head,
        seen_id=seen_id,
    )


def files_of_write(table: FileStoreTable, store: CommitStore, write_id: str) -> Iterator[str]:
    """The paths of data, changelog and index files whose names hold the id of a write."""
    paths = table.data_paths()
    schema = table.schema()
    is_inside = schema.options.read(table_options.INDEX_FILE_IN_DATA_FILE_DIR)
    if not is_inside:
        folder = paths.index("").rstrip("/")
        yield from (f"{folder}/{name}" for name in store.files.names(folder) if write_id in name)
    directory = paths.data_directory.strip("/")
    top = f"{paths.table}/{directory}" if directory else paths.table
    for folder in _bucket_folders(store, top, len(schema.partition_keys)):
        yield from (f"{folder}/{name}" for name in store.files.names(folder) if write_id in name)


def _bucket_folders(store: CommitStore, folder: str, depth: int) -> Iterator[str]:
    is_wanted: Callable[[str], bool] = (
        (lambda name: name.startswith("bucket-")) if depth == 0 else (lambda name: "=" in name)
    )
    for name in sorted(filter(is_wanted, store.files.names(folder))):
        path = f"{folder}/{name}"
        if depth == 0:
            yield path
        else:
            yield from _bucket_folders(store, path, depth - 1)


def _discard(table: FileStoreTable, store: CommitStore, write_id: str) -> None:
    store.remover.discard(list(files_of_write(table, store, write_id)))
