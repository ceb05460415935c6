"""Times that are finer than Spark's: no statement loses their last digits without a word."""

from collections.abc import Iterable
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest

from branch_console.format.identifier import Identifier
from branch_console.format.values.arrow_types import arrow_schema
from branch_console.format.values.fine_times import cast_times
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.run.rule_evaluation import JudgedState, evaluate, read_rules
from branch_console.procedures.statement.write_rows import insert_rows
from branch_console.spark.engine import SparkRowEngine
from branch_console.spark.session.session import WarmSession
from branch_console.spark.write.row_writer import SparkRowWriter
from branch_console.storage.file_io import FileIO
from branch_console.table.table_state import ReadState
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


@pytest.mark.depth("full")
@pytest.mark.parametrize("digits", [789, pytest.param(0, marks=pytest.mark.depth("long"))])
def test_a_rule_does_not_count_times_that_spark_takes_for_equal(
    digits: int, session: WarmSession, tmp_path: Path
) -> None:
    sql = Statements(session, tmp_path / "warehouse")
    (sql.folder / "db.db").mkdir(parents=True)
    sql(f"CREATE TABLE db.t ({_COLUMNS}) TBLPROPERTIES ('bucket' = '-1')")
    _write(session, sql, "t", nanos=1_700_000_000_123_456_000 + digits)
    cut = "2023-11-14 22:13:20.123456"
    is_fine = bool(digits)
    cells = {
        "rule: not_null, columns: [t]": 0,
        "rule: in_range, column: t, min: 2023-11-15": 1,
        f"rule: in_range, column: t, min: '{cut}', strict_min: true": None if is_fine else 1,
        f"rule: in_set, column: t, values: ['{cut}']": None if is_fine else 0,
        f"rule: in_set, column: t, values: ['{cut}001']": None,
        "rule: unique, columns: [l]": 0,
    }
    assert _judged(session, sql, cells) == cells
    _write(session, sql, "t", nanos=1_700_000_000_123_456_000)
    again = {"rule: unique, columns: [t]": None if is_fine else 2}
    assert _judged(session, sql, again) == again


def _judged(session: WarmSession, sql: Statements, rules: Iterable[str]) -> dict[str, int | None]:
    """How many rows fail each rule; None where that was not told."""
    table = Identifier.parse("db.t")
    lines = (f"  - {{id: r{number}, {rule}}}" for number, rule in enumerate(rules))
    parsed = read_rules("\n".join(["table: db.t", "rules:", *lines]), table).rules
    found = evaluate(
        SparkRowEngine(lambda: session, sql.warehouse.file_io), table,
        JudgedState.of(ReadState.as_it_is(sql.warehouse.table(table))), parsed,
        now_millis=0, operation_id="op", progress=lambda *_: None,
    )  # fmt: skip
    results = [found[each.id] for each in parsed]
    for result in results:
        assert result.problem is None or "than a microsecond" in result.problem
    told = (None if each.problem else each.failures for each in results)
    return dict(zip(rules, told, strict=True))
