"""MERGE INTO: what becomes of rows that meet, in every kind of table that is written here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from branch_console.commit.rows.row_commit import PreparedRows
from branch_console.errors import PaimonError
from branch_console.spark.engine import SparkRowEngine
from branch_console.spark.session.session import WarmSession
from tests.support.examples import Examples
from tests.support.java_child import Read, read_with_java
from tests.support.statements import Statements

COLUMNS = {"id": "INT NOT NULL", "name": "VARCHAR(8)", "amount": "INT"}
KEYED: dict[str, Any] = {"primary_keys": ("id",)}
PARTIAL = {"merge-engine": "partial-update"}
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "marked": {"options": {"deletion-vectors.enabled": "true"}},
    "parted": {"partition_keys": ("amount",), "options": {"bucket": "2", "bucket-key": "id"}},
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


def test_the_first_clause_that_holds_is_carried_out_and_java_reads_the_rows(
    sql: Statements, java_versions: Sequence[str], examples: Examples
) -> None:
    # One kind without a key and one with; the night takes the others, too.
    names = ("parted", "keyed_marked", "marked", "dynamic")[: examples(2, quick=2, long=4)]
    rows = [(1, "A", 11), (3, "old", 30), (4, None, 40), (7, "g", 7), (8, "H", None)]
    for name in names:
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
        assert sql.rows(f"SELECT * FROM db.{name} ORDER BY id") == rows, name
    for version in java_versions:
        answers = read_with_java(version, sql.folder, [Read(table=f"db.{name}") for name in names])
        for read, found in answers.items():
            assert isinstance(found, list), (version, read, found)
            assert sorted(found) == rows, (version, read)


@pytest.mark.depth("full")
def test_stars_take_what_the_source_calls_so_and_the_branch_of_the_session_is_written(
    sql: Statements,
) -> None:
    for name in ("plain", "keyed"):
        fill(sql, name)
        sql(f"CREATE BRANCH fix ON TABLE db.{name}")
        main = sql.rows(f"SELECT * FROM db.{name} ORDER BY id")
        sql(f"UPDATE db.{name} SET amount = 0; DELETE FROM db.{name} WHERE id = 3", "fix")
        said = sql(
            f"MERGE INTO db.{name} t USING (SELECT NAME, id % 10 AS ID, 1 AS amount, 2 AS more\n"
            " FROM (VALUES (3, 'c3'), (14, 'd4')) AS v (id, name)) s ON s.id <=> t.id\n"
            "WHEN MATCHED AND t.amount < (SELECT max(amount) FROM db.news)\n"
            " AND EXISTS (SELECT 1 FROM db.news x WHERE x.amount > t.amount) THEN UPDATE SET *\n"
            "WHEN NOT MATCHED THEN INSERT *",
            "fix",
        )
        assert said.startswith(f"2 rows merged into db.{name}: 'fix' is at"), said
        assert sql.rows(f"SELECT * FROM db.`{name}$branch_fix` ORDER BY id") == [
            (1, "a", 0), (2, "b", 0), (3, "c3", 1), (4, "d4", 1), (5, "e", 0),
        ], name  # fmt: skip
        # Who only takes away may be told so twice.
        said = sql(
            f"MERGE INTO db.`{name}$branch_fix` USING db.{name} ON {name}.id < 3 OR"
            f" `{name}$branch_fix`.id = {name}.id AND {name}.id = 4 WHEN MATCHED THEN DELETE"
        )
        assert said.startswith(f"5 rows merged into db.{name}"), said
        assert sql.rows(f"SELECT * FROM db.`{name}$branch_fix`") == []
        assert sql.rows(f"SELECT * FROM db.{name} ORDER BY id") == main
    said = sql(
        "MERGE INTO db.plain t USING db.news ON t.id = news.id WHEN MATCHED AND t.id > 90"
        " THEN DELETE WHEN NOT MATCHED BY SOURCE AND t.id > 90 THEN DELETE"
    )
    assert said == "No row of db.plain on 'main' had to change."


@pytest.mark.depth("full")
def test_only_files_whose_rows_can_match_are_read(sql: Statements, tmp_path: Path) -> None:
    for name, settings in {
        "ranged": {},
        "ranged_keyed": {**KEYED, "options": {"bucket": "1"}},
    }.items():
        sql.create(name, COLUMNS, **settings)
        for start in (0, 100, 200):
            ids = f"range({start}, {start + 3}, 1, 1)"
            sql(f"INSERT INTO db.{name} SELECT id, 'old', 1 FROM {ids}")
        files = (sql.folder / "db.db" / name / "bucket-0").glob("data-*")
        others = [path for path in files if pq.read_table(path)["id"][0].as_py() != 100]
        assert len(others) == 2, name
        for path in others:
            path.rename(tmp_path / path.name)
        into = f"MERGE INTO db.{name} t USING (SELECT * FROM VALUES (101, 'new'), (150, 'new')) s"
        wide = "(SELECT CAST(1000 + id AS BIGINT) AS id, 'far' AS name FROM range(300)) s"
        with pytest.raises(PaimonError, match="cannot be read"):
            sql(f"{into} (id, name) ON t.id = s.id WHEN NOT MATCHED BY SOURCE THEN DELETE")
        sql(
            f"{into} (id, name) ON t.id = s.id AND t.amount > 0 WHEN MATCHED THEN UPDATE SET"
            " name = s.name WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)"
        )
        sql(
            f"MERGE INTO db.{name} t USING {wide} ON (s.ID = t.id)"
            " WHEN MATCHED THEN DELETE"
            " WHEN NOT MATCHED AND s.id < 1002 THEN INSERT (id) VALUES (id)"
        )
        for path in others:
            (tmp_path / path.name).rename(path)
        assert sql.rows(f"SELECT id, name FROM db.{name} ORDER BY id") == [
            (0, "old"), (1, "old"), (2, "old"), (100, "old"), (101, "new"), (102, "old"),
            (150, "new"), (200, "old"), (201, "old"), (202, "old"), (1000, None), (1001, None),
        ], name  # fmt: skip


INTO = "MERGE INTO db.keyed AS t USING db.news AS n ON t.id = n.id\n"
WRONG = [
    (
        f"{INTO}WHEN MATCHED THEN UPDATE SET ^nme = 'x'",
        "the table has no column 'nme'. Did you mean 'name'",
    ),
    (f"{INTO}WHEN MATCHED AND ^n.nme = 'x' THEN DELETE", "`n`.`nme` cannot be resolved"),
    (f"{INTO}WHEN NOT MATCHED THEN INSERT (id, ^nme) VALUES (1, 'x')", "has no column 'nme'"),
    (f"{INTO}WHEN NOT MATCHED THEN INSERT (id) VALUES (^t.id)", "`t`.`id` cannot be resolved"),
    (f"{INTO}WHEN NOT MATCHED BY SOURCE AND ^n.id = 1 THEN DELETE", "`n`.`id` cannot be"),
    (
        "MERGE INTO db.keyed t USING db.news n ON t.id = ^n.idd WHEN MATCHED THEN DELETE",
        "`n`.`idd` cannot be resolved",
    ),
    (
        "MERGE INTO db.keyed t USING (SELECT ^idd FROM db.news) ON 1 = 1 WHEN MATCHED THEN DELETE",
        "`idd` cannot be resolved",
    ),
    (
        "MERGE INTO db.keyed t USING (SELECT id, name FROM db.news) n ON t.id = n.id"
        " WHEN MATCHED THEN ^UPDATE SET *",
        "The source has no column 'amount'",
    ),
    (f"{INTO}WHEN MATCHED THEN UPDATE SET ^amount = 'x'", "is INT and takes no string"),
    (f"{INTO}WHEN MATCHED AND ^n.name THEN DELETE", "BOOLEAN"),
    ("UPDATE db.keyed SET ^amount = 'x'", "is INT and takes no string"),
    ("DELETE FROM db.keyed WHERE name", "boolean"),
    (f"{INTO}WHEN NOT MATCHED THEN INSERT (^id, name) VALUES (NULL, 'x')", "must not be null"),
    (
        f"{INTO}WHEN MATCHED THEN UPDATE SET ^name = 'far too long'",
        "VARCHAR(8), and a value has 12",
    ),
    (
        "MERGE INTO ^db.keyed t USING db.news n ON t.id = n.id"
        " WHEN NOT MATCHED THEN INSERT (name) VALUES ('x')",
        "Column 'id' must not be null and is left out",
    ),
    ("UPDATE db.plain SET ^id = NULL", "must not be null, and 5 of 5 rows are"),
    ("UPDATE db.keyed SET ^name = 'far too long'", "VARCHAR(8), and a value has 12"),
    ("INSERT INTO db.keyed (id, ^name) VALUES (1, 'far too long')", "VARCHAR(8), and a value has"),
    ("MERGE INTO db.keyed t USING db.news n ON ^id = n.id WHEN MATCHED THEN DELETE", "ambiguous"),
    (f"{INTO}WHEN MATCHED THEN UPDATE SET name = ^name", "Reference `name` is ambiguous"),
    ("DELETE FROM db.keyed t WHERE 1 = (SELECT ^id FROM db.news a, db.news b)", "ambiguous"),
    ("UPDATE db.keyed SET name = (SELECT ^name FROM db.news a, db.news b)", "ambiguous"),
    (
        "MERGE INTO ^db.`marked$branch_dev` t USING db.news n ON t.id = n.id"
        " WHEN MATCHED THEN DELETE",
        "has no branch 'dev'",
    ),
    (
        "MERGE INTO db.keyed t USING ^db.`news$branch_dev` n ON t.id = n.id"
        " WHEN MATCHED THEN DELETE",
        "has no branch 'dev'",
    ),
    ("UPDATE ^db.`marked$branch_dev` SET name = 'x'", "has no branch 'dev'"),
    ("DELETE FROM ^db.`marked$branch_dev`", "has no branch 'dev'"),
    (f"{INTO}WHEN MATCHED THEN UPDATE SET ^id = 9", "belongs to the primary key"),
    (
        "MERGE INTO ^db.keyed t USING (VALUES (9, 'x', 10)) AS n (id, name, amount)"
        " ON t.amount = n.amount WHEN MATCHED THEN UPDATE SET *",
        "A star would change the primary key of a row",
    ),
    (
        "MERGE INTO ^db.keyed t USING (VALUES (1, 2), (1, 3), (2, 4)) AS n (id, amount)"
        " ON t.id = n.id WHEN MATCHED AND n.amount < 5 THEN UPDATE SET amount = n.amount",
        "2 rows of the source would change the same row of db.keyed (id = 1)",
    ),
    (
        "MERGE INTO ^db.plain t USING (VALUES (1, 2), (1, 3), (2, 4)) AS n (id, amount)"
        " ON t.id = n.id WHEN MATCHED AND n.amount = 2 THEN DELETE"
        " WHEN MATCHED THEN UPDATE SET amount = n.amount",
        "2 rows of the source would change the same row of db.plain.",
    ),
    (
        "MERGE INTO ^db.partial t USING db.news n ON t.id = n.id"
        " WHEN MATCHED THEN UPDATE SET amount = n.amount - 1, name = NULL",
        "A row would not show its new values",
    ),
    (
        "MERGE INTO ^db.partial t USING db.news n ON t.id = n.id WHEN MATCHED THEN DELETE",
        "cannot be deleted from a table with the merge engine 'partial-update'",
    ),
]


@pytest.mark.depth("full")
def test_what_is_wrong_is_told_with_its_place_and_nothing_is_written(sql: Statements) -> None:
    sql.create("partial", COLUMNS, **KEYED, options={"bucket": "1", **PARTIAL})
    for name in ("plain", "keyed", "partial"):
        fill(sql, name)
    for text, wanted in WRONG:
        message = sql.refused(text)
        assert wanted in message, (text, message)


@pytest.mark.depth("full")
@pytest.mark.parametrize("name", ["plain", "keyed"])
def test_what_somebody_else_changed_or_inserted_meanwhile_is_met_by_a_second_try(
    sql: Statements, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    merge = (
        f"MERGE INTO db.{name} t USING (VALUES (1, 1), (77, 1)) AS n (id, amount) ON t.id = n.id "
        "WHEN MATCHED THEN UPDATE SET amount = t.amount + n.amount "
        "WHEN NOT MATCHED THEN INSERT (id, amount) VALUES (n.id, n.amount)"
    )
    tries: list[PreparedRows] = []

    class Meanwhile(SparkRowEngine):
        def merge(self, *arguments: Any, **named: Any) -> PreparedRows:
            tries.append(super().merge(*arguments, **named))
            if len(tries) == 1:
                monkeypatch.setattr(sql, "engine", SparkRowEngine)
                sql(merge)
                monkeypatch.setattr(sql, "engine", Meanwhile)
            return tries[-1]

    fill(sql, name)
    amounts = f"SELECT id, amount FROM db.{name} WHERE id IN (1, 77) ORDER BY id"
    (before,) = sql.rows(amounts)
    monkeypatch.setattr(sql, "engine", Meanwhile)
    sql(merge)
    assert len(tries) == 2
    assert sql.rows(amounts) == [(1, before[1] + 2), (77, 2)]
    left = {Path(path).name for path in sql.files}
    assert left.isdisjoint(tries[0].messages[0].new_files["file_name"].to_pylist())
