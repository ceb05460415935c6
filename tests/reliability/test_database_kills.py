"""A kill at every change of a statement on objects of main leaves the old or the new."""

import shutil
from pathlib import Path

import pytest

from branch_console.format.identifier import Identifier
from tests.support.branch_bench import store_of, tree
from tests.support.catalog_bench import CatalogBench
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.lifecycle import without_renames


@pytest.fixture
def sql(tmp_path: Path) -> CatalogBench:
    """Two databases, `air` with two tables and a property."""
    bench = CatalogBench(root=tmp_path / "w")
    bench("CREATE DATABASE air COMMENT 'flights'; CREATE DATABASE shop")
    bench("CREATE TABLE air.t (a INT); CREATE TABLE air.u (b INT)")
    return bench


MOVES = (
    "ALTER DATABASE air RENAME TO sky",
    "DROP DATABASE air CASCADE",
    "ALTER DATABASE old RENAME TO older",
    "CREATE DATABASE lab",
    "ALTER DATABASE air SET DBPROPERTIES (a = 1)",
    "DROP TABLE air.t",
    "ALTER TABLE air.t RENAME TO shop.v",
)
"""Statements that a kill may cut off; the first three move the folder of a database."""


@pytest.mark.parametrize("has_renames", [True, False], ids=["renames", "copies"])
@pytest.mark.parametrize("text", MOVES)
def test_a_kill_at_any_change_leaves_the_old_or_the_new(
    sql: CatalogBench, tmp_path: Path, text: str, has_renames: bool
) -> None:
    if not has_renames and "RENAME" in text:
        return  # refused there
    (sql.root / "old.db").mkdir()
    before = copied(sql, tmp_path / "clean")
    store = store_of if has_renames else without_renames
    counter = FaultyStore(inner=store(before.root))
    old = before.objects_of_main()
    CatalogBench(root=before.root, store=counter.store).run(text, operation_id="it")
    new = before.objects_of_main()
    endings = set()
    for number in range(1, len(counter.changes) + 1):
        for when in (When.BEFORE, When.AFTER):
            world = copied(sql, tmp_path / f"{number}-{when}")
            faulty = FaultyStore(inner=store(world.root), fault=At(call=number, when=when))
            with pytest.raises(Killed):
                CatalogBench(root=world.root, store=faulty.store).run(text, operation_id="it")
            world.store = store(world.root)
            world.recover()
            after = world.objects_of_main()
            assert after in (old, new), (number, when)
            endings.add(after == new)
            twice = tree(world.root)
            assert world.recover().notes == ("Nothing was cut off.",)
            assert tree(world.root) == twice
    assert endings == {True, False}


def copied(sql: CatalogBench, root: Path) -> CatalogBench:
    shutil.copytree(sql.root, root)
    return CatalogBench(root=root)


@pytest.mark.parametrize("has_renames", [True, False], ids=["renames", "copies"])
@pytest.mark.parametrize("text", ["DROP TABLE air.t", "DROP DATABASE air CASCADE"])
def test_a_branch_reads_what_it_holds_at_every_moment_of_a_drop(
    sql: CatalogBench, tmp_path: Path, text: str, has_renames: bool
) -> None:
    sql("CREATE BRANCH dev ON CATALOG LAZY; USE BRANCH dev; CREATE TABLE air.own (c INT)")
    store = store_of if has_renames else without_renames
    clean = copied(sql, tmp_path / "clean")
    counter = FaultyStore(inner=store(clean.root))
    CatalogBench(root=clean.root, store=counter.store).run(text, operation_id="it")
    old, new = sql.objects_of_main().keys(), clean.objects_of_main().keys()
    assert "air" in old
    for number in range(1, len(counter.changes) + 1):
        world = copied(sql, tmp_path / str(number))
        faulty = FaultyStore(inner=store(world.root), fault=At(call=number, when=When.AFTER))
        with pytest.raises(Killed):
            CatalogBench(root=world.root, store=faulty.store).run(text, operation_id="it")
        assert columns_on_dev(world) == {"t": "a", "u": "b", "own": "c"}, number
        world.store = store(world.root)
        world.recover()
        assert columns_on_dev(world) == {"t": "a", "u": "b", "own": "c"}, number
        assert world.objects_of_main().keys() == new, number
        world.undo("it")
        assert world.objects_of_main().keys() == old, number
        assert world.rows("SHOW TABLES IN air") == [("air", "t"), ("air", "u")]


@pytest.mark.parametrize("text", ["DROP TABLE air.t", "DROP DATABASE air CASCADE"])
def test_a_branch_that_was_made_between_a_kill_and_its_recovery_keeps_its_tables(
    sql: CatalogBench, text: str
) -> None:
    faulty = FaultyStore(inner=store_of(sql.root), fault=At(call=1, when=When.AFTER))
    with pytest.raises(Killed):
        CatalogBench(root=sql.root, store=faulty.store).run(text, operation_id="it")
    sql("CREATE BRANCH dev ON CATALOG LAZY")
    sql.recover()
    assert columns_on_dev(sql) == {"t": "a", "u": "b"}
    assert "air.t" not in [".".join(map(str, row)) for row in sql.rows("SHOW TABLES")]


def columns_on_dev(sql: CatalogBench) -> dict[str, str]:
    """Return the one column of each table of `air` on `dev`."""
    seen = sql.warehouse(read_only=True).on("dev")
    tables = {
        name: seen.open(Identifier(database="air", table=name)) for name in seen.table_names("air")
    }
    return {name: table.schema().fields[0].name for name, table in tables.items()}
