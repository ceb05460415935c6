"""Whether rows that a commit was computed from still stand: nothing read and changed is lost.

A statement such as UPDATE reads rows at a head and writes what becomes of them. Where somebody else
wrote rows with the same keys in between, it would put back values from before: files at level 0
are added without a look at the others.
"""

import pyarrow as pa

from branch_console.commit.snapshot.commit_changes import Changes
from branch_console.commit.snapshot.commit_identity import snapshots_after_listed
from branch_console.commit.snapshot.conflict_detection import CommitRule, Problem, meets_keys
from branch_console.errors import NotFound
from branch_console.format.journals.rows import ReadAt
from branch_console.format.manifest_entry import NO_FILES, rows_without
from branch_console.format.snapshot import NO_SNAPSHOT, CommitKind, Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.table.file_store_table import FileStoreTable

_KEEP_ROWS = (CommitKind.COMPACT, CommitKind.ANALYZE)


def find_changed_rows(
    table: FileStoreTable,
    read_at: ReadAt,
    head: Snapshot | None,
    changes: Changes,
    schema: TableSchema,
) -> Problem | None:
    """Look for a snapshot since the read that wrote keys which a commit writes too.

    Args:
        table: The branch.
        read_at: The snapshot at which the rows of the commit were read.
        head: The head that the commit would build on.
        changes: The changes of the commit.
        schema: The newest schema.

    Returns:
        What is wrong, also if a snapshot in between has expired and nobody can tell; None if
        the rows still stand.
    """
    if (NO_SNAPSHOT if head is None else head.identity).same_as(read_at.identity):
        return None
    before = table.snapshots.find(read_at.id) if read_at.id else None
    is_known = before is not None and before.identity.same_as(read_at.identity)
    if head is None or head.id <= read_at.id or (read_at.id and not is_known):
        return Problem(
            rule=CommitRule.ROWS_CHANGED,
            message=f"Snapshot {read_at.id}, at which its rows were read, is not in the history "
            "any more.",
        )
    try:
        since = snapshots_after_listed(table, read_at.id, head)
    except NotFound:
        return Problem(
            rule=CommitRule.ROWS_CHANGED,
            message=f"A snapshot since {read_at.id}, at which its rows were read, has expired: "
            "whether they changed cannot be told.",
        )
    for snapshot in since:
        later = _files_that_changed(table, before, snapshot, changes.partitions)
        if meets_keys(changes.added, later, schema.ranged_key_type):
            return Problem(
                rule=CommitRule.ROWS_CHANGED,
                message=f"Snapshot {snapshot.id} of {snapshot.commit_user!r} wrote rows with the "
                f"same keys since they were read at snapshot {read_at.id}.",
            )
        before = snapshot
    return None


def _files_that_changed(
    table: FileStoreTable, before: Snapshot | None, after: Snapshot, partitions: frozenset[bytes]
) -> pa.Table:
    """The files by whose coming or going rows changed, with the columns of MANIFEST_ENTRY."""
    if after.commit_kind in _KEEP_ROWS:
        return NO_FILES
    if before is None or after.commit_kind is CommitKind.APPEND:
        return table.delta_entries(after, partitions=partitions)
    # An overwrite may also replace the base without a word in its delta.
    old, new = (table.live_files(each, partitions=partitions) for each in (before, after))
    return pa.concat_tables([rows_without(old, new), rows_without(new, old)])
