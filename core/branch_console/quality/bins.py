"""The parts that the values of a column are put in: tenths of the base, or frequent texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Final

import numpy as np

from branch_console.quality.distribution import Distribution, Number, Points
from branch_console.quality.profile import ColumnKind, ColumnProfile
from branch_console.quality.top_values import TopValues

MOST_CATEGORIES: Final = 50
"""So many texts have a bin of their own."""

TENTHS: Final = np.arange(1, 10) / 10
"""Up to which shares of the base the bins of measures go."""

_LEAST_EXPECTED: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """A part of the values of a column.

    Attributes:
        low: The number that its measures exceed; None for the first bin of measures, and for other
            bins.
        high: The largest measure that is in it; None for the last one, and for all others.
        value: The text that all of it are; None if there are no such texts.
        name: OTHER_BIN, NULL_BIN or NAN_BIN; None for measures and texts.
        base: How many values of the base are in it.
        other: How many of the other side.
    """

    low: Number | None = None
    high: Number | None = None
    value: str | None = None
    name: str | None = None
    base: int
    other: int


NULL_BIN: Final = "NULL"
NAN_BIN: Final = "NaN"
OTHER_BIN: Final = "all others"


def bins_of(base: ColumnProfile, other: ColumnProfile, kind: ColumnKind) -> tuple[Bin, ...]:
    """The bins of a column: tenths of the base, or frequent texts; then NaN and nulls."""
    bins: list[Bin] = []
    if kind.has_categories:
        bins += _category_bins(base, other)
    elif base.distribution and other.distribution:
        edges = bin_edges(base.distribution, other.distribution)
        shares = (_in_bins(each.distribution, edges) for each in (base, other))
        whole = base.distribution if base.distribution.count else other.distribution
        ends = [None, *whole.numbers(edges), None]
        bins += [
            Bin(low=low, high=high, base=mine, other=theirs)
            for low, high, mine, theirs in zip(ends, ends[1:], *shares, strict=False)
        ]
    return (*bins, *bins_apart(base, other))


def bins_apart(base: ColumnProfile, other: ColumnProfile) -> list[Bin]:
    """The bins of NaN and of nulls, if there are any."""
    bins = []
    if base.nans or other.nans:
        bins.append(Bin(name=NAN_BIN, base=base.nans, other=other.nans))
    if base.nulls or other.nulls:
        bins.append(Bin(name=NULL_BIN, base=base.nulls, other=other.nulls))
    return bins


def bin_edges(base: Distribution, other: Distribution) -> Points:
    """Return the ends of the base's tenths, each once; of the other side if the base is empty."""
    whole = base if base.count else other
    if not whole.count:
        return np.zeros(0)
    edges: Points = np.unique(whole.quantiles(TENTHS))
    # Behind the largest value of all there is nothing to count.
    ends = [each.points[-1] for each in (base, other) if each.count]
    inner: Points = edges[edges < max(ends)]
    return inner


def category_counts(base: ColumnProfile, other: ColumnProfile) -> dict[str, tuple[int, int]]:
    """How often each text stands on both sides, at least."""
    old, new = (_counts(each.top) for each in (base, other))
    return {each: (old.get(each, 0), new.get(each, 0)) for each in old | new}


def most_frequent(
    counts: Mapping[str, tuple[int, int]], number: int
) -> list[tuple[str, tuple[int, int]]]:
    """Return the texts that both sides together have most often, with their counts.

    That says nothing about how far the sides lie apart. Those that are frequent on one side alone
    would be chosen for what chance gave them there, and seem to be rarer on the other.
    """
    return nsmallest(number, counts.items(), key=lambda each: (-sum(each[1]), each[0]))


def expected_bins(bins: Sequence[Bin], rows: tuple[int, int]) -> list[Bin]:
    """Bins in which chance alone would put at least five rows of each side; the rest as one.

    Args:
        bins: The bins of a column.
        rows: The rows of the base and of the other side.
    """
    kept: list[Bin] = []
    rest = Bin(name=OTHER_BIN, base=0, other=0)
    for each in bins:
        if each.name != OTHER_BIN and is_expected(each.base + each.other, rows):
            kept.append(each)
        else:
            rest = Bin(name=OTHER_BIN, base=rest.base + each.base, other=rest.other + each.other)
    return [*kept, rest] if is_expected(rest.base + rest.other, rows) else kept


def is_expected(count: int, rows: tuple[int, int]) -> bool:
    """Whether of so many values of both sides each should have five."""
    return count / sum(rows) * min(rows) >= _LEAST_EXPECTED


def smoothed_shares(bins: Sequence[Bin]) -> list[tuple[float, float]]:
    """The smoothed shares of each bin, of the other side and of the base."""
    new, old = (sum(each.other for each in bins), sum(each.base for each in bins))
    half = 0.5 * len(bins)
    return [((each.other + 0.5) / (new + half), (each.base + 0.5) / (old + half)) for each in bins]


def _category_bins(base: ColumnProfile, other: ColumnProfile) -> list[Bin]:
    if base.top is None or other.top is None:
        return []
    counts = most_frequent(category_counts(base, other), MOST_CATEGORIES)
    bins = [Bin(value=value, base=old, other=new) for value, (old, new) in counts]
    rest = (base.valid - sum(each.base for each in bins), other.valid - sum(b.other for b in bins))
    if any(rest):
        bins.append(Bin(name=OTHER_BIN, base=rest[0], other=rest[1]))
    return bins


def _counts(top: TopValues | None) -> dict[str, int]:
    if top is None:
        return {}
    return dict(zip(top.values.to_pylist(), top.counts.to_pylist(), strict=True))


def _in_bins(found: Distribution | None, edges: Points) -> list[int]:
    if found is None:
        return [0] * (len(edges) + 1)
    ranks = np.concatenate([[0], found.rank(edges), [found.count]])
    return [int(each) for each in np.diff(ranks)]
