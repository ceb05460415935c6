"""Merges of branches that both altered the table: real Paimon finds each value in its column."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from branch_console.merge.plan import MergeVerdict, verdict_of
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.java_vm import java_class
from tests.support.merge_bench import COPIED, SHARED, MergeBench

_SHAPES: Mapping[str, tuple[bool, Mapping[str, str]]] = {
    "rows, shared": (False, SHARED),
    "keys, copied": (True, COPIED),
}


@pytest.fixture(params=list(_SHAPES.values()), ids=list(_SHAPES))
def bench(
    request: pytest.FixtureRequest, open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> MergeBench:
    """A table with two rows and a branch."""
    keyed, options = request.param
    made = MergeBench(open_java(tmp_path), tmp_path, keyed=keyed, options=options)
    made.insert("main", 1, 2)
    made.branch("dev")
    return made


def test_each_side_added_a_column_under_the_same_ids(bench: MergeBench) -> None:
    bench.table("dev").add_column("theirs", "INT")
    bench.table("dev").write([(11, "d1", 1, 111)])
    bench.table().add_column("ours", "INT")
    bench.table().write([(21, "d1", 1, 222)])
    bench.call("merge_branch", branch="dev")

    main = bench.table()
    nothing: dict[str, Any] = {"theirs": None, "ours": None}
    _holds(
        main, {1: nothing, 2: nothing, 11: nothing | {"theirs": 111}, 21: nothing | {"ours": 222}}
    )
    assert _ids_where(main, "theirs", 111) == [11]
    assert _ids_where(main, "ours", 222) == [21]
    assert _ids_where(main, "ours", 111) == []
    _holds(bench.table("dev"), {1: {"theirs": None}, 2: {}, 11: {"theirs": 111}})

    # Both branches go on, the source with yet another column, and merge again.
    bench.table("dev").add_column("more", "STRING")
    bench.table("dev").write([(12, "d1", 1, 112, "x")])
    bench.call("merge_branch", branch="dev")
    nothing["more"] = None
    expected = {
        1: nothing,
        2: nothing,
        11: nothing | {"theirs": 111},
        12: nothing | {"theirs": 112, "more": "x"},
        21: nothing | {"ours": 222},
    }
    _holds(main, expected)
    assert _ids_where(main, "theirs", 112) == [12]
    main.compact(options={"compaction.min.file-num": "2"})
    _holds(main, expected)
    bench.call("merge_branch", branch="main", target="dev")
    _holds(bench.table("dev"), expected)


def test_a_renamed_column_keeps_its_values_on_both_sides(bench: MergeBench) -> None:
    bench.table("dev").rename_column("amount", "price")
    bench.table("dev").write([(11, "d1", 7)])
    bench.table().write([(21, "d1", 9)])
    bench.call("merge_branch", branch="dev")
    _holds(bench.table(), {1: {"price": 1}, 2: {"price": 1}, 11: {"price": 7}, 21: {"price": 9}})
    assert _ids_where(bench.table(), "price", 9) == [21]


def test_a_dropped_column_goes_and_one_of_its_name_does_not_take_its_values(
    bench: MergeBench,
) -> None:
    bench.table("dev").drop_column("amount")
    bench.table("dev").add_column("amount", "INT")
    bench.table("dev").write([(11, "d1", 7)])
    bench.table().write([(21, "d1", 9)])
    bench.call("merge_branch", branch="dev")
    gone = {"amount": None}
    _holds(bench.table(), {1: gone, 2: gone, 11: {"amount": 7}, 21: gone})
    assert _ids_where(bench.table(), "amount", 7) == [11]


def test_a_widened_column_reads_wide_whoever_wrote_it(bench: MergeBench) -> None:
    large = 1 << 40
    bench.table("dev").retype_column("amount", "BIGINT")
    bench.table("dev").write([(11, "d1", large)])
    bench.table().add_column("ours", "INT")
    bench.table().write([(21, "d1", 9, 5)])
    bench.call("merge_branch", branch="dev")
    expected = {
        1: {"amount": 1},
        2: {"amount": 1},
        11: {"amount": large},
        21: {"amount": 9, "ours": 5},
    }
    _holds(bench.table(), expected)
    assert _ids_where(bench.table(), "amount", large) == [11]
    bench.table().compact(options={"compaction.min.file-num": "2"})
    _holds(bench.table(), expected)


def test_a_new_column_alone_is_merged_without_a_row(bench: MergeBench) -> None:
    bench.table("dev").add_column("theirs", "INT")
    bench.table().write([(21, "d1", 9)])
    bench.call("merge_branch", branch="dev")
    _holds(bench.table(), {1: {"amount": 1}, 2: {"amount": 1}, 21: {"amount": 9, "theirs": None}})
    bench.table().write([(22, "d1", 9, 4)])
    _holds(
        bench.table(),
        {1: {"amount": 1}, 2: {}, 21: {"theirs": None}, 22: {"amount": 9, "theirs": 4}},
    )


def test_columns_that_come_one_by_one_come_once_and_stay_dropped(bench: MergeBench) -> None:
    bench.table().write([(21, "d1", 9)])
    for name in ("one", "two"):
        bench.table("dev").add_column(name, "INT")
        assert verdict_of(bench.plan()) is MergeVerdict.CLEAN
        bench.call("merge_branch", branch="dev")
        assert verdict_of(bench.plan()) is MergeVerdict.UP_TO_DATE
    bench.table().drop_column("one")
    assert verdict_of(bench.plan()) is MergeVerdict.UP_TO_DATE
    bench.table("dev").write([(11, "d1", 7, 1, 2)])
    bench.call("merge_branch", branch="dev")
    _holds(bench.table(), {1: {"two": None}, 2: {}, 11: {"amount": 7, "two": 2}, 21: {}})
    assert [str(name) for name in bench.table().load().rowType().getFieldNames()] == [
        *("id", "day", "amount", "two")
    ]


def test_a_target_that_was_altered_only_keeps_its_column(bench: MergeBench) -> None:
    bench.table("dev").write([(11, "d1", 7)])
    bench.table().add_column("ours", "INT")
    bench.call("merge_branch", branch="dev")
    _holds(bench.table(), {1: {"ours": None}, 2: {}, 11: {"amount": 7, "ours": None}})
    bench.table().write([(21, "d1", 9, 5)])
    assert _ids_where(bench.table(), "ours", 5) == [21]


def test_earlier_snapshots_keep_the_columns_they_had(bench: MergeBench) -> None:
    bench.table("dev").add_column("theirs", "INT")
    bench.table("dev").write([(11, "d1", 1, 111)])
    bench.table().add_column("ours", "INT")
    bench.table().write([(21, "d1", 1, 222)])
    before = {each["id"]: bench.table().rows(snapshot=each["id"]) for each in _snapshots(bench)}
    bench.call("merge_branch", branch="dev")
    for number, rows in before.items():
        assert bench.table().rows(snapshot=number) == rows


def _snapshots(bench: MergeBench) -> list[dict[str, Any]]:
    return bench.table().snapshots()


def _holds(table: JavaTable, expected: Mapping[int, Mapping[str, Any]]) -> None:
    """There are exactly these ids, with these values in the columns that are named."""
    names = [str(name) for name in table.load().rowType().getFieldNames()]
    rows = {row[0]: dict(zip(names, row, strict=True)) for row in table.rows()}
    assert rows.keys() == expected.keys()
    told = {
        number: {name: rows[number][name] for name in values} for number, values in expected.items()
    }
    assert told == expected


def _ids_where(table: JavaTable, column: str, value: int) -> list[int]:
    """The ids that Java finds by a filter on a column."""
    loaded = table.load()
    row_type = loaded.rowType()
    builder = java_class("predicate.PredicateBuilder")(row_type)
    index = row_type.getFieldIndex(column)
    kind = str(row_type.getTypeAt(index).getTypeRoot().name())
    boxed = java_class("java.lang.Long" if kind == "BIGINT" else "java.lang.Integer")(value)
    read = loaded.newReadBuilder().withFilter(builder.equal(index, boxed))
    found: list[int] = []
    reader = read.newRead().executeFilter().createReader(read.newScan().plan())
    iterator = reader.toCloseableIterator()
    while iterator.hasNext():
        found.append(int(iterator.next().getInt(0)))
    iterator.close()
    return sorted(found)
