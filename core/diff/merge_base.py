"""The best common ancestor of two heads, over snapshots, forks and merges."""

from core.diff.lineage import Lineage
from core.format.snapshot import SnapshotIdentity


def best_common_ancestors(
    lineage: Lineage, ours: SnapshotIdentity, theirs: SnapshotIdentity
) -> tuple[SnapshotIdentity, ...]:
    """The common ancestors that no other common ancestor builds on, nearest to `theirs` first.

    More than one means a criss-cross history.
    """
    known = {each.manifest_lists for each in lineage.ancestors(ours)}
    common = [each for each in lineage.ancestors(theirs) if each.manifest_lists in known]
    best: list[SnapshotIdentity] = []
    covered: set[tuple[str, str]] = set()
    for each in common:
        if each.manifest_lists in covered:
            continue
        below = {other.manifest_lists for other in lineage.ancestors(each)}
        best = [other for other in best if other.manifest_lists not in below]
        best.append(each)
        covered |= below
    return tuple(best)


def merge_base(
    lineage: Lineage, ours: SnapshotIdentity, theirs: SnapshotIdentity
) -> SnapshotIdentity | None:
    """The snapshot that a three-way comparison starts from, None without a common history.

    A merged source is an ancestor of the target, so the next merge starts there. Of several best
    ancestors this is the one nearest to `theirs`.
    """
    found = best_common_ancestors(lineage, ours, theirs)
    return found[0] if found else None
