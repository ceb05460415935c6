"""The differences of snapshots: entries of only those manifests that not all of them list.

A manifest that every side lists adds and deletes the same files on each of them, so no difference
can come from it. A comparison therefore costs what changed, however large the table is.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.format.manifest_entry import NO_FILES
from branch_console.format.manifest_list import NO_MANIFESTS
from branch_console.format.snapshot import Snapshot
from branch_console.storage.table_paths import TablePaths
from branch_console.table.manifest_scan import ManifestScan, entry_counts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnsharedEntries:
    """The entries of several snapshots that stand in manifests which not all of them list.

    Attributes:
        sides: Per snapshot, as they were given: columns of MANIFEST_ENTRY, ADD and DELETE, in the
            order of its manifests. A DELETE may belong to an ADD of a manifest that was skipped.
        manifests_read: How many manifests these entries are from, each counted once.
        manifests_skipped: How many manifests all snapshots list; none of them was opened.
    """

    sides: tuple[pa.Table, ...]
    manifests_read: int
    manifests_skipped: int


def unshared_entries(
    scan: ManifestScan, paths: TablePaths, snapshots: Sequence[Snapshot | None]
) -> UnsharedEntries:
    """Read what two or more snapshots of a table do not have in common.

    What is live on one side and not on another follows from `sides` alone: count per identity an
    ADD as one and a DELETE as minus one, and subtract the counts of the sides.

    Args:
        scan: Opens each manifest once, also if several snapshots list it, and remembers it.
        paths: The table, seen from any branch: all branches keep their manifests in one folder.
        snapshots: Of any branches or tags, such as base, ours, theirs; None stands for the time
            before the first commit, which shares nothing.

    Raises:
        FormatError: A manifest list, or a manifest that is needed, is missing or broken.
    """
    found = iter(scan.manifests_of(paths, [each for each in snapshots if each is not None]))
    listed = [NO_MANIFESTS if each is None else next(found) for each in snapshots]
    unshared = unshared_manifests(listed)
    needed = _distinct(pa.concat_tables([NO_MANIFESTS, *unshared]))
    entries = _by_manifest(needed, scan.read(paths, needed))
    return UnsharedEntries(
        sides=tuple(_joined(side, entries) for side in unshared),
        manifests_read=needed.num_rows,
        manifests_skipped=_distinct(pa.concat_tables([NO_MANIFESTS, *listed])).num_rows
        - needed.num_rows,
    )


def unshared_manifests(sides: Sequence[pa.Table]) -> list[pa.Table]:
    """Return each side's manifests that not all sides list, in its order.

    Args:
        sides: The manifests of a snapshot each, with the columns of MANIFEST_FILE_META.
    """
    names = [set(side["file_name"].to_pylist()) for side in sides]
    shared = functools.reduce(set.intersection, names) if names else set()
    value_set = pa.array(sorted(shared), pa.string())
    return [
        side.filter(pc.invert(pc.is_in(side["file_name"], value_set=value_set))) for side in sides
    ]


def _distinct(manifests: pa.Table) -> pa.Table:
    """The first row of each manifest name."""
    names = manifests["file_name"].to_pylist()
    rows = sorted({name: row for row, name in reversed(list(enumerate(names)))}.values())
    return manifests.take(pa.array(rows, pa.int64()))


def _by_manifest(manifests: pa.Table, entries: pa.Table) -> dict[str, pa.Table]:
    """The entries of each manifest, given those of all in the order of the rows."""
    parts = {}
    start = 0
    for name, count in zip(
        manifests["file_name"].to_pylist(), entry_counts(manifests), strict=True
    ):
        parts[name] = entries.slice(start, count)
        start += count
    return parts


def _joined(manifests: pa.Table, entries: Mapping[str, pa.Table]) -> pa.Table:
    parts = (entries[name] for name in manifests["file_name"].to_pylist())
    return pa.concat_tables([NO_FILES, *parts])
