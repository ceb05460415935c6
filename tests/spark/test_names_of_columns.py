"""Columns whose names hold a dot, a backtick or a blank, in every statement and format."""

from pathlib import Path
from typing import Final

import pytest

from branch_console.spark.session.session import WarmSession
from tests.support.depths import by_night
from tests.support.statements import Statements

_FORMATS: Final = by_night(("orc", "parquet", "avro"), but=("orc",))
_COLUMNS: Final = (
    "k INT NOT NULL, `a.b` STRING, a STRUCT<b: STRING>, `c d` INT, `x``y` INT, `__source` INT, "
    "`v before` INT"
)


@pytest.mark.depth("full")
@pytest.mark.parametrize("file_format", _FORMATS)
@pytest.mark.parametrize("keys", [False, True], ids=["append", "key"])
def test_statements_read_and_write_them(
    session: WarmSession, tmp_path: Path, file_format: str, keys: bool
) -> None:
    sql = Statements(session, tmp_path / "warehouse")
    (sql.folder / "db.db").mkdir(parents=True)
    key, buckets = (", PRIMARY KEY (k) NOT ENFORCED", 1) if keys else ("", -1)
    sql(
        f"CREATE TABLE db.t ({_COLUMNS}{key}) "
        f"TBLPROPERTIES ('file.format' = '{file_format}', 'bucket' = '{buckets}')"
    )
    sql(
        "INSERT INTO db.t SELECT id, concat('o', id), named_struct('b', 'i'), id, id, id, id"
        " FROM VALUES (1), (2), (3), (4) AS v(id)"
    )
    sql("UPDATE db.t SET `a.b` = concat(`a.b`, a.b), `c d` = `x``y` + 10 WHERE `a.b` = 'o1'")
    sql("DELETE FROM db.t WHERE `x``y` = 2 AND a.b = 'i'")
    sql(
        "MERGE INTO db.t t USING (SELECT 3 AS `a.b`, 5 AS `c d`) s ON t.k = s.`a.b`"
        " WHEN MATCHED THEN UPDATE SET `__source` = s.`c d`, t.`v before` = t.`v before` + 1"
    )
    found = sql.rows(
        "SELECT k, `a.b`, a.b, `c d`, `x``y`, `__source`, `v before` FROM db.t ORDER BY k"
    )
    assert found == [
        (1, "o1i", "i", 11, 1, 1, 1),
        (3, "o3", "i", 3, 3, 5, 4),
        (4, "o4", "i", 4, 4, 4, 4),
    ]


@pytest.mark.depth("full")
@pytest.mark.parametrize("keys", [False, True], ids=["append", "key"])
def test_branches_are_merged(session: WarmSession, tmp_path: Path, keys: bool) -> None:
    """Also where a key and a partition are called so, and both sides changed one row."""
    sql = Statements(session, tmp_path / "warehouse")
    (sql.folder / "db.db").mkdir(parents=True)
    key = ", PRIMARY KEY (`a.k`, `p t`) NOT ENFORCED" if keys else ""
    sql(
        f"CREATE TABLE db.t (`a.k` INT NOT NULL, `p t` STRING NOT NULL, `x``y` INT, `__source` "
        f"STRING, a STRUCT<k: INT>{key}) PARTITIONED BY (`p t`) "
        f"TBLPROPERTIES ('bucket' = '{1 if keys else -1}')"
    )
    rows = "SELECT id, concat('p.', id % 2), id, 'base', named_struct('k', -id) FROM VALUES"
    sql(f"INSERT INTO db.t {rows} (1), (2), (3), (4) AS v(id)")
    sql("CALL sys.create_branch('db.t', 'dev')")
    sql("UPDATE db.t SET `__source` = 'dev' WHERE `a.k` = 1", "dev")
    sql(f"INSERT INTO db.t {rows} (5) AS v(id)", "dev")
    sql("DELETE FROM db.t WHERE `a.k` = 4 AND a.k = -4", "dev")
    if keys:
        sql("UPDATE db.t SET `x``y` = 10 WHERE `a.k` = 1")
    sql("UPDATE db.t SET `x``y` = 30 WHERE `a.k` = 2")
    sql("CALL sys.merge_branch('db.t', 'dev')")
    found = sql.rows("SELECT `a.k`, `p t`, `x``y`, `__source`, a.k FROM db.t ORDER BY 1")
    assert found == [
        (1, "p.1", 10 if keys else 1, "dev", -1),
        (2, "p.0", 30, "base", -2),
        (3, "p.1", 3, "base", -3),
        (5, "p.1", 5, "base", -5),
    ]
