"""How the files of a table with a primary key merge: bucket by bucket, by the keys that changed.

A file that a writer appended holds changes, not states, so adding it to a bucket in which other
keys changed in the meantime gives the rows that writing it there would have given, whatever the
merge engine. Tried with Paimon's own readers, before and after a full compaction.
"""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from branch_console.diff.changes.file_history import Place
from branch_console.diff.changes.table_changes import TableChanges, by_place, files_in
from branch_console.diff.history_move import count
from branch_console.errors import ErrorKind
from branch_console.format import options as table_options
from branch_console.format.sequence_groups import functions_not_replayable
from branch_console.format.table_schema import BucketMode, TableSchema
from branch_console.format.values.binary_row import decode_row
from branch_console.format.values.key_order import key_rank
from branch_console.merge.file_moves import (
    Block,
    BucketMove,
    DisplayNames,
    FileMoves,
    Findings,
    Knowledge,
    Strategy,
)
from branch_console.merge.replay import Replay


def merge_keyed_files(
    schema: TableSchema, ours: TableChanges, theirs: TableChanges, naming: DisplayNames
) -> FileMoves:
    """Decide what a merge does with the files of a table with a primary key.

    Args:
        schema: The schema of the target: its key, its bucket mode, its merge engine.
        ours: The target's changes since the base.
        theirs: The source's changes since the base.
        naming: How places are told.
    """
    found = Findings()
    changed_by_us = by_place(ours.files(ours.added | ours.removed))
    changed_by_them = by_place(theirs.files(theirs.added | theirs.removed))
    shared = _shared_partitions(schema, changed_by_us.keys(), changed_by_them.keys())
    _check_bucket_mode(schema, shared, found, naming)
    shows_level_0, replay = not schema.skips_level_0, Replay(ours, theirs)
    add: set[str] = set()
    remove: set[str] = set()
    restore: set[str] = set()
    moves: list[BucketMove] = []
    row_places = sorted(each for each in {*changed_by_us, *changed_by_them} if each[0] in shared)
    replays: set[str] = set()
    adopts_index: set[Place] = set()
    for place in sorted(changed_by_them):
        files = changed_by_them[place]
        if place[0] in shared:
            # What is new to both may lie in other buckets on the two sides.
            delta = BucketMove(place=place, strategy=Strategy.DELTA, knowledge=Knowledge.ROWS)
            moves.append(delta)
            continue
        identities = set(files["identity"].to_pylist())
        is_replayed = replay.files(place, files) is not None
        mine = changed_by_us.get(place)
        if mine is None and is_replayed and shows_level_0:
            add |= identities
            adopts_index.add(place)
            moves.append(BucketMove(place=place, strategy=Strategy.ADOPT))
        elif mine is None:
            come, back, go = _swap(place, ours, theirs)
            add |= come
            restore |= back
            remove |= go
            adopts_index.add(place)
            moves.append(BucketMove(place=place, strategy=Strategy.ADOPT))
        elif not shows_level_0:
            row_places.append(place)
            rewrite = BucketMove(place=place, strategy=Strategy.REWRITE, knowledge=Knowledge.ROWS)
            moves.append(rewrite)
        elif is_replayed and not _overlap(files, mine, schema):
            # Of keys that ours has not touched, it holds what the base does.
            add |= identities
            moves.append(BucketMove(place=place, strategy=Strategy.REPLAY))
        else:
            row_places.append(place)
            replays |= identities if is_replayed else set()
            delta = BucketMove(place=place, strategy=Strategy.DELTA, knowledge=Knowledge.KEYS)
            moves.append(delta)
    if row_places:
        _check_functions(schema, found)
    return FileMoves(
        add=theirs.files(add - ours.log.came),
        restore=ours.files(restore),
        remove=files_in(remove, ours.log, theirs.log),
        buckets=tuple(moves),
        row_places=tuple(row_places),
        replays=theirs.files(replays - ours.log.came),
        blocks=tuple(found.blocks),
        adopts_index=frozenset(adopts_index),
    )


