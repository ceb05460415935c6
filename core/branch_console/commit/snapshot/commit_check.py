"""Whether a commit may stand on a head: reads what the pure rules of conflict detection ask for."""

import pyarrow as pa

from branch_console.commit.snapshot.commit_changes import Changes
from branch_console.commit.snapshot.commit_identity import CommitIdentity, snapshots_after_listed
from branch_console.commit.snapshot.conflict_detection import (
    Problem,
    find_conflict,
    find_index_conflict,
    needs_live_files,
)
from branch_console.commit.snapshot.live_file_tracker import LiveFileTracker
from branch_console.commit.snapshot.read_check import find_changed_rows
from branch_console.commit.snapshot.strict_mode import find_strict_conflict
from branch_console.errors import CommitConflict, ErrorKind, NotAllowed
from branch_console.format import options as table_options
from branch_console.format.index_manifest import NO_INDEX_FILES
from branch_console.format.journals.rows import ReadAt
from branch_console.format.kept_elsewhere import WITHOUT_CALLBACKS_OPTION, Act, kept_elsewhere
from branch_console.format.layout_options import unserved_in_writes
from branch_console.format.manifest_entry import NO_FILES
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import BucketMode, TableSchema
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.manifest_scan import live_files


class CommitCheck:
    """The checks of one commit, repeated whenever the head moved (C11)."""

    def __init__(
        self, table: FileStoreTable, commit_id: CommitIdentity, read_at: ReadAt | None = None
    ) -> None:
        self._table = table
        self._commit_id = commit_id
        self._read_at = read_at
        self._safe_id: int | None = None

    def raise_unless_it_stands(
        self,
        changes: Changes,
        head: Snapshot | None,
        live: LiveFileTracker,
        schema: TableSchema,
        *,
        must_look: bool,
    ) -> None:
        """Check a commit against a head.

        Args:
            changes: The changes of the commit.
            head: The head that it would stand on.
            live: The live files of the partitions that it changes.
            schema: The newest schema.
            must_look: Look at the live files even for an append.

        Raises:
            CommitConflict: The commit cannot stand, now or later.
            NotFound: Strict mode asks about a snapshot that has expired.
        """
        self._raise(self._find_strict_conflict(changes, head, schema))
        if changes.restored is not None:
            return
        if self._read_at is not None:
            self._raise(find_changed_rows(self._table, self._read_at, head, changes, schema))
            self._read_at = ReadAt.of(head)
        kind = self._commit_id.kind
        files = NO_FILES
        if must_look or needs_live_files(changes, kind, self._bucket_counts(schema)):
            files = live.at(head)
        self._raise(find_conflict(files, changes.delta, kind, schema.ranged_key_type))
        if changes.changes_index and schema.bucket_mode is BucketMode.BUCKET_UNAWARE:
            after = live_files(pa.concat_tables([files, changes.delta]))
            current = NO_INDEX_FILES
            if head is not None:
                current = self._table.index_entries(head)
            self._raise(
                find_index_conflict(current, changes.new_index, changes.deleted_index, after)
            )

    def _find_strict_conflict(
        self, changes: Changes, head: Snapshot | None, schema: TableSchema
    ) -> Problem | None:
        safe_id = self._safe_id
        if safe_id is None:
            safe_id = schema.options.read(table_options.COMMIT_STRICT_MODE_LAST_SAFE_SNAPSHOT)
        if safe_id is None or head is None:
            return None
        since = snapshots_after_listed(self._table, max(safe_id, 0), head)
        self._safe_id = head.id
        return find_strict_conflict(self._table, since, self._commit_id, changes.partitions)

    def _bucket_counts(self, schema: TableSchema) -> frozenset[int]:
        # Only an older schema can have had another count.
        known = [schema] if schema.id == 0 else self._table.schemas.all()
        return frozenset(each.num_buckets for each in known)

    def _raise(self, problem: Problem | None) -> None:
        if problem is not None:
            raise CommitConflict(
                f"The commit to {self._table.identifier} cannot stand: {problem.message} Nothing "
                "was published.",
                kind=ErrorKind.COMMIT_CONFLICT,
                rule=str(problem.rule),
            )


def check_features(
    table: FileStoreTable, schema: TableSchema, *, without_callbacks: bool = False
) -> None:
    """Refuse a table whose commits do more than is done here, or whose rows lie otherwise.

    Args:
        table: The table on the branch that is committed to.
        schema: Its newest schema.
        without_callbacks: Whether an operator leaves out what Paimon would do for others.

    Raises:
        NotAllowed: By the name of the option.
    """
    # What Paimon's own commit does beyond entries and manifests, and nobody would notice if it
    # was left out: such a table is left to Paimon.
    if schema.options.read(table_options.DATA_EVOLUTION_ENABLED):
        raise _left_to_paimon(table, f"{table_options.DATA_EVOLUTION_ENABLED.key} = true")
    left_out = kept_elsewhere(schema.options, table.branch, Act.COMMIT)
    if left_out and not without_callbacks:
        raise NotAllowed(
            f"No rows were written to {table.identifier}. Paimon {left_out[0].what} (option "
            f"{left_out[0].option!r}). Branch Console does not. {left_out[0].stale} would be out "
            "of date. Write with Paimon, or go on as an operator with a reason: "
            f"--without-callbacks, or in SQL /*+ OPTIONS('{WITHOUT_CALLBACKS_OPTION}' = 'REASON') "
            "*/ behind the table.",
            kind=ErrorKind.UNSUPPORTED,
            option=left_out[0].option,
        )
    for key, reason in unserved_in_writes(schema.options):
        raise NotAllowed(
            f"{table.identifier} is not written here: {reason} Nothing was committed.",
            kind=ErrorKind.UNSUPPORTED,
            option=key,
        )


def _left_to_paimon(table: FileStoreTable, option: str) -> NotAllowed:
    return NotAllowed(
        f"{table.identifier} has {option}: its commits do what is not supported here. Nothing was "
        "committed; write it with Paimon.",
        kind=ErrorKind.UNSUPPORTED,
        option=option,
    )
