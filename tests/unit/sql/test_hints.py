"""Hints and options of statements: what is honoured, and that nothing else is dropped."""

import pytest

from branch_console.errors import InvalidInput
from branch_console.format.identifier import Identifier
from branch_console.sql.parser import parse_statements
from branch_console.sql.query import parse_query
from branch_console.sql.show_statements import parse_show
from branch_console.sql.tables import SetOptions, UnsetOptions, parse_table_statement
from branch_console.sql.writes import parse_write

DEV = {"branch": "dev"}


@pytest.mark.parametrize(
    ("text", "options", "over"),
    [
        (
            "SELECT * FROM d.t /*+ OPTIONS('branch'='dev') */ WHERE a = 1",
            [DEV],
            "SELECT * FROM v0 AS `t` WHERE a = 1",
        ),
        (
            "SELECT * FROM d.t/*+options(`branch` = 'dev')*/ AS x, d.u",
            [DEV, {}],
            "SELECT * FROM v0 AS x, v1 AS `u`",
        ),
        (
            'SELECT * FROM d.t /*+ OPTIONS("scan.snapshot-id" = 7) */ x JOIN d.u '
            "/*+ OPTIONS(branch 'dev') */ USING (a)",
            [{"scan.snapshot-id": "7"}, DEV],
            "SELECT * FROM v0 x JOIN v1 AS `u` USING ( a)",
        ),
        (
            "SELECT * FROM d.t WITH (`branch` = 'dev') x WHERE x.a IN (SELECT a FROM d.u "
            "/* plain */ /*+ OPTIONS(scan.tag-name = 'v') */)",
            [DEV, {"scan.tag-name": "v"}],
            "SELECT * FROM v0 x WHERE x.a IN ( SELECT a FROM v1 AS `u`)",
        ),
        (
            "WITH c AS (SELECT * FROM d.t /*+ OPTIONS('branch'='dev') */ VERSION AS OF 3) FROM c",
            [DEV],
            "WITH c AS ( SELECT * FROM v0 AS `t`) FROM c",
        ),
        (
            "SELECT * FROM d.t VERSION AS OF 3 /*+ OPTIONS('branch'='dev') */ TABLESAMPLE (9 ROWS)",
            [DEV],
            "SELECT * FROM v0 TABLESAMPLE ( 9 ROWS) AS `t`",
        ),
        (
            "SELECT /*+ BROADCAST(d.t, u), repartition(3, a) */ /*+ MERGE(x) */ * "
            "FROM d.t, d.u, d.w x",
            [{}, {}, {}],
            "SELECT /*+ BROADCAST(`t`, `u`), repartition(3, `a`) */ /*+ MERGE(`x`) */ * "
            "FROM v0 AS `t`, v1 AS `u`, v2 x",
        ),
    ],
)
def test_options_stand_behind_tables_and_spark_keeps_its_hints(
    text: str, options: list[dict[str, str]], over: str
) -> None:
    query = parse_query(text)
    assert [dict(each.options) for each in query.references] == options
    found = query.over([f"v{n}" for n in range(len(query.references))]).text
    assert _spaced(found) == _spaced(over)


