"""The differences that chance makes between two samples of one population.

Every test here looks at how rows that both sides have together fell to the one or the other. It is
stated for ONE_TEST; a column has five tests at most, so that chance alone moves 1 % of columns.
"""

from collections.abc import Sequence
from math import exp, lgamma, log, sqrt
from typing import Final

from branch_console.quality.bins import Bin

ONE_TEST: Final = 0.002
"""How often chance alone exceeds what a test allows, at most."""

_NORMAL: Final = 2.878
"""The bound that a normal number exceeds in ONE_TEST of the cases, on one side."""


def kolmogorov(rows: tuple[int, int]) -> float:
    """Return the bound for the distance of Kolmogorov and Smirnov."""
    return sqrt(log(2 / ONE_TEST) / 2 * spread(rows))


def spread(rows: tuple[int, int]) -> float:
    """The variance of a difference of shares, for a variance of 1 in each row."""
    return 1 / rows[0] + 1 / rows[1]


def excess(bins: Sequence[Bin]) -> float:
    """How many times the squared distance of two sides is what chance allows; beyond it above 1.

    Pearson's statistic is compared with a chi-square, which it follows where each bin is expected
    to have five rows; the stability index of smoothed shares has a longer tail.
    """
    rows = (sum(each.base for each in bins), sum(each.other for each in bins))
    if len(bins) < 2 or not all(rows):
        return 0.0
    squares = sum(
        (each.other / rows[1] - each.base / rows[0]) ** 2 / (each.base + each.other)
        for each in bins
        if each.base + each.other
    )
    return squares * rows[0] * rows[1] / _chi_square(len(bins) - 1)


def share_chance(count: int, rows: tuple[int, int], *, is_more: bool, tests: int = 1) -> float:
    """How far two shares lie apart by chance: exactly, as cards that are dealt to two players.

    Args:
        count: Values of both sides together.
        rows: The rows of the base and of the other side.
        is_more: Whether the other side is looked at for more of them, else for fewer.
        tests: How many shares of a column are looked at.
    """
    old, new = rows
    low, high = max(0, count - old), min(count, new)
    expected = count * new / (old + new)
    # The farthest count that chance still explains: it lies between the expected one and the end.
    near, far = (int(expected), high) if is_more else (-int(-expected // 1), low)
    step = 1 if is_more else -1
    while abs(far - near) > 0:
        middle = near + step * ((abs(far - near) + 1) // 2)
        if 2 * _tail(middle, count, rows, step) > ONE_TEST / tests:
            near = middle
        else:
            far = middle - step
    return abs(near / new - (count - near) / old)


def _tail(at: int, count: int, rows: tuple[int, int], step: int) -> float:
    """The chance of so many of `count` values on the other side, or more of them; or fewer."""
    old, new = rows
    if step < 0:
        # As many are on the base, or more.
        return _tail(count - at, count, (new, old), 1)
    total = old + new
    whole = _choices(total, count)
    chance = exp(min(0.0, _choices(new, at) + _choices(old, count - at) - whole))
    # Each further count is rarer by more than the one before it.
    ratio = (count - at) * (new - at) / ((at + 1) * (old - count + at + 1))
    return min(1.0, chance / (1 - ratio)) if ratio < 1 else 1.0


def _choices(number: int, taken: int) -> float:
    """The logarithm of how many ways there are to take some."""
    return lgamma(number + 1) - lgamma(taken + 1) - lgamma(number - taken + 1)


def presence(count: int, rows: tuple[int, int]) -> tuple[float, float]:
    """The chance that a value which stands there so often is on the base, and on the other side."""
    old, new = rows
    total = old + new

    def missing(side: int) -> float:
        left = total - side
        if count > left:
            return 0.0
        return exp(min(0.0, _choices(left, count) - _choices(total, count)))

    return 1 - missing(old), 1 - missing(new)


def distinct_allowance(variance: float) -> float:
    """By how much a number of different values of some variance may exceed what is expected."""
    # Bernstein's bound holds for small numbers too, which are not normal.
    wide = log(2 / ONE_TEST)
    return wide / 3 + sqrt(wide**2 / 9 + 2 * variance * wide)


def _chi_square(degrees: int) -> float:
    """Return the bound of a chi-square in ONE_TEST of the cases. Source: Wilson and Hilferty."""
    part = 2 / (9 * degrees)
    return float(degrees * (1 - part + _NORMAL * sqrt(part)) ** 3)
