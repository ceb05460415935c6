"""Copies of data files under names of their own, for a branch that may not share them.

Where the store has hard links, one is the copy: whoever expires the first name leaves the other.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.metadata_copy import publish_once
from branch_console.errors import ErrorKind, StorageError
from branch_console.storage.file_linker import Linked

_AT_ONCE: Final = 4


def copy_data_files(
    store: CommitStore,
    pairs: Sequence[tuple[str, str]],
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Copy data files; those that an earlier try has copied are left alone.

    Args:
        store: Holds both sides.
        pairs: Path to read and path to make.
        progress: Told how many are copied.

    Raises:
        StorageError: A copy is not what it was copied from.
    """

    def copy(pair: tuple[str, str]) -> None:
        source, target = pair
        found = store.files.status(target)
        size = store.files.status(source)
        if found is not None and size is not None and found.size == size.size:
            return
        if found is None and store.linker.link(source, target) is Linked.DONE:
            return
        data = store.files.read(source)
        if size is not None and len(data) != size.size:
            # A copy is never replaced, so it would stay so for good.
            raise StorageError(f"{source} was read only in part. Try again.", path=source)
        _, written = publish_once(store, target, data)
        if len(written) != len(data):
            raise StorageError(
                f"{target} is no whole copy of {source}. Remove it, then try again.",
                kind=ErrorKind.BROKEN_FILE,
                path=target,
            )

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for done, _ in enumerate(pool.map(copy, pairs), start=1):
            progress(done)


def remove_copies(store: CommitStore, paths: Sequence[str]) -> None:
    """Remove copies that no commit came to name."""
    store.remover.discard(paths)
