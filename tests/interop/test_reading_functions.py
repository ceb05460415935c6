"""What merges rows by rules of its own: aggregate functions and sequence groups, as in Paimon.

Every case is a table that Paimon writes and reads; rows come in runs that overlap, some take rows
back. Beside it: the columns of row tracking, and files outside the table.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyroaring import BitMap

from branch_console.format.data_types import RowType
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.spark.files.data_reader import ROW_TRACKING_FIELDS
from branch_console.spark.read.incremental import plan_changes
from branch_console.spark.read.readers import plan_table
from branch_console.storage.file_io import FileIO
from branch_console.table.table_state import ReadState
from tests.support.golden import to_plain
from tests.support.java_paimon import JavaPaimon
from tests.support.local_tables import rows_of
from tests.support.plain_rows import bag, plain_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A function of column `v` and the values that rows of some keys get.

    Attributes:
        values: One run each: by key, the value; a tuple of kind and value where it is no insert.
        is_set: Whether the order within a value says nothing.
    """

    function: str
    kind: Any
    values: Sequence[Mapping[int, Any]]
    options: Mapping[str, str] = field(default_factory=dict)
    is_set: bool = False


_ROWS = {
    "type": "ARRAY",
    "element": {
        "type": "ROW",
        "fields": [
            {"id": 0, "name": "k", "type": "INT"},
            {"id": 1, "name": "w", "type": "STRING"},
            {"id": 2, "name": "x", "type": "INT"},
        ],
    },
}
_TAGS = {"type": "ARRAY", "element": "STRING"}
_MAP = {"type": "MAP", "key": "STRING NOT NULL", "value": "INT"}


def _bits(*numbers: int) -> bytes:
    found = BitMap(numbers)
    found.run_optimize()
    return bytes(found.serialize())


