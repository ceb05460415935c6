"""Databases and tables that statements change, on main and on branches, as Paimon lists them (K10).

A table that a branch holds survives a drop on main (K18).
"""

from pathlib import Path
from random import Random

import pytest

from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_walks import CatalogWalk
from tests.support.examples import Examples
from tests.support.java_paimon import JavaPaimon


@pytest.fixture
def sql(java: JavaPaimon, tmp_path: Path) -> CatalogBench:
    """A database of Paimon's with a table of two rows, whose branch has a third."""
    java.create_database("air")
    table = java.create_table("air.t", {"id": "INT", "day": "STRING"}, partition_keys=["day"])
    table.write([(1, "mon"), (2, "tue")])
    table.create_branch("dev")
    table.on("dev").write([(3, "wed")])
    return CatalogBench(root=tmp_path / "java")


def test_paimon_lists_and_reads_what_statements_on_databases_leave(
    java: JavaPaimon, sql: CatalogBench
) -> None:
    sql("CREATE DATABASE lab WITH DBPROPERTIES (owner_team = 'ops')")
    assert java.databases() == ["air", "lab"]
    assert java.tables("lab") == []

    sql.run("ALTER DATABASE air RENAME TO sky", operation_id="rename")
    assert java.databases() == ["lab", "sky"]
    moved = java.table("sky.t")
    assert sorted(moved.rows()) == [(1, "mon"), (2, "tue")]
    assert sorted(moved.on("dev").rows()) == [(3, "wed")]
    moved.write([(4, "thu")])
    assert len(moved.rows()) == 3

    sql("ALTER DATABASE sky SET DBPROPERTIES (a = 1)")
    assert java.tables("sky") == ["t"], "the files of the database are no table"

    sql.run("DROP DATABASE sky CASCADE", operation_id="drop")
    assert java.databases() == ["lab"]
    # Paimon may give the name to another database meanwhile; the dropped one waits for it.
    java.create_database("air")
    sql.undo("drop")
    assert java.databases() == ["air", "lab", "sky"]
    assert len(java.table("sky.t").rows()) == 3
    java.drop_database("air")
    sql.undo("rename")
    assert java.databases() == ["air", "lab"]
    assert len(java.table("air.t").rows()) == 3


def test_paimon_sees_main_as_before_whatever_a_branch_does(
    java: JavaPaimon, sql: CatalogBench
) -> None:
    sql("CREATE BRANCH work ON CATALOG LAZY")
    before = java.databases(), java.tables("air"), sorted(java.table("air.t").rows())
    sql.run(
        "USE BRANCH work; CREATE TABLE air.routes (a INT); ALTER TABLE air.t RENAME TO air.legs; "
        "CREATE TABLE air.t (other INT); ALTER DATABASE air SET DBPROPERTIES (a = 1); "
        "ALTER DATABASE air RENAME TO sky; DROP TABLE sky.legs; CREATE TABLE sky.legs (b INT)"
    )
    assert (java.databases(), java.tables("air"), sorted(java.table("air.t").rows())) == before
    # A new table is readable under its branch; the one that waits is not.
    assert java.table("air.routes$branch_work").columns() == ["a INT"]
    sql("USE BRANCH work; CREATE DATABASE lab")
    assert java.databases() == ["air", "lab"], "an empty database is all that others see"
    assert java.tables("lab") == []


def test_a_table_that_a_branch_holds_survives_a_drop_on_main(
    java: JavaPaimon, sql: CatalogBench
) -> None:
    java.create_table("air.u", {"id": "INT"}).write([(7,)])
    sql("CREATE BRANCH work ON TABLES 'air.t'; CREATE BRANCH later ON TABLES 'air.t' LAZY")
    java.table("air.t$branch_work").write([(9, "sun")])
    sql.run("DROP TABLE air.t", operation_id="drop")
    assert java.tables("air") == ["u"]
    rows = [(1, "mon"), (2, "tue")]
    assert sorted(java.table("air.t$branch_dev").rows()) == [(3, "wed")]
    assert sorted(java.table("air.t$branch_work").rows()) == [*rows, (9, "sun")]
    # It read main at its base, and was made before main went.
    assert sorted(java.table("air.t$branch_later").rows()) == rows
    java.table("air.t$branch_later").write([(4, "thu")])
    assert sql.rows("SHOW TABLES IN air") == [("air", "u")]
    assert sql.rows("SHOW TABLES IN air IN BRANCH work") == [("air", "t"), ("air", "u")]

    sql.run("DROP DATABASE air CASCADE", operation_id="all")
    assert sql.databases() == ()
    assert java.tables("air") == []
    assert sorted(java.table("air.t$branch_later").rows()) == [*rows, (4, "thu")]
    sql.undo("all")
    assert java.tables("air") == ["u"]
    assert java.table("air.u").rows() == [(7,)]
    sql.undo("drop")
    assert java.tables("air") == ["t", "u"]
    assert sorted(java.table("air.t").rows()) == rows
    java.table("air.t").write([(5, "fri")])
    assert len(java.table("air.t").rows()) == 3
    assert sorted(java.table("air.t$branch_work").rows()) == [*rows, (9, "sun")]


def test_paimon_lists_main_as_its_dictionary_has_it_after_every_statement(
    java: JavaPaimon, tmp_path: Path, rng: Random, examples: Examples
) -> None:
    walk = CatalogWalk(sql=CatalogBench(root=tmp_path / "java"), rng=rng)
    walk.begin()
    for _ in range(examples(30, quick=10)):
        branch = walk.step()
        walk.check()
        told = (branch, walk.said[-1])
        names, tables = walk.databases["main"], walk.tables["main"]
        # A database that a branch alone has is an empty one to others.
        for hidden in set(java.databases()) - set(names.values()):
            assert java.tables(hidden) == [], told
        assert set(names.values()) <= set(java.databases()), told
        for key, database in names.items():
            of_main = {name: column for (of, name), column in tables.items() if of == key}
            assert java.tables(database) == sorted(of_main), told
            for name, column in of_main.items():
                assert java.table(f"{database}.{name}").columns() == [f"{column} INT"], told
