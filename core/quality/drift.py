"""How far the values of two sides lie apart: measures, what chance makes of them, and a rating.

A measure is rated only above what samples of one population reach in one of a hundred cases, and
after its error is taken off. Two sides are always compared in this order: the base, then the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import log, log2, sqrt
from types import MappingProxyType
from typing import Final

import numpy as np

from core.quality.distribution import Distribution, Floats
from core.quality.profile import ColumnKind, ColumnProfile
from core.quality.top_values import TopValues

LEAST_ROWS: Final = 100
"""Below so many rows on a side nothing is rated."""

_QUANTILES: Final = np.arange(1, 101) / 100
_EDGES: Final = np.arange(1, 10) / 10
_CATEGORIES: Final = 50
_LEAST_EXPECTED: Final = 5
_ONE_OF_HUNDRED_NORMAL: Final = 2.326
_ONE_OF_HUNDRED_BOTH_ENDS: Final = 2.576
_ONE_OF_HUNDRED_KOLMOGOROV: Final = 1.628
# Jensen and Shannon's divergence in bits is about a chi-square over so much.
_DIVERGENCE_TO_CHI_SQUARE: Final = 5.545
# Values that hardly repeat are as many as rows are; a change of their number says nothing more.
_ROWS_A_VALUE: Final = 10


class Measure(StrEnum):
    """In which way two sides are compared."""

    PSI = "PSI"
    KS = "KS"
    JS = "JS"
    W = "W"
    NULLS = "null rate"
    DISTINCT = "distinct"


class Rating(StrEnum):
    """What a measure, a column or a comparison comes to; the worst last."""

    FEW_ROWS = "too few to rate"
    NOT_RATED = "not rated"
    CALM = "calm"
    WATCH = "watch"
    ALARM = "alarm"

    @property
    def rank(self) -> int:
        """Its place among all, the worst highest."""
        return list(Rating).index(self)


THRESHOLDS: Final[Mapping[Measure, tuple[float, float]]] = MappingProxyType(
    {
        Measure.PSI: (0.1, 0.2),
        Measure.KS: (0.1, 0.2),
        Measure.JS: (0.1, 0.2),
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
        chance: What it must exceed to be more than chance.
        rating: Never FEW_ROWS.
    """

    measure: Measure
    value: float
    error: float
    chance: float
    rating: Rating

    @property
    def alarms_at(self) -> float:
        """What it must exceed to alarm."""
        return THRESHOLDS[self.measure][1]

    @property
    def severity(self) -> float:
        """How many alarms it is worth for certain: 1 where it just alarms, 0 if it is chance."""
        if self.value <= self.chance:
            return 0.0
        return max(0.0, self.value - self.error) / self.alarms_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """A part of the values of a column.

    Attributes:
        low: What its measures exceed; None for the first bin of measures, and for all others.
        high: The largest measure that is in it; None for the last one, and for all others.
        value: The text that all of it are; None where there are no such texts.
        name: OTHER_BIN, NULL_BIN or NAN_BIN; None for measures and texts.
        base: How many values of the base are in it.
        other: How many of the other side.
    """

    low: float | None = None
    high: float | None = None
    value: str | None = None
    name: str | None = None
    base: int
    other: int


NULL_BIN: Final = "NULL"
NAN_BIN: Final = "NaN"
OTHER_BIN: Final = "all others"


def measure_drift(
    base: ColumnProfile, other: ColumnProfile, kind: ColumnKind, *, with_distinct: bool
) -> tuple[Drift, ...]:
    """Compare a column of two sides; empty where either has fewer than LEAST_ROWS.

    Args:
        base: What the other side is compared with.
        other: The other side.
        kind: Of the column.
        with_distinct: Whether the number of different values may be compared: of whole sides.
    """
    if min(base.rows, other.rows) < LEAST_ROWS:
        return ()
    found = [_null_drift(base, other)]
    if with_distinct:
        found += _distinct_drift(base, other)
    if kind.has_measures and base.distribution and other.distribution:
        found += _measured_drift(base, other, base.distribution, other.distribution, kind)
    elif kind.has_categories and not _is_all_distinct(base) and not _is_all_distinct(other):
        found += _category_drift(base, other)
    return tuple(found)