def _swap(
    place: Place, ours: TableChanges, theirs: TableChanges
) -> tuple[set[str], set[str], set[str]]:
    """A bucket becomes what the source holds.

    Returns:
        Files of the source that come, files from before the root that come back, files that go.
    """
    arrived_ours, left_ours = _at(place, ours, ours.log.came), _at(place, ours, ours.log.went)
    arrived, left = _at(place, theirs, theirs.log.came), _at(place, theirs, theirs.log.went)
    return arrived - arrived_ours, left_ours - left, (arrived_ours - arrived) | (left - left_ours)


def _at(place: Place, side: TableChanges, identities: frozenset[str]) -> set[str]:
    found = by_place(side.log.files(identities)).get(place)
    return set() if found is None else set(found["identity"].to_pylist())


def _overlap(theirs: pa.Table, ours: pa.Table, schema: TableSchema) -> bool:
    """Whether any two files of two sides may hold one key, judged by their key ranges."""
    if not schema.ranged_key_type.fields:
        return bool(theirs.num_rows and ours.num_rows)
    ranges = sorted(
        (
            *((*each, 0) for each in _ranges(theirs, schema)),
            *((*e, 1) for e in _ranges(ours, schema)),
        )
    )
    ends: list[Any] = [None, None]
    for low, high, side in ranges:
        other = ends[1 - side]
        if other is not None and low <= other:
            return True
        ends[side] = high if ends[side] is None else max(ends[side], high)
    return False


def _ranges(
    files: pa.Table, schema: TableSchema
) -> Iterable[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    types = schema.key_type.types
    for low, high in zip(files["min_key"].to_pylist(), files["max_key"].to_pylist(), strict=True):
        yield key_rank(decode_row(low, types)), key_rank(decode_row(high, types))


def _shared_partitions(
    schema: TableSchema, ours: Iterable[Place], theirs: Iterable[Place]
) -> frozenset[bytes]:
    """The partitions in which a key may have got different buckets on the two sides."""
    ours_partitions = frozenset(partition for partition, _ in ours)
    theirs_partitions = frozenset(partition for partition, _ in theirs)
    match schema.bucket_mode:
        case BucketMode.HASH_DYNAMIC:
            return ours_partitions & theirs_partitions
        case BucketMode.KEY_DYNAMIC:
            return theirs_partitions if ours_partitions else frozenset()
        case _:
            return frozenset()


def _check_functions(schema: TableSchema, found: Findings) -> None:
    """Refuse where rows have to be written again that a function merges into something else."""
    functions = functions_not_replayable(schema)
    if not functions:
        return
    # A block a column would repeat one sentence for as many columns as the table has.
    column, function = next(iter(functions.items()))
    others = len(functions) - 1
    more = f", nor are those of {count(others, 'more column')}" if others else ""
    found.blocks.append(
        Block(
            kind=ErrorKind.UNSUPPORTED,
            text="Both sides changed the same part of the table, and the aggregate function "
            f"{function!r} of column {column!r} is not merged{more}: no row can be written that "
            f"turns {'a value of theirs' if others else 'its value'} into another one. Let the job "
            "that wrote the source write to the target instead.",
        )
    )


def _check_bucket_mode(
    schema: TableSchema, shared: Iterable[bytes], found: Findings, naming: DisplayNames
) -> None:
    """Refuse where a key that both sides placed cannot be given one bucket."""
    if schema.bucket_mode is BucketMode.KEY_DYNAMIC:
        why = "a key may have moved to another partition on either side"
    elif schema.skips_level_0:
        why = "its readers see no row before a compaction, which is not done here for such buckets"
    elif schema.options.read(table_options.INDEX_FILE_IN_DATA_FILE_DIR):
        why = "it keeps the index of its keys beside data files, where it is not written here"
    else:
        return
    for partition in sorted(shared):
        found.blocks.append(
            Block(
                kind=ErrorKind.UNSUPPORTED,
                text=f"Both sides changed {naming.place(partition)}, and this table chooses the "
                f"bucket of a key when the key is first written (dynamic buckets); {why}. Write "
                "the source's rows to the target with INSERT instead.",
            )
        )
