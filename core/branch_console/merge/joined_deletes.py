"""Files of which both sides deleted rows and wrote the rest again: both deletions hold.

A side may have hidden its rows instead. Rows without a key are told by their values and counted. Of
a row of the base is kept what both sides kept, of a row that a side inserted since what that side
kept. The target may have updated rows besides: one that the source deleted is gone, with what the
target made of it. Where nothing tells what was made of it, and where the source did more than
delete, nothing is joined.
"""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.changes.file_history import Place
from branch_console.diff.changes.table_changes import TableChanges, files_in
from branch_console.diff.file_masks import HiddenRows, MaskKey, rows_digest
from branch_console.diff.history_move import count
from branch_console.diff.three_way import ThreeWay, each_side
from branch_console.merge.conflict import Take
from branch_console.merge.file_touches import FileTouch

Bools: TypeAlias = npt.NDArray[np.bool_]
Ids: TypeAlias = npt.NDArray[np.int64]

HeldFiles: TypeAlias = Mapping[str, HiddenRows | None]
"""Files by identity, with what is hidden of them; None if all sides hide the same."""


class Update(StrEnum):
    """The kinds of updates of rows, by what their commits recorded.

    Attributes:
        PURE: It was recorded that each row that they wrote stands for one that they took away.
        INFERRED: They may have inserted rows besides.
    """

    PURE = "pure"
    INFERRED = "inferred"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JoinedDeletes:
    """Files of one bucket that hold the same rows on all three sides, but for those deleted.

    Attributes:
        ours: Files that the target knows, with the columns of MANIFEST_ENTRY.
        theirs: The files that only the source knows.
        held: The files that each side holds.
        inserted: The files that the target and the source inserted since the base and rewrote
            together with files of the base.
        take: The choice for files that a side changed in another way.
        update: The known facts about an update of the target; None if it only deleted.
        is_recorded: Whether commits record that both sides only deleted; else rows may tell that
            nothing can be joined.
    """

    place: Place
    ours: pa.Table
    theirs: pa.Table
    held: ThreeWay[HeldFiles]
    inserted: tuple[frozenset[str], frozenset[str]]
    take: Take | None = None
    update: Update | None = None
    is_recorded: bool = False

    @property
    def is_certain(self) -> bool:
        """Whether this is joined whatever the rows are."""
        return self.is_recorded or self.take is not None

    @property
    def file_count(self) -> int:
        """How many files are looked into: of the target, or of the base where it gave all up.

        Of rows that only get a default these are the files that come.
        """
        return len(self.held.ours or self.held.base or self.held.theirs)

    @property
    def rows_left(self) -> int:
        """How many rows stay at least; more, where both sides deleted the same."""
        rows = each_side(self.held, self._rows)
        return max(0, rows.ours + rows.theirs - rows.base)

    @property
    def rows_deleted(self) -> int:
        """How many rows the source deleted."""
        before = self._rows(self.held.base) + self._rows(dict.fromkeys(self.inserted[1]))
        return before - self._rows(self.held.theirs)

    @property
    def digest_parts(self) -> list[str]:
        """Return JSON values that differ for different decisions."""
        held = (
            " ".join(
                each if hidden is None else f"{each} {rows_digest(hidden)}"
                for each, hidden in sorted(side.items())
            )
            for side in (self.held.base, self.held.ours, self.held.theirs)
        )
        return [
            str(self.take),
            *([str(self.update)] if self.update else []),
            *held,
            *(" ".join(sorted(side)) for side in self.inserted),
        ]

    @property
    def base_names(self) -> list[str]:
        """The names of the files of the base."""
        return list(self._of(self.held.base)["file_name"].to_pylist())

    def _rows(self, held: HeldFiles) -> int:
        written = pc.sum(self._of(held)["row_count"]).as_py() or 0
        return int(written) - sum(len(hidden) for hidden in held.values() if hidden is not None)

    def _of(self, identities: Collection[str]) -> pa.Table:
        files = pa.concat_tables([self.ours, self.theirs])
        wanted = pa.array(sorted(identities), pa.string())
        return files.filter(pc.is_in(files["identity"], value_set=wanted))


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedFiles:
    """A side's changes in a group of files, all by identity.

    Attributes:
        removed: Files of the base that it wrote again or gave up.
        made: The files that replace them.
        inserted: The files that it inserted since the base and rewrote with them.
    """

    removed: frozenset[str]
    made: frozenset[str]
    inserted: frozenset[str]


def touched_files(
    files: Set[MaskKey],
    side: TableChanges,
    touches: Mapping[MaskKey, FileTouch],
    keys: Mapping[str, MaskKey],
) -> TouchedFiles:
    """Return what a side did in a group of files.

    Args:
        files: The group, of the base.
        side: Its changes since the base.
        touches: The changes of each file that it touched.
        keys: The keys of all files that a log mentions, by identity.
    """
    found = [touches[key] for key in files & touches.keys()]
    made = frozenset[str]().union(*(each.added for each in found))
    read = frozenset[MaskKey]().union(*(each.files for each in found)) - touches.keys()
    came = frozenset[str]().union(*(step.added for step in side.steps))
    return TouchedFiles(
        removed=frozenset(each for each in side.removed if keys[each] in files),
        made=made & side.added,
        inserted=frozenset(each for each in came if keys[each] in read),
    )


