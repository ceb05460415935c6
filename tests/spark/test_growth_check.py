"""What a statement announces is compared with what readers would see, before it is published."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.errors import Refused
from branch_console.format.manifest_entry import MANIFEST_ENTRY
from branch_console.spark.read import read_plan
from branch_console.spark.read.read_plan import PlacedFile
from branch_console.spark.session.session import WarmSession
from branch_console.spark.write.growth_check import Growth
from tests.support.commit_tables import data_files
from tests.support.depths import by_night
from tests.support.statements import Statements

pytestmark = pytest.mark.depth("full")

_STATEMENTS = (
    "DELETE FROM db.{t} WHERE id = 1",
    "UPDATE db.{t} SET name = 'new' WHERE id IN (2, 3)",
    "MERGE INTO db.{t} t USING (SELECT 3 AS id UNION ALL SELECT 9) s ON t.id = s.id "
    "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
)


@pytest.fixture
def sql(session: WarmSession, tmp_path: Path) -> Statements:
    found = Statements(session, tmp_path / "warehouse")
    columns = {"id": "INT NOT NULL", "name": "STRING"}
    vectors = {"deletion-vectors.enabled": "true"}
    for name, options in {"t": {"bucket": "2"}, "v": {"bucket": "1", **vectors}}.items():
        found.create(name, columns, primary_keys=("id",), options=options)
        found(f"INSERT INTO db.{name} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        found(f"INSERT INTO db.{name} VALUES (3, 'd'), (4, 'e')")
    return found


def _each_by_itself(files: list[PlacedFile], schema: object) -> Iterator[list[PlacedFile]]:
    """How a reader looks at files whose key ranges mean something else than it knows."""
    return ([each] for each in files)


@pytest.mark.parametrize("name", by_night(("t", "v"), but=("t",)))
def test_nothing_is_published_that_readers_would_not_see(
    name: str, sql: Statements, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sql.files
    with monkeypatch.context() as patched:
        patched.setattr(read_plan, "sections", _each_by_itself)
        for text in _STATEMENTS:
            with pytest.raises(Refused, match="Nothing was published") as refused:
                sql(text.format(t=name))
            assert "lie otherwise than is known here" in refused.value.message
            assert sql.files == before
    for text in _STATEMENTS:
        sql(text.format(t=name))
    assert sql.rows(f"SELECT * FROM db.{name} ORDER BY id") == [(2, "new"), (4, "e"), (9, None)]


@pytest.mark.parametrize(
    ("deletes", "rows", "inserts", "told"),
    [
        (1, 1, False, "1 row fewer"),
        (0, 2_000, False, "as many rows"),
        (0, 2, True, "between as many rows and 2 rows more"),
        (1_500, 1_501, True, "between 1,500 rows fewer and 1,499 rows fewer"),
    ],
)
def test_the_announcement_follows_from_what_was_written(
    deletes: int, rows: int, inserts: bool, told: str
) -> None:
    files = data_files(["f"])
    for column, count in (("delete_row_count", deletes), ("row_count", rows)):
        at = MANIFEST_ENTRY.get_field_index(column)
        files = files.set_column(at, MANIFEST_ENTRY.field(at), [[count]])
    message = CommitMessage(partition=b"", bucket=0, total_buckets=1, new_files=files)
    assert str(Growth.of([message], inserts=inserts)) == told
    assert str(Growth.of([], inserts=inserts)) == "as many rows"
