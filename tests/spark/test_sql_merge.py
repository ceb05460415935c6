"""MERGE INTO: what becomes of rows that meet, in every kind of table that is written here."""

from typing import Any

import pytest

from core.spark.session import WarmSession
from tests.support.statements import Statements

COLUMNS = {"id": "INT NOT NULL", "name": "VARCHAR(8)", "amount": "INT"}
KEYED: dict[str, Any] = {"primary_keys": ("id",)}
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "bucketed": {"options": {"bucket": "2", "bucket-key": "id"}},
    "marked": {"options": {"deletion-vectors.enabled": "true"}},
    "parted": {"partition_keys": ("amount",)},
    "keyed": {**KEYED, "options": {"bucket": "2"}},
    "dynamic": {**KEYED, "options": {"bucket": "-1"}},
    "keyed_marked": {**KEYED, "options": {"bucket": "1", "deletion-vectors.enabled": "true"}},
}


@pytest.fixture(scope="module")
def sql(session: WarmSession, tmp_path_factory: pytest.TempPathFactory) -> Statements:
    found = Statements(session, tmp_path_factory.mktemp("merges") / "warehouse")
    found.create("news", {"id": "BIGINT", "name": "STRING", "amount": "INT"})
    found(
        "INSERT INTO db.news VALUES (1, 'A', 1), (2, NULL, 0), (4, 'D', 4), (7, 'g', 7),"
        " (8, 'h', -1), (NULL, 'n', 5)"
    )
    for name, settings in KINDS.items():
        found.create(name, COLUMNS, **settings)
    return found


def fill(sql: Statements, name: str) -> None:
    sql(
        f"INSERT OVERWRITE db.{name} PARTITION () VALUES (1, 'a', 10), (2, 'b', 20), (3, 'c', 30),"
        " (4, NULL, 40), (5, 'e', NULL)"
    )


def test_the_first_clause_that_holds_is_carried_out(sql: Statements) -> None:
    for name in KINDS:
        fill(sql, name)
        said = sql(
            f"MERGE INTO db.{name} AS t USING (SELECT * FROM db.news WHERE amount < 9) AS n\n"
            "ON t.id = n.id\n"
            "WHEN MATCHED AND n.amount = 0 THEN DELETE\n"
            "WHEN MATCHED AND CASE WHEN t.amount < 15 THEN true END\n"
            "  THEN UPDATE SET t.name = n.name, amount = t.amount + n.amount\n"
            "WHEN NOT MATCHED AND n.amount < 0 THEN INSERT (id, name) VALUES (id, upper(name))\n"
            "WHEN NOT MATCHED BY TARGET AND n.id IS NOT NULL THEN INSERT *\n"
            "WHEN NOT MATCHED BY SOURCE AND amount IS NULL THEN DELETE\n"
            "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET name = 'old'"
        )
        assert said.startswith(f"6 rows merged into db.{name}: 'main' is at snapshot "), name
        assert sql.rows(f"SELECT * FROM db.{name} ORDER BY id") == [
            (1, "A", 11), (3, "old", 30), (4, None, 40), (7, "g", 7), (8, "H", None),
        ], name  # fmt: skip
