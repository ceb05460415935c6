"""What SQL says of rows that cannot be read, and what it reads beside them."""

import json
from pathlib import Path

import pytest

from branch_console.errors import ErrorKind, PaimonError
from branch_console.spark.session.session import WarmSession
from tests.support.statements import Statements


@pytest.fixture
def sql(session: WarmSession, tmp_path: Path) -> Statements:
    return Statements(session, tmp_path / "warehouse")


def test_a_damaged_file_and_a_value_of_no_such_type_are_told_apart(sql: Statements) -> None:
    sql.create("t", {"k": "INT", "s": "STRING"})
    sql("INSERT INTO db.t VALUES (1, '7'), (2, 'abc')")
    folder = sql.folder / "db.db" / "t"
    schema = json.loads((folder / "schema" / "schema-0").read_text())
    schema["id"], schema["fields"][1]["type"] = 1, "INT"
    (folder / "schema" / "schema-1").write_text(json.dumps(schema))
    assert sql.rows("SELECT k FROM db.t ORDER BY k") == [(1,), (2,)]
    with pytest.raises(PaimonError, match=r"was STRING and is INT now.*'abc'") as refused:
        sql.rows("SELECT s FROM db.t")
    assert refused.value.kind is ErrorKind.UNSUPPORTED
    for data in (folder / "bucket-0").glob("data-*"):
        data.write_bytes(b"broken")
    with pytest.raises(PaimonError, match=r"cannot be read: .*Restore it") as broken:
        sql.rows("SELECT s FROM db.t")
    assert broken.value.kind is ErrorKind.BROKEN_FILE
