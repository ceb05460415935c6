"""Knowing a commit again: one that landed, though its answer was lost, is not made twice."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from branch_console.errors import ErrorKind, NotFound
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitIdentity:
    """The identity of a commit, by which a retry finds the snapshot of an earlier try; C14, C15."""

    user: str
    identifier: int
    kind: CommitKind

    def is_of(self, snapshot: Snapshot) -> bool:
        """Whether the snapshot is this commit."""
        own = (snapshot.commit_user, snapshot.commit_identifier, snapshot.commit_kind)
        return own == (self.user, self.identifier, self.kind)

    def find_in(self, snapshots: Iterable[Snapshot]) -> Snapshot | None:
        """This commit among the snapshots, or None."""
        return next((each for each in snapshots if self.is_of(each)), None)


def snapshots_after_listed(
    table: FileStoreTable, seen_id: int, head: Snapshot | None
) -> tuple[Snapshot, ...]:
    """The snapshots after one that was seen, up to the head (C16).

    Raises:
        NotFound: One of them has expired, so it cannot be told what was in it.
    """
    if head is None or head.id <= seen_id:
        return ()
    return (*(_get(table, each) for each in range(seen_id + 1, head.id)), head)


def snapshots_after(table: FileStoreTable, seen_id: int) -> Iterator[Snapshot]:
    """The snapshots after one that was seen, each asked for by its id when it is wanted (C16).

    A listing may leave out what is there, and what landed is not to be taken back.

    Raises:
        NotFound: One of them has expired, so it cannot be told what was in it.
    """
    while (found := table.snapshots.find(seen_id + 1)) is not None:
        yield found
        seen_id = found.id
    yield from snapshots_after_listed(table, seen_id, table.head())


def _get(table: FileStoreTable, snapshot_id: int) -> Snapshot:
    snapshot = table.snapshots.find(snapshot_id)
    if snapshot is None:
        raise NotFound(
            f"Whether the commit to {table.identifier} landed or may stand cannot be told: "
            f"snapshot {snapshot_id} has expired. Compare the rows before trying again.",
            kind=ErrorKind.SNAPSHOT_NOT_FOUND,
            snapshot_id=snapshot_id,
        )
    return snapshot
