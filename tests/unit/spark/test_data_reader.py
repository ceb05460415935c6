"""Data files piece by piece: deleted rows and row ids count over the whole file."""

import datetime as dt
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from branch_console.commit.schema.schema_commit import new_schema
from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.data_types import STRING, DataField, RowType, parse_data_type
from branch_console.format.values.arrow_types import arrow_schema, to_arrow
from branch_console.format.values.deletion_vector import write_deletion_vectors
from branch_console.spark.files.data_reader import (
    ROW_TRACKING_FIELDS,
    DataFile,
    DeletedRows,
    check_formats,
    read_data_file,
    read_pieces,
)
from branch_console.storage.file_io import FileIO
from tests.support.local_tables import LocalTable
from tests.support.table_files import a_schema

SCHEMAS = {0: a_schema(0)}
FIELDS = SCHEMAS[0].fields
ROWS = pa.table({"id": pa.array(range(10), pa.int32()), "name": [f"n{n}" for n in range(10)]})


def a_file(folder: Path, name: str = "data-1.parquet", **more: object) -> DataFile:
    path = folder / name
    return DataFile(path=str(path), size=path.stat().st_size, schema_id=0, **more)  # type: ignore[arg-type]


def test_a_large_file_comes_in_pieces_without_its_deleted_rows(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "data-1.parquet", row_group_size=4)
    data, ranges = write_deletion_vectors({"data-1.parquet": [0, 3, 4, 9]})
    (tmp_path / "index-1").write_bytes(data)
    deleted = DeletedRows(index_path=str(tmp_path / "index-1"), range=ranges[0])
    file = a_file(tmp_path, deleted=deleted, first_row_id=100, sequence_number=7)
    store = FileIO.for_url(str(tmp_path))
    pieces = list(
        read_pieces(store, file, SCHEMAS, (*FIELDS, *ROW_TRACKING_FIELDS), with_system=False)
    )
    assert [piece["id"].to_pylist() for piece in pieces] == [[1, 2], [5, 6, 7], [8]]
    whole = pa.concat_tables(pieces)
    assert whole["_ROW_ID"].to_pylist() == [101, 102, 105, 106, 107, 108]
    assert set(whole["_SEQUENCE_NUMBER"].to_pylist()) == {7}


@pytest.mark.parametrize("name", ["data-1.parquet", "data-1.orc"])
def test_a_file_without_rows_has_its_columns(tmp_path: Path, name: str) -> None:
    write = pq.write_table if name.endswith("parquet") else orc.write_table
    write(ROWS.slice(0, 0), str(tmp_path / name))
    added = DataField(id=9, name="later", type=STRING)
    store = FileIO.for_url(str(tmp_path))
    found = read_data_file(
        store, a_file(tmp_path, name), SCHEMAS, (*FIELDS, added), with_system=False
    )
    assert found.num_rows == 0
    assert found.schema.names == ["id", "name", "later"]


@pytest.mark.parametrize(
    ("written", "wanted", "value"),
    [
        ("INT", "BIGINT", 7),
        ("INT", "DECIMAL(12, 1)", Decimal("7.0")),
        ("INT", "STRING", "7"),
        ("INT", "DOUBLE", 7.0),
        ("INT", "BOOLEAN", True),
        ("INT", "VARCHAR(3)", "7"),
        ("INT", "TIMESTAMP(3)", dt.datetime(1970, 1, 1, 0, 0, 7)),
        ("INT", "TIMESTAMP(3) WITH LOCAL TIME ZONE", None),
        ("STRING", "VARCHAR(2)", "ab"),
        ("STRING", "INT", None),
        ("STRING", "CHAR(9)", "abc      "),
        ("VARCHAR(3)", "STRING", "abc"),
        ("CHAR(3)", "VARCHAR(5)", "abc"),
    ],
)
def test_values_of_an_older_type_are_read_where_it_is_known_what_paimon_makes_of_them(
    tmp_path: Path, written: str, wanted: str, value: object
) -> None:
    of_type = parse_data_type(written)
    schemas = {0: a_schema(0, (("c", of_type),))}
    rows = pa.table({"c": pa.array([7 if written == "INT" else "abc"]).cast(to_arrow(of_type))})
    pq.write_table(rows, tmp_path / "data-1.parquet")
    fields = (DataField(id=0, name="c", type=parse_data_type(wanted)),)
    store = FileIO.for_url(str(tmp_path))
    if value is None:
        with pytest.raises(InvalidInput, match=re.escape(f"and is {wanted}")) as refused:
            read_data_file(store, a_file(tmp_path), schemas, fields, with_system=False)
        assert refused.value.kind is ErrorKind.UNSUPPORTED
    else:
        found = read_data_file(store, a_file(tmp_path), schemas, fields, with_system=False)
        assert found["c"].to_pylist() == [value]


