"""A VARIANT is one in SQL, whole or shredded, null or not, and a row of two binaries is none."""

from pathlib import Path

from branch_console.spark.session.session import WarmSession
from tests.support.statements import Statements


def test_a_variant_is_asked_for_its_parts(session: WarmSession, tmp_path: Path) -> None:
    sql = Statements(session, tmp_path / "warehouse")
    (sql.folder / "db.db").mkdir(parents=True)
    row = "STRUCT<value: BINARY NOT NULL, metadata: BINARY NOT NULL>"
    sql(f"CREATE TABLE db.t (k INT, v VARIANT, r {row}) TBLPROPERTIES ('bucket' = '-1')")
    sql(
        "INSERT INTO db.t SELECT 1, parse_json('{\"a\": 1}'),"
        " named_struct('value', X'01', 'metadata', X'02')"
    )
    asked = "variant_get(v, '$.a', 'int'), v IS NULL, typeof(v), typeof(r) LIKE 'struct%'"
    assert sql.rows(f"SELECT {asked} FROM db.t WHERE is_variant_null(v) = false") == [
        (1, False, "variant", True)
    ]


def test_a_null_is_written_on_every_level(session: WarmSession, tmp_path: Path) -> None:
    """Below a null there is nothing, though its parts are required."""
    sql = Statements(session, tmp_path / "warehouse")
    (sql.folder / "db.db").mkdir(parents=True)
    columns = (
        "k INT, v VARIANT, a ARRAY<VARIANT>, m MAP<STRING, VARIANT>, "
        "r STRUCT<v: VARIANT NOT NULL>, s STRUCT<l: ARRAY<INT> NOT NULL>"
    )
    sql(f"CREATE TABLE db.t ({columns}) TBLPROPERTIES ('bucket' = '-1')")
    sql("INSERT INTO db.t VALUES (1, NULL, NULL, NULL, NULL, NULL)")
    sql(
        "INSERT INTO db.t SELECT id, IF(id = 2, parse_json('[2]'), NULL), array(parse_json('1'),"
        " NULL), map('k', NULL), IF(id = 2, named_struct('v', parse_json('3')), NULL),"
        " IF(id = 2, named_struct('l', array(id)), NULL) FROM VALUES (2), (3) AS v(id)"
    )
    sql("INSERT INTO db.t SELECT 4, parse_json('{}'), array(), map(), NULL, NULL")
    sql("UPDATE db.t SET v = NULL WHERE k = 2")
    sql("DELETE FROM db.t WHERE k = 1")
    assert sql.rows("SELECT k, v, a, m, r, s FROM db.t ORDER BY k") == [
        (2, None, "[1,null]", '{"k":null}', '{"v":3}', {"l": [2]}),
        (3, None, "[1,null]", '{"k":null}', None, None),
        (4, "{}", "[]", "{}", None, None),
    ]
    message = sql.refused("INSERT INTO ^db.t SELECT map(), NULL, NULL, NULL, NULL, NULL")
    assert "Column 'k' is INT and takes no map<void,void>. Cast the values." in message
