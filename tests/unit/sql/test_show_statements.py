"""SHOW, DESCRIBE and EXPLAIN as text: which query each is, and what is wrong with it."""

import pytest

from branch_console.errors import InvalidInput
from branch_console.sql.parser import parse_statements
from branch_console.sql.show_statements import ShowKind, parse_show


@pytest.mark.parametrize(
    ("text", "kind", "query"),
    [
        ("SELECT 1", ShowKind.ROWS, "SELECT 1"),
        ("SHOW BRANCHES FROM db.t", ShowKind.ROWS, "SELECT * FROM db.`t$branches`"),
        ("show tags in db.t", ShowKind.ROWS, "SELECT * FROM db.`t$tags`"),
        (
            "SHOW SNAPSHOTS IN db.`t$branch_dev`",
            ShowKind.ROWS,
            "SELECT * FROM db.`t$branch_dev$snapshots`",
        ),
        ("SHOW PARTITIONS db.t", ShowKind.ROWS, "SELECT * FROM db.`t$partitions`"),
        ("DESCRIBE TABLE db.t", ShowKind.COLUMNS, "SELECT * FROM db.t"),
        (
            "DESC EXTENDED db.t VERSION AS OF 'v1'",
            ShowKind.TABLE,
            "SELECT * FROM db.t VERSION AS OF 'v1'",
        ),
        ("SHOW CREATE TABLE db.t", ShowKind.STATEMENT, "SELECT * FROM db.t"),
        ("EXPLAIN SELECT a FROM db.t", ShowKind.PLAN, "SELECT a FROM db.t"),
    ],
)
def test_all_but_a_list_of_tables_are_queries(text: str, kind: ShowKind, query: str) -> None:
    found = parse_show(text)
    assert found.query is not None
    assert (found.kind, found.query.text) == (kind, query)
    (statement,) = parse_statements(text)
    assert (statement.procedure, statement.arguments["sql"]) == ("query", text)


@pytest.mark.parametrize(
    ("text", "kind", "table"),
    [
        ("SHOW HEALTH FROM db.t", ShowKind.HEALTH, "db.t"),
        ("SHOW HEALTH ON TABLE db.t", ShowKind.HEALTH, "db.t"),
        ("SHOW STORAGE ON TABLE db.t", ShowKind.STORAGE, "db.t"),
        ("show storage in db.`t$branch_dev`", ShowKind.STORAGE, "db.t$branch_dev"),
    ],
)
def test_health_and_storage_are_told_of_a_table(text: str, kind: ShowKind, table: str) -> None:
    found = parse_show(text)
    assert found.target is not None
    assert (found.kind, found.target.identifier.full_name) == (kind, table)
    assert not found.reads_rows
    name = {ShowKind.HEALTH: "doctor", ShowKind.STORAGE: "storage"}[kind]
    (called,) = parse_statements(f"CALL sys.{name}('{table}')")
    assert called.procedure == "query"
    assert parse_show(str(called.arguments["sql"])).kind is kind


def test_holds_are_told_of_a_table() -> None:
    found = parse_show("SHOW HOLDS ON TABLE db.t")
    assert found.target is not None
    assert (found.kind, found.target.identifier.full_name) == (ShowKind.HOLDS, "db.t")


def test_tables_are_listed_of_one_database_or_of_all() -> None:
    assert (parse_show("SHOW TABLES").query, parse_show("SHOW TABLES").database) == (None, None)
    assert parse_show("SHOW TABLES FROM air").database == "air"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("SHOW VIEWS", "column 6: found 'VIEWS'; expected TABLES, DATABASES, CREATE TABLE,"),
        ("SHOW BRANCHES FROM t", "column 21: found the end; expected '.'"),
        ("SHOW TAGS FROM db.`t$tags`", "column 16: a system table"),
        ("SHOW TABLES IN", "column 15: found the end; expected a database"),
        ("DESCRIBE (SELECT 1)", "column 10: found '('; expected a table"),
        ("DESCRIBE db.t id", "column 15: found 'id'; expected the end of the statement"),
        ("EXPLAIN", "column 8: found the end; expected a query to explain"),
        ("EXPLAIN DELETE FROM db.t", "column 9: found another statement; expected a query"),
        ("EXPLAIN SELECT 1 FROM nothing", "column 23: 'nothing' names no table"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, wanted: str) -> None:
    with pytest.raises(InvalidInput) as error:
        parse_statements(text)
    assert wanted in error.value.message, error.value.message


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("SHOW DATABASES", ShowKind.DATABASES, (None, None, None)),
        ("SHOW SCHEMAS LIKE 'a*'", ShowKind.DATABASES, (None, "a*", None)),
        ("show namespaces 'a*|b' in branch dev", ShowKind.DATABASES, (None, "a*|b", "dev")),
        ("SHOW TABLES IN BRANCH dev", ShowKind.TABLES, (None, None, "dev")),
        ("SHOW TABLES IN air IN BRANCH fix-it", ShowKind.TABLES, ("air", None, "fix-it")),
        ("SHOW TABLES FROM air LIKE 'fl*'", ShowKind.TABLES, ("air", "fl*", None)),
        ("SHOW TABLES IN branch", ShowKind.TABLES, ("branch", None, None)),
        ("DESCRIBE DATABASE EXTENDED air", ShowKind.DATABASE, ("air", None, None)),
        ("DESC SCHEMA air IN BRANCH dev", ShowKind.DATABASE, ("air", None, "dev")),
    ],
)
def test_databases_and_tables_are_listed_and_told_of(
    text: str, kind: ShowKind, said: tuple[str | None, ...]
) -> None:
    found = parse_show(text)
    assert (found.kind, (found.database, found.pattern, found.branch)) == (kind, said)
    assert not found.reads_rows
