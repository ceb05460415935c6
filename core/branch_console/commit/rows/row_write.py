"""The writing of rows from its first file to its snapshot, so that a crash leaves nothing behind.

Before the first file the journal learns the id that all names of this write hold; before the
snapshot it learns what is to be published. Cut off before the second entry, a write is taken back:
its files are found by the id. Cut off after it, the commit is finished. What went well leaves one
small file that says so.

A writer that only seemed to be dead may go on at any time. So the second entry is made once, by the
writer or by who takes the write back, and whoever was second knows it; and a commit is looked for
before it is made, so that of two who make it one finds the other's.
"""

import logging
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.this_process import is_alive, this_process
from branch_console.commit.journal import Journal
from branch_console.commit.rows.row_commit import RowCommit, has_landed, land
from branch_console.commit.rows.write_files import files_of_write, find_missing, remove_unnamed
from branch_console.commit.rows.write_receipt import RESULT, encode_result, figures_in
from branch_console.commit.snapshot.commit_check import check_features
from branch_console.errors import CommitConflict, ErrorKind, InvalidInput, NotAllowed, PaimonError
from branch_console.format.journals.intent import End, Ending, Intent
from branch_console.format.journals.rows import (
    TAKEN_BACK,
    WRITE_JOURNAL,
    WRITE_STEP,
    WRITER,
    WriteJournal,
    WriterProcess,
)
from branch_console.format.json_text import to_pretty_json
from branch_console.format.snapshot import Snapshot
from branch_console.table.file_store_table import FileStoreTable

PROCEDURE: Final = "write_rows"
"""The name of every write of rows in the journal."""

_PUBLISH: Final = "publish"
# Spark gives a Python worker that it stops so long to end; until then it may finish a file.
_TASKS_END_SECONDS: Final = 2.5
_FOREIGN_MILLIS: Final = 3_600_000

_log = logging.getLogger(__name__)


class RowWrite:
    """One write of rows to one branch, from its journal entry to its snapshot.

    Attributes:
        write_id: The id that the name of every file of this write contains.
    """

    def __init__(
        self, table: FileStoreTable, store: CommitStore, intent: Intent, clock: Callable[[], int]
    ) -> None:
        self._table = table
        self._store = store
        self._intent = intent
        self._clock = clock
        self._journal = Journal(store, table.paths)
        self.write_id = self._journal.decode(intent, WRITE_JOURNAL).write_id

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
        process: WriterProcess | None = None,
        without_callbacks: bool = False,
    ) -> "RowWrite":
        """Write the journal entry that comes before the first file.

        Args:
            table: The table on the branch to be written.
            store: Its store.
            operation_id: Names the write; see `resume` for one that may have begun before.
            actor: The writer, used as commit user.
            statement: The statement.
            clock: Milliseconds since the epoch.
            process: Who writes, from `this_process`; this process if left out.
            without_callbacks: Whether an operator leaves out what Paimon would do for others; the
                properties of the commit tell why.

        Raises:
            NotAllowed: The table has a feature whose commits are not made here.
        """
        check_features(table, table.schema(), without_callbacks=without_callbacks)
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
                plan=WRITE_JOURNAL.encode(
                    WriteJournal(write_id=uuid.uuid4().hex, writer=process or this_process())
                ),
            )
        )
        return cls(table, store, intent, clock)

    def publish(self, commit: RowCommit) -> Snapshot | None:
        """Make the snapshot and forget the journal's entries.

        Returns:
            The snapshot, None if nothing changed.

        Raises:
            CommitConflict: The commit cannot stand, or `recover` took the write back; then its
                files are gone.
            StorageError: Whether the snapshot stands is not known; `recover` finds out.
        """
        self._raise_if_missing(commit.messages)
        head = self._table.head()
        since_id = 0 if head is None else head.id
        step = to_pretty_json(WRITE_STEP.encode(commit.to_step(since_id)))
        self._decide(step.encode())
        snapshot = land(
            self._table, self._store, self._intent, commit, self._clock, since_id=since_id
        )
        if commit.has_strays:
            self._remove_strays(commit.messages)
        return snapshot

    def finish(self, figures: Mapping[str, int | None] | None = None) -> None:
        """End a write that was published, and keep its result for a repeated call."""
        operation_id = self._intent.operation_id
        if figures:
            content = encode_result(self._table, self._intent, figures, self._clock())
            self._journal.mark(operation_id, RESULT, content)
        self._journal.remove_intent(operation_id, (_PUBLISH,))

    def _decide(self, content: bytes) -> None:
        """Make the journal entry after which this write is only finished, never discarded.

        Raises:
            CommitConflict: Somebody took it back before, or runs the same operation.
        """
        operation_id = self._intent.operation_id
        is_first = self._journal.mark(operation_id, _PUBLISH, content) == content
        # Who takes a write back ends it before it forgets it.
        known = self._journal.find(operation_id)
        ended = self._journal.end_of(operation_id)
        is_known = (
            known is not None
            and self._journal.decode(known, WRITE_JOURNAL).write_id == self.write_id
        )
        if is_first and (is_known if ended is None else ended.ending is Ending.DONE):
            return
        if is_first:
            self._journal.forget_step(operation_id, _PUBLISH)
        _discard(self._table, self._store, self.write_id)
        obstacle = None if ended is None else ended.message
        raise CommitConflict(
            obstacle
            or f"Operation {operation_id} was taken back, as its writer seemed to be dead.",
            kind=ErrorKind.INTERRUPTED,
        )

    def _raise_if_missing(self, messages: Sequence[CommitMessage]) -> None:
        """Refuse to name files that somebody removed: nobody knows of what is not published."""
        if self._clock() - self._intent.time_millis < _FOREIGN_MILLIS:
            return
        missing = find_missing(self._table, self._store, self.write_id, messages)
        if missing:
            raise CommitConflict(
                f"{missing[0]} and perhaps other files of this write are gone: it took so long "
                "that they were taken for orphans. Nothing was published; write the rows again.",
                kind=ErrorKind.COMMIT_CONFLICT,
                rule="missing-files",
            )

    def _remove_strays(
        self, messages: Sequence[CommitMessage], *, everywhere: bool = False
    ) -> None:
        try:
            remove_unnamed(self._table, self._store, self.write_id, messages, everywhere=everywhere)
        except PaimonError as error:
            # The rows stand. What is left is unreferenced, and old soon enough to be an orphan.
            _log.warning("files of repeated tasks of %s stay: %s", self.write_id, error)

    @staticmethod
    def resume(
        table: FileStoreTable, store: CommitStore, operation_id: str, clock: Callable[[], int]
    ) -> Mapping[str, int | None] | None:
        """Look what became of an operation that may have run before.

        Where its commit had begun it is finished; where it had not, its files are removed.

        Returns:
            The figures of the write where it stands; None if it is to be made.

        Raises:
            CommitConflict: Its commit cannot stand any more, or `recover` took the write back.
        """
        journal = Journal(store, table.paths)
        known = journal.find(operation_id)
        if known is not None and journal.has_reached(operation_id, _PUBLISH):
            recover_write(table, store, known, clock)
        elif known is not None and not journal.has_reached(operation_id, RESULT):
            write = RowWrite(table, store, known, clock)
            write.discard(waits=write.has_files())
        result = journal.find_step(operation_id, RESULT)
        if result is not None:
            return figures_in(result)
        _raise_if_ended(journal, operation_id)
        return None

    def has_files(self) -> bool:
        """Whether tasks have begun to write, which may outlive their driver for a while."""
        return any(True for _ in files_of_write(self._table, self._store, self.write_id))

    def discard(self, *, waits: bool = True) -> None:
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
        self._journal.remove_intent(operation_id, (_PUBLISH,))

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
                self.discard(waits=not has_ended)
            except PaimonError as second:
                # Recovery finds the files by the journal; the first error is what happened.
                _log.warning("files of write %s stay until recovery: %s", self.write_id, second)
            raise

    def _may_stand(self, error: BaseException) -> bool:
        """Whether the snapshot may be there, or what was written is somebody else's to remove."""
        if isinstance(error, InvalidInput | NotAllowed):
            return False
        if isinstance(error, CommitConflict):
            return error.kind is ErrorKind.INTERRUPTED or _has_only_lost(error)
        try:
            return self._journal.has_reached(self._intent.operation_id, _PUBLISH)
        except PaimonError:
            return True


