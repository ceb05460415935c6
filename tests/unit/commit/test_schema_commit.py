from dataclasses import replace
from pathlib import Path

import pytest

from branch_console.commit.schema.schema_commit import (
    SchemaChange,
    add_column,
    change_schema,
    create_table,
    drop_column,
    new_schema,
    rename_column,
    retype_column,
    set_options,
)
from branch_console.errors import AlreadyExists, InvalidInput, NotFound
from branch_console.format.data_types import (
    INT,
    STRING,
    AtomicType,
    TypeRoot,
    with_nullable,
)
from branch_console.format.table_schema import TableSchema
from branch_console.storage.table_paths import TablePaths
from tests.support.commit_tables import CommitBench

FLOAT = AtomicType(root=TypeRoot.FLOAT)


def decimal(precision: int, scale: int) -> AtomicType:
    return AtomicType(root=TypeRoot.DECIMAL, precision=precision, scale=scale)


@pytest.fixture
def bench(tmp_path: Path) -> CommitBench:
    return CommitBench(
        tmp_path,
        primary_keys=["id"],
        partition_keys=[],
        options={"bucket": "1", "sequence.field": "name", "fields.name.ignore": "x"},
    )


def change(bench: CommitBench, *changes: SchemaChange) -> TableSchema:
    return change_schema(bench.table(), bench.store, changes, now_millis=5)


def test_each_change_is_a_new_id_and_old_ones_stay(bench: CommitBench) -> None:
    first = bench.table().schema()
    second = change(bench, add_column("note", STRING, after="id"))
    third = change(bench, rename_column("name", "title"), set_options({"a": "b"}))
    assert bench.table().schemas.all() == (first, second, third)
    assert (second.id, third.id, third.time_millis) == (1, 2, 5)
    assert [field.name for field in third.fields] == ["id", "note", "title", "pt"]
    assert [field.id for field in third.fields] == [0, 3, 1, 2]
    assert third.options["sequence.field"] == "title"
    assert third.options["fields.title.ignore"] == "x"


def test_a_dropped_column_never_gives_its_id_away(bench: CommitBench) -> None:
    change(bench, add_column("a", INT))
    change(bench, drop_column("a"))
    assert change(bench, add_column("a", INT)).field("a").id == 4


def test_a_change_that_changes_nothing_makes_no_schema(bench: CommitBench) -> None:
    assert change(bench, set_options({"bucket": "1"})).id == 0
    assert bench.table().schemas.ids() == (0,)


def test_a_change_on_a_branch_leaves_main_alone(bench: CommitBench) -> None:
    paths = bench.table().paths
    create_table(bench.store, paths.on("dev"), bench.table().schema())
    change_schema(bench.table("dev"), bench.store, [add_column("x", INT)], now_millis=0)
    assert bench.table("dev").schemas.ids() == (0, 1)
    assert bench.table().schemas.ids() == (0,)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (add_column("name", INT), AlreadyExists),
        (add_column("x", with_nullable(INT, False)), InvalidInput),
        (add_column("x", INT, after="nope"), NotFound),
        (drop_column("id"), InvalidInput),
        (drop_column("nope"), NotFound),
        (rename_column("name", "id"), AlreadyExists),
        (retype_column("id", STRING), InvalidInput),
        (retype_column("pt", AtomicType(root=TypeRoot.SMALLINT)), InvalidInput),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_changes_that_cannot_be(
    bench: CommitBench, wrong: SchemaChange, error: type[Exception]
) -> None:
    with pytest.raises(error):
        change(bench, wrong)
    assert bench.table().schemas.ids() == (0,)


def test_a_partition_column_keeps_its_name(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path, partition_keys=["pt"])
    with pytest.raises(InvalidInput, match="its name is in the folders"):
        change(bench, rename_column("pt", "day"))


def test_a_table_is_created_once(bench: CommitBench) -> None:
    schema = bench.table().schema()
    create_table(bench.store, TablePaths(table=bench.path), schema)
    other = replace(schema, comment="another")
    with pytest.raises(AlreadyExists):
        create_table(bench.store, TablePaths(table=bench.path), other)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (new_schema([]), "needs a column"),
        (new_schema([("a", INT), ("a", INT)]), "Two columns are called 'a'"),
        (new_schema([("a", INT)], primary_keys=["b"]), "'b' is not a column"),
        (
            new_schema([("a", INT)], primary_keys=["a"], partition_keys=["a"]),
            "not a partition key",
        ),
        (replace(new_schema([("a", INT)]), id=3), "begins with schema 0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_tables_that_cannot_begin(bench: CommitBench, schema: TableSchema, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        create_table(bench.store, TablePaths(table=f"{bench.path}2"), schema)
    assert not bench.file_io.exists(f"{bench.path}2")
