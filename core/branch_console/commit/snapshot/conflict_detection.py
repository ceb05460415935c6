"""Whether a commit may stand on a head: pure, over the entries of the partitions it changes.

Source: Paimon ConflictDetection; statements C05-C09 and C27.
"""

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.snapshot.commit_changes import Changes
from branch_console.format.avro_encoding import whole
from branch_console.format.data_types import RowType
from branch_console.format.index_manifest import deletion_vector_entries
from branch_console.format.manifest_entry import FileKind
from branch_console.format.snapshot import CommitKind
from branch_console.format.values.binary_row import decode_row
from branch_console.format.values.binary_rows import decode_rows
from branch_console.format.values.key_order import key_range, sortable
from branch_console.table.manifest_scan import filter_by_key, filter_entries
from branch_console.table.scan_filter import ScanFilter

_RANGED: Final = ["partition", "bucket", "level", "min_key", "max_key", "file_name"]


class CommitRule(StrEnum):
    """The rules that a commit can break; a retry with the same files breaks them again."""

    DELETE_OF_DEAD_FILE = "delete of a file that is not live"
    ADD_OF_LIVE_FILE = "add of a file that is live"
    BUCKET_COUNT_CHANGED = "bucket count changed without overwrite"
    KEY_RANGES_OVERLAP = "key ranges overlap on a level"
    STALE_DELETION_VECTOR = "deletion vector that is not the current one"
    STRICT_MODE = "another user changed the partition"
    ROWS_CHANGED = "rows changed since they were read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a commit cannot stand."""

    rule: CommitRule
    message: str


def needs_live_files(changes: Changes, kind: CommitKind, bucket_counts: frozenset[int]) -> bool:
    """Whether a commit can only be judged against the files that are live.

    An append of new files cannot hurt what is there: their names are new, level 0 may overlap, and
    their bucket count is right where the table never had another one.

    Args:
        changes: The changes of the commit.
        kind: Its kind.
        bucket_counts: The option `bucket` in all schemas of the branch.
    """
    if changes.restored is not None or changes.is_empty or kind is CommitKind.ANALYZE:
        return False
    if kind is not CommitKind.APPEND or changes.natural_kind is not CommitKind.APPEND:
        return True
    counts = {count for count in pc.unique(changes.delta["total_buckets"]).to_pylist() if count > 0}
    is_settled = len(bucket_counts) == 1 and counts <= bucket_counts
    return bool(counts and not is_settled) or (pc.max(changes.delta["level"]).as_py() or 0) > 0


def find_conflict(
    live: pa.Table, delta: pa.Table, kind: CommitKind, key_type: RowType
) -> Problem | None:
    """Check a commit against the live files of the partitions that it changes.

    Args:
        live: Columns of MANIFEST_ENTRY: live files of those partitions at the head.
        delta: Columns of MANIFEST_ENTRY: what the commit adds and deletes.
        kind: The kind of the commit; an overwrite may change the bucket count.
        key_type: `TableSchema.ranged_key_type`; no columns for an append table.

    Returns:
        The first problem, or None.
    """
    if not live.num_rows and delta.num_rows == 1 and delta["kind"][0].as_py() == FileKind.ADD:
        return None  # one new file by itself, as most commits are
    added = delta.filter(pc.equal(delta["kind"], int(FileKind.ADD)))
    deleted = delta.filter(pc.equal(delta["kind"], int(FileKind.DELETE)))
    problem = (
        None if kind is CommitKind.OVERWRITE else _changed_bucket_count(live, added)
    ) or _dead_or_double(live, added, deleted)
    if problem is not None or not key_type.fields:
        return problem
    kept = live.filter(pc.invert(_is_in(live, deleted)))
    # What the commit adds and deletes itself is gone again.
    return _overlap(kept, added.filter(pc.invert(_is_in(added, deleted))), key_type)


