"""Commits that were made and are lost: replaced by another writer's, or built past.

Writers that look before they rename replace each other's snapshots without an error. Two traces
stay: a snapshot that the next one does not carry on, and manifest lists that nothing names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import FormatError, PaimonError
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.manifest_entry import NO_FILES, FileKind, rows_without
from branch_console.format.manifest_list import NO_MANIFESTS
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.storage.table_paths import CHANGELOG_PREFIX
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.manifest_scan import live_files
from branch_console.table.versioned_files import FileState, decode_states, list_prefixed

LIST_PREFIX = "manifest-list-"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LostCommit:
    """Files that a commit added and that its branch does not hold, though nothing removed them.

    Attributes:
        trace: The snapshot or manifest list that tells of it.
        user: The commit user; None if not known.
        files: Columns of MANIFEST_ENTRY.
        reason: The reason, in a sentence.
    """

    trace: str
    user: str | None
    files: pa.Table
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A branch that could not be read: commits that it alone holds may be reported as lost."""

    branch: str
    error: PaimonError


@dataclass(frozen=True, slots=True, kw_only=True)
class LostCommits:
    """The commits that are lost, and what may hold some of them but cannot be read."""

    commits: tuple[LostCommit, ...]
    unread: tuple[Unread, ...]


def find_lost_commits(table: FileStoreTable, *, made_before_millis: int) -> LostCommits:
    """Look for commits to the table's branch that are lost.

    What is broken on another branch hides none of them.

    Args:
        table: The table on the branch.
        made_before_millis: Manifest lists younger than this may belong to a commit at work.

    Raises:
        FormatError: A manifest of a snapshot of the branch is missing or broken.
    """
    named = _named_anywhere(table)
    return LostCommits(
        commits=(*_not_carried_on(table), *_never_named(table, named, made_before_millis)),
        unread=named.unread,
    )


def _not_carried_on(table: FileStoreTable) -> Iterator[LostCommit]:
    snapshots = table.snapshots.all()
    for before, after in pairwise(snapshots):
        # An overwrite of everything may leave the manifests before it out.
        if after.id != before.id + 1 or after.commit_kind is CommitKind.OVERWRITE:
            continue
        base = table.scan.read_list(table.paths, after.base_manifest_list)
        if base["file_name"].equals(table.manifests(before)["file_name"]):
            continue
        held = live_files(table.read_manifests(base))
        missing = rows_without(table.live_files(before), held)
        if missing.num_rows:
            yield LostCommit(
                trace=table.paths.snapshot(before.id),
                user=before.commit_user,
                files=missing,
                reason=(
                    f"Snapshot {before.id} of {before.commit_user} took the place of another, on "
                    f"which snapshot {after.id} was built: {missing.num_rows:,} files of it are in "
                    "no later snapshot. Write these rows again, or add the files by a commit."
                ),
            )


def _never_named(
    table: FileStoreTable, named: _Named, made_before_millis: int
) -> Iterator[LostCommit]:
    held = " that can be read: a branch that cannot be holds it, or" if named.unread else ":"
    for status in table.reader.files.list(table.paths.manifest_dir):
        is_list = status.name.startswith(LIST_PREFIX) and status.name not in named.lists
        if not is_list or status.modified_millis >= made_before_millis:
            continue
        unknown = rows_without(
            table.scan.read_list(table.paths, status.name), named.manifests, key="file_name"
        )
        entries = table.read_manifests(unknown) if unknown.num_rows else NO_FILES
        added = entries.filter(pc.equal(entries["kind"], int(FileKind.ADD)))
        if added.num_rows:
            yield LostCommit(
                trace=status.path,
                user=None,
                files=added,
                reason=(
                    f"{status.name} names {added.num_rows:,} new files and is in no snapshot{held} "
                    "its commit was replaced by another writer's, or was cut off. If its writer "
                    "was told that it stands, write these rows again."
                ),
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Named:
    """Manifest lists that snapshots, changelogs and tags of any branch name, and their rows."""

    lists: frozenset[str]
    manifests: pa.Table
    unread: tuple[Unread, ...]


def _named_anywhere(table: FileStoreTable) -> _Named:
    named_by: dict[str, str] = {}
    unread: list[Unread] = []
    for branch, state in snapshots_anywhere(table):
        if state.error is not None:
            unread.append(Unread(branch=branch, error=state.error))
        for name in () if state.value is None else lists_of_snapshot(state.value):
            named_by.setdefault(name, branch)
    listed = [NO_MANIFESTS]
    for name, branch in sorted(named_by.items()):
        try:
            listed.append(table.scan.read_list(table.paths, name))
        except FormatError as error:
            unread.append(Unread(branch=branch, error=error))
    return _Named(
        lists=frozenset(named_by), manifests=pa.concat_tables(listed), unread=tuple(unread)
    )


def snapshots_anywhere(table: FileStoreTable) -> Iterator[tuple[str, FileState[Snapshot]]]:
    """Yield all snapshots, tags and changelogs, which name manifest lists, with their branch."""
    for branch in (MAIN_BRANCH, *table.branches.names()):
        for state in _snapshots_kept(table.on_listed(branch)):
            yield branch, state


def _snapshots_kept(branch: FileStoreTable) -> Iterator[FileState[Snapshot]]:
    """The snapshots of a branch, those that its tags keep, and those that its changelogs do."""
    yield from branch.snapshots.states()
    for state in branch.tags.states():
        snapshot = None if state.value is None else state.value.snapshot
        yield FileState(
            name=state.name,
            path=state.path,
            modified_millis=state.modified_millis,
            value=snapshot,
            error=state.error,
        )
    listed = list_prefixed(branch.reader, branch.paths.changelog_dir, CHANGELOG_PREFIX)
    yield from decode_states(branch.reader, listed, Snapshot.from_json)


def lists_of_snapshot(snapshot: Snapshot) -> Iterator[str]:
    """The manifest lists that a snapshot names."""
    yield snapshot.base_manifest_list
    yield snapshot.delta_manifest_list
    if snapshot.changelog_manifest_list is not None:
        yield snapshot.changelog_manifest_list
