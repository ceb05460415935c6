"""How far the values of two sides lie apart: measures, what chance makes of them, and a rating.

A measure is rated only above what samples of one population reach by chance (`quality.chance`) and
by the least that it is for certain (`quality.bounds`). Two sides are always compared in this order:
the base, then the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf, log, log2, sqrt
from types import MappingProxyType
from typing import Final

import numpy as np

from branch_console.quality.bins import (
    Bin,
    bins_of,
    category_counts,
    expected_bins,
    smoothed_shares,
)
from branch_console.quality.bounds import (
    BinCounts,
    Ends,
    category_ends,
    js_terms,
    ks_ends,
    most_missed,
    moved_ends,
    psi_terms,
    tenths_ends,
    term_ends,
)
from branch_console.quality.chance import (
    distinct_allowance,
    excess,
    kolmogorov,
    presence,
    share_chance,
)
from branch_console.quality.distinct_values import DistinctChange, distinct_change
from branch_console.quality.distribution import Distribution, Ints, differences, merge_distributions
from branch_console.quality.profile import ColumnKind, ColumnProfile

LEAST_ROWS: Final = 100
"""Below so many rows on a side nothing is rated."""

_QUANTILES: Final = np.arange(1, 101) / 100
# Values that hardly repeat are as many as rows are; a change of their number says nothing more.
_ROWS_A_VALUE: Final = 10
# Of fewer values of both sides no share is more than chance, however they lie.
_LEAST_OF_A_SHARE: Final = 8
# Variance of a number of values below which chance adds or takes none in ONE_TEST of the cases.
_LEAST_VARIANCE: Final = 1e-3
# Below this part of where it is watched, a certain difference is no news.
_WORTH_TELLING: Final = 0.1
_HAIR: Final = 1e-9
# How far in from either end values count as the largest and the smallest.
_DEEPEST: Final = 0.05
# A dense serial number leaves out less than every second number.
_GAPS: Final = 2
# So many times as fast, or as slow, a sparse one may be given away later.
_CHANGE_OF_PACE: Final = 8
# How far its cumulated shares may lie from a straight line: for certain, and by chance (99 %).
_UNEVEN: Final = 0.05
_BY_CHANCE: Final = 1.63


class Measure(StrEnum):
    """In which way two sides are compared."""

    PSI = "PSI"
    KS = "KS"
    JS = "JS"
    SHARE = "share"
    """The text whose share of the rows differs farthest beyond chance."""
    ENDS = "ends"
    """The largest or the smallest values, of which one side has more than chance gives it."""
    W = "W"
    NULLS = "null rate"
    DISTINCT = "distinct"


class Rating(StrEnum):
    """The ratings of a measure, a column or a comparison; the worst last."""

    FEW_ROWS = "too few to rate"
    NOT_RATED = "not rated"
    CALM = "calm"
    SMALL = "small but certain"
    """More than chance, and less than is watched."""
    WATCH = "watch"
    ALARM = "alarm"

    @property
    def rank(self) -> int:
        """Its place among all, the worst highest."""
        return list(Rating).index(self)

    @property
    def is_reported(self) -> bool:
        """Whether something differs for certain."""
        return self.rank >= Rating.SMALL.rank


THRESHOLDS: Final[Mapping[Measure, tuple[float, float]]] = MappingProxyType(
    {
        Measure.PSI: (0.1, 0.2),
        Measure.KS: (0.1, 0.2),
        Measure.JS: (0.1, 0.2),
        Measure.SHARE: (0.05, 0.2),
        Measure.ENDS: (0.05, 0.2),
        Measure.W: (0.1, 0.25),
        Measure.NULLS: (0.01, 0.05),
        Measure.DISTINCT: (0.1, 0.3),
    }
)
"""From where on a measure is watched, and where it alarms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How far two sides lie apart in one way.

    Attributes:
        value: The measure.
        error: By how much it may be off.
        sure: The least value that is certain.
        chance: The value it must exceed to be more than chance.
        rating: Never FEW_ROWS.
        of: The text that a share is of, or which end; None for other measures.
    """

    measure: Measure
    value: float
    error: float
    sure: float
    chance: float
    rating: Rating
    of: str | None = None

    @property
    def alarms_at(self) -> float:
        """The threshold of its alarm."""
        return THRESHOLDS[self.measure][1]

    @property
    def severity(self) -> float:
        """How many alarms it is worth for certain: 1 where it just alarms, 0 if it is chance."""
        return self.sure / self.alarms_at if self.sure > self.chance else 0.0


def measure_drift(
    base: ColumnProfile, other: ColumnProfile, kind: ColumnKind, *, with_distinct: bool
) -> tuple[Drift, ...]:
    """Compare a column of two sides; empty if either has fewer than LEAST_ROWS.

    Args:
        base: The side that the other one is compared with.
        other: The other side.
        kind: The kind of the column.
        with_distinct: Whether the number of different values may be compared: of whole sides.
    """
    if min(base.rows, other.rows) < LEAST_ROWS:
        return ()
    found = [_null_drift(base, other)]
    if with_distinct:
        found += _distinct_drift(base, other, kind)
    if kind.has_measures and base.distribution and other.distribution:
        if not numbers_rows(base, other, kind):
            found += _measured_drift(base, other, base.distribution, other.distribution, kind)
    elif kind.has_categories and not _is_all_distinct(base) and not _is_all_distinct(other):
        found += _category_drift(base, other)
    return tuple(found)


def numbers_rows(base: ColumnProfile, other: ColumnProfile, kind: ColumnKind) -> bool:
    """Whether values number the rows, as serial ids and moments of writing do.

    Each stands there once. Either both sides have nearly all whole numbers of their range, or one
    goes on where the other ends. Numbers that leave gaps go on only if they keep their pace:
    amounts that are all different and larger than before jump, stretch, or crowd in the middle.
    That serial numbers are larger in newer rows is no drift.
    """
    old, new = base.distribution, other.distribution
    if old is None or new is None or not old.count or not new.count:
        return False
    is_whole = all(each.points.dtype.kind != "f" for each in (old, new))
    if not is_whole or not (_is_all_distinct(base) and _is_all_distinct(other)):
        return False
    if _are_dense(old, new):
        return True
    # The branch may be what was not added to.
    for first, then in ((old, new), (new, old)):
        added = _added(first, then)
        if added is None:
            continue
        if kind is ColumnKind.TIME or _are_dense(first, added) or _keeps_pace(first, added):
            return True
    return False


def _are_dense(*sides: Distribution) -> bool:
    return all(_is_dense(each) for each in sides)


def _is_dense(found: Distribution) -> bool:
    return found.scale == 0 and _span(found) + 1 <= _GAPS * found.count


def _span(found: Distribution) -> int:
    return int(found.points[-1]) - int(found.points[0])


def _added(first: Distribution, then: Distribution) -> Distribution | None:
    """Return the new values after the last old one; None unless the rest is empty or unchanged."""
    last = first.points[-1:]
    kept = int(then.rank(last)[0])
    is_behind = kept <= then.error
    was_continued = then.points[0] == first.points[0] and abs(kept - first.count) <= then.error
    if then.points[-1] <= last[0] or not (is_behind or was_continued):
        return None
    at = int(np.searchsorted(then.points, last, side="right")[0])
    return replace(then, points=then.points[at:], weights=then.weights[at:])


def _keeps_pace(first: Distribution, added: Distribution) -> bool:
    """Whether what was added goes on as evenly and as fast as numbers that are given away."""
    spans = [_span(each) for each in (first, added)]
    # Some may have been given away in between, to others.
    jump = int(added.points[0]) - int(first.points[-1])
    steps = [
        span / max(1, each.count - 1) for span, each in zip(spans, (first, added), strict=True)
    ]
    if jump > max(spans) or max(steps) > _CHANGE_OF_PACE * min(steps):
        return False
    return all(_is_even(each) for each in (first, added))


def _is_even(found: Distribution) -> bool:
    """Whether values lie over their range as evenly as chance lets them."""
    start, span = int(found.points[0]), max(1, _span(found))
    shares = np.array([(each - start) / span for each in found.points.tolist()])
    apart = float(np.abs(found.rank(found.points) / found.count - shares).max())
    return apart <= _UNEVEN + _BY_CHANCE / sqrt(found.count) + found.rank_error


def psi(bins: Sequence[Bin]) -> float:
    """The population stability index of smoothed shares."""
    return sum((p - q) * log(p / q) for p, q in smoothed_shares(bins))


def js_distance(bins: Sequence[Bin]) -> float:
    """The distance of Jensen and Shannon of smoothed shares, from 0 to 1."""
    total = 0.0
    for p, q in smoothed_shares(bins):
        middle = (p + q) / 2
        total += p * log2(p / middle) + q * log2(q / middle)
    return sqrt(max(total, 0.0) / 2)


def ks_distance(base: Distribution, other: Distribution) -> float:
    """The largest distance of the cumulated shares, at both sides' quantiles."""
    points = np.concatenate([each.quantiles(_QUANTILES) for each in (base, other)])
    upto = other.rank(points) / other.count - base.rank(points) / base.count
    below = other.rank_below(points) / other.count - base.rank_below(points) / base.count
    return float(max(np.abs(upto).max(), np.abs(below).max()))