def join_deletes(
    place: Place,
    sides: tuple[TableChanges, TableChanges],
    *,
    ours: TouchedFiles,
    theirs: TouchedFiles,
    hidden: Mapping[str, ThreeWay[HiddenRows]],
    take: Take | None,
    update: Update | None = None,
    is_recorded: bool = False,
) -> JoinedDeletes:
    """Join what both sides did in a group of files of one bucket.

    Args:
        place: The bucket.
        sides: The changes of the target and of the source since the base.
        ours: The target's changes there.
        theirs: The source's changes there.
        hidden: What each side hides of files of which any of them hid rows, by identity.
        take: The choice for files that a side changed in another way.
        update: The known facts about an update of the target; None if it only deleted.
        is_recorded: Whether commits record that both only deleted.
    """
    base = ours.removed | theirs.removed
    by_us = ours.made | (base - ours.removed)
    by_them = theirs.made | (base - theirs.removed)
    wanted = base | by_us | by_them | ours.inserted | theirs.inserted
    known = files_in(wanted, sides[0].log)
    return JoinedDeletes(
        place=place,
        ours=known,
        theirs=sides[1].files(wanted.difference(known["identity"].to_pylist())),
        held=ThreeWay(
            base={each: hidden[each].base if each in hidden else None for each in base},
            ours={each: hidden[each].ours if each in hidden else None for each in by_us},
            theirs={each: hidden[each].theirs if each in hidden else None for each in by_them},
        ),
        inserted=(ours.inserted, theirs.inserted),
        take=take,
        update=update,
        is_recorded=is_recorded,
    )


class Kept(NamedTuple):
    """The rows that survive the changes of both sides.

    Attributes:
        stay: A mask of the target's rows that stay.
        come: A mask of the source's rows that are added.
        overruled_rows: Rows that the target wrote in place of ones that the source deleted.
    """

    stay: Bools
    come: Bools
    overruled_rows: int


def kept_by_both(
    rows: ThreeWay[pa.ChunkedArray],
    inserted: tuple[pa.ChunkedArray, pa.ChunkedArray],
    update: Update | None = None,
) -> Kept | None:
    """Return the rows that survive both sides, by the values of all columns.

    Args:
        rows: The rows of each side as bytes that are equal where the rows are.
        inserted: Rows that the target and the source had besides those of the base.
        update: The known facts about an update of the target.

    Returns:
        None if a side holds a row more often than it had it, as it did more than delete: of the
        target only if nothing tells which of these stand for rows that the source deleted.
    """
    sides = (rows.base, rows.ours, rows.theirs, *inserted)
    of_side = _codes(sides)
    kinds = max(int(each.max(initial=-1)) for each in of_side) + 1
    base, ours, theirs, ours_new, theirs_new = (
        np.bincount(each, minlength=kinds) for each in of_side
    )
    if (theirs > base + theirs_new).any():
        return None
    had = base + ours_new
    written = ours - np.minimum(ours, had)
    # Equal rows of the base and of an insert cannot be told apart: those of the base stay first.
    of_base = np.minimum(base, ours), np.minimum(base, theirs)
    beaten = 0
    # What an update took away without a new version here may stand in another bucket now.
    if written.any() or update is not None:
        changed, gone = base - of_base[0], base - of_base[1]
        least, most = np.maximum(0, changed + gone - base), np.minimum(changed, gone)
        replaced = (had + written - ours).sum()
        is_all = update is Update.PURE and most.sum() == replaced == written.sum()
        if update is None or (least != most).any() or (most.any() and not is_all):
            return None
        beaten = int(written.sum()) if most.any() else 0
    stay = np.minimum(*of_base) + ours - of_base[0] - (written if beaten else 0)
    come = theirs - of_base[1]
    return Kept(
        stay=_rank(of_side[1]) < stay[of_side[1]],
        come=_rank(of_side[2]) < come[of_side[2]],
        overruled_rows=beaten,
    )


