"""The second phase of a commit: files that writers made become a snapshot, once, or not at all.

Here stands what a commit, an overwrite or a restore changes; how it lands is in `commit_loop`.
Source: Paimon FileStoreCommitImpl.
"""

import logging
import random
import time
import uuid
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.base.commit_queue import CommitQueue, queue_of
from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.snapshot.commit_changes import (
    Changes,
    append_part,
    compact_part,
    replacing,
    restoring,
)
from branch_console.commit.snapshot.commit_identity import CommitIdentity
from branch_console.commit.snapshot.commit_loop import CommitLoop, SnapshotRequest
from branch_console.commit.snapshot.live_file_tracker import LiveFileTracker
from branch_console.commit.snapshot.overwrite_upgrade import upgraded
from branch_console.errors import InvalidInput
from branch_console.format import options as table_options
from branch_console.format.index_manifest import NO_INDEX_FILES
from branch_console.format.journals.rows import ReadAt
from branch_console.format.snapshot import (
    BATCH_COMMIT_IDENTIFIER,
    CommitKind,
    Snapshot,
    SnapshotIdentity,
)
from branch_console.format.table_schema import TableSchema
from branch_console.table.file_store_table import FileStoreTable

_log = logging.getLogger(__name__)


class FileStoreCommit:
    """Commits to one branch of one table.

    `callbacks` are called with the snapshot once a commit has landed, also if that was only found
    out afterwards (C28).
    """

    def __init__(
        self,
        table: FileStoreTable,
        store: CommitStore,
        *,
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        new_uuid: Callable[[], str] = lambda: str(uuid.uuid4()),
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
        queue: CommitQueue | None = None,
        callbacks: Sequence[Callable[[Snapshot], object]] = (),
        without_callbacks: bool = False,
    ) -> None:
        self._table = table
        self._loop = CommitLoop(
            table,
            store,
            clock=clock,
            new_uuid=new_uuid,
            sleep=sleep,
            jitter=jitter,
            queue=queue or queue_of(table),
            callbacks=tuple(callbacks),
            without_callbacks=without_callbacks,
        )

    def commit(
        self,
        messages: Sequence[CommitMessage],
        *,
        user: str,
        identifier: int = BATCH_COMMIT_IDENTIFIER,
        kind: CommitKind | None = None,
        properties: Mapping[str, str] | None = None,
        expected_head: SnapshotIdentity | None = None,
        watermark: int | None = None,
        seen_id: int | None = None,
        since_id: int | None = None,
        read_at: ReadAt | None = None,
        check_append: bool = False,
        may_be_empty: bool = False,
        carry: Callable[[Snapshot | None, TableSchema], None] | None = None,
    ) -> Snapshot | None:
        """Publish what writers made: the appended part first, then the compacted part.

        Args:
            messages: From the writers.
            user: The commit user.
            identifier: The identifier of the commit, unique for its user.
            kind: The kind of the appended part; None makes it OVERWRITE if something is deleted,
                else APPEND.
            properties: The properties of the snapshots.
            expected_head: Commit only on top of this snapshot.
            watermark: The watermark of the appended part; it never falls.
            seen_id: The head before an earlier try whose outcome is not known.
            since_id: A head behind which somebody else may make this same commit meanwhile.
            read_at: Where the rows were read that the appended part was computed from: nobody may
                have written rows with their keys since.
            check_append: Look whether appended files are live already, or were before. To be set
                for files that were not written for this commit; a commit that may have been made
                before is looked at in any case.
            may_be_empty: Publish a snapshot also if the messages change nothing, for what its
                properties say.
            carry: Judges a head, and the newest schema, where these are not those of
                `expected_head`: raises CommitConflict if the messages do not hold there. Without
                it no other head is built on. The compacted part is committed without it.

        Returns:
            The last snapshot, or None if the messages change nothing.

        Raises:
            CommitConflict: The commit cannot stand, the head is another, or all retries lost.
            NotAllowed: The table has a feature or an option that commits here do not know.
            StorageError: The store does not answer; whether the commit stands is not known.
        """
        snapshot, guard = None, expected_head
        append, compact = append_part(messages), compact_part(messages)
        # Appended files get a snapshot of their own before the compacted ones (C04), as in Paimon:
        # readers of changes skip COMPACT snapshots, and must not skip rows with them.
        if may_be_empty or not append.is_empty:
            snapshot = self._loop.commit(
                SnapshotRequest(
                    changes=append,
                    partitions=append.partitions,
                    commit_id=CommitIdentity(
                        user=user, identifier=identifier, kind=kind or append.natural_kind
                    ),
                    guard=guard,
                    properties=properties,
                    watermark=watermark,
                    seen_id=seen_id,
                    since_id=since_id,
                    read_at=read_at,
                    checks_append=check_append,
                    carry=carry,
                )
            )
            # The caller's head is not the head any more: the appended part has just replaced it.
            guard = None if guard is None else snapshot.identity
        if not compact.is_empty:
            snapshot = self._land_compact(
                compact, user, identifier, properties, guard, seen_id, since_id
            )
        return snapshot

    def overwrite(
        self,
        messages: Sequence[CommitMessage],
        *,
        user: str,
        partitions: Sequence[bytes] | None = None,
        identifier: int = BATCH_COMMIT_IDENTIFIER,
        properties: Mapping[str, str] | None = None,
        expected_head: SnapshotIdentity | None = None,
        watermark: int | None = None,
        seen_id: int | None = None,
        since_id: int | None = None,
    ) -> Snapshot | None:
        """Replace what partitions hold; the files that go are looked up again on every retry.

        Args:
            messages: The new files; their changelog is left out.
            user: The commit user.
            partitions: Encoded partitions to replace (static). None replaces those of the new
                files (dynamic), or all if the table has no partitions or its option
                `dynamic-partition-overwrite` is false.
            identifier: The identifier of the commit, unique for its user.
            properties: The properties of the snapshot.
            expected_head: Commit only on top of this snapshot.
            watermark: The watermark of the snapshot; it never falls.
            seen_id: The head before an earlier try whose outcome is not known.
            since_id: As for `commit`.

        Returns:
            The last snapshot, or None if a dynamic overwrite has no new files.

        Raises:
            InvalidInput: A new file belongs to none of the partitions.
            CommitConflict: As for `commit`.
        """
        schema = self._table.schema()
        new, compact = append_part(messages), compact_part(messages)
        if new.changelog.num_rows or compact.changelog.num_rows:
            _log.warning("an overwrite of %s leaves its changelog out", self._table.identifier)
        chosen = self._overwritten(partitions, new)
        # A dynamic overwrite replaces the partitions of its new files: without files it replaces
        # none.
        if chosen == frozenset():
            return None
        if compact.is_empty:
            new = upgraded(new, schema)

        def plan(head: Snapshot | None, live: LiveFileTracker) -> Changes:
            # Called again on every try: files that others added meanwhile must go too, as in
            # Paimon.
            return replacing(new, live.at(head), self._index_files(head, chosen))

        snapshot = self._loop.commit(
            SnapshotRequest(
                changes=plan,
                partitions=chosen,
                commit_id=CommitIdentity(
                    user=user, identifier=identifier, kind=CommitKind.OVERWRITE
                ),
                guard=expected_head,
                properties=properties,
                watermark=watermark,
                seen_id=seen_id,
                since_id=since_id,
            )
        )
        if compact.is_empty:
            return snapshot
        guard = None if expected_head is None else snapshot.identity
        return self._land_compact(compact, user, identifier, properties, guard, seen_id, since_id)

    def restore(
        self,
        snapshot: Snapshot,
        *,
        user: str,
        identifier: int = BATCH_COMMIT_IDENTIFIER,
        guard: SnapshotIdentity | None = None,
        properties: Mapping[str, str] | None = None,
        seen_id: int | None = None,
    ) -> Snapshot:
        """Go back to what the branch held before, in one new OVERWRITE snapshot on its head.

        The history stays. The files of then are named again, not copied: whether the data files
        still exist is not looked at here, which whoever plans a rollback has to do first; and
        Paimon's expiry of the snapshots in between removes them unless a tag holds them. The
        schema stays the newest, row ids and the watermark never go back, and statistics come along
        as far as they were computed for the newest schema.

        Args:
            snapshot: The snapshot of this branch to go back to, from its snapshots or one of its
                tags.
            user: The commit user.
            identifier: The identifier of the commit, unique for its user.
            guard: Commit only on top of this snapshot; without it, what goes and what comes back
                is looked up again whenever the head moved.
            properties: The properties of the new snapshot.
            seen_id: The head before an earlier try whose outcome is not known.

        Raises:
            CommitConflict: The head is another than the guard says, or all retries lost.
            FormatError: A manifest of either snapshot is missing or broken.

        References:
            Paimon FileStoreCommitImpl.rollbackToAsLatest.
        """
        then = self._table.live_files(snapshot)
        return self._loop.commit(
            SnapshotRequest(
                # Computed on every try: files that others added meanwhile must go too.
                changes=lambda head, live: restoring(then, live.at(head), snapshot),
                partitions=None,
                commit_id=CommitIdentity(
                    user=user, identifier=identifier, kind=CommitKind.OVERWRITE
                ),
                guard=guard,
                properties=properties,
                seen_id=seen_id,
            )
        )

    def merge_manifests(
        self,
        *,
        user: str,
        identifier: int = BATCH_COMMIT_IDENTIFIER,
        properties: Mapping[str, str] | None = None,
        seen_id: int | None = None,
    ) -> Snapshot:
        """Publish a COMPACT snapshot whose manifests are few and delete no file; no file changes.

        Args:
            user: The commit user.
            identifier: The identifier of the commit, unique for its user.
            properties: The properties of the snapshot.
            seen_id: The head before an earlier try whose outcome is not known.

        Raises:
            CommitConflict: All retries lost.
            FormatError: A manifest of the head is missing or broken.

        References:
            Paimon FileStoreCommitImpl.compactManifest.
        """
        return self._loop.commit(
            SnapshotRequest(
                changes=append_part([]),
                # No partition changes, so no live file needs to be read.
                partitions=frozenset(),
                commit_id=CommitIdentity(user=user, identifier=identifier, kind=CommitKind.COMPACT),
                guard=None,
                properties=properties,
                seen_id=seen_id,
                merges_manifests=True,
            )
        )

    def _land_compact(
        self,
        compact: Changes,
        user: str,
        identifier: int,
        properties: Mapping[str, str] | None,
        guard: SnapshotIdentity | None,
        seen_id: int | None,
        since_id: int | None,
    ) -> Snapshot:
        commit_id = CommitIdentity(user=user, identifier=identifier, kind=CommitKind.COMPACT)
        return self._loop.commit(
            SnapshotRequest(
                changes=compact,
                partitions=compact.partitions,
                commit_id=commit_id,
                guard=guard,
                properties=properties,
                seen_id=seen_id,
                since_id=since_id,
            )
        )

    def _overwritten(
        self, partitions: Sequence[bytes] | None, new: Changes
    ) -> frozenset[bytes] | None:
        """The partitions that an overwrite replaces; None for all of them."""
        schema = self._table.schema()
        if partitions is None:
            is_dynamic = schema.options.read(table_options.DYNAMIC_PARTITION_OVERWRITE)
            return new.partitions if schema.partition_keys and is_dynamic else None
        chosen = frozenset(partitions)
        if not chosen or not new.partitions <= chosen:
            raise InvalidInput(
                f"An overwrite of {len(chosen)} partitions of {self._table.identifier} has files "
                "for others, or names none. Name all partitions that are to be replaced."
            )
        return chosen

    def _index_files(self, head: Snapshot | None, partitions: frozenset[bytes] | None) -> pa.Table:
        if head is None:
            return NO_INDEX_FILES
        index = self._table.index_entries(head)
        if partitions is None:
            return index
        return index.filter(
            pc.is_in(index["partition"], value_set=pa.array(sorted(partitions), pa.binary()))
        )
