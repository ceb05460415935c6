"""Databases that statements make, rename and drop are those that Paimon's own catalog lists."""

from pathlib import Path

import pytest

from tests.support.catalog_bench import CatalogBench
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
