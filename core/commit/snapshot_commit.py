"""Publishing a snapshot: the one step of a commit after which readers see it."""

from core.commit.commit_store import CommitStore
from core.format.snapshot import Snapshot
from core.storage.file_publisher import Published
from core.storage.table_paths import TablePaths


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
