"""Branches of the catalog over tables that Paimon lists, reads, moves, drops and makes again."""

import shutil
from pathlib import Path

import pytest

from branch_console.procedures.browse.tables import list_table_names
from branch_console.procedures.catalog.states import note_main, read_main_now, state_of_main
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_rows import put
from tests.support.java_paimon import JavaPaimon

KEYED = {"id": "INT NOT NULL", "name": "STRING"}


@pytest.fixture
def sql(java: JavaPaimon, tmp_path: Path) -> CatalogBench:
    """Two databases with a table of two rows, one whose schema is newer, and an empty one."""
    for database in ("air", "lab"):
        java.create_database(database)
    flights = java.create_table("air.flights", KEYED, primary_keys=["id"], options={"bucket": "1"})
    flights.write([(1, "a"), (2, "b")])
    planes = java.create_table("air.planes", {"id": "INT"})
    planes.write([(1,)])
    planes.add_column("seats", "INT")
    java.create_table("lab.empty", {"id": "INT"})
    return CatalogBench(root=tmp_path / "java")


def names(java: JavaPaimon) -> dict[str, list[str]]:
    return {each: java.tables(each) for each in java.databases()}


def main_ids(sql: CatalogBench) -> dict[str, str]:
    """The ids of the tables of main, by their names."""
    state = state_of_main(sql.warehouse())
    return {state.name_of(key) or "": key for key in state.tables}


def note(sql: CatalogBench) -> None:
    """Note in the ledger what main shows, as an operation does."""
    warehouse = sql.warehouse()
    note_main(warehouse, read_main_now(warehouse), operation="note", actor="ann")


def test_paimon_lists_and_reads_main_as_before_and_the_branch_once_it_is_made(
    java: JavaPaimon, sql: CatalogBench
) -> None:
    listed = names(java)
    sql("CREATE BRANCH now ON CATALOG")
    sql("CREATE BRANCH later ON CATALOG LAZY")
    flights = java.table("air.flights")
    assert names(java) == listed
    assert sorted(flights.rows()) == [(1, "a"), (2, "b")]
    assert flights.branches() == ["now"]
    assert sorted(flights.on("now").rows()) == [(1, "a"), (2, "b")]
    assert java.table("air.planes").on("now").columns() == ["id INT", "seats INT"]
    assert java.table("lab.empty").on("now").rows() == []

    flights.on("now").write([(3, "now")])
    flights.write([(4, "main")])
    sql("ALTER TABLE `air$branch_later`.flights ADD COLUMN more INT")
    assert sorted(flights.branches()) == ["later", "now"]
    assert sorted(flights.on("later").rows()) == [(1, "a", None), (2, "b", None)]
    flights.on("later").write([(5, "later", 6)])
    assert sorted(flights.rows()) == [(1, "a"), (2, "b"), (4, "main")]
    seen = sql.warehouse().on("later")
    assert {each.name: str(each.state) for each in seen.members()} == {
        "air.flights": "made", "air.planes": "not made yet", "lab.empty": "not made yet"
    }  # fmt: skip
    flights.expire_snapshots(1)
    sql("CREATE BRANCH third ON DATABASE air LAZY")
    assert names(java) == listed


def test_a_base_outlives_what_paimon_expires(java: JavaPaimon, sql: CatalogBench) -> None:
    sql("CREATE BRANCH later ON CATALOG LAZY")
    flights = java.table("air.flights")
    for number in range(3, 6):
        flights.write([(number, "main")])
    flights.compact()
    flights.expire_snapshots(1)
    sql("ALTER TABLE `air$branch_later`.flights ADD COLUMN more INT")
    assert sorted(flights.on("later").rows()) == [(1, "a", None), (2, "b", None)]


def test_what_a_branch_gets_of_main_begins_there_whatever_paimon_does_since(
    java: JavaPaimon, sql: CatalogBench
) -> None:
    sql("CREATE BRANCH dev ON DATABASE lab")
    listed, flights = names(java), java.table("air.flights")
    flights.write([(3, "c")])
    sql.do("add_to_catalog_branch", branch="dev", pattern="air.fl*")
    flights.write([(4, "main")])
    flights.expire_snapshots(1)
    assert (names(java), flights.branches()) == (listed, [])
    put(sql, "air.flights", (5, "dev"), branch="dev")
    begun = [(1, "a"), (2, "b"), (3, "c")]
    assert sorted(flights.on("dev").rows()) == [*begun, (5, "dev")]
    assert sorted(flights.rows()) == [*begun, (4, "main")]
    sql.run("MERGE BRANCH dev")
    assert sorted(flights.rows()) == [*begun, (4, "main"), (5, "dev")]