def find_index_conflict(
    current: pa.Table, new: pa.Table, deleted: pa.Table, live_after: pa.Table
) -> Problem | None:
    """Check the index files of a table without buckets against those of the head.

    With buckets nothing is to be checked: there the one index file of a bucket is replaced whole,
    by who also replaces its data files.

    Args:
        current: Columns of INDEX_MANIFEST_ENTRY at the head.
        new: Index files that the commit adds.
        deleted: Index files that the commit takes away.
        live_after: Live data files of the changed partitions after the commit.

    Returns:
        The first problem, or None.
    """
    gone = _names_missing_in(deleted["file_name"], current["file_name"])
    if gone:
        return Problem(
            rule=CommitRule.STALE_DELETION_VECTOR,
            message=f"Index file {gone[0]} is not in use any more: another commit replaced it.",
        )
    kept = current.filter(pc.invert(pc.is_in(current["file_name"], whole(deleted["file_name"]))))
    covered, fresh = _covered_files(kept), _covered_files(new)
    twice = sorted(covered & fresh)
    if twice:
        return Problem(
            rule=CommitRule.STALE_DELETION_VECTOR,
            message=f"Data file {twice[0]} has a deletion vector already that this commit does "
            "not know of.",
        )
    dead = sorted(fresh - set(live_after["file_name"].to_pylist()))
    if dead:
        return Problem(
            rule=CommitRule.STALE_DELETION_VECTOR,
            message=f"Data file {dead[0]}, for which rows were marked deleted, is not live.",
        )
    return None


def meets_keys(added: pa.Table, later: pa.Table, key_type: RowType) -> bool:
    """Whether files that came or went may hold keys that a commit writes.

    Args:
        added: Columns of MANIFEST_ENTRY: what the commit adds. What it adds to one bucket counts
            as one range of keys.
        later: The same, of the files that came or went since its rows were read.
        key_type: The trimmed primary key; without columns every file of a bucket counts.
    """
    ranges: dict[tuple[bytes, int], list[tuple[Any, ...]]] = defaultdict(list)
    for each in added.select(["partition", "bucket", "min_key", "max_key"]).to_pylist():
        keys = (decode_row(each[name], key_type.types) for name in ("min_key", "max_key"))
        ranges[each["partition"], each["bucket"]] += keys

    def beside(partition: bytes, bucket: int) -> pa.Table:
        place = ScanFilter(partitions=frozenset([partition]), buckets=frozenset([bucket]))
        return filter_entries(later, place)

    return any(
        filter_by_key(beside(*place), key_range(keys), key_type).num_rows
        for place, keys in ranges.items()
    )


def _changed_bucket_count(live: pa.Table, added: pa.Table) -> Problem | None:
    columns = ["partition", "total_buckets"]
    both = pa.concat_tables([live.select(columns), added.select(columns)])
    both = both.filter(pc.greater(both["total_buckets"], 0))
    if pc.count_distinct(both["total_buckets"]).as_py() < 2:
        return None
    counts = both.group_by("partition").aggregate(
        [("total_buckets", "min"), ("total_buckets", "max")]
    )
    changed = counts.filter(pc.not_equal(counts["total_buckets_min"], counts["total_buckets_max"]))
    if not changed.num_rows:
        return None
    low, high = changed["total_buckets_min"][0].as_py(), changed["total_buckets_max"][0].as_py()
    return Problem(
        rule=CommitRule.BUCKET_COUNT_CHANGED,
        message=f"A partition would have files of {low} and of {high} buckets. Write it anew with "
        "an overwrite.",
    )


def _dead_or_double(live: pa.Table, added: pa.Table, deleted: pa.Table) -> Problem | None:
    return (_dead(live, added, deleted) if deleted.num_rows else None) or _double(
        live, added, deleted
    )


def _dead(live: pa.Table, added: pa.Table, deleted: pa.Table) -> Problem | None:
    known = pa.concat_tables([live.select(["identity"]), added.select(["identity"])])
    dead = deleted.filter(pc.invert(_is_in(deleted, known)))
    if not dead.num_rows and _has_duplicates(deleted):
        dead = deleted.slice(0, 1)
    if dead.num_rows:
        return Problem(
            rule=CommitRule.DELETE_OF_DEAD_FILE,
            message=f"{_files(dead)} to be deleted, but not live: another commit deleted or "
            "compacted it.",
        )
    return None


