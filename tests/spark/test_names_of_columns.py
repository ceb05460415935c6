"""Columns whose names hold a dot, a backtick or a blank, in every statement and format."""

from pathlib import Path
from typing import Final

import pytest

from core.spark.session import WarmSession
from tests.support.statements import Statements

_FORMATS: Final = (
    "orc",
    pytest.param("parquet", marks=pytest.mark.depth("full")),
)
_COLUMNS: Final = (
    "k INT NOT NULL, `a.b` STRING, a STRUCT<b: STRING>, `c d` INT, `x``y` INT, `__source` INT, "
    "`v before` INT"
)


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
