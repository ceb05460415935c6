"""Measures of drift from their definitions, row by row: nothing of this is taken from the product.

Source: section 3 of the design of quality, and decision 0037.
"""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

LEAST_EXPECTED: Final = 5


def quantile(ordered: Sequence[Any], share: Fraction) -> Any:
    """The least value that so large a share of all do not exceed."""
    return ordered[max(1, math.ceil(share * len(ordered))) - 1]


def bins_of_numbers(base: Sequence[Any], other: Sequence[Any]) -> list[list[int]]:
    """Counts of both sides in the tenths of the base, then of NaN, then of nulls."""
    sides = [[each for each in side if _is_number(each)] for side in (base, other)]
    whole = sorted(sides[0] or sides[1])
    edges = sorted({quantile(whole, Fraction(at, 10)) for at in range(1, 10)}) if whole else []
    ends = [max(each) for each in sides if each]
    edges = [each for each in edges if each < max(ends)]
    counts = []
    for side in sides:
        at = np.searchsorted(_array(edges), _array(side), side="left") if edges else [0] * len(side)
        found = Counter(int(each) for each in at)
        counts.append([found[each] for each in range(len(edges) + 1)])
    bins = [list(each) for each in zip(*counts, strict=True)]
    for is_apart in (_is_nan, _is_null):
        apart = [sum(map(is_apart, side)) for side in (base, other)]
        if any(apart):
            bins.append(apart)
    return expected(bins, len(base), len(other))


def bins_of_texts(base: Sequence[Any], other: Sequence[Any]) -> list[list[int]]:
    """Counts of the fifty texts that both sides together have most often, all others, nulls."""
    found = [Counter(each for each in side if each is not None) for side in (base, other)]
    both = sorted(found[0] | found[1], key=lambda each: (-found[0][each] - found[1][each], each))
    bins = [[found[0][each], found[1][each]] for each in both[:50]]
    rest = [sum(side[each] for each in both[50:]) for side in found]
    nulls = [sum(map(_is_null, side)) for side in (base, other)]
    if any(nulls):
        bins.append(nulls)
    return expected(bins, len(base), len(other), rest)


def expected(
    bins: list[list[int]], base_rows: int, rows: int, rest: Sequence[int] = (0, 0)
) -> list[list[int]]:
    """Bins that hold five rows of each side by chance; the rest as one, if that does."""

    def is_enough(each: Sequence[int]) -> bool:
        return sum(each) * min(base_rows, rows) >= LEAST_EXPECTED * (base_rows + rows)

    few = [each for each in bins if not is_enough(each)] + [list(rest)]
    joined = [sum(each) for each in zip(*few, strict=True)]
    return [each for each in bins if is_enough(each)] + ([joined] if is_enough(joined) else [])


def shares(bins: list[list[int]]) -> list[tuple[float, float]]:
    """The smoothed shares of the other side and of the base."""
    totals = [sum(each) for each in zip(*bins, strict=True)]
    half = len(bins) / 2
    return [((n + 0.5) / (totals[1] + half), (b + 0.5) / (totals[0] + half)) for b, n in bins]


def psi(bins: list[list[int]]) -> float:
    """The population stability index."""
    return math.fsum((p - q) * (math.log(p) - math.log(q)) for p, q in shares(bins))


def js(bins: list[list[int]]) -> float:
    """The distance of Jensen and Shannon."""
    terms = []
    for p, q in shares(bins):
        middle = math.log2((p + q) / 2)
        terms += [p * (math.log2(p) - middle) / 2, q * (math.log2(q) - middle) / 2]
    return math.sqrt(max(0.0, math.fsum(terms)))


def ks(base: Sequence[Any], other: Sequence[Any]) -> float:
    """The largest distance of cumulated shares, at and below both sides' hundred quantiles."""
    sides = [sorted(each for each in side if _is_number(each)) for side in (base, other)]
    points = _array([quantile(side, Fraction(at, 100)) for side in sides for at in range(1, 101)])
    most = 0.0
    for where in ("left", "right"):
        old, new = (np.searchsorted(_array(side), points, side=where) / len(side) for side in sides)
        most = max(most, float(np.abs(old - new).max()))
    return most


def w(base: Sequence[Any], other: Sequence[Any]) -> float | None:
    """How far the hundred quantiles moved on average, in deviations of the base; finite ones."""
    sides = [sorted(each for each in side if _is_number(each)) for side in (base, other)]
    spread = deviation(base)
    if not spread or not all(sides):
        return None
    moved = []
    for at in range(1, 101):
        ends = [quantile(side, Fraction(at, 100)) for side in sides]
        if all(_is_finite(each) for each in ends):
            moved.append(abs(Fraction(ends[1]) - Fraction(ends[0])))
    return float(sum(moved) / len(moved)) / spread if moved else None


def mean(values: Sequence[Any]) -> float | None:
    """The mean of finite values, rounded once."""
    found = [Fraction(each) for each in values if _is_number(each) and _is_finite(each)]
    return float(sum(found) / len(found)) if found else None


def deviation(values: Sequence[Any]) -> float | None:
    """The deviation of a sample of finite values, rounded once; infinite beyond all doubles."""
    found = [Fraction(each) for each in values if _is_number(each) and _is_finite(each)]
    if len(found) < 2:
        return None
    middle = sum(found) / len(found)
    variance = sum((each - middle) ** 2 for each in found) / (len(found) - 1)
    # A root of a fraction: of whole numbers it is exact to as many digits as are wanted.
    shift = 1 << 2400
    root = Fraction(math.isqrt(int(variance * shift * shift)), shift)
    try:
        return float(root)
    except OverflowError:
        return math.inf


def _array(values: Sequence[Any]) -> Any:
    is_plain = all(type(each) is float for each in values)
    return np.array(values, np.float64 if is_plain else object)


def _is_null(value: Any) -> bool:
    return value is None


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _is_number(value: Any) -> bool:
    return value is not None and not _is_nan(value)


def _is_finite(value: Any) -> bool:
    return not (isinstance(value, float) and math.isinf(value))
