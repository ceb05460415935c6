"""How a snapshot lands on a branch: once, on top of whatever head is there, or not at all.

Each try reads the head, looks whether an earlier one has landed, checks conflicts, writes
manifests and publishes. What is already published is never replaced.
Source: Paimon FileStoreCommitImpl.tryCommit; statements C01-C06, C10-C18, C24, C28.
"""

import contextlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.commit_queue import CommitQueue
from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.head_check import moved_text
from branch_console.commit.base.retry_policy import RetryPolicy
from branch_console.commit.snapshot.commit_attempt import Attempt, CommitAttempts, CommitNote
from branch_console.commit.snapshot.commit_changes import Changes, without_duplicates
from branch_console.commit.snapshot.commit_check import CommitCheck, check_features
from branch_console.commit.snapshot.commit_identity import CommitIdentity, snapshots_after_listed
from branch_console.commit.snapshot.commit_outcome import (
    Landed,
    Outcome,
    SnapshotState,
    Tried,
    TryAgain,
    outcome_of,
)
from branch_console.commit.snapshot.live_file_tracker import LiveFileTracker
from branch_console.commit.snapshot.publish_check import (
    is_base_gone,
    move_hints,
    was_replaced,
    withdraw_snapshot,
)
from branch_console.errors import CommitConflict, ErrorKind, NotAllowed
from branch_console.format import options as table_options
from branch_console.format.journals.rows import ReadAt
from branch_console.format.snapshot import NO_SNAPSHOT, CommitKind, Snapshot, SnapshotIdentity
from branch_console.format.table_schema import TableSchema
from branch_console.storage.file_publisher import Published
from branch_console.table.file_store_table import FileStoreTable

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRequest:
    """One snapshot to be made.

    `changes` are the changes, or compute them from a head and the live files of `partitions`.
    `partitions` are the partitions that may change, None for all. `seen_id` is the head before an
    earlier try whose outcome is not known. `since_id` is the head after which another process may
    make this same commit, if neither has begun. `read_at` is the head at which the rows were read
    that the changes were computed from. `carry` is called with a head and a schema that the changes
    were not made for; it raises CommitConflict if they do not apply there. `merges_manifests`
    merges all manifests that are small or delete files.
    """

    changes: Changes | Callable[[Snapshot | None, LiveFileTracker], Changes]
    partitions: frozenset[bytes] | None
    commit_id: CommitIdentity
    guard: SnapshotIdentity | None
    properties: Mapping[str, str] | None = None
    watermark: int | None = None
    seen_id: int | None = None
    since_id: int | None = None
    read_at: ReadAt | None = None
    checks_append: bool = False
    merges_manifests: bool = False
    carry: Callable[[Snapshot | None, TableSchema], None] | None = None

    def plan(self, head: Snapshot | None, live: LiveFileTracker) -> Changes:
        """Return the changes on top of a head."""
        return self.changes if isinstance(self.changes, Changes) else self.changes(head, live)

    def is_guarded_at(self, head: Snapshot | None) -> bool:
        """Whether a head is just the one that was asked for."""
        now = NO_SNAPSHOT if head is None else head.identity
        return self.guard is not None and now.same_as(self.guard)


