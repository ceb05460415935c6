"""Whether anybody still works on a branch: a page calls it quiet after thirty days of nothing."""

from collections.abc import Iterable
from typing import Final

from branch_console.format.lineage_event import LineageEvent, LineageKind

QUIET_AFTER_MILLIS: Final = 30 * 24 * 3_600_000

# What runs by itself over all branches says nothing of whether one is in use.
_UPKEEP: Final = frozenset(
    {LineageKind.CLEANED, LineageKind.COMPACTED, LineageKind.EXPIRED, LineageKind.WARNED}
)


def find_quiet_since(
    branch: str,
    *,
    committed_millis: int | None,
    created_millis: int | None,
    events: Iterable[LineageEvent],
    now_millis: int,
) -> int | None:
    """Return when a branch saw its last commit or operation, if that is thirty days ago.

    Args:
        branch: The branch.
        committed_millis: When its newest snapshot was made: before the branch, if it has no commit.
        created_millis: When the branch was made; None if nobody knows.
        events: The ledger, with branches under their names of today.
        now_millis: The time.
    """
    operations = (
        event.time_millis
        for event in events
        if branch in (event.branch, event.source_branch) and event.kind not in _UPKEEP
    )
    times = [each for each in (committed_millis, created_millis, *operations) if each is not None]
    last = max(times, default=None)
    is_quiet = last is not None and now_millis - last > QUIET_AFTER_MILLIS
    return last if is_quiet else None
