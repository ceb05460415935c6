"""The rows of a merge: which buckets a row engine compares, and the messages that come of it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import itemgetter

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.diff.changes.file_history import Place
from branch_console.diff.changes.table_changes import by_place
from branch_console.diff.changes.virtual_base import all_bases, each_base, simple_base
from branch_console.errors import Refused
from branch_console.format.index_manifest import deletion_vector_entries, hash_index_entries
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import BucketMode
from branch_console.merge.plan import ThreeWayPlan
from branch_console.merge.plan_merge import BaseState, MergeSides, lost_base
from branch_console.merge.replay import Replay, appended_files
from branch_console.merge.row_work import EVERY_BUCKET, BucketFiles, RowScope, RowWork
from branch_console.procedures.merge.index_files import with_held_names
from branch_console.table.file_store_table import FileStoreTable


def row_scope(plan: ThreeWayPlan, sides: MergeSides) -> RowScope:
    """Return what all buckets of a merge share."""
    new = {schema.id: schema for schema in plan.schema.schemas}
    on_target = {**sides.ours.schemas, **new}
    # Files of the source are read as the target will read them: with its numbers of columns.
    theirs = {
        number: on_target.get(plan.schema.id_map.get(number, number), schema)
        for number, schema in sides.theirs.schemas.items()
    }
    return RowScope(
        table=plan.table,
        schema=on_target[plan.schema.final_id],
        # A base may be from before a schema that the target has let go of.
        ours_schemas={**theirs, **on_target},
        theirs_schemas=theirs,
    )


def row_work(
    target: FileStoreTable, source: FileStoreTable, sides: MergeSides, places: Sequence[Place]
) -> tuple[RowWork, ...]:
    """Return the buckets whose rows must be compared, with the files of each side.

    Of a table with dynamic buckets, these of a partition are one.

    Args:
        target: The table on the branch that is merged into.
        source: The table on the branch that is merged.
        sides: Both sides; only the files of these buckets are read from their manifests.
        places: The buckets.

    Raises:
        Refused: The base of both sides' rows is gone.
    """
    if sides.base_of_rows is None:
        # A plan is refused without one: it has expired since.
        block = lost_base(sides)
        raise Refused(block.text, kind=block.kind)
    ours, theirs = (
        _states(table, BaseState(snapshot=side.head, in_target=table is target), places)
        for table, side in ((target, sides.ours), (source, sides.theirs))
    )
    base = each_base(sides.base_of_rows, lambda held: _states(target, held, places))
    ours_changes, theirs_changes = sides.ours.changes, sides.theirs.changes
    changed_by_us, changed_by_them = (
        _by_place(each.files(each.added | each.removed)) for each in (ours_changes, theirs_changes)
    )
    # Where readers do not look at level 0, nothing is replayed.
    skips = sides.ours.schema.skips_level_0
    replay = None if skips else Replay(ours_changes, theirs_changes)
    if sides.ours.schema.bucket_mode is not BucketMode.HASH_DYNAMIC:
        return tuple(
            RowWork(
                partition=place[0],
                bucket=place[1],
                base=simple_base(each_base(base, partial(_at, place)), _is_same),
                ours=ours(place),
                theirs=theirs(place),
                ours_changed=appended_files(ours_changes, changed_by_us(place)),
                theirs_changed=(
                    None if replay is None else replay.files(place, changed_by_them(place))
                ),
            )
            for place in places
        )
    index = hash_index_entries(target.index_entries(sides.ours.head))
    return tuple(
        RowWork(
            partition=partition,
            bucket=EVERY_BUCKET,
            base=simple_base(each_base(base, partial(_in, buckets)), _is_same),
            ours=_in(buckets, ours),
            theirs=_in(buckets, theirs),
            ours_changed=appended_files(
                ours_changes, pa.concat_tables(map(changed_by_us, buckets))
            ),
            # What the source appended may hold keys that have other buckets on the target.
            theirs_changed=None,
            index=index.filter(pc.equal(index["partition"], pa.scalar(partition, pa.binary()))),
        )
        for partition, buckets in _by_partition(places)
    )


def vectors_of(target: FileStoreTable, source: FileStoreTable, sides: MergeSides) -> pa.Table:
    """Return the index files of the deletion vectors of all sides, as INDEX_MANIFEST_ENTRY."""
    held = () if sides.base_of_rows is None else all_bases(sides.base_of_rows)
    bases = (_marks(target, each.snapshot) for each in held)
    ours, theirs = _marks(target, sides.ours.head), _marks(source, sides.theirs.head)
    return pa.concat_tables([*bases, ours, theirs])


def joined_messages(
    moved: Sequence[CommitMessage],
    written: Sequence[CommitMessage],
    target: FileStoreTable,
    head: Snapshot,
) -> tuple[CommitMessage, ...]:
    """One message a bucket: files that move, then what was written of settled and hidden rows.

    Args:
        moved: The files that move.
        written: The files that were written before the publishing.
        target: The table on the branch that is merged into.
        head: The head of the target.
    """
    found = {(each.partition, each.bucket): each for each in moved}
    for named in with_held_names(written, moved, target, head):
        place = (named.partition, named.bucket)
        first = found.get(place)
        found[place] = (
            named
            if first is None
            else replace(
                first,
                **{
                    name: pa.concat_tables([getattr(first, name), getattr(named, name)])
                    for name in ("new_files", "new_index_files", "deleted_index_files")
                },
            )
        )
    return tuple(found.values())


def _states(
    table: FileStoreTable, held: BaseState, places: Sequence[Place]
) -> Callable[[Place], BucketFiles]:
    """Look up what buckets hold in a state."""
    entries = _by_place(_live(table, held.snapshot, places))
    marks = _by_place(_marks(table, held.snapshot))
    return lambda place: BucketFiles(
        entries=entries(place), marks=marks(place), in_target=held.in_target
    )


def _by_partition(places: Sequence[Place]) -> Iterator[tuple[bytes, tuple[Place, ...]]]:
    for partition, found in groupby(sorted(places), key=itemgetter(0)):
        yield partition, tuple(found)


def _at(place: Place, state: Callable[[Place], BucketFiles]) -> BucketFiles:
    return state(place)


def _in(places: Sequence[Place], state: Callable[[Place], BucketFiles]) -> BucketFiles:
    """Return the files of several buckets as one."""
    found = [state(place) for place in places]
    return replace(
        found[0],
        entries=pa.concat_tables(each.entries for each in found),
        marks=pa.concat_tables(each.marks for each in found),
    )


def _is_same(one: BucketFiles, other: BucketFiles) -> bool:
    """Whether two states of a bucket hold the same files with the same rows."""
    names = [set(each.entries["identity"].to_pylist()) for each in (one, other)]
    return names[0] == names[1] and one.marks.equals(other.marks)


def _by_place(files: pa.Table) -> Callable[[Place], pa.Table]:
    """Look up the entries of a bucket; a bucket without any has an empty table."""
    found, nothing = by_place(files), files.schema.empty_table()
    return lambda place: found.get(place, nothing)


def _live(table: FileStoreTable, snapshot: Snapshot, places: Sequence[Place]) -> pa.Table:
    return table.live_files(
        snapshot,
        partitions={partition for partition, _ in places},
        buckets={bucket for _, bucket in places},
    )


def _marks(table: FileStoreTable, snapshot: Snapshot) -> pa.Table:
    return deletion_vector_entries(table.index_entries(snapshot))
