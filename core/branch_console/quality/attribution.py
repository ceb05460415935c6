"""Causes of a drift: the values in which two sides differ most. An association, no cause."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Final

from branch_console.quality.bins import Bin, smoothed_shares

_MOST: Final = 3
_LEAST_SHARE: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class BinPart:
    """A part of a difference.

    Attributes:
        bin: The bin.
        share: Its share of the population stability index, the sum of the terms of all bins.
        before, after: Shares of the rows of both sides that are in the bin.
    """

    bin: Bin
    share: float
    before: float
    after: float


def explaining_bins(bins: Sequence[Bin]) -> tuple[BinPart, ...]:
    """Name the bins that most of a difference lies in, at most three, the largest first.

    Args:
        bins: The bins of a column; the sides need not have equally many rows.
    """
    rows = [max(1, sum(counts)) for counts in ([b.base for b in bins], [b.other for b in bins])]
    terms = [(p - q) * log(p / q) for p, q in smoothed_shares(bins)]
    whole = sum(terms)
    parts = [
        BinPart(
            bin=each, share=term / whole, before=each.base / rows[0], after=each.other / rows[1]
        )
        for each, term in zip(bins, terms, strict=True)
        if whole > 0 and term / whole >= _LEAST_SHARE
    ]
    return tuple(sorted(parts, key=lambda each: -each.share)[:_MOST])