def _measured_drift(
    base: ColumnProfile,
    other: ColumnProfile,
    old: Distribution,
    new: Distribution,
    kind: ColumnKind,
) -> list[Drift]:
    is_exact = not old.error and not new.error
    bins = expected_bins(bins_of(base, other, kind), (base.rows, other.rows))
    counts = None if is_exact else tenths_ends(base, other)
    found = _psi_drift(bins, counts)
    if not old.count or not new.count:
        return found
    distance = ks_distance(old, new)
    ends = (distance, distance) if is_exact else ks_ends(old, new, _QUANTILES)
    ks = _rated(Measure.KS, distance, ends, kolmogorov((old.count, new.count)))
    found += [ks, *_ends_drift(old, new)]
    deviation = base.moments.deviation if base.moments else None
    if kind is ColumnKind.NUMBER and deviation and ks.sure > ks.chance:
        found += _moved(old, new, deviation)
    return found


def _ends_drift(old: Distribution, new: Distribution) -> list[Drift]:
    """Return the drifts of the largest and smallest values, up to 5 % from each end.

    A few rows that are a hundred times too large change no quantile. The depth from each end is
    counted in both sides together, so that each side has its share by chance.
    """
    both = merge_distributions([old, new], None)
    total, rows = both.count, (old.count, new.count)
    depths = _LEAST_OF_A_SHARE * 2 ** np.arange(32)
    depths = depths[depths <= max(_LEAST_OF_A_SHARE, total * _DEEPEST)]
    ranks = np.cumsum(both.weights)
    cuts = {
        "largest": np.unique(np.searchsorted(ranks, total - depths, side="right")),
        "smallest": np.unique(np.searchsorted(ranks, depths)),
    }
    tests = sum(map(len, cuts.values()))
    found = []
    for end, places in cuts.items():
        for point in both.points[places]:
            at = np.array([point], both.points.dtype)
            counts = [
                int(each.rank(at)[0] if end == "smallest" else each.count - each.rank_below(at)[0])
                for each in (old, new)
            ]
            apart = counts[1] / rows[1] - counts[0] / rows[0]
            error = old.rank_error + new.rank_error
            if abs(apart) - error < _WORTH_TELLING * THRESHOLDS[Measure.ENDS][0]:
                continue
            chance = share_chance(sum(counts), rows, is_more=apart > 0, tests=tests)
            ends = (max(0.0, abs(apart) - error), abs(apart) + error)
            found.append(_rated(Measure.ENDS, abs(apart), ends, chance, of=end))
    return [max(found, key=lambda each: (each.severity, each.sure - each.chance))] if found else []