def _double(live: pa.Table, added: pa.Table, deleted: pa.Table) -> Problem | None:
    double = added.filter(pc.and_(_is_in(added, live), pc.invert(_is_in(added, deleted))))
    if not double.num_rows and _has_duplicates(added):
        double = added.slice(0, 1)
    if double.num_rows:
        return Problem(
            rule=CommitRule.ADD_OF_LIVE_FILE,
            message=f"{_files(double)} to be added, but live already.",
        )
    return None


def _overlap(kept: pa.Table, added: pa.Table, key_type: RowType) -> Problem | None:
    """Find files of one bucket and level, from level 1 on, whose key ranges overlap (C08)."""
    added = added.filter(pc.greater(added["level"], 0))
    if not added.num_rows:
        return None
    kept = kept.filter(pc.greater(kept["level"], 0))
    files = pa.concat_tables([kept.select(_RANGED), added.select(_RANGED)])
    first, second = _overlapping(files, key_type)
    if not len(first):
        return None
    names = files["file_name"].take([first[0], second[0]]).to_pylist()
    return Problem(
        rule=CommitRule.KEY_RANGES_OVERLAP,
        message=f"Files {names[0]} and {names[1]} would hold overlapping keys on one level: two "
        "compactions of the same bucket met.",
    )


def buckets_with_overlap(files: pa.Table, key_type: RowType) -> set[tuple[bytes, int]]:
    """The partition and bucket of files whose key ranges overlap on their level.

    Args:
        files: Columns of MANIFEST_ENTRY.
        key_type: The trimmed primary key.
    """
    first, _ = _overlapping(files.select(_RANGED), key_type)
    places = files.select(["partition", "bucket"]).take(first).to_pylist()
    return {(place["partition"], place["bucket"]) for place in places}


def _overlapping(
    files: pa.Table, key_type: RowType
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows, and for each the row of the next file by key, whose ranges overlap."""
    low = decode_rows(whole(files["min_key"]), key_type)
    high = decode_rows(whole(files["max_key"]), key_type)
    groups = {name: whole(files[name]) for name in ("partition", "bucket", "level")}
    keys = {f"key{index}": sortable(low.field(index)) for index in range(len(key_type.fields))}
    order = pc.sort_indices(
        pa.table({**groups, **keys}), [(name, "ascending") for name in (*groups, *keys)]
    )
    first, second = order[:-1], order[1:]
    same_group = np.ones(len(first), dtype=bool)
    for column in groups.values():
        same_group &= _numpy(pc.equal(column.take(first), column.take(second)))
    reaches = ~_is_before(high, first, low, second, len(key_type.fields))
    found = np.flatnonzero(same_group & reaches)
    return first.to_numpy()[found], second.to_numpy()[found]


def _is_before(
    left: pa.StructArray,
    left_rows: pa.Array,
    right: pa.StructArray,
    right_rows: pa.Array,
    width: int,
) -> npt.NDArray[np.bool_]:
    """Whether each key of `left` is smaller than its key of `right`, column after column."""
    result = np.zeros(len(left_rows), dtype=bool)
    for index in reversed(range(width)):
        one = sortable(left.field(index)).take(left_rows)
        other = sortable(right.field(index)).take(right_rows)
        result = _numpy(pc.less(one, other)) | (_numpy(pc.equal(one, other)) & result)
    return result


def _numpy(flags: pa.Array) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = pc.fill_null(flags, False).to_numpy(zero_copy_only=False)
    return found


def _is_in(table: pa.Table, other: pa.Table) -> pa.ChunkedArray:
    return pc.is_in(table["identity"], value_set=whole(other["identity"]))


def _has_duplicates(table: pa.Table) -> bool:
    return bool(table.num_rows != pc.count_distinct(table["identity"]).as_py())


def _covered_files(entries: pa.Table) -> set[str]:
    vectors = deletion_vector_entries(entries)
    return {
        each["data_file"] for ranges in vectors["dv_ranges"].to_pylist() for each in ranges or ()
    }


def _names_missing_in(names: pa.ChunkedArray, known: pa.ChunkedArray) -> list[str]:
    missing: list[str] = names.filter(
        pc.invert(pc.is_in(names, value_set=whole(known)))
    ).to_pylist()
    return missing


def _files(table: pa.Table) -> str:
    name = table["file_name"][0].as_py()
    more = table.num_rows - 1
    return f"File {name} is" if not more else f"File {name} and {more:,} more are"
