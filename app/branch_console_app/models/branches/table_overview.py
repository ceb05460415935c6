"""The overview: which tables are shown, in which order, and what asks for attention."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol, TypeVar

from branch_console.diff.branch_counts import BranchCounts
from branch_console.diff.rows.row_figure import NOTHING_COUNTED, RowFigure
from branch_console.format.identifier import Identifier
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.browse.page_values import TableItem
from branch_console_app.models.parts.wording import plural


class Order(StrEnum):
    """How the tables of the overview are sorted."""

    NAME = "name"
    NEWEST = "newest commit"
    ROWS = "rows"
    BRANCHES = "branches"


class Listed(Protocol):
    """The facts about a table that the list needs; a fact that could not be read is None."""

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
    def branches(self) -> BranchCounts | None:
        """How many branches it has."""

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
    def branches(self) -> BranchCounts | None:
        """How many branches it has."""
        return None if self.item is None else self.item.branches

    @property
    def broken_branches(self) -> tuple[str, ...]:
        """Branches that cannot be read."""
        return () if self.item is None else self.item.broken_branches


def totals_words(items: Sequence[Listed], *, tables: int) -> str:
    """Say how many tables and branches there are: `5 tables, 22 branches, 2 rescue`.

    Args:
        items: The tables that were read.
        tables: All tables; the branches are at least so many if some were not read.
    """
    counts = BranchCounts.total(item.branches for item in items if item.branches is not None)
    at_least = "at least " if len(items) < tables else ""
    return f"{plural(tables, 'table')}, {at_least}{counts.words}"


def newest_tables(items: Iterable[TableItem], *, most: int) -> tuple[Identifier, ...]:
    """Return the tables in whose ledgers something happened last.

    The newest n operations of all tables stand in the ledgers of the n tables found with that n.
    """
    table_items = [item for item in items if item.last_event is not None]
    table_items.sort(key=lambda item: -item.last_event.time_millis if item.last_event else 0)
    return tuple(item.identifier for item in table_items[:most])


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
            return (-(item.branches.branches if item.branches else 0), name)