def bins_of(base: ColumnProfile, other: ColumnProfile, kind: ColumnKind) -> tuple[Bin, ...]:
    """The bins of a column: tenths of the base, or its most frequent texts; then NaN and nulls."""
    bins: list[Bin] = []
    if kind.has_categories:
        bins += _category_bins(base, other)
    elif base.distribution and other.distribution:
        edges = bin_edges(base.distribution, other.distribution)
        shares = (_in_bins(each.distribution, edges) for each in (base, other))
        ends = [None, *edges.tolist(), None]
        bins += [
            Bin(low=low, high=high, base=mine, other=theirs)
            for low, high, mine, theirs in zip(ends, ends[1:], *shares, strict=False)
        ]
    if base.nans or other.nans:
        bins.append(Bin(name=NAN_BIN, base=base.nans, other=other.nans))
    if base.nulls or other.nulls:
        bins.append(Bin(name=NULL_BIN, base=base.nulls, other=other.nulls))
    return tuple(bins)


def bin_edges(base: Distribution, other: Distribution) -> Floats:
    """Where the tenths of the base end, each number once; of the other side if that has none."""
    whole = base if base.count else other
    if not whole.count:
        return np.zeros(0)
    edges = np.unique(whole.quantiles(_EDGES))
    # Behind the largest value of all there is nothing to count.
    ends = [float(each.points[-1]) for each in (base, other) if each.count]
    return edges[edges < max(ends)]


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
    # Either bin that an edge parts takes the error of that edge: two a bin.
    error = 2 * (old.rank_error + new.rank_error)
    found = _psi_drift(_expected(bins_of(base, other, kind), base, other), base, other, error)
    if not old.count or not new.count:
        return found
    ks_error = old.rank_error + new.rank_error
    chance = _ONE_OF_HUNDRED_KOLMOGOROV * sqrt(1 / old.count + 1 / new.count)
    ks = _rated(Measure.KS, ks_distance(old, new), ks_error, chance)
    found.append(ks)
    deviation = base.moments.deviation if base.moments else None
    if kind is ColumnKind.NUMBER and deviation and ks.value > ks.chance:
        with np.errstate(invalid="ignore"):
            apart = np.abs(new.quantiles(_QUANTILES) - old.quantiles(_QUANTILES))
        # The ends may be infinite, or one broken value: neither tells how far the rest moved.
        inner = apart[np.isfinite(apart)][:-1]
        if len(inner):
            found.append(_rated(Measure.W, float(inner.mean()) / deviation, 0.0, 0.0))
    return found


def _category_drift(base: ColumnProfile, other: ColumnProfile) -> list[Drift]:
    short = [each.top.error / each.rows if each.top else 0.0 for each in (other, base)]
    bins = _expected(bins_of(base, other, ColumnKind.TEXT), base, other)
    found = _psi_drift(bins, base, other, sum(short))
    if len(bins) > 1:
        chance = sqrt(_chi_square(len(bins) - 1) * _h(base.rows, other.rows))
        chance /= sqrt(_DIVERGENCE_TO_CHI_SQUARE)
        distance = js_distance(bins)
        slopes = [
            short[0] * abs(log2(2 * p / (p + q))) + short[1] * abs(log2(2 * q / (p + q)))
            for p, q in smoothed_shares(bins)
        ]
        error = distance - sqrt(max(0.0, distance**2 - sum(slopes) / 2))
        found.append(_rated(Measure.JS, distance, error, chance))
    return found


def _psi_drift(
    bins: Sequence[Bin], base: ColumnProfile, other: ColumnProfile, error: float
) -> list[Drift]:
    if len(bins) < 2:
        return []
    chance = _chi_square(len(bins) - 1) * _h(base.rows, other.rows)
    slopes = (abs(log(p / q)) + abs(p - q) / min(p, q) for p, q in smoothed_shares(bins))
    return [_rated(Measure.PSI, psi(bins), error * sum(slopes), chance)]


