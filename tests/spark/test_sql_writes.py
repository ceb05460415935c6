"""Statements that write: what becomes of rows, and that a wrong one leaves every file as it was."""

import pytest

from branch_console.errors import PaimonError, Refused
from branch_console.spark.session.session import WarmSession
from tests.support.statements import Statements

KEYED = {"id": "INT NOT NULL", "name": "VARCHAR(8)", "amount": "DECIMAL(8, 2)"}
PARTED = {"id": "INT", "name": "STRING NOT NULL", "day": "STRING"}


@pytest.fixture(scope="module")
def sql(session: WarmSession, tmp_path_factory: pytest.TempPathFactory) -> Statements:
    found = Statements(session, tmp_path_factory.mktemp("writes") / "warehouse")
    found.create("keyed", KEYED, primary_keys=("id",), options={"bucket": "1"})
    found.create("parted", PARTED, partition_keys=("day",))
    found("INSERT INTO db.keyed VALUES (1, 'ann', 1.5), (2, 'bob', NULL)")
    found("CREATE BRANCH dev ON TABLE db.keyed")
    return found


def test_rows_come_change_and_go_on_the_branch_of_the_statement(sql: Statements) -> None:
    main = sql.rows("SELECT * FROM db.keyed ORDER BY id")
    said = sql("INSERT INTO db.keyed (name, ID) SELECT upper(name), id + 2 FROM db.keyed", "dev")
    assert said == "2 rows inserted into db.keyed: 'dev' is at snapshot 2."
    sql("INSERT INTO db.`keyed$branch_dev` BY NAME SELECT 9 AS id, 7 AS amount")
    said = sql(
        "UPDATE db.keyed AS k SET amount = k.amount + 1, name = 'bo' || k.id\n"
        "WHERE k.id IN (SELECT min(id) FROM db.`keyed$branch_main`) OR name = 'BOB'",
        "dev",
    )
    assert said == "2 rows updated in db.keyed: 'dev' is at snapshot 4."
    sql("DELETE FROM db.keyed WHERE id = (SELECT 2) OR name = 'none'", "dev")
    assert [(a, b, None if c is None else str(c)) for a, b, c in sql.rows(
        "SELECT * FROM db.`keyed$branch_dev` ORDER BY id"
    )] == [(1, "bo1", "2.50"), (3, "ANN", None), (4, "bo4", None), (9, None, "7.00")]  # fmt: skip
    assert sql.rows("SELECT * FROM db.keyed ORDER BY id") == main
    assert sql("DELETE FROM db.keyed WHERE id > 100") == (
        "No row of db.keyed on 'main' had to change."
    )


@pytest.mark.depth("full")
def test_partitions_are_written_over(sql: Statements) -> None:
    sql("INSERT INTO db.parted VALUES (1, 'a', 'd1'), (2, 'b', 'd2'), (3, 'c', 'd3')")
    sql("INSERT OVERWRITE db.parted SELECT id + 10, name, day FROM db.parted WHERE day = 'd1'")
    sql("INSERT OVERWRITE TABLE db.parted PARTITION (day = 'd2') VALUES (20, 'x'), (21, 'y')")
    sql("INSERT INTO db.parted PARTITION (day = 'd4') (name) SELECT 'only a name'")
    assert sql.rows("SELECT * FROM db.parted ORDER BY day, id") == [
        (11, "a", "d1"), (20, "x", "d2"), (21, "y", "d2"), (3, "c", "d3"),
        (None, "only a name", "d4"),
    ]  # fmt: skip
    sql("DELETE FROM db.parted WHERE day = 'd4'; UPDATE db.parted SET id = -id WHERE id < 20")
    assert sql.rows("SELECT id FROM db.parted ORDER BY id") == [(-11,), (-3,), (20,), (21,)]
    said = sql("CALL sys.compact(table => 'db.parted', partitions => 'day=d2')")
    assert "written anew" in said or "had to change" in said
    said = sql("CALL sys.compact('db.parted', 'day=d1;day=d3', partition_idle_time => '1 d')")
    assert "had to change" in said
    sql(
        "INSERT INTO db.parted VALUES (30, 'e', 'd3'); INSERT INTO db.parted VALUES (31, 'f', 'd2')"
    )
    files = "SELECT `partition`, count(*) FROM db.`parted$files` GROUP BY 1 ORDER BY 1"
    before = dict(sql.rows(files))
    said = sql('CALL sys.compact(table => "db.parted", where => "day > \'d2\'")')
    assert "2 rows written anew" in said
    assert dict(sql.rows(files)) == {**before, "{d3}": 1}
    assert sql.rows("SELECT count(*) FROM db.parted") == [(6,)]


