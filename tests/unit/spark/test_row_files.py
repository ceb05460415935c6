"""Rows come back from each format as they went in, whatever their types."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from branch_console.errors import InvalidInput
from branch_console.format.data_types import INT, parse_data_type
from branch_console.format.values.arrow_types import arrow_schema
from branch_console.spark.files.row_files import check_format
from branch_console.spark.read.readers import plan_table
from branch_console.table.table_state import ReadState
from tests.support.local_tables import LocalTable, rows_of
from tests.support.plain_rows import plain_rows
from tests.support.table_files import a_schema

_ROW: dict[str, Any] = {
    "type": "ROW",
    "fields": [
        {"id": 20, "name": "at", "type": "TIMESTAMP(6)"},
        {"id": 21, "name": "sums", "type": {"type": "ARRAY", "element": "DECIMAL(38, 9)"}},
    ],
}
_COLUMNS: dict[str, Any] = {
    "id": "INT NOT NULL",
    "flag": "BOOLEAN",
    "tiny": "TINYINT",
    "amount": "DECIMAL(10, 2)",
    "name": "VARCHAR(20)",
    "data": "BYTES",
    "day": "DATE",
    "hour": "TIME(3)",
    "t0": "TIMESTAMP(0)",
    "t6": "TIMESTAMP(6)",
    "z3": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "rows": {"type": "ARRAY", "element": _ROW},
    "by_text": {"type": "MAP", "key": "STRING NOT NULL", "value": _ROW},
    "by_day": {"type": "MAP", "key": "DATE NOT NULL", "value": "TIME(3)"},
    "bag": {"type": "MULTISET", "element": "INT NOT NULL"},
    "vector": {"type": "VECTOR", "element": "FLOAT NOT NULL", "length": 2},
}
_AT = dt.datetime(2024, 2, 29, 23, 59, 58, 123456)
_BEFORE = dt.datetime(1812, 6, 24, 1, 2, 3, 4000)
_PART = {"at": _AT, "sums": [Decimal("-12345678901234567890.123456789"), None, Decimal(0)]}
_ROWS: list[dict[str, Any]] = [
    {
        "id": 1,
        "flag": True,
        "tiny": -128,
        "amount": Decimal("-1.28"),
        "name": "grüße",
        "data": b"\x00\xff",
        "day": dt.date(1969, 12, 31),
        "hour": dt.time(1, 2, 3, 4000),
        "t0": _AT.replace(microsecond=0),
        "t6": _BEFORE,
        "z3": _AT.replace(microsecond=123000, tzinfo=dt.UTC),
        "rows": [_PART, None, {"at": None, "sums": []}],
        "by_text": [("a", _PART), ("b", None)],
        "by_day": [(dt.date(2024, 1, 1), dt.time(4)), (dt.date(2024, 1, 2), None)],
        "bag": [(7, 2)],
        "vector": [0.5, -1.0],
    },
    {"id": 2},
    {"id": 3, "rows": [], "by_text": [], "by_day": [], "bag": []},
    {"id": 4, "amount": Decimal("1.27"), "by_day": [(dt.date(1, 1, 1), dt.time(23, 59, 59))]},
]


def _table(folder: Path, options: dict[str, str]) -> tuple[LocalTable, pa.Table]:
    # ORC takes no times with a zone.
    columns = {
        name: _COLUMNS[name] for name in _COLUMNS if options["file.format"] != "orc" or name != "z3"
    }
    types = [(name, parse_data_type(written)) for name, written in columns.items()]
    schema = a_schema(columns=types, options=options)
    return LocalTable(folder, schema), pa.Table.from_pylist(
        _ROWS, schema=arrow_schema(schema.fields)
    )


@pytest.mark.parametrize(
    ("file_format", "codec"),
    [
        ("parquet", "zstd"),
        *(("orc", codec) for codec in ("zstd", "snappy", "lz4", "zlib", "none")),
        *(("avro", codec) for codec in ("zstd", "snappy", "deflate", "none")),
    ],
)
def test_rows_come_back_as_they_went_in(tmp_path: Path, file_format: str, codec: str) -> None:
    table, rows = _table(tmp_path, {"file.format": file_format, "file.compression": codec})
    # Of a slice the children of nested columns hold more than its rows do.
    table.append(rows.slice(1))
    table.append(rows.slice(0, 1))
    assert all(path.suffix == f".{file_format}" for path in tmp_path.rglob("data-*"))
    kind = table.newest.row_type
    found = rows_of(plan_table(table.file_io, ReadState.as_it_is(table.table())))
    assert sorted(plain_rows(found, kind)) == sorted(plain_rows(rows, kind))


@pytest.mark.parametrize("file_format", ["orc", "avro"])
def test_a_file_ends_where_it_is_large_enough(tmp_path: Path, file_format: str) -> None:
    table, rows = _table(tmp_path, {"file.format": file_format, "target-file-size": "64 kb"})
    many = pa.concat_tables([rows.slice(0, 1)] * 4000)
    noise = Random(7)
    data = pa.array([noise.randbytes(100) for _ in range(many.num_rows)])
    many = many.set_column(many.column_names.index("data"), many.schema.field("data"), data)
    table.append(many)
    sizes = [path.stat().st_size for path in tmp_path.rglob(f"data-*.{file_format}")]
    assert len(sizes) > 3
    assert max(sizes) < 3 * (64 << 10)
    read = plan_table(table.file_io, ReadState.as_it_is(table.table()))
    assert rows_of(read).num_rows == many.num_rows


@pytest.mark.parametrize("column", ["t6", "rows"])
def test_a_time_that_paimon_could_not_read_from_orc_is_refused(tmp_path: Path, column: str) -> None:
    early = dt.datetime(1969, 12, 31, 23, 59, 59, 1)
    table, rows = _table(tmp_path, {"file.format": "orc"})
    value = early if column == "t6" else [{"at": early, "sums": []}]
    with pytest.raises(InvalidInput, match=f"'{column}' holds a time before 1970"):
        table.append(pa.Table.from_pylist([{"id": 1, column: value}], schema=rows.schema))


@pytest.mark.parametrize(
    ("file_format", "written", "told"),
    [
        ("avro", {"type": "MULTISET", "element": "DATE"}, "MULTISET<DATE>"),
        ("orc", {"type": "VECTOR", "element": "FLOAT", "length": 2}, "VECTOR<FLOAT, 2>"),
        *(
            ("parquet", {"type": kind, **parts}, told)
            for kind, parts, told in (
                ("ARRAY", {"element": _COLUMNS["vector"]}, "ARRAY<VECTOR"),
                ("MAP", {"key": "INT", "value": _COLUMNS["vector"]}, "MAP<INT, VECTOR"),
            )
        ),
    ],
)
def test_what_paimon_could_not_read_again_is_refused(
    file_format: str, written: Any, told: str
) -> None:
    nested = {"type": "ROW", "fields": [{"id": 9, "name": "part", "type": written}]}
    for kind in (written, nested):
        columns = [("id", INT), ("c", parse_data_type(kind))]
        schema = a_schema(columns=columns, options={"file.format": file_format})
        with pytest.raises(InvalidInput, match=f"Column 'c' holds {told}.* to {file_format} files"):
            check_format(schema)


@pytest.mark.parametrize("file_format", ["parquet", "avro"])
def test_sets_of_texts_and_vectors_are_written(file_format: str) -> None:
    for written in (_COLUMNS["vector"], {"type": "MULTISET", "element": "STRING"}):
        columns = [("c", parse_data_type(written))]
        check_format(a_schema(columns=columns, options={"file.format": file_format}))


def test_parquet_files_keep_no_bounds_and_dictionaries_that_mislead_paimon(tmp_path: Path) -> None:
    written = {
        "f": "FLOAT", "d": {"type": "ARRAY", "element": "DOUBLE"}, "fine": "TIMESTAMP(9)",
        "wide": "DECIMAL(38, 0)", "small": "DECIMAL(18, 0)", "text": "STRING",
    }  # fmt: skip
    schema = a_schema(columns=[(name, parse_data_type(kind)) for name, kind in written.items()])
    table = LocalTable(tmp_path, schema)
    row = {"f": 1.0, "d": [1.0], "fine": 1, "wide": 0, "small": 0, "text": "a"}
    table.append(pa.Table.from_pylist([row] * 9, schema=arrow_schema(schema.fields)))
    (path,) = tmp_path.rglob("data-*.parquet")
    group = pq.read_metadata(path).row_group(0)
    leaves = [group.column(at) for at in range(group.num_columns)]
    names = list(written)
    assert [name for name, leaf in zip(names, leaves, strict=True) if leaf.is_stats_set] == [
        "wide",
        "small",
        "text",
    ]
    assert [
        name for name, leaf in zip(names, leaves, strict=True) if not leaf.has_dictionary_page
    ] == ["wide"]
