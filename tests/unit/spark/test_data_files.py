import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.data_types import DataField, parse_data_type
from branch_console.format.manifest_entry import MANIFEST_ENTRY
from branch_console.format.options import Options
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_row import EMPTY_ROW, decode_row, encode_row
from branch_console.format.values.bucket import assign_buckets
from branch_console.spark.files.conform import conform
from branch_console.spark.files.data_files import (
    WriteTarget,
    WrittenFiles,
    check_writable,
    split,
    write_bucket,
)
from branch_console.spark.files.row_files import file_schema
from branch_console.storage.file_io import FileIO
from branch_console.storage.table_paths import TablePaths

CREATED = dt.datetime(2024, 5, 6, 7, 8, 9)


def schema_of(
    fields: dict[str, object],
    *,
    keys: tuple[str, ...] = (),
    partitions: tuple[str, ...] = (),
    **options: str,
) -> TableSchema:
    return TableSchema(
        id=3,
        fields=tuple(
            DataField(id=i, name=name, type=parse_data_type(kind))
            for i, (name, kind) in enumerate(fields.items())
        ),
        highest_field_id=len(fields) - 1,
        partition_keys=partitions,
        primary_keys=keys,
        options=Options(
            {name.replace("__", ".").replace("_", "-"): v for name, v in options.items()}
        ),
    )


def target_of(schema: TableSchema, folder: Path) -> WriteTarget:
    return WriteTarget(
        schema=schema,
        paths=TablePaths(table=f"{folder}/db.db/t"),
        store=FileIO.for_url(str(folder)),
        created=CREATED,
    )


def write(target: WriteTarget, rows: pa.Table, next_sequence: int = 0) -> list[WrittenFiles]:
    return [
        write_bucket(
            target, partition, bucket, [part], next_sequence=next_sequence, file_id=f"id{number}"
        )
        for number, (partition, bucket, part) in enumerate(
            split(conform(rows, target.schema), target)
        )
    ]


