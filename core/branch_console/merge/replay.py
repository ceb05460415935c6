"""The appended files of a source that can move to the target so that their rows win there.

Readers see the row of a key with the highest sequence number. A writer counts on from the highest
number that it finds in a bucket, and a full compaction drops deletes with their numbers [Paimon
`MergeTreeWriter`, `DropDeleteReader`]: rows written afterwards may have lower numbers than rows
that the compaction read. They would lose against these rows in a bucket that still has them or gets
them back.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.changes.file_history import Compaction, FileHistory, Place
from branch_console.diff.changes.table_changes import TableChanges

_FIRST: Final = ("identity", "min_sequence_number")
_LAST: Final = ("identity", "max_sequence_number")


def appended_files(changes: TableChanges, files: pa.Table) -> pa.Table | None:
    """Files that hold just what a side changed in a bucket; None if it did more than append.

    Args:
        changes: The changes of the side since the base.
        files: All that it changed in the bucket, with the columns of MANIFEST_ENTRY.
    """
    is_appended = set(files["identity"].to_pylist()) <= changes.added
    return files if is_appended and not any(files["level"].to_pylist()) else None


class Replay:
    """Decides which files of a source may be added to buckets that have other files.

    Args:
        ours: The target's changes since the base.
        theirs: The source's changes since the base.
    """

    def __init__(self, ours: TableChanges, theirs: TableChanges) -> None:
        self._ours = ours
        self._theirs = theirs
        self._our_compactions = _by_bucket(ours.log.compactions)
        self._their_compactions = _by_bucket(theirs.log.compactions)

    def files(self, place: Place, changed: pa.Table) -> pa.Table | None:
        """Return what may be added to a bucket.

        Args:
            place: The bucket.
            changed: All that the source changed in it, with the columns of MANIFEST_ENTRY.

        Returns:
            The files; None if the source did more than append, or where rows of them would lose
            against older ones.
        """
        found = appended_files(self._theirs, changed)
        if found is None or not self._counts_on(place, found):
            return None
        return found if self._is_newest(place, found) else None

    def _counts_on(self, place: Place, files: pa.Table) -> bool:
        """Whether what was written after compactions of the source is numbered after all they read.

        Where a compaction kept the highest number, whoever counts on from it does.
        """
        done = self._their_compactions.get(place, ())
        first = dict(zip(*(files[n].to_pylist() for n in _FIRST), strict=True)) if done else {}
        for at, compaction in enumerate(done):
            highest = _highest(compaction.before, self._their_numbers)
            if highest > _highest(compaction.after, self._their_numbers):
                later = first.keys() - _read_by(compaction, done[:at])
                if any(first[each] <= highest for each in later):
                    return False
        return True

    def _is_newest(self, place: Place, files: pa.Table) -> bool:
        """Whether files are numbered after all that was there before and the target compacted."""
        done = self._our_compactions.get(place, ())
        old = frozenset[str]().union(*(each.before for each in done))
        old = old.difference(self._ours.added, *(each.after for each in done))
        return not old or pc.min(files[_FIRST[1]]).as_py() > _highest(old, self._our_numbers)

    @cached_property
    def _our_numbers(self) -> Mapping[str, int]:
        return _numbers(self._ours.log)

    @cached_property
    def _their_numbers(self) -> Mapping[str, int]:
        return _numbers(self._theirs.log)


def _by_bucket(compactions: Iterable[Compaction]) -> dict[Place, list[Compaction]]:
    found: dict[Place, list[Compaction]] = {}
    for each in compactions:
        found.setdefault(each.place, []).append(each)
    return found


def _numbers(log: FileHistory) -> dict[str, int]:
    """The highest sequence number of each file."""
    return dict(zip(*(log.entries[name].to_pylist() for name in _LAST), strict=True))


def _highest(files: Iterable[str], numbers: Mapping[str, int]) -> int:
    """The highest sequence number in files; below all numbers if there are none."""
    return max((numbers[each] for each in files), default=-1)


def _read_by(compaction: Compaction, earlier: Sequence[Compaction]) -> set[str]:
    """The files that a compaction read, and those that were written as these before."""
    read = set(compaction.before)
    for each in reversed(earlier):
        if not each.after.isdisjoint(read):
            read |= each.before
    return read
