"""One try of a commit: its manifests, the snapshot that names them, and what is left of it.

Manifests that do not depend on the head are written once and used by every try. All files of a try
are written to the store together, the snapshot last: one wait for the disk makes the files that it
names durable. A try whose snapshot may still appear keeps its files; all others are removed (C17,
C18).
"""

import contextlib
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.snapshot.commit_changes import Changes, combined_index, count_rows
from branch_console.commit.snapshot.commit_identity import CommitIdentity
from branch_console.commit.snapshot.manifest_file_merger import ManifestFileMerger, MergePolicy
from branch_console.commit.snapshot.manifest_write import NewFiles
from branch_console.commit.snapshot.row_tracking import grouped_by_partition, track_rows
from branch_console.errors import ErrorKind, PaimonError, StorageError
from branch_console.format import options as table_options
from branch_console.format.avro_frames import join_files, read_frame
from branch_console.format.index_manifest import NO_INDEX_FILES
from branch_console.format.manifest_list import NO_MANIFESTS
from branch_console.format.options import Options
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import BucketMode, TableSchema
from branch_console.storage.file_publisher import Published
from branch_console.table.file_store_table import FileStoreTable

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitNote:
    """The contents of a snapshot besides its changes."""

    commit_id: CommitIdentity
    properties: Mapping[str, str]
    watermark: int | None
    readds_files: bool
    merges_manifests: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A prepared snapshot and the new metadata files that it needs, in the order to be written."""

    snapshot: Snapshot
    contents: tuple[tuple[str, bytes], ...]

    @property
    def files(self) -> frozenset[str]:
        """The paths of its files."""
        return frozenset(path for path, _ in self.contents)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Delta:
    """The part of an attempt that depends on the changes and the schema alone."""

    changes: Changes
    schema: TableSchema
    delta_list: tuple[str, int]
    changelog_list: tuple[str, int] | None
    contents: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Merge:
    """The result of merging manifests, valid for every head that begins with these manifests."""

    before: pa.Table
    after: pa.Table
    contents: tuple[tuple[str, bytes], ...]

    def applied_to(self, manifests: pa.Table) -> pa.Table | None:
        """The manifests with the merged ones in place, or None if others stand there."""
        names = self.before["file_name"].to_pylist()
        if manifests["file_name"].slice(0, len(names)).to_pylist() != names:
            return None
        return pa.concat_tables([self.after, manifests.slice(len(names))])


class _NotTakenError(Exception):
    """A file that goes before the snapshot was not taken, so the snapshot was not sent."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class CommitAttempts:
    """The tries of one commit to one branch."""

    def __init__(
        self,
        table: FileStoreTable,
        store: CommitStore,
        *,
        clock: Callable[[], int],
        new_uuid: Callable[[], str],
    ) -> None:
        self._table = table
        self._store = store
        self._clock = clock
        self._new_uuid = new_uuid
        # What may be in the store and is to be tidied up, and what is there for sure.
        self._written: set[str] = set()
        self._stored: set[str] = set()
        self._spared: set[str] = set()
        self._doubtful: list[Attempt] = []
        self._delta: _Delta | None = None
        self._merge: _Merge | None = None

    def encode_ahead(self, changes: Changes, schema: TableSchema) -> None:
        """Encode what holds on top of any head, before one is known.

        Raises:
            NotAllowed: The table asks for manifests that are not written here.
        """
        if not schema.options.read(table_options.ROW_TRACKING_ENABLED):
            files = NewFiles(self._new_uuid, schema)
            self._delta = self._encode_delta(changes, schema, files)
            self._remember(files)

    def prepare(
        self, changes: Changes, note: CommitNote, head: Snapshot | None, schema: TableSchema
    ) -> Attempt:
        """Encode all that a snapshot on top of the head has to name.

        Raises:
            FormatError: A manifest of the head is missing or broken.
        """
        next_row_id = _next_row_id(head, changes.restored)
        snapshot_id = 1 if head is None else head.id + 1
        if schema.options.read(table_options.ROW_TRACKING_ENABLED) and changes.restored is None:
            delta = changes.delta
            if schema.options.read(table_options.ROW_TRACKING_PARTITION_GROUP):
                delta = grouped_by_partition(delta)
            tracked = track_rows(delta, snapshot_id=snapshot_id, next_row_id=next_row_id)
            changes, next_row_id = replace(changes, delta=tracked.delta), tracked.next_row_id
        files = NewFiles(self._new_uuid, schema)
        delta_files = self._delta = self._encode_delta(changes, schema, files)
        merge, base = self._merged_base(changes, note, head, schema, files)
        self._merge = merge
        start = len(files.contents)
        base_list = self._encode_base(head, base, files, is_merged=base is not merge.before)
        index_manifest = self._encode_index(changes, head, schema, files)
        self._remember(files)
        changelog_list = delta_files.changelog_list or (None, None)
        delta_rows = count_rows(changes.delta)
        snapshot = Snapshot(
            uuid=self._new_uuid(),
            id=snapshot_id,
            schema_id=schema.id,
            base_manifest_list=base_list[0],
            base_manifest_list_size=base_list[1],
            delta_manifest_list=delta_files.delta_list[0],
            delta_manifest_list_size=delta_files.delta_list[1],
            changelog_manifest_list=changelog_list[0],
            changelog_manifest_list_size=changelog_list[1],
            index_manifest=index_manifest,
            commit_user=note.commit_id.user,
            commit_identifier=note.commit_id.identifier,
            commit_kind=note.commit_id.kind,
            time_millis=self._clock(),
            total_record_count=(0 if head is None else head.total_record_count or 0) + delta_rows,
            delta_record_count=delta_rows,
            changelog_record_count=(
                count_rows(changes.changelog) if changes.changelog.num_rows else None
            ),
            watermark=_highest(note.watermark, None if head is None else head.watermark),
            statistics=self._statistics(changes.restored or head, schema),
            properties=Options(note.properties),
            next_row_id=next_row_id,
        )
        own = self._contents(files, start)
        return Attempt(snapshot=snapshot, contents=(*delta_files.contents, *merge.contents, *own))

    def publish(
        self, attempt: Attempt, when_named: Callable[[], object]
    ) -> tuple[Published, StorageError | None]:
        """Write what an attempt has that is not there yet, and its snapshot last.

        Args:
            attempt: The try to publish.
            when_named: May be called once others can see the snapshot, before it is durable. Who
                builds on it syncs the same folder, so theirs is never there without it.

        Returns:
            WON, LOST (another commit has this id) or UNKNOWN; only a look tells after the last two.
            With UNKNOWN the error, if it was one.

        Raises:
            StorageError: The store did not take the files, so the snapshot was not published; what
                was written is removed by `close`.
        """
        self._doubtful.append(attempt)
        try:
            return self._publish(attempt, when_named), None
        except _NotTakenError as gap:
            self._doubtful.pop()
            error = StorageError(
                f"{gap.path} could not be written: the store gave no clear answer. Nothing was "
                "published; try again.",
                kind=ErrorKind.STORE_UNREACHABLE,
                path=gap.path,
            )
            if not self._may_be_sent(attempt):
                raise error from None
            # Nobody can look; the next try writes what is not there.
            return Published.UNKNOWN, error
        except StorageError as error:
            if not self._may_be_sent(attempt):
                self._doubtful.pop()
                raise
            # The answer was lost, the snapshot perhaps not.
            _log.warning("snapshot %d: %s", attempt.snapshot.id, error)
            return Published.UNKNOWN, error

    def keep_possibly_published(self) -> None:
        """Keep the files of attempts whose snapshot others may have seen."""
        for attempt in self._doubtful:
            self._spared |= attempt.files

    def forget(self, attempt: Attempt) -> None:
        """Note that the snapshot of an attempt was withdrawn, so none of its files is needed."""
        self._doubtful.remove(attempt)

    def close(self, landed: Snapshot | None) -> None:
        """Remove all files but those of attempts that landed or may still appear.

        Args:
            landed: The snapshot of this commit; None if none was seen to land.
        """
        needed: set[str] = set()
        for attempt in self._doubtful:
            if landed is None:
                stands = self._may_stand(attempt)
            else:
                # A snapshot whose id is free may only be late.
                is_it = attempt.snapshot.identity.same_as(landed.identity)
                stands = is_it or attempt.snapshot.id > landed.id
            if stands:
                needed |= attempt.files
        doomed = sorted(self._written - needed - self._spared)
        try:
            self._store.remover.discard(doomed)
        except PaimonError as error:
            _log.warning("manifests of a lost attempt stay: %s", error)

    def _may_stand(self, attempt: Attempt) -> bool:
        # Only another snapshot under its id proves an attempt lost (C18): it may have landed while
        # every answer was lost, and others may have built on it since.
        try:
            found = self._table.snapshots.find(attempt.snapshot.id)
        except PaimonError:
            return True
        return found is None or found.identity.same_as(attempt.snapshot.identity)

    def _encode_delta(self, changes: Changes, schema: TableSchema, files: NewFiles) -> _Delta:
        known = self._delta
        if known is not None and known.changes is changes and known.schema == schema:
            return known
        before = len(files.contents)
        delta_list = files.add_list(files.add_manifests(changes.delta))
        changelog_list = None
        if changes.changelog.num_rows:
            changelog_list = files.add_list(files.add_manifests(changes.changelog))
        return _Delta(
            changes=changes,
            schema=schema,
            delta_list=delta_list,
            changelog_list=changelog_list,
            contents=self._contents(files, before),
        )

    def _merged_base(
        self,
        changes: Changes,
        note: CommitNote,
        head: Snapshot | None,
        schema: TableSchema,
        files: NewFiles,
    ) -> tuple[_Merge, pa.Table]:
        base = NO_MANIFESTS
        if head is not None:
            # Lists that grew by a line a commit are of as many chunks, each of which costs time.
            base = self._table.manifests(head).combine_chunks()
        policy = MergePolicy.of(schema.options)
        merger = ManifestFileMerger(self._table, schema, files)
        before = len(files.contents)
        if note.merges_manifests:
            after = merger.merge(base, policy.at_once())
        elif note.readds_files:
            after = merger.without_deletes_of(base, changes.added, policy)
        elif self._merge is None:
            after = merger.merge(base, policy)
        else:
            reused = self._merge.applied_to(base)
            if reused is not None:
                return self._merge, reused
            after = base  # on a retry the head should not run away while manifests are merged
        new = self._contents(files, before)
        return _Merge(before=base, after=after, contents=new), after

    def _encode_base(
        self, head: Snapshot | None, base: pa.Table, files: NewFiles, *, is_merged: bool
    ) -> tuple[str, int]:
        """Encode the list of all manifests so far; mostly it is the two lists of the head."""
        if head is None or is_merged or not self._table.reader.files.is_local:
            return files.add_list(base)
        paths = self._table.paths
        names = (head.base_manifest_list, head.delta_manifest_list)
        lists = [self._table.reader.read_immutable(paths.manifest(name)) for name in names]
        frames = [read_frame(each) for each in lists]
        if frames[0].header != frames[1].header:
            return files.add_list(base)
        return files.add_finished_list(join_files(zip(frames, lists, strict=True)), base)

    def _encode_index(
        self, changes: Changes, head: Snapshot | None, schema: TableSchema, files: NewFiles
    ) -> str | None:
        """Encode the index manifest anew where it changes; it always lists all index files."""
        if changes.restored is not None:
            return changes.restored.index_manifest
        if not changes.changes_index:
            return None if head is None else head.index_manifest
        old = NO_INDEX_FILES
        if head is not None:
            old = self._table.index_entries(head)
        is_bucketed = schema.bucket_mode is not BucketMode.BUCKET_UNAWARE
        combined = combined_index(old, changes, is_bucketed=is_bucketed)
        return files.add_index(combined) if combined.num_rows else None

    def _statistics(self, source: Snapshot | None, schema: TableSchema) -> str | None:
        """Carry statistics on while the schema they were computed for still is the newest."""
        if source is None or source.statistics is None:
            return None
        path = self._table.paths.statistics(source.statistics)
        try:
            content = json.loads(self._table.reader.read_immutable(path))
        except (PaimonError, ValueError):
            return None
        return source.statistics if content.get("schemaId") == schema.id else None

    def _remember(self, files: NewFiles) -> None:
        # The next commit of this process begins with these lists.
        for name, metas in files.lists.items():
            self._table.scan.remember_list(self._table.paths, name, metas)

    def _contents(self, files: NewFiles, start: int) -> tuple[tuple[str, bytes], ...]:
        paths = self._table.paths
        return tuple((paths.manifest(name), data) for name, data in files.contents[start:])

    def _publish(self, attempt: Attempt, when_named: Callable[[], object]) -> Published:
        snapshot = attempt.snapshot
        left = [(path, data) for path, data in attempt.contents if path not in self._stored]
        self._written |= attempt.files
        left.append((self._table.paths.snapshot(snapshot.id), snapshot.to_json().encode()))
        while True:
            outcomes = self._store.publisher.publish_in_order(left, when_named)
            self._stored |= {path for path, _ in left[: len(outcomes) - 1]}
            if len(outcomes) == len(left):
                return outcomes[-1]
            path, data = left[len(outcomes) - 1]
            if not self._stands(path, data):
                raise _NotTakenError(path)
            self._stored.add(path)
            left = left[len(outcomes) :]

    def _may_be_sent(self, attempt: Attempt) -> bool:
        # The snapshot is sent only once the last of its files is there.
        try:
            return self._store.files.exists(attempt.contents[-1][0])
        except PaimonError:
            return True

    def _stands(self, path: str, data: bytes) -> bool:
        # Nobody else uses the name: a repeated request may have met its own first success.
        with contextlib.suppress(PaimonError):
            return self._store.files.read(path) == data
        return False


def _next_row_id(head: Snapshot | None, restored: Snapshot | None) -> int:
    known = [each.next_row_id for each in (head, restored) if each is not None]
    return max((each for each in known if each is not None), default=0)


def _highest(one: int | None, other: int | None) -> int | None:
    return max((each for each in (one, other) if each is not None), default=None)
