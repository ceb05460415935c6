"""Tables of every kind that Paimon can write here, generated, and what is done to each.

The cells are merge engine x buckets x format x deletion vectors x schema evolution. What Paimon
itself refuses is left out by a rule.
"""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from itertools import combinations, product
from typing import Any, Protocol

from tests.support.java_paimon import JavaPaimon, JavaTable

FIELDS: dict[str, Any] = {
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
    def triples(self) -> frozenset[tuple[tuple[str, object], ...]]:
        """Each three of the values that make the table what it is."""
        values = [(each.name, getattr(self, each.name)) for each in fields(self)]
        return frozenset(combinations(values, 3))

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


def few_of_all() -> list[Cell]:
    """Return few cells in which each three values come together that do so in any: a third."""
    left = {triple for cell in CELLS for triple in cell.triples}
    few = []
    while left:
        few.append(max(CELLS, key=lambda cell: len(cell.triples & left)))
        left -= few[-1].triples
    return few


class RowsOfTable(Protocol):
    """Whoever writes the rows of a table."""

    def write(self, rows: Sequence[tuple[Any, ...]]) -> None: ...

    def delete(self, rows: Sequence[tuple[Any, ...]]) -> None: ...

    def compact(self) -> None: ...

    def delete_positions(self, positions: Mapping[str, Sequence[int]]) -> None: ...


def make_table(java: JavaPaimon, database: str, cell: Cell) -> JavaTable:
    """The table of a cell, without rows."""
    return java.create_table(
        f"{database}.{cell.name}",
        FIELDS,
        partition_keys=["pt"],
        primary_keys=["pt", "id"] if cell.is_keyed else [],
        options=cell.options,
    )


def fill_table(table: JavaTable, cell: Cell, writer: RowsOfTable) -> None:
    """Write, change and delete rows, with changes of the schema in between, which are Java's."""
    writer.write(list(_rows(range(5, 13), 1)))
    if "write-only" in cell.options and cell.bucket != "postpone":
        writer.compact()
    writer.write(list(_rows(range(8, 16), 2)))
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
    writer.write(
        [
            _evolved(row, cell.evolution, added=("late", 77, None))
            for row in _rows((6, 10, 15, 20), 4)
        ]
    )
    if cell.is_keyed:
        gone = [
            _evolved(row, cell.evolution, added=(None,) * 3) for row in _rows((7, 9, 20, 30), 5)
        ]
        writer.delete(gone)
        writer.write([_evolved(row, cell.evolution, added=("x", 1, 2)) for row in _rows((9,), 6)])
    elif cell.has_vectors:
        writer.delete_positions({name: [0] for name in _oldest_files(table)})


def _oldest_files(table: JavaTable) -> list[str]:
    """Three files, the same ones whoever wrote them."""
    names: dict[str, None] = {}
    for snapshot in table.snapshots():
        names |= {
            str(file["file_name"]): None for file in table.live_files(snapshot=snapshot["id"])
        }
    return list(names)[:3]


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
