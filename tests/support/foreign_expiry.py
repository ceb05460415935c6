"""Paimon's own expiry, in Python: it looks at one branch, and at the tags of main.

Source: Paimon ExpireSnapshotsImpl.innerExpireUntil, SnapshotDeletion, FileDeletionBase.
"""

from pathlib import Path

from branch_console.format.manifest_entry import FileKind
from branch_console.format.snapshot import Snapshot
from branch_console.table.data_file_paths import data_file_paths
from branch_console.table.file_store_table import FileStoreTable


def expire_as_paimon(table: FileStoreTable) -> int:
    """Expire all of a branch but its newest snapshot, heeding consumers; the number that went."""
    ids = table.snapshots.ids()
    if not ids:
        return 0
    begin, end = ids[0], ids[-1]
    for state in table.consumers.states_with_fence():
        assert state.value is not None
        end = min(end, state.value.next_snapshot_id)
    if end <= begin:
        return 0
    snapshots = [table.snapshots.get(each) for each in range(begin, end + 1)]
    tags = sorted((tag.snapshot for tag in table.on("main").tags.all()), key=lambda each: each.id)
    for snapshot in snapshots[1:]:
        earlier = [tag for tag in tags if tag.id < snapshot.id]
        spared = _live(table, earlier[-1]) if earlier else set()
        _remove(_deleted(table, snapshot) - spared)
    skipped = _metadata(table, snapshots[-1])
    left = max([number for number, tag in enumerate(tags) if tag.id <= begin], default=0)
    for tag in tags[left:]:
        if tag.id < end:
            skipped |= _metadata(table, tag)
    for snapshot in snapshots[:-1]:
        _remove(_metadata(table, snapshot) - skipped)
    for snapshot in snapshots[:-1]:
        Path(table.paths.snapshot(snapshot.id)).unlink()
    Path(table.paths.earliest_hint).write_text(str(end))
    return len(snapshots) - 1


def _deleted(table: FileStoreTable, snapshot: Snapshot) -> set[str]:
    entries = table.delta_entries(snapshot)
    kinds = entries["kind"].to_pylist()
    gone: set[str] = set()
    for path, kind in zip(data_file_paths(table, entries).to_pylist(), kinds, strict=True):
        if kind == FileKind.DELETE:
            gone.add(path)
        else:
            gone.discard(path)
    return gone


def _live(table: FileStoreTable, snapshot: Snapshot) -> set[str]:
    return set(data_file_paths(table, table.live_files(snapshot)).to_pylist())


def _metadata(table: FileStoreTable, snapshot: Snapshot) -> set[str]:
    lists = (snapshot.base_manifest_list, snapshot.delta_manifest_list)
    names = table.manifests(snapshot)["file_name"].to_pylist()
    return {table.paths.manifest(each) for each in (*lists, *names)}


def _remove(paths: set[str]) -> None:
    for path in paths:
        Path(path).unlink(missing_ok=True)
