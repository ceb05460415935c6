"""Statements, rules and conditions reach tables, and no file, host or variable beside them."""

import getpass
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from branch_console.errors import PaimonError
from branch_console.format.identifier import Identifier
from branch_console.procedures.run.rule_evaluation import read_rules
from branch_console.spark.session.session import SparkSettings, WarmSession, open_session
from branch_console.sql.functions import (
    FUNCTIONS,
    OPERATORS,
    OPTIONS,
    REFUSED_FUNCTIONS,
    REFUSED_OPTIONS,
    TABLE_FUNCTIONS,
)
from tests.support.statements import Statements

# Spark's grammar reads these itself and lists them nowhere.
_OF_THE_GRAMMAR = {"timestampadd", "timestampdiff", "try_cast"}
_OPTION_CLASSES = ("json.JSONOptions", "csv.CSVOptions", "xml.XmlOptions")
_VARIABLES = "${env:HOME} ${system:user.home} ${spark.master} ${hiveconf:x} $ {x} ${ $$"


@pytest.fixture(scope="module")
def sql(session: WarmSession, tmp_path_factory: pytest.TempPathFactory) -> Statements:
    folder = tmp_path_factory.mktemp("reach") / "warehouse"
    statements = Statements(session, folder)
    statements.create("t", {"id": "INT NOT NULL", "user": "STRING"}, primary_keys=("id",))
    return statements