def _spaced(text: str) -> str:
    return text.replace("( ", "(").replace(" )", ")")


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO d.t /*+ OPTIONS('branch'='dev') */ VALUES (1)",
        "INSERT INTO TABLE d.t WITH ('branch' = 'dev') (a) SELECT 1",
        "INSERT OVERWRITE d.t /*+ OPTIONS('branch'='dev') */ PARTITION (a = 1) SELECT 1",
        "UPDATE d.t /*+ OPTIONS('branch'='dev') */ AS x SET a = 1 WHERE x.a = 2",
        "DELETE FROM d.t /*+ OPTIONS('branch'='dev') */ WHERE a = 1",
        "MERGE INTO d.t /*+ OPTIONS('branch'='dev') */ AS x "
        "USING d.s /*+ OPTIONS('branch'='dev') */ ON x.a = s.a WHEN MATCHED THEN DELETE",
    ],
)
def test_a_write_goes_to_the_branch_of_its_options(text: str) -> None:
    write = parse_write(text)
    assert write.target.on("main") == Identifier(database="d", table="t", branch="dev")
    # What UPDATE, DELETE and MERGE read is read there too.
    assert all(dict(each.options) == DEV for each in write.query.references)
    (statement,) = parse_statements(text)
    assert statement.arguments["table"] == "d.t$branch_dev"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("SELECT * FROM d.t /*+ INDEX(a) */", "INDEX"),
        ("SELECT * FROM d.t /*+ OPTIONS('branch'='dev'), BROADCAST(t) */", "','"),
        ("SELECT * FROM d.t AS x /*+ OPTIONS('branch'='dev') */", "'branch'"),
        ("SELECT * FROM (SELECT 1) /*+ OPTIONS('branch'='dev') */", "'branch'"),
        ("WITH c AS (SELECT 1) SELECT * FROM c /*+ OPTIONS('branch'='dev') */", "'branch'"),
        ("SELECT * FROM range(3) WITH ('branch'='dev')", "'branch'"),
        ("SELECT a /*+ OPTIONS('branch'='dev') */ FROM d.t", "'branch'"),
        ("SELECT * FROM d.t WHERE a = 1 /*+ OPTIONS('branch'='dev') */", "'branch'"),
        ("SELECT /*+ OPTIONS('branch'='dev') */ * FROM d.t", "behind the table"),
        ("SELECT /*+ BROADCST(t) */ * FROM d.t", "BROADCST"),
        ("SELECT /*+ BROADCAST(nobody) */ * FROM d.t", "'nobody'"),
        ("SELECT /*+ COALESCE(1), SKEW(t) */ * FROM d.t", "SKEW"),
        ("/*+ BROADCAST(t) */ SELECT * FROM d.t", "before the statement"),
        ("SELECT * FROM d.t /*+ OPTIONS('branch'='a', 'branch'='b') */", "twice"),
        ("SELECT * FROM d.t /*+ OPTIONS('branch'='a') */ WITH ('branch'='a')", "all of them at"),
        (
            "SELECT * FROM d.t /*+ OPTIONS('branch'='a') */ VERSION AS OF 1 WITH ('branch'='a')",
            "options twice",
        ),
        ("SELECT * FROM d.t /*+ OPTIONS('branch'=NULL) */", "not null"),
        ("SELECT * FROM d.t /*+ OPTIONS() */", "an option"),
        ("INSERT INTO d.t /*+ OPTIONS('scan.snapshot-id'='1') */ SELECT 1", "'scan.snapshot-id'"),
        ("INSERT INTO d.t /*+ OPTIONS('bucket'='1') */ SELECT 1", "'bucket'"),
        ("INSERT INTO d.`t$branch_a` /*+ OPTIONS('branch'='b') */ SELECT 1", "'a'"),
        ("INSERT /*+ BROADCAST(t) */ INTO d.t SELECT 1", "BROADCAST"),
        ("UPDATE /*+ X */ d.t SET a = 1", "X"),
        ("DELETE FROM d.t AS x /*+ OPTIONS('branch'='b') */ WHERE a = 1", "OPTIONS"),
        ("DROP TABLE d.t /*+ OPTIONS('branch'='b') */", "OPTIONS"),
        ("ALTER TABLE d.t /*+ OPTIONS('branch'='b') */ RENAME TO d.u", "OPTIONS"),
        ("SHOW TAGS FROM d.t /*+ OPTIONS('branch'='b') */", "OPTIONS"),
        ("MERGE BRANCH dev ON TABLE d.t /*+ OPTIONS('branch'='b') */", "OPTIONS"),
        ("SELECT 1; /*+ X */ SELECT 2", "X"),
    ],
)
def test_what_nobody_honours_is_refused_by_its_name(text: str, named: str) -> None:
    with pytest.raises(InvalidInput) as error:
        parse_statements(text)
    assert named in error.value.message


def test_a_table_that_is_described_takes_options() -> None:
    look = parse_show("DESCRIBE d.t /*+ OPTIONS('branch'='dev') */ VERSION AS OF 1")
    assert look.query is not None
    assert [dict(each.options) for each in look.query.references] == [DEV]


def test_flink_sets_and_resets_options() -> None:
    found = parse_table_statement("ALTER TABLE d.t SET ('snapshot.time-retained' = '2 h')")
    assert found.changes == (SetOptions(options={"snapshot.time-retained": "2 h"}),)
    found = parse_table_statement("ALTER TABLE d.t RESET ('write-only')")
    assert found.changes == (UnsetOptions(keys=("write-only",)),)
    made = parse_table_statement("CREATE TABLE d.t (a INT) WITH ('bucket' = '2')")
    assert dict(made.options) == {"bucket": "2"}
