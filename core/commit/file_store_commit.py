"""The second phase of a commit: files that writers made become a snapshot, once, or not at all.

Each attempt reads the head, looks whether an earlier try has landed, checks conflicts, writes
manifests and publishes. What is already published is never replaced.
Source: Paimon FileStoreCommitImpl; statements C01-C06, C10-C18, C24.
"""

import json
import logging
import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.commit.commit_message import CommitMessage
from core.commit.commit_store import CommitStore
from core.commit.conflict_detection import Problem, find_conflict, find_index_conflict
from core.commit.manifest_write import encode_manifests, manifest_codec
from core.commit.snapshot_commit import publish_snapshot
from core.errors import CommitConflict, ErrorKind, NotAllowed, NotFound, PaimonError
from core.format import options as table_options
from core.format.index_manifest import INDEX_MANIFEST_ENTRY, IndexType, encode_index_manifest
from core.format.manifest_entry import MANIFEST_ENTRY, FileKind, file_identity
from core.format.manifest_list import MANIFEST_FILE_META, encode_manifest_list
from core.format.options import Options
from core.format.snapshot import (
    BATCH_COMMIT_IDENTIFIER,
    CommitKind,
    Snapshot,
    SnapshotIdentity,
)
from core.format.table_schema import TableSchema
from core.storage.file_publisher import Published
from core.table.file_store_table import FileStoreTable
from core.table.manifest_scan import live_files

