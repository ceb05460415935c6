"""The values that the pages and the command line show, frozen.

A broken item does not break its list: the item carries its error, the others their values.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from branch_console.diff.branch_counts import BranchCounts
from branch_console.diff.health.finding import HealthFinding
from branch_console.diff.rows.row_figure import NOTHING_COUNTED, RowFigure
from branch_console.errors import PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.lineage_event import LineageEvent
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.format.table_schema import TableSchema
from branch_console.format.tag import Tag

if TYPE_CHECKING:
    import pyarrow as pa


class Health(StrEnum):
    """Whether something can be read, and whether that will stay so, as far as all rules ran."""

    HEALTHY = "healthy"
    UNCHECKED = "not checked"
    AT_RISK = "at-risk"
    BROKEN = "broken"


class TableKind(StrEnum):
    """The kind of a table, by its keys."""

    APPEND = "append"
    PRIMARY_KEY = "primary-key"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableItem:
    """A table in a list; what could not be read is None and `error` says why.

    Attributes:
        figure: Rows of the head of main; at most how many where deletion vectors hide some.
        branches: How many there are, main among them; None if they could not be listed.
        broken_branches: Names of the branches that cannot be read, without rescue branches.
        broken_rescues: Names of the rescue branches whose heads cannot be read. No cleaning frees a
            file of the table while there is one. Older snapshots, tags and changelogs of a rescue
            branch stop it too, but are not looked at: each would cost a request.
        blocked_until: When undo ends of the last released branch whose head cannot be read; None
            without one. No cleaning frees a file of the table before.
        last_event: The newest entry of the ledger.
    """

    identifier: Identifier
    path: str
    table_type: str
    health: Health
    kind: TableKind | None = None
    comment: str | None = None
    schema: TableSchema | None = None
    head: Snapshot | None = None
    figure: RowFigure = NOTHING_COUNTED
    branches: BranchCounts | None = None
    broken_branches: tuple[str, ...] = ()
    broken_rescues: tuple[str, ...] = ()
    blocked_until: int | None = None
    last_event: LineageEvent | None = None
    error: PaimonError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEvents:
    """The ledger of one table.

    Attributes:
        events: In the order they happened, with branches under the names they had at the time.
    """

    table: Identifier
    events: tuple[LineageEvent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesInTable:
    """The names that a table keeps, for a search: nothing behind them is read."""

    table: Identifier
    branches: tuple[str, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSummary:
    """A table on one branch.

    Attributes:
        figure: Rows of the head.
        change: The changes by the commit of the head.
        first_snapshot_id: The oldest snapshot that has not expired.
        branch_options: Options of the table that name a branch, by key.
        events: The history of operations, without the events that cannot be read, with branches
            under the names they had at the time.
        broken_events: Why those cannot be read: the history is incomplete.
    """

    identifier: Identifier
    path: str
    kind: TableKind
    schema: TableSchema
    head: Snapshot | None
    figure: RowFigure
    change: RowFigure
    first_snapshot_id: int | None
    snapshot_count: int
    branches: tuple[str, ...]
    tags: tuple[str, ...]
    consumers: tuple[tuple[str, int], ...]
    branch_options: tuple[tuple[str, str], ...]
    events: tuple[LineageEvent, ...]
    broken_events: tuple[PaimonError, ...] = ()

    @property
    def branches_with_main(self) -> tuple[str, ...]:
        """All branches, main first."""
        return tuple(dict.fromkeys([MAIN_BRANCH, *self.branches]))


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkView:
    """The fork of a branch, and its evidence.

    Attributes:
        parent: The branch it came from.
        snapshot: The snapshot both share; None if only its identity is known.
        evidence: Sentences, strongest first.
        confidence: `recorded`, `high`, `medium` or `low`.
    """

    parent: str
    snapshot_id: int | None
    identity: SnapshotIdentity
    evidence: tuple[str, ...]
    confidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchDistance:
    """How far a branch went from the one it is compared with; None is not read, never 0.

    Attributes:
        ahead: Snapshots only the branch has, compactions not counted.
        behind: Snapshots only the other one has, compactions not counted.
        figure_ahead: The changes by these commits of the branch.
        figure_behind: The changes by these commits of the other branch.
    """

    ahead: int | None
    behind: int | None
    figure_ahead: RowFigure = NOTHING_COUNTED
    figure_behind: RowFigure = NOTHING_COUNTED


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchItem:
    """A branch in a list; a broken one has an `error` and no head.

    Attributes:
        figure: Rows of the head.
        created_millis: When it was made; without a record of that, the time of its folder.
        is_recorded: Whether the ledger says who made it, and when.
        protection: The rule of the ledger that protects it.
        branch_options: Options of its schema that name a branch, by key.
        quiet_since_millis: When it saw its last commit or operation, if that is thirty days ago.
        used_by: Options of other branches that name this one.
    """

    name: str
    health: Health
    findings: tuple[HealthFinding, ...]
    head: Snapshot | None = None
    figure: RowFigure = NOTHING_COUNTED
    schema: TableSchema | None = None
    base_tag: str | None = None
    created_millis: int | None = None
    is_recorded: bool = False
    owner: str | None = None
    reason: str | None = None
    fork: ForkView | None = None
    versus: BranchDistance | None = None
    quiet_since_millis: int | None = None
    protection: LineageEvent | None = None
    branch_options: tuple[tuple[str, str], ...] = ()
    used_by: tuple[str, ...] = ()
    error: PaimonError | None = None

    @property
    def needs_pin(self) -> bool:
        """Whether a pin remedies one of the findings."""
        return any(finding.needs_pin for finding in self.findings)

    @property
    def needs_repair(self) -> bool:
        """Whether it lacks schemas that its files need."""
        return any(finding.needs_repair for finding in self.findings)

    @property
    def needs_fence(self) -> bool:
        """Whether a fence of this very branch remedies one of the findings."""
        return any(finding.fences(self.name) for finding in self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedBranch:
    """A branch that was dropped and can be restored: its rescue branch is still there."""

    name: str
    rescue_branch: str
    operation_id: str
    actor: str
    reason: str | None
    time_millis: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotItem:
    """A snapshot in a timeline, with the tags that name it; a broken one has an `error`.

    Attributes:
        figure: All its rows.
        change: The changes by its commit.
    """

    id: int
    snapshot: Snapshot | None
    figure: RowFigure = NOTHING_COUNTED
    change: RowFigure = NOTHING_COUNTED
    tags: tuple[str, ...] = ()
    schema_changed: bool = False
    error: PaimonError | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SnapshotDetail:
    """A snapshot with its files, summed up.

    Attributes:
        partitions: Columns of PARTITION_SUMMARY of `browse_history`, largest first.
        file_count: Live data files.
        byte_count: Their size.
        figure: Its rows, as far as its files tell.
        change: The changes by its commit.
    """

    identifier: Identifier
    snapshot: Snapshot
    tags: tuple[str, ...]
    schema: TableSchema
    file_count: int
    byte_count: int
    figure: RowFigure
    change: RowFigure
    delete_file_count: int
    added_file_count: int
    partitions: pa.Table


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaItem:
    """A schema version with what it changed, in sentences; a broken one has an `error`."""

    id: int
    schema: TableSchema | None
    changes: tuple[str, ...] = ()
    snapshot_count: int = 0
    error: PaimonError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TagItem:
    """A tag in a list; a broken one has an `error`.

    Attributes:
        figure: Rows of the snapshot that it names.
    """

    name: str
    tag: Tag | None
    figure: RowFigure = NOTHING_COUNTED
    is_base_of: tuple[str, ...] = ()
    error: PaimonError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """A snapshot of the branch graph; shared snapshots stand once, on the branch they began on.

    Attributes:
        figure: All its rows.
        change: The changes by its commit.
    """

    branch: str
    snapshot: Snapshot
    figure: RowFigure
    change: RowFigure
    tags: tuple[str, ...]
    schema_changed: bool
    is_head_of: tuple[str, ...]
    merged_from: SnapshotIdentity | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphLane:
    """A branch of the graph: where it leaves other lanes, and whether it can be read.

    Attributes:
        leaves: The newest snapshot on each other lane that its history comes through, near ones
            first: a page that leaves lanes out joins it to the first that is drawn.
    """

    branch: str
    parent: str | None
    leaves: tuple[SnapshotIdentity, ...]
    head: SnapshotIdentity | None
    item: BranchItem


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchGraph:
    """The lineage of a table: lanes with main first, nodes by lane and id, and the ledger.

    Attributes:
        dropped: Branches that can be restored, the last dropped first.
    """

    identifier: Identifier
    lanes: tuple[GraphLane, ...]
    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[SnapshotIdentity, SnapshotIdentity], ...]
    events: tuple[LineageEvent, ...]
    dropped: tuple[DroppedBranch, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackView:
    """The branches from which batch reads take partitions, if an option names another branch.

    Attributes:
        option: The option, such as `scan.fallback-branch`.
        branch: The branch that is read.
        other: The branch that the option names.
        own_partitions: How many partitions are read from `branch`.
        other_partitions: The partitions that are read from `other`, as `dt=20240101/hh=8`.
        problem: Why `other` cannot be read along; then both are empty.
    """

    option: str
    branch: str
    other: str
    is_partitioned: bool
    own_partitions: int
    other_partitions: tuple[str, ...]
    problem: str | None

    @property
    def sentence(self) -> str:
        """Return which partitions are read from which branch, or why that is not known."""
        if self.problem is not None:
            return self.problem
        count = len(self.other_partitions)
        if not self.is_partitioned:
            source = self.other if count else self.branch
            return f"Batch reads take all rows from {source!r}, by {self.option}."
        own = f"{self.own_partitions} from {self.branch!r}"
        noun = "partition" if count == 1 else "partitions"
        return f"Batch reads take {count} {noun} from {self.other!r} and {own}, by {self.option}."
