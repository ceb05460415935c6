"""The best common ancestors of two heads, over snapshots, forks and merges."""

from branch_console.diff.branch_trace import Lists
from branch_console.diff.lineage import Lineage
from branch_console.format.snapshot import SnapshotIdentity


def best_common_ancestors(
    lineage: Lineage, ours: SnapshotIdentity, theirs: SnapshotIdentity
) -> tuple[SnapshotIdentity, ...]:
    """The common ancestors that no other common ancestor builds on, nearest to `theirs` first.

    More than one means a criss-cross history.
    """
    known = lineage.ancestors(ours)
    # What a common one builds on is common, and not the best: it need not be looked at.
    nearest = [each for each in lineage.walk(theirs, known) if each.manifest_lists in known]
    if len(nearest) < 2:
        return tuple(nearest)
    best: list[SnapshotIdentity] = []
    covered: set[Lists] = set()
    for each in nearest:
        if each.manifest_lists in covered:
            continue
        below = lineage.ancestors(each).keys()
        best = [other for other in best if other.manifest_lists not in below]
        best.append(each)
        covered |= below
    return tuple(best)