_log = logging.getLogger(__name__)
_JITTER: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how long a commit tries; durations in milliseconds."""

    max_retries: int
    min_wait: int
    max_wait: int
    timeout: int | None

    @classmethod
    def of(cls, options: Options) -> "RetryPolicy":
        """Return what the options of a table ask for."""
        return cls(
            max_retries=options.read(table_options.COMMIT_MAX_RETRIES),
            min_wait=options.read(table_options.COMMIT_MIN_RETRY_WAIT),
            max_wait=options.read(table_options.COMMIT_MAX_RETRY_WAIT),
            timeout=options.read(table_options.COMMIT_TIMEOUT),
        )

    def wait_millis(self, retry: int, jitter: float) -> float:
        """How long to wait before a retry, the first of which is 0; `jitter` from 0 to 1 (C13)."""
        wait: int = min(self.min_wait * 2**retry, self.max_wait)
        return wait * (1 + _JITTER * jitter)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Changes:
    """What one snapshot changes: entries with their `kind` set, and index files.

    With `restored` the snapshot takes over the index files and statistics of that earlier one.
    """

    delta: pa.Table
    changelog: pa.Table
    new_index: pa.Table
    deleted_index: pa.Table
    restored: Snapshot | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        tables = (self.delta, self.changelog, self.new_index, self.deleted_index)
        return not any(table.num_rows for table in tables)

    @property
    def removes(self) -> bool:
        """Whether a file, or a row by a deletion vector, goes: an OVERWRITE, no APPEND."""
        vectors = pc.equal(self.new_index["index_type"], str(IndexType.DELETION_VECTORS))
        has_deletes = pc.any(pc.equal(self.delta["kind"], int(FileKind.DELETE))).as_py()
        return bool(has_deletes) or bool(pc.any(vectors).as_py())


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitId:
    """What a commit is known by: one that landed is found again by it (C14, C15)."""

    user: str
    identifier: int
    kind: CommitKind

    def is_of(self, snapshot: Snapshot) -> bool:
        """Whether the snapshot is this commit."""
        own = (snapshot.commit_user, snapshot.commit_identifier, snapshot.commit_kind)
        return own == (self.user, self.identifier, self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """A prepared snapshot and the names of the metadata files that only it refers to."""

    snapshot: Snapshot
    manifests: tuple[str, ...]


class FileStoreCommit:
    """Commits to one branch of one table."""

    def __init__(
        self,
        table: FileStoreTable,
        store: CommitStore,
        *,
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        new_uuid: Callable[[], str] = lambda: str(uuid.uuid4()),
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._table = table
        self._store = store
        self._clock = clock
        self._new_uuid = new_uuid
        self._sleep = sleep
        self._jitter = jitter

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
    ) -> Snapshot | None:
        """Publish what writers made: the appended part first, then the compacted part.

        Args:
            messages: From the writers.
            user: The commit user.
            identifier: Of the commit; unique a user.
            kind: Of the appended part; None makes it OVERWRITE where something goes, else APPEND.
            properties: Of the snapshots.
            expected_head: Commit only on top of this snapshot.
            watermark: Of the appended part; it never falls.
            seen_id: The head before an earlier try whose outcome is not known.

        Returns:
            The last snapshot, or None where the messages change nothing.

        Raises:
            CommitConflict: The commit cannot stand, the head is another, or all retries lost.
            NotAllowed: The table has a feature that commits here do not know.
        """
        snapshot = None
        append, compact = append_part(messages), compact_part(messages)
        guard = expected_head
        if not append.is_empty:
            own = kind or (CommitKind.OVERWRITE if append.removes else CommitKind.APPEND)
            commit_id = CommitId(user=user, identifier=identifier, kind=own)
            snapshot = self._land(
                lambda _: append, commit_id, properties or {}, guard, watermark, seen_id
            )
            guard = None if guard is None else snapshot.identity
        if not compact.is_empty:
            commit_id = CommitId(user=user, identifier=identifier, kind=CommitKind.COMPACT)
            snapshot = self._land(
                lambda _: compact, commit_id, properties or {}, guard, None, seen_id
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
        seen_id: int | None = None,
    ) -> Snapshot:
        """Replace what partitions hold; the files that go are looked up again on every retry.

        Args:
            messages: The new files.
            user: The commit user.
            partitions: Encoded partitions to replace; None takes those of the new files.
            identifier: Of the commit; unique a user.
            properties: Of the snapshot.
            expected_head: Commit only on top of this snapshot.
            seen_id: The head before an earlier try whose outcome is not known.

        Raises:
            CommitConflict: As for `commit`.
        """
        new = append_part(messages)
        chosen = partitions
        if chosen is None:
            chosen = sorted(set(new.delta["partition"].to_pylist()))

        def changes(head: Snapshot | None) -> Changes:
            if head is None:
                return new
            live = self._table.live_files(head, partitions=chosen)
            index = self._index_of(head)
            gone = index.filter(pc.is_in(index["partition"], pa.array(chosen, pa.binary())))
            delta = pa.concat_tables([_with_kind(live, FileKind.DELETE), new.delta])
            return Changes(
                delta=delta,
                changelog=new.changelog,
                new_index=new.new_index,
                deleted_index=gone,
            )

        commit_id = CommitId(user=user, identifier=identifier, kind=CommitKind.OVERWRITE)
        return self._land(changes, commit_id, properties or {}, expected_head, None, seen_id)

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
        still exist is not looked at here, which whoever plans a rollback has to do first. The
        schema stays the newest, row ids and the watermark never go back, and statistics come along
        as far as they were computed for the newest schema.

        Args:
            snapshot: What to go back to, of this branch, from its snapshots or one of its tags.
            user: The commit user.
            identifier: Of the commit; unique a user.
            guard: Commit only on top of this snapshot; without it, what goes and what comes back
                is looked up again whenever the head moved.
            properties: Of the new snapshot.
            seen_id: The head before an earlier try whose outcome is not known.

        Raises:
            CommitConflict: The head is another than the guard says, or all retries lost.
            FormatError: A manifest of either snapshot is missing or broken.

        References:
            Paimon FileStoreCommitImpl.rollbackToAsLatest.
        """
        then = self._table.live_files(snapshot)

        def changes(head: Snapshot | None) -> Changes:
            now = MANIFEST_ENTRY.empty_table() if head is None else self._table.live_files(head)
            return Changes(
                delta=_entries([_without(now, then)], [_without(then, now)]),
                changelog=MANIFEST_ENTRY.empty_table(),
                new_index=INDEX_MANIFEST_ENTRY.empty_table(),
                deleted_index=INDEX_MANIFEST_ENTRY.empty_table(),
                restored=snapshot,
            )

        commit_id = CommitId(user=user, identifier=identifier, kind=CommitKind.OVERWRITE)
        return self._land(changes, commit_id, properties or {}, guard, None, seen_id)

    def _land(
        self,
        changes_on: Callable[[Snapshot | None], Changes],
        commit_id: CommitId,
        properties: Mapping[str, str],
        guard: SnapshotIdentity | None,
        watermark: int | None,
        seen_id: int | None,
    ) -> Snapshot:
        self._check_features()
        doubtful: list[_Attempt] = []
        for _ in self._tries():
            head = self._table.head()
            landed = self._find_own(commit_id, seen_id, head)
            doubtful = self._discard_lost(doubtful, head, landed)
            if landed is not None:
                return landed
            self._check_guard(guard, head)
            changes = changes_on(head)
            self._check_conflicts(changes, commit_id.kind, head)
            attempt = self._prepare(changes, commit_id, properties, watermark, head)
            seen_id = 0 if head is None else head.id
            try:
                outcome = publish_snapshot(self._store, self._table.paths, attempt.snapshot)
            except PaimonError:
                self._discard(attempt)
                raise
            if outcome is Published.WON:
                self._discard_lost(doubtful, attempt.snapshot, attempt.snapshot)
                return attempt.snapshot
            # LOST and UNKNOWN both go round: only the search above tells whether we are in the
            # history, and until then nothing of the attempt may be removed (C18).
            doubtful.append(attempt)
            _log.info("snapshot %d of %s: %s", attempt.snapshot.id, self._table.paths.root, outcome)
        head = self._table.head()
        landed = self._find_own(commit_id, seen_id, head)
        self._discard_lost(doubtful, head, landed)
        if landed is not None:
            return landed
        raise CommitConflict(
            f"The commit to {self._table.identifier} lost against other writers in all its tries. "
            "Nothing was published; try again, or raise commit.max-retries.",
            kind=ErrorKind.COMMIT_CONFLICT,
        )

    def _tries(self) -> Iterator[int]:
        """Yield once a try, waiting in between as the table's options say."""
        policy = RetryPolicy.of(self._table.schema().options)
        began = self._clock()
        yield 0
        for retry in range(policy.max_retries):
            wait = policy.wait_millis(retry, self._jitter())
            if policy.timeout is not None and self._clock() + wait - began > policy.timeout:
                return
            self._sleep(wait / 1000)
            yield retry + 1

    def _find_own(
        self, commit_id: CommitId, seen_id: int | None, head: Snapshot | None
    ) -> Snapshot | None:
        """Look for this commit among the snapshots that came after the last one seen (C16)."""
        if seen_id is None or head is None:
            return None
        for snapshot_id in range(seen_id + 1, head.id + 1):
            snapshot = self._table.snapshots.find(snapshot_id)
            if snapshot is None:
                raise NotFound(
                    f"Whether the commit to {self._table.identifier} landed cannot be told: "
                    f"snapshot {snapshot_id} has expired. Compare the rows before trying again.",
                    kind=ErrorKind.SNAPSHOT_NOT_FOUND,
                    snapshot_id=snapshot_id,
                )
            if commit_id.is_of(snapshot):
                return snapshot
        return None

    def _check_guard(self, guard: SnapshotIdentity | None, head: Snapshot | None) -> None:
        if guard is None or (head is not None and head.identity.same_as(guard)):
            return
        where = "has no snapshot" if head is None else f"is at snapshot {head.id}"
        raise CommitConflict(
            f"Branch {self._table.branch!r} moved: it {where} now. Nothing was published; plan "
            "again.",
            kind=ErrorKind.HEAD_MOVED,
            branch=self._table.branch,
        )

    def _check_features(self) -> None:
        schema = self._table.schema()
        for option in (table_options.ROW_TRACKING_ENABLED, table_options.DATA_EVOLUTION_ENABLED):
            if schema.options.read(option):
                raise NotAllowed(
                    f"{self._table.identifier} has {option.key}: its row ids are assigned by the "
                    "commit, which is not supported here. Write it with Paimon.",
                    kind=ErrorKind.UNSUPPORTED,
                )

    def _check_conflicts(self, changes: Changes, kind: CommitKind, head: Snapshot | None) -> None:
        partitions = set(changes.delta["partition"].to_pylist()) | {
            *changes.new_index["partition"].to_pylist(),
            *changes.deleted_index["partition"].to_pylist(),
        }
        live = MANIFEST_ENTRY.empty_table()
        if head is not None and self._needs_check(changes, kind):
            live = self._table.live_files(head, partitions=partitions)
        schema = self._table.schema()
        _raise(find_conflict(live, changes.delta, kind, schema.key_type), self._table)
        if changes.new_index.num_rows or changes.deleted_index.num_rows:
            after = live_files(pa.concat_tables([live, changes.delta]))
            current = self._index_of(head)
            problem = find_index_conflict(current, changes.new_index, changes.deleted_index, after)
            _raise(problem, self._table)

    def _needs_check(self, changes: Changes, kind: CommitKind) -> bool:
        # Adding a file that is live is possible for one who copies files, so every append looks.
        return kind is not CommitKind.ANALYZE and not changes.is_empty

    def _index_of(self, head: Snapshot | None) -> pa.Table:
        if head is None or head.index_manifest is None:
            return INDEX_MANIFEST_ENTRY.empty_table()
        return self._table.index_entries(head)

    def _prepare(
        self,
        changes: Changes,
        commit_id: CommitId,
        properties: Mapping[str, str],
        watermark: int | None,
        head: Snapshot | None,
    ) -> _Attempt:
        """Write the manifests of an attempt, all of them before its snapshot names them."""
        schema = self._table.schema()
        files = _NewFiles(self._new_uuid, manifest_codec(schema))
        base = MANIFEST_FILE_META.empty_table()
        if head is not None:
            base = self._table.manifests(head)
        base_list = files.add_list(base)
        delta_list = files.add_list(files.add_manifests(changes.delta, schema))
        changelog_list = None
        if changes.changelog.num_rows:
            changelog_list = files.add_list(files.add_manifests(changes.changelog, schema))
        index_manifest = self._write_index(files, changes, head)
        published = [(self._table.paths.manifest(name), data) for name, data in files.contents]
        names = tuple(path for path, _ in published)
        try:
            outcomes = self._store.publisher.publish_in_order(published)
        except PaimonError:
            self._store.remover.remove(names)
            raise
        if any(outcome is not Published.WON for outcome in outcomes):
            self._store.remover.remove(names)
            raise CommitConflict(
                f"The manifests of a commit to {self._table.identifier} could not be written: the "
                "store gave no clear answer. Nothing was published; try again.",
                kind=ErrorKind.STORE_UNREACHABLE,
            )
        delta_rows = _rows(changes.delta)
        snapshot = Snapshot(
            uuid=self._new_uuid(),
            id=1 if head is None else head.id + 1,
            schema_id=schema.id,
            base_manifest_list=base_list[0],
            base_manifest_list_size=base_list[1],
            delta_manifest_list=delta_list[0],
            delta_manifest_list_size=delta_list[1],
            changelog_manifest_list=None if changelog_list is None else changelog_list[0],
            changelog_manifest_list_size=None if changelog_list is None else changelog_list[1],
            index_manifest=index_manifest,
            commit_user=commit_id.user,
            commit_identifier=commit_id.identifier,
            commit_kind=commit_id.kind,
            time_millis=self._clock(),
            total_record_count=_total(head) + delta_rows,
            delta_record_count=delta_rows,
            changelog_record_count=(
                _rows(changes.changelog) if changes.changelog.num_rows else None
            ),
            watermark=_highest(watermark, None if head is None else head.watermark),
            statistics=self._inherited_statistics(changes.restored or head, schema),
            properties=Options(properties),
            next_row_id=_highest(
                0 if head is None else head.next_row_id or 0,
                None if changes.restored is None else changes.restored.next_row_id,
            ),
        )
        return _Attempt(snapshot=snapshot, manifests=names)

    def _write_index(
        self, files: "_NewFiles", changes: Changes, head: Snapshot | None
    ) -> str | None:
        """Write the index manifest anew where it changes; it always lists all index files."""
        if changes.restored is not None:
            return changes.restored.index_manifest
        current = None if head is None else head.index_manifest
        if not (changes.new_index.num_rows or changes.deleted_index.num_rows):
            return current
        old = self._index_of(head)
        gone = changes.deleted_index["file_name"].to_pylist()
        hashed = changes.new_index.filter(
            pc.equal(changes.new_index["index_type"], str(IndexType.HASH))
        )
        replaced = {
            (each["partition"], each["bucket"])
            for each in hashed.select(["partition", "bucket"]).to_pylist()
        }
        keep = [
            each["file_name"] not in gone
            and not (
                each["index_type"] == IndexType.HASH
                and (each["partition"], each["bucket"]) in replaced
            )
            for each in old.select(["file_name", "index_type", "partition", "bucket"]).to_pylist()
        ]
        entries = pa.concat_tables([old.filter(pa.array(keep, pa.bool_())), changes.new_index])
        return files.add_index(entries) if entries.num_rows else None

    def _inherited_statistics(self, head: Snapshot | None, schema: TableSchema) -> str | None:
        """Carry statistics on while the schema they were computed for still is the newest."""
        if head is None or head.statistics is None:
            return None
        try:
            content = json.loads(
                self._store.files.read(self._table.paths.statistics(head.statistics))
            )
        except (PaimonError, ValueError):
            return None
        return head.statistics if content.get("schemaId") == schema.id else None

    def _discard_lost(
        self, doubtful: list[_Attempt], head: Snapshot | None, landed: Snapshot | None
    ) -> list[_Attempt]:
        """Remove the attempts that can never appear any more, and return the others.

        An attempt whose id another snapshot has is lost; one whose id is still free may only be
        late.
        """
        head_id = 0 if head is None else head.id
        landed_uuid = None if landed is None else landed.uuid
        for attempt in doubtful:
            if attempt.snapshot.id <= head_id and attempt.snapshot.uuid != landed_uuid:
                self._discard(attempt)
        return [attempt for attempt in doubtful if attempt.snapshot.id > head_id]

    def _discard(self, attempt: _Attempt) -> None:
        """Remove the metadata of an attempt that lost; a file that stays is an orphan, no harm."""
        try:
            self._store.remover.remove(attempt.manifests)
        except PaimonError as error:
            _log.warning("manifests of a lost attempt stay: %s", error)


