"""Names leave a branch, and come back: no byte of a data file is touched.

They go in rising order behind a raised EARLIEST hint, so that a retirement that was cut off leaves
a shorter history without gaps.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.metadata_copy import publish_files
from branch_console.commit.branch.branch_folder import files_below, remove_folder
from branch_console.commit.schema.tag_commit import put_tags, remove_tag
from branch_console.errors import CommitConflict, ErrorKind, FormatError
from branch_console.format.journals.expiry import BranchRetirement, RetiredSnapshot
from branch_console.format.snapshot import Snapshot
from branch_console.storage.parallel_io import map_parallel
from branch_console.storage.table_paths import (
    CHANGELOG_PREFIX,
    EARLIEST,
    LATEST,
    TAG_PREFIX,
)
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.versioned_files import list_numbered, list_prefixed

ROUNDS: Final = 2
"""How often names are listed that must not be left: one listing may be incomplete."""


def retire(
    table: FileStoreTable, store: CommitStore, operation_id: str, retirement: BranchRetirement
) -> None:
    """Take snapshots from a branch; what is gone already is no error.

    Args:
        table: The table on the branch.
        store: Its store.
        operation_id: The operation that keeps their names until they are released.
        retirement: The snapshots to retire.

    Raises:
        CommitConflict: The branch was rewritten in the meantime; it holds what it held.
    """
    paths = table.paths
    check_successor(table, retirement.successor)
    planned = {paths.snapshot(each.id): each for each in retirement.snapshots}
    contents = dict(
        zip(planned, map_parallel(store.files, store.files.find, [*planned]), strict=True)
    )
    doomed = {path: data for path, data in contents.items() if data is not None}
    for path, data in doomed.items():
        _check_same(path, data, planned[path])
    kept = paths.retired(operation_id)
    copies = [(kept.snapshot(planned[path].id), data) for path, data in doomed.items()]
    changelogs = [
        (paths.changelog(planned[path].id), data)
        for path, data in doomed.items()
        if retirement.keeps_changelogs
    ]
    # Together, as each for itself would wait for the disk twice.
    _copy_all(store, [*copies, *changelogs], together=len(copies))
    if retirement.keeps_changelogs:
        _write_changelog_hint(table, store)
    # Readers that trust the hint must not begin at a snapshot that is about to go.
    store.publisher.replace_hint(paths.earliest_hint, str(retirement.successor.id).encode())
    store.remover.remove(doomed)
    try:
        check_successor(table, retirement.successor)
    except CommitConflict:
        # Whoever cut the history meanwhile kept what we took; a branch must not end up empty.
        bring_back(table, store, operation_id, retirement)
        raise


def bring_back(
    table: FileStoreTable, store: CommitStore, operation_id: str, retirement: BranchRetirement
) -> int:
    """Give a branch back the names that an expiry took from it; return how many came.

    They come in falling order, so that a return that was cut off leaves no gap either. No listing
    is asked for them, as one that is short would cost those that it leaves out.

    Args:
        table: The table on the branch, whatever that is called by now.
        store: Its store.
        operation_id: The expiry.
        retirement: The names that it removed, without names that were gone before.

    Raises:
        CommitConflict: Another history has taken the numbers.
    """
    paths, came = table.paths, list[int]()
    for snapshot_id, kept in reversed(_kept_names(table, operation_id, retirement)):
        data = store.files.find(kept)
        if data is None:
            continue
        _copy(store, paths.snapshot(snapshot_id), data)
        changelog = paths.changelog(snapshot_id)
        if store.files.find(changelog) == data:
            store.remover.remove([changelog])
        came.append(snapshot_id)
    if came:
        store.publisher.replace_hint(paths.earliest_hint, str(came[-1]).encode())
        _write_changelog_hint(table, store)
    return len(came)


def is_kept(
    table: FileStoreTable, store: CommitStore, operation_id: str, retirement: BranchRetirement
) -> bool:
    """Whether names that an expiry took from a branch can still come back."""
    names = _kept_names(table, operation_id, retirement)
    return any(store.files.exists(kept) for _, kept in names)


def forget_retired(
    table: FileStoreTable, store: CommitStore, operation_id: str, branches: tuple[str, ...]
) -> None:
    """Remove the names that an operation took: their files are gone, or they are back.

    A name that a short listing leaves out would lead to files that are gone, and stop every release
    of the table: so they are listed twice.
    """
    for branch in branches:
        root = table.paths.on(branch).retired(operation_id).root
        for _ in range(ROUNDS):
            names = files_below(store.files, root)
            store.remover.remove_together(f"{root}/{name}" for name in sorted(names))
        remove_folder(store, root)
    store.remover.remove_empty_directories([f"{table.paths.retired_dir}/{operation_id}"])


def _kept_names(
    table: FileStoreTable, operation_id: str, retirement: BranchRetirement
) -> list[tuple[int, str]]:
    """Return the paths that keep the names removed by an expiry, by their ids, rising."""
    kept = table.paths.on(retirement.branch).retired(operation_id)
    return [(each.id, kept.snapshot(each.id)) for each in retirement.snapshots]


def retire_names(
    table: FileStoreTable,
    store: CommitStore,
    operation_id: str,
    tags: Mapping[str, bytes],
    changelogs: Sequence[RetiredSnapshot],
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Take tags and decoupled changelogs from a branch; what was changed meanwhile stays.

    Args:
        table: The table on the branch.
        store: Its store.
        operation_id: The operation that keeps the names until they are released.
        tags: The tags with their bytes.
        changelogs: The changelogs, rising.

    Returns:
        The tags and the changelogs that went, those of an earlier try included.
    """
    paths, kept = table.paths, table.paths.retired(operation_id)
    for name, data in tags.items():
        if store.files.find(paths.tag(name)) == data:
            _copy(store, kept.tag(name), data)
            remove_tag(table, store, name, data)
    doomed, copies = [], []
    for changelog in changelogs:
        path = paths.changelog(changelog.id)
        found = store.files.find(path)
        if found is not None and _is_planned(found, changelog):
            copies.append((kept.changelog(changelog.id), found))
            doomed.append(path)
    _copy_all(store, copies, together=len(copies))
    if doomed:
        _write_changelog_hints(table, store, without=doomed)
        store.remover.remove(doomed)
    taken = set(list_prefixed(table.reader, kept.tag_dir, TAG_PREFIX))
    numbers = list_numbered(table.reader, kept.changelog_dir, CHANGELOG_PREFIX)
    return tuple(name for name in tags if name in taken), tuple(numbers)