@pytest.mark.depth("full")
def test_what_users_of_spark_and_flink_type_does_what_it_does_there(sql: Statements) -> None:
    columns = {"id": "INT", "g": "STRING", "v": "INT", "h": "INT"}
    sql.create("typed", columns, partition_keys=("g", "h"), defaults={"v": "7"})
    sql("INSERT INTO db.typed PARTITION (G = 'x', h) VALUES (1, DEFAULT, 1), (2, 5, 2)")
    sql("INSERT INTO db.typed PARTITION (g, H) VALUES (3, 'y', default, 1), (4, 'y', NULL, 2)")
    model = [(1, "x", 7, 1), (2, "x", 5, 2), (3, "y", 7, 1), (4, "y", None, 2)]
    everything = "SELECT * FROM db.typed ORDER BY id"
    assert sql.rows(everything) == model
    sql("INSERT INTO db.typed BY NAME SELECT 5 AS ID, 'z' AS G, 1 AS h")
    sql("UPDATE db.typed SET v = DEFAULT WHERE id = 2")
    model = [(k, g, 7 if k == 2 else v, h) for k, g, v, h in [*model, (5, "z", 7, 1)]]
    assert sql.rows(everything) == model
    # For no row NULL is true.
    for condition in ("v = NULL", "NULL", "id > CAST(NULL AS INT)", "NOT (v IN (1, NULL))"):
        assert "had to change" in sql(f"DELETE FROM db.typed WHERE {condition}"), condition
    sql(
        "MERGE INTO db.typed USING (SELECT 4 AS id UNION ALL SELECT 6) AS s ON typed.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = DEFAULT "
        "WHEN NOT MATCHED THEN INSERT (id, g, h, v) VALUES (s.id, 'z', 2, DEFAULT)"
    )
    model = [(k, g, 7 if k == 4 else v, h) for k, g, v, h in model] + [(6, "z", 7, 2)]
    assert sql.rows(everything) == model
    # Without a value in PARTITION the partitions that get rows lose theirs, with one all that
    # have it.
    sql("INSERT OVERWRITE db.typed PARTITION (g, h) VALUES (10, 'x', 0, 1)")
    model = [row for row in model if row[1::2] != ("x", 1)] + [(10, "x", 0, 1)]
    sql("INSERT OVERWRITE db.typed PARTITION (g = 'y', h) VALUES (11, 0, 1)")
    model = [row for row in model if row[1] != "y"] + [(11, "y", 0, 1)]
    assert sql.rows(everything) == model
    assert "were removed" in sql("TRUNCATE TABLE db.typed PARTITION (G = 'x', h = 2)")
    model = [row for row in model if row[1::2] != ("x", 2)]
    assert sql.rows(everything) == model
    assert "Physical Plan" in sql.rows(f"EXPLAIN EXTENDED {everything}")[0][0]
    sql("TRUNCATE TABLE db.typed")
    assert sql.rows(everything) == []
    sql("DROP TABLE db.typed")


WRONG = [
    (
        "INSERT INTO db.parted PARTITION (name = 'x') SELECT 1, 'd'",
        "Line 1, column 34: 'name' is no partition column; the table has day",
    ),
    (
        "INSERT INTO db.keyd VALUES (1)",
        "Line 1, column 13: There is no table db.keyd. Did you mean 'db.keyed'",
    ),
    (
        "INSERT INTO db.`keyed$branch_dv` VALUES (1)",
        "has no branch 'dv'. Did you mean 'dev'? Nothing was",
    ),
    (
        "USE BRANCH dev; INSERT INTO db.parted VALUES (1, 'a', 'b')",
        "Line 1, column 29: Table db.parted has no branch 'dev'.",
    ),
    (
        "INSERT INTO db.keyed (id, nme) VALUES (1, 'a')",
        "Line 1, column 27: the table has no column 'nme'. Did you mean 'name'?",
    ),
    (
        "INSERT INTO db.keyed (id, ID) VALUES (1, 2)",
        "Line 1, column 27: column 'id' is there twice",
    ),
    ("INSERT INTO db.keyed (id, name) VALUES (1)", "Line 1, column"),
    ("INSERT INTO db.keyed VALUES (1, 'a')", "Line 1, column 13: The table takes 3 columns"),
    (
        "INSERT INTO db.keyed VALUES ('x', 'a', 1)",
        "Line 1, column 13: Column 'id' is INT NOT NULL and takes no string",
    ),
    ("INSERT INTO db.keyed VALUES (NULL, 'a', 1)", "Line 1, column 13: Column 'id'"),
    ("INSERT INTO db.keyed VALUES (3, 'far too long', 1)", "Line 1, column 13: Column 'name'"),
    (
        "INSERT INTO db.parted (id) VALUES (1)",
        "Line 1, column 13: Column 'name' must not be null and is left out",
    ),
    ("INSERT INTO db.parted SELECT id,\n nam, 'x' FROM db.keyed", "Line 2, column 2: A column"),
    (
        "INSERT INTO db.parted SELECT k.id, 'a',\n id FROM db.keyed k, db.keyed l",
        "Line 2, column 2: Reference `id` is ambiguous",
    ),
    ("INSERT INTO db.keyed SELECT 1 / (id - id), 'a', 1 FROM db.keyed", "Division by zero"),
    (
        "INSERT OVERWRITE db.parted PARTITION (dy = 'x') VALUES (1, 'a')",
        "'dy' is no partition column",
    ),
    (
        "UPDATE db.keyed SET amont = 1",
        "Line 1, column 21: the table has no column 'amont'. Did you mean 'amount'?",
    ),
    ("UPDATE db.keyed SET name = amount + array(1)", "Line 1, column 28: Cannot resolve"),
    ("UPDATE db.keyed SET name = 'a'\nWHERE iid = 1", "Line 2, column 7: A column"),
    ("UPDATE db.keyed SET id = 4", "Line 1, column 21: Column 'id' belongs to the primary key"),
    ("UPDATE db.keyed SET name = 'b') -- (", "Line 1, column 31: found ')'"),
    ("DELETE FROM db.keyed WHERE 1 = 1 UNION SELECT 1 FROM db.parted", "Line 1"),
    (
        "DELETE FROM db.keyed WHERE x IN (SELECT 1 FROM db.none)",
        "Line 1, column 48: There is no table db.none",
    ),
    ("DELETE FROM db.`keyed$snapshots`", "Line 1, column 13: a system table is read-only"),
]


