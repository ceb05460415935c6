"""Statements that change rows right after ALTER TABLE, which makes no snapshot."""

from pathlib import Path

import pytest

from core.spark.session import WarmSession
from tests.support.java_child import Read, read_with_java
from tests.support.statements import Statements
from tests.support.warehouses import VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
def test_a_head_is_changed_as_it_is_and_a_version_read_as_it_was(
    session: WarmSession, tmp_path: Path, version: str
) -> None:
    statements = Statements(session, tmp_path)
    # Not the shape of the case: partitions, several buckets, a column between, three that rotate.
    statements.create(
        "t",
        {"id": "INT NOT NULL", "day": "STRING NOT NULL", "a": "INT", "b": "INT", "c": "INT"},
        primary_keys=("id", "day"),
        partition_keys=("day",),
        options={"bucket": "2"},
    )
    statements("INSERT INTO db.t VALUES (1, 'x', 10, 20, 30), (2, 'x', 11, 21, 31)")
    statements("INSERT INTO db.t VALUES (3, 'y', 12, 22, 32), (4, 'y', 13, 23, 33)")
    for change in ("a TO was_a", "b TO a", "c TO b", "was_a TO c"):
        statements(f"ALTER TABLE db.t RENAME COLUMN {change}")
    statements("DELETE FROM db.t WHERE a = 10 OR a = 22")
    rotated = [(1, "x", 30, 10, 20), (2, "x", 31, 11, 21), (4, "y", 33, 13, 23)]
    rows = statements.rows("SELECT id, day, b, c, a FROM db.t ORDER BY id")
    assert rows == rotated
    assert statements.rows("SELECT a, b, c FROM db.t VERSION AS OF 2 WHERE id = 1") == [
        (10, 20, 30)
    ]
    statements("ALTER TABLE db.t DROP COLUMN b")
    statements("ALTER TABLE db.t ADD COLUMNS (b INT, w INT)")
    statements("UPDATE db.t SET w = coalesce(b, 0) + a WHERE id = 1")
    statements(
        "MERGE INTO db.t t USING (SELECT 2 AS id, 'x' AS day, 7 AS w) s "
        "ON t.id = s.id AND t.day = s.day WHEN MATCHED THEN UPDATE SET t.w = s.w, t.b = t.c "
    )
    read = Read(table="db.t")
    found = read_with_java(version, tmp_path, (read,))[read]
    assert isinstance(found, list)
    assert sorted(found) == [
        (1, "x", 10, 20, None, 20),
        (2, "x", 11, 21, 11, 7),
        (4, "y", 13, 23, None, None),
    ]
