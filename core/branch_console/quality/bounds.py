"""Between which ends a measure lies for certain, where ranks and counts are known within bounds.

A term of a measure depends on a share of each side, and grows the farther these lie apart. So its
ends are found at the ends of the shares, where a slope would tell nothing of a bin that is nearly
empty.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from branch_console.quality.bins import (
    MOST_CATEGORIES,
    TENTHS,
    bins_apart,
    category_counts,
    is_expected,
    most_frequent,
)
from branch_console.quality.distribution import Distribution, Floats, Ints, differences
from branch_console.quality.profile import ColumnProfile
from branch_console.quality.top_values import TopValues

Term: TypeAlias = Callable[[Floats, Floats], Floats]
Ends: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SideCounts:
    """How many values of a side are in each bin: at least, and at most."""

    low: Ints
    high: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BinCounts:
    """Bins of two sides whose counts are known within bounds.

    Attributes:
        rows: The rows of the base and of the other side.
        base, other: The counts of both.
        certain: Which bins are certain to be told apart; others may be part of a larger one.
    """

    rows: tuple[int, int]
    base: SideCounts
    other: SideCounts
    certain: np.typing.NDArray[np.bool_]


def psi_terms(p: Floats, q: Floats) -> Floats:
    """Return the part of each bin in the population stability index."""
    found: Floats = (p - q) * np.log(p / q)
    return found


def js_terms(p: Floats, q: Floats) -> Floats:
    """Return the part of each bin in twice the squared distance of Jensen and Shannon."""
    middle = (p + q) / 2
    found: Floats = p * np.log2(p / middle) + q * np.log2(q / middle)
    return found


def term_ends(counts: BinCounts, term: Term) -> Ends:
    """Between which ends the sum of the terms of all bins lies.

    Args:
        counts: The bins.
        term: 0 if both shares are equal, convex, and as much for a bin as for two of its halves.
    """
    few = ~counts.certain
    # Bins that hold too little become one, or count for nothing.
    p, q = (
        _shares(side, rows, few)
        for side, rows in ((counts.other, counts.rows[1]), (counts.base, counts.rows[0]))
    )
    far = np.maximum(term(p[0], q[1]), term(p[1], q[0]))
    near = np.where(p[0] > q[1], term(p[0], q[1]), np.where(q[0] > p[1], term(p[1], q[0]), 0.0))
    most = float(far.sum())
    if few.any():
        # One bin of all of them may hold nothing of a side, where each alone holds half a row.
        sums = (float(p[1][few].sum()), float(q[1][few].sum()))
        ends = ((sums[0], 0.5 / sum(counts.rows)), (0.5 / sum(counts.rows), sums[1]))
        most += max(float(term(np.array([a]), np.array([b]))[0]) for a, b in ends)
    return float(near[counts.certain].sum()), most


def _shares(side: SideCounts, rows: int, few: np.typing.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    most, least = 0.5 * len(few), 0.5 * max(1, int((~few).sum()))
    left = max(0, rows - int(side.high[few].sum()))
    low = np.asarray((side.low + 0.5) / (rows + most), np.float64)
    high = np.asarray(np.minimum(1.0, (side.high + 0.5) / (left + least)), np.float64)
    return low, high


def tenths_ends(base: ColumnProfile, other: ColumnProfile) -> BinCounts:
    """The counts of the bins of measures, whose edges are known within bounds themselves."""
    old, new = base.distribution, other.distribution
    assert old is not None
    assert new is not None
    whole = old if old.count else new
    apart = bins_apart(base, other)
    sides = []
    for found, others in ((old, [each.base for each in apart]), (new, [b.other for b in apart])):
        low, high = _ranks_at(found, whole, TENTHS) if whole.count else (_NONE, _NONE)
        ends = (np.array([0]), np.array([found.count]))
        low, high = (np.concatenate([ends[0], each, ends[1]]) for each in (low, high))
        rest = np.array(others, np.int64)
        sides.append(
            SideCounts(
                low=np.concatenate([np.maximum(0, low[1:] - high[:-1]), rest]),
                high=np.concatenate([np.maximum(0, high[1:] - low[:-1]), rest]),
            )
        )
    return _bins((base.rows, other.rows), sides[0], sides[1])


def category_ends(base: ColumnProfile, other: ColumnProfile) -> BinCounts:
    """The counts of frequent texts, of which those that are rare may be among all others."""
    counts = category_counts(base, other)
    ordered = [count for _, count in most_frequent(counts, len(counts))]
    listed = np.array(ordered, np.int64).reshape(-1, 2)
    short = [_most_missed(each) for each in (base, other)]
    most = listed + short
    # Nobody knows how often a text stands there that neither side lists.
    unlisted = sum(short)
    certain = np.zeros(len(listed), bool)
    is_all = len(listed) <= MOST_CATEGORIES and not unlisted
    for at in range(min(len(listed), MOST_CATEGORIES)):
        # It is among the frequent ones if fewer others can reach it than there are bins.
        reach = int((most.sum(axis=1) >= listed[at].sum()).sum())
        certain[at] = is_all or (reach <= MOST_CATEGORIES and unlisted < listed[at].sum())
    apart = bins_apart(base, other)
    sides = []
    for side, (profile, others) in enumerate(
        ((base, [each.base for each in apart]), (other, [each.other for each in apart]))
    ):
        known = listed[:, side]
        rest = profile.valid - int(known.sum())
        sides.append(
            SideCounts(
                low=np.concatenate([known, [0], others]).astype(np.int64),
                high=np.concatenate([known + short[side], [rest], others]).astype(np.int64),
            )
        )
    found = _bins((base.rows, other.rows), sides[0], sides[1])
    has_bin = np.concatenate([certain, [False], np.ones(len(apart), bool)])
    return BinCounts(
        rows=found.rows, base=found.base, other=found.other, certain=found.certain & has_bin
    )


def _most_missed(profile: ColumnProfile) -> int:
    return 0 if profile.top is None else most_missed(profile.top, profile.valid)


def most_missed(top: TopValues, valid: int) -> int:
    """How many values more than is listed any text may have."""
    return min(top.error, valid - int(np.sum(top.counts.to_numpy())))


def _bins(rows: tuple[int, int], base: SideCounts, other: SideCounts) -> BinCounts:
    certain = [is_expected(int(count), rows) for count in base.low + other.low]
    return BinCounts(rows=rows, base=base, other=other, certain=np.array(certain, bool))


def ks_ends(base: Distribution, other: Distribution, shares: Floats) -> Ends:
    """Between which ends the largest distance of cumulated shares lies, at quantiles of both."""
    low, high = 0.0, 0.0
    for whole in (base, other):
        for is_below in (False, True):
            (old, new) = (
                tuple(
                    ends / found.count
                    for ends in _ranks_at(found, whole, shares, is_below=is_below)
                )
                for found in (base, other)
            )
            low = max(low, float(np.maximum(new[0] - old[1], old[0] - new[1]).max()))
            high = max(high, float(np.maximum(new[1] - old[0], old[1] - new[0]).max()))
    return low, min(1.0, high)


def moved_ends(base: Distribution, other: Distribution, shares: Floats) -> tuple[Floats, Floats]:
    """Between which ends the distances of the quantiles of two sides lie; NaN where not finite."""
    old, new = base.quantile_span(shares), other.quantile_span(shares)
    over = differences(new[1], old[0], base.scale)
    under = differences(new[0], old[1], base.scale)
    near = np.maximum(0.0, np.maximum(under, -over))
    return near, np.maximum(np.abs(over), np.abs(under))


_NONE: Ints = np.zeros(0, np.int64)


def _ranks_at(
    found: Distribution, whole: Distribution, shares: Floats, *, is_below: bool = False
) -> tuple[Ints, Ints]:
    """Between which ends the ranks of one side lie at the quantiles of a side.

    Args:
        found: Whose ranks.
        whole: Whose quantiles; the same one, or the other side.
        shares: The shares of the quantiles.
        is_below: Whether values that are equal to a quantile are left out.
    """
    ends = whole.quantile_span(shares)
    rank = found.rank_below if is_below else found.rank
    low = np.maximum(0, rank(ends[0]) - found.error)
    high = np.minimum(found.count, rank(ends[1]) + found.error)
    if found is whole:
        # That is what a quantile is: so many values reach it, and fewer stay below it.
        exact = whole.quantile_ranks(shares)
        if is_below:
            high = np.minimum(high, exact - 1)
        else:
            low = np.maximum(low, exact)
    return low, high
