"""The overview's list: filters, order, totals."""

from dataclasses import dataclass

from branch_console.diff.rows.row_figure import NOTHING_COUNTED, RowFigure
from branch_console.format.identifier import Identifier
from branch_console.format.snapshot import Snapshot
from branch_console_app.models.branches.table_overview import (
    Order,
    TableLine,
    WarehouseTotals,
    choose_tables,
)
from tests.unit.app.histories import snapshot


@dataclass(frozen=True)
class Item:
    identifier: Identifier
    head: Snapshot | None = None
    branch_count: int | None = None
    broken_branches: tuple[str, ...] = ()

    @property
    def figure(self) -> RowFigure:
        total = self.head and self.head.total_record_count
        return RowFigure(rows=total, records=total)


def item(name: str, **facts: object) -> Item:
    return Item(Identifier.parse(name), **facts)  # type: ignore[arg-type]


@dataclass(frozen=True)
class KeyedItem(Item):
    @property
    def figure(self) -> RowFigure:
        return RowFigure(rows=None, records=7)


KEYED = KeyedItem(Identifier.parse("air.planes"))
ITEMS = [
    item("air.flights", head=snapshot("a", 9, total=500), branch_count=4),
    item("air.carriers", head=snapshot("b", 5, total=900), branch_count=0),
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


def test_totals_leave_out_what_no_table_told() -> None:
    assert WarehouseTotals.of(ITEMS, broken=1) == WarehouseTotals(
        tables=3, unread=0, branches=4, figure=RowFigure(rows=1400, records=1400), broken=1
    )
    nothing = WarehouseTotals.of([ITEMS[2]], broken=0, unread=9)
    assert nothing == WarehouseTotals(
        tables=10, unread=9, branches=None, figure=NOTHING_COUNTED, broken=0
    )


def test_rows_of_some_tables_are_not_added_to_records_of_others() -> None:
    keyed = TableLine(identifier=ITEMS[0].identifier, item=None)
    figure = WarehouseTotals.of([*ITEMS, KEYED], broken=0).figure
    assert figure == RowFigure(rows=None, records=1_407)
    assert WarehouseTotals.of([keyed], broken=0).figure == NOTHING_COUNTED


def test_ten_thousand_tables_are_searched_by_their_last_name() -> None:
    many = [item(f"db{number % 10}.table_{number}") for number in range(10_000)]
    assert names(choose_tables(many, words="table_9999", database=None, order=Order.NAME)) == [
        "db9.table_9999"
    ]
