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

from core.format.manifest_entry import NO_FILES, FileKind, rows_without
from core.format.manifest_list import NO_MANIFESTS
from core.format.snapshot import CommitKind, Snapshot
from core.storage.table_paths import CHANGELOG_PREFIX
from core.table.file_store_table import FileStoreTable
from core.table.manifest_scan import live_files

_LIST_PREFIX = "manifest-list-"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LostCommit:
    """Files that a commit added and that its branch does not hold, though nothing removed them.

    Attributes:
        trace: The snapshot or manifest list that tells of it.
        user: Who committed, where that is known.
        files: Columns of MANIFEST_ENTRY.
        reason: What happened, in a sentence.
    """

    trace: str
    user: str | None
    files: pa.Table
    reason: str


def find_lost_commits(table: FileStoreTable, *, made_before_millis: int) -> tuple[LostCommit, ...]:
    """Look for commits to the table's branch that are lost.

    Args:
        table: The table on the branch.
        made_before_millis: Manifest lists younger than this may belong to a commit at work.

    Raises:
        FormatError: A manifest of a snapshot is missing or broken.
    """
    return (*_not_carried_on(table), *_never_named(table, made_before_millis))


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


def _never_named(table: FileStoreTable, made_before_millis: int) -> Iterator[LostCommit]:
    named, manifests = _named_anywhere(table)
    for status in table.reader.files.list(table.paths.manifest_dir):
        is_list = status.name.startswith(_LIST_PREFIX) and status.name not in named
        if not is_list or status.modified_millis >= made_before_millis:
            continue
        unknown = rows_without(
            table.scan.read_list(table.paths, status.name), manifests, key="file_name"
        )
        entries = table.read_manifests(unknown) if unknown.num_rows else NO_FILES
        added = entries.filter(pc.equal(entries["kind"], int(FileKind.ADD)))
        if added.num_rows:
            yield LostCommit(
                trace=status.path,
                user=None,
                files=added,
                reason=(
                    f"{status.name} names {added.num_rows:,} new files and is in no snapshot: its "
                    "commit was replaced by another writer's, or was cut off. If its writer was "
                    "told that it stands, write these rows again."
                ),
            )


def _named_anywhere(table: FileStoreTable) -> tuple[set[str], pa.Table]:
    """The manifest lists that snapshots, changelogs and tags of all branches name; their rows."""
    lists: set[str] = set()
    for branch in ("main", *table.branches.names()):
        seen = table.on_listed(branch)
        kept: list[Snapshot] = [*seen.snapshots.all(), *(tag.snapshot for tag in seen.tags.all())]
        kept += [
            table.reader.decode(status, Snapshot.from_json)
            for status in table.reader.files.list(seen.paths.changelog_dir)
            if status.name.startswith(CHANGELOG_PREFIX)
        ]
        for each in kept:
            names = (
                each.base_manifest_list,
                each.delta_manifest_list,
                each.changelog_manifest_list,
            )
            lists.update(name for name in names if name is not None)
    listed = [table.scan.read_list(table.paths, name) for name in sorted(lists)]
    return lists, pa.concat_tables([NO_MANIFESTS, *listed])
