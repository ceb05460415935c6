"""Times that are finer than Spark's: no statement loses their last digits without a word."""

from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest

from branch_console.format.values.arrow_types import arrow_schema
from branch_console.format.values.fine_times import cast_times
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.statement.write_rows import insert_rows
from branch_console.spark.session.session import WarmSession
from branch_console.spark.write.row_writer import SparkRowWriter
from branch_console.storage.file_io import FileIO
from tests.support.statements import Statements

_COLUMNS = "k INT, t TIMESTAMP_NTZ(9), l ARRAY<TIMESTAMP_NTZ(9)>"


@pytest.mark.depth("full")
def test_a_time_that_spark_would_cut_off_is_refused_by_its_column(
    session: WarmSession, tmp_path: Path
) -> None:
    sql = Statements(session, tmp_path / "warehouse")
    (sql.folder / "db.db").mkdir(parents=True)
    for name in ("fine", "whole"):
        sql(f"CREATE TABLE db.{name} ({_COLUMNS}) TBLPROPERTIES ('bucket' = '-1')")
    sql("CREATE TABLE db.coarse (k INT, t TIMESTAMP_NTZ(6)) TBLPROPERTIES ('bucket' = '-1')")
    _write(session, sql, "fine", nanos=1_700_000_000_123_456_789)
    _write(session, sql, "whole", nanos=1_700_000_000_123_456_000)
    before = sql.files
    for asked, column in (("k, t, NULL", "t"), ("k, NULL, l", "l")):
        told = sql.refused(f"INSERT INTO ^db.whole SELECT {asked} FROM db.fine")
        assert f"Column '{column}' holds a time that is finer than a microsecond" in told
    told = sql.refused(
        "MERGE INTO ^db.whole w USING db.fine f ON w.k = f.k + 1 WHEN NOT MATCHED THEN INSERT *"
    )
    assert "finer than a microsecond" in told
    told = sql.refused("UPDATE ^db.whole SET k = 2")
    assert "and Spark keeps six digits of it" in told
    assert sql.files == before
    # What has no more digits than Spark's, or goes where there are no more, is written.
    sql("INSERT INTO db.fine SELECT k + 1, t, l FROM db.whole")
    sql("INSERT INTO db.fine (k) SELECT k + 2 FROM db.fine WHERE k = 1")
    sql("INSERT INTO db.coarse SELECT k, t FROM db.fine")
    texts = "SELECT k, CAST(t AS STRING) FROM db."
    cut = "2023-11-14 22:13:20.123456"
    assert sql.rows(f"{texts}coarse ORDER BY k") == [(1, cut), (2, cut), (3, None)]


def _write(session: WarmSession, sql: Statements, name: str, *, nanos: int) -> None:
    warehouse = sql.warehouse
    assert isinstance(warehouse.file_io, FileIO)
    table = warehouse.table(f"db.{name}")
    _, t, each = arrow_schema(table.schema().fields)
    times = cast_times(pa.array([nanos], pa.timestamp("ns")), t.type)
    lists = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), times, each.type)
    rows = pa.table({"k": pa.array([1], pa.int32()), "t": times, "l": lists})
    writer = SparkRowWriter(lambda: session, warehouse.file_io)
    call = ProcedureCall(name="write_rows", actor="test", operation_id=str(uuid4()))
    insert_rows(warehouse, writer, table, rows, call)
