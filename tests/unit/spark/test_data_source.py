"""What the options of the format ask for, and which filters of Spark are understood."""

import datetime as dt
import traceback
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import datasource as spark
from pyspark.sql.types import StructType

from branch_console.errors import NotFound, PaimonError
from branch_console.expr.predicate import parse_condition
from branch_console.format.data_types import INT, STRING, AtomicType, TypeRoot
from branch_console.spark.connector.data_source import (
    BranchDataSource,
    FilteredReader,
    condition_of,
)
from branch_console.spark.connector.notebook_errors import sentence_first
from tests.support.local_tables import LocalTable
from tests.support.table_files import a_schema

COLUMNS = (
    ("id", INT),
    ("name", STRING),
    ("ratio", AtomicType(root=TypeRoot.DOUBLE)),
    ("at", AtomicType(root=TypeRoot.TIMESTAMP, precision=3)),
    ("day", AtomicType(root=TypeRoot.DATE)),
    ("price", AtomicType(root=TypeRoot.DECIMAL, precision=10, scale=2)),
)
SCHEMA = a_schema(0, COLUMNS)
DAY = dt.date(2026, 1, 2)
TIME = dt.datetime(2026, 1, 2, 3, 4, 5)


def test_a_refusal_is_a_sentence_before_its_traceback(tmp_path: Path) -> None:
    options = {"warehouse": str(tmp_path), "table": "db.t"}
    wrong: list[dict[str, str]] = [{"branch": "dev"}, {"snapshot": "x"}, {"brnch": "x"}]
    for more in wrong:
        source = BranchDataSource({**options, **more})
        for refused in (source.schema, source.reader(StructType()).partitions):
            with pytest.raises(PaimonError) as error:
                refused()
            # As Spark does where it makes a traceback shorter.
            error.value.__cause__ = None
            shown = "".join(traceback.format_exception(error.value))
            first = shown.splitlines()[0]
            assert first.startswith("branch_console.errors."), shown
            assert first.endswith(error.value.message), shown


def test_the_notes_of_a_refusal_are_kept() -> None:
    refusal = NotFound("There is none.")
    refusal.add_note("What a task tells of it.")
    with pytest.raises(NotFound) as error, sentence_first():
        raise refusal
    assert error.value.__notes__ == ["What a task tells of it."]


@pytest.mark.parametrize(
    ("pushed", "condition"),
    [
        (spark.EqualTo(("id",), 3), "id = 3"),
        (spark.GreaterThan(("name",), "x"), "name > 'x'"),
        (spark.LessThanOrEqual(("day",), DAY), "day <= '2026-01-02'"),
        (spark.EqualTo(("at",), TIME), "at = '2026-01-02 03:04:05'"),
        (spark.EqualTo(("price",), Decimal("1.50")), "price = 1.50"),
        (spark.In(("id",), (1, 2)), "id in (1, 2)"),
        (spark.Not(spark.In(("id",), (1, 2))), "not id in (1, 2)"),
        (spark.IsNull(("ratio",)), "ratio is null"),
        (spark.IsNotNull(("ratio",)), "ratio is not null"),
        (spark.EqualNullSafe(("id",), 3), "id = 3"),
    ],
)
def test_a_filter_of_spark_becomes_a_condition(pushed: spark.Filter, condition: str) -> None:
    assert condition_of(pushed, SCHEMA) == parse_condition(condition)


@pytest.mark.parametrize(
    "pushed",
    [
        spark.GreaterThan(("ratio",), 0.5),  # NaN is greater to Spark
        spark.EqualTo(("id", "part"), 3),
        spark.EqualTo(("id",), None),
        spark.EqualTo(("nobody",), 3),
        spark.EqualTo(("at",), TIME.replace(microsecond=1)),
        spark.In(("id",), (1, None)),
        spark.Not(spark.EqualNullSafe(("id",), 3)),  # true where it is null
        spark.StringStartsWith(("name",), "x"),
    ],
)
def test_a_filter_that_means_something_else_to_spark_is_left_to_it(pushed: spark.Filter) -> None:
    assert condition_of(pushed, SCHEMA) is None


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> LocalTable:
    made = LocalTable(tmp_path_factory.mktemp("warehouse"), a_schema(0))
    for number in range(3):
        made.append(pa.table({"id": pa.array([number], pa.int32()), "name": [f"n{number}"]}))
    return made


