"""What a dry run tells line by line: what would go, and why the rest of what is due stays."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from branch_console.diff.expiry.retention import Expiry, SnapshotHold
from branch_console.diff.expiry.storage_cost import FileAmount
from branch_console.format.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class DueSnapshot:
    """A snapshot that the limits of an expiry let go.

    Attributes:
        holds: Why it stays nevertheless; none where it goes.
    """

    branch: str
    snapshot: Snapshot
    holds: tuple[SnapshotHold, ...] = ()

    @property
    def goes(self) -> bool:
        """Whether the expiry takes it."""
        return not self.holds


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryDryRun:
    """What an expiry would do.

    Attributes:
        due: By branch and id.
        kept_count: How many snapshots of the branches are not due.
        released: The files that nothing needs once the snapshots are gone.
        earlier: Expiries whose grace is over, and whose files go now.
        grace_millis: How long undo can bring the snapshots back before their files go.
    """

    due: tuple[DueSnapshot, ...]
    kept_count: int
    released: FileAmount
    earlier: tuple[str, ...]
    grace_millis: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CleaningDryRun:
    """What a cleaning of orphan files would do.

    Attributes:
        orphans: Columns of RELEASED_FILES; what nothing names.
        earlier: Columns of RELEASED_FILES; what earlier cleanings noted, and what goes now.
        unknown: Files that nothing names either, and that stay: Paimon gives none such a name.
        grace_millis: How long undo keeps the orphans.
    """

    orphans: "pa.Table"
    earlier: "pa.Table"
    unknown: tuple[str, ...]
    grace_millis: int


def due_snapshots(
    branch: str, snapshots: Mapping[int, Snapshot], expiry: Expiry
) -> Iterator[DueSnapshot]:
    """Tell of each snapshot that is due whether it goes, and else what holds it.

    Args:
        branch: The branch.
        snapshots: Its snapshots by id.
        expiry: What was decided for it.
    """
    for number in sorted(snapshots):
        if number < expiry.due_until:
            holds = tuple(each for each in expiry.holds if each.since_id <= number)
            yield DueSnapshot(branch=branch, snapshot=snapshots[number], holds=holds)
