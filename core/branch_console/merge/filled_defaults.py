"""Rows that lack a value of a new column which forbids nulls: they get its default.

Paimon fills in a default as it writes rows, never as it reads them, so the files of such rows are
written again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from branch_console.diff.changes.file_history import Place, keys_of
from branch_console.diff.changes.table_changes import TableChanges, by_place, files_in
from branch_console.diff.file_masks import HiddenRows, MaskKey
from branch_console.diff.three_way import ThreeWay
from branch_console.format.manifest_entry import NO_FILES
from branch_console.merge.compactions import live_files, undo_compactions
from branch_console.merge.file_moves import BucketMove, FileMoves, Knowledge, Strategy
from branch_console.merge.joined_deletes import HeldFiles, JoinedDeletes


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledColumns:
    """Columns whose default rows get that a side wrote, by name."""

    ours: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()


def fill_defaults(
    moves: FileMoves, ours: TableChanges, theirs: TableChanges, columns: FilledColumns
) -> FileMoves | None:
    """Have files written again with the defaults that their rows lack.

    Args:
        moves: The moves of a table without a primary key.
        ours: The target's changes since the base.
        theirs: The source's changes since the base.
        columns: The columns to fill in.

    Returns:
        None if rows of the target cannot be told from others: a compaction that cannot be taken
        back wrote them into one file.
    """
    filled = moves
    if columns.ours:
        mine = _fill_ours(filled, ours, theirs, columns.ours)
        if mine is None:
            return None
        filled = mine
    if columns.theirs:
        filled = _fill_theirs(filled, theirs, columns.theirs)
    return filled


def _fill_theirs(moves: FileMoves, theirs: TableChanges, columns: Iterable[str]) -> FileMoves:
    joins = [
        JoinedDeletes(
            place=place,
            ours=NO_FILES,
            theirs=files,
            held=ThreeWay(base={}, ours={}, theirs=_held(files, moves.masks)),
            inserted=(frozenset(), frozenset(files["identity"].to_pylist())),
            is_recorded=True,
        )
        for place, files in by_place(moves.add).items()
    ]
    coming = {key for _, key in keys_of(moves.add)}
    return replace(
        moves,
        add=NO_FILES,
        masks={key: hidden for key, hidden in moves.masks.items() if key not in coming},
        joins=(*moves.joins, *joins),
        buckets=_rewritten(moves.buckets, joins),
        notes=(*moves.notes, *_notes("source", joins, columns)),
    )


def _fill_ours(
    moves: FileMoves, ours: TableChanges, theirs: TableChanges, columns: Iterable[str]
) -> FileMoves | None:
    going = set(moves.remove["identity"].to_pylist())
    joined = frozenset[str]().union(*(each.held.ours for each in moves.joins))
    back = set(moves.restore["identity"].to_pylist())
    wanted = ours.added - going - joined
    live = live_files(wanted, ours)
    restored, undone = back, set[str]()
    if hidden_in := wanted - live - back:
        if back:
            return None
        try:
            restored, undone = undo_compactions(hidden_in, ours.log)
        except KeyError:
            return None
    masks = {key: each.after for key, each in ours.log.masks.items()}
    files = ours.files(wanted)
    joins = [
        JoinedDeletes(
            place=place,
            ours=found,
            theirs=NO_FILES,
            held=ThreeWay(base={}, ours=_held(found, {**masks, **moves.masks}), theirs={}),
            inserted=(frozenset(found["identity"].to_pylist()), frozenset()),
            is_recorded=True,
        )
        for place, found in by_place(files).items()
    ]
    written = {key for _, key in keys_of(files)}
    return replace(
        moves,
        restore=ours.files(restored - wanted),
        remove=files_in(going | (live & wanted) | undone, ours.log, theirs.log),
        masks={key: hidden for key, hidden in moves.masks.items() if key not in written},
        joins=(*moves.joins, *joins),
        buckets=_rewritten(moves.buckets, joins),
        notes=(*moves.notes, *_notes("target", joins, columns)),
    )


def _held(files: pa.Table, masks: Mapping[MaskKey, HiddenRows]) -> HeldFiles:
    return {identity: masks.get(key) for identity, key in keys_of(files)}


def _rewritten(
    buckets: Iterable[BucketMove], joins: Iterable[JoinedDeletes]
) -> tuple[BucketMove, ...]:
    moves: dict[Place, BucketMove] = {each.place: each for each in buckets}
    for join in joins:
        moves[join.place] = BucketMove(
            place=join.place, strategy=Strategy.REWRITE, knowledge=Knowledge.ROWS
        )
    return tuple(moves[place] for place in sorted(moves))


def _notes(side: str, joins: Iterable[JoinedDeletes], columns: Iterable[str]) -> tuple[str, ...]:
    if not any(True for _ in joins):
        return ()
    names = ", ".join(map(repr, columns))
    return (
        f"Rows that the {side} wrote without a value get the default of {names}: their files are "
        "written again.",
    )
