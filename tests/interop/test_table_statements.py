"""Tables that statements make and alter are those that Paimon itself would have made."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from branch_console.errors import (
    AlreadyExists,
    ErrorKind,
    InvalidInput,
    NotFound,
    PaimonError,
    Refused,
)
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import NoRowEngine
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from branch_console.sql.parser import parse_statements
from tests.support.command_line import tree_of
from tests.support.java_paimon import JavaPaimon

COLUMNS = {
    "id": ("INT NOT NULL", "INT NOT NULL"),
    "day": ("STRING NOT NULL", "STRING NOT NULL"),
    "b": ("BOOLEAN", "BOOLEAN"),
    "t": ("TINYINT", "TINYINT"),
    "s": ("SMALLINT", "SMALLINT"),
    "l": ("BIGINT", "BIGINT"),
    "f": ("FLOAT", "FLOAT"),
    "d": ("DOUBLE", "DOUBLE"),
    "m": ("DECIMAL(8, 2)", "DECIMAL(8, 2)"),
    "c": ("CHAR(3)", "CHAR(3)"),
    "v": ("VARCHAR(9)", "VARCHAR(9)"),
    "x": ("BINARY", "BYTES"),
    "at": ("TIMESTAMP", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
    "n": ("TIMESTAMP_NTZ(3)", "TIMESTAMP(3)"),
    "dt": ("DATE", "DATE"),
    "a": ("ARRAY<MAP<STRING, INT>>", None),
    "r": ("STRUCT<p: INT COMMENT 'inner', q: ARRAY<STRUCT<z: STRING>>>", None),
    "last": ("STRING COMMENT 'the end'", None),
}


class Statements:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def warehouse(self) -> Warehouse:
        return Warehouse.open(str(self.folder))

    def __call__(self, text: str, *, role: str = "operator") -> str:
        said = ""
        for statement in parse_statements(text):
            call = ProcedureCall(
                name=statement.procedure,
                arguments=statement.arguments,
                actor="ann",
                operation_id=uuid4().hex,
                role=role,
            )
            receipt = run_call(self.warehouse, NoRowEngine(), call, InlineStages())
            said = " ".join(receipt.notes)
        return said


@pytest.fixture
def sql(java: JavaPaimon, tmp_path: Path) -> Statements:
    java.create_database("db")
    return Statements(tmp_path / "java")


def test_a_table_is_the_one_that_paimon_makes(java: JavaPaimon, sql: Statements) -> None:
    written = ", ".join(f"`{name}` {ours}" for name, (ours, _) in COLUMNS.items())
    sql(
        f"CREATE TABLE db.t ({written}) USING paimon PARTITIONED BY (day) COMMENT 'made here' "
        "TBLPROPERTIES ('primary-key' = 'id,day', 'bucket' = 2, 'write-only' = true)"
    )
    table = java.table("db.t").load()
    assert [str(name) for name in table.primaryKeys()] == ["id", "day"]
    assert [str(name) for name in table.partitionKeys()] == ["day"]
    assert str(table.comment().get()) == "made here"
    fields = {str(field.name()): field for field in table.rowType().getFields()}
    for name, (_, theirs) in COLUMNS.items():
        if theirs is not None:
            assert str(fields[name].type().asSQLString()) == theirs, name
    # A field inside of a row takes the next id behind its column, as Paimon deals them out.
    ids = [int(field.id()) for field in table.rowType().getFields()]
    assert ids == [*range(17), 20]
    assert int(table.schema().highestFieldId()) == 20
    assert str(fields["last"].description()) == "the end"


def test_changes_are_read_by_paimon_with_the_rows_from_before(
    java: JavaPaimon, sql: Statements
) -> None:
    sql("CREATE TABLE db.t (id INT NOT NULL, name STRING, n INT, PRIMARY KEY (id) NOT ENFORCED)")
    table = java.table("db.t")
    table.write([(1, "one", 10), (2, "two", None)])
    sql(
        "ALTER TABLE db.t ADD COLUMNS (first STRING FIRST, more DOUBLE COMMENT 'new' AFTER id);"
        "ALTER TABLE db.t RENAME COLUMN name TO called;"
        "ALTER TABLE db.t ALTER COLUMN n TYPE BIGINT;"
        "ALTER TABLE db.t ALTER COLUMN called COMMENT 'its name';"
        "ALTER TABLE db.t SET TBLPROPERTIES ('snapshot.num-retained.min' = '5');"
        "ALTER TABLE db.t ALTER COLUMN n FIRST; ALTER TABLE db.t DROP COLUMN first"
    )
    names = [str(field.name()) for field in table.load().rowType().getFields()]
    assert names == ["n", "id", "more", "called"]
    assert sorted(table.rows(), key=lambda row: row[1]) == [
        (10, 1, None, "one"),
        (None, 2, None, "two"),
    ]
    assert dict(table.load().options())["snapshot.num-retained.min"] == "5"
    sql("ALTER TABLE db.t UNSET TBLPROPERTIES ('snapshot.num-retained.min')")
    assert "snapshot.num-retained.min" not in dict(table.load().options())
    sql("ALTER TABLE db.t RENAME TO db.u")
    assert java.tables("db") == ["u"]
    assert len(java.table("db.u").rows()) == 2
    said = sql("DROP TABLE db.u")
    assert java.tables("db") == []
    kept = sql.folder / said.rpartition("kept as ")[2].rstrip(".")
    assert (kept / "schema" / "schema-0").is_file(), "nothing is lost"
    assert sql("DROP TABLE IF EXISTS db.u") == "There is no table db.u; nothing was dropped."


def test_branches_are_altered_alone(java: JavaPaimon, sql: Statements) -> None:
    sql("CREATE TABLE db.t (id INT)")
    java.table("db.t").write([(1,)])
    java.table("db.t").create_branch("dev")
    sql("USE BRANCH dev; ALTER TABLE db.t ADD COLUMN note STRING")
    assert len(java.table("db.t").load().rowType().getFields()) == 1
    assert len(java.table("db.t").on("dev").load().rowType().getFields()) == 2
    sql("USE BRANCH fresh; CREATE TABLE db.young (id INT)")
    assert sql.warehouse.table("db.young$branch_fresh").schema().row_type.names == ("id",)
    sql("CALL sys.protect_branch(table => 'db.t', branch => 'dev')")
    for text in ("ALTER TABLE db.`t$branch_dev` ADD COLUMN x INT", "DROP TABLE db.t"):
        with pytest.raises(Refused, match="is protected"):
            sql(text)


WRONG = [
    ("CREATE TABLE db.t (id INT)", AlreadyExists, "There is a table db.t already."),
    ("CREATE TABLE none.t (id INT)", NotFound, "Line 1, column 14: There is no database 'none'"),
    ("CREATE TABLE db.x (id INTT)", InvalidInput, "Line 1, column 23: 'INTT' is no type"),
    ("CREATE TABLE db.x (id TIMESTAMP(3))", InvalidInput, "write TIMESTAMP_LTZ or TIMESTAMP_NTZ"),
    ("CREATE TABLE db.x (id INT, ID INT, id INT)", InvalidInput, "Two columns are called 'id'"),
    ("CREATE TABLE db.x (id INT) PARTITIONED BY (p)", InvalidInput, "'p' is not a column"),
    ("CREATE TABLE db.x (_KEY_a INT)", InvalidInput, "a name that Paimon keeps for itself"),
    ("CREATE TABLE db.x (a INT) TBLPROPERTIES ('bucket'='2')", InvalidInput, "'bucket-key'"),
    ("CREATE TABLE db.x (a INT DEFAULT 3)", InvalidInput, "Line 1, column 26: values that columns"),
    ("CREATE TABLE db.x (a INT) USING parquet", InvalidInput, "tables are made USING paimon"),
    ("CREATE TABLE db.x AS SELECT 1", InvalidInput, "Line 1, column 19"),
    (
        "ALTER TABLE db.t DROP COLUMN nme",
        InvalidInput,
        "Line 1, column 30: the table has no",
    ),
    ("ALTER TABLE db.t DROP COLUMN id", InvalidInput, "is a key"),
    ("ALTER TABLE db.t ALTER COLUMN n TYPE TINYINT", InvalidInput, "values could be lost"),
    ("ALTER TABLE db.t ADD COLUMN x INT NOT NULL", InvalidInput, "cannot be added NOT NULL"),
    ("ALTER TABLE db.t ADD COLUMN x STRUCT<a: INT>", InvalidInput, "with rows in it is not added"),
    ("ALTER TABLE db.t ADD COLUMN name INT", AlreadyExists, "There is a column 'name' already"),
    ("ALTER TABLE db.t SET TBLPROPERTIES ('bucket'='7')", Refused, "rows were written by it"),
    ("ALTER TABLE db.t RENAME TO db.other", AlreadyExists, "There is a table db.other already"),
    ("USE BRANCH dev; ALTER TABLE db.t DROP COLUMN n", NotFound, "has no branch 'dev'"),
    ("DROP TABLE db.`t$branch_x`", InvalidInput, "Say DROP BRANCH x ON TABLE db.t"),
    ("DROP TABLE db.tt", NotFound, "Did you mean 'db.t'"),
]


def test_what_is_wrong_leaves_every_file_as_it_was(java: JavaPaimon, sql: Statements) -> None:
    sql("CREATE TABLE db.t (id INT NOT NULL, name STRING, n INT, PRIMARY KEY (id) NOT ENFORCED)")
    sql("CREATE TABLE db.other (id INT)")
    java.table("db.t").write([(1, "one", 10)])
    before = tree_of(sql.folder)
    for text, kind, wanted in WRONG:
        error = failure(sql, text)
        assert isinstance(error, kind), (text, error)
        assert wanted in error.message, (text, error.message)
        assert tree_of(sql.folder) == before, text
    with pytest.raises(PaimonError) as denied:
        sql("DROP TABLE db.t", role="editor")
    assert denied.value.kind is ErrorKind.ROLE_REQUIRED


def failure(sql: Statements, text: str) -> Any:
    with pytest.raises(PaimonError) as error:
        sql(text)
    return error.value
