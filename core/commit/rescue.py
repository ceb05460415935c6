"""Rescue branches: the whole state of a branch, kept before something takes it away."""

from core.commit.branch_commit import write_hints
from core.commit.commit_store import CommitStore
from core.commit.metadata_copy import copy_files
from core.table.file_store_table import FileStoreTable

RESCUE_PREFIX = "rescue-"


def rescue_name(operation_id: str) -> str:
    """The name of the rescue branch of an operation."""
    return f"{RESCUE_PREFIX}{operation_id}"


def keep_state(table: FileStoreTable, store: CommitStore, rescue_branch: str) -> int:
    """Copy all schemas, tags and snapshots of the table's branch to a rescue branch.

    Args:
        table: The table on the branch to keep.
        store: The table's store.
        rescue_branch: The branch to make, or to finish.

    Returns:
        The number of bytes in the copies.

    Raises:
        CommitConflict: The rescue branch holds another state.
    """
    kept, rescue = table.paths, table.on(rescue_branch).paths
    snapshot_ids = table.snapshots.ids()
    pairs = [
        *((kept.schema(each), rescue.schema(each)) for each in table.schemas.ids()),
        *((kept.tag(each), rescue.tag(each)) for each in table.tags.names()),
        *((kept.snapshot(each), rescue.snapshot(each)) for each in snapshot_ids),
    ]
    written = copy_files(store, pairs)
    if snapshot_ids:
        write_hints(store, rescue, snapshot_ids[-1], snapshot_ids[0])
    return written