@pytest.mark.depth("full")
def test_what_is_wrong_is_one_line_and_nothing_is_written(sql: Statements) -> None:
    for text, wanted in WRONG:
        message = sql.refused(text)
        assert wanted in message, (text, message)


def test_a_protected_branch_is_not_written(sql: Statements) -> None:
    sql("CALL sys.protect_branch(table => 'db.keyed', branch => 'dev')")
    for text in (
        "INSERT INTO db.`keyed$branch_dev` VALUES (1, 'a', 1)",
        "DELETE FROM db.`keyed$branch_dev`",
        "CALL sys.compact(table => 'db.keyed$branch_dev')",
    ):
        with pytest.raises(Refused, match="Branch 'dev' is protected"):
            sql(text)


def test_nothing_but_rows_is_written(sql: Statements) -> None:
    for text in (
        "INSERT OVERWRITE DIRECTORY '/tmp/x' SELECT 1",
        "INSERT INTO parquet.`/tmp/x` SELECT 1",
        "INSERT INTO db.keyed SELECT reflect('a', 'b'), 'x', 1",
        "UPDATE db.keyed SET name = java_method('a', 'b')",
        "DELETE FROM db.keyed WHERE EXISTS (SELECT 1 FROM csv.`/etc/passwd`)",
    ):
        with pytest.raises(PaimonError):
            sql(text)


def test_what_a_table_is_is_told_as_rows(sql: Statements) -> None:
    assert sql.rows("SHOW TABLES IN db") == [("db", "keyed"), ("db", "parted")]
    assert [row[0] for row in sql.rows("SHOW BRANCHES FROM db.keyed")] == ["dev"]
    assert sql.rows("SHOW SNAPSHOTS db.`keyed$branch_dev`")[0][0] == 1
    ((made,),) = sql.rows("SHOW CREATE TABLE db.keyed")
    assert made.startswith("CREATE TABLE `db`.`keyed` (")
    assert sql.rows("DESCRIBE db.keyed") == [
        ("id", "INT NOT NULL", None),
        ("name", "VARCHAR(8)", None),
        ("amount", "DECIMAL(8, 2)", None),
    ]
    told = sql.rows("DESC EXTENDED db.`keyed$branch_dev` VERSION AS OF 1")
    assert {("Branch", "dev", ""), ("Snapshot", "1", ""), ("Primary key", "id", "")} <= set(told)
    ((plan,),) = sql.rows("EXPLAIN SELECT name FROM db.keyed WHERE id + 1 = 2")
    assert "Filter" in plan
    for text, wanted in (
        ("SHOW TABLES IN nowhere", "There is no database 'nowhere'"),
        (
            "DESCRIBE db.keyd",
            "Line 1, column 10: There is no table db.keyd. Did you mean 'db.keyed'",
        ),
        ("DESCRIBE db.`keyed$snapshots`", "One table is described, and no system table"),
        ("EXPLAIN SELECT\n x FROM db.keyed", "Line 2, column 2: A column"),
    ):
        with pytest.raises(PaimonError) as error:
            sql.rows(text)
        assert wanted in error.value.message, text
