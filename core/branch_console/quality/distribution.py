"""How many values lie below which: points with weights, and by how much a rank may be off.

Such a distribution adds up, and stays small: points that lie close together become one. What that
costs is counted, so that a rank is either exact or known within a bound that holds for certain.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Points: TypeAlias = npt.NDArray[Any]
"""Floats, or whole numbers of 64 bits, or of any size as objects of Python."""
Number: TypeAlias = int | float | Decimal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Distribution:
    """Values as points on a line.

    Attributes:
        points: Distinct values, ascending; no NaN. The least and the largest are among them.
        weights: How many values each point stands for.
        error: By how many values a rank may be off at most; 0 if every value is a point.
        scale: How many digits of a point stand behind the point, as of an unscaled decimal.
    """

    points: Points
    weights: Ints
    error: int = 0
    scale: int = 0

    @property
    def count(self) -> int:
        """How many values there are."""
        return int(self.weights.sum())

    @property
    def rank_error(self) -> float:
        """By how much a share of the values may be off at most, from 0 to 1."""
        return min(1.0, self.error / self.count) if self.count else 0.0

    def rank(self, at: Points) -> Ints:
        """How many values are at most as large as each of some numbers."""
        return self._ranks()[np.searchsorted(self.points, at, side="right")]

    def rank_below(self, at: Points) -> Ints:
        """How many values are less than each of some numbers."""
        return self._ranks()[np.searchsorted(self.points, at, side="left")]

    def quantiles(self, shares: Floats) -> Points:
        """The least values that so large a share of all do not exceed; there is a value."""
        return self._at_ranks(self.quantile_ranks(shares))

    def quantile_span(self, shares: Floats) -> tuple[Points, Points]:
        """Between which values the quantiles lie for certain, both ends included."""
        ranks = self.quantile_ranks(shares)
        return self._at_ranks(ranks - self.error), self._at_ranks(ranks + self.error)

    def quantile_ranks(self, shares: Floats) -> Ints:
        """How many values a quantile is the last of, if none stands there twice."""
        # What a float makes of a share times a count may lie a hair above the whole number.
        return np.maximum(np.ceil(shares * self.count - 1e-6), 1).astype(np.int64)

    def numbers(self, points: Points) -> list[Number]:
        """Return the exact numbers that points stand for."""
        found: list[Number] = points.tolist()
        return [_decimal(int(each), self.scale) for each in found] if self.scale else found

    def _at_ranks(self, ranks: Ints) -> Points:
        at = np.searchsorted(self._ranks()[1:], ranks)
        return self.points[np.minimum(at, len(self.points) - 1)]

    def _ranks(self) -> Ints:
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.weights)])


def differences(of: Points, less: Points, scale: int) -> Floats:
    """Return the differences of points, rounded once."""
    if of.dtype.kind == "f" or less.dtype.kind == "f":
        with np.errstate(invalid="ignore", over="ignore"):
            apart: Floats = of - less
        return apart
    # In 64 bits a difference would turn round.
    whole = of.astype(object) - less.astype(object)
    return np.array([each / 10**scale for each in whole.tolist()], np.float64)


def _decimal(number: int, scale: int) -> Decimal:
    # Arithmetic of decimals rounds to as many digits as its context has; this does not.
    digits = tuple(map(int, str(abs(number))))
    return Decimal((int(number < 0), digits, -scale))


def distribution_of(
    values: Points, counts: Ints, limit: int | None, scale: int = 0
) -> Distribution:
    """The distribution of some values, each so often as is said.

    Args:
        values: In any order, some of them maybe several times; no NaN.
        counts: How often each stands there.
        limit: About how many points are kept; None for all.
        scale: See `Distribution`.
    """
    order = np.argsort(values)
    ordered = values[order]
    is_first = np.ones(len(ordered), bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    first = np.flatnonzero(is_first)
    weights = np.add.reduceat(counts[order], first) if len(first) else np.zeros(0, np.int64)
    whole = Distribution(points=ordered[first], weights=weights, scale=scale)
    return _thinned(whole, limit)


def merge_distributions(parts: Sequence[Distribution], limit: int | None) -> Distribution:
    """The distribution of the values of all parts."""
    if not parts:
        return Distribution(points=np.zeros(0), weights=np.zeros(0, np.int64))
    points = np.concatenate([each.points for each in parts])
    weights = np.concatenate([each.weights for each in parts])
    whole = distribution_of(points, weights, None, parts[0].scale)
    return _thinned(replace(whole, error=sum(each.error for each in parts)), limit)


def _thinned(whole: Distribution, limit: int | None) -> Distribution:
    """Let one point stand for its neighbours; one that many values share stays what it is."""
    points, weights = whole.points, whole.weights
    if limit is None or len(points) <= limit:
        return whole
    ends = np.cumsum(weights)
    begins = ends - weights
    step = 2 * whole.count / limit
    cell = ((begins + ends) / 2 // step).astype(np.int64)
    is_heavy = weights >= step
    is_first = np.ones(len(points), bool)
    is_first[1:] = (cell[1:] != cell[:-1]) | is_heavy[1:] | is_heavy[:-1]
    # The ends stay what they are: beyond them lies no quantile, however rough the rest is.
    is_first[[1, -1]] = True
    first = np.flatnonzero(is_first)
    last = np.append(first[1:], len(points)) - 1
    middle = (begins[first] + ends[last]) / 2
    chosen = np.clip(np.searchsorted(ends, middle), first, last)
    # A number within a cell is told from its point only by the values on one side of that.
    missed = max(
        int((begins[chosen] - begins[first]).max()), int((ends[last] - ends[chosen]).max())
    )
    return Distribution(
        points=points[chosen],
        weights=ends[last] - begins[first],
        error=whole.error + missed,
        scale=whole.scale,
    )