class CommitLoop:
    """Commits snapshots to one branch of one table."""

    def __init__(
        self,
        table: FileStoreTable,
        store: CommitStore,
        *,
        clock: Callable[[], int],
        new_uuid: Callable[[], str],
        sleep: Callable[[float], None],
        jitter: Callable[[], float],
        queue: CommitQueue,
        callbacks: tuple[Callable[[Snapshot], object], ...],
        without_callbacks: bool,
    ) -> None:
        self._table = table
        self._store = store
        self._clock = clock
        self._new_uuid = new_uuid
        self._sleep = sleep
        self._jitter = jitter
        self._queue = queue
        self._callbacks = callbacks
        self._without_callbacks = without_callbacks

    def commit(self, request: SnapshotRequest) -> Snapshot:
        """Retry until the snapshot is published, then run the callbacks."""
        attempts = CommitAttempts(
            self._table, self._store, clock=self._clock, new_uuid=self._new_uuid
        )
        landed: Snapshot | None = None
        try:
            landed = self._try_all(request, attempts)
        finally:
            attempts.close(landed)
        for callback in self._callbacks:
            try:
                callback(landed)
            except Exception:  # the commit stands, whatever becomes of its news
                _log.exception("a callback of snapshot %d failed", landed.id)
        return landed

    def _try_all(self, request: SnapshotRequest, attempts: CommitAttempts) -> Snapshot:
        schema = self._table.schemas.last_seen()
        if isinstance(request.changes, Changes):
            # Encode before our turn in the queue, so that other writers do not wait. What the
            # newest schema does not allow is told once that is read.
            with contextlib.suppress(NotAllowed):
                attempts.encode_ahead(request.changes, schema)
        check = CommitCheck(self._table, request.commit_id, request.read_at)
        tried = Tried(
            seen_id=request.since_id if request.seen_id is None else request.seen_id,
            may_have_landed=request.seen_id is not None,
            live=LiveFileTracker(self._table, request.partitions),
        )
        policy = RetryPolicy.of(schema.options)
        for _ in policy.tries(clock=self._clock, sleep=self._sleep, jitter=self._jitter):
            match self._try_once(request, attempts, check, tried):
                case Landed() as landed:
                    return landed.snapshot
                case TryAgain() as again:
                    tried = again.tried
        found = self._find_own(request.commit_id, tried.seen_id, self._table.head())
        if found is not None and not was_replaced(self._table, found, self._sleep):
            return found
        if tried.failure is not None:
            raise tried.failure
        raise CommitConflict(
            f"The commit to {self._table.identifier} lost against other writers in all its tries. "
            "Nothing was published; try again, or raise commit.max-retries.",
            kind=ErrorKind.COMMIT_CONFLICT,
        )

    def _try_once(
        self, request: SnapshotRequest, attempts: CommitAttempts, check: CommitCheck, tried: Tried
    ) -> Outcome:
        """Look for an earlier try, or make a snapshot and send it; then see whether it stands."""
        with self._queue.turn() as end_turn:
            head, schema = self._table.head_and_schema()
            earlier = self._find_earlier(request, attempts, tried, head)
            if earlier is None:
                self._check_guard(request, head, schema)
                attempt = self._prepare(request, attempts, check, tried.live, head, schema)
                published, failure = attempts.publish(attempt, end_turn)
                afresh = LiveFileTracker(self._table, request.partitions)
                tried = tried.after(head, published, failure, afresh)
        if earlier is not None:
            is_replaced = was_replaced(self._table, earlier, self._sleep)
            state = SnapshotState.REPLACED if is_replaced else SnapshotState.STANDS
            return outcome_of(earlier, tried, None, state)
        state = SnapshotState.NOT_LOOKED
        if published is Published.WON:
            state = self._confirm(attempt, attempts, head)
        outcome = outcome_of(attempt.snapshot, tried, published, state)
        if isinstance(outcome, TryAgain):
            _log.info("snapshot %d is tried again: %s", attempt.snapshot.id, outcome.why)
        return outcome

    def _find_earlier(
        self,
        request: SnapshotRequest,
        attempts: CommitAttempts,
        tried: Tried,
        head: Snapshot | None,
    ) -> Snapshot | None:
        """The snapshot by which an earlier try of this commit is in the history; else None."""
        found = self._find_own(request.commit_id, tried.seen_id, head)
        if found is None and tried.may_have_landed and _is_already_in_effect(head, request, tried):
            attempts.keep_possibly_published()
            return head
        return found

    def _confirm(
        self, attempt: Attempt, attempts: CommitAttempts, base: Snapshot | None
    ) -> SnapshotState:
        """Point the hints at a snapshot that was just published, and see what became of it.

        Raises:
            CommitConflict: The branch is gone, and the snapshot was taken back.
        """
        table, snapshot = self._table, attempt.snapshot
        with table.reader.asking() as ask:
            hints = ask(lambda: move_hints(self._store, table.paths, snapshot))
            is_replaced = ask(lambda: was_replaced(table, snapshot, self._sleep))
            is_base_lost = ask(lambda: is_base_gone(table, base))
        hints.result()
        if is_replaced.result():
            _log.warning("snapshot %d was replaced by another writer", snapshot.id)
            attempts.keep_possibly_published()
            return SnapshotState.REPLACED
        if not is_base_lost.result() or not withdraw_snapshot(self._store, table, snapshot):
            return SnapshotState.STANDS
        attempts.forget(attempt)
        self._check_branch()
        return SnapshotState.WITHDRAWN

    def _check_branch(self) -> None:
        if self._table.schemas.find_latest() is None:
            raise CommitConflict(
                f"Branch {self._table.branch!r} of {self._table.identifier.table_name} was dropped "
                "or renamed while this commit was made. Nothing was published; look at the "
                "branches, then write again.",
                kind=ErrorKind.BRANCH_NOT_FOUND,
                branch=self._table.branch,
            )

    def _prepare(
        self,
        request: SnapshotRequest,
        attempts: CommitAttempts,
        check: CommitCheck,
        live: LiveFileTracker,
        head: Snapshot | None,
        schema: TableSchema,
    ) -> Attempt:
        check_features(self._table, schema, without_callbacks=self._without_callbacks)
        changes = request.plan(head, live)
        is_append = request.commit_id.kind is CommitKind.APPEND
        if is_append and schema.options.read(table_options.COMMIT_DISCARD_DUPLICATE_FILES):
            changes = without_duplicates(changes, live.at(head))
        # On top of the snapshot that was asked for, no earlier try of this commit can have landed.
        may_have_landed = request.seen_id is not None and not request.is_guarded_at(head)
        is_old = request.checks_append or may_have_landed
        check.raise_unless_it_stands(changes, head, live, schema, must_look=is_old)
        note = CommitNote(
            commit_id=request.commit_id,
            properties=request.properties or {},
            watermark=request.watermark,
            readds_files=is_old or changes.restored is not None,
            merges_manifests=request.merges_manifests,
        )
        return attempts.prepare(changes, note, head, schema)

    def _find_own(
        self, commit_id: CommitIdentity, seen_id: int | None, head: Snapshot | None
    ) -> Snapshot | None:
        if seen_id is None:
            return None
        return commit_id.find_in(snapshots_after_listed(self._table, seen_id, head))

    def _check_guard(
        self, request: SnapshotRequest, head: Snapshot | None, schema: TableSchema
    ) -> None:
        if request.guard is None or request.is_guarded_at(head):
            return
        if request.carry is not None:
            request.carry(head, schema)
            return
        raise CommitConflict(
            f"{moved_text(self._table.branch, head)} Nothing was published; plan again.",
            kind=ErrorKind.HEAD_MOVED,
            branch=self._table.branch,
        )


def _is_already_in_effect(head: Snapshot | None, request: SnapshotRequest, tried: Tried) -> bool:
    """Whether the changes of a commit are in a head already, made by any writer."""
    if head is None or request.is_guarded_at(head):
        # On top of what was asked for nothing of it stands, and no live file has to be read.
        return False
    changes = request.plan(head, tried.live)
    if request.carry is not None and not (tried.was_sent_here or changes.added.num_rows):
        # Others may have taken away what was to go, and keep its rows elsewhere.
        return False
    return _is_in_effect(changes, tried.live.at(head))


def _is_in_effect(changes: Changes, live: pa.Table) -> bool:
    files = changes.added if changes.added.num_rows else changes.delta
    found = pc.is_in(files["identity"], value_set=live["identity"]).to_pylist()
    return all(found) if changes.added.num_rows else bool(found) and not any(found)
