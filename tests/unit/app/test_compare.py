"""A comparison as people read it: words, labels, the map of partitions, cells before and after."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

from branch_console.diff.rows.row_bounds import NONE, CountBounds, RowDifference
from branch_console.diff.rows.row_diff_index import RowDiffIndex, RowFilter, RowGroup
from branch_console.diff.rows.row_kind import RowKind
from branch_console_app.charts.compare_map import compare_map_figure
from branch_console_app.models.compare.partition_map import (
    MOST_CELLS,
    CellKind,
    is_within,
    partition_map,
)
from branch_console_app.models.compare.rows import cell_text, row_lines
from branch_console_app.models.compare.states import (
    PartitionLine,
    bounds_text,
    label_of,
    net_words,
    row_words,
)


def line(*values: str, before: int = 0, after: int = 10) -> PartitionLine:
    return PartitionLine(
        name="/".join(f"k{at}={value}" for at, value in enumerate(values)),
        values=values,
        buckets=1,
        files_before=1,
        files_after=1,
        bytes_before=1,
        bytes_after=1,
        rows_before=before,
        rows_after=after,
    )


@pytest.mark.parametrize(
    ("bounds", "text", "label"),
    [
        (NONE, "0", "exact"),
        (CountBounds(low=7, high=7), "7", "exact"),
        (CountBounds(low=0, high=7), "≤ 7", "at most"),
        (CountBounds(low=2, high=7), "2 to 7", "at least, at most"),
    ],
)
def test_a_number_says_how_good_it_is(bounds: CountBounds, text: str, label: str) -> None:
    assert bounds_text(bounds) == text
    assert label_of(bounds) == label


def test_what_cannot_have_happened_is_not_told() -> None:
    exact = CountBounds(low=1, high=1)
    rows = RowDifference(added=exact, removed=NONE, changed=NONE, net=1)
    assert row_words(rows) == "1 row added"
    assert net_words(rows) is None
    bounded = RowDifference(
        added=CountBounds(low=0, high=3), removed=CountBounds(low=2, high=5), changed=NONE, net=-2
    )
    assert row_words(bounded) == "≤ 3 rows added, 2 to 5 rows removed"
    assert net_words(bounded) == "\N{MINUS SIGN}2 rows in all, exact"


def test_two_partition_columns_are_the_axes() -> None:
    found = partition_map(
        [line("b", "2", before=4, after=1), line("a", "10"), line("a", "2", before=3, after=3)],
        ("day", "hour"),
    )
    assert found is not None
    assert (found.xs, found.ys) == (("2", "10"), ("a", "b"))
    assert (found.x_title, found.y_title) == ("hour", "day")
    kinds = {cell.part: cell.kind for cell in found.cells}
    assert kinds == {
        "k0=b/k1=2": CellKind.FEWER,
        "k0=a/k1=10": CellKind.MORE,
        "k0=a/k1=2": CellKind.BOTH,
    }
    figure = compare_map_figure(found, selected="k0=a/k1=10", uirevision="r")
    assert {trace.name for trace in figure.data} == {"more", "fewer", "both"}


def test_many_partitions_are_summed_up_and_opened_again() -> None:
    lines = [line(str(day), str(hour)) for day in range(100) for hour in range(24)]
    assert len(lines) > MOST_CELLS
    summed = partition_map(lines, ("day", "hour"))
    assert summed is not None
    assert summed.is_summed
    assert len(summed.cells) == 100
    assert summed.cells[0].partitions == 24
    opened = partition_map(lines, ("day", "hour"), within="k0=7")
    assert opened is not None
    assert len(opened.cells) == 24
    assert not opened.is_summed


def test_one_partition_and_none_need_no_map() -> None:
    assert partition_map([line("a")], ("day",)) is None
    assert partition_map([line(), line()], ()) is None


def test_a_partition_lies_within_itself_and_those_above_it() -> None:
    assert is_within("a=1/b=2", "a=1")
    assert is_within("a=1", "a=1")
    assert not is_within("a=10", "a=1")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        ("", '""'),
        ("NULL", '"NULL"'),
        ('""', '""""'),
        ("  a b ", "··a b·"),
        ("   ", "···"),
        ("a\nb", "a⏎b"),
        ("\u202eabc", "\\u202eabc"),
        (b"\x01\xff", "01ff"),
        (True, "true"),
        (float("nan"), "nan"),
        (Decimal("1.50"), "1.50"),
        (date(2026, 5, 1), "2026-05-01"),
        ([1, None], "[1, null]"),
        ("x" * 300, "x" * 200 + "…"),
    ],
)
def test_cells_show_what_cannot_be_seen(value: object, text: str) -> None:
    assert cell_text(value) == text


def test_a_changed_cell_shows_both_values_and_others_one() -> None:
    index = RowDiffIndex(columns=("id", "x"), keys=("id",), groups=(), facts={})
    rows = pa.table(
        {
            "kind": ["changed", "removed"],
            "changed": [[1], []],
            "copies_before": [1, 3],
            "copies_after": [1, 1],
            "before:id": [1, 2],
            "before:x": [None, "b"],
            "after:id": [1, None],
            "after:x": ["a", None],
        }
    )
    first, second = row_lines(rows, index)
    assert first.cells == {"id": "1", "x": "NULL → a"}
    assert (second.kind, second.cells, second.copies) == (RowKind.REMOVED, {"id": "2", "x": "b"}, 2)


def test_rows_are_counted_by_kind_and_column_without_reading_them() -> None:
    groups = tuple(
        RowGroup(rows=5, kinds={"added": 2, "changed": 3}, copies={"added": 4, "changed": 3},
                 columns={"x": number})
        for number in (1, 3)
    )  # fmt: skip
    index = RowDiffIndex(columns=("id", "x"), keys=(), groups=groups, facts={})
    assert index.count(RowFilter()) == 10
    assert index.count(RowFilter(kind=RowKind.ADDED)) == 4
    assert index.count(RowFilter(column="x")) == 4
    assert index.count(RowFilter(kind=RowKind.ADDED, column="x")) == 0
    assert index.difference.added == CountBounds(low=8, high=8)
    assert index.changed_cells() == {"x": 4, "id": 0}


def test_a_cell_of_deletes_alone_is_one_of_fewer_rows() -> None:
    lines = (
        replace(line("2013", "1", after=12), deletes_after=12),
        replace(line("2013", "2", after=10), deletes_after=2),
    )
    drawn = partition_map(lines, ("year", "month"))
    assert drawn is not None
    fewer, more = drawn.cells
    assert (fewer.kind, more.kind) == (CellKind.FEWER, CellKind.MORE)
    assert fewer.words == "+12 and \N{MINUS SIGN}0 records in files, +12 of them deletes"
    assert (fewer.net, more.net) == (-12, 6)
