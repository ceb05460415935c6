"""Pins: permanent tags that keep the fork of a branch readable."""

from branch_console.commit.schema.tag_commit import without_retention
from branch_console.errors import ErrorKind, NotFound
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.table.file_store_table import FileStoreTable


def fork_bytes(
    table: FileStoreTable, branch: str, fork: SnapshotIdentity, places: tuple[str, ...]
) -> bytes:
    """Return the snapshot that a branch began at, as bytes, from any place that still has it.

    Args:
        table: The table on any branch.
        branch: The branch.
        fork: The fork of the branch.
        places: Branches to look on, in this order: at their tags, then at their snapshots.

    Raises:
        NotFound: No place has it any more.
    """
    files = table.reader.files
    for place in dict.fromkeys(places):
        holder = table.on(place)
        for tag in holder.tags.states():
            if tag.value is not None and tag.value.snapshot.identity.same_as(fork):
                return without_retention(files.read(tag.path))
        for state in holder.snapshots.states():
            if _is(state.value, fork):
                return files.read(state.path)
    raise NotFound(
        f"The snapshot that branch {branch!r} began at is nowhere any more: not on it, and not on "
        "the branch it came from. Tag its oldest snapshot instead.",
        kind=ErrorKind.SNAPSHOT_NOT_FOUND,
        branch=branch,
    )


def _is(snapshot: Snapshot | None, identity: SnapshotIdentity) -> bool:
    return snapshot is not None and snapshot.identity.same_as(identity)
