"""The live files that a commit looks at, followed from head to head while it retries.

After a lost try only the manifests of the commits in between are read (C11, C12).
"""

import pyarrow as pa

from branch_console.format.bounds import MOST_MISSING
from branch_console.format.manifest_entry import NO_FILES
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.manifest_scan import live_files


class LiveFileTracker:
    """The live files of some partitions of a branch, at any head."""

    def __init__(self, table: FileStoreTable, partitions: frozenset[bytes] | None) -> None:
        self._table = table
        self._partitions = partitions
        self._head: Snapshot | None = None
        self._files = NO_FILES

    def at(self, head: Snapshot | None) -> pa.Table:
        """The live files at a head, with the columns of MANIFEST_ENTRY; none without a head.

        Raises:
            FormatError: A manifest is missing or broken, or they contradict each other.
        """
        if head is None:
            self._files = NO_FILES
        elif self._head is None or not head.identity.same_as(self._head.identity):
            steps = self._steps_to(head)
            if steps is None:
                self._files = self._table.live_files(head, partitions=self._partitions)
            else:
                deltas = [
                    self._table.delta_entries(each, partitions=self._partitions) for each in steps
                ]
                self._files = live_files(pa.concat_tables([self._files, *deltas]))
        self._head = head
        return self._files

    def _steps_to(self, head: Snapshot) -> list[Snapshot] | None:
        """The snapshots from the last head to this one; None if their deltas do not tell all."""
        before = self._head
        if before is None or not before.id < head.id <= before.id + MOST_MISSING:
            return None
        found = [self._table.snapshots.find(each) for each in range(before.id, head.id)]
        known = [each for each in (*found, head) if each is not None]
        # An overwrite may also replace the base without a word in its delta, and an id may be
        # another snapshot by now.
        is_plain = all(each.commit_kind is not CommitKind.OVERWRITE for each in known[1:])
        is_whole = len(known) == head.id - before.id + 1
        if not (is_plain and is_whole and known[0].identity.same_as(before.identity)):
            return None
        return known[1:] if all(map(self._is_built_on, known[1:], known)) else None

    def _is_built_on(self, snapshot: Snapshot, before: Snapshot) -> bool:
        """Whether a snapshot lists just the manifests of the one whose id is before its own.

        It does not where these were merged, and where it was built on another of that id, which a
        writer renamed over.
        """
        listed = self._table.scan.read_list(self._table.paths, snapshot.base_manifest_list)
        expected = self._table.manifests(before)
        return bool(listed["file_name"].to_pylist() == expected["file_name"].to_pylist())