class _NewFiles:
    """Names and bytes of the metadata files of one attempt, in the order they are published."""

    def __init__(self, new_uuid: Callable[[], str], codec: str) -> None:
        self._uuid = new_uuid()
        self._codec = codec
        self._counts: dict[str, int] = {}
        self.contents: list[tuple[str, bytes]] = []

    def add_manifests(self, entries: pa.Table, schema: TableSchema) -> pa.Table:
        files, metas = encode_manifests(entries, schema, lambda: self._name("manifest"))
        self.contents.extend(files)
        return metas

    def add_list(self, metas: pa.Table) -> tuple[str, int]:
        data = encode_manifest_list(metas, self._codec)
        name = self._name("manifest-list")
        self.contents.append((name, data))
        return name, len(data)

    def add_index(self, entries: pa.Table) -> str:
        name = self._name("index-manifest")
        self.contents.append((name, encode_index_manifest(entries, self._codec)))
        return name

    def _name(self, kind: str) -> str:
        number = self._counts.get(kind, 0)
        self._counts[kind] = number + 1
        return f"{kind}-{self._uuid}-{number}"


def append_part(messages: Sequence[CommitMessage]) -> Changes:
    """The changes of all writers that are not those of a compaction."""
    return Changes(
        delta=_entries(
            [each.deleted_files for each in messages], [each.new_files for each in messages]
        ),
        changelog=_entries([], [each.changelog_files for each in messages]),
        new_index=_index([each.new_index_files for each in messages]),
        deleted_index=_index([each.deleted_index_files for each in messages]),
    )


