"""What is wrong is said in one sentence, by the column or the option, and nothing is written."""

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from branch_console.commit.journal import Journal
from branch_console.errors import ErrorKind, InvalidInput, PaimonError
from branch_console.spark.read.readers import read_table
from branch_console.spark.session.session import WarmSession
from branch_console.storage.file_io import FileIO
from branch_console.table.table_state import ReadState
from tests.support.write_bench import WriteBench

_COLUMNS = {
    "id": "INT NOT NULL",
    "name": "VARCHAR(5)",
    "code": "CHAR(2)",
    "price": "DECIMAL(6, 2)",
    "born": "DATE",
    "day": "STRING NOT NULL",
}
_PLAIN = (1, "n", "ab", Decimal("1.50"), dt.date(2024, 1, 1), "d1")


@pytest.fixture(scope="module")
def bench(session: WarmSession, tmp_path_factory: pytest.TempPathFactory) -> WriteBench:
    bench = WriteBench(folder=tmp_path_factory.mktemp("refused"), session=session)
    bench.create("t", _COLUMNS, partition_keys=("day",))
    keyed: dict[str, Any] = {"primary_keys": ("id", "day"), "partition_keys": ("day",)}
    for name, options in _ENGINES.items():
        bench.create(name, _COLUMNS, **keyed, options={"bucket": "1", **options})
    for name, options in _KINDS.items():
        keys = {} if name.startswith("append") else keyed
        bench.create(name, _COLUMNS, **keys, options=options)
    for name, options in _ELSEWHERE.items():
        bench.create(name, _COLUMNS, **keyed, options={"bucket": "1", **options})
    crossing = {"primary_keys": ("id",), "partition_keys": ("day",)}
    bench.create("crossing", _COLUMNS, **crossing)
    for name in ("t", *_ENGINES):
        bench.insert(name, [_PLAIN])
    return bench


_ENGINES: Mapping[str, Mapping[str, str]] = {
    "ignoring": {"ignore-delete": "true"},
    "partial": {"merge-engine": "partial-update"},
    "summing": {"merge-engine": "aggregation", "fields.price.aggregate-function": "sum"},
    "first": {"merge-engine": "first-row"},
    "sequenced": {"sequence.field": "price"},
}
_KINDS: Mapping[str, Mapping[str, str]] = {
    "postponed": {"bucket": "-2"},
    "lanced": {"bucket": "1", "file.format": "lance"},
    "looking": {"bucket": "1", "changelog-producer": "lookup"},
    "waiting": {"bucket": "1", "merge-engine": "first-row", "changelog-producer": "lookup"},
    "append_tracked": {"row-tracking.enabled": "true"},
    "clustered": {"bucket": "1", "pk-clustering-override": "true"},
    "noted": {"bucket": "1", "team": "air"},
    "append_upserting": {"upsert-key": "id"},
    "older": {"bucket": "1", "deduplicate.ignore-delete": "true"},
}


# Readers take rows of these from other branches, too.
_ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    "chained": {
        "chain-table.enabled": "true",
        "scan.fallback-snapshot-branch": "full",
        "scan.fallback-delta-branch": "changes",
    },
    "falling": {"scan.fallback-branch": "older"},
    "second": {"scan.primary-branch": "older"},
}


def state(bench: WriteBench) -> dict[Path, int]:
    return {path: path.stat().st_size for path in bench.folder.rglob("*") if path.is_file()}


def refused(bench: WriteBench, write: Any) -> PaimonError:
    before = state(bench)
    with pytest.raises(PaimonError) as caught:
        write()
    assert state(bench) == before
    assert "\n" not in caught.value.message
    assert Journal(bench.warehouse.store, bench.open("t").paths).unfinished() == ()
    return caught.value


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("chained", "a chain table, whose rows lie on"),
        ("falling", "a table with 'scan.fallback-branch', whose rows lie on 'main' and 'older'"),
        ("second", "a table with 'scan.primary-branch', whose rows lie on 'main' and 'older'"),
    ],
)
def test_rows_on_other_branches_are_not_changed(bench: WriteBench, name: str, kind: str) -> None:
    for write in (
        lambda: bench.update(name, {"name": "'x'"}, "id = 1"),
        lambda: bench.delete(name, "id = 1"),
        lambda: bench.compact(name),
    ):
        assert kind in refused(bench, write).message
    store = bench.warehouse.file_io
    assert isinstance(store, FileIO)
    missing = "a chain table" if name == "chained" else "'older', which does not exist"
    with pytest.raises(InvalidInput, match=missing):
        read_table(bench.session.spark, store, ReadState.as_it_is(bench.open(name)))


