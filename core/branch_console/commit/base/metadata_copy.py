"""Metadata that moves: copied as bytes, each file only if there is none, in a given order.

Repeating a copy that was cut off is no different from finishing it: a file that is there with the
same bytes counts as copied, one with other bytes stops the copy.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from branch_console.commit.base.commit_store import CommitStore
from branch_console.errors import CommitConflict, ErrorKind, NotFound, StorageError
from branch_console.storage.file_io import FileReader
from branch_console.storage.file_publisher import Published
from branch_console.storage.parallel_io import map_parallel

_ATTEMPTS: Final = 5
_AT_ONCE: Final = 256


def publish_once(store: CommitStore, path: str, data: bytes) -> tuple[bool, bytes]:
    """Make a file, or find what is there.

    Returns:
        Whether this call made it, and the bytes that the path holds now.

    Raises:
        StorageError: The store did not let the outcome be known.
    """
    for _ in range(_ATTEMPTS):
        if store.publisher.publish(path, data) is Published.WON:
            return True, data
        # LOST and UNKNOWN alike: only a look tells whose bytes these are, if they stay that long.
        with suppress(NotFound):
            return False, store.files.read(path)
    raise StorageError(f"{path} could not be published: the store gave no clear answer. Try again.")


def copy_files(
    store: CommitStore,
    pairs: Sequence[tuple[str, str]],
    progress: Callable[[int], None] | None = None,
    *,
    only_whole: bool = True,
    together: int = 0,
    beside: Sequence[tuple[str, bytes]] = (),
) -> int:
    """Copy metadata files in the order given.

    Args:
        store: Holds both sides.
        pairs: Path to read and path to make.
        progress: Told how many of the pairs are copied.
        only_whole: Stop at a file that is no whole JSON; False if it is known to be broken.
        together: How many at the beginning may come in any order.
        beside: Paths and bytes of new files, which appear right after the first copy.

    Returns:
        The number of bytes in the copies.

    Raises:
        CommitConflict: A path holds other bytes; what stands before it in the order is copied.
        StorageError: A file could not be read whole; as above.
    """
    written = 0
    for start in range(0, len(pairs), _AT_ONCE):
        chunk = pairs[start : start + _AT_ONCE]
        contents = read_files(store, [source for source, _ in chunk], only_whole=only_whole)
        targets = [target for _, target in chunk]
        items = list(zip(targets, contents, strict=True))
        new = beside if start == 0 else ()
        items[1:1] = new
        publish_files(store, items, together=len(new) + max(0, together - start))
        written += sum(len(data) for data in contents)
        if progress is not None:
            progress(start + len(chunk))
    return written


def read_files(store: CommitStore, paths: Sequence[str], *, only_whole: bool = True) -> list[bytes]:
    """Read metadata files that are to be copied; arguments and errors are those of `copy_files`."""
    contents = store.files.read_many(paths)
    for path, data in zip(paths, contents, strict=True):
        if only_whole:
            _check_whole(path, data)
    return contents


def publish_files(
    store: CommitStore, items: Sequence[tuple[str, bytes]], *, together: int = 0
) -> None:
    """Publish files in the order given, those that are there with the same bytes left alone.

    Args:
        store: Gets them.
        items: Paths and bytes.
        together: How many at the beginning may come in any order; far away they go at once.

    Raises:
        CommitConflict: A path holds other bytes; what stands before it in the order is there.
        StorageError: The store did not let the outcome be known.
    """
    left = list(items)
    if not store.files.is_local:
        ahead = left[:together]
        outcomes = map_parallel(store.files, lambda item: store.publisher.publish(*item), ahead)
        open_ones = [
            item
            for item, outcome in zip(ahead, outcomes, strict=True)
            if outcome is not Published.WON
        ]
        left = [*open_ones, *left[together:]]
    for _ in range(_ATTEMPTS + len(left)):
        won = store.publisher.publish_in_order(left).count(Published.WON)
        left = left[won:]
        while left and _is_copied(store.files, *left[0]):
            left.pop(0)
        if not left:
            return
    raise StorageError(
        f"{left[0][0]} could not be published: the store gave no clear answer. Try again.",
        path=left[0][0],
    )


def mend_file(store: CommitStore, path: str, data: bytes) -> None:
    """Put a whole file in the place of one that is cut off.

    Raises:
        CommitConflict: The path holds another whole file, which stays, or none any more.
        StorageError: The store did not let the outcome be known.
    """
    found = store.files.find(path)
    if found is None:
        # Replacing is atomic: whoever removed it did so on purpose, with its branch or by expiry.
        raise CommitConflict(
            f"{path} is gone since; plan again.", kind=ErrorKind.HEAD_MOVED, path=path
        )
    if found != data and is_whole(found):
        raise CommitConflict(
            f"{path} is whole again, and is another file than its copy. It stays; look at the "
            "branch, then plan again.",
            kind=ErrorKind.HEAD_MOVED,
            path=path,
        )
    if found != data and not store.publisher.replace(path, data):
        raise StorageError(
            f"{path} could not be written: the store gave no clear answer. Try again.", path=path
        )


def _check_whole(path: str, data: bytes) -> None:
    """Refuse to copy what is cut off: a copy is never replaced, so it would stay so for good."""
    if not is_whole(data):
        raise StorageError(
            f"{path} is no whole JSON file, or was read only in part. It was not copied; look at "
            "the file, then try again.",
            path=path,
        )


def is_whole(data: bytes) -> bool:
    """Whether a metadata file is all there: of one that a power cut tore nobody is the owner."""
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


def _is_copied(files: FileReader, path: str, data: bytes) -> bool:
    found = files.find(path)
    if found is None:
        return False
    if found != data:
        raise CommitConflict(
            f"{path} was written by somebody else in the meantime. What was copied before it "
            "stays and is valid; look at the branch, then plan again.",
            kind=ErrorKind.HEAD_MOVED,
            path=path,
        )
    return True