_NUMBERS = [{1: 3, 2: None, 3: 5, 4: 1}, {1: 4, 2: 7, 3: None}, {1: -2, 4: ("-D", 1)}]
_INSERTS = [{1: 3, 2: None, 3: 5}, {1: 4, 2: 7, 3: None}, {1: -2}]
_FLOATS = [{1: 0.1, 2: float("nan"), 3: -0.0}, {1: 0.2, 2: 1.0, 3: 0.0}, {1: 0.3}]
_IGNORE = {"fields.v.ignore-retract": "true"}
_REMOVE = {"aggregation.remove-record-on-delete": "true"}
CASES = [
    *(Case(function="sum", kind=kind, values=_NUMBERS) for kind in ("TINYINT", "INT", "BIGINT")),
    *(Case(function="product", kind=kind, values=_NUMBERS) for kind in ("SMALLINT", "BIGINT")),
    *(
        Case(function=function, kind=kind, values=_FLOATS)
        for function in ("sum", "product", "max", "min")
        for kind in ("FLOAT", "DOUBLE")
    ),
    *(
        Case(
            function=function,
            kind="DECIMAL(4, 2)",
            values=[
                {1: Decimal("1.25"), 2: Decimal("19.00"), 3: Decimal("2.50")},
                {1: Decimal("2.10"), 2: Decimal("8.00"), 3: None},
                {1: Decimal("-0.33"), 3: Decimal("0.01")},
            ],
        )
        for function in ("sum", "product", "max", "min")
    ),
    *(
        Case(function=function, kind="INT", values=_INSERTS)
        for function in ("max", "min", "first_value", "first_non_null_value")
    ),
    *(
        Case(function=function, kind="INT", values=_NUMBERS, options=_IGNORE)
        for function in ("max", "min", "first_value", "first_non_null_value", "sum")
    ),
    *(
        Case(function=function, kind="INT", values=_NUMBERS)
        for function in ("last_value", "last_non_null_value")
    ),
    *(
        Case(
            function=function,
            kind="INT",
            values=[*_NUMBERS, {1: ("-D", 9), 3: ("-D", None)}, {3: 8}, {1: ("-U", 1)}][:5],
            options=_REMOVE,
        )
        for function in ("sum", "last_non_null_value", "first_value", "max")
    ),
    *(
        Case(function=function, kind="STRING", values=[{1: "b", 2: "é"}, {1: "a", 2: "z"}])
        for function in ("max", "min")
    ),
    *(
        Case(
            function=function,
            kind="BOOLEAN",
            values=[{1: True, 2: None, 3: False}, {1: False, 2: True, 3: None}],
        )
        for function in ("bool_and", "bool_or")
    ),
    *(
        Case(
            function="listagg",
            kind="STRING",
            values=[{1: "a,b", 2: "", 3: None}, {1: "b,c", 2: "x", 3: None}, {1: "a", 2: ""}],
            options=options,
        )
        for options in ({}, {"fields.v.distinct": "true"}, {"fields.v.list-agg-delimiter": "; "})
    ),
    *(
        Case(
            function="collect",
            kind=_TAGS,
            values=[{1: ["a", "b"], 2: None, 3: ["x"]}, {1: ["b", None], 2: ["c"]}, {3: last}],
            options=options,
            is_set=bool(options),
        )
        for last in (["x", "x"], ("-D", ["x"]))
        for options in ({}, {"fields.v.distinct": "true"})
    ),
    Case(
        function="merge_map",
        kind=_MAP,
        values=[{1: {"a": 1, "b": 2}, 2: None}, {1: {"b": 3}, 2: {"c": 4}}, {1: ("-D", {"a": 0})}],
        is_set=True,
    ),
    *(
        Case(
            function=function,
            kind=_ROWS,
            values=[
                {1: [(1, "a", 1), (2, "b", None)], 2: None},
                {1: [(2, None, 5), (3, "c", 1)], 2: [(9, "z", 9)]},
                {1: last},
            ],
            options=options,
            is_set=True,
        )
        for function, options, last in (
            ("nested_update", {}, [(4, "d", 4)]),
            ("nested_update", {"fields.v.nested-key": "k"}, ("-D", [(1, "a", 1)])),
            ("nested_update", {"fields.v.count-limit": "3"}, [(5, "e", 5)]),
            ("nested_partial_update", {"fields.v.nested-key": "k"}, [(3, "C", None)]),
        )
    ),
    Case(
        function="rbm32",
        kind="BYTES",
        values=[{1: _bits(1, 2, 3), 2: None}, {1: _bits(3, 70000), 2: _bits(5)}],
    ),
]


