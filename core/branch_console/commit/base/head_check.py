"""Whether the head of a branch is still the one that something was decided on."""

from branch_console.errors import CommitConflict, ErrorKind
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.table.file_store_table import FileStoreTable


def check_head(target: FileStoreTable, expected: SnapshotIdentity | None) -> Snapshot | None:
    """Compare the head of a branch with the one a decision was made on.

    Raises:
        CommitConflict: It is another one.
    """
    head = target.head()
    if not is_at(head, expected):
        raise CommitConflict(
            f"{moved_text(target.branch, head)} Nothing was changed; plan again.",
            kind=ErrorKind.HEAD_MOVED,
            branch=target.branch,
        )
    return head


def check_newest(branch: FileStoreTable, allowed: int) -> None:
    """See that a branch from which history is being removed has got no newer snapshot.

    Raises:
        CommitConflict: A writer went on there, whatever number its snapshot got.
    """
    # By a handle of its own: what another one has seen may just have been removed.
    newest = branch.anew().snapshots.latest_id() or 0
    if newest > allowed:
        raise CommitConflict(
            f"Branch {branch.branch!r} got snapshot {newest} in the meantime.",
            kind=ErrorKind.HEAD_MOVED,
            branch=branch.branch,
        )


def is_at(head: Snapshot | None, expected: SnapshotIdentity | None) -> bool:
    """Whether the head of a branch is the one a decision was made on."""
    if head is None or expected is None:
        return head is None and expected is None
    return head.identity.same_as(expected)


def moved_text(branch: str, head: Snapshot | None) -> str:
    """Say where a branch is that has moved."""
    where = "has no snapshot" if head is None else f"is at snapshot {head.id}"
    return f"Branch {branch!r} moved: it {where} now."
