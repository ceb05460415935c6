"""Rows of tables whose commits Paimon tells others of: refused, or an operator gives a reason."""

from typing import Any
from uuid import uuid4

import pytest
from pyspark.errors import PySparkException

from branch_console.errors import NotAllowed
from branch_console.format.kept_elsewhere import WITHOUT_CALLBACKS_PROPERTY
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.dispatch import run_call
from branch_console.spark.connector.data_source import FORMAT, register
from branch_console.spark.engine import SparkRowEngine
from branch_console.spark.session.session import WarmSession
from branch_console.sql.parser import parse_statements
from tests.support.statements import Statements

_ICEBERG = {"metadata.iceberg.storage": "table-location"}
_HINT = "/*+ OPTIONS('without-callbacks' = 'by hand') */"
_STATEMENTS = (
    "INSERT INTO db.t {} VALUES (1, 'a')",
    "INSERT OVERWRITE db.t {} VALUES (2, 'b'), (3, 'c')",
    "UPDATE db.t {} AS x SET name = 'd' WHERE x.id = 2",
    "MERGE INTO db.t {} USING (SELECT 4 AS id) s ON t.id = s.id "
    "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
    "DELETE FROM db.t {} WHERE id = 3",
    "TRUNCATE TABLE db.t {}",
)


@pytest.fixture(scope="module")
def sql(session: WarmSession, tmp_path_factory: pytest.TempPathFactory) -> Statements:
    found = Statements(session, tmp_path_factory.mktemp("iceberg") / "warehouse")
    found.create("t", {"id": "INT", "name": "STRING"}, options=_ICEBERG)
    return found


def _properties(sql: Statements) -> Any:
    head = sql.warehouse.table("db.t").head()
    return None if head is None else (head.id, head.properties)


def test_each_statement_is_refused_without_a_reason_and_keeps_one(
    sql: Statements, session: WarmSession
) -> None:
    for number, text in enumerate(_STATEMENTS, 1):
        before, files = _properties(sql), sql.files
        with pytest.raises(NotAllowed, match=r"metadata\.iceberg\.storage.*'without-callbacks'"):
            sql(text.format(""))
        (statement,) = parse_statements(text.format(_HINT), "main")
        call = ProcedureCall(
            name=statement.procedure,
            arguments=statement.arguments,
            actor="ann",
            operation_id=uuid4().hex,
            role="editor",
        )
        rows = SparkRowEngine(lambda: session, sql.warehouse.file_io)
        with pytest.raises(NotAllowed, match="leave out what Paimon does for others"):
            run_call(sql.warehouse, rows, call, InlineStages())
        assert (_properties(sql), sql.files) == (before, files)
        said = sql(text.format(_HINT))
        assert "Without what 'metadata.iceberg.storage' asks for: by hand" in said
        snapshot_id, properties = _properties(sql)
        assert (snapshot_id, properties[WITHOUT_CALLBACKS_PROPERTY]) == (number, "by hand")


def test_a_reason_that_nothing_asks_for_is_kept_nowhere(sql: Statements) -> None:
    sql.create("plain", {"id": "INT"})
    said = sql(f"INSERT INTO db.plain {_HINT} VALUES (1)")
    assert said == "1 row inserted into db.plain: 'main' is at snapshot 1."
    head = sql.warehouse.table("db.plain").head()
    assert head is not None
    assert WITHOUT_CALLBACKS_PROPERTY not in (head.properties or {})


@pytest.mark.depth("full")
def test_the_data_source_takes_the_reason_as_an_option(
    sql: Statements, session: WarmSession
) -> None:
    register(session.spark)
    sql.create("s", {"id": "INT"}, options=_ICEBERG)
    frame = session.spark.sql("SELECT CAST(1 AS INT) AS id").write.format(FORMAT).mode("append")
    given = frame.options(warehouse=str(sql.folder), table="db.s")
    with pytest.raises(PySparkException, match="without-callbacks"):
        given.save()
    given.option("without-callbacks", "by hand").save()
    head = sql.warehouse.table("db.s").head()
    assert head is not None
    assert (head.properties or {})[WITHOUT_CALLBACKS_PROPERTY] == "by hand"
