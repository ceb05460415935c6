"""What follows the publishing of a snapshot: hints, and a look whether it stayed."""

import logging
import time
from collections.abc import Callable

from core.commit.commit_store import CommitStore
from core.errors import FormatError, NotFound, StorageError
from core.format.snapshot import Snapshot
from core.storage.foreign_renames import wait_for_renames
from core.storage.table_paths import TablePaths
from core.table.file_store_table import FileStoreTable

_log = logging.getLogger(__name__)


def move_hints(store: CommitStore, paths: TablePaths, snapshot: Snapshot) -> None:
    """Point the hints at a snapshot that was published.

    They may lag behind, and where they cannot be written readers list the folder.
    """
    store.publisher.replace_hint(paths.latest_hint, str(snapshot.id).encode())
    if snapshot.id == 1:
        store.publisher.replace_hint(paths.earliest_hint, b"1")


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
