"""Whether a plan of a merge still holds after commits that came to its target since.

A plan says which files come and go on top of one head. Where what was committed since does not
reach what the plan moves, nor what it was decided on, a plan that is made anew would say the same:
it is carried over. Whatever cannot be told apart for sure counts as an overlap.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.changes.file_history import Place, Step, original_names, recorded_operation
from branch_console.diff.changes.table_changes import TableChanges
from branch_console.diff.lineage import OPERATION
from branch_console.diff.table_operation import TableOperation
from branch_console.format.manifest_entry import FileKind
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.format.table_schema import BucketMode
from branch_console.merge.file_moves import DisplayNames, FileMoves, MergeRules
from branch_console.operations.isolation import InsertScope, Isolation

_CHANGES_ROWS: Final = (TableOperation.DELETE, TableOperation.UPDATE)
_INSERT: Final = "WRITE"
"""The operation that commits record which only add rows."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CommitSince:
    """A commit that came to the target of a merge after that was planned.

    Attributes:
        entries: The files that it took away and added, with the columns of MANIFEST_ENTRY.
        index_places: The buckets whose index files changed: hash indexes, deletion vectors.
    """

    snapshot: Snapshot
    entries: pa.Table
    index_places: frozenset[Place] = frozenset()

    @property
    def places(self) -> frozenset[Place]:
        """The partitions and buckets in which it changed anything."""
        columns = (self.entries[name].to_pylist() for name in ("partition", "bucket"))
        return frozenset(zip(*columns, strict=True)) | self.index_places


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanReach:
    """The reach of a plan: its changes and its grounds, to be checked against later commits.

    Attributes:
        naming: How places are told.
        bucket_mode: How rows find their bucket; None of a table without a primary key.
        places: The buckets in which the source changed something or files move.
        settled: Buckets with a key whose files are taken for the state of then: they are replaced,
            come back, or their rows are compared.
        indexed: The buckets in which index files change.
        names: The data files that move, are written again or get deletion vectors, by the names
            that they were written under.
        guarded: Partitions in which rows that the target gets would meet a change of the source;
            None if that is the whole table.
        new_rows_may_lack_value: Whether a row that the target writes later may have no value for a
            column that the merge makes NOT NULL, so that the plan then no longer holds.
    """

    naming: DisplayNames
    bucket_mode: BucketMode | None
    places: frozenset[Place]
    settled: frozenset[Place]
    indexed: frozenset[Place]
    names: frozenset[str]
    guarded: frozenset[bytes] | None
    new_rows_may_lack_value: bool

    @property
    def partitions(self) -> frozenset[bytes]:
        """The encoded partitions that the plan is about."""
        return frozenset(partition for partition, _ in self.places) | (self.guarded or frozenset())


def reach_of(
    moves: FileMoves,
    theirs: TableChanges,
    rules: MergeRules,
    naming: DisplayNames,
    *,
    bucket_mode: BucketMode | None,
    new_rows_may_lack_value: bool,
) -> PlanReach:
    """Return what a plan reaches.

    Args:
        moves: The moves of files.
        theirs: The source's changes since the base.
        rules: The chosen rules of the merge.
        naming: How places are told.
        bucket_mode: The bucket mode of a table with a primary key; None for others.
        new_rows_may_lack_value: As in `PlanReach`.
    """
    files = pa.concat_tables([moves.add, moves.replays, moves.restore, moves.remove])
    replaced = _places(moves.remove) | _places(moves.restore) | frozenset(moves.row_places)
    joined = frozenset(each.place for each in moves.joins)
    masked = frozenset(key[:2] for key in moves.masks)
    held = (side for each in moves.joins for side in (each.ours, each.theirs))
    return PlanReach(
        naming=naming,
        bucket_mode=bucket_mode,
        places=_places(files) | joined | masked | {each.place for each in moves.buckets},
        settled=replaced | joined,
        indexed=replaced | joined | masked | moves.adopts_index,
        names=frozenset(original_names(files["file_name"]).to_pylist())
        | {key[2] for key in moves.masks}
        | frozenset(name for each in held for name in _names(each)),
        guarded=frozenset() if bucket_mode is not None else _guarded(theirs.lasting_steps, rules),
        new_rows_may_lack_value=new_rows_may_lack_value,
    )