def _null_drift(base: ColumnProfile, other: ColumnProfile) -> Drift:
    apart = abs(other.nulls / other.rows - base.nulls / base.rows)
    rate = (base.nulls + other.nulls) / (base.rows + other.rows)
    chance = _ONE_OF_HUNDRED_BOTH_ENDS * sqrt(rate * (1 - rate) * _h(base.rows, other.rows))
    return _rated(Measure.NULLS, apart, 0.0, chance)


def _distinct_drift(base: ColumnProfile, other: ColumnProfile) -> list[Drift]:
    old, new = base.distinct, other.distinct
    if old is None or new is None or not old.count or base.valid < _ROWS_A_VALUE * old.count:
        return []
    apart = abs(new.count - old.count) / old.count
    error = (new.error + old.error * new.count / old.count) / old.count
    return [_rated(Measure.DISTINCT, apart, error, 0.0)]


def _rated(measure: Measure, value: float, error: float, chance: float) -> Drift:
    watch, alarm = THRESHOLDS[measure]
    sure = value - error
    if value <= chance or sure <= watch:
        rating = Rating.CALM
    else:
        rating = Rating.ALARM if sure > alarm else Rating.WATCH
    return Drift(measure=measure, value=value, error=error, chance=chance, rating=rating)


def _is_all_distinct(profile: ColumnProfile) -> bool:
    """Whether hardly a text stands there twice, as with ids: nothing can be compared."""
    found = profile.distinct
    return found is not None and profile.valid > 1 and found.count + found.error >= profile.valid


def _category_bins(base: ColumnProfile, other: ColumnProfile) -> list[Bin]:
    if base.top is None or other.top is None:
        return []
    counts = [_counts(each.top) for each in (base, other) if each.top]
    names = list(counts[0] or counts[1])[:_CATEGORIES]
    bins = [Bin(value=each, base=counts[0].get(each, 0), other=counts[1].get(each, 0))
            for each in names]  # fmt: skip
    rest = (base.valid - sum(each.base for each in bins), other.valid - sum(b.other for b in bins))
    if any(rest):
        bins.append(Bin(name=OTHER_BIN, base=rest[0], other=rest[1]))
    return bins


def _counts(top: TopValues) -> dict[str, int]:
    return dict(zip(top.values.to_pylist(), top.counts.to_pylist(), strict=True))


def _in_bins(found: Distribution | None, edges: Floats) -> list[int]:
    if found is None:
        return [0] * (len(edges) + 1)
    ranks = np.concatenate([[0], found.rank(edges), [found.count]])
    return [int(each) for each in np.diff(ranks)]


def _expected(bins: Sequence[Bin], base: ColumnProfile, other: ColumnProfile) -> list[Bin]:
    """Bins in which chance alone would put at least five rows of each side; the rest as one."""
    rows = base.rows + other.rows
    kept: list[Bin] = []
    rest = Bin(name=OTHER_BIN, base=0, other=0)
    for each in bins:
        share = (each.base + each.other) / rows
        is_rest = each.name == OTHER_BIN
        if not is_rest and share * min(base.rows, other.rows) >= _LEAST_EXPECTED:
            kept.append(each)
        else:
            rest = Bin(name=OTHER_BIN, base=rest.base + each.base, other=rest.other + each.other)
    share = (rest.base + rest.other) / rows
    if share * min(base.rows, other.rows) >= _LEAST_EXPECTED:
        return [*kept, rest]
    return kept


def smoothed_shares(bins: Sequence[Bin]) -> list[tuple[float, float]]:
    """The smoothed shares of each bin, of the other side and of the base."""
    new, old = (sum(each.other for each in bins), sum(each.base for each in bins))
    half = 0.5 * len(bins)
    return [((each.other + 0.5) / (new + half), (each.base + 0.5) / (old + half)) for each in bins]


def _h(rows: int, base_rows: int) -> float:
    return 1 / rows + 1 / base_rows


def _chi_square(degrees: int) -> float:
    """What a chi-square exceeds in one of a hundred cases. Source: Wilson and Hilferty."""
    spread = 2 / (9 * degrees)
    return float(degrees * (1 - spread + _ONE_OF_HUNDRED_NORMAL * sqrt(spread)) ** 3)
