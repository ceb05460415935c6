"""The report of a dry run, line by line: files that would go, and why other due files stay."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from branch_console.diff.expiry.retention import Expiry, SnapshotHold, TableHold
from branch_console.diff.expiry.storage_cost import FileAmount
from branch_console.format.receipt import identity_to
from branch_console.format.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLE_SIZE: Final = 20
"""How many of the files that go a plan names."""
BLOCKED_UNTIL: Final = "blocked_until"
"""The fact of the error of an expiry that says when it can run, in milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueSnapshot:
    """A snapshot that the limits of an expiry let go.

    Attributes:
        holds: Why it stays nevertheless; none if it goes.
    """

    branch: str
    snapshot: Snapshot
    holds: tuple[SnapshotHold, ...] = ()

    @property
    def goes(self) -> bool:
        """Whether the expiry takes it."""
        return not self.holds

    def to_object(self) -> dict[str, object]:
        """Return JSON values; `hold` is None if the snapshot goes."""
        return {
            "branch": self.branch,
            "id": self.snapshot.id,
            "identity": identity_to(self.snapshot.identity),
            "hold": self.holds[0].on(self.branch).to_object() if self.holds else None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryDryRun:
    """The effects of an expiry, line by line.

    Attributes:
        due: By branch and id.
        kept_count: How many snapshots of the branches are not due.
        released: The files that nothing needs once the snapshots are gone.
        earlier: Operations that took names, such as expiries and releases of rescue branches, whose
            grace is over and whose files go now.
        grace_millis: How long undo can bring the snapshots back before their files go.
        sample: Paths of some of the released files.
        skipped: Branches that were asked for and are passed over, as they have no snapshot or keep
            what an undo needs.
    """

    due: tuple[DueSnapshot, ...]
    kept_count: int
    released: FileAmount
    earlier: tuple[str, ...]
    grace_millis: int
    sample: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    def to_object(self, plan_id: str, table: str, holds: Sequence[TableHold]) -> dict[str, object]:
        """Return the plan as JSON values.

        Args:
            plan_id: The digest of the plan.
            table: The name of the table.
            holds: What was met, also if it holds nothing that is due.
        """
        return _plan(
            plan_id,
            table,
            retire=[each.to_object() for each in self.due],
            amount=self.released,
            sample=self.sample,
            holds=holds,
            skipped=self.skipped,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CleaningDryRun:
    """The effects of a cleaning of orphan files, line by line.

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

    def to_object(self, plan_id: str, table: str, holds: Sequence[TableHold]) -> dict[str, object]:
        """Return the plan as JSON values, with the arguments of `ExpiryDryRun.to_object`."""
        parts = (self.orphans, self.earlier)
        size = sum(sum(each["file_size"].to_pylist()) for each in parts)
        return _plan(
            plan_id,
            table,
            retire=[],
            amount=FileAmount(file_count=sum(map(len, parts)), byte_count=size),
            sample=[path for each in parts for path in each["path"].to_pylist()][:SAMPLE_SIZE],
            holds=holds,
            unknown=self.unknown,
        )


def due_snapshots(
    branch: str, snapshots: Mapping[int, Snapshot], expiry: Expiry
) -> Iterator[DueSnapshot]:
    """Tell of each snapshot that is due whether it goes, and else what holds it.

    Args:
        branch: The branch.
        snapshots: Its snapshots by id.
        expiry: The decided expiry.
    """
    for number in sorted(snapshots):
        if number < expiry.due_until:
            holds = tuple(each for each in expiry.holds if each.since_id <= number)
            yield DueSnapshot(branch=branch, snapshot=snapshots[number], holds=holds)


def _plan(
    plan_id: str,
    table: str,
    *,
    retire: list[dict[str, object]],
    amount: FileAmount,
    sample: Sequence[str],
    holds: Sequence[TableHold],
    unknown: Sequence[str] = (),
    skipped: Sequence[str] = (),
) -> dict[str, object]:
    """The one shape of all that takes names or files from a table."""
    return {
        "plan_id": plan_id,
        "table": table,
        "retire": retire,
        "release": {
            "files": amount.file_count,
            "bytes": amount.byte_count,
            "sample": list(sample),
        },
        "holds": [each.to_object() for each in holds],
        "unknown": list(unknown),
        "skipped": list(skipped),
    }
