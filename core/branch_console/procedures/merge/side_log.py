"""The log of one side of a merge, read from the delta manifests of its snapshots."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.changes.file_history import (
    FileHistory,
    SnapshotDelta,
    entry_difference,
    fold_history,
    recorded_operation,
    reversed_entries,
)
from branch_console.diff.file_masks import FileMask, HiddenRows, MaskKey
from branch_console.diff.lineage import ROW_OPERATION
from branch_console.diff.masks import Mask, masks_of
from branch_console.format.manifest_entry import FileKind, rows_without
from branch_console.format.options import Options
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.format.values.deletion_vector import read_deletion_vectors
from branch_console.table.data_file_paths import IndexFolders, read_index_file
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.manifest_scan import entry_counts
from branch_console.table.unshared_manifests import unshared_entries


def side_log(
    table: FileStoreTable, root: Snapshot, head: Snapshot, line: Sequence[Snapshot]
) -> FileHistory:
    """The folded log of a side; where snapshots have expired, what both ends differ by.

    Args:
        table: The table on the branch of the side.
        root: The newest snapshot that both sides hold.
        head: Where the log ends.
        line: The snapshots behind the root up to the head, oldest first, as far as they are there.

    Raises:
        FormatError: A manifest or an index file cannot be decoded.
    """
    ids = [each.id for each in line]
    if len(ids) == head.id - root.id and ids == list(range(root.id + 1, head.id + 1)):
        return fold_history(_deltas(table, root, line))
    differing = unshared_entries(table.scan, table.paths, (root, head))
    entries = entry_difference(*differing.sides)
    masks = changed_masks_of(table, root, head)
    # What the last commit was says nothing of those before it.
    snapshot = replace(head, commit_kind=CommitKind.APPEND, operation=None, properties=Options())
    return fold_history([SnapshotDelta(snapshot=snapshot, entries=entries, masks=masks)])


def reverse_log(table: FileStoreTable, before: Snapshot, undone: Snapshot) -> FileHistory:
    """The log of what takes a snapshot back to the one before it; raises as `side_log` does."""
    forward = _deltas(table, before, (undone,))[0]
    masks = {
        key: FileMask(before=each.after, after=each.before) for key, each in forward.masks.items()
    }
    # What was done says nothing of what takes it back, which never empties a partition for good.
    properties = {k: v for k, v in undone.properties.items() if k != ROW_OPERATION}
    snapshot = replace(undone, operation=None, properties=Options(properties))
    entries = reversed_entries(forward.entries)
    return fold_history([SnapshotDelta(snapshot=snapshot, entries=entries, masks=masks)])


def changed_masks_of(
    table: FileStoreTable, before: Snapshot, after: Snapshot
) -> dict[MaskKey, FileMask]:
    """The deletion vectors of a table without keys that differ in two of its snapshots."""
    if before.index_manifest == after.index_manifest or table.schema().primary_keys:
        return {}
    states = [masks_of(table.index_entries(each)) for each in (before, after)]
    keys = [
        key
        for key in states[0].keys() | states[1].keys()
        if states[0].get(key) != states[1].get(key)
    ]
    then, now = (
        read_masks(table, {key: state[key] for key in keys if key in state}) for state in states
    )
    found = {
        key: FileMask(before=then.get(key, HiddenRows()), after=now.get(key, HiddenRows()))
        for key in keys
    }
    # A vector that was only written again hides what it did.
    return {key: mask for key, mask in found.items() if mask.is_change}


def read_masks(table: FileStoreTable, masks: Mapping[MaskKey, Mask]) -> dict[MaskKey, HiddenRows]:
    """Read deletion vectors, each index file once."""
    if not masks:
        return {}
    in_file: dict[str, list[MaskKey]] = {}
    folders = IndexFolders.of(table)
    for key, mask in masks.items():
        path = folders.path(mask.place, mask.index_file, mask.external_path)
        in_file.setdefault(path, []).append(key)
    found: dict[MaskKey, HiddenRows] = {}
    contents = table.reader.map_parallel(lambda path: read_index_file(table, path), tuple(in_file))
    for (path, keys), data in zip(in_file.items(), contents, strict=True):
        vectors = read_deletion_vectors(data, [masks[key].range for key in keys], path)
        found |= {key: HiddenRows(vectors[masks[key].range.data_file]) for key in keys}
    return found


def _deltas(table: FileStoreTable, root: Snapshot, line: Sequence[Snapshot]) -> list[SnapshotDelta]:
    lists = table.scan.delta_lists(table.paths, line)
    schema = table.schema()
    if not lists:
        return []
    entries = table.read_manifests(pa.concat_tables(lists))
    sizes = [sum(entry_counts(each)) for each in lists]
    deltas, start = [], 0
    for previous, snapshot, size in zip((root, *line), line, sizes, strict=False):
        part = entries.slice(start, size)
        start += size
        has_keys = bool(schema.primary_keys)
        deltas.append(
            SnapshotDelta(
                snapshot=snapshot,
                entries=part,
                emptied=frozenset() if has_keys else _emptied(table, previous, snapshot, part),
                masks=changed_masks_of(table, previous, snapshot),
            )
        )
    return deltas


def _emptied(
    table: FileStoreTable, previous: Snapshot, snapshot: Snapshot, entries: pa.Table
) -> frozenset[bytes]:
    """Partitions of which a snapshot left no file that was there before."""
    deleted = entries.filter(pc.equal(entries["kind"], int(FileKind.DELETE)))
    if not deleted.num_rows or recorded_operation(snapshot) is not None:
        return frozenset()
    partitions = frozenset(deleted["partition"].to_pylist())
    before = table.live_files(previous, partitions=partitions)
    kept = rows_without(before, deleted)
    return partitions - frozenset(kept["partition"].to_pylist())