@pytest.fixture(scope="module")
def host() -> Iterator[tuple[str, list[str]]]:
    """A host that notes what it is asked for, and says nothing."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(404)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_somebody_has_judged_every_function_of_the_installed_spark(session: WarmSession) -> None:
    state = session.spark._jsparkSession.sessionState()
    there = {str(row[0]) for row in session.spark.sql("SHOW ALL FUNCTIONS").collect()}
    for registry in (state.functionRegistry(), state.tableFunctionRegistry()):
        names = registry.listFunction()
        there |= {names.apply(at).funcName() for at in range(names.size())}
    judged = FUNCTIONS | TABLE_FUNCTIONS | OPERATORS | set(REFUSED_FUNCTIONS)
    assert there - judged == set(), "judge these in core/branch_console/sql/functions.py"
    # A function that is not there is a slip of the pen, unless an earlier Spark has it.
    assert judged - there - _OF_THE_GRAMMAR <= {"schema_of_avro"}
    assert not (FUNCTIONS | TABLE_FUNCTIONS) & set(REFUSED_FUNCTIONS)


def test_somebody_has_judged_every_option_of_functions(session: WarmSession) -> None:
    there = set()
    for name in _OPTION_CLASSES:
        package = f"org.apache.spark.sql.catalyst.{name}$"
        options = getattr(getattr(session.spark._jvm, package), "MODULE$").getAllOptions()
        names = options.iterator()
        while names.hasNext():
            there.add(str(names.next()).lower())
    judged = {key for _, keys in OPTIONS.values() for key in keys} | set(REFUSED_OPTIONS)
    assert there - judged == set(), "judge these in core/branch_console/sql/functions.py"
    assert judged - there <= {"avroschemaurl"}


@pytest.mark.depth("full")
def test_a_text_stays_as_it_was_written(sql: Statements) -> None:
    text = _VARIABLES
    assert sql.rows(f"SELECT '{text}' AS `{text}`, \"{text}\", r'{text}'") == [(text,) * 3]
    sql(f"INSERT INTO db.t VALUES (1, '{text}')")
    sql(f"UPDATE db.t SET user = concat(user, '{text}') WHERE user = '{text}'")
    sql(
        f"MERGE INTO db.t t USING (SELECT '{text}{text}' AS u) s ON t.user = s.u AND "
        f"s.u = '{text}{text}' WHEN MATCHED AND t.user <> '${{env:PATH}}' THEN "
        f"UPDATE SET user = concat('<', s.u, '{text}')"
    )
    assert sql.rows("SELECT user FROM db.t") == [(f"<{text}{text}{text}",)]
    sql(f"DELETE FROM db.t WHERE user = '<{text}{text}{text}'")
    assert sql.rows("SELECT count(*) FROM db.t") == [(0,)]


def test_another_session_of_the_process_keeps_its_settings(
    session: WarmSession, tmp_path: Path
) -> None:
    theirs = session.spark
    asked = {"spark.sql.variable.substitute": "true", "spark.sql.session.timeZone": "Asia/Tokyo"}
    kept = {name: theirs.conf.get(name) for name in asked}
    try:
        for name, value in asked.items():
            theirs.conf.set(name, value)
        ours = open_session(
            SparkSettings(master="local[2]", cache=tmp_path, conf={next(iter(asked)): "true"})
        )
        assert [theirs.conf.get(name) for name in asked] == list(asked.values())
        assert ours.spark.conf.get("spark.sql.session.timeZone") == "UTC"
        assert ours.spark.sql("SELECT '${env:HOME}'").collect()[0][0] == "${env:HOME}"
        assert theirs.sql("SELECT '${env:HOME}'").collect()[0][0] != "${env:HOME}"
    finally:
        for name, value in kept.items():
            theirs.conf.set(name, str(value))


def test_no_statement_reaches_a_file_or_a_host(
    sql: Statements, host: tuple[str, list[str]], tmp_path: Path
) -> None:
    at, asked = host
    secret = tmp_path / "secret.dtd"
    secret.write_text('<!ENTITY s "SECRET">')
    places = (f"{at}/x", secret.as_uri(), str(secret))
    for place in places:
        options = f"map('mode', 'PERMISSIVE', 'rowValidationXSDPath', '{place}')"
        hidden = f"map(concat('rowValidation', 'XSDPath'), '{place}')"
        for statement in (
            f"SELECT from_xml('<a/>', 'b INT', {options})",
            f"SELECT from_xml('<a/>', 'b INT', {hidden})",
            f"SELECT from_xml('<a/>', 'b INT', map('rowValidation' 'XSDPath', '{place}'))",
            f"SELECT from_xml('<a/>', 'b INT', map(r'rowValidationXSDPath', '{place}'))",
            f"SELECT from_xml('<a/>', 'b INT', map('RowValidationXsdPath', '{place}'))",
            f"SELECT from_xml('<a/>', 'b INT', str_to_map('rowValidationXSDPath={place}'))",
            f"SELECT from_xml('<a/>', 'b INT', map_concat({options}, map('mode', 'x')))",
            f"SELECT from_xml('<a/>', schema => 'b INT', options => {options})",
            f"SELECT schema_of_xml('<a/>', {options})",
            f"SELECT to_xml(named_struct('a', 1), {options})",
            f"SELECT xpath_string('<!DOCTYPE a SYSTEM \"{place}\"><a>&s;</a>', 'a')",
            f"SELECT from_avro(X'00', '\"int\"', map('avroSchemaUrl', '{place}'))",
            f"SELECT from_protobuf(X'00', 'm', '{place}')",
            f"SELECT * FROM text.`{place}`",
            f"SELECT * FROM parquet.`{place}`",
            f"SELECT * FROM binaryFile.`{place}`",
            f"SELECT * FROM `paimon-branch`.`{place}`",
            f"SELECT * FROM IDENTIFIER('text.`{place}`')",
            f"SELECT * FROM read_files('{place}')",
            f"SELECT reflect('java.nio.file.Files', 'readString', '{place}')",
            f"SELECT /*+ REPARTITION(reflect('a', '{place}')) */ * FROM db.t",
            f"INSERT INTO db.t SELECT 1, xpath_string('<a/>', '{place}')",
            f"UPDATE db.t SET user = xpath_string(user, '{place}')",
            f"DELETE FROM db.t WHERE user = from_xml(user, 'b STRING', {options}).b",
            f"MERGE INTO db.t t USING (SELECT 1 AS id) s ON t.id = s.id AND "
            f"xpath_boolean(t.user, '{place}') WHEN MATCHED THEN DELETE",
        ):
            with pytest.raises(PaimonError):
                sql(statement)
    assert asked == []


def test_no_rule_reaches_a_file_or_a_host(host: tuple[str, list[str]]) -> None:
    at, asked = host
    table = Identifier(database="db", table="t")
    options = f"map('rowValidationXSDPath', '{at}/x.xsd')"
    wheres = (
        f"from_xml(user, 'b INT', {options}) IS NULL",
        f"xpath_boolean(user, '{at}')",
        f"user IN (SELECT value FROM text.`{at}`)",
        f"user = reflect('a', '{at}')",
    )
    parts = [f'{{id: r, rule: not_null, columns: [id], where: "{where}"}}' for where in wheres]
    parts += [f'{{id: q, rule: sql, query: "SELECT * FROM {{table}} WHERE {w}"}}' for w in wheres]
    for part in parts:
        with pytest.raises(PaimonError, match=r"Line 3: the SQL of rule"):
            read_rules(f"table: db.t\nrules:\n  - {part}\n", table)
    assert asked == []


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT current_user",
        "SELECT `current_user`",
        "SELECT session_user()",
        "SELECT user()",
        "SELECT user",
        "SELECT `USER`",
        "SELECT u FROM (VALUES (1)) AS v (u) WHERE user <> 'x'",
        "SELECT input_file_name() FROM db.t",
        "SELECT * FROM python_worker_logs()",
        "DECLARE x STRING DEFAULT 'a'",
        "SET VAR x = 1",
        "EXECUTE IMMEDIATE 'SELECT 1'",
        "ADD JAR '/tmp/x.jar'",
        "CREATE TEMPORARY VIEW v AS SELECT 1",
        "SHOW FUNCTIONS",
        "DESCRIBE FUNCTION abs",
        "SELECT db.abs(1)",
        "SELECT session.abs(1)",
    ],
)
def test_no_statement_tells_of_the_server(sql: Statements, statement: str) -> None:
    with pytest.raises(PaimonError) as error:
        sql(statement)
    assert getpass.getuser() not in error.value.message


def test_a_column_may_be_called_user(sql: Statements) -> None:
    sql("INSERT INTO db.t VALUES (7, 'ann')")
    assert sql.rows("SELECT user, t.user, `user` FROM db.t t WHERE user = 'ann'") == [("ann",) * 3]
    sql("DELETE FROM db.t WHERE user = 'ann'")


def test_harmless_options_are_set(sql: Statements) -> None:
    assert sql.rows("SELECT from_xml('<a><b>1</b></a>', 'b INT', map('mode', 'FAILFAST')).b") == [
        (1,)
    ]
    assert sql.rows("SELECT to_json(named_struct('a', null), map('ignoreNullFields', 'false'))")
    assert sql.rows("SELECT from_csv('1;2', 'a INT, b INT', map('sep', ';')).b") == [(2,)]
