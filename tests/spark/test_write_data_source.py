"""`df.write.format("paimon-branch")`: appends and overwrites, and what it leaves where it fails."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameWriter

from branch_console.commit.journal import Journal
from branch_console.procedures.branch.create_branch import create_branch
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import NoRowEngine
from branch_console.procedures.call.stages import InlineStages
from branch_console.spark.connector.data_source import FORMAT, register
from branch_console.spark.session.session import WarmSession
from tests.support.java_child import Read, read_with_java
from tests.support.write_bench import WriteBench

_COLUMNS = {"id": "INT NOT NULL", "name": "VARCHAR(5)", "day": "STRING NOT NULL"}
_KEYED: dict[str, Any] = {"primary_keys": ("id", "day"), "partition_keys": ("day",)}


@pytest.fixture
def bench(session: WarmSession, tmp_path: Path) -> WriteBench:
    register(session.spark)
    return WriteBench(folder=tmp_path, session=session)


def rows(bench: WriteBench, start: int, end: int, name: str = "n") -> DataFrame:
    return bench.session.spark.range(start, end, numPartitions=2).selectExpr(
        "cast(id as int) as id", f"'{name}' as name", "concat('d', id % 2) as day"
    )


def writing(bench: WriteBench, frame: DataFrame, mode: str, **options: str) -> DataFrameWriter:
    where = {"warehouse": str(bench.folder), "table": "db.t", **options}
    return frame.write.format(FORMAT).mode(mode).options(**where)


def test_java_reads_what_the_format_wrote(bench: WriteBench, java_versions: Sequence[str]) -> None:
    bench.create("t", _COLUMNS, **_KEYED, options={"bucket": "2"})
    writing(bench, rows(bench, 0, 10), "append").save()
    call = ProcedureCall(
        name="create_branch",
        arguments={"table": "db.t", "branch": "dev"},
        actor="test",
        operation_id="branch",
    )
    create_branch(bench.warehouse, NoRowEngine(), call, InlineStages())
    writing(bench, rows(bench, 5, 12, "new"), "append", branch="dev").save()
    only = rows(bench, 100, 101, "over")  # of the partition d0 alone
    writing(bench, only, "overwrite", branch="dev").save()
    old = [(i, "n", f"d{i % 2}") for i in range(10)]
    new = [(i, "new" if i >= 5 else "n", "d1") for i in range(1, 12, 2)]
    expected = {Read(table="db.t"): old, Read(table="db.t$branch_dev"): [*new, (100, "over", "d0")]}
    for version in java_versions:
        answers = read_with_java(version, bench.folder, expected)
        assert {read: sorted(found) for read, found in answers.items()} == {  # type: ignore[arg-type]
            read: sorted(rows) for read, rows in expected.items()
        }
    assert bench.files("t") == bench.named_files("t") | bench.named_files("t", "dev")


@pytest.mark.depth("full")
def test_a_job_that_fails_leaves_nothing(bench: WriteBench) -> None:
    table = bench.create("t", _COLUMNS, **_KEYED, options={"bucket": "2"})
    frame = rows(bench, 0, 10).union(rows(bench, 10, 20, "too long"))
    with pytest.raises(PySparkException, match="Column 'name' is VARCHAR"):
        writing(bench, frame, "append").save()
    assert table.head() is None
    assert bench.files("t") == set()
    assert Journal(bench.warehouse.store, table.paths).unfinished() == ()


@pytest.mark.depth("full")
@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"snapshot": "1"}, {"bucket": "2"}, "'snapshot' is for reading"),
        ({"scan.version": "1"}, {"bucket": "2"}, "'scan.version' is for reading"),
        ({"colour": "red"}, {"bucket": "2"}, "no option 'colour'"),
        ({}, {}, "dynamic buckets"),
        ({}, {"bucket": "2", "deletion-vectors.enabled": "true"}, "once they are compacted"),
    ],
)
def test_what_is_not_written_is_refused_before_a_file(
    bench: WriteBench, columns: dict[str, str], options: dict[str, str], message: str
) -> None:
    bench.create("t", _COLUMNS, **_KEYED, options=options)
    with pytest.raises(PySparkException, match=message):
        writing(bench, rows(bench, 0, 1), "append", **columns).save()
    assert bench.files("t") == set()
