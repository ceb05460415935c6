"""What a copy of history that cannot go on has left on its target."""

from core.commit.branch_commit import HistoryCopy, copied_files
from core.commit.commit_store import CommitStore
from core.storage.side_by_side import each
from core.table.file_store_table import FileStoreTable


def has_come_whole(table: FileStoreTable, store: CommitStore, copy: HistoryCopy) -> bool:
    """Whether the target holds all that was to come, so that the source is needed no more."""
    target = table.on(copy.target)
    if copy.new_head_id is not None and copy.new_head is not None:
        head = target.snapshots.find(copy.new_head_id)
        if head is None or not head.identity.same_as(copy.new_head):
            return False
    return all(each(store.files, store.files.exists, copied_files(target.paths, copy)))


def has_come_in_part(table: FileStoreTable, store: CommitStore, copy: HistoryCopy) -> bool:
    """Whether something is where the copy goes, other than what the target had there before."""
    find, there = store.files.find, copied_files(table.on(copy.target).paths, copy)
    found = each(store.files, find, there)
    if copy.rescue_branch is None:
        return any(data is not None for data in found)
    # A way back that was cut off may have put some of the old files there.
    old = each(store.files, find, copied_files(table.on(copy.rescue_branch).paths, copy))
    return any(data is not None and data != kept for data, kept in zip(found, old, strict=True))
