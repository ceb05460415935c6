"""Bytes leave a table: the only way in which they do, a batch at a time.

What goes was listed durably before the first file went, so that whoever goes on after a crash knows
it although the manifests that named it are gone.
"""

import time
from collections.abc import Callable
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.metadata_copy import publish_once
from branch_console.maintenance.kept_list import decode_list, encode_list
from branch_console.maintenance.trash import Trash
from branch_console.table.file_store_table import FileStoreTable

_BATCH: Final = 1_000
_BATCHES_BETWEEN_LOOKS: Final = 10
_SECONDS_BETWEEN_LOOKS: Final = 30.0

LookAgain: TypeAlias = Callable[[pa.Table], pa.Table]
"""Leaves out files that something needs now from the files to remove."""


def list_release(
    table: FileStoreTable, store: CommitStore, operation_id: str, files: pa.Table
) -> pa.Table:
    """Note durably which files an operation removes; return what it noted first."""
    data = encode_list(table, files)
    path = table.paths.release_list(operation_id)
    _, found = publish_once(store, path, data)
    return decode_list(table, path, found)


def find_release_list(
    table: FileStoreTable, store: CommitStore, operation_id: str
) -> pa.Table | None:
    """Return the files that an operation noted, None if it has not; raises FormatError."""
    path = table.paths.release_list(operation_id)
    found = store.files.find(path)
    return None if found is None else decode_list(table, path, found)


def listed_releases(table: FileStoreTable) -> tuple[str, ...]:
    """Return the operations that have noted files which they are to remove."""
    prefix, suffix = table.paths.release_list("\0").rpartition("/")[2].split("\0")
    return tuple(
        sorted(
            name[len(prefix) : -len(suffix)]
            for name in table.reader.files.names(table.paths.lineage_dir)
            if name.startswith(prefix) and name.endswith(suffix)
        )
    )


def forget_release_list(table: FileStoreTable, store: CommitStore, operation_id: str) -> None:
    """Remove the list of an operation that is over."""
    store.remover.remove([table.paths.release_list(operation_id)])


def remove_files(
    store: CommitStore,
    files: pa.Table,
    look_again: LookAgain,
    *,
    trash: Trash | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Remove files, data first and what leads to it last; return how many were there.

    Args:
        store: The store.
        files: Columns of RELEASED_FILES.
        look_again: Asked before the first batch, and again and again on the way.
        trash: The trash in which they wait; None removes them for good.
        clock: Seconds.
    """
    removed, batches, looked = 0, 0, clock()
    left = look_again(files.sort_by([("rank", "ascending")]))
    while left.num_rows:
        if batches == _BATCHES_BETWEEN_LOOKS or clock() - looked > _SECONDS_BETWEEN_LOOKS:
            left, batches, looked = look_again(left), 0, clock()
            continue
        count = _first_rank(left.slice(0, _BATCH))
        batch, left = left.slice(0, count), left.slice(count)
        # What a crash brings back of them nothing refers to.
        paths = batch["path"].to_pylist()
        removed += store.remover.discard(paths) if trash is None else trash.put(paths)
        batches += 1
    return removed


def _first_rank(files: pa.Table) -> int:
    """How many of the files have the rank of the first one: a batch goes in any order."""
    first: int = pc.sum(pc.equal(files["rank"], files["rank"][0])).as_py()
    return first
