"""The snapshots that an expiry of a branch takes: Paimon's rule, and what keeps some longer.

Source: Paimon ExpireSnapshotsImpl.expire, ExpireConfig, ProcedureUtils.fillInSnapshotOptions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from branch_console.errors import ErrorKind, InvalidInput


class HoldKind(StrEnum):
    """Why something of a table stays, though an expiry or a release would take it.

    Attributes:
        READ: A query, a comparison or a merge reads it now.
        OPERATION: An operation is at work, or was cut off.
        GRACE: Undo can still bring back what an operation took.
        STAGED: A dry run has staged files for a merge.
        CATALOG: A branch or a tag of the catalog reads it, and no tag keeps it.
    """

    CONSUMER = "consumer"
    MERGE_BASE = "merge base"
    UNDO = "undo"
    READ = "running read"
    TAG = "tag"
    OPERATION = "operation"
    GRACE = "grace"
    STAGED = "staged result"
    CATALOG = "catalog branch"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotHold:
    """Why the snapshots of a branch stay from some id on.

    Attributes:
        owner: The consumer, the branch or the operation that needs them.
        since_id: The oldest snapshot that stays.
        until_millis: When it ends by itself; None if only somebody can end it.
    """

    kind: HoldKind
    owner: str
    since_id: int
    until_millis: int | None = None

    def on(self, branch: str) -> "TableHold":
        """The same as a hold of the table."""
        return TableHold(
            branch=branch,
            kind=self.kind,
            owner=self.owner,
            since_snapshot=self.since_id,
            until_millis=self.until_millis,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHold:
    """Why something of a table stays.

    Attributes:
        branch: The branch of which it stays.
        owner: The consumer, branch, tag or operation that needs it.
        since_snapshot: The oldest snapshot that stays; of a tag the only one. None if that is
            not snapshots.
        since_millis: When the hold began, where that is known.
        until_millis: When it ends by itself; None if only somebody can end it.
    """

    branch: str
    kind: HoldKind
    owner: str
    since_snapshot: int | None = None
    since_millis: int | None = None
    until_millis: int | None = None

    def to_object(self) -> dict[str, object]:
        """Return the hold as JSON values."""
        return {
            "branch": self.branch,
            "kind": str(self.kind),
            "owner": self.owner,
            "since_snapshot": self.since_snapshot,
            "since_millis": self.since_millis,
            "until_millis": self.until_millis,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How many snapshots stay, and for how long.

    Attributes:
        retain_max: The most that stay, however young.
        retain_min: The fewest that stay, however old.
        older_than_millis: A snapshot goes only if its successor was committed before this time.
        max_deletes: The most that go in one run.
        is_changelog_kept: Whether changelogs stay longer than their snapshots.
    """

    retain_max: int
    retain_min: int
    older_than_millis: int
    max_deletes: int
    is_changelog_kept: bool = False

    def __post_init__(self) -> None:
        """Refuse what Paimon refuses; raises InvalidInput."""
        if self.retain_max < self.retain_min:
            raise InvalidInput(
                f"retainMax ({self.retain_max}) must not be less than retainMin "
                f"({self.retain_min}). Where you leave one out, the branch's own option counts: "
                "give both. No snapshot expired.",
                kind=ErrorKind.INVALID_ARGUMENT,
                argument="retain_max",
            )
        if self.retain_min < 1:
            raise InvalidInput(
                f"retainMin ({self.retain_min}) must be 1 or more: the newest snapshot of a branch "
                "is what it holds. No snapshot expired; choose another.",
                kind=ErrorKind.INVALID_ARGUMENT,
                argument="retain_min",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiry:
    """The snapshots of a branch that go: from the oldest one up to, and without, an end.

    Attributes:
        due_until: The end if nothing kept any.
        holds: The reasons that keep snapshots which would have expired.
    """

    first_id: int
    end_id: int
    due_until: int
    holds: tuple[SnapshotHold, ...] = ()

    @property
    def count(self) -> int:
        """How many go, given that ids have no gaps."""
        return self.end_id - self.first_id


def plan_expiry(
    times: Mapping[int, int], retention: Retention, holds: Sequence[SnapshotHold] = ()
) -> Expiry:
    """Decide which snapshots of a branch go.

    Args:
        times: When each snapshot of the branch was committed, in milliseconds, by its id; one at
            least.
        retention: The limits.
        holds: The other reasons that keep snapshots.

    Returns:
        What goes; the end is the first id if nothing does.
    """
    first, latest = min(times), max(times)
    wanted = _end(times, retention, first, latest)
    end = min((wanted, *(each.since_id for each in holds)))
    return Expiry(
        first_id=first,
        end_id=max(first, end),
        due_until=wanted,
        holds=tuple(each for each in holds if each.since_id < wanted),
    )


def plan_changelog_expiry(
    times: Mapping[int, int],
    latest_id: int,
    retention: Retention,
    holds: Sequence[SnapshotHold] = (),
) -> Expiry:
    """Decide which decoupled changelogs of a branch go; the newest one always stays.

    Args:
        times: When the snapshot of each was committed, in milliseconds, by its id; one at least.
        latest_id: The newest snapshot of the branch, from which is counted how many stay.
        retention: The limits.
        holds: The other reasons that keep changelogs.

    Returns:
        What goes; the end is the first id if nothing does.

    References:
        Paimon ExpireChangelogImpl.expire.
    """
    first, last = min(times), max(times)
    end = min(latest_id - retention.retain_min + 1, first + retention.max_deletes, last)
    least = max(latest_id - retention.retain_max + 1, first)
    young = (
        number
        for number in range(least, end + 1)
        if number in times and retention.older_than_millis <= times[number]
    )
    wanted = max(first, next(young, end))
    end = min((wanted, *(each.since_id for each in holds)))
    return Expiry(
        first_id=first,
        end_id=max(first, end),
        due_until=wanted,
        holds=tuple(each for each in holds if each.since_id < wanted),
    )


def _end(times: Mapping[int, int], retention: Retention, first: int, latest: int) -> int:
    least = max(latest - retention.retain_max + 1, first)
    end = max(first, min(latest - retention.retain_min + 1, first + retention.max_deletes))
    for snapshot_id in range(least, end):
        successor = times.get(snapshot_id + 1)
        # The successor tells how long a snapshot has been history.
        if successor is not None and retention.older_than_millis <= successor:
            return snapshot_id
    return end