def test_aggregate_functions_give_what_paimon_gives(
    open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    java = open_java(tmp_path)
    wrong = {}
    for number, case in enumerate(CASES):
        name = f"functions.t{number}"
        options = {
            "bucket": "1",
            "write-only": "true",
            "merge-engine": "aggregation",
            "fields.v.aggregate-function": case.function,
            **case.options,
        }
        fields = {"id": "INT NOT NULL", "v": case.kind}
        table = java.create_table(name, fields, primary_keys=["id"], options=options)
        for run in case.values:
            for kind in ("+I", "-D", "-U"):
                rows = [
                    (key, value[1] if _is_kind(value) else value)
                    for key, value in run.items()
                    if kind == (value[0] if _is_kind(value) else "+I")
                ]
                if rows:
                    table.write(rows, kind=kind)
        expected = to_plain(table.rows())
        found = _ours(tmp_path, name)
        if case.is_set:
            expected, found = _sorted(expected), _sorted(found)
        if bag(found) != bag(expected):
            wrong[f"{case.function} of {case.kind} {dict(case.options)}"] = (found, expected)
    assert wrong == {}


def _is_kind(value: Any) -> bool:
    return isinstance(value, tuple) and value[0] in ("-D", "-U")


def _sorted(rows: list[list[Any]]) -> list[list[Any]]:
    return [[row[0], sorted(row[1], key=repr) if row[1] else row[1]] for row in rows]


_GROUPED = {
    "merge-engine": "partial-update",
    "fields.g1.sequence-group": "a,b",
    "fields.g2,g3.sequence-group": "c,d",
}
GROUPS: Mapping[str, Mapping[str, str]] = {
    "plain": {},
    "aggregated": {
        "fields.a.aggregate-function": "sum",
        "fields.c.aggregate-function": "first_value",
        "fields.c.ignore-retract": "true",
        "fields.d.aggregate-function": "last_non_null_value",
    },
    "removing": {"partial-update.remove-record-on-sequence-group": "g2"},
    "ignoring": {"ignore-delete": "true"},
}
_NAMES = ("id", "a", "g1", "b", "c", "g2", "d", "g3", "free")
_RUNS: Sequence[tuple[str, Sequence[tuple[Any, ...]]]] = (
    ("+I", [(1, 1, 5, 1, 1, 1, 1, 1, 1), (2, 1, None, 1, 1, 2, 2, None, None)]),
    ("+I", [(1, 2, 4, 2, 2, 1, 2, 2, None), (2, 2, 1, 2, 2, 2, 3, 0, 5), (3, *[1] * 8)]),
    ("+I", [(7, 4, None, 4, 4, None, 4, None, 4)]),
    ("+I", [(1, None, 5, 3, 3, None, 3, None, 3), (2, 3, 1, None, 3, 1, 4, 9, None)]),
    ("-D", [(1, 7, 6, None, None, 0, 0, 0, None), (3, 1, None, None, 9, 1, 9, 1, 9)]),
    ("+I", [(1, 4, 6, 4, 4, 3, 4, 0, 4), (4, *[None] * 8), (5, *[2] * 8)]),
    ("-D", [(5, 2, 1, 2, 2, 3, 2, 2, 2), (6, *[1] * 8)]),
    ("+I", [(6, 3, 3, 3, None, 3, None, 3, None)]),
)


def test_sequence_groups_give_what_paimon_gives(
    open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    java = open_java(tmp_path)
    wrong = {}
    for runs, deletes in ((8, True), (8, False), (4, False)):
        for case, more in GROUPS.items():
            name = f"groups.{case}_{runs}_{deletes}"
            options = {"bucket": "1", "write-only": "true", **_GROUPED, **more}
            fields = dict.fromkeys(_NAMES, "INT") | {"id": "INT NOT NULL"}
            table = java.create_table(name, fields, primary_keys=["id"], options=options)
            for kind, rows in _RUNS[:runs]:
                if deletes or kind == "+I":
                    table.write(rows, kind=kind)
            expected, found = to_plain(table.rows()), _ours(tmp_path, name)
            if bag(found) != bag(expected):
                wrong[name] = (sorted(found), sorted(expected))
            some = _ours(tmp_path, name, columns=("id", "c"))
            if bag(some) != bag([row[0], row[4]] for row in expected):
                wrong[f"{name}, some columns"] = (some, expected)
    assert wrong == {}


@pytest.mark.parametrize("engine", ["partial-update", "deduplicate"])
def test_deletes_are_ignored_or_remove_as_in_paimon(
    engine: str, open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    java = open_java(tmp_path)
    choices = {"ignore": "ignore-delete", "remove": "partial-update.remove-record-on-delete"}
    for case, option in choices.items():
        name = f"deletes.{case}"
        options = {"bucket": "1", "write-only": "true", "merge-engine": engine}
        # Deletions are in files only where they were not ignored when they were written.
        table = java.create_table(
            name,
            {"id": "INT NOT NULL", "a": "INT", "b": "INT"},
            primary_keys=["id"],
            options={**options, **({option: "true"} if case == "remove" else {})},
        )
        for kind, rows in (
            ("-D", [(1, 1, None), (2, 1, 1), (5, 1, 1)]),
            ("+I", [(1, None, 2), (3, 1, 1), (4, 1, 1)]),
            ("-D", [(3, None, None), (4, 9, 9)]),
            ("+I", [(4, None, 2), (2, None, 3)]),
            ("-U", [(4, 1, 1)]),
        ):
            table.write(rows, kind=kind)
        if case == "ignore":
            table.set_options({option: "true"})
        assert bag(_ours(tmp_path, name)) == bag(to_plain(table.rows())), case


def test_rows_have_the_ids_that_paimon_tracks(
    open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    java = open_java(tmp_path)
    table = java.create_table(
        "db.tracked",
        {"id": "INT", "name": "STRING"},
        options={"row-tracking.enabled": "true", "bucket": "-1"},
    )
    for start in (0, 3, 6):
        table.write([(start + number, "x") for number in range(3)])
    names = ("id", "name", *(each.name for each in ROW_TRACKING_FIELDS))
    assert bag(_ours(tmp_path, table.name, columns=names)) == bag(
        to_plain(table.system_table("row_tracking").rows)
    )


@pytest.mark.parametrize("engine", ["append", "deduplicate"])
def test_files_outside_the_table_are_read(
    engine: str, open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    java = open_java(tmp_path / "warehouse")
    outside = tmp_path / "outside"
    outside.mkdir()
    table = java.create_table(
        f"db.{engine}",
        {"id": "INT NOT NULL", "name": "STRING"},
        primary_keys=[] if engine == "append" else ["id"],
        options={
            "bucket": "-1" if engine == "append" else "1",
            "data-file.external-paths": f"file://{outside}",
            "data-file.external-paths.strategy": "round-robin",
        },
    )
    table.write([(1, "a"), (2, "b")])
    table.write([(2, "c")])
    assert any(path.is_file() for path in outside.rglob("*.parquet"))
    assert bag(_ours(tmp_path / "warehouse", table.name)) == bag(to_plain(table.rows()))


@pytest.mark.parametrize("keys", [[], ["id"]], ids=["append", "keys"])
def test_changes_between_snapshots_are_those_of_paimon(
    keys: list[str], open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    table = open_java(tmp_path).create_table(
        "db.t",
        {"id": "INT NOT NULL", "name": "STRING"},
        primary_keys=keys,
        options={"bucket": "1" if keys else "-1", "write-only": "true"},
    )
    table.write([(1, "a"), (2, "b"), (3, "c")])
    table.write([(2, "B"), (4, "d")])
    table.compact()
    table.write([(3, "c"), (5, "e")])
    if keys:
        table.delete([(1, None)])
    last = len(table.snapshots())
    warehouse = Warehouse.open(str(tmp_path), read_only=True)
    assert isinstance(warehouse.file_io, FileIO)
    ours = warehouse.table(table.name)
    # Of an append table Paimon reads what was added; of one with keys it compares the states.
    mode = {"incremental-between-scan-mode": "diff"} if keys else {}
    for start, end in ((1, last), (2, last), (1, 2), (2, 3)):
        read = plan_changes(
            warehouse.file_io, ours, ours.snapshots.get(start), ours.snapshots.get(end)
        )
        batches = [batch for task in read.tasks for part in task for batch in read.batches(part)]
        rows = pa.Table.from_batches(batches, read.layout)
        found = [row[1:] for row in plain_rows(rows, RowType(fields=read.fields)) if row[0] != "-D"]
        theirs = table.rows(options={"incremental-between": f"{start},{end}", **mode})
        assert bag(found) == bag(to_plain(theirs)), (start, end)


def _ours(folder: Path, name: str, columns: Sequence[str] | None = None) -> list[list[Any]]:
    warehouse = Warehouse.open(str(folder), read_only=True)
    assert isinstance(warehouse.file_io, FileIO)
    read = plan_table(warehouse.file_io, ReadState.as_it_is(warehouse.table(name)), columns=columns)
    return plain_rows(rows_of(read), RowType(fields=read.task.fields))
