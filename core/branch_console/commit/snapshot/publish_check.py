"""Steps after a snapshot is published: hints, and a check that it and its base are still there."""

import logging
import time
from collections.abc import Callable

from branch_console.commit.base.commit_store import CommitStore
from branch_console.errors import FormatError, NotFound, PaimonError, StorageError
from branch_console.format.snapshot import Snapshot
from branch_console.storage.foreign_renames import wait_for_renames
from branch_console.storage.parallel_io import both
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable

_log = logging.getLogger(__name__)


def move_hints(store: CommitStore, paths: TablePaths, snapshot: Snapshot) -> None:
    """Point the hints at a snapshot that was published.

    They may lag behind, and where they cannot be written readers list the folder.
    """
    store.publisher.replace_hint(paths.latest_hint, str(snapshot.id).encode())
    if snapshot.id == 1:
        store.publisher.replace_hint(paths.earliest_hint, b"1")


def write_hints(store: CommitStore, paths: TablePaths, latest: int, earliest: int) -> None:
    """Write both hints; a missing or wrong one costs readers a listing, no more."""
    hint = store.publisher.replace_hint
    both(
        store.files,
        lambda: hint(paths.earliest_hint, str(earliest).encode()),
        lambda: hint(paths.latest_hint, str(latest).encode()),
    )


def renew_hints(table: FileStoreTable, store: CommitStore, landed: Snapshot) -> None:
    """Write the hints for the head: a commit that was cut off after its publish wrote none."""
    ids = table.snapshots.ids()
    if ids[-1] == landed.id:
        write_hints(store, table.paths, ids[-1], ids[0])


def was_replaced(
    table: FileStoreTable, snapshot: Snapshot, sleep: Callable[[float], object] = time.sleep
) -> bool:
    """Whether a writer that does not ask took the place of a snapshot that was just published.

    Nothing of ours replaces a snapshot; Paimon's own writers may. On a local file system this
    waits for those that are about to; elsewhere it tells what has happened so far.
    """
    path = table.paths.snapshot(snapshot.id)
    if not wait_for_renames(table.reader.files, path, sleep):
        _log.warning("somebody is about to replace %s, and has been for long", path)
    try:
        found = table.snapshots.find(snapshot.id)
    except NotFound:
        found = None
    except FormatError:
        return True
    except StorageError as error:
        # It was published, and that is known; only the look for others has failed.
        _log.warning("%s was published, but not read back: %s", path, error)
        return False
    # Rolled back or expired since: that was somebody's decision.
    return found is not None and not found.identity.same_as(snapshot.identity)


def is_base_gone(table: FileStoreTable, base: Snapshot | None) -> bool:
    """Whether a branch was cut back, dropped or renamed since this head of it was read.

    What was published on that head stands behind a hole then, or under a name that is no branch's
    any more. A base that has expired is no such case: nothing older than it is left either.
    """
    try:
        if base is not None and table.snapshots.find(base.id) is not None:
            return False
        if table.schemas.find_latest() is None:
            return True
        earliest = table.snapshots.earliest_id()
    except PaimonError as error:
        _log.warning("what %s stands on was not looked at: %s", table.identifier, error)
        return False
    return base is not None and earliest is not None and earliest < base.id


def withdraw_snapshot(store: CommitStore, table: FileStoreTable, snapshot: Snapshot) -> bool:
    """Remove a snapshot that lost its base; False if somebody has built on it, and it stays."""
    if table.snapshots.find(snapshot.id + 1) is not None:
        return False
    paths = table.paths
    # A hint past the head misleads Paimon; without one it lists.
    store.remover.remove([paths.latest_hint, paths.snapshot(snapshot.id)])
    if table.schemas.find_latest() is None:
        store.remover.remove([paths.earliest_hint])
        store.remover.remove_empty_directories([paths.snapshot_dir, paths.root])
    return True
