"""Giving a branch another name: all of its metadata moves, byte for byte, or none of it.

Where the store renames a directory in one step, that is all. Elsewhere every file is copied first,
the head last, and only then the old ones go, the head first: whatever a crash leaves, one of the
two names has the whole branch.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Final

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.head_check import check_head, check_newest
from branch_console.commit.base.metadata_copy import copy_files
from branch_console.commit.branch.branch_folder import HINTS, remove_folder, whole_files_below
from branch_console.commit.branch.history_copy import remove_kept
from branch_console.commit.journal import Journal
from branch_console.errors import CommitConflict, ErrorKind, NotFound
from branch_console.format.journals.branches import BranchMove
from branch_console.storage.directory_mover import MoveOutcome
from branch_console.storage.file_io import FileReader
from branch_console.storage.parallel_io import map_parallel
from branch_console.storage.table_paths import SCHEMA_PREFIX, SNAPSHOT_PREFIX, TablePaths
from branch_console.table.file_store_table import FileStoreTable

_COPIED: Final = "copied"
_AT_ONCE: Final = 16


def move_branch(
    source: FileStoreTable,
    target: FileStoreTable,
    store: CommitStore,
    journal: Journal,
    operation_id: str,
    move: BranchMove,
    *,
    between: Callable[[], object] | None = None,
) -> None:
    """Move a branch, or finish a move that was cut off.

    Args:
        source: The table on the branch, or what an operation took from one.
        target: The same on the branch that is to be, or the place of what an operation takes.
        store: The table's store.
        journal: The journal in which the operation records its progress.
        operation_id: The operation.
        move: The head that the branch had when this was decided.
        between: Is called while both names have the whole branch; may be repeated. It takes a copy,
            also if the store could do without one.

    Raises:
        CommitConflict: The branch got a commit, or the new name was taken; the branch is where it
            was.
    """
    if not journal.has_reached(operation_id, _COPIED):
        if between is None and _moved_at_once(store, source, target, move):
            return
        _check_source(store, source, target, move)
        is_broken = move.head is None and move.head_id is not None
        pairs = _pairs(store.files, source.paths, target.paths)
        # Nobody is shown the new name before all of it is there.
        copy_files(store, pairs, only_whole=not is_broken, together=len(pairs))
        journal.mark(operation_id, _COPIED)
    if between is not None:
        between()
    try:
        _remove_source(store, source, target)
    except CommitConflict as error:
        raise _taken_back(store, source, target, error) from error


def _moved_at_once(
    store: CommitStore, source: FileStoreTable, target: FileStoreTable, move: BranchMove
) -> bool:
    if _is_moved(store, source, target):
        return True  # an earlier try did it
    _check_source(store, source, target, move)
    try:
        moved = store.mover.move(source.paths.root, target.paths.root)
    except NotFound as error:
        if not _is_moved(store, source, target):
            raise _gone(source) from error
        _check_head(target, move)
        return True  # a try on another machine did it just now
    match moved:
        case MoveOutcome.UNSUPPORTED:
            return False
        case MoveOutcome.TAKEN:
            raise _name_taken(target)
        case MoveOutcome.DONE:
            try:
                _check_head(target, move)
            except CommitConflict as error:
                # A commit came in between and moved along: back with it, as nobody agreed to that.
                store.mover.move(target.paths.root, source.paths.root)
                raise CommitConflict(
                    f"Branch {source.branch!r} got a commit in the meantime. Nothing was changed; "
                    "plan again.",
                    kind=ErrorKind.HEAD_MOVED,
                    branch=source.branch,
                ) from error
    return True


def _is_moved(store: CommitStore, source: FileStoreTable, target: FileStoreTable) -> bool:
    return not store.files.exists(source.paths.root) and store.files.exists(target.paths.root)


def _check_source(
    store: CommitStore, source: FileStoreTable, target: FileStoreTable, move: BranchMove
) -> None:
    if not store.files.exists(source.paths.root):
        raise _gone(source)
    _check_head(source, move)
    # Mostly there is nothing yet, and then a branch of many files need not be listed.
    there = set(whole_files_below(store.files, target.paths.root))
    if there and not there.issubset(whole_files_below(store.files, source.paths.root)):
        raise _name_taken(target)


def _gone(source: FileStoreTable) -> CommitConflict:
    return CommitConflict(
        f"Branch {source.branch!r} is gone: somebody else moved or dropped it. Nothing was "
        "changed.",
        kind=ErrorKind.HEAD_MOVED,
        branch=source.branch,
    )


def _check_head(branch: FileStoreTable, move: BranchMove) -> None:
    if move.head is not None or move.head_id is None:
        check_head(branch, move.head)
    elif branch.snapshots.latest_id() != move.head_id:
        raise CommitConflict(
            f"Branch {branch.branch!r} moved. Nothing was changed; plan again.",
            kind=ErrorKind.HEAD_MOVED,
            branch=branch.branch,
        )


def _name_taken(target: FileStoreTable) -> CommitConflict:
    return CommitConflict(
        f"There is a branch {target.branch!r} by now. Nothing was changed; choose another name.",
        kind=ErrorKind.NAME_TAKEN,
        branch=target.branch,
    )


def _remove_source(store: CommitStore, source: FileStoreTable, target: FileStoreTable) -> None:
    """Remove what the new name holds byte for byte, the head first and alone."""
    names = _in_order(whole_files_below(store.files, source.paths.root))
    hints = [name for name in names if name in HINTS]
    store.remover.remove([f"{source.paths.root}/{name}" for name in reversed(hints)])
    for together in _removals([name for name in reversed(names) if name not in HINTS]):
        check_newest(source, _snapshot_id(together[0]))
        _remove_all_kept(store, source, target, together)
    check_newest(source, 0)
    remove_folder(store, source.paths.root)


def _removals(names: list[str]) -> Iterator[list[str]]:
    """Return batches that are removed at once, in the order of removal: the head, then each kind.

    A commit in between is found out before the next lot, or at the end; all of it is kept.
    """
    head, others = names[:1], names[1:]
    if head:
        yield head
    for _, kind in groupby(others, key=lambda name: _snapshot_id(name) > 0):
        alike = list(kind)
        yield from (alike[at : at + _AT_ONCE] for at in range(0, len(alike), _AT_ONCE))


def _remove_all_kept(
    store: CommitStore, source: FileStoreTable, kept: FileStoreTable, names: Sequence[str]
) -> None:
    """Remove files of a branch that another one keeps, in parallel if the store is far away."""

    def remove(name: str) -> None:
        remove_kept(store, f"{source.paths.root}/{name}", f"{kept.paths.root}/{name}")

    map_parallel(store.files, remove, names)


def _taken_back(
    store: CommitStore, source: FileStoreTable, target: FileStoreTable, error: CommitConflict
) -> CommitConflict:
    """Give the old name all that it had, and take the new one away again."""
    try:
        copy_files(store, _pairs(store.files, target.paths, source.paths))
    except CommitConflict:
        return CommitConflict(
            f"{error.message} What it was before is on branch {target.branch!r}; look at both.",
            kind=error.kind,
            branch=source.branch,
        )
    names = _in_order(whole_files_below(store.files, target.paths.root))
    _remove_all_kept(store, target, source, names[::-1])
    remove_folder(store, target.paths.root)
    return CommitConflict(
        f"{error.message} It keeps its name and all it holds; plan again.",
        kind=error.kind,
        branch=source.branch,
    )


def _pairs(files: FileReader, source: TablePaths, target: TablePaths) -> list[tuple[str, str]]:
    return [
        (f"{source.root}/{name}", f"{target.root}/{name}")
        for name in _in_order(whole_files_below(files, source.root))
    ]


def _in_order(names: list[str]) -> list[str]:
    """Schemas first, then what is neither, then snapshots as they rise, then the hints."""

    def rank(name: str) -> tuple[int, int, str]:
        folder, _, file_name = name.partition("/")
        if folder == "schema":
            return 0, _number(file_name, SCHEMA_PREFIX), name
        if folder == "snapshot":
            return 3 if name in HINTS else 2, _snapshot_id(name), name
        return 1, 0, name

    return sorted(names, key=rank)


def _snapshot_id(name: str) -> int:
    """The id of a snapshot by the path of its file in a branch; 0 for any other file."""
    folder, _, file_name = name.partition("/")
    return _number(file_name, SNAPSHOT_PREFIX) if folder == "snapshot" else 0


def _number(file_name: str, prefix: str) -> int:
    text = file_name.removeprefix(prefix)
    return int(text) if text.isascii() and text.isdigit() else 0