def compact_part(messages: Sequence[CommitMessage]) -> Changes:
    """The changes of the compactions of all writers."""
    return Changes(
        delta=_entries(
            [each.compact_before for each in messages], [each.compact_after for each in messages]
        ),
        changelog=_entries([], [each.compact_changelog_files for each in messages]),
        new_index=_index([]),
        deleted_index=_index([]),
    )


def _entries(deleted: Sequence[pa.Table], added: Sequence[pa.Table]) -> pa.Table:
    return pa.concat_tables(
        [
            MANIFEST_ENTRY.empty_table(),
            *(_with_kind(table, FileKind.DELETE) for table in deleted if table.num_rows),
            *(_with_kind(table, FileKind.ADD) for table in added if table.num_rows),
        ]
    )


def _with_kind(files: pa.Table, kind: FileKind) -> pa.Table:
    """Return entries of one kind, with the columns that a writer need not fill."""
    count = files.num_rows
    filled = {
        "kind": pa.array(np.full(count, int(kind), dtype=np.int32)),
        "identity": file_identity(files),
        "manifest": pa.array([""] * count, pa.string()),
        "position": pa.array(np.arange(count, dtype=np.int32)),
    }
    columns = [filled.get(field.name) for field in MANIFEST_ENTRY]
    return pa.table(
        [
            files[field.name] if column is None else column
            for field, column in zip(MANIFEST_ENTRY, columns, strict=True)
        ],
        schema=MANIFEST_ENTRY,
    )


def _index(tables: Sequence[pa.Table]) -> pa.Table:
    return pa.concat_tables([INDEX_MANIFEST_ENTRY.empty_table(), *tables])


def _without(files: pa.Table, others: pa.Table) -> pa.Table:
    known = others["identity"].combine_chunks()
    return files.filter(pc.invert(pc.is_in(files["identity"], value_set=known)))


def _rows(entries: pa.Table) -> int:
    """Rows that entries add, less those that they delete."""
    signs = pc.subtract(1, pc.multiply(entries["kind"].cast(pa.int64()), 2))
    return int(pc.sum(pc.multiply(entries["row_count"], signs)).as_py() or 0)


def _total(head: Snapshot | None) -> int:
    return 0 if head is None else head.total_record_count or 0


def _highest(one: int | None, other: int | None) -> int | None:
    return max((each for each in (one, other) if each is not None), default=None)


def _raise(problem: Problem | None, table: FileStoreTable) -> None:
    if problem is not None:
        raise CommitConflict(
            f"The commit to {table.identifier} cannot stand: {problem.message} Nothing was "
            "published.",
            kind=ErrorKind.COMMIT_CONFLICT,
            rule=str(problem.rule),
        )