def test_what_paimon_renames_drops_and_makes_again_is_recognised(
    java: JavaPaimon, sql: CatalogBench
) -> None:
    sql("CREATE BRANCH dev ON CATALOG LAZY")
    before = main_ids(sql)
    assert before == {each.name: each.id for each in sql.warehouse().on("dev").members()}

    # Its folder is gone; exactly one unknown folder has its birth: renamed, whoever did it.
    java.rename_table("air.flights", "lab.legs")
    assert main_ids(sql)["lab.legs"] == before["air.flights"]
    dev = {each.name: each for each in sql.warehouse().on("dev").members()}
    assert dev["air.flights"].folder == "lab.db/legs"
    assert str(dev["air.flights"].state) == "not made yet"
    note(sql)
    java.rename_table("lab.legs", "air.flights")
    assert main_ids(sql) == before

    # None has it: dropped. A folder that belongs to no known object: created.
    java.drop_table("air.planes")
    java.create_table("air.planes", {"id": "INT"}).write([(9,)])
    now = main_ids(sql)
    assert now["air.planes"] != before["air.planes"]
    assert {key: now[key] for key in now if key != "air.planes"} == {
        key: before[key] for key in before if key != "air.planes"
    }
    dev = {each.name: each for each in sql.warehouse().on("dev").members()}
    assert str(dev["air.planes"].state) == "lost"


def test_a_copied_folder_is_told_by_its_snapshots(java: JavaPaimon, sql: CatalogBench) -> None:
    copy = sql.root / "air.db/older"
    shutil.copytree(sql.root / "air.db/flights", copy)
    java.table("air.flights").write([(3, "c")])
    note(sql)
    known = main_ids(sql)
    assert len({known["air.flights"], known["air.older"]}) == 2

    # The newer head stands in one folder only.
    java.rename_table("air.flights", "air.legs")
    java.rename_table("air.older", "air.oldest")
    moved = main_ids(sql)
    assert moved["air.legs"] == known["air.flights"]
    assert moved["air.oldest"] == known["air.older"]
    java.drop_table("air.oldest")
    assert main_ids(sql)["air.legs"] == known["air.flights"]


def test_a_copy_of_what_is_there_cannot_be_told_from_it(
    java: JavaPaimon, sql: CatalogBench
) -> None:
    note(sql)
    known = main_ids(sql)
    shutil.copytree(sql.root / "air.db/flights", sql.root / "air.db/same")
    assert main_ids(sql)["air.flights"] == known["air.flights"]
    java.rename_table("air.flights", "air.legs")
    state = state_of_main(sql.warehouse())
    assert set(state.unclear) == {known["air.flights"]}
    assert "they began with the same schema file" in state.unclear[known["air.flights"]]
    receipt = sql.run("CREATE BRANCH dev ON CATALOG LAZY")
    assert any("air.flights is left out" in note for note in receipt.notes)
    java.drop_table("air.same")
    assert main_ids(sql)["air.legs"] == known["air.flights"]


def test_a_database_with_a_file_that_is_made_again_is_another(
    java: JavaPaimon, sql: CatalogBench
) -> None:
    sql("ALTER DATABASE lab SET DBPROPERTIES (a = 1)")
    sql("CREATE BRANCH dev ON CATALOG LAZY")
    before = state_of_main(sql.warehouse())
    java.drop_table("lab.empty")
    java.drop_database("lab")
    java.create_database("lab")
    after = state_of_main(sql.warehouse())
    ids = [{each.name: each.id for each in state.databases.values()} for state in (before, after)]
    assert ids[0]["lab"] != ids[1]["lab"]
    assert ids[0]["air"] == ids[1]["air"]
    seen = sql.warehouse().on("dev")
    assert seen.databases() == ("air", "lab")
    assert seen.database("lab") == {"a": "1"}
    assert seen.table_names("lab") == ("empty",)
    assert [str(each) for each in list_table_names(sql.warehouse())] == [
        "air.flights", "air.planes"
    ]  # fmt: skip