@pytest.mark.parametrize("wanted", [("a.b",), ("a",), ("a", "a.b"), ("k`x", "a.b"), ("a.b", "c d")])
@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_a_column_is_found_by_its_whole_name(
    tmp_path: Path, form: str, wanted: tuple[str, ...]
) -> None:
    """A name with a dot is that of a field of a row to the readers of files, too."""
    inner = DataField(id=9, name="b", type=STRING)
    kinds = {"k`x": STRING, "a.b": STRING, "a": RowType(fields=(inner,)), "c d": STRING}
    values = {"k`x": "tick", "a.b": "outer", "a": {"b": "inner"}, "c d": "blank"}
    schemas = {0: a_schema(0, tuple(kinds.items()))}
    rows = pa.table({n: pa.array([v], to_arrow(kinds[n])) for n, v in values.items()})
    write = pq.write_table if form == "parquet" else orc.write_table
    write(rows, str(tmp_path / f"data-1.{form}"))
    fields = tuple(schemas[0].field(name) for name in wanted)
    store = FileIO.for_url(str(tmp_path))
    found = read_data_file(
        store, a_file(tmp_path, f"data-1.{form}"), schemas, fields, with_system=False
    )
    assert found.to_pylist() == [{name: values[name] for name in wanted}]


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_rows_that_are_null_have_no_required_fields(tmp_path: Path, file_format: str) -> None:
    """On whatever level they lie."""
    text = {"id": 12, "name": "b", "type": "STRING NOT NULL"}
    inner = {"type": "ROW NOT NULL", "fields": [text]}
    number = {"id": 10, "name": "a", "type": "INT NOT NULL"}
    row = {"type": "ROW", "fields": [number, {"id": 11, "name": "r", "type": inner}]}
    columns = {
        "k": "INT",
        "l": {"type": "ARRAY", "element": row},
        "m": {"type": "MAP", "key": "STRING NOT NULL", "value": row},
    }
    fields = tuple(
        DataField(id=at, name=name, type=parse_data_type(kind))
        for at, (name, kind) in enumerate(columns.items())
    )
    options = {"bucket": "-1", "file.format": file_format}
    plain = new_schema([], options=options)
    schema = replace(plain, fields=fields, highest_field_id=12)
    table = LocalTable(tmp_path, schema)
    full = {"a": 1, "r": {"b": "x"}}
    given = [
        {"k": 1, "l": [full, None], "m": [("p", None), ("q", full)]},
        {"k": 2, "l": None, "m": None},
    ]
    snapshot = table.append(pa.Table.from_pylist(given, schema=arrow_schema(schema.fields)))
    (file,) = tmp_path.rglob(f"data-*.{file_format}")
    read = DataFile(path=str(file), size=file.stat().st_size, schema_id=snapshot.schema_id)
    store = FileIO.for_url(str(tmp_path))
    found = read_data_file(store, read, {schema.id: schema}, schema.fields, with_system=False)
    assert found.to_pylist() == given


def test_other_formats_are_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match=r"does not read the format of data-1\.csv\.gz"):
        check_formats(["data-1.avro", "data-1.csv.gz"])