def _has_only_lost(error: CommitConflict) -> bool:
    """Whether a commit lost all its tries: one of them may have had an answer that was lost."""
    return error.kind is ErrorKind.COMMIT_CONFLICT and "rule" not in error.facts


def _raise_if_ended(journal: Journal, operation_id: str) -> None:
    ended = journal.end_of(operation_id)
    if ended is not None:
        raise CommitConflict(
            ended.message or f"Operation {operation_id} was taken back.",
            kind=ErrorKind.INTERRUPTED,
        )


def is_at_work(journal: Journal, intent: Intent, now_millis: int) -> bool:
    """Whether the writer of a journal entry is alive, or may be where that cannot be asked.

    Raises:
        FormatError: The entry cannot be read.
    """
    alive = is_alive(journal.decode(intent, WRITER))
    return now_millis - intent.time_millis < _FOREIGN_MILLIS if alive is None else alive


def recover_write(
    table: FileStoreTable, store: CommitStore, intent: Intent, clock: Callable[[], int]
) -> End:
    """Finish a write whose commit had begun; discard any other.

    Raises:
        CommitConflict: The commit cannot stand any more; its files are removed.
    """
    journal = Journal(store, table.paths)
    on_branch = table.on(intent.branch)
    write = RowWrite(on_branch, store, intent, clock)
    content = journal.find_step(intent.operation_id, _PUBLISH)
    if content is None:
        # From here on the writer, should it be alive after all, does not commit.
        content = journal.mark(intent.operation_id, _PUBLISH, TAKEN_BACK)
    if content == TAKEN_BACK:
        taken_back = End(
            ending=Ending.ROLLED_BACK,
            time_millis=clock(),
            message="The write had been cut off; its files are removed. Write the rows again.",
        )
        taken_back = journal.finish(intent.operation_id, taken_back)
        write.discard(waits=write.has_files())
        return taken_back
    step = journal.decode_step(intent.operation_id, _PUBLISH, content, WRITE_STEP)
    commit, seen_id = RowCommit.from_step(step), step.seen_id
    try:
        if not has_landed(on_branch, intent, seen_id):
            write._raise_if_missing(commit.messages)
        snapshot = land(on_branch, store, intent, commit, clock, seen_id=seen_id)
    except CommitConflict as error:
        if _has_only_lost(error):
            raise
        journal.finish(
            intent.operation_id,
            End(ending=Ending.STOPPED, time_millis=clock(), message=error.message),
        )
        write.discard(waits=False)
        raise
    write._remove_strays(commit.messages, everywhere=True)
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


def _discard(table: FileStoreTable, store: CommitStore, write_id: str) -> None:
    store.remover.discard(list(files_of_write(table, store, write_id)))
