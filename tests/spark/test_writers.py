from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.data_types import DataField, parse_data_type
from branch_console.format.identifier import Identifier
from branch_console.format.options import Options
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_row import decode_row
from branch_console.spark.engine import SparkRowEngine
from branch_console.spark.session.session import WarmSession
from branch_console.spark.write.writers import write_rows
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable


def make_table(
    warehouse: Path,
    fields: Mapping[str, object],
    *,
    keys: tuple[str, ...] = (),
    partitions: tuple[str, ...] = (),
    options: Mapping[str, str] | None = None,
) -> FileStoreTable:
    """A table without snapshots."""
    schema = TableSchema(
        id=0,
        fields=tuple(
            DataField(id=i, name=name, type=parse_data_type(kind))
            for i, (name, kind) in enumerate(fields.items())
        ),
        highest_field_id=len(fields) - 1,
        partition_keys=partitions,
        primary_keys=keys,
        options=Options(options or {}),
    )
    folder = warehouse / "db.db" / "t"
    (folder / "schema").mkdir(parents=True)
    (folder / "schema" / "schema-0").write_text(schema.to_json())
    return FileStoreTable.open(
        FileIO.for_url(str(warehouse)), str(folder), Identifier.parse("db.t")
    )


def rows_of(table: FileStoreTable, messages: tuple[CommitMessage, ...]) -> list[dict[str, Any]]:
    """The rows of the files that the messages add, each file read where its entry says."""
    found: list[dict[str, Any]] = []
    schema = table.schema()
    for message in messages:
        values = decode_row(message.partition, schema.partition_type.types)
        folder = "/".join(
            f"{key}={value}" for key, value in zip(schema.partition_keys, values, strict=True)
        )
        for entry in message.new_files.to_pylist():
            path = table.data_paths().data_file(folder, message.bucket, entry["file_name"])
            rows = pq.ParquetFile(path).read().to_pylist()
            assert len(rows) == entry["row_count"]
            found += rows
    return found


KEYED = {"id": "INT NOT NULL", "name": "STRING", "pt": "STRING NOT NULL"}


def test_an_append_table_gets_its_rows(session: WarmSession, tmp_path: Path) -> None:
    table = make_table(tmp_path, {"a": "INT", "at": "TIME(0)", "pt": "STRING"}, partitions=("pt",))
    rows = pa.table(
        {"a": range(100), "at": pa.array(range(100), pa.time32("ms")), "pt": ["x", "y"] * 50}
    )
    store = FileIO.for_url(str(tmp_path))
    messages = write_rows(session, store, table, rows)
    assert [(message.bucket, message.total_buckets) for message in messages] == [(0, -1), (0, -1)]
    assert sorted(row["a"] for row in rows_of(table, messages)) == list(range(100))
    assert {row["at"] for row in rows_of(table, messages)} == set(rows["at"].to_pylist())


def test_many_rows_without_buckets_are_written_by_several_tasks(
    session: WarmSession, tmp_path: Path
) -> None:
    table = make_table(tmp_path, {"a": "BIGINT", "b": "DOUBLE"})
    count = 2_000_000
    rows = pa.table({"a": range(count), "b": pa.array(range(count), pa.float64())})
    (message,) = write_rows(session, FileIO.for_url(str(tmp_path)), table, rows)
    assert message.new_files.num_rows >= 2
    assert sum(message.new_files["row_count"].to_pylist()) == count


@pytest.mark.parametrize("as_frame", [False, True], ids=["arrow", "data frame"])
def test_the_last_row_of_a_key_wins_however_they_come(
    session: WarmSession, tmp_path: Path, as_frame: bool
) -> None:
    table = make_table(
        tmp_path, KEYED, keys=("id", "pt"), partitions=("pt",), options={"bucket": "2"}
    )
    count = 30_000
    rows = pa.table(
        {
            "id": [i % 5_000 for i in range(count)],
            "name": [f"name {i}" for i in range(count)],
            "pt": [f"p{i % 5}" for i in range(count)],
        }
    )
    given = session.spark.createDataFrame(rows) if as_frame else rows
    messages = write_rows(session, FileIO.for_url(str(tmp_path)), table, given)
    assert len(messages) == 10
    found = {row["id"]: row["name"] for row in rows_of(table, messages)}
    assert found == {i: f"name {i + count - 5_000}" for i in range(5_000)}
    per_bucket = Counter((message.partition, message.bucket) for message in messages)
    assert max(per_bucket.values()) == 1


def test_deletes_are_written_as_rows_of_their_kind(session: WarmSession, tmp_path: Path) -> None:
    table = make_table(
        tmp_path, KEYED, keys=("id", "pt"), partitions=("pt",), options={"bucket": "1"}
    )
    rows = pa.table({"id": [1, 2], "pt": ["x", "x"], "_VALUE_KIND": pa.array([0, 3], pa.int8())})
    engine = SparkRowEngine(lambda: session, FileIO.for_url(str(tmp_path)))
    (message,) = engine.write_rows(table, rows, lambda done, total: None)
    assert message.new_files["delete_row_count"].to_pylist() == [1]


def test_no_rows_make_no_message(session: WarmSession, tmp_path: Path) -> None:
    table = make_table(tmp_path, {"a": "INT"})
    rows = pa.table({"a": pa.array([], pa.int32())})
    assert write_rows(session, FileIO.for_url(str(tmp_path)), table, rows) == ()


def test_rows_that_do_not_fit_are_refused_with_their_reason(
    session: WarmSession, tmp_path: Path
) -> None:
    table = make_table(tmp_path, KEYED, keys=("id", "pt"), options={"bucket": "1"})
    store = FileIO.for_url(str(tmp_path))
    rows = pa.table({"id": [1, None], "name": ["a", "b"], "pt": ["x", "x"]})
    with pytest.raises(InvalidInput, match="Column 'id' must not be null"):
        write_rows(session, store, table, rows)
    assert not list(tmp_path.rglob("*.parquet"))
    with pytest.raises(InvalidInput, match="Column 'id' must not be null"):
        write_rows(session, store, table, session.spark.createDataFrame(rows))


def test_a_store_in_memory_cannot_be_written_by_tasks(session: WarmSession, tmp_path: Path) -> None:
    table = make_table(tmp_path, {"a": "INT"})
    with pytest.raises(InvalidInput) as caught:
        write_rows(session, FileIO.for_url("memory://wh"), table, pa.table({"a": [1]}))
    assert caught.value.kind is ErrorKind.UNSUPPORTED
