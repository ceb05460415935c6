"""Files of which both sides deleted rows and wrote the rest again: both deletions hold.

A side may have hidden its rows instead. Rows without a key are told by their values and counted. Of
a row of the base is kept what both sides kept, of a row that a side inserted since what that side
kept. A row that a side wrote without having it before is no deletion, and nothing is joined.
"""

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from core.diff.file_masks import HiddenRows, MaskKey, rows_digest
from core.diff.logical_log import Place
from core.diff.table_changes import TableChanges, files_in
from core.diff.three_way import ThreeWay, each_side
from core.merge.conflict import Take
from core.merge.file_touches import FileTouch

Bools: TypeAlias = npt.NDArray[np.bool_]

HeldFiles: TypeAlias = Mapping[str, HiddenRows | None]
"""Files by identity, with what is hidden of them; None where all sides hide the same."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JoinedDeletes:
    """Files of one bucket that hold the same rows on all three sides, but for those deleted.

    Attributes:
        ours: Files that the target knows, with the columns of MANIFEST_ENTRY.
        theirs: The files that only the source knows.
        held: The files that each side holds.
        inserted: Of files that the target and the source inserted since the base, and wrote again
            together with some of the base.
        take: What was chosen for files that a side changed otherwise.
    """

    place: Place
    ours: pa.Table
    theirs: pa.Table
    held: ThreeWay[HeldFiles]
    inserted: tuple[frozenset[str], frozenset[str]]
    take: Take | None = None

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
    def told(self) -> list[str]:
        """What tells it from others, as JSON values."""
        held = (
            " ".join(
                each if hidden is None else f"{each} {rows_digest(hidden)}"
                for each, hidden in sorted(side.items())
            )
            for side in (self.held.base, self.held.ours, self.held.theirs)
        )
        return [str(self.take), *held, *(" ".join(sorted(side)) for side in self.inserted)]

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
    """What a side did in a group of files, all by identity.

    Attributes:
        removed: Files of the base that it wrote again or gave up.
        made: What it holds in their place.
        inserted: What it had inserted since the base, and wrote again with them.
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
        touches: What it did to each file that it touched.
        keys: Of all files that a log mentions, by identity.
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
) -> JoinedDeletes:
    """Join what both sides did in a group of files of one bucket.

    Args:
        place: The bucket.
        sides: The changes of the target and of the source since the base.
        ours: What the target did there.
        theirs: What the source did there.
        hidden: What each side hides of files of which any of them hid rows, by identity.
        take: What was chosen for files that a side changed otherwise.
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
    )


def kept_by_both(
    rows: ThreeWay[pa.ChunkedArray], inserted: tuple[pa.ChunkedArray, pa.ChunkedArray]
) -> tuple[Bools, Bools] | None:
    """Return which rows of the target stay, and which of the source come to them.

    Args:
        rows: The rows of each side as bytes that are equal where the rows are.
        inserted: Rows that the target and the source had besides those of the base.

    Returns:
        None where a side holds a row more often than it had it: it did more than delete.
    """
    sides = (rows.base, rows.ours, rows.theirs, *inserted)
    whole = pa.chunked_array([chunk for side in sides for chunk in side.chunks], pa.large_binary())
    encoded = whole.dictionary_encode()
    codes = np.concatenate(
        [np.empty(0, np.int64), *(chunk.indices.to_numpy() for chunk in encoded.chunks)]
    ).astype(np.int64)
    of_side = np.split(codes, np.cumsum([len(side) for side in sides])[:-1])
    kinds = int(codes.max(initial=-1)) + 1
    base, ours, theirs, ours_new, theirs_new = (
        np.bincount(each, minlength=kinds) for each in of_side
    )
    if (ours > base + ours_new).any() or (theirs > base + theirs_new).any():
        return None
    # Equal rows of the base and of an insert cannot be told apart: those of the base stay first.
    of_base = np.minimum(base, ours), np.minimum(base, theirs)
    stay = np.minimum(*of_base) + ours - of_base[0]
    come = theirs - of_base[1]
    return _rank(of_side[1]) < stay[of_side[1]], _rank(of_side[2]) < come[of_side[2]]


def _rank(codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many equal ones stand before each."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.r_[True, ordered[1:] != ordered[:-1]] if len(codes) else np.empty(0, bool)
    first = np.maximum.accumulate(np.where(starts, np.arange(len(codes)), 0))
    ranks = np.empty(len(codes), np.int64)
    ranks[order] = np.arange(len(codes)) - first
    return ranks