def test_newer_rows_than_readers_see_are_not_changed(bench: WriteBench) -> None:
    keys: dict[str, Any] = {"primary_keys": ("id", "day"), "partition_keys": ("day",)}
    for name, key, value, seen in (
        ("held", "scan.snapshot-id", "1", "is read as it was at 1"),
        (
            "telling",
            "incremental-between",
            "0,1",
            "is told by its changes, incremental-between 0,1",
        ),
    ):
        bench.create(name, _COLUMNS, **keys, options={"bucket": "1", key: value})
        bench.insert(name, [_PLAIN])
        for write in (
            partial(bench.update, name, {"name": "'x'"}, "id = 1"),
            partial(bench.delete, name, "id = 1"),
        ):
            assert seen in refused(bench, write).message


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": [1], "day": ["x"], "nmae": ["n"]}, "no column 'nmae'"),
        ({"id": [None], "day": ["x"]}, "Column 'id' must not be null"),
        ({"day": ["x"]}, "Column 'id' must not be null and is left out"),
        ({"id": ["1"], "day": ["x"]}, "Column 'id' is INT NOT NULL and takes no string"),
        ({"id": [2**40], "day": ["x"]}, "Column 'id' is INT NOT NULL and cannot take"),
        ({"id": [1], "day": ["x"], "name": ["123456"]}, r"Column 'name' is VARCHAR\(5\).*6 char"),
        ({"id": [1], "day": ["x"], "code": ["abc"]}, r"Column 'code' is CHAR\(2\).*3 characters"),
        ({"id": [1], "day": ["x"], "price": [Decimal("12345.6")]}, "Column 'price' is DECIMAL"),
        ({"id": [1], "day": ["x"], "born": [True]}, "Column 'born' is DATE and takes no bool"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("as_frame", [False, True], ids=["arrow", "frame"])
def test_rows_that_do_not_fit(
    bench: WriteBench, columns: dict[str, list[Any]], message: str, as_frame: bool
) -> None:
    rows = pa.table(columns)
    given = bench.session.spark.createDataFrame(rows) if as_frame else rows
    error = refused(bench, lambda: bench.insert("t", given))
    with pytest.raises(PaimonError, match=message):
        raise error


def test_rows_by_position_must_be_as_many(bench: WriteBench) -> None:
    frame = bench.session.spark.sql("select 1, 'n'")
    error = refused(bench, lambda: bench.insert("t", frame, by_position=True))
    assert "takes 6 columns" in error.message


def test_numbers_become_text_and_are_rounded_as_in_spark(bench: WriteBench) -> None:
    bench.create("fitting", _COLUMNS, partition_keys=("day",))
    frame = bench.session.spark.sql(
        "select 1.0 as id, 42 as name, 1.005 as price, timestamp '2024-05-06 07:08:09' as born, "
        "date '2024-01-02' as day"
    )
    bench.insert("fitting", frame)
    (unit,) = bench.files("fitting")
    (path,) = bench.folder.rglob(unit)
    (row,) = pq.ParquetFile(path).read().to_pylist()
    assert row == {
        "id": 1,
        "name": "42",
        "code": None,
        "price": Decimal("1.01"),
        "born": dt.date(2024, 5, 6),
        "day": "2024-01-02",
    }


@pytest.mark.parametrize(
    ("table", "write", "message"),
    [
        ("t", lambda b, t: b.delete(t, "nmae = 'n'"), "nmae"),
        ("t", lambda b, t: b.delete(t, "id = "), "wrong"),
        ("t", lambda b, t: b.update(t, {"nmae": "1"}, None), "no column 'nmae'"),
        ("t", lambda b, t: b.update(t, {"id": "null"}, None), "'id' must not be null"),
        ("t", lambda b, t: b.update(t, {"name": "'123456'"}, None), "'name' is VARCHAR"),
        ("t", lambda b, t: b.overwrite(t, [], partition={"id": 1}), "no partition column"),
        ("ignoring", lambda b, t: b.delete(t, "id = 1"), "'ignore-delete'"),
        ("partial", lambda b, t: b.delete(t, "id = 1"), "remove-record-on-delete"),
        ("summing", lambda b, t: b.delete(t, "id = 1"), "remove-record-on-delete"),
        ("first", lambda b, t: b.delete(t, "id = 1"), "'first-row'"),
        ("partial", lambda b, t: b.update(t, {"id": "2"}, None), "primary key"),
        ("partial", lambda b, t: b.update(t, {"name": "null"}, None), "would not show"),
        ("summing", lambda b, t: b.update(t, {"name": "'x'"}, None), "'aggregation'"),
        ("sequenced", lambda b, t: b.update(t, {"price": "price - 1"}, None), "would not show"),
        ("postponed", lambda b, t: b.insert(t, [_PLAIN]), "postpone"),
        ("crossing", lambda b, t: b.insert(t, [_PLAIN]), "dynamic across partitions"),
        ("lanced", lambda b, t: b.insert(t, [_PLAIN]), "lance"),
        ("waiting", lambda b, t: b.insert(t, [_PLAIN]), "changelog-producer"),
        ("looking", lambda b, t: b.compact(t), "changelog-producer"),
        ("append_tracked", lambda b, t: b.delete(t, "id = 1"), "row-tracking"),
        ("append_tracked", lambda b, t: b.compact(t), "row-tracking"),
        ("clustered", lambda b, t: b.insert(t, [_PLAIN]), "'pk-clustering-override' = 'true'"),
        ("clustered", lambda b, t: b.delete(t, "id = 1"), "'pk-clustering-override' = 'true'"),
        ("noted", lambda b, t: b.insert(t, [_PLAIN]), "'custom.team'"),
        ("noted", lambda b, t: b.overwrite(t, [_PLAIN]), "'team' is on no list"),
        ("noted", lambda b, t: b.update(t, {"name": "'x'"}, None), "'team' is on no list"),
        ("noted", lambda b, t: b.compact(t), "'team' is on no list"),
        ("append_upserting", lambda b, t: b.insert(t, [_PLAIN]), "'upsert-key' = 'id'"),
        ("older", lambda b, t: b.delete(t, "id = 1"), "'ignore-delete'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_statements_that_are_wrong_or_not_served(
    bench: WriteBench, table: str, write: Any, message: str
) -> None:
    error = refused(bench, lambda: write(bench, table))
    assert message in error.message
    assert error.kind in (ErrorKind.INVALID_ARGUMENT, ErrorKind.UNSUPPORTED)
