"""The fork of a rescue branch from the branch whose state it keeps, and its needs in an expiry."""

from collections.abc import Iterable

from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.snapshot import Snapshot


def rescued_fork(
    event: LineageEvent,
    events: Iterable[LineageEvent],
    rescue: Iterable[Snapshot],
    parent: Iterable[Snapshot],
) -> Snapshot | None:
    """Return the newest snapshot that a rescue branch shares with the branch it was taken from.

    What the parent does from there on deletes files of that snapshot, so that is what a tag on the
    parent has to keep. A tag of something newer would come too late, and hide tags of the parent.

    Args:
        event: The rescue.
        events: The ledger under the names of today.
        rescue: The snapshots and tags of the rescue branch.
        parent: The history of the parent.
    """
    held = sorted(rescue, key=lambda snapshot: snapshot.id, reverse=True)
    # It tells where a history was cut also when that snapshot has expired since.
    ends = [
        each.after
        for each in events
        if each.operation_id == event.operation_id
        and each.kind is not LineageKind.RESCUED
        and each.branch == event.source_branch
        and each.after is not None
    ]
    shared = [*ends, *(snapshot.identity for snapshot in parent)]
    return next((each for each in held if any(each.identity.same_as(one) for one in shared)), None)