def read(table: LocalTable, *pushed: spark.Filter, **options: str) -> list[dict[str, Any]]:
    named = {name.replace("_", "-"): value for name, value in options.items()}
    reader = FilteredReader({"path": table.paths.table, **named})
    assert reader.pushFilters(list(pushed)) == list(pushed)
    batches = [batch for each in reader.partitions() for batch in reader.read(each)]
    return [row for batch in batches for row in batch.to_pylist()]


def test_options_choose_state_columns_and_rows(table: LocalTable) -> None:
    assert [row["id"] for row in read(table)] == [0, 1, 2]
    assert [row["id"] for row in read(table, snapshot="2")] == [0, 1]
    assert [row["id"] for row in read(table, timestamp="1970-01-01T00:02:30")] == [0, 1]
    for option, value in (
        ("scan.snapshot-id", "2"),
        ("scan.version", "2"),
        ("scan.timestamp", "1970-01-01 00:02:30"),
        ("scan.timestamp-millis", "150000"),
    ):
        assert [row["id"] for row in read(table, **{option: value})] == [0, 1], option
    assert read(table, columns="name", filter="id > 1") == [{"name": "n2"}]
    assert read(table, spark.EqualTo(("id",), 1), columns="name") == [{"name": "n1"}]
    assert read(table, spark.EqualTo(("id",), 9)) == []
    assert read(table, changes="1,2", columns="id") == [{"rowkind": "+I", "id": 1}]
    # In the words of Paimon they are rows of the table, to which filters may be handed.
    millis = {"incremental_between_timestamp": "90000,150000"}
    for options in ({"incremental_between": "1,2"}, millis):
        assert read(table, **options, columns="id") == [{"id": 1}], options
    assert read(table, spark.EqualTo(("id",), 9), incremental_between="0,3") == []


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"snapshot": "99"}, "snapshot 99"),
        ({"snapshot": "first"}, "no snapshot id"),
        ({"tag": "v9"}, "v9"),
        ({"timestamp": "noon"}, "'noon'"),
        ({"snapshot": "1", "tag": "v"}, "only one of"),
        ({"snapshot": "1", "scan.version": "1"}, "only one of"),
        ({"scan.snapshot-id": "first"}, "'first'"),
        ({"branch": "main", "scan.branch": "dev"}, "'scan.branch'"),
        ({"scan.mode": "latest"}, "no option 'scan.mode'"),
        ({"colums": "id"}, "no option 'colums'"),
        ({"columns": "nobody"}, "'nobody'"),
        ({"branch": "nobody"}, "nobody"),
        ({"filter": "nobody = 1"}, "'nobody'"),
        ({"changes": "3,1"}, "earlier one first"),
        ({"changes": "3"}, "two snapshot ids"),
        ({"changes": "1,2", "incremental_between_scan_mode": "diff"}, "scan-mode"),
        ({"changes": "1,2", "scan.fallback-branch": "dev"}, "fallback-branch"),
        ({"incremental_between": "3,1"}, "earlier one first"),
        ({"incremental_between": "3"}, "two snapshot ids"),
        ({"incremental_between": "1,2", "snapshot": "1"}, "only one of"),
        ({"incremental_between": "1,2", "incremental_between_scan_mode": "x"}, "one of auto"),
        ({"warehouse": "x"}, "or 'path'"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence(
    table: LocalTable, options: dict[str, str], named: str
) -> None:
    with pytest.raises(PaimonError, match=named):
        read(table, **options)


def test_a_table_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    options = {"warehouse": str(tmp_path), "table": "db.nobody"}
    with pytest.raises(NotFound):
        FilteredReader(options).partitions()
