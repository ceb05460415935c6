"""A partition of two sides, compared by itself; see `DriftMap`."""

from collections.abc import Sequence

from branch_console.diff.rows.row_diff import ComparedColumn
from branch_console.quality.comparison import Scope, compare_profiles
from branch_console.quality.drift import LEAST_ROWS
from branch_console.quality.drift_map import Base, DriftCell, PartitionDrift
from branch_console.quality.profile import Profile


def compare_partition(
    partition: str,
    own: tuple[Profile, Profile],
    there: Profile | None,
    whole: Profile | None,
    columns: Sequence[ComparedColumn],
    keys: Sequence[str],
) -> PartitionDrift:
    """Compare the rows that B has for itself in a partition with the nearest that are enough.

    Args:
        partition: Its name.
        own: The rows that only A and only B has in it.
        there: All that A has in it; None if that was not read.
        whole: All of A; None if that was not read.
        columns: The profiled columns.
        keys: Names of those that make up the key.
    """
    bases = ((Base.OWN, own[0]), (Base.PARTITION, there), (Base.WHOLE, whole))
    base, before = next(
        ((name, each) for name, each in bases if each is not None and each.rows >= LEAST_ROWS),
        (Base.OWN, own[0]),
    )
    found = compare_profiles(before, own[1], columns, keys, Scope.OWN)
    cells = tuple(
        DriftCell(
            column=each.name,
            rating=each.rating,
            severity=each.severity,
            measure=worst.measure,
            value=worst.value,
        )
        for each in found.columns
        if (worst := each.worst) is not None
    )
    return PartitionDrift(partition=partition, rows=found.rows, base=base, cells=cells)
