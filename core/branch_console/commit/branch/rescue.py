"""Rescue branches: the whole state of a branch, kept before something takes it away."""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.fences import FENCE
from branch_console.commit.base.metadata_copy import copy_files
from branch_console.commit.branch.branch_folder import remove_folder
from branch_console.commit.snapshot.publish_check import write_hints
from branch_console.errors import FormatError
from branch_console.format.journals.history import HistoryCopy
from branch_console.storage.table_paths import FENCE_ID
from branch_console.table.file_store_table import FileStoreTable

T = TypeVar("T", int, str)


def keep_state(table: FileStoreTable, store: CommitStore, copy: HistoryCopy) -> int:
    """Copy all schemas, tags and snapshots of a branch to a fenced rescue branch.

    Args:
        table: The table on the branch to keep.
        store: The table's store.
        copy: The snapshots that will be removed; they are kept even if a listing omits them.

    Returns:
        The number of bytes in the copies.

    Raises:
        CommitConflict: The rescue branch holds another state.
    """
    assert copy.rescue_branch is not None
    kept, rescue = table.paths, table.on(copy.rescue_branch).paths

    tags = _whole(store, table.tags.names(), copy.remove_tags, kept.tag)
    snapshot_ids = _whole(store, table.snapshots.ids(), copy.remove_snapshot_ids, kept.snapshot)
    needed = sorted({*copy.remove_schema_ids, *_read_by(table, snapshot_ids, tags)})
    schema_ids = _whole(store, table.schemas.ids(), needed, kept.schema)
    pairs = [
        *((kept.schema(each), rescue.schema(each)) for each in sorted(schema_ids)),
        *((kept.tag(each), rescue.tag(each)) for each in tags),
        *((kept.snapshot(each), rescue.snapshot(each)) for each in sorted(snapshot_ids)),
    ]
    # Nobody is shown the rescue branch before all of it is there, the fence included. A schema is
    # first: other engines take a folder without one for a broken branch.
    fence = (rescue.consumer(FENCE_ID), FENCE)
    written = copy_files(store, pairs, together=len(pairs), beside=[fence])
    if snapshot_ids:
        write_hints(store, rescue, max(snapshot_ids), min(snapshot_ids))
    return written


def forget_state(table: FileStoreTable, store: CommitStore, rescue_branch: str) -> None:
    """Take away what `keep_state` has copied so far; only before anything has left the branch.

    A file stays that the branch itself does not have, unless it is a snapshot that has expired
    there meanwhile: nobody else may keep it.
    """
    kept, rescue = table.paths, table.on(rescue_branch)
    paths, find = rescue.paths, store.files.find
    earliest = table.snapshots.earliest_id() or 0
    copied = rescue.snapshots.ids()
    expired = [paths.snapshot(each) for each in copied if each < earliest]
    pairs = [
        *((paths.snapshot(each), kept.snapshot(each)) for each in copied if each >= earliest),
        *((paths.tag(each), kept.tag(each)) for each in rescue.tags.names()),
        *((paths.schema(each), kept.schema(each)) for each in reversed(rescue.schemas.ids())),
    ]
    fence = paths.consumer(FENCE_ID)
    store.remover.remove([paths.latest_hint, paths.earliest_hint, *expired, fence])
    store.remover.remove([path for path, of in pairs if find(path) == find(of)])
    remove_folder(store, paths.root)


def _read_by(table: FileStoreTable, snapshot_ids: Sequence[int], tags: Sequence[str]) -> set[int]:
    """The schemas that these snapshots and tags are read by, but for broken ones."""

    def of_snapshot(snapshot_id: int) -> int | None:
        with contextlib.suppress(FormatError):
            snapshot = table.snapshots.find(snapshot_id)
            return None if snapshot is None else snapshot.schema_id
        return None

    def of_tag(name: str) -> int | None:
        with contextlib.suppress(FormatError):
            tag = table.tags.find(name)
            return None if tag is None else tag.snapshot.schema_id
        return None

    found = (
        *table.reader.map_parallel(of_snapshot, snapshot_ids),
        *table.reader.map_parallel(of_tag, tags),
    )
    return {each for each in found if each is not None}


def _whole(
    store: CommitStore, listed: Iterable[T], leaving: Iterable[T], path_of: Callable[[T], str]
) -> list[T]:
    found = list(listed)
    missed = [each for each in leaving if each not in found and store.files.exists(path_of(each))]
    return found + missed
