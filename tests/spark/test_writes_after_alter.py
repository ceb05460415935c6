"""Statements that change rows right after ALTER TABLE, which makes no snapshot."""

import random
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from branch_console.commit.rows.row_commit import PreparedRows
from branch_console.errors import InvalidInput
from branch_console.spark.session.session import WarmSession
from branch_console.spark.write import target_rows
from branch_console.spark.write.writers import prepare_rows
from branch_console.table.file_store_table import FileStoreTable
from tests.support.altered_tables import ALTERINGS, COLUMNS, FIRST, KINDS, SECOND, STATEMENTS, Kind
from tests.support.depths import by_night
from tests.support.java_child import Read, read_with_java
from tests.support.java_paimon import JavaPaimon
from tests.support.requirements import need_java_paimon
from tests.support.statements import Statements
from tests.support.table_model import RefusedStatement
from tests.support.warehouses import VERSIONS, each_version

pytestmark = pytest.mark.depth("full")

_Case = tuple[str, str, bool]


@each_version
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


def test_an_alter_in_the_middle_of_a_statement_mixes_no_columns(
    session: WarmSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements = Statements(session, tmp_path)
    meanwhile = ["RENAME COLUMN a TO was", "RENAME COLUMN b TO a", "RENAME COLUMN was TO b"]

    def prepared_after_an_alter(*args: Any, **kwargs: Any) -> PreparedRows:
        while meanwhile:
            statements(f"ALTER TABLE db.{name} {meanwhile.pop(0)}")
        return prepare_rows(*args, **kwargs)

    monkeypatch.setattr(target_rows, "prepare_rows", prepared_after_an_alter)
    swap = list(meanwhile)
    for name, keys in (("keyed", ("id",)), ("plain", ())):
        meanwhile[:] = []
        columns = {"id": "INT NOT NULL", "a": "INT", "b": "INT"}
        statements.create(name, columns, primary_keys=keys, options={"bucket": "1"} if keys else {})
        statements(f"INSERT INTO db.{name} VALUES (1, 10, 100), (2, 20, 200)")
        meanwhile[:] = swap
        statements(f"UPDATE db.{name} SET a = a + 1 WHERE b = 100")
        assert meanwhile == [], name
        assert statements.rows(f"SELECT id, b, a FROM db.{name} ORDER BY id") == [
            (1, 11, 100), (2, 20, 200),
        ], name  # fmt: skip


def test_a_statement_begins_anew_where_its_table_was_altered_and_written_before_it_read(
    session: WarmSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements = Statements(session, tmp_path)
    meanwhile: list[str] = []
    one_schema = FileStoreTable.with_one_schema

    def altered_after_its_schema_was_read(table: FileStoreTable) -> FileStoreTable:
        found = one_schema(table)
        while meanwhile:
            statements(meanwhile.pop(0))
        return found

    monkeypatch.setattr(FileStoreTable, "with_one_schema", altered_after_its_schema_was_read)
    for name, keys in (("keyed", ("id",)), ("plain", ())):
        columns = {"id": "INT NOT NULL", "a": "INT"}
        statements.create(name, columns, primary_keys=keys, options={"bucket": "1"} if keys else {})
        statements(f"INSERT INTO db.{name} VALUES (1, 10)")
        meanwhile[:] = [
            f"ALTER TABLE db.{name} ADD COLUMN w INT",
            f"INSERT INTO db.{name} VALUES (2, 20, 7)",
        ]
        statements(f"UPDATE db.{name} SET a = a + 1")
        assert sorted(statements.rows(f"SELECT * FROM db.{name}"), key=repr) == [
            (1, 11, None), (2, 21, 7),
        ], name  # fmt: skip
        meanwhile[:] = [
            f"ALTER TABLE db.{name} ADD COLUMN z INT",
            f"INSERT INTO db.{name} VALUES (3, 30, 8, 9)",
        ]
        statements(f"CALL sys.compact(table => 'db.{name}')")
        assert meanwhile == [], name
        assert sorted(statements.rows(f"SELECT * FROM db.{name}"), key=repr) == [
            (1, 11, None, None), (2, 21, 7, None), (3, 30, 8, 9),
        ], name  # fmt: skip


@pytest.mark.parametrize(
    "kind_name", by_night(KINDS, but=("key_marked", "key_dynamic", "append", "bucketed"))
)
def test_every_statement_works_on_the_schema_that_an_alter_left(
    session: WarmSession,
    tmp_path: Path,
    paimon_version: str,
    rng: random.Random,
    request: pytest.FixtureRequest,
    kind_name: str,
) -> None:
    need_java_paimon(paimon_version)
    kind = KINDS[kind_name]
    written = JavaPaimon(tmp_path, paimon_version).create_table(
        "db.written",
        COLUMNS,
        primary_keys=kind.keys,
        partition_keys=kind.partition,
        options=kind.options,
    )
    written.write(FIRST)
    written.write(SECOND)
    statements, expected = Statements(session, tmp_path), {}
    depth = request.config.getoption("--depth")
    for number, case in enumerate(_cases(kind_name, rng, depth)):
        name = f"t{number}"
        shutil.copytree(tmp_path / "db.db" / "written", tmp_path / "db.db" / name)
        rows = _carried_out(statements, name, kind, case)
        expected[Read(table=f"db.{name}")] = (case, rows)
    for version in VERSIONS:
        answers = read_with_java(version, tmp_path, expected)
        wrong = {}
        for read, (case, rows) in expected.items():
            found = answers[read]
            found = sorted(found, key=repr) if isinstance(found, list) else found
            if found != rows:
                wrong[version, *case] = f"{found} where {rows} must be"
        assert wrong == {}


def _carried_out(
    statements: Statements, name: str, kind: Kind, case: _Case
) -> list[tuple[object, ...]]:
    """Run a case, and return the rows that there must be."""
    alteration, statement, has_commit = case
    to, what, model = ALTERINGS[alteration], STATEMENTS[statement], kind.model
    for change in to.sql:
        statements(f"ALTER TABLE db.{name} {change}")
    to.act(model)
    if has_commit:
        statements(f"INSERT INTO db.{name} (id, day, n) VALUES (20, 'z', 4)")
        model.insert([{"id": 20, "day": "z", "n": 4}])
    text = what.sql(name, to)
    after = model.copy()
    try:
        what.act(after, to)
    except RefusedStatement:
        with pytest.raises(InvalidInput):
            statements(text)
        return model.listed()
    statements(text)
    return after.listed()


def _cases(kind_name: str, rng: random.Random, depth: str) -> list[_Case]:
    """All cases of a long run; else a share of each kind of table, together each pair once."""
    pairs = list(product(ALTERINGS, STATEMENTS))
    if depth == "long":
        return [(*pair, has_commit) for pair in pairs for has_commit in (False, True)]
    share = pairs[list(KINDS).index(kind_name) :: len(KINDS)]
    # Most often right after the change, where a head was taken for time travel.
    cases = [(*pair, rng.random() < 0.2) for pair in share]
    return cases if depth == "full" else cases[:1]
