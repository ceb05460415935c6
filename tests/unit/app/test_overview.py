"""The overview's list: filters, order, totals."""

from dataclasses import dataclass

from branch_console.diff.branch_counts import BranchCounts
from branch_console.diff.rows.row_figure import RowFigure
from branch_console.format.identifier import Identifier
from branch_console.format.snapshot import Snapshot
from branch_console_app.models.branches.table_overview import (
    Order,
    choose_tables,
    totals_words,
)
from tests.unit.app.histories import snapshot


@dataclass(frozen=True)
class Item:
    identifier: Identifier
    head: Snapshot | None = None
    branches: BranchCounts | None = None
    broken_branches: tuple[str, ...] = ()

    @property
    def figure(self) -> RowFigure:
        total = self.head and self.head.total_record_count
        return RowFigure(rows=total, records=total)


def item(name: str, **facts: object) -> Item:
    return Item(Identifier.parse(name), **facts)  # type: ignore[arg-type]


MANY = BranchCounts(branches=5, rescue=2)
ITEMS = [
    item(
        "air.flights", head=snapshot("a", 9, total=500), branches=BranchCounts(branches=5, rescue=2)
    ),
    item("air.carriers", head=snapshot("b", 5, total=900), branches=BranchCounts(branches=1)),
    item("sea.ships"),
]


def names(items: list[Item]) -> list[str]:
    return [each.identifier.table_name for each in items]


def test_all_words_must_be_in_the_name() -> None:
    assert names(choose_tables(ITEMS, words="AIR fl", database=None, order=Order.NAME)) == [
        "air.flights"
    ]


def test_a_database_can_be_chosen() -> None:
    assert names(choose_tables(ITEMS, words="", database="sea", order=Order.NAME)) == ["sea.ships"]


def test_what_was_not_read_sorts_last() -> None:
    for order, first in ((Order.ROWS, "air.carriers"), (Order.NEWEST, "air.flights")):
        found = names(choose_tables(ITEMS, words="", database=None, order=order))
        assert (found[0], found[-1]) == (first, "sea.ships")


def test_totals_say_how_far_they_are_known() -> None:
    assert totals_words(ITEMS, tables=3) == "3 tables, 6 branches, 2 rescue"
    assert totals_words(ITEMS[:2], tables=9) == "9 tables, at least 6 branches, 2 rescue"


def test_ten_thousand_tables_are_searched_by_their_last_name() -> None:
    many = [item(f"db{number % 10}.table_{number}") for number in range(10_000)]
    assert names(choose_tables(many, words="table_9999", database=None, order=Order.NAME)) == [
        "db9.table_9999"
    ]
