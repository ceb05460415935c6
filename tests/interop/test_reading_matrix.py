"""Tables of every kind that Paimon can write here, read by the code that runs in Spark's tasks.

The cells are generated: merge engine x buckets x format x deletion vectors x schema evolution. What
Paimon itself refuses is left out by a rule.
"""

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from core.procedures.warehouse import Warehouse
from core.spark.readers import plan_table
from core.storage.file_io import FileIO
from tests.support.golden import to_plain
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.local_tables import rows_of
from tests.support.plain_rows import bag, plain_rows
from tests.support.warehouses import VERSIONS

_FIELDS: dict[str, Any] = {
    "pt": "STRING NOT NULL",
    "id": "INT NOT NULL",
    "amount": "INT",
    "ratio": "FLOAT",
    "name": "STRING",
    "spare": "STRING",
    "price": "DECIMAL(10, 2)",
    "at": "TIMESTAMP(6)",
    "day": "DATE",
    "tags": {"type": "ARRAY", "element": "STRING"},
    "info": {
        "type": "ROW",
        "fields": [
            {"id": 0, "name": "a", "type": "INT"},
            {"id": 1, "name": "b", "type": "STRING"},
        ],
    },
    "flags": {"type": "MAP", "key": "STRING NOT NULL", "value": "INT"},
}
_ENGINES: Mapping[str, Mapping[str, str]] = {
    "append": {},
    "deduplicate": {},
    "first-row": {"ignore-delete": "true"},
    "partial-update": {"partial-update.remove-record-on-delete": "true"},
    "aggregation": {
        "aggregation.remove-record-on-delete": "true",
        "fields.amount.aggregate-function": "sum",
        "fields.ratio.aggregate-function": "max",
        "fields.tags.aggregate-function": "collect",
        "fields.at.aggregate-function": "first_value",
        "fields.day.aggregate-function": "min",
    },
}
_BUCKETS = {"fixed": "1", "dynamic": "-1", "unaware": "-1", "postpone": "-2"}
_SCHEMAS = ("as made", "columns", "types")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A kind of table."""

    engine: str
    bucket: str
    file_format: str
    has_vectors: bool
    evolution: str

    @property
    def is_keyed(self) -> bool:
        return self.engine != "append"

    @property
    def is_legal(self) -> bool:
        if not self.is_keyed:
            # Vectors of such tables are made by engines, here for tables without buckets alone.
            return self.bucket == "unaware" or (self.bucket == "fixed" and not self.has_vectors)
        if self.bucket == "unaware" or (self.engine == "first-row" and self.has_vectors):
            return False
        # Nothing of these is visible, so they are not worth many cells.
        return self.bucket != "postpone" or self.evolution == "as made"

    @property
    def name(self) -> str:
        parts = (self.engine, self.bucket, self.file_format, self.evolution)
        vectors = ("vectors",) if self.has_vectors else ()
        return "_".join((*parts, *vectors)).replace(" ", "_").replace("-", "_")

    @property
    def options(self) -> dict[str, str]:
        options = {
            "bucket": _BUCKETS[self.bucket],
            "file.format": self.file_format,
            "deletion-vectors.enabled": str(self.has_vectors).lower(),
            "snapshot.num-retained.min": "100",
            **_ENGINES[self.engine],
        }
        if self.is_keyed and not self.has_vectors and self.engine != "first-row":
            # Only so are there runs that overlap; of the others readers see what is compacted.
            options["write-only"] = "true"
        if self.engine == "append" and self.bucket == "fixed":
            options |= {"bucket": "2", "bucket-key": "id"}
        return options


CELLS = [
    cell
    for engine, bucket, file_format, has_vectors, evolution in product(
        _ENGINES, _BUCKETS, ("parquet", "orc", "avro"), (False, True), _SCHEMAS
    )
    if (
        cell := Cell(
            engine=engine,
            bucket=bucket,
            file_format=file_format,
            has_vectors=has_vectors,
            evolution=evolution,
        )
    ).is_legal
]


def test_every_kind_of_table_reads_as_in_paimon(
    open_java: Callable[[Path], JavaPaimon],
    tmp_path: Path,
    paimon_version: str,
    pytestconfig: pytest.Config,
) -> None:
    # The two versions of Paimon share the cells between them, except in a long run.
    is_long = pytestconfig.getoption("--depth") == "long"
    share = VERSIONS.index(paimon_version)
    cells = [cell for cell in CELLS if is_long or crc32(cell.name.encode()) % 2 == share]
    java = open_java(tmp_path)
    warehouse = Warehouse.open(str(tmp_path), read_only=True)
    wrong: dict[str, str] = {}
    seen = 0
    for cell in cells:
        try:
            table = _written(java, cell)
            expected = bag(to_plain(table.rows()))
            found = bag(_ours(warehouse, table.name))
        except Exception as error:  # the cell must be named whatever happened
            wrong[cell.name] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
            continue
        seen += sum(expected.values())
        if found != expected:
            wrong[cell.name] = f"{dict(found - expected)} for {dict(expected - found)}"
    assert wrong == {}, f"{len(wrong)} of {len(cells)}"
    assert len(CELLS) >= 150
    assert seen > 8 * len(cells)


def _ours(warehouse: Warehouse, name: str) -> list[list[Any]]:
    table = warehouse.table(name)
    assert isinstance(warehouse.file_io, FileIO)
    return plain_rows(rows_of(plan_table(warehouse.file_io, table)), table.schema().row_type)


def _written(java: JavaPaimon, cell: Cell) -> JavaTable:
    table = java.create_table(
        f"matrix.{cell.name}",
        _FIELDS,
        partition_keys=["pt"],
        primary_keys=["pt", "id"] if cell.is_keyed else [],
        options=cell.options,
    )
    table.write(list(_rows(range(5, 13), 1)))
    if "write-only" in cell.options and cell.bucket != "postpone":
        table.compact()
    table.write(list(_rows(range(8, 16), 2)))
    match cell.evolution:
        case "columns":
            table.add_column("note", "STRING")
            table.rename_column("name", "title")
            table.drop_column("spare")
            table.add_column("spare", "INT")
            table.add_column("info.c", "BIGINT")
        case "types":
            table.retype_column("amount", "BIGINT")
            table.retype_column("ratio", "DOUBLE")
            table.retype_column("price", "DECIMAL(14, 2)")
            table.retype_column("info.a", "BIGINT")
    table.write(
        [
            _evolved(row, cell.evolution, added=("late", 77, None))
            for row in _rows((6, 10, 15, 20), 4)
        ]
    )
    if cell.is_keyed:
        gone = [
            _evolved(row, cell.evolution, added=(None,) * 3) for row in _rows((7, 9, 20, 30), 5)
        ]
        table.delete(gone)
        table.write([_evolved(row, cell.evolution, added=("x", 1, 2)) for row in _rows((9,), 6)])
    elif cell.has_vectors:
        names = [file["file_name"] for file in table.live_files()]
        table.delete_positions({name: [0] for name in names[:3]})
    return table


def _rows(ids: Any, version: int) -> Iterator[tuple[Any, ...]]:
    for number in ids:
        half = number % 2 == version % 2
        yield (
            "a" if number < 10 else "b",
            number,
            None if half else number * version,
            None if number % 3 == 0 else number / version,
            None if half else f"name {number} of {version}",
            "spare",
            Decimal(number * version) / 4,
            dt.datetime(2026, 1, version, 2, 3, 4, number),
            dt.date(2026, 1, 1) + dt.timedelta(days=number - 3 * version),
            None if number % 4 == 0 else [f"t{version}", None, ""],
            None if number % 5 == 0 else (number, None if half else "b"),
            {"k": version} if half else {},
        )


def _evolved(row: tuple[Any, ...], evolution: str, added: tuple[Any, Any, Any]) -> tuple[Any, ...]:
    if evolution != "columns":
        return row
    note, spare, inner = added
    info = None if row[10] is None else (*row[10], inner)
    return (*row[:5], *row[6:10], info, row[11], note, spare)
