"""Files of which both sides deleted rows and wrote the rest again: both deletions hold.

Rows without a key are told by their values and counted. A row is kept as often as it stands on the
side that has it less often; what a side wrote beside the rows of the base is no deletion, and is
not joined.
"""

from collections.abc import Set
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from core.diff.logical_log import Place
from core.diff.three_way import ThreeWay
from core.merge.conflict import Take

Bools: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JoinedDeletes:
    """Files of one bucket that hold the same rows on all three sides, but for those deleted.

    Attributes:
        ours: Files that the target knows, with the columns of MANIFEST_ENTRY.
        theirs: The files that only the source knows.
        held: The identities of the files that each side holds.
        take: What was chosen for files that a side changed otherwise.
    """

    place: Place
    ours: pa.Table
    theirs: pa.Table
    held: ThreeWay[Set[str]]
    take: Take | None = None

    @property
    def row_counts(self) -> ThreeWay[int]:
        """How many rows each side holds in them."""
        counts = {
            identity: rows
            for files in (self.ours, self.theirs)
            for identity, rows in zip(
                files["identity"].to_pylist(), files["row_count"].to_pylist(), strict=True
            )
        }
        base, ours, theirs = (
            sum(counts[each] for each in side)
            for side in (self.held.base, self.held.ours, self.held.theirs)
        )
        return ThreeWay(base=base, ours=ours, theirs=theirs)

    @property
    def told(self) -> list[str]:
        """What tells it from others, as JSON values."""
        sides = (self.held.base, self.held.ours, self.held.theirs)
        return [str(self.take), *(" ".join(sorted(side)) for side in sides)]


def kept_by_both(rows: ThreeWay[pa.ChunkedArray]) -> Bools | None:
    """Return which rows of the target stay.

    Args:
        rows: The rows of each side as bytes that are equal where the rows are.

    Returns:
        None where a side holds a row that the base does not hold as often: it did more than delete.
    """
    sides = (rows.base, rows.ours, rows.theirs)
    whole = pa.chunked_array([chunk for side in sides for chunk in side.chunks], pa.large_binary())
    encoded = whole.dictionary_encode()
    codes = np.concatenate(
        [np.empty(0, np.int64), *(chunk.indices.to_numpy() for chunk in encoded.chunks)]
    ).astype(np.int64)
    of_base, of_ours, of_theirs = np.split(codes, np.cumsum([len(side) for side in sides])[:2])
    kinds = int(codes.max(initial=-1)) + 1
    base, ours, theirs = (
        np.bincount(each, minlength=kinds) for each in (of_base, of_ours, of_theirs)
    )
    if (ours > base).any() or (theirs > base).any():
        return None
    return _rank(of_ours) < np.minimum(ours, theirs)[of_ours]


def _rank(codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many equal ones stand before each."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.r_[True, ordered[1:] != ordered[:-1]] if len(codes) else np.empty(0, bool)
    first = np.maximum.accumulate(np.where(starts, np.arange(len(codes)), 0))
    ranks = np.empty(len(codes), np.int64)
    ranks[order] = np.arange(len(codes)) - first
    return ranks
