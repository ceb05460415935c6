"""How many rows came, went and changed, as far as counts of files can tell.

A number is exact or has bounds; what is not known is never a guess. Rows of a table without a
primary key are a multiset: rows that two files hold alike cancel each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final, assert_never


class RowReason(StrEnum):
    """Why rows of files need not be rows that differ, as a sentence."""

    COMPACTED = "A compaction wrote rows again: rows of one side may stand in a file of the other."
    BOTH_WROTE = (
        "Both sides have rows of their own in one partition: those that are equal cancel out."
    )
    COLUMN_FILES = "A file may hold some columns of rows that stand in other files."
    MERGED_ON_READ = (
        "Rows of a key become one row only when they are read: a file may hold a key again as it "
        "was."
    )


class Counting(Enum):
    """The relation of a file's rows to rows of the table."""

    ROWS = "the row itself"
    KEYS = "a word on the row of its key"
    PARTS = "some columns of a row"


@dataclass(frozen=True, slots=True, kw_only=True)
class CountBounds:
    """A number that lies from `low` to `high`, both included."""

    low: int
    high: int

    @property
    def is_exact(self) -> bool:
        """Whether it can only be one number."""
        return self.low == self.high

    def __add__(self, other: "CountBounds") -> "CountBounds":
        return CountBounds(low=self.low + other.low, high=self.high + other.high)


NONE: Final = CountBounds(low=0, high=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceRows:
    """Rows of one partition that only the files of one state show.

    Attributes:
        is_disjoint: Whether no row of the one side can equal one of the other.
    """

    before: int
    after: int
    is_disjoint: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDifference:
    """The changes of rows from one state to the other.

    Attributes:
        changed: Rows of one key that differ; none without a primary key.
        net: Rows more or fewer; None if rows are merged on read.
        reasons: Why a number has bounds; empty if all are exact.
    """

    added: CountBounds
    removed: CountBounds
    changed: CountBounds
    net: int | None
    reasons: tuple[RowReason, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether all numbers are exact."""
        return self.added.is_exact and self.removed.is_exact and self.changed.is_exact

    @property
    def is_none(self) -> bool:
        """Whether no row can differ."""
        return not (self.added.high or self.removed.high or self.changed.high)


def rows_between(
    places: Sequence[PlaceRows],
    *,
    counting: "Counting",
    deletes: tuple[CountBounds, CountBounds] = (NONE, NONE),
    reasons: tuple[RowReason, ...] = (),
) -> RowDifference:
    """Bound the rows that differ.

    Args:
        places: Rows that only the files of one state show, deletes of a key among them; equal rows
            of a table without a key lie in one of these.
        counting: What a row of a file is to a row of the table.
        deletes: Of those rows, the ones that delete a key, on each side; not every file says it.
        reasons: What to say where a number has bounds.
    """
    match counting:
        case Counting.ROWS:
            found = _rows(places)
        case Counting.KEYS:
            found = _keyed(places, deletes)
        case Counting.PARTS:
            found = _parts(places)
        case _:
            assert_never(counting)
    if found.is_exact:
        return found
    return RowDifference(
        added=found.added,
        removed=found.removed,
        changed=found.changed,
        net=found.net,
        reasons=reasons,
    )


def _rows(places: Sequence[PlaceRows]) -> RowDifference:
    return RowDifference(
        added=sum((_unequal(each.after, each.before, each) for each in places), NONE),
        removed=sum((_unequal(each.before, each.after, each) for each in places), NONE),
        changed=NONE,
        net=sum(each.after - each.before for each in places),
    )


def _unequal(own: int, other: int, place: PlaceRows) -> CountBounds:
    """Rows of one side that equal no row of the other side."""
    return CountBounds(low=own if place.is_disjoint else max(0, own - other), high=own)


def _parts(places: Sequence[PlaceRows]) -> RowDifference:
    """Return bounds for files that may have only some columns: a row may be in several files."""
    most = CountBounds(low=0, high=sum(each.before + each.after for each in places))
    return RowDifference(added=most, removed=most, changed=NONE, net=None if most.high else 0)


def _keyed(places: Sequence[PlaceRows], deletes: tuple[CountBounds, CountBounds]) -> RowDifference:
    """A key may differ only if a file that one side has mentions it."""
    before, after = sum(each.before for each in places), sum(each.after for each in places)
    if not before and not after:
        return RowDifference(added=NONE, removed=NONE, changed=NONE, net=0)
    # A key comes by a row that inserts it, or because one that deletes it is not there any more.
    return RowDifference(
        added=CountBounds(low=0, high=after - deletes[1].low + deletes[0].high),
        removed=CountBounds(low=0, high=before - deletes[0].low + deletes[1].high),
        changed=CountBounds(low=0, high=before + after),
        net=None,
    )
