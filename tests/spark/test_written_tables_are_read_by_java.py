"""Both versions of Paimon read what we write and commit."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.schema.schema_commit import (
    add_column,
    change_schema,
    create_table,
    new_schema,
)
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.format.data_types import DataField, DataType, parse_data_type
from branch_console.format.identifier import Identifier
from branch_console.format.values.arrow_types import arrow_schema
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.spark.session.session import WarmSession
from branch_console.spark.write.writers import write_rows
from branch_console.storage.file_io import FileIO
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable
from tests.support.java_child import Read, read_with_java
from tests.support.warehouses import each_version

Rows = list[tuple[Any, ...]]


@dataclass
class Bench:
    """A warehouse that only we write, and what must be read from it."""

    folder: Path
    session: WarmSession
    expected: dict[Read, Rows] = field(default_factory=dict)

    @property
    def store(self) -> FileIO:
        return FileIO.for_url(str(self.folder))

    def create(self, name: str, columns: dict[str, str], **settings: Any) -> FileStoreTable:
        fields: list[tuple[str, DataType]] = [
            (column, parse_data_type(written)) for column, written in columns.items()
        ]
        paths = TablePaths(table=f"{self.folder}/db.db/{name}")
        create_table(CommitStore.of(self.store), paths, new_schema(fields, **settings))
        return self.open(name)

    def open(self, name: str) -> FileStoreTable:
        path = f"{self.folder}/db.db/{name}"
        return FileStoreTable.open(self.store, path, Identifier.parse(f"db.{name}"))

    def write(self, table: FileStoreTable, rows: pa.Table) -> None:
        messages = write_rows(self.session, self.store, table, rows)
        commit = FileStoreCommit(table, CommitStore.of(self.store))
        assert commit.commit(messages, user="test") is not None

    def expect(self, name: str, rows: Rows, **where: Any) -> None:
        self.expected[Read(table=f"db.{name}", **where)] = rows


ATOMIC = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INT",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "decimal9": "DECIMAL(9, 2)",
    "decimal18": "DECIMAL(18, 4)",
    "decimal38": "DECIMAL(38, 10)",
    "char": "CHAR(3)",
    "string": "STRING",
    "binary": "BINARY(2)",
    "bytes": "BYTES",
    "date": "DATE",
    "time": "TIME(3)",
    "timestamp0": "TIMESTAMP(0)",
    "timestamp3": "TIMESTAMP(3)",
    "timestamp6": "TIMESTAMP(6)",
    "ltz3": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "ltz6": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
}
_AT = dt.datetime(2024, 2, 29, 23, 59, 58, 123456)
_YEAR_ONE = dt.datetime(1, 1, 1)
_ODD = {
    "boolean": (True, False),
    "tinyint": (1, -128),
    "smallint": (2, -32768),
    "int": (3, -(2**31)),
    "bigint": (4, -(2**63)),
    "float": (0.5, float("-inf")),
    "double": (-2.25, 1e300),
    "decimal9": (Decimal("1.25"), Decimal("-9999999.99")),
    "decimal18": (Decimal("-7.0001"), Decimal("99999999999999.9999")),
    "decimal38": (Decimal("12345678901234.5"), Decimal("-1e-10")),
    "char": ("abc", "   "),
    "string": ("grüße, 世界 👋", ""),
    "binary": (b"\x00\xff", b"ab"),
    "bytes": (b"", bytes(range(256))),
    "date": (dt.date(1969, 12, 31), dt.date(9999, 12, 31)),
    "time": (dt.time(1, 2, 3, 4000), dt.time(23, 59, 59, 999000)),
    "timestamp0": (_AT.replace(microsecond=0), _YEAR_ONE),
    "timestamp3": (_AT.replace(microsecond=123000), dt.datetime(1900, 1, 1)),
    "timestamp6": (_AT, dt.datetime(1582, 10, 1, 0, 0, 0, 1)),
    "ltz3": (_AT.replace(microsecond=0, tzinfo=dt.UTC), dt.datetime(1970, 1, 1, tzinfo=dt.UTC)),
    "ltz6": (_AT.replace(tzinfo=dt.UTC), dt.datetime(2262, 1, 1, tzinfo=dt.UTC)),
}
_VALUES: Rows = [
    *(tuple(_ODD[name][number] for name in ATOMIC) for number in range(2)),
    (None,) * len(ATOMIC),
]


def _typed(columns: dict[str, Any], rows: Rows) -> pa.Table:
    fields = tuple(
        DataField(id=i, name=name, type=parse_data_type(written))
        for i, (name, written) in enumerate(columns.items())
    )
    dictionaries = [dict(zip(columns, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(dictionaries, schema=arrow_schema(fields))


_FORMATS = ("parquet", "orc", "avro")


def _held(file_format: str) -> tuple[dict[str, Any], Rows]:
    """What the format can hold: ORC no times with a zone, and no spaces behind a CHAR."""
    if file_format != "orc":
        return ATOMIC, _VALUES
    names = [name for name in ATOMIC if not name.startswith("ltz")]
    odd = {**_ODD, "char": ("abc", " b"), "timestamp6": (_AT, dt.datetime(1582, 10, 1, 0, 0, 1))}
    rows: Rows = [tuple(odd[name][number] for name in names) for number in range(2)]
    return {name: ATOMIC[name] for name in names}, [*rows, (None,) * len(names)]


def atomic_values(warehouse: Bench) -> None:
    for file_format in _FORMATS:
        columns, rows = _held(file_format)
        name = f"atomic_{file_format}"
        table = warehouse.create(name, columns, options={"file.format": file_format})
        warehouse.write(table, _typed(columns, rows))
        warehouse.expect(name, rows)


def atomic_values_under_a_key(warehouse: Bench) -> None:
    for file_format in _FORMATS:
        columns, values = _held(file_format)
        columns, rows = {"id": "INT", **columns}, [(i, *row) for i, row in enumerate(values)]
        name = f"keyed_atomic_{file_format}"
        options = {"bucket": "2", "file.format": file_format}
        table = warehouse.create(name, columns, primary_keys=("id",), options=options)
        warehouse.write(table, _typed(columns, rows))
        warehouse.expect(name, rows)


def every_type_of_key(warehouse: Bench) -> None:
    for name, written in ATOMIC.items():
        columns = {"k": written, "v": "INT"}
        table = warehouse.create(
            f"key_{name}", columns, primary_keys=("k",), options={"bucket": "3"}
        )
        rows = [(value, number) for number, value in enumerate(_ODD[name])]
        warehouse.write(table, _typed(columns, rows))
        warehouse.write(table, _typed(columns, [(key, number + 10) for key, number in rows]))
        warehouse.expect(f"key_{name}", [(key, number + 10) for key, number in rows])


def fine_timestamps(warehouse: Bench) -> None:
    columns = {
        "t9": "TIMESTAMP(9)",
        "z9": "TIMESTAMP(9) WITH LOCAL TIME ZONE",
        "t3": "TIMESTAMP(3)",
        "t6": "TIMESTAMP(6)",
    }
    table = warehouse.create("fine", columns)
    nanos = np.datetime64("2024-02-29T23:59:58.123456789", "ns")
    rows = pa.table(
        {
            "t9": pa.array([nanos, None]),
            "z9": pa.array([nanos, None]).cast(pa.timestamp("ns", "UTC")),
            "t3": pa.array([_AT.replace(microsecond=123000), None], pa.timestamp("ms")),
            "t6": pa.array([_AT, None], pa.timestamp("us")),
        }
    )
    warehouse.write(table, rows)
    warehouse.expect("fine", [(nanos, nanos, _AT.replace(microsecond=123000), _AT), (None,) * 4])


def nested_values(warehouse: Bench) -> None:
    columns: dict[str, Any] = {
        "id": "INT",
        "list": {"type": "ARRAY", "element": {"type": "ARRAY", "element": "STRING"}},
        "map": {"type": "MAP", "key": "STRING NOT NULL", "value": "DECIMAL(20, 3)"},
        "bag": {"type": "MULTISET", "element": "STRING"},
    }
    rows = [
        (1, [["a", None], [], None], [("x", Decimal("1.500")), ("y", None)], [("m", 2)]),
        (2, [], [], []),
        (3, None, None, None),
    ]
    for file_format in _FORMATS:
        name = f"nested_{file_format}"
        table = warehouse.create(name, columns, options={"file.format": file_format})
        warehouse.write(table, _typed(columns, rows))
        warehouse.expect(name, rows)


def partitions_and_buckets(warehouse: Bench) -> None:
    columns = {"id": "INT", "v": "STRING", "pt": "STRING", "day": "DATE"}
    table = warehouse.create(
        "parted",
        columns,
        primary_keys=("id", "pt", "day"),
        partition_keys=("pt", "day"),
        options={"bucket": "4"},
    )
    days = [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]
    rows = [(i, f"v{i}", f"p/{i % 3}", days[i % 2]) for i in range(500)]
    warehouse.write(table, _typed(columns, rows))
    changed = [(i, "changed", f"p/{i % 3}", days[i % 2]) for i in range(0, 500, 7)]
    warehouse.write(table, _typed(columns, changed))
    gone = _typed(columns, [rows[1], rows[2]]).append_column(
        "_VALUE_KIND", pa.array([3, 3], pa.int8())
    )
    warehouse.write(table, gone)
    now = {row[0]: row for row in rows} | {row[0]: row for row in changed}
    warehouse.expect("parted", rows, snapshot=1)
    warehouse.expect("parted", [row for i, row in now.items() if i not in {1, 2}])


def buckets_without_a_key(warehouse: Bench) -> None:
    columns = {"a": "INT", "b": "STRING"}
    options = {"bucket": "3", "bucket-key": "a"}
    table = warehouse.create("bucketed", columns, options=options)
    rows = [(i, f"b{i}") for i in range(100)]
    warehouse.write(table, _typed(columns, rows[:50]))
    warehouse.write(table, _typed(columns, rows[50:]))
    warehouse.expect("bucketed", rows)


def many_files(warehouse: Bench) -> None:
    columns = {"id": "BIGINT", "v": "DOUBLE"}
    table = warehouse.create(
        "rolled",
        columns,
        primary_keys=("id",),
        options={"bucket": "1", "target-file-size": "64 kb"},
    )
    rows = [(i, i * 1.37) for i in range(30_000)]
    warehouse.write(table, _typed(columns, rows[::-1]))
    warehouse.expect("rolled", rows)


def merge_engines(warehouse: Bench) -> None:
    columns = {"id": "INT", "v": "INT", "w": "INT"}
    rows = [(1, 5, None), (1, None, 6), (2, 1, 1), (1, 7, None)]
    # Paimon serves first-row from compacted files only, so what a writer makes cannot be seen.
    engines = (
        ("partial-update", (1, 7, 6), {}),
        ("aggregation", (1, 12, 6), {"fields.v.aggregate-function": "sum"}),
        ("deduplicate", (1, None, 6), {"sequence.field": "w,v"}),
    )
    for (engine, first, options), file_format in product(engines, _FORMATS):
        name = f"engine_{engine.replace('-', '_')}_{file_format}"
        table = warehouse.create(
            name,
            columns,
            primary_keys=("id",),
            options={"bucket": "1", "merge-engine": engine, "file.format": file_format, **options},
        )
        warehouse.write(table, _typed(columns, rows))
        warehouse.expect(name, [first, (2, 1, 1)])


def a_thin_file_and_an_older_schema(warehouse: Bench) -> None:
    columns = {"id": "INT", "v": "INT"}
    table = warehouse.create(
        "thin",
        columns,
        primary_keys=("id",),
        options={"bucket": "1", "data-file.thin-mode": "true"},
    )
    warehouse.write(table, _typed(columns, [(1, 1), (2, 2)]))
    change_schema(
        table,
        CommitStore.of(warehouse.store),
        [add_column("note", parse_data_type("STRING"))],
        now_millis=1,
    )
    warehouse.write(warehouse.open("thin"), pa.table({"id": [2], "v": [9], "note": ["new"]}))
    warehouse.expect("thin", [(1, 1, None), (2, 9, "new")])


def frames(warehouse: Bench) -> None:
    columns = {"id": "BIGINT", "name": "STRING", "pt": "STRING"}
    table = warehouse.create(
        "framed",
        columns,
        primary_keys=("id", "pt"),
        partition_keys=("pt",),
        options={"bucket": "2"},
    )
    frame = warehouse.session.spark.sql(
        "select id, concat('n', id) as name, cast(id % 3 as string) as pt from range(1000)"
    )
    messages = write_rows(warehouse.session, warehouse.store, table, frame)
    FileStoreCommit(table, CommitStore.of(warehouse.store)).commit(messages, user="test")
    warehouse.expect("framed", [(i, f"n{i}", str(i % 3)) for i in range(1000)])


CASES: tuple[Callable[[Bench], None], ...] = (
    atomic_values,
    atomic_values_under_a_key,
    every_type_of_key,
    fine_timestamps,
    nested_values,
    partitions_and_buckets,
    buckets_without_a_key,
    many_files,
    merge_engines,
    a_thin_file_and_an_older_schema,
    frames,
)


@pytest.fixture(scope="module")
def written(session: WarmSession, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    warehouse = Bench(folder=tmp_path_factory.mktemp("written"), session=session)
    for case in CASES:
        case(warehouse)
    return warehouse


@each_version
def test_java_reads_the_rows_that_were_written(written: Bench, version: str) -> None:
    answers = read_with_java(version, written.folder, written.expected)
    wrong = {
        read: answers[read]
        for read, rows in written.expected.items()
        if isinstance(answers[read], str) or _sorted(answers[read]) != _sorted(rows)
    }
    assert wrong == {}


@each_version
def test_java_reads_every_healthy_branch_of_the_demo(demo: Warehouse, version: str) -> None:
    flights = 336_776
    expected = {
        "air.airlines": 16,
        "air.airlines$branch_us-airways-merger": 16,
        "air.airlines$branch_airtran-merger": 16,
        "air.airlines$branch_new-carriers": 0,
        "air.airports": 1_458,
        "air.planes": 3_322,
        "air.planes$branch_fleet-facts": 3_322,
        "air.weather": 26_115,
        "air.weather$branch_kennedy-first": 21_784,
        "air.weather$branch_fix-wind": 19_618,
        "air.weather$branch_missing-hours": 26_131,
        "air.flights": flights,
        "air.flights$branch_fix-delays": flights - 1_025,
        "air.flights$branch_lost-tails": flights,
        "air.flights$branch_backfill-2013-12": flights - 1_025,
        "air.flights$branch_audit": 166_158,
        "air.flights$branch_old-experiment": 80_789,
        "reports.daily_delays": 3 * 365,
        "reports.carriers": 16,
        "reports.carriers$branch_airtran-merger": 16,
    }
    tagged = Read(table="air.flights", tag="2013-q1", only_count=True)
    reads = {Read(table=name, only_count=True): count for name, count in expected.items()}
    answers = read_with_java(version, Path(demo.url), {**reads, tagged: 0})
    assert answers == {**reads, tagged: 80_789}


@each_version
def test_java_sees_what_a_branch_of_the_demo_changed(demo: Warehouse, version: str) -> None:
    main, branch = Read(table="air.planes"), Read(table="air.planes$branch_fleet-facts")
    merger = Read(table="air.airlines$branch_us-airways-merger")
    answers = read_with_java(version, Path(demo.url), (main, branch, merger))
    ours, theirs, airlines = ({row[0]: row for row in answers[read]} for read in answers)
    assert ours["N102UW"][3] == "AIRBUS INDUSTRIE"
    assert len(ours["N102UW"]) == 11
    assert theirs["N102UW"][3] == "AIRBUS"
    assert (theirs["N102UW"][6], theirs["N102UW"][7]) == (182, False)
    assert airlines["US"][1] == "American Airlines Inc. (US Airways)"


def _sorted(rows: Any) -> list[str]:
    return sorted(repr(tuple(map(_plain, row))) for row in rows)


def _plain(value: Any) -> Any:
    """A value in one spelling: decimals that are equal may have other numbers of zeros."""
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value.normalize() if isinstance(value, Decimal) else value
