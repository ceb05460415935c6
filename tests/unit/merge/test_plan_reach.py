"""The table of what later commits of a target do to the plan of a merge."""

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pytest

from branch_console.diff.changes.file_history import Place, with_kind
from branch_console.diff.lineage import OPERATION, ROW_OPERATION
from branch_console.format.manifest_entry import NO_FILES, FileKind
from branch_console.format.options import Options
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.format.table_schema import BucketMode
from branch_console.merge.file_moves import DisplayNames
from branch_console.merge.plan_reach import CommitSince, PlanReach, find_overlap
from tests.support.commit_tables import data_files

A, B, C = (bytes([0, 0, 0, each]) for each in range(3))
NAMING = DisplayNames(table="db.t", partition=lambda data: f"p={data[3]}")
PLAN = PlanReach(
    naming=NAMING,
    bucket_mode=None,
    places=frozenset({(A, 0)}),
    settled=frozenset(),
    indexed=frozenset(),
    names=frozenset({"data-moved.parquet"}),
    guarded=frozenset(),
    new_rows_may_lack_value=False,
)
FIXED = replace(PLAN, bucket_mode=BucketMode.HASH_FIXED)
REWRITES = replace(FIXED, settled=FIXED.places)
MASKS = replace(PLAN, indexed=PLAN.places)

APPEND, COMPACT, OVERWRITE = CommitKind.APPEND, CommitKind.COMPACT, CommitKind.OVERWRITE


def commit(
    *places: Place,
    kind: CommitKind = APPEND,
    added: str = "new",
    removed: str | None = None,
    properties: Mapping[str, str] | None = None,
    index: Place | None = None,
    operation: str | None = None,
) -> CommitSince:
    parts = []
    for partition, bucket in places:
        parts.append(data_files([added], partition=partition, bucket=bucket))
        if removed is not None:
            gone = data_files([removed], partition=partition, bucket=bucket)
            parts.append(with_kind(gone, FileKind.DELETE))
    snapshot = Snapshot(
        version=3,
        id=7,
        schema_id=0,
        commit_identifier=1,
        time_millis=0,
        base_manifest_list="manifest-list-a",
        delta_manifest_list="manifest-list-b",
        commit_user="flink",
        commit_kind=kind,
        properties=Options(properties or {}),
        operation=operation,
    )
    return CommitSince(
        snapshot=snapshot,
        entries=pa.concat_tables(parts) if parts else NO_FILES,
        index_places=frozenset() if index is None else frozenset({index}),
    )


HOLDS = {
    "rows without a key": (PLAN, commit((A, 0))),
    "rows without a key that say they were written": (PLAN, commit((A, 0), operation="WRITE")),
    "a compaction of other files": (PLAN, commit((A, 0), kind=COMPACT, removed="old")),
    "statistics": (PLAN, commit(kind=CommitKind.ANALYZE)),
    "a delete in another partition": (PLAN, commit((B, 0), kind=OVERWRITE, removed="old")),
    "deletion vectors in another partition": (PLAN, commit(kind=OVERWRITE, index=(B, 0))),
    "a change of no row": (replace(PLAN, new_rows_may_lack_value=True), commit()),
    "a compaction beside a new column": (
        replace(PLAN, new_rows_may_lack_value=True),
        commit((A, 0), kind=COMPACT, removed="old"),
    ),
    "rows where the source changed others": (
        replace(PLAN, guarded=frozenset({B})),
        commit((A, 0)),
    ),
    "keys in another bucket": (FIXED, commit((A, 1))),
    "a delete of keys in another bucket": (
        FIXED,
        commit((A, 1), properties={ROW_OPERATION: "DELETE"}),
    ),
    "a compaction where files only come": (FIXED, commit((A, 0), kind=COMPACT, removed="old")),
    "a compaction beside a bucket that is written again": (
        REWRITES,
        commit((A, 1), kind=COMPACT, removed="old"),
    ),
    "an overwrite of keys in another partition": (
        FIXED,
        commit((B, 0), kind=OVERWRITE, removed="old"),
    ),
    "new keys of dynamic buckets in another partition": (
        replace(PLAN, bucket_mode=BucketMode.HASH_DYNAMIC),
        commit((B, 0), index=(B, 0)),
    ),
    "postponed keys in another partition": (
        replace(PLAN, bucket_mode=BucketMode.POSTPONE_MODE),
        commit((B, -2)),
    ),
    "keys, where nothing moves": (
        replace(FIXED, bucket_mode=BucketMode.KEY_DYNAMIC, places=frozenset()),
        commit((A, 0)),
    ),
}

