"""Which files of a source a target can take as they were appended, for their rows to win there.

Of the rows of one key the one with the highest sequence number stands. A writer counts on from the
highest that it finds in a bucket, and a full compaction drops deletes with theirs [Paimon
`MergeTreeWriter`, `DropDeleteReader`]: what is written afterwards may count less than what the
compaction read, and would lose against that where it comes back, or never went.
"""

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from core.diff.logical_log import Compaction, LogicalLog, Place
from core.diff.table_changes import TableChanges


def appended_files(changes: TableChanges, files: pa.Table) -> pa.Table | None:
    """Files that hold just what a side changed in a bucket; None where it did more than append.

    Args:
        changes: What the side did since the base.
        files: All that it changed in the bucket, with the columns of MANIFEST_ENTRY.
    """
    is_appended = set(files["identity"].to_pylist()) <= changes.added
    return files if is_appended and not any(files["level"].to_pylist()) else None


def replayed_files(
    place: Place, files: pa.Table, ours: TableChanges, theirs: TableChanges
) -> pa.Table | None:
    """Files of the source that may be added to a bucket of the target that has other files.

    Args:
        place: The bucket.
        files: All that the source changed in it, with the columns of MANIFEST_ENTRY.
        ours: What the target did since the base.
        theirs: What the source did.

    Returns:
        The files; None where the source did more than append, or where rows of them would lose
        against older ones.
    """
    found = appended_files(theirs, files)
    if found is None or not _counts_on(place, found, theirs.log):
        return None
    return found if _is_newest(place, found, ours) else None


def _counts_on(place: Place, files: pa.Table, log: LogicalLog) -> bool:
    """Whether what was written after compactions of its own side is numbered after all they read.

    Where a compaction kept the highest number, whoever counts on from it does.
    """
    done = [each for each in log.compactions if each.place == place]
    for at, compaction in enumerate(done):
        read = _read_by(compaction, done[:at])
        highest = _highest(log.files(compaction.before))
        if highest > _highest(log.files(compaction.after)):
            later = files.filter(
                pc.invert(pc.is_in(files["identity"], pa.array(sorted(read), pa.string())))
            )
            if later.num_rows and pc.min(later["min_sequence_number"]).as_py() <= highest:
                return False
    return True


def _is_newest(place: Place, files: pa.Table, ours: TableChanges) -> bool:
    """Whether files are numbered after all that was there before and that the target compacted."""
    done = [each for each in ours.log.compactions if each.place == place]
    old = frozenset[str]().union(*(each.before for each in done))
    old -= ours.added.union(*(each.after for each in done))
    first = pc.min(files["min_sequence_number"]).as_py()
    return not old or first > _highest(ours.log.files(old))


def _read_by(compaction: Compaction, earlier: Collection[Compaction]) -> set[str]:
    """The files that a compaction read, and those that were written as these before."""
    read = set(compaction.before)
    for each in reversed(list(earlier)):
        if not each.after.isdisjoint(read):
            read |= each.before
    return read


def _highest(files: pa.Table) -> int:
    """The highest sequence number in files; below all numbers where there are none."""
    return int(pc.max(files["max_sequence_number"]).as_py()) if files.num_rows else -1
