"""`spark.read.format("paimon-branch")`, as somebody uses it in a session of their own."""

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame

from branch_console.errors import PaimonError
from branch_console.format.data_types import INT, STRING, AtomicType, TypeRoot
from branch_console.spark.connector.data_source import FORMAT, register
from branch_console.spark.session.session import WarmSession
from tests.support.local_tables import LocalTable
from tests.support.table_files import a_schema
from tests.support.warehouses import FixtureWarehouse

COLUMNS = (
    ("id", INT),
    ("name", STRING),
    ("ratio", AtomicType(root=TypeRoot.DOUBLE)),
    ("day", AtomicType(root=TypeRoot.DATE)),
    ("part", STRING),
)


@pytest.fixture(scope="module")
def reading(session: WarmSession) -> WarmSession:
    register(session.spark)
    return session


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> LocalTable:
    """Three commits of a table with a key, each into a partition of its own."""
    schema = a_schema(
        0,
        COLUMNS,
        primary_keys=("id", "part"),
        partition_keys=("part",),
        options={"bucket": "2"},
    )
    made = LocalTable(tmp_path_factory.mktemp("warehouse"), schema)
    for part, ratio in (("a", 1.0), ("b", float("nan")), ("c", None)):
        made.append(
            pa.table(
                {
                    "id": pa.array([1, 2, 3], pa.int32()),
                    "name": [f"{part}1", f"{part}2", None],
                    "ratio": pa.array([ratio] * 3, pa.float64()),
                    "day": [dt.date(2026, 1, day) for day in (1, 2, 3)],
                    "part": [part] * 3,
                }
            )
        )
    return made


def load(session: WarmSession, table: LocalTable, **options: str) -> DataFrame:
    reader = session.spark.read.format(FORMAT)
    named = {name.replace("_", "-"): value for name, value in options.items()}
    return reader.options(**named).load(table.paths.table)


def collect(frame: DataFrame) -> list[Any]:
    return sorted(map(repr, map(tuple, frame.collect())))


@pytest.mark.depth("full")
def test_filters_of_spark_give_the_rows_that_spark_itself_keeps(
    reading: WarmSession, table: LocalTable
) -> None:
    everything = load(reading, table).collect()
    kept = reading.spark.createDataFrame(everything, load(reading, table).schema)
    assert len(everything) == 9
    for condition in (
        "part <> 'c' and id in (1, 3) and day < date'2026-01-03' and not (name <=> 'a2')",
        "ratio > 5",
    ):
        found = collect(load(reading, table, pushdown="true").where(condition))
        assert found == collect(kept.where(condition)), condition
        assert found, condition


@pytest.mark.depth("full")
def test_a_frame_is_read_as_often_and_by_as_many_queries_as_one_likes(
    reading: WarmSession, table: LocalTable
) -> None:
    frame = load(reading, table)
    frame.createOrReplaceTempView("read_often")
    counts = [frame.where("id < 2").count(), frame.count(), frame.where("id > 1").count()]
    assert counts == [3, 9, 6]
    both = "select * from read_often where id = 1 union all select * from read_often where id = 3"
    assert reading.spark.sql(both).count() == 6


@pytest.mark.depth("full")
def test_a_filter_on_a_partition_opens_its_files_only(
    reading: WarmSession, table: LocalTable
) -> None:
    frame = load(reading, table, pushdown="true").where("part = 'b' and id = 1")
    assert frame.rdd.getNumPartitions() == 1
    assert load(reading, table, filter="part = 'b' and id = 1").rdd.getNumPartitions() == 1


def test_a_branch_of_a_warehouse_is_joined_with_a_tag_in_sql(
    reading: WarmSession, warehouse_200: FixtureWarehouse
) -> None:
    name = "fixtures.branches_ahead"
    on = warehouse_200.expected[name]["on"]
    reader = reading.spark.read.format(FORMAT).option("warehouse", str(warehouse_200.path))
    branch = reader.option("table", name).option("branch", "ahead").load()
    reader = reading.spark.read.format(FORMAT).option("warehouse", str(warehouse_200.path))
    tagged = reader.option("table", f"{name}$branch_ahead").option("tag", "base").load()
    joined = branch.join(tagged, on=branch.columns[0], how="left_semi")
    joined.createOrReplaceTempView("of_both")
    count = reading.spark.sql("select count(*) from of_both").collect()[0][0]
    assert 0 < count <= len(on["ahead"]["rows"])


def test_what_is_wrong_is_said_in_a_sentence(reading: WarmSession, table: LocalTable) -> None:
    with pytest.raises(PaimonError, match="snapshot 99") as raised:
        reading.run(lambda _: load(reading, table, snapshot="99").count(), description="read")
    assert "\n" not in raised.value.message
    # In a notebook, what Spark raised is all that there is.
    shown = str(raised.value.__cause__)
    assert shown.index("snapshot 99") < shown.index("Traceback"), shown
