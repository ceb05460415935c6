"""How many different values there are: their hashes, or only the smallest of those.

Where hashes are spread evenly, the share of the number line that the kept ones cover tells how many
there are in all. Source: Bar-Yossef and others, "Counting distinct elements in a data stream"
(k minimum values), the theta sketches of Apache DataSketches.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Hashes = npt.NDArray[np.uint64]

ALL_HASHES: Final[int] = 2**64
_DEVIATIONS: Final = 4
"""The reported error in standard deviations; one estimate of 16,000 is further off."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DistinctValues:
    """The hashes of different values.

    Attributes:
        hashes: Ascending, each once.
        below: All hashes that are less than this are there; 2**64 if none was left out.
    """

    hashes: Hashes
    below: int = ALL_HASHES

    @property
    def is_complete(self) -> bool:
        """Whether no value was left out."""
        return self.below == ALL_HASHES

    @property
    def count(self) -> int:
        """How many values there are, or about how many."""
        share: float = self.below / ALL_HASHES
        return round(len(self.hashes) / share)

    @property
    def error(self) -> int:
        """How many values there may be more or fewer, with 99.99 % certainty."""
        if self.is_complete or not len(self.hashes):
            return 0
        return round(_DEVIATIONS * self.count / math.sqrt(len(self.hashes)))


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctChange:
    """By which part of the different values of one side the other has more or fewer.

    Attributes:
        value: The change, negative where the other has fewer.
        error: By how much it may be off, with 99.99 % certainty.
        alone: About how many values only one of both has.
    """

    value: float
    error: float
    alone: int


def distinct_change(of: DistinctValues, to: DistinctValues) -> DistinctChange | None:
    """Compare the different values of two sides; None if the first one has none.

    What both have is known of the same hashes, so that only values of one side alone are unsure.
    """
    below = min(of.below, to.below)
    share = below / ALL_HASHES
    old, new = (
        each.hashes if below == ALL_HASHES else each.hashes[each.hashes < np.uint64(below)]
        for each in (of, to)
    )
    if not len(old):
        return None
    alone = len(np.setxor1d(old, new, assume_unique=True))
    value = (len(new) - len(old)) / len(old)
    error = 0.0
    if below < ALL_HASHES:
        error = _DEVIATIONS * (math.sqrt(alone) / len(old) + abs(value) / math.sqrt(len(old)))
    return DistinctChange(value=value, error=error, alone=round(alone / share))


def distinct_values(values: pa.Array, limit: int | None) -> DistinctValues:
    """The different ones of some values.

    Args:
        values: No nulls and nothing nested.
        limit: How many hashes are kept; None for all.
    """
    hashes = hash_values(values)
    if limit is not None and len(hashes) > 4 * limit:
        # Sorting all of them would take longer than anything else that is done with values.
        least = np.unique(hashes[hashes <= np.partition(hashes, 2 * limit)[2 * limit]])
        if len(least) > limit:
            return _cut(DistinctValues(hashes=least), limit)
    return _cut(DistinctValues(hashes=np.unique(hashes)), limit)


def merge_distinct_values(parts: Sequence[DistinctValues], limit: int | None) -> DistinctValues:
    """The different values of all parts."""
    below = min((each.below for each in parts), default=ALL_HASHES)
    hashes = np.unique(np.concatenate([np.zeros(0, np.uint64), *(each.hashes for each in parts)]))
    if below < ALL_HASHES:
        hashes = hashes[hashes < np.uint64(below)]
    return _cut(DistinctValues(hashes=hashes, below=below), limit)


def _cut(found: DistinctValues, limit: int | None) -> DistinctValues:
    if limit is None or len(found.hashes) <= limit:
        return found
    return DistinctValues(hashes=found.hashes[:limit], below=int(found.hashes[limit]))


def hash_values(values: pa.Array) -> Hashes:
    """Hash values to 64 bits, always to the same ones; equal values of one type hash alike.

    Args:
        values: No nulls and nothing nested. NaN is one value, and so is zero.
    """
    kind = values.type
    if pa.types.is_boolean(kind):
        return _mixed(values.cast(pa.int8()).to_numpy().astype(np.uint64))
    if pa.types.is_floating(kind):
        numbers = values.cast(pa.float64()).to_numpy() + 0.0
        return _mixed(np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64))
    if pa.types.is_integer(kind):
        return _mixed(values.cast(pa.int64()).to_numpy().view(np.uint64))
    if pa.types.is_temporal(kind):
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        return _mixed(values.view(width).cast(pa.int64()).to_numpy().view(np.uint64))
    if pa.types.is_decimal(kind):
        values = values.cast(pa.string())
    return _hash_bytes(values.cast(pa.large_binary()))


def _hash_bytes(values: pa.Array) -> Hashes:
    """A polynomial of the bytes of each value, modulo 2**64, that is mixed with its length."""
    lengths = pc.binary_length(values).to_numpy()
    total = int(lengths.sum())
    offsets = np.frombuffer(values.buffers()[1], np.int64)[values.offset :][: len(values) + 1]
    data = np.frombuffer(values.buffers()[2] or b"", np.uint8)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    content = data[int(offsets[0]) : int(offsets[0]) + total].astype(np.uint64) + np.uint64(1)
    within = np.arange(total) - np.repeat(starts[:-1], lengths)
    powers = np.cumprod(np.full(int(lengths.max(initial=0)) + 1, _FACTOR, np.uint64))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(content * powers[within])])
    found = sums[starts[1:]] - sums[starts[:-1]]
    return _mixed(found ^ _mixed(lengths.astype(np.uint64)))


def _mixed(numbers: Hashes) -> Hashes:
    """Spread 64-bit numbers evenly. Source: Steele and others, SplitMix64."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


_FACTOR: Final = np.uint64(0x9E3779B185EBCA87)
