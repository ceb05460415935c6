"""Count, mean and deviation of numbers, from exact sums: nothing is rounded before the end.

Whole numbers and decimals are added up as whole numbers. So are floating-point numbers: each is a
whole multiple of one tiny power of two.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isqrt
from typing import Final

import numpy as np
import numpy.typing as npt

from branch_console.quality.distribution import Ints, Points

# The least double is 2**-1074; its 53 digits are counted although most of them are zero.
_LEAST_EXPONENT: Final = -1127
_DIGITS: Final = 53
# The sum of the products of two such parts, of 2**31 rows, fits in 64 bits.
_PART_BITS: Final = 16
_PART: Final = (1 << _PART_BITS) - 1
_PARTS: Final = 4
# Bits of a root beyond those that a double keeps.
_ROOT_BITS: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """Sums of numbers and of their powers.

    Attributes:
        count: How many there are.
        total: Their sum, in units.
        squares: The sum of their squares, in units squared.
        exponent: A unit is 2 to the power of this, which is not above 0,
        scale: over 10 to the power of this.
    """

    count: int
    total: int
    squares: int
    exponent: int = 0
    scale: int = 0

    @property
    def mean(self) -> float:
        """The mean, rounded once."""
        return float(Fraction(self.total, self.count) * self._unit)

    @property
    def deviation(self) -> float | None:
        """The deviation of a sample; None below two values, infinite if no double holds it."""
        if self.count < 2:
            return None
        variance = Fraction(
            self.count * self.squares - self.total**2, self.count * (self.count - 1)
        )
        variance *= self._unit**2
        if not variance:
            return 0.0
        # Of a whole number the root is exact; enough zeros behind it make it exact enough.
        size = variance.numerator.bit_length() - variance.denominator.bit_length()
        shift = max(0, _ROOT_BITS - size // 2)
        root = isqrt((variance.numerator << 2 * shift) // variance.denominator)
        try:
            return float(Fraction(root, 1 << shift))
        except OverflowError:
            return inf

    @property
    def _unit(self) -> Fraction:
        return Fraction(1, (1 << -self.exponent) * 10**self.scale)


def moments_of(values: Points, counts: Ints, scale: int = 0) -> Moments | None:
    """The moments of finite values, each so often as is said; None without values.

    Args:
        values: Floats, or whole numbers of 64 bits or of any size.
        counts: How often each stands there.
        scale: The scale of the values, see `Distribution`.
    """
    if values.dtype.kind == "f":
        is_finite = np.isfinite(values)
        values, counts = values[is_finite], counts[is_finite]
    count = int(counts.sum())
    if not count:
        return None
    exponent = 0
    if values.dtype.kind == "f":
        total, squares = _sums_of_floats(values, counts)
        exponent = _LEAST_EXPONENT
    elif values.dtype.kind == "O":
        pairs = list(zip(values.tolist(), counts.tolist(), strict=True))
        total = sum(value * times for value, times in pairs)
        squares = sum(value * value * times for value, times in pairs)
    else:
        # The least number of 64 bits has no opposite among them.
        whole = values.astype(np.int64).view(np.uint64)
        size = np.where(values < 0, ~whole + np.uint64(1), whole)
        starts = np.zeros(1, np.int64)
        ((total, squares),) = _sums_of_groups(size, np.sign(values), counts, starts)
    return Moments(count=count, total=total, squares=squares, exponent=exponent, scale=scale)


def merge_moments(parts: Iterable[Moments | None]) -> Moments | None:
    """The moments of all values, which are in the same unit."""
    found = [each for each in parts if each is not None]
    if not found:
        return None
    return Moments(
        count=sum(each.count for each in found),
        total=sum(each.total for each in found),
        squares=sum(each.squares for each in found),
        exponent=found[0].exponent,
        scale=found[0].scale,
    )


def _sums_of_floats(values: Points, counts: Ints) -> tuple[int, int]:
    fractions, exponents = np.frexp(values)
    order = np.argsort(exponents.astype(np.int16), kind="stable")
    exponents = exponents[order]
    starts = np.flatnonzero(np.append(True, exponents[1:] != exponents[:-1]))
    size = np.ldexp(np.abs(fractions[order]), _DIGITS).astype(np.uint64)
    sums = _sums_of_groups(size, np.sign(values[order]).astype(np.int64), counts[order], starts)
    total, squares = 0, 0
    for exponent, (part, square) in zip(exponents[starts].tolist(), sums, strict=True):
        shift = exponent - _DIGITS - _LEAST_EXPONENT
        total += part << shift
        squares += square << 2 * shift
    return total, squares


def _sums_of_groups(
    sizes: npt.NDArray[np.uint64], signs: Ints, counts: Ints, starts: Ints
) -> list[tuple[int, int]]:
    """Add up values and their squares in runs that begin at `starts`, a few bits at a time."""
    parts = [
        ((sizes >> np.uint64(_PART_BITS * at)) & np.uint64(_PART)).astype(np.int64)
        for at in range(_PARTS)
    ]
    used = [(at, part) for at, part in enumerate(parts) if part.any()]
    totals, squares = [0] * len(starts), [0] * len(starts)
    for number, (at, part) in enumerate(used):
        weighted = part * counts
        _add(totals, np.add.reduceat(weighted * signs, starts), _PART_BITS * at)
        for other_at, other in used[number:]:
            twice = int(other_at != at)
            found = np.add.reduceat(weighted * other, starts)
            _add(squares, found, _PART_BITS * (at + other_at) + twice)
    return list(zip(totals, squares, strict=True))


def _add(sums: list[int], found: Ints, shift: int) -> None:
    for at, each in enumerate(found.tolist()):
        sums[at] += each << shift
