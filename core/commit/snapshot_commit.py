"""Publishing a snapshot: the one step of a commit after which readers see it."""

import logging
import time
from collections.abc import Callable

from core.commit.commit_store import CommitStore
from core.errors import NotFound, StorageError
from core.format.snapshot import Snapshot
from core.storage.file_publisher import Published
from core.storage.foreign_renames import wait_for_renames
from core.storage.table_paths import TablePaths

_log = logging.getLogger(__name__)


def publish_snapshot(store: CommitStore, paths: TablePaths, snapshot: Snapshot) -> Published:
    """Make the file of a snapshot, never in place of another, and then move the hint.

    Returns:
        WON, LOST (another commit has this id) or UNKNOWN; only a look tells after the last two.
    """
    outcome = store.publisher.publish(paths.snapshot(snapshot.id), snapshot.to_json().encode())
    if outcome is Published.WON:
        # Only a hint: where it cannot be written readers list the folder.
        store.publisher.replace_hint(paths.latest_hint, str(snapshot.id).encode())
        if snapshot.id == 1:
            store.publisher.replace_hint(paths.earliest_hint, b"1")
    return outcome


def was_replaced(
    store: CommitStore,
    paths: TablePaths,
    snapshot: Snapshot,
    sleep: Callable[[float], object] = time.sleep,
) -> bool:
    """Whether a writer that does not ask took the place of a snapshot that was just published.

    Nothing of ours replaces a snapshot; Paimon's own writers may. On a local file system this
    waits for those that are about to; elsewhere it tells what has happened so far.
    """
    path = paths.snapshot(snapshot.id)
    if not wait_for_renames(store.files, path, sleep):
        _log.warning("somebody is about to replace %s, and has been for long", path)
    try:
        return store.files.read(path) != snapshot.to_json().encode()
    except NotFound:
        return False  # rolled back or expired since: that was somebody's decision
    except StorageError as error:
        # It was published, and that is known; only the look for others has failed.
        _log.warning("%s was published, but not read back: %s", path, error)
        return False
