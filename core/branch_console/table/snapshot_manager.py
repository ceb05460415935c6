"""The snapshots of a branch.

The hints LATEST and EARLIEST are never asked: a listing finds head and tail whether hints are
missing, too low, too high or garbage (C21), and Paimon itself overwrites them non-atomically.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from branch_console.errors import ErrorKind, FormatError, NotFound
from branch_console.format.bounds import missing_numbers, newest_run
from branch_console.format.snapshot import Snapshot
from branch_console.storage.file_io import FileStatus
from branch_console.storage.metadata_cache import MetadataReader
from branch_console.storage.table_paths import SNAPSHOT_PREFIX, TablePaths
from branch_console.table.versioned_files import (
    FileState,
    decode,
    decode_states,
    list_numbered,
    newest_numbered,
    values_of,
)

_FIRST: Final = 1  # Paimon's
# A listing is not cheaper than so many questions.
_STEPS: Final = 16
_MOST_AHEAD: Final = 16


class SnapshotManager:
    """Reads the snapshot files of one branch [Paimon SnapshotManager]."""

    def __init__(self, reader: MetadataReader, paths: TablePaths) -> None:
        self._reader = reader
        self._paths = paths
        self._seen_id: int | None = None

    def ids(self) -> tuple[int, ...]:
        """The ids of all snapshots, rising."""
        return tuple(self._listing())

    def latest_id(self) -> int | None:
        """The id of the head, None before the first commit."""
        return max(self._listing(), default=None)

    def earliest_id(self) -> int | None:
        """The id of the oldest snapshot that has not expired."""
        return min(self._listing(), default=None)

    def find_earliest_hint(self) -> int | None:
        """Return the first id of the history by the hint; None if there is no valid hint.

        Paimon trusts the hint if its snapshot exists [HintFileUtils.findEarliest].
        """
        data = self._reader.files.find(self._paths.earliest_hint)
        text = b"" if data is None else data.strip()
        return int(text) if text.isdigit() else None

    def latest(self) -> Snapshot | None:
        """The head, None before the first commit.

        Raises:
            FormatError: The newest snapshot cannot be decoded.
        """
        newest = self._after_seen() or newest_numbered(
            self._reader, self._paths.snapshot_dir, SNAPSHOT_PREFIX, least=_FIRST
        )
        if newest is None:
            return None
        head = self._decode(newest)
        self._seen_id = head.id
        return head

    def find(self, snapshot_id: int) -> Snapshot | None:
        """A snapshot by its id, None if it never was or has expired."""
        status = self._status(snapshot_id)
        if status is None:
            return None
        found = self._decode(status)
        if self._seen_id is not None:
            # The next look at the head begins here.
            self._seen_id = max(self._seen_id, snapshot_id)
        return found

    def holds(self, snapshot: Snapshot) -> bool:
        """Whether this very snapshot stands here under its id; raises FormatError."""
        found = self.find(snapshot.id)
        return found is not None and found.identity.same_as(snapshot.identity)

    def get(self, snapshot_id: int) -> Snapshot:
        """A snapshot by its id.

        Raises:
            NotFound: The branch has no such snapshot.
            FormatError: It cannot be decoded.
        """
        snapshot = self.find(snapshot_id)
        if snapshot is None:
            raise NotFound(
                f"Branch {self._paths.branch!r} has no snapshot {snapshot_id}: it never was or "
                f"has expired ({self._paths.snapshot(snapshot_id)}). {self._range()}",
                kind=ErrorKind.SNAPSHOT_NOT_FOUND,
                path=self._paths.snapshot(snapshot_id),
                snapshot_id=snapshot_id,
                branch=self._paths.branch,
            )
        return snapshot

    def walk(self) -> Iterator[Snapshot]:
        """The snapshots from the newest back, read as they are asked for.

        From a store far away the more come at once, the further the walk goes.

        Raises:
            FormatError: A snapshot on the way cannot be decoded.
        """
        left, count = list(reversed(self._listing().values())), 1
        while left:
            ahead, left = left[:count], left[count:]
            listing = {status.name: status for status in ahead}
            states = self._states(listing)
            found = {state.name: state for state in states}
            for name in listing:
                if name not in found:
                    return  # expired since the listing, and with it what is older
                yield from values_of((found[name],))
            if not self._reader.files.is_local:
                count = min(2 * count, _MOST_AHEAD)

    def all(self) -> tuple[Snapshot, ...]:
        """All snapshots by rising id; raises FormatError at the first broken one."""
        return tuple(values_of(self.states()))

    def states(self) -> tuple[FileState[Snapshot], ...]:
        """All snapshot files by rising id, broken ones with their error."""
        found = {**self._listed(), **self._listing()}
        return self._states({str(number): found[number] for number in sorted(found)})

    def at_time(self, time_millis: int) -> Snapshot | None:
        """The newest snapshot that was committed at or before a time; None if all are later.

        Like Paimon this halves the range, as commit times rise with the ids but for clock skew.
        """
        statuses = list(self._listing().values())
        found = None
        low, high = 0, len(statuses) - 1
        while low <= high:
            middle = (low + high) // 2
            snapshot = self._decode(statuses[middle])
            if snapshot.time_millis > time_millis:
                high = middle - 1
                continue
            found = snapshot
            if snapshot.time_millis == time_millis:
                break
            low = middle + 1
        return found

    def at_watermark(self, watermark: int) -> Snapshot:
        """The newest snapshot whose watermark is at or before one.

        Where all are later Paimon takes the first one that has a watermark, which is none of these.

        Raises:
            NotFound: No snapshot has such a watermark.
            FormatError: A snapshot on the way cannot be decoded.
        """
        for snapshot in self.walk():
            if snapshot.watermark is not None and snapshot.watermark <= watermark:
                return snapshot
        raise NotFound(
            f"No snapshot of branch {self._paths.branch!r} has a watermark at or before "
            f"{watermark}. Choose a later one, or a time.",
            kind=ErrorKind.SNAPSHOT_NOT_FOUND,
            branch=self._paths.branch,
            watermark=watermark,
        )

    def _after_seen(self) -> FileStatus | None:
        """The head, a few steps from where it was seen before; None if a listing has to tell.

        Ids have no gaps (C01), and a history is cut from its ends: as long as the snapshot seen is
        there, the last one that follows it is the head. A long history takes long to list.
        """
        if self._seen_id is None:
            return None
        found, following = self._reader.map_parallel(
            self._status, [self._seen_id, self._seen_id + 1]
        )
        for snapshot_id in range(self._seen_id + 2, self._seen_id + _STEPS):
            if found is None or following is None:
                break
            found, following = following, self._status(snapshot_id)
        return found if following is None else None

    def _decode(self, status: FileStatus) -> Snapshot:
        found = decode(self._reader, status, Snapshot.from_json)
        error = _misnamed(found, status.path)
        if error is not None:
            raise error
        return found

    def _states(self, listing: dict[str, FileStatus]) -> tuple[FileState[Snapshot], ...]:
        states = decode_states(self._reader, listing, Snapshot.from_json)
        wrong = {
            state.name: error
            for state in states
            if state.value is not None and (error := _misnamed(state.value, state.path)) is not None
        }
        return tuple(
            replace(state, value=None, error=wrong[state.name]) if state.name in wrong else state
            for state in states
        )

    def _listed(self) -> dict[int, FileStatus]:
        found = list_numbered(self._reader, self._paths.snapshot_dir, SNAPSHOT_PREFIX)
        return {number: status for number, status in found.items() if number >= _FIRST}

    def _listing(self) -> dict[int, FileStatus]:
        """The snapshots of the history, which ends before a gap of more ids than were left out."""
        listed = self._listed()
        numbers = tuple(listed)
        return self._without_gaps({each: listed[each] for each in numbers[newest_run(numbers) :]})

    def _without_gaps(self, listed: dict[int, FileStatus]) -> dict[int, FileStatus]:
        """Ask for each snapshot that a listing leaves out between those it names.

        Ids have no gaps (C01): a history with one would tell of other changes than there were.
        """
        newest = max(listed, default=0)
        if self._seen_id is not None and self._seen_id > newest and self._status(self._seen_id):
            newest = self._seen_id
        oldest = min(listed, default=newest)
        if not newest or len(listed) == newest - oldest + 1:
            return listed
        missing = missing_numbers(oldest, newest, listed, "snapshots")
        found = zip(missing, self._reader.map_parallel(self._status, missing), strict=True)
        there = {number: status for number, status in found if status is not None}
        return dict(sorted({**listed, **there}.items()))

    def _status(self, snapshot_id: int) -> FileStatus | None:
        status = self._reader.find_status(self._paths.snapshot(snapshot_id))
        return None if status is None or status.is_directory else status

    def _range(self) -> str:
        ids = self.ids()
        return f"It has {ids[0]} to {ids[-1]}." if ids else "It has no snapshots."


def _misnamed(snapshot: Snapshot, path: str) -> FormatError | None:
    """The error that a file holds another snapshot than its name says."""
    if path.endswith(f"/{SNAPSHOT_PREFIX}{snapshot.id}"):
        return None
    return FormatError(
        f"{path} is broken: it says that it is snapshot {snapshot.id}. Remove it, or restore the "
        "file.",
        path=path,
    )
