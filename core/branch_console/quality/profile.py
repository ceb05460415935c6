"""Profiles of the values of each column, in a unit of a table or in a whole side.

A unit is what is read once: a data file, or files whose keys overlap, after merging on read.
Profiles add up, so that a side's profile is made of those of its units.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from branch_console.format.data_types import AtomicType, DataType, TypeRoot
from branch_console.quality.distinct_values import DistinctValues, merge_distinct_values
from branch_console.quality.distribution import Distribution, merge_distributions
from branch_console.quality.moments import Moments, merge_moments
from branch_console.quality.order_text import least, most
from branch_console.quality.top_values import TopValues, merge_top_values

T = TypeVar("T")


class ColumnKind(StrEnum):
    """The measures of the values of a column."""

    NUMBER = "number"
    TIME = "time"
    """Dates, times of day and timestamps, measured by `to_measures`."""
    TEXT = "text"
    FLAG = "flag"
    BYTES = "bytes"
    OTHER = "other"
    """Only nulls are counted: nested values, variants, blobs, places."""

    @property
    def has_measures(self) -> bool:
        """Whether values lie on a line."""
        return self in (ColumnKind.NUMBER, ColumnKind.TIME)

    @property
    def has_categories(self) -> bool:
        """Whether it is told which values stand there most often."""
        return self in (ColumnKind.TEXT, ColumnKind.FLAG)


_TEXTS: Final = (TypeRoot.CHAR, TypeRoot.VARCHAR)
_BYTES: Final = (TypeRoot.BINARY, TypeRoot.VARBINARY)
_TIMES: Final = (TypeRoot.DATE, TypeRoot.TIME, TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ)
_OTHERS: Final = (TypeRoot.VARIANT, TypeRoot.BLOB, TypeRoot.GEOMETRY, TypeRoot.GEOGRAPHY)


def kind_of(data_type: DataType) -> ColumnKind:
    """The measures that apply to a type."""
    if not isinstance(data_type, AtomicType) or data_type.root in _OTHERS:
        return ColumnKind.OTHER
    if data_type.root in _TEXTS:
        return ColumnKind.TEXT
    if data_type.root in _BYTES:
        return ColumnKind.BYTES
    if data_type.root in _TIMES:
        return ColumnKind.TIME
    return ColumnKind.FLAG if data_type.root is TypeRoot.BOOLEAN else ColumnKind.NUMBER


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """How much is kept of the values of a column; None for all of it.

    Attributes:
        points: About how many points of a distribution.
        hashes: The number of hashes of different values.
        top: How many of the most frequent texts.
    """

    points: int | None
    hashes: int | None
    top: int | None


EXACT: Final = Detail(points=None, hashes=None, top=None)
UNIT: Final = Detail(points=1_000, hashes=2_048, top=1_000)
"""Ranks within 0.1 %, different values within 8.8 % (99.99 %)."""
SIDE: Final = Detail(points=20_000, hashes=2_048, top=5_000)
"""The detail of a profile of many units; adding up must cost less than reading the units did."""
PLACE: Final = Detail(points=400, hashes=512, top=200)
"""The detail of a profile of one partition among many that are in memory at once."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnProfile:
    """The profile of a column.

    Attributes:
        rows: With nulls.
        nulls: How many of them are null.
        nans: How many are NaN; these count neither as least and largest nor as measures.
        low: The least value as text, None if there is none.
        high: The largest.
        moments: The moments of measures; for texts and bytes, of their lengths. Infinite values are
            left out.
        distribution: The distribution of the same values, infinite ones included.
        distinct: The different values, NaN as one; None if that is not known.
        top: The most frequent texts and booleans.
    """

    rows: int
    nulls: int
    nans: int = 0
    low: str | None = None
    high: str | None = None
    moments: Moments | None = None
    distribution: Distribution | None = None
    distinct: DistinctValues | None = None
    top: TopValues | None = None

    @property
    def valid(self) -> int:
        """Values that are neither null nor NaN."""
        return self.rows - self.nulls - self.nans


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profile:
    """The profile of the rows of a unit or of a side.

    Attributes:
        rows: How many there are.
        columns: By name.
        keys: The different keys; None for a table without.
        repeated_keys: Rows whose key stands in the same unit before.
    """

    rows: int
    columns: Mapping[str, ColumnProfile]
    keys: DistinctValues | None = None
    repeated_keys: int = 0

    @property
    def duplicate_keys(self) -> int | None:
        """Rows whose key stands there before, at least where `keys` is not complete."""
        if self.keys is None:
            return None
        return self.rows - self.keys.count if self.keys.is_complete else self.repeated_keys


def merge_profiles(
    parts: Sequence[Profile], kinds: Mapping[str, ColumnKind], detail: Detail
) -> Profile:
    """The profile of the rows of all parts.

    Args:
        parts: Profiles of the same columns; none is a side without rows.
        kinds: The columns.
        detail: How much of their values is kept.
    """
    keys = [each.keys for each in parts if each.keys is not None]
    return Profile(
        rows=sum(each.rows for each in parts),
        columns={
            name: _merge_columns([each.columns[name] for each in parts], kind, detail)
            for name, kind in kinds.items()
        },
        keys=merge_distinct_values(keys, detail.hashes) if keys else None,
        repeated_keys=sum(each.repeated_keys for each in parts),
    )


def _merge_columns(
    parts: Sequence[ColumnProfile], kind: ColumnKind, detail: Detail
) -> ColumnProfile:
    distribution, distinct, top = None, None, None
    if kind is not ColumnKind.OTHER:
        distinct = merge_distinct_values(_each(parts, lambda part: part.distinct), detail.hashes)
        if kind is not ColumnKind.FLAG:
            found = _each(parts, lambda part: part.distribution)
            distribution = merge_distributions(found, detail.points)
    if kind.has_categories:
        top = merge_top_values(_each(parts, lambda part: part.top), detail.top)
    return ColumnProfile(
        rows=sum(part.rows for part in parts),
        nulls=sum(part.nulls for part in parts),
        nans=sum(part.nans for part in parts),
        low=least(_each(parts, lambda part: part.low), is_number=kind is ColumnKind.NUMBER),
        high=most(_each(parts, lambda part: part.high), is_number=kind is ColumnKind.NUMBER),
        moments=merge_moments(part.moments for part in parts),
        distribution=distribution,
        distinct=distinct,
        top=top,
    )


def _each(parts: Sequence[ColumnProfile], get: Callable[[ColumnProfile], T | None]) -> list[T]:
    return [found for found in map(get, parts) if found is not None]
