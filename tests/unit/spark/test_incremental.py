"""Changes between snapshots, against what the two states hold."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from branch_console.errors import InvalidInput, NotFound
from branch_console.format.data_types import INT, STRING
from branch_console.spark.read.incremental import ChangesRead, plan_changes
from tests.support.local_tables import LocalTable
from tests.support.table_files import a_schema


def make_table(folder: Path, *, keys: tuple[str, ...] = ("id",), **options: str) -> LocalTable:
    named = {name.replace("_", "-"): value for name, value in options.items()}
    columns = (("id", INT), ("name", STRING))
    schema = a_schema(0, columns, primary_keys=keys, options={"bucket": "1", **named})
    return LocalTable(folder, schema)


def rows(*values: tuple[Any, ...], kind: int = 0) -> pa.Table:
    return pa.table(
        {
            "id": pa.array([each[0] for each in values], pa.int32()),
            "name": pa.array([each[1] for each in values], pa.string()),
            "_VALUE_KIND": pa.array([kind] * len(values), pa.int8()),
        }
    )


def changes(table: LocalTable, start: int, end: int, **more: Any) -> ChangesRead:
    opened = table.table()
    first = opened.snapshots.get(start) if start else None
    return plan_changes(table.file_io, opened, first, opened.snapshots.get(end), **more)


def told(read: ChangesRead) -> list[tuple[Any, ...]]:
    batches = [batch for task in read.tasks for part in task for batch in read.batches(part)]
    found = pa.Table.from_batches(batches, read.layout)
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True))


def test_changed_keys_are_told_with_what_became_of_them(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.append(rows((1, "a"), (2, "b"), (3, "c"), (4, "d")))
    table.append(rows((2, "B"), (3, "c"), (5, "e")))
    table.append(rows((4, None), kind=3))
    table.append(rows((5, "E")))
    assert told(changes(table, 1, 4)) == [
        ("+I", 5, "E"),
        ("+U", 2, "B"),
        ("-D", 4, "d"),
    ]
    assert told(changes(table, 3, 4)) == [("+U", 5, "E")]
    assert told(changes(table, 0, 1)) == [("+I", n, v) for n, v in enumerate("abcd", start=1)]
    assert told(changes(table, 2, 2)) == []
    assert told(changes(table, 3, 4, columns=["name"])) == [("+U", "E")]


def test_only_what_changed_files_overlap_is_read(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    for start in range(0, 50, 10):
        table.append(rows(*((start + n, "old") for n in range(10))))
    table.append(rows((13, "new")))
    read = changes(table, 5, 6)
    assert told(read) == [("+U", 13, "new")]
    assert read.read_files == 3


def test_a_row_that_was_written_again_as_it_was_is_no_change(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.append(rows((1, "a")))
    table.append(rows((1, "a")))
    assert told(changes(table, 1, 2)) == []


def test_appended_rows_are_told_without_reading_others(tmp_path: Path) -> None:
    table = make_table(tmp_path, keys=(), bucket="-1")
    for number in range(4):
        table.append(rows((number, "x")).drop(["_VALUE_KIND"]))
    read = changes(table, 1, 3)
    # Each commit of this table names all manifests, the newest as its delta.
    assert told(read) == [("+I", 1, "x"), ("+I", 2, "x")]
    assert read.read_files == 2


def test_snapshots_in_the_wrong_order_are_refused(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.append(rows((1, "a")))
    table.append(rows((2, "a")))
    with pytest.raises(InvalidInput, match="earlier one first"):
        changes(table, 2, 1)
    with pytest.raises(NotFound, match="nobody"):
        changes(table, 1, 2, columns=["nobody"])
