"""How far two branches went from each other: ahead and behind in snapshots and records."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from branch_console.diff.branch_trace import BranchTrace
from branch_console.diff.lineage import Lineage
from branch_console.diff.merge_base import best_common_ancestors
from branch_console.format.snapshot import CommitKind, Snapshot, SnapshotIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotDistance:
    """Snapshots that one branch has and the other lacks.

    Attributes:
        snapshots: Commits that changed content; compactions are not among them.
        compactions: Commits that only rewrote files.
        records: Records that those commits added to files, less those that they removed; None if
            a commit does not say.
        hides_rows: Whether deletion vectors may hide rows of these commits or before them.
    """

    snapshots: int
    compactions: int
    records: int | None
    hides_rows: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchOverview:
    """A branch against another one; without a common history, `base` and both sides are None."""

    branch: str
    versus: str
    base: SnapshotIdentity | None
    ahead: SnapshotDistance | None
    behind: SnapshotDistance | None

    @property
    def is_related(self) -> bool:
        """Whether the branches have a common history."""
        return self.base is not None


def compare_branches(branch: BranchTrace, versus: BranchTrace, lineage: Lineage) -> BranchOverview:
    """Count what each of two branches has since their best common ancestor.

    A snapshot counts for the side whose history it is part of, on whatever branch it lies, and
    whose head is not built on it by the other: what was merged in is no longer ahead. Snapshots
    that expired since the fork are not counted.
    """
    bases: tuple[SnapshotIdentity, ...] = ()
    if branch.head is not None and versus.head is not None:
        bases = best_common_ancestors(lineage, versus.head.identity, branch.head.identity)
    if branch.head is None or versus.head is None or not bases:
        return BranchOverview(
            branch=branch.branch, versus=versus.branch, base=None, ahead=None, behind=None
        )
    return BranchOverview(
        branch=branch.branch,
        versus=versus.branch,
        base=bases[0],
        ahead=_only_in(branch.head, versus.head, lineage),
        behind=_since(bases, versus.head, branch.head, lineage),
    )


def distance_of(snapshots: Sequence[Snapshot]) -> SnapshotDistance:
    """Return the sums over a run of commits."""
    compactions = [each for each in snapshots if each.commit_kind is CommitKind.COMPACT]
    others = [each for each in snapshots if each.commit_kind is not CommitKind.COMPACT]
    deltas = [each.delta_record_count for each in others]
    known = [delta for delta in deltas if delta is not None]
    return SnapshotDistance(
        snapshots=len(others),
        compactions=len(compactions),
        records=sum(known) if len(known) == len(deltas) else None,
        hides_rows=any(each.index_manifest is not None for each in snapshots),
    )


def _since(
    bases: Sequence[SnapshotIdentity], head: Snapshot, other_head: Snapshot, lineage: Lineage
) -> SnapshotDistance:
    line = lineage.full_history(head.identity)
    places = (line.places.get(each.manifest_lists) for each in bases)
    newest = min((each for each in places if each is not None), default=None)
    if newest is None:
        return _only_in(head, other_head, lineage)
    # Of a history what stands up to a common snapshot is common, and nothing behind the last one.
    return distance_of(line.snapshots[:newest])


def _only_in(head: Snapshot, other_head: Snapshot, lineage: Lineage) -> SnapshotDistance:
    reached = lineage.ancestors(other_head.identity)
    return distance_of(
        tuple(
            takewhile(
                lambda each: each.identity.manifest_lists not in reached,
                lineage.history(head.identity),
            )
        )
    )