def kept_by_columns(
    columns: Sequence[ThreeWay[pa.ChunkedArray]],
    inserted: Sequence[tuple[pa.ChunkedArray, pa.ChunkedArray]],
    update: Update,
) -> Kept | None:
    """Return what is left of rows that the target updated, known again by columns that it kept.

    An update leaves some columns as they are. Where each row that came agrees in these columns with
    one that went, and no two rows do, they are versions of one row.

    Args:
        columns: The values of each column, as bytes that are equal where the values are.
        inserted: For each column, the rows that the target and the source have and the base lacks.
        update: The known facts about an update of the target.

    Returns:
        None if columns do not tell what the target made of a row, or where the source did more
        than delete.
    """
    parts = [
        _codes((each.base, each.ours, each.theirs, *new))
        for each, new in zip(columns, inserted, strict=True)
    ]
    sides = [np.stack([part[side] for part in parts], axis=1) for side in range(5)]
    kinds, numbers = np.unique(np.concatenate(sides), axis=0, return_inverse=True)
    of_side = np.split(numbers.reshape(-1), np.cumsum([len(side) for side in sides])[:-1])
    base, ours, theirs, ours_new, theirs_new = (
        np.bincount(each, minlength=len(kinds)) for each in of_side
    )
    had = base + ours_new
    came, went = ours - np.minimum(ours, had), had - np.minimum(ours, had)
    if (theirs > base + theirs_new).any() or came.sum() != went.sum():
        return None
    new, old = np.repeat(kinds, came, axis=0), np.repeat(kinds, went, axis=0)
    kept = [
        at for at in range(len(columns)) if np.array_equal(np.sort(new[:, at]), np.sort(old[:, at]))
    ]
    # Of a row that stands alone any column tells it from the others. And what nobody recorded as an
    # update may have deleted a row and inserted another that has little in common with it.
    if not kept or (update is Update.INFERRED and (had.sum() < 2 or 2 * len(kept) <= len(columns))):
        return None
    versions, version = np.unique(kinds[:, kept], axis=0, return_inverse=True)
    version = version.reshape(-1)

    def by_version(rows: Ids) -> Ids:
        return np.bincount(version, weights=rows, minlength=len(versions)).astype(np.int64)

    is_one_version = by_version(had).max() == by_version(ours).max() == 1
    if not is_one_version or not np.array_equal(by_version(came), by_version(went)):
        return None
    is_gone = by_version(base - np.minimum(base, theirs)) > 0
    return Kept(
        stay=~is_gone[version[of_side[1]]],
        come=_rank(of_side[2]) < (theirs - np.minimum(base, theirs))[of_side[2]],
        overruled_rows=int(came[is_gone[version]].sum()),
    )


def overruled_updates(rows: int) -> str:
    """Say that rows are gone which the target updated."""
    return f"The source deleted {count(rows, 'row')} that the target updated: the delete wins."


def _codes(sides: Sequence[pa.ChunkedArray]) -> list[npt.NDArray[np.int64]]:
    """Numbers that are equal where values of some sides are."""
    whole = pa.chunked_array([chunk for side in sides for chunk in side.chunks], pa.large_binary())
    encoded = whole.dictionary_encode()
    codes = np.concatenate(
        [np.empty(0, np.int64), *(chunk.indices.to_numpy() for chunk in encoded.chunks)]
    ).astype(np.int64)
    return np.split(codes, np.cumsum([len(side) for side in sides])[:-1])


def kept_by_ids(
    ids: ThreeWay[Ids],
    inserted: tuple[Ids, Ids],
    rows: ThreeWay[pa.ChunkedArray],
    update: Update | None = None,
) -> Kept | None:
    """Return the rows that survive both sides, by row id, which an update keeps.

    Args:
        ids: The ids of the rows of each side.
        inserted: The ids of rows that the target and the source have and the base lacks.
        rows: The rows of each side as bytes, in the order of `ids`.
        update: The known facts about an update of the target.

    Returns:
        None if a side holds ids that it never had, which a writer gave anew, where the source
        did more than delete, or where a row that it deleted may stand in another bucket since an
        update of the target.
    """
    is_known = all(
        np.isin(held, np.concatenate([ids.base, new])).all()
        for held, new in zip((ids.ours, ids.theirs), inserted, strict=True)
    )
    order = np.argsort(ids.base, kind="stable")

    def updated(side: Ids, held: pa.ChunkedArray) -> Bools:
        """Return the mask of rows that the base has with other values."""
        is_old = np.isin(side, ids.base)
        then = order[np.searchsorted(ids.base, side[is_old], sorter=order)]
        differs = pc.not_equal(rows.base.take(pa.array(then)), held.filter(pa.array(is_old)))
        found = np.zeros(len(side), dtype=np.bool_)
        found[is_old] = differs.to_numpy()
        return found

    both_lack = np.setdiff1d(ids.base, np.concatenate([ids.ours, ids.theirs]))
    may_have_moved = update is not None and both_lack.size > 0
    if not is_known or may_have_moved or updated(ids.theirs, rows.theirs).any():
        return None
    stay = np.isin(ids.ours, np.setdiff1d(ids.base, ids.theirs), invert=True)
    come = np.isin(ids.theirs, ids.base, invert=True)
    return Kept(stay=stay, come=come, overruled_rows=int(updated(ids.ours, rows.ours)[~stay].sum()))


def _rank(codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many equal ones stand before each."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.r_[True, ordered[1:] != ordered[:-1]] if len(codes) else np.empty(0, bool)
    first = np.maximum.accumulate(np.where(starts, np.arange(len(codes)), 0))
    ranks = np.empty(len(codes), np.int64)
    ranks[order] = np.arange(len(codes)) - first
    return ranks