def _moved(old: Distribution, new: Distribution, deviation: float) -> list[Drift]:
    """How far the quantiles moved, those that are finite on both sides; an infinite one is none."""
    apart = differences(new.quantiles(_QUANTILES), old.quantiles(_QUANTILES), old.scale)
    apart = np.abs(apart) / deviation
    ends = [np.asarray(each) / deviation for each in moved_ends(old, new, _QUANTILES)]
    is_finite = np.isfinite(apart)
    if not is_finite.any():
        return []
    # Where one may be infinite, nothing is certain but that it is no less than it can be.
    low, high = (
        float(np.nan_to_num(each[is_finite], nan=worst, posinf=worst).mean())
        for each, worst in zip(ends, (0.0, inf), strict=True)
    )
    return [_rated(Measure.W, float(apart[is_finite].mean()), (low, high), 0.0)]


def _category_drift(base: ColumnProfile, other: ColumnProfile) -> list[Drift]:
    is_exact = not any(each.top.error for each in (base, other) if each.top)
    bins = expected_bins(bins_of(base, other, ColumnKind.TEXT), (base.rows, other.rows))
    counts = None if is_exact else category_ends(base, other)
    found = _psi_drift(bins, counts)
    if len(bins) > 1:
        distance = js_distance(bins)
        ends = (distance, distance)
        if counts is not None:
            low, high = term_ends(counts, js_terms)
            ends = (sqrt(low / 2), min(1.0, sqrt(high / 2)))
        # A distance grows as the square root of what chance is told by.
        beyond = excess(bins)
        chance = distance / sqrt(beyond) if beyond else distance
        found.append(_rated(Measure.JS, distance, ends, chance))
    return [*found, *_share_drift(base, other)]