def read(folder: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for path in sorted(folder.rglob("*.parquet")):
        yield path.relative_to(folder / "db.db" / "t").as_posix(), pq.read_table(path).to_pylist()


KEYED = schema_of(
    {"id": "INT NOT NULL", "name": "STRING", "pt": "STRING NOT NULL"},
    keys=("id", "pt"),
    partitions=("pt",),
    bucket="1",
)


def test_a_keyed_file_has_the_columns_and_field_ids_of_paimon() -> None:
    found = [
        (field.name, str(field.type), field.nullable, field.metadata[b"PARQUET:field_id"])
        for field in file_schema(KEYED)
    ]
    assert found == [
        ("_KEY_id", "int32", False, b"1073741823"),
        ("_SEQUENCE_NUMBER", "int64", False, b"2147483646"),
        ("_VALUE_KIND", "int8", False, b"2147483645"),
        ("id", "int32", False, b"0"),
        ("name", "string", True, b"1"),
        ("pt", "string", False, b"2"),
    ]


def test_a_thin_file_leaves_the_keys_to_the_columns() -> None:
    thin = replace(KEYED, options=KEYED.options.merged({"data-file.thin-mode": "true"}))
    assert file_schema(thin).names == ["_SEQUENCE_NUMBER", "_VALUE_KIND", "id", "name", "pt"]


def test_parts_of_a_column_get_derived_field_ids() -> None:
    nested = schema_of(
        {
            "a": {"type": "ARRAY", "element": "INT"},
            "m": {"type": "MAP", "key": "STRING NOT NULL", "value": "INT"},
            "r": {"type": "ROW", "fields": [{"id": 9, "name": "x", "type": "INT"}]},
        }
    )
    layout = file_schema(nested)
    ids = b"PARQUET:field_id"
    assert layout.field("a").type.value_field.metadata[ids] == b"536870912"
    assert layout.field("m").type.key_field.metadata[ids] == b"536869886"
    assert layout.field("m").type.item_field.metadata[ids] == b"536871936"
    assert layout.field("r").type.field(0).metadata[ids] == b"9"


def test_rows_are_sorted_by_key_and_the_last_of_a_key_wins(tmp_path: Path) -> None:
    rows = pa.table({"id": [3, 1, 3, 2], "name": ["c", "a", "C", "b"], "pt": ["x"] * 4})
    (written,) = write(target_of(KEYED, tmp_path), rows, next_sequence=10)
    ((name, found),) = read(tmp_path)
    assert name == "pt=x/bucket-0/data-id0-0.parquet"
    assert [(row["_KEY_id"], row["name"], row["_SEQUENCE_NUMBER"]) for row in found] == [
        (1, "a", 11),
        (2, "b", 13),
        (3, "C", 12),
    ]
    (entry,) = written.new_files.to_pylist()
    assert written.new_files.schema == MANIFEST_ENTRY
    assert decode_row(entry["min_key"], KEYED.key_type.types) == (1,)
    assert decode_row(entry["max_key"], KEYED.key_type.types) == (3,)
    assert (entry["min_sequence_number"], entry["max_sequence_number"]) == (11, 13)
    assert (entry["row_count"], entry["delete_row_count"], entry["level"]) == (3, 0, 0)
    assert (entry["schema_id"], entry["total_buckets"], entry["file_source"]) == (3, 1, 0)
    assert entry["creation_time"] == CREATED
    assert entry["partition"] == encode_row(("x",), KEYED.partition_type.types)
    size = next(tmp_path.rglob("*.parquet")).stat().st_size
    assert entry["file_size"] == size


def test_deleted_keys_are_counted(tmp_path: Path) -> None:
    rows = pa.table(
        {"id": [1, 2, 1], "name": ["a", "b", "a"], "pt": ["x"] * 3, "_VALUE_KIND": [0, 0, 3]}
    )
    (written,) = write(target_of(KEYED, tmp_path), rows)
    ((_, found),) = read(tmp_path)
    assert [(row["id"], row["_VALUE_KIND"]) for row in found] == [(1, 3), (2, 0)]
    assert written.new_files["delete_row_count"].to_pylist() == [1]


def test_a_user_sequence_decides_before_arrival(tmp_path: Path) -> None:
    schema = schema_of(
        {"id": "INT NOT NULL", "at": "INT", "v": "STRING"},
        keys=("id",),
        bucket="1",
        sequence__field="at",
    )
    rows = pa.table({"id": [1, 1, 1], "at": [5, 9, None], "v": ["old", "new", "none"]})
    write(target_of(schema, tmp_path), rows)
    ((_, found),) = read(tmp_path)
    assert [row["v"] for row in found] == ["new"]


@pytest.mark.parametrize(
    ("engine", "files"),
    [
        ("deduplicate", [[(1, 3), (2, 9)]]),
        ("first-row", [[(1, 1), (2, 9)]]),
        ("aggregation", [[(1, 1), (2, 9)], [(1, 2)], [(1, 3)]]),
    ],
)
def test_no_run_holds_a_key_twice(
    tmp_path: Path, engine: str, files: list[list[tuple[int, int]]]
) -> None:
    schema = schema_of(
        {"id": "INT NOT NULL", "v": "INT"}, keys=("id",), bucket="1", merge_engine=engine
    )
    write(target_of(schema, tmp_path), pa.table({"id": [1, 2, 1, 1], "v": [1, 9, 2, 3]}))
    assert [[(row["id"], row["v"]) for row in rows] for _, rows in read(tmp_path)] == files


def test_a_changelog_keeps_every_row_as_it_came(tmp_path: Path) -> None:
    schema = schema_of(
        {"id": "INT NOT NULL", "v": "INT"}, keys=("id",), bucket="1", changelog_producer="input"
    )
    (written,) = write(
        target_of(schema, tmp_path),
        pa.table({"id": [2, 1, 2], "v": [1, 2, 3], "_VALUE_KIND": [0, 0, 3]}),
    )
    names = written.changelog_files["file_name"].to_pylist()
    assert names == ["changelog-id0-1.parquet"]
    rows = dict(read(tmp_path))["bucket-0/changelog-id0-1.parquet"]
    assert [(row["id"], row["v"], row["_VALUE_KIND"]) for row in rows] == [
        (1, 2, 0),
        (2, 1, 0),
        (2, 3, 3),
    ]


def test_rows_go_to_the_partition_and_bucket_of_their_columns(tmp_path: Path) -> None:
    schema = replace(KEYED, options=KEYED.options.merged({"bucket": "3"}))
    rows = pa.table(
        {
            "id": list(range(50)),
            "name": [f"n{i}" for i in range(50)],
            "pt": ["a/b", "c"] * 25,
        }
    )
    target = target_of(schema, tmp_path)
    seen = 0
    for partition, bucket, part in split(conform(rows, schema), target):
        (value,) = decode_row(partition, schema.partition_type.types)
        assert set(part["pt"].to_pylist()) == {value}
        assert set(assign_buckets(part, schema).to_pylist()) == {bucket}
        assert part["id"].to_pylist() == sorted(part["id"].to_pylist())
        seen += part.num_rows
    assert seen == 50
    write(target, rows)
    assert any(name.startswith("pt=a%2Fb/bucket-") for name, _ in read(tmp_path))


def test_an_append_file_has_no_keys_and_counts_its_rows(tmp_path: Path) -> None:
    schema = schema_of({"a": "INT", "b": "STRING"})
    (written,) = write(target_of(schema, tmp_path), pa.table({"b": ["y", "x"], "a": [1, None]}))
    ((name, found),) = read(tmp_path)
    assert (name, found) == (
        "bucket-0/data-id0-0.parquet",
        [{"a": 1, "b": "y"}, {"a": None, "b": "x"}],
    )
    (entry,) = written.new_files.to_pylist()
    assert (entry["bucket"], entry["total_buckets"]) == (0, -1)
    assert (entry["min_key"], entry["max_key"]) == (EMPTY_ROW, EMPTY_ROW)
    assert (entry["min_sequence_number"], entry["max_sequence_number"]) == (0, 1)
    assert entry["value_stats"]["null_counts"] == [1, 0]
    assert decode_row(entry["value_stats"]["min_values"], schema.row_type.types) == (1, "x")
    assert decode_row(entry["value_stats"]["max_values"], schema.row_type.types) == (1, "y")


def test_a_large_bucket_is_rolled_into_files_of_the_target_size(tmp_path: Path) -> None:
    schema = schema_of(
        {"id": "BIGINT NOT NULL", "v": "DOUBLE"},
        keys=("id",),
        bucket="1",
        target_file_size="200 kb",
    )
    count = 200_000
    rows = pa.table({"id": list(range(count, 0, -1)), "v": [i * 1.37 for i in range(count)]})
    (written,) = write(target_of(schema, tmp_path), rows)
    files = written.new_files
    assert files.num_rows > 3
    assert sum(files["row_count"].to_pylist()) == count
    assert max(files["file_size"].to_pylist()) < 400 << 10
    ranges = [
        (decode_row(low, schema.key_type.types), decode_row(high, schema.key_type.types))
        for low, high in zip(
            files["min_key"].to_pylist(), files["max_key"].to_pylist(), strict=True
        )
    ]
    assert all(before[1] < after[0] for before, after in pairwise(ranges))
    assert files["file_name"].to_pylist() == [
        f"data-id0-{i}.parquet" for i in range(files.num_rows)
    ]


def test_parquet_holds_values_as_paimon_does(tmp_path: Path) -> None:
    schema = schema_of(
        {
            "d9": "DECIMAL(9, 2)",
            "d18": "DECIMAL(18, 2)",
            "d30": "DECIMAL(30, 2)",
            "t3": "TIMESTAMP(3)",
            "z6": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
            "tiny": "TINYINT",
        }
    )
    row = {
        "d9": Decimal("1.50"),
        "d18": Decimal("2.50"),
        "d30": Decimal("3.50"),
        "t3": CREATED,
        "z6": CREATED,
        "tiny": 1,
    }
    write(target_of(schema, tmp_path), pa.Table.from_pylist([row]))
    layout = pq.ParquetFile(next(tmp_path.rglob("*.parquet"))).schema
    assert [layout.column(i).physical_type for i in range(6)] == [
        "INT32",
        "INT64",
        "FIXED_LEN_BYTE_ARRAY",
        "INT64",
        "INT64",
        "INT32",
    ]
    assert "isAdjustedToUTC=true" in str(layout.column(4).logical_type)
    fine = schema_of({"t9": "TIMESTAMP(9)"})
    write(target_of(fine, tmp_path / "fine"), pa.table({"t9": pa.array([1], pa.timestamp("ns"))}))
    layout = pq.ParquetFile(next((tmp_path / "fine").rglob("*.parquet"))).schema
    assert layout.column(0).physical_type == "INT96"


def test_columns_are_matched_by_name_and_widened() -> None:
    schema = schema_of({"a": "BIGINT", "b": "STRING", "c": "INT"})
    found = conform(pa.table({"b": ["x"], "a": pa.array([1], pa.int8())}), schema)
    assert found.to_pylist() == [{"a": 1, "b": "x", "c": None}]
    assert found.schema.types == [pa.int64(), pa.string(), pa.int32()]


def test_a_column_left_out_takes_its_default() -> None:
    schema = schema_of({"a": "INT", "b": "INT"})
    field = replace(schema.fields[1], default_value="7")
    found = conform(pa.table({"a": [1, 2]}), replace(schema, fields=(schema.fields[0], field)))
    assert found["b"].to_pylist() == [7, 7]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ({"id": [1], "pt": ["x"], "nme": ["a"]}, "The table has no column 'nme'"),
        ({"id": [None], "pt": ["x"]}, "Column 'id' must not be null, and 1 of 1 rows are"),
        ({"id": ["one"], "pt": ["x"]}, "Column 'id' is INT NOT NULL and cannot take"),
        ({"id": [1], "pt": ["x"], "_VALUE_KIND": [4]}, "A row kind is one of"),
    ],
)
def test_rows_that_do_not_fit_are_refused(rows: dict[str, list[Any]], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        conform(pa.table(rows), KEYED)


def test_rows_of_an_append_table_cannot_be_deleted() -> None:
    with pytest.raises(InvalidInput, match="Only inserts"):
        conform(pa.table({"a": [1], "_VALUE_KIND": [3]}), schema_of({"a": "INT"}))


def test_ignored_deletes_are_left_out() -> None:
    schema = replace(KEYED, options=KEYED.options.merged({"ignore-delete": "true"}))
    rows = pa.table({"id": [1, 2], "pt": ["x", "x"], "_VALUE_KIND": [3, 0]})
    assert conform(rows, schema)["id"].to_pylist() == [2]


def test_a_column_may_name_the_row_kind() -> None:
    schema = schema_of(
        {"id": "INT NOT NULL", "op": "STRING"}, keys=("id",), bucket="1", rowkind__field="op"
    )
    found = conform(pa.table({"id": [1, 2], "op": ["+I", "-D"]}), schema)
    assert found["_VALUE_KIND"].to_pylist() == [0, 3]


@pytest.mark.parametrize(
    "schema",
    [
        schema_of({"id": "INT NOT NULL"}, keys=("id",)),
        schema_of({"id": "INT NOT NULL"}, keys=("id",), bucket="-2"),
        schema_of({"a": "INT"}, file__format="lance"),
        schema_of({"a": "INT"}, file__compression="lz4"),
        schema_of({"a": "BLOB"}),
        schema_of({"a": {"type": "ARRAY", "element": "TIMESTAMP(9)"}}, file__format="avro"),
        schema_of({"a": "TIME(6)"}, file__format="avro"),
        schema_of({"a": "VARIANT"}, file__format="orc"),
        schema_of({"a": "TIMESTAMP(3) WITH LOCAL TIME ZONE"}, file__format="orc"),
    ],
    ids=[
        "dynamic buckets",
        "postponed",
        "lance",
        "lz4",
        "blob",
        "nanos",
        "micros",
        "variant",
        "zone",
    ],
)
def test_what_cannot_be_written_is_refused_by_name(schema: TableSchema) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_writable(schema)
    assert caught.value.kind is ErrorKind.UNSUPPORTED
