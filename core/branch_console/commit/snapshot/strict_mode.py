"""The strict mode of a commit: nobody else may have touched its partitions since a safe snapshot.

Source: Paimon StrictModeChecker, option `commit.strict-mode.last-safe-snapshot`.
"""

from collections.abc import Sequence

import pyarrow.compute as pc

from branch_console.commit.snapshot.commit_identity import CommitIdentity
from branch_console.commit.snapshot.conflict_detection import CommitRule, Problem
from branch_console.format import options as table_options
from branch_console.format.index_manifest import deletion_vector_entries
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.table.file_store_table import FileStoreTable

_REWRITES = (CommitKind.COMPACT, CommitKind.OVERWRITE)


def find_strict_conflict(
    table: FileStoreTable,
    snapshots: Sequence[Snapshot],
    commit_id: CommitIdentity,
    partitions: frozenset[bytes],
) -> Problem | None:
    """Find a snapshot of another user that a commit in strict mode must not build on.

    Args:
        table: The branch.
        snapshots: The snapshots after the safe one, up to the head.
        commit_id: The commit; an overwrite also gives way to files appended to real buckets.
        partitions: The encoded partitions that it changes.

    Returns:
        The first such snapshot as a problem, or None.
    """
    for snapshot in snapshots:
        if snapshot.commit_user == commit_id.user:
            continue
        if snapshot.commit_kind in _REWRITES:
            touches = _touches(table, snapshot, partitions) or _touches_index(
                table, snapshot, partitions
            )
        elif snapshot.commit_kind is CommitKind.APPEND:
            touches = commit_id.kind is CommitKind.OVERWRITE and _touches(
                table, snapshot, partitions, only_buckets=True
            )
        else:
            continue
        if touches:
            option = table_options.COMMIT_STRICT_MODE_LAST_SAFE_SNAPSHOT.key
            return Problem(
                rule=CommitRule.STRICT_MODE,
                message=f"{snapshot.commit_kind} snapshot {snapshot.id} of user "
                f"{snapshot.commit_user!r} changed the same partition, which {option} rules out.",
            )
    return None


def _touches(
    table: FileStoreTable,
    snapshot: Snapshot,
    partitions: frozenset[bytes],
    *,
    only_buckets: bool = False,
) -> bool:
    entries = table.delta_entries(snapshot, partitions=partitions)
    if only_buckets:
        entries = entries.filter(pc.greater_equal(entries["bucket"], 0))
    return bool(entries.num_rows)


def _touches_index(table: FileStoreTable, snapshot: Snapshot, partitions: frozenset[bytes]) -> bool:
    # Deletion vectors delete rows without an entry in the delta; most commits keep the manifest.
    before = table.snapshots.find(snapshot.id - 1)
    if before is not None and before.index_manifest == snapshot.index_manifest:
        return False
    index = table.index_entries(snapshot)
    vectors = deletion_vector_entries(index)
    return not partitions.isdisjoint(vectors["partition"].to_pylist())
