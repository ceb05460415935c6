"""The history of one branch, copied onto another, and what leaves that one before.

Schemas go first, then tags, then snapshots in rising order: whatever a copy that was cut off has
reached is a shorter fast-forward. What leaves, a rescue branch keeps.
"""

from collections.abc import Callable
from dataclasses import replace

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.head_check import check_newest
from branch_console.commit.base.metadata_copy import copy_files, is_whole, publish_once
from branch_console.commit.snapshot.publish_check import write_hints
from branch_console.errors import CommitConflict, ErrorKind, NotFound
from branch_console.format.journals.history import HistoryCopy, InheritedSnapshot
from branch_console.format.snapshot import Snapshot
from branch_console.storage.parallel_io import both, map_parallel
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable


def copy_history(
    table: FileStoreTable,
    store: CommitStore,
    copy: HistoryCopy,
    progress: Callable[[int, int | None], None],
) -> int:
    """Copy schemas, tags and then snapshots in rising order, and write the hints.

    Args:
        table: The table on any branch.
        store: The table's store.
        copy: The files to copy; files that are there already stay unchanged.
        progress: Told files done and all files.

    Returns:
        The number of bytes in the copies.

    Raises:
        CommitConflict: The target moved; what was copied before is a shorter fast-forward.
        NotFound: The source lost some of it; as above.
    """
    check_inherited(table, store, copy)
    target = table.on(copy.target).paths
    pairs = list(zip(_source_files(table, copy), copied_files(target, copy), strict=True))
    earliest = table.on(copy.target).snapshots.earliest_id()
    ahead = len(pairs) - len(copy.snapshot_ids)
    written = copy_files(store, pairs, lambda done: progress(done, len(pairs)), together=ahead)
    if copy.new_head_id is not None:
        ids = [each for each in (earliest, *copy.snapshot_ids) if each is not None]
        write_hints(store, target, copy.new_head_id, min(ids, default=copy.new_head_id))
    return written


def copied_files(paths: TablePaths, copy: HistoryCopy) -> list[str]:
    """Return the paths of a copy's files on a branch, in the order in which they are copied."""
    return [
        *(paths.schema(each) for each in copy.schema_ids),
        *(paths.tag(each) for each in copy.tags),
        *(paths.snapshot(each) for each in copy.snapshot_ids),
    ]


def _source_files(table: FileStoreTable, copy: HistoryCopy) -> list[str]:
    """Return the paths that a copy's files are read from, in the order in which they are copied."""
    files = copied_files(table.on(copy.source).paths, copy)
    ahead = len(files) - len(copy.snapshot_ids)
    return [*files[:ahead], *source_snapshots(table, copy).values()]


def source_snapshots(table: FileStoreTable, copy: HistoryCopy) -> dict[int, str]:
    """Return the path that each snapshot of a copy is read from, by its id, in the copy's order."""
    listed_on = {each.id: table.on(each.branch).paths for each in copy.inherited}
    source = table.on(copy.source).paths
    return {each: listed_on.get(each, source).snapshot(each) for each in copy.snapshot_ids}


def check_inherited(table: FileStoreTable, store: CommitStore, copy: HistoryCopy) -> None:
    """See that what lies on other branches than the source is still what it was.

    Whether the source moved is told by its head; of a branch that it was made from no head tells.

    Raises:
        NotFound: It is gone from there, or another snapshot has its number.
    """

    def check(wanted: InheritedSnapshot) -> None:
        data = store.files.find(table.on(wanted.branch).paths.snapshot(wanted.id))
        found = None if data is None else Snapshot.from_json(data)
        if found is None or not found.identity.same_as(wanted.identity):
            raise NotFound(
                f"Snapshot {wanted.id} of branch {wanted.branch!r}, on which {copy.source!r} "
                "builds, is gone or is another one now.",
                kind=ErrorKind.SNAPSHOT_NOT_FOUND,
                snapshot_id=wanted.id,
                branch=wanted.branch,
            )

    map_parallel(store.files, check, copy.inherited)


def remove_history(
    table: FileStoreTable, store: CommitStore, copy: HistoryCopy, rescue: FileStoreTable
) -> None:
    """Take from the target what a rescue branch keeps: snapshots from the head down, then the rest.

    Raises:
        CommitConflict: The target got something that the rescue branch does not keep. What had left
            is back, as far as nobody else took its place.
    """
    target = table.on(copy.target)
    paths = target.paths
    # A LATEST hint that points past the head misleads Paimon; without hints it lists.
    doomed = [paths.latest_hint]
    if copy.new_head_id is None:
        doomed.append(paths.earliest_hint)
    store.remover.remove(doomed)
    try:
        for snapshot_id in sorted(copy.remove_snapshot_ids, reverse=True):
            check_newest(target, snapshot_id)
            remove_kept(store, paths.snapshot(snapshot_id), rescue.paths.snapshot(snapshot_id))
        # A commit from here on may name a schema that is about to leave.
        first = min(copy.remove_snapshot_ids, default=None)
        newest = copy.expected_head_id or 0 if first is None else first - 1
        for tag in copy.remove_tags:
            check_newest(target, newest)
            remove_kept(store, paths.tag(tag), rescue.paths.tag(tag))
        for schema_id in sorted(copy.remove_schema_ids, reverse=True):
            check_newest(target, newest)
            remove_kept(store, paths.schema(schema_id), rescue.paths.schema(schema_id))
        # A commit on a head that was just about to leave would stand behind a hole.
        check_newest(target, newest)
    except CommitConflict:
        put_back(target, store, copy, rescue)
        raise


def put_back(
    target: FileStoreTable, store: CommitStore, copy: HistoryCopy, rescue: FileStoreTable
) -> bool:
    """Give the target back what has left it, up to where somebody else went on.

    What expired on the target meanwhile stays away: a snapshot behind a hole could not be read.

    Returns:
        Whether all of it is back.
    """
    earliest = target.snapshots.earliest_id() or 0
    back = replace(
        copy,
        schema_ids=tuple(sorted(copy.remove_schema_ids)),
        tags=copy.remove_tags,
        snapshot_ids=tuple(sorted(each for each in copy.remove_snapshot_ids if each > earliest)),
    )
    pairs = zip(copied_files(rescue.paths, back), copied_files(target.paths, back), strict=True)
    is_back = all(_is_put(store, path, kept) for kept, path in pairs)
    ids = target.snapshots.ids()
    if ids:
        write_hints(store, target.paths, ids[-1], ids[0])
    return is_back


def _is_put(store: CommitStore, path: str, kept: str) -> bool:
    """Copy a file to where it was; whether it is there then, and nothing else.

    What is read only in part is not copied: nobody would ever replace it.
    """
    data = store.files.find(kept)
    if data is None or not is_whole(data):
        return False
    return publish_once(store, path, data)[1] == data


def remove_kept(store: CommitStore, path: str, kept: str) -> None:
    """Remove a file that another branch keeps byte for byte; one that is gone is no error."""
    files = store.files
    found, copy = both(files, lambda: files.find(path), lambda: files.find(kept))
    if found is None:
        return
    if copy != found:
        raise CommitConflict(
            f"{path} is not what {kept} keeps: somebody else changed it. It stays; plan again.",
            kind=ErrorKind.HEAD_MOVED,
            path=path,
        )
    store.remover.remove([path])