def _share_drift(base: ColumnProfile, other: ColumnProfile) -> list[Drift]:
    """The text whose share differs farthest beyond chance, if any does; one may be new or gone."""
    rows = (base.rows, other.rows)
    short = [most_missed(each.top, each.valid) if each.top else 0 for each in (base, other)]
    counts = {
        text: count
        for text, count in category_counts(base, other).items()
        if sum(count) >= _LEAST_OF_A_SHARE
    }
    found = []
    for text, (old, new) in counts.items():
        is_more = new / rows[1] > old / rows[0]
        # What is not listed may stand there on the side that has less.
        missed = (short[0] / rows[0], short[1] / rows[1])[not is_more]
        value = abs(new / rows[1] - old / rows[0])
        most = (short[1] / rows[1], short[0] / rows[0])[not is_more]
        if value - missed < _WORTH_TELLING * THRESHOLDS[Measure.SHARE][0]:
            continue
        chance = share_chance(old + new, rows, is_more=is_more, tests=len(counts))
        ends = (max(0.0, value - missed), value + most)
        found.append(_rated(Measure.SHARE, value, ends, chance, of=text))
    return [max(found, key=lambda each: (each.severity, each.sure - each.chance))] if found else []


def _psi_drift(bins: Sequence[Bin], counts: BinCounts | None) -> list[Drift]:
    if len(bins) < 2:
        return []
    value = psi(bins)
    beyond = excess(bins)
    chance = value / beyond if beyond else value
    ends = (value, value) if counts is None else term_ends(counts, psi_terms)
    return [_rated(Measure.PSI, value, ends, chance)]


def _null_drift(base: ColumnProfile, other: ColumnProfile) -> Drift:
    old, new = base.nulls / base.rows, other.nulls / other.rows
    rows, count = (base.rows, other.rows), base.nulls + other.nulls
    value = abs(new - old)
    chance = share_chance(count, rows, is_more=new > old) if value else 0.0
    return _rated(Measure.NULLS, value, (value, value), chance)


def _distinct_drift(base: ColumnProfile, other: ColumnProfile, kind: ColumnKind) -> list[Drift]:
    old, new = base.distinct, other.distinct
    if old is None or new is None or not old.count or base.valid < _ROWS_A_VALUE * old.count:
        return []
    change = distinct_change(old, new)
    if change is None:
        return []
    apart = abs(change.value)
    allowed = _distinct_chance(base, other, kind, change, old.count)
    ends = (max(0.0, apart - change.error), apart + change.error)
    return [_rated(Measure.DISTINCT, apart, ends, allowed / old.count)]


def _distinct_chance(
    base: ColumnProfile,
    other: ColumnProfile,
    kind: ColumnKind,
    change: DistinctChange,
    number: int,
) -> float:
    """By how many the different values of two sides differ by chance."""
    rows = (base.valid, other.valid)
    counts = _counts_of_values(base, other, kind)
    if counts is None:
        # Of more rows there are more values, at most in proportion. Values that one side alone has
        # are what the difference of the two numbers varies by.
        is_expected_way = (rows[1] > rows[0]) == (change.value > 0)
        more = abs(rows[1] / rows[0] - 1) if is_expected_way else 0.0
        return more * number + distinct_allowance(change.alone)
    expected, variance = 0.0, 0.0
    for count, times in zip(*np.unique(counts, return_counts=True), strict=True):
        on_old, on_new = presence(int(count), rows)
        expected += int(times) * (on_new - on_old)
        variance += int(times) * (on_old * (1 - on_old) + on_new * (1 - on_new))
    is_expected_way = (expected > 0) == (change.value > 0)
    # Values that no side can lack by chance vary by nothing.
    allowed = distinct_allowance(variance) if variance > _LEAST_VARIANCE else 0.0
    return allowed + (abs(expected) if is_expected_way else 0.0)


def _counts_of_values(base: ColumnProfile, other: ColumnProfile, kind: ColumnKind) -> Ints | None:
    """How often each value stands on both sides together; None if not each is known."""
    if kind.has_categories and base.top and other.top:
        if base.top.error or other.top.error:
            return None
        return np.array([sum(each) for each in category_counts(base, other).values()], np.int64)
    if kind.has_measures and base.distribution and other.distribution:
        whole = merge_distributions([base.distribution, other.distribution], None)
        return None if whole.error else whole.weights
    return None


def _rated(
    measure: Measure, value: float, ends: Ends, chance: float, *, of: str | None = None
) -> Drift:
    watch, alarm = THRESHOLDS[measure]
    low, high = min(value, *ends), max(value, *ends)
    # A difference of two shares may lie a hair above the number that it is.
    sure = low - _HAIR
    if sure <= chance or sure < _WORTH_TELLING * watch:
        rating = Rating.CALM
    elif sure <= watch:
        rating = Rating.SMALL
    else:
        rating = Rating.ALARM if sure > alarm else Rating.WATCH
    return Drift(
        measure=measure,
        value=value,
        error=max(value - low, high - value),
        sure=low,
        chance=chance,
        rating=rating,
        of=of,
    )


def _is_all_distinct(profile: ColumnProfile) -> bool:
    """Whether hardly a value stands there twice, as with ids: nothing can be compared."""
    found = profile.distinct
    return found is not None and profile.valid > 1 and found.count + found.error >= profile.valid