OVERLAPS = {
    "a file that moves": (
        PLAN,
        commit((B, 0), kind=COMPACT, removed="moved"),
        "changed data file data-moved.parquet, which this merge moves or writes again",
    ),
    "a copy of a file that moves": (
        PLAN,
        commit((A, 0), added="moved"),
        "changed data file data-moved.parquet",
    ),
    "another merge": (
        PLAN,
        commit((B, 0), properties={OPERATION: "cherry_pick"}),
        "is a cherry pick, after which a merge may come to something else",
    ),
    "vectors where it hides rows": (
        MASKS,
        commit(kind=OVERWRITE, index=(A, 0)),
        "changed the index files of partition 'p=0', which this merge changes too",
    ),
    "a delete in a partition": (
        PLAN,
        commit((A, 3), kind=OVERWRITE, removed="old"),
        "took rows away from partition 'p=0', which this merge changes too",
    ),
    "an append that takes rows away": (
        PLAN,
        commit((A, 3), removed="old"),
        "took rows away from partition 'p=0'",
    ),
    "an update that hides rows of other files": (
        PLAN,
        commit((A, 0), index=(A, 0)),
        "took rows away from partition 'p=0'",
    ),
    "what says that it updates": (
        PLAN,
        commit((A, 0), operation="UPDATE"),
        "took rows away from partition 'p=0'",
    ),
    "rows that a delete of the source could hit": (
        replace(PLAN, guarded=None),
        commit((C, 0)),
        "wrote rows, which the delete or update of the source could change",
    ),
    "rows in a partition that the source replaced": (
        replace(PLAN, guarded=frozenset({B, C})),
        commit((C, 0), (B, 0)),
        "wrote to partition 'p=1', of which the source deleted, updated or replaced rows",
    ),
    "a delete anywhere, where a delete is meant for the table": (
        replace(PLAN, guarded=None),
        commit((C, 0), kind=OVERWRITE, removed="old"),
        "took rows away from partition 'p=2'",
    ),
    "rows that lack a new column": (
        replace(PLAN, new_rows_may_lack_value=True),
        commit((B, 0)),
        "wrote rows, which may have no value for a column that this merge makes NOT NULL",
    ),
    "keys in a bucket that changes": (
        FIXED,
        commit((A, 0)),
        "wrote to bucket 0 of partition 'p=0', which this merge changes too",
    ),
    "a compaction of a bucket that is written again": (
        REWRITES,
        commit((A, 0), kind=COMPACT, removed="old"),
        "compacted bucket 0 of partition 'p=0', which this merge replaces",
    ),
    "an overwrite of another bucket": (
        FIXED,
        commit((A, 1), kind=OVERWRITE, removed="old"),
        "took rows away from partition 'p=0'",
    ),
    "new keys in another dynamic bucket": (
        replace(PLAN, bucket_mode=BucketMode.HASH_DYNAMIC),
        commit((A, 9), index=(A, 9)),
        "wrote to partition 'p=0', which this merge changes too",
    ),
    "postponed keys": (
        replace(PLAN, bucket_mode=BucketMode.POSTPONE_MODE),
        commit((A, -2)),
        "wrote to partition 'p=0', which this merge changes too",
    ),
    "keys that may come from another partition": (
        replace(PLAN, bucket_mode=BucketMode.KEY_DYNAMIC),
        commit((C, 0)),
        "wrote rows, and a key may move from one partition to another",
    ),
}


@pytest.mark.parametrize("name", HOLDS)
def test_a_plan_holds_beside(name: str) -> None:
    reach, later = HOLDS[name]
    assert find_overlap(reach, later) is None


@pytest.mark.parametrize("name", OVERLAPS)
def test_a_plan_overlaps_with(name: str) -> None:
    reach, later, said = OVERLAPS[name]
    assert (find_overlap(reach, later) or "").startswith(said)