def find_overlap(reach: PlanReach, commit: CommitSince) -> str | None:
    """Say which part of a plan a later commit of the target touches; None if the plan still holds.

    Returns:
        What completes "snapshot 7 by flink …".
    """
    made_by = commit.snapshot.properties.get(OPERATION)
    if made_by is not None:
        # It changed what both sides have in common, or brought files that may come again.
        return f"is a {made_by.replace('_', ' ')}, after which a merge may come to something else"
    touched = reach.names.intersection(_names(commit.entries))
    if touched:
        return f"changed data file {min(touched)}, which this merge moves or writes again"
    index = commit.index_places & reach.indexed
    if index:
        return (
            f"changed the index files of {_place_text(reach, index)}, which this merge changes too"
        )
    if commit.snapshot.commit_kind is CommitKind.COMPACT:
        both = commit.places & reach.settled if reach.bucket_mode is not None else frozenset()
        return f"compacted {_place_text(reach, both)}, which this merge replaces" if both else None
    if not commit.places:
        return None
    if reach.new_rows_may_lack_value:
        return "wrote rows, which may have no value for a column that this merge makes NOT NULL"
    if _takes_rows(commit, has_keys=reach.bucket_mode is not None):
        return _overlap_of_partitions(reach, commit, "took rows away from")
    if reach.bucket_mode is None:
        return _overlap_with_guard(reach, commit)
    return _overlap_of_keys(reach, commit)


def _overlap_of_keys(reach: PlanReach, commit: CommitSince) -> str | None:
    """Rows with a key: where a key has one bucket for good, only there can it be written twice."""
    match reach.bucket_mode:
        case BucketMode.HASH_FIXED:
            both = commit.places & reach.places
            return (
                f"wrote to {_place_text(reach, both)}, which this merge changes too"
                if both
                else None
            )
        case BucketMode.HASH_DYNAMIC | BucketMode.POSTPONE_MODE:
            return _overlap_of_partitions(reach, commit, "wrote to")
        case _:
            is_known = bool(reach.places)
            return (
                "wrote rows, and a key may move from one partition to another" if is_known else None
            )


def _overlap_with_guard(reach: PlanReach, commit: CommitSince) -> str | None:
    """Rows without a key touch no other row, but a change of the source may be meant for them."""
    written = frozenset(partition for partition, _ in commit.places)
    if reach.guarded is None:
        return "wrote rows, which the delete or update of the source could change"
    both = written & reach.guarded
    if not both:
        return None
    place = reach.naming.place(min(both))
    return f"wrote to {place}, of which the source deleted, updated or replaced rows"


def _overlap_of_partitions(reach: PlanReach, commit: CommitSince, did: str) -> str | None:
    changed = frozenset(partition for partition, _ in commit.places)
    if reach.guarded is None or reach.bucket_mode is BucketMode.KEY_DYNAMIC:
        both = changed if reach.places else frozenset()
    else:
        both = changed & reach.partitions
    return f"{did} {reach.naming.place(min(both))}, which this merge changes too" if both else None


def _takes_rows(commit: CommitSince, *, has_keys: bool) -> bool:
    """Whether a commit did more than add rows, or for a table with keys, changes of rows."""
    is_delete = pc.equal(commit.entries["kind"], int(FileKind.DELETE))
    if commit.snapshot.commit_kind is not CommitKind.APPEND or pc.any(is_delete).as_py():
        return True
    if has_keys:
        return False
    recorded = recorded_operation(commit.snapshot)
    return bool(commit.index_places) or recorded not in (None, _INSERT)


def _guarded(steps: Collection[Step], rules: MergeRules) -> frozenset[bytes] | None:
    """Return the partitions whose added target rows can conflict, by the rules; None for all."""
    replacing = _partitions(
        each
        for each in steps
        if each.operation is TableOperation.OVERWRITE or each.may_be_overwrite
    )
    changing = [each for each in steps if each.operation in _CHANGES_ROWS]
    if rules.isolation is Isolation.SNAPSHOT or not changing:
        return replacing
    return None if rules.scope is InsertScope.TABLE else replacing | _partitions(changing)


def _partitions(steps: Iterable[Step]) -> frozenset[bytes]:
    return frozenset[bytes]().union(*(step.partitions for step in steps))


def _place_text(reach: PlanReach, places: Collection[Place]) -> str:
    partition, bucket = min(places)
    where = reach.naming.place(partition)
    return where if reach.bucket_mode is None else f"bucket {bucket} of {where}"


def _places(files: pa.Table) -> frozenset[Place]:
    columns = (files[name].to_pylist() for name in ("partition", "bucket"))
    return frozenset(zip(*columns, strict=True))


def _names(files: pa.Table) -> list[str]:
    names: list[str] = original_names(files["file_name"]).to_pylist()
    return names
