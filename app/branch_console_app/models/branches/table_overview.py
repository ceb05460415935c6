"""The overview: which tables are shown, in which order, and what asks for attention."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol, TypeVar

from branch_console.diff.rows.row_figure import NOTHING_COUNTED, RowFigure, add_up
from branch_console.format.identifier import Identifier
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.browse.page_values import TableItem


class Order(StrEnum):
    """How the tables of the overview are sorted."""

    NAME = "name"
    NEWEST = "newest commit"
    ROWS = "rows"
    BRANCHES = "branches"


class Listed(Protocol):
    """What the list needs to know of a table; what could not be read is None."""

    @property
    def identifier(self) -> Identifier:
        """The table's name."""

    @property
    def head(self) -> Snapshot | None:
        """The newest snapshot of main."""

    @property
    def figure(self) -> RowFigure:
        """Rows of that snapshot."""

    @property
    def branch_count(self) -> int | None:
        """Branches besides main."""

    @property
    def broken_branches(self) -> tuple[str, ...]:
        """Branches that cannot be read."""


T = TypeVar("T", bound=Listed)

READ_AT_ONCE: Final = 200
"""Up to so many tables are read before the page appears; of more, those that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLine:
    """A table by its name, with what is known of it so far."""

    identifier: Identifier
    item: TableItem | None

    @property
    def head(self) -> Snapshot | None:
        """The newest snapshot of main."""
        return None if self.item is None else self.item.head

    @property
    def figure(self) -> RowFigure:
        """Rows of that snapshot."""
        return NOTHING_COUNTED if self.item is None else self.item.figure

    @property
    def branch_count(self) -> int | None:
        """Branches besides main."""
        return None if self.item is None else self.item.branch_count

    @property
    def broken_branches(self) -> tuple[str, ...]:
        """Branches that cannot be read."""
        return () if self.item is None else self.item.broken_branches


@dataclass(frozen=True, slots=True, kw_only=True)
class WarehouseTotals:
    """The figures on top; what no table told is None.

    Attributes:
        tables: All tables.
        unread: Those of them that the other figures leave out: they are lower bounds then.
    """

    tables: int
    unread: int
    branches: int | None
    figure: RowFigure
    broken: int

    @classmethod
    def of(cls, items: Sequence[Listed], broken: int, *, unread: int = 0) -> "WarehouseTotals":
        """Sum up the tables that were read."""
        branches = [item.branch_count for item in items if item.branch_count is not None]
        figures = [item.figure for item in items if item.figure.is_known]
        return cls(
            tables=len(items) + unread,
            unread=unread,
            branches=sum(branches) if branches else None,
            figure=add_up(figures) if figures else NOTHING_COUNTED,
            broken=broken,
        )


def choose_tables(items: Iterable[T], *, words: str, database: str | None, order: Order) -> list[T]:
    """Filter by words and database, then sort; all words must be in the name."""
    wanted = words.lower().split()
    chosen = [
        item
        for item in items
        if (database is None or item.identifier.database == database)
        and all(word in item.identifier.table_name.lower() for word in wanted)
    ]
    return sorted(chosen, key=lambda item: _sort_key(item, order))


def _sort_key(item: Listed, order: Order) -> tuple[int, str]:
    name = item.identifier.table_name
    match order:
        case Order.NAME:
            return (0, name)
        case Order.NEWEST:
            return (-item.head.time_millis if item.head else 0, name)
        case Order.ROWS:
            return (-item.figure.size if item.head else 1, name)
        case Order.BRANCHES:
            return (-(item.branch_count or 0), name)