def bring_names_back(
    table: FileStoreTable,
    store: CommitStore,
    operation_id: str,
    then: str,
    tags: Mapping[str, bytes],
    changelogs: Sequence[RetiredSnapshot],
) -> None:
    """Give a branch back the tags and changelogs that an operation took.

    Args:
        table: The table on the branch.
        store: Its store.
        operation_id: The operation.
        then: The name of the branch at that time.
        tags: The tags with their bytes.
        changelogs: The changelogs.

    Raises:
        CommitConflict: Their files may have gone, or other names have taken their place.
    """
    kept = table.paths.on(then).retired(operation_id)
    for name, data in tags.items():
        if store.files.find(kept.tag(name)) != data:
            raise _gone(f"tag {name!r}", table.branch)
    for changelog in changelogs:
        if store.files.find(kept.changelog(changelog.id)) is None:
            raise _gone(f"changelog {changelog.id}", table.branch)
    put_tags(table, store, tags)
    # From the newest down, so that a return that was cut off leaves no gap.
    for changelog in sorted(changelogs, key=lambda each: each.id, reverse=True):
        data = store.files.read(kept.changelog(changelog.id))
        _copy(store, table.paths.changelog(changelog.id), data)
    if changelogs:
        _write_changelog_hints(table, store)


def _copy(store: CommitStore, path: str, data: bytes) -> None:
    _copy_all(store, [(path, data)])


def _copy_all(
    store: CommitStore, copies: Sequence[tuple[str, bytes]], *, together: int = 0
) -> None:
    try:
        publish_files(store, copies, together=together)
    except CommitConflict as error:
        path = str(error.facts["path"])
        raise CommitConflict(
            f"{path} holds another snapshot. No snapshot left the branch, or came back to it; look "
            "at its history, then try again.",
            kind=ErrorKind.HEAD_MOVED,
            path=path,
        ) from error


def _check_same(path: str, data: bytes, planned: RetiredSnapshot) -> None:
    try:
        found = Snapshot.from_json(data)
    except FormatError:
        found = None
    if found is None or found.delta_manifest_list != planned.delta_manifest_list:
        raise CommitConflict(
            f"{path} is another snapshot than the one that was to expire: the branch was rewritten "
            "in the meantime. Nothing expired; try again.",
            kind=ErrorKind.HEAD_MOVED,
            path=path,
        )


def check_successor(table: FileStoreTable, successor: RetiredSnapshot) -> None:
    """Check that a branch still has the snapshot after those that an expiry removes.

    Raises:
        CommitConflict: Its history was cut or replaced, so that the names belong to another one.
    """
    found = table.snapshots.find(successor.id)
    if found is None or found.delta_manifest_list != successor.delta_manifest_list:
        raise CommitConflict(
            f"Branch {table.branch!r} does not have snapshot {successor.id} any more, which the "
            "expiry ends before: its history was cut, replaced or expired in the meantime. Nothing "
            "was changed; look at the branch, then try again.",
            kind=ErrorKind.HEAD_MOVED,
            branch=table.branch,
            snapshot_id=successor.id,
        )


def _write_changelog_hint(table: FileStoreTable, store: CommitStore) -> None:
    """Say which changelog is the newest, as Paimon does; what is the oldest it finds by a list."""
    paths = table.paths
    hint = f"{paths.changelog_dir}/{LATEST}"
    newest = max(list_numbered(table.reader, paths.changelog_dir, CHANGELOG_PREFIX), default=None)
    if newest is None:
        store.remover.remove([hint])
    else:
        store.publisher.replace_hint(hint, str(newest).encode())


def _write_changelog_hints(
    table: FileStoreTable, store: CommitStore, *, without: Collection[str] = ()
) -> None:
    """Say which changelog is the oldest and which the newest, as Paimon does once some expire."""
    paths = table.paths
    listed = list_numbered(table.reader, paths.changelog_dir, CHANGELOG_PREFIX)
    left = [number for number in listed if paths.changelog(number) not in without]
    hints = [f"{paths.changelog_dir}/{name}" for name in (EARLIEST, LATEST)]
    if not left:
        store.remover.remove(hints)
        return
    for hint, number in zip(hints, (left[0], left[-1]), strict=True):
        store.publisher.replace_hint(hint, str(number).encode())


def _is_planned(data: bytes, planned: RetiredSnapshot) -> bool:
    try:
        return Snapshot.from_json(data).delta_manifest_list == planned.delta_manifest_list
    except FormatError:
        return False


def _gone(what: str, branch: str) -> CommitConflict:
    return CommitConflict(
        f"{what[0].upper()}{what[1:]} of {branch!r} does not come back: files that only it held "
        "were removed. Nothing was changed.",
        kind=ErrorKind.UNDO_BLOCKED,
        branch=branch,
    )
