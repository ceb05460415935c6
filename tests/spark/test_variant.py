"""A VARIANT is one in SQL, and a row of two binaries is none."""

from pathlib import Path

from core.spark.session import WarmSession
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
