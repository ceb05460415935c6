"""How a snapshot lands on a branch: once, on top of whatever head is there, or not at all.

Each try reads the head, looks whether an earlier one has landed, checks conflicts, writes
manifests and publishes. What is already published is never replaced.
Source: Paimon FileStoreCommitImpl.tryCommit; statements C01-C06, C10-C18, C24, C28.
"""

import contextlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.commit_queue import CommitQueue
from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.head_check import moved_text
from branch_console.commit.base.retry_policy import RetryPolicy
from branch_console.commit.snapshot.commit_attempt import Attempt, CommitAttempts, CommitNote
from branch_console.commit.snapshot.commit_changes import Changes, without_duplicates
from branch_console.commit.snapshot.commit_check import CommitCheck, check_features
from branch_console.commit.snapshot.commit_identity import CommitId, snapshots_since
from branch_console.commit.snapshot.live_file_tracker import LiveView
from branch_console.commit.snapshot.publish_check import (
    has_lost_its_base,
    move_hints,
    take_back,
    was_replaced,
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

    `changes` are what changes, or tell it from a head. `partitions` are those that may change, None
    for all; the live files that `changes` is handed are theirs. `seen_id` is the head before an
    earlier try whose outcome is not known, `since_id` the head behind which somebody else may make
    this same commit, where neither has begun. `read_at` is where the rows were read that the
    changes were computed from. `carry` is asked about a head and a schema that the changes were not
    made for: it raises CommitConflict where they do not hold there.
    """

    changes: Changes | Callable[[Snapshot | None, LiveView], Changes]
    partitions: frozenset[bytes] | None
    commit_id: CommitId
    guard: SnapshotIdentity | None
    properties: Mapping[str, str] | None = None
    watermark: int | None = None
    seen_id: int | None = None
    since_id: int | None = None
    read_at: ReadAt | None = None
    checks_append: bool = False
    carry: Callable[[Snapshot | None, TableSchema], None] | None = None

    def plan(self, head: Snapshot | None, live: LiveView) -> Changes:
        """What changes on top of a head."""
        return self.changes if isinstance(self.changes, Changes) else self.changes(head, live)

    def is_guarded_at(self, head: Snapshot | None) -> bool:
        """Whether a head is just the one that was asked for."""
        now = NO_SNAPSHOT if head is None else head.identity
        return self.guard is not None and now.same_as(self.guard)


class _Fate(Enum):
    """What became of a snapshot since it was published."""

    STANDS = auto()
    REPLACED = auto()
    LOST_ITS_BASE = auto()


class Landing:
    """Lands snapshots on one branch of one table."""

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

    def land(self, request: SnapshotRequest) -> Snapshot:
        """Try until the snapshot stands, and tell who asked to be told."""
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
        check = CommitCheck(self._table, request.commit_id, request.read_at)
        live = LiveView(self._table, request.partitions)
        schema = self._table.schemas.last_seen()
        policy = RetryPolicy.of(schema.options)
        if isinstance(request.changes, Changes):
            # Others can have their turn meanwhile. What the newest schema does not allow is told
            # once that is read.
            with contextlib.suppress(NotAllowed):
                attempts.encode_ahead(request.changes, schema)
        seen_id = request.since_id if request.seen_id is None else request.seen_id
        failure, was_sent, is_ours = None, request.seen_id is not None, False
        for _ in policy.tries(clock=self._clock, sleep=self._sleep, jitter=self._jitter):
            is_new = False
            with self._queue.turn() as end_turn:
                head, schema = self._table.head_and_schema()
                standing = self._find_own(request.commit_id, seen_id, head)
                if standing is None and was_sent and _shows_in(head, request, live, is_ours):
                    attempts.spare_sent()
                    standing = head
                if standing is None:
                    self._check_guard(request, head, schema)
                    attempt = self._prepare(request, attempts, check, live, head, schema)
                    seen_id = 0 if head is None else head.id
                    outcome, failure = attempts.publish(attempt, end_turn)
                    if outcome is not Published.LOST:
                        # Others may build on it, which stands even where it is replaced itself.
                        was_sent, is_ours = True, True
                        live = LiveView(self._table, request.partitions)
                    if outcome is Published.WON:
                        standing, is_new = attempt.snapshot, True
            if standing is None:
                # LOST and UNKNOWN both go round: only the search above tells whether we are in the
                # history, and until then nothing of the attempt may be removed (C18).
                _log.info("snapshot %d: %s", attempt.snapshot.id, outcome)
            elif is_new:
                match self._fate_of(standing, head):
                    case _Fate.STANDS:
                        return standing
                    case _Fate.REPLACED:
                        _log.warning("snapshot %d was replaced by another writer", standing.id)
                        attempts.spare_sent()
                    case _Fate.LOST_ITS_BASE:
                        if not take_back(self._store, self._table, standing):
                            return standing
                        attempts.forget(attempt)
                        self._check_branch()
            elif not was_replaced(self._table, standing, self._sleep):
                return standing
        landed = self._find_own(request.commit_id, seen_id, self._table.head())
        if landed is not None and not was_replaced(self._table, landed, self._sleep):
            return landed
        if failure is not None:
            raise failure
        raise CommitConflict(
            f"The commit to {self._table.identifier} lost against other writers in all its tries. "
            "Nothing was published; try again, or raise commit.max-retries.",
            kind=ErrorKind.COMMIT_CONFLICT,
        )

    def _fate_of(self, standing: Snapshot, base: Snapshot | None) -> _Fate:
        """Point the hints at a snapshot that was just published, and look what became of it."""
        table = self._table
        with table.reader.asking() as ask:
            hints = ask(lambda: move_hints(self._store, table.paths, standing))
            is_replaced = ask(lambda: was_replaced(table, standing, self._sleep))
            is_lost = ask(lambda: has_lost_its_base(table, base))
        hints.result()
        if is_replaced.result():
            return _Fate.REPLACED
        return _Fate.LOST_ITS_BASE if is_lost.result() else _Fate.STANDS

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
        live: LiveView,
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
        )
        return attempts.prepare(changes, note, head, schema)

    def _find_own(
        self, commit_id: CommitId, seen_id: int | None, head: Snapshot | None
    ) -> Snapshot | None:
        if seen_id is None:
            return None
        return commit_id.find_in(snapshots_since(self._table, seen_id, head))

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


def _shows_in(
    head: Snapshot | None, request: SnapshotRequest, live: LiveView, is_ours: bool
) -> bool:
    """Whether what a commit changes shows in a head, whoever's snapshot that is.

    `is_ours` says that it was sent from here, not perhaps by a process of before.
    """
    if head is None or request.is_guarded_at(head):
        # On top of what was asked for nothing of it stands, and no live file has to be read.
        return False
    changes = request.plan(head, live)
    if request.carry is not None and not (is_ours or changes.added.num_rows):
        # Others may have taken away what was to go, and keep its rows elsewhere.
        return False
    return _is_in_effect(changes, live.at(head))


def _is_in_effect(changes: Changes, live: pa.Table) -> bool:
    files = changes.added if changes.added.num_rows else changes.delta
    found = pc.is_in(files["identity"], value_set=live["identity"]).to_pylist()
    return all(found) if changes.added.num_rows else bool(found) and not any(found)
