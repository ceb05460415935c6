"""Objects that a merge of the catalog drops, moves, makes and changes on main, and brings back."""

import shutil
from pathlib import Path

import pytest

from branch_console.errors import CommitConflict, Refused
from branch_console.merge.catalog.catalog_steps import StepKind
from branch_console.merge.plan import MergeVerdict
from branch_console.procedures.catalog_merge.actions import action_of
from branch_console.procedures.catalog_merge.catalog_sides import CatalogMergeSpec
from branch_console.procedures.catalog_merge.merge_catalog import preview_catalog_merge
from tests.support.branch_bench import store_of, tree
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_rows import put, seen_on
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.merge_steps import MergeSteps

CASES = {
    "drop a table": "DROP TABLE air.t",
    "rename a table": "ALTER TABLE air.t RENAME TO air.v",
    "move a table": "ALTER TABLE air.t RENAME TO shop.t",
    "swap two names": (
        "ALTER TABLE air.t RENAME TO air.x; ALTER TABLE air.u RENAME TO air.t; "
        "ALTER TABLE air.x RENAME TO air.u"
    ),
    "take the name of a dropped table": "DROP TABLE air.t; ALTER TABLE air.u RENAME TO air.t",
    "drop a database": "DROP DATABASE air CASCADE",
    "save a table from a database": (
        "ALTER TABLE air.t RENAME TO shop.t; DROP DATABASE air CASCADE"
    ),
    "create a database": "CREATE DATABASE lab WITH DBPROPERTIES (x = 1)",
    "move a table to a new database": "CREATE DATABASE lab; ALTER TABLE air.t RENAME TO lab.v",
    "rename a database": "ALTER DATABASE air RENAME TO sky",
    "swap two databases": (
        "ALTER DATABASE air RENAME TO x; ALTER DATABASE shop RENAME TO air; "
        "ALTER DATABASE x RENAME TO shop"
    ),
    "make a database again": "DROP DATABASE shop; CREATE DATABASE shop WITH DBPROPERTIES (b = 2)",
    "rename a database and a table in it": (
        "ALTER TABLE air.t RENAME TO air.v; ALTER DATABASE air RENAME TO sky"
    ),
    "set properties": "ALTER DATABASE air SET DBPROPERTIES (a = 1)",
    "rename a database and set its properties": (
        "ALTER DATABASE air SET DBPROPERTIES (a = 1); ALTER DATABASE air RENAME TO sky"
    ),
    "take the name of a table that the branch made and dropped": (
        "CREATE TABLE air.v (c INT); DROP TABLE air.v; ALTER TABLE air.t RENAME TO air.v"
    ),
    "take the name of a database that the branch made and dropped": (
        "CREATE DATABASE sky; DROP DATABASE sky; ALTER DATABASE air RENAME TO sky"
    ),
    "rename a database that another engine made": "ALTER DATABASE old RENAME TO older",
}


@pytest.fixture
def sql(tmp_path: Path) -> CatalogBench:
    """Databases `air` with two tables, `shop` and another engine's `old`, and a branch of all."""
    bench = CatalogBench(root=tmp_path / "w")
    bench("CREATE DATABASE air COMMENT 'flights'; CREATE DATABASE shop")
    bench("CREATE TABLE air.t (a INT); CREATE TABLE air.u (b INT)")
    (bench.root / "old.db").mkdir()
    bench("CREATE BRANCH dev ON CATALOG LAZY")
    return bench


@pytest.fixture(params=CASES, ids=[each.replace(" ", "-") for each in CASES])
def statements(request: pytest.FixtureRequest) -> str:
    return f"USE BRANCH dev; {CASES[request.param]}"


def test_every_kind_of_step_makes_main_what_the_branch_is_and_takes_it_back(
    sql: CatalogBench, statements: str
) -> None:
    names = sql.objects_of_main().keys()
    sql(statements)
    old = sql.objects_of_main()
    assert old.keys() - names <= {"lab"}
    steps = MergeSteps(sql)
    steps.begin()
    steps.prepare()
    assert sql.objects_of_main() == old, "nothing is seen before the commit point"
    steps.carry_out()
    assert names_on_main(sql) == names_on_dev(sql)
    told = steps.told()
    assert told
    assert "again: another engine" not in " ".join(told)
    once = tree(sql.root)
    steps.carry_out()
    assert tree(sql.root) == once, "twice changes nothing"
    steps.take_back()
    assert is_as(sql, old)
    once = tree(sql.root)
    steps.take_back()
    assert tree(sql.root) == once


def test_a_kill_at_any_change_is_finished_forward_and_backward(
    sql: CatalogBench, statements: str, tmp_path: Path
) -> None:
    sql(statements)
    old = sql.objects_of_main()
    MergeSteps(sql).begin()
    MergeSteps(sql).prepare()
    clean = copied(sql, tmp_path / "clean")
    counter = FaultyStore(inner=store_of(clean.root))
    clean.store = counter.store
    MergeSteps(clean).carry_out()
    forward = len(counter.changes)
    new = clean.objects_of_main()
    MergeSteps(clean).take_back()
    assert forward
    for number in range(1, len(counter.changes) + 1):
        world = copied(sql, tmp_path / str(number))
        faulty = FaultyStore(inner=store_of(world.root), fault=At(call=number, when=When.AFTER))
        world.store = faulty.store
        with pytest.raises(Killed):
            there_and_back(MergeSteps(world))
        world.store = None
        steps = MergeSteps(world)
        if number <= forward and number % 2:
            steps.carry_out()
            assert world.objects_of_main() == new, number
        steps.take_back()
        assert is_as(world, old), number


@pytest.mark.parametrize("text", ["DROP TABLE air.t", "DROP DATABASE air CASCADE"])
def test_a_branch_goes_on_with_what_a_merge_drops(sql: CatalogBench, text: str) -> None:
    sql("CREATE BRANCH test ON CATALOG LAZY")
    old = sql.objects_of_main()
    sql(f"USE BRANCH dev; {text}")
    steps = MergeSteps(sql)
    steps.begin()
    steps.prepare()
    steps.carry_out()
    assert names_on_main(sql) == names_on_dev(sql)
    assert sql.rows("SHOW TABLES IN BRANCH test") == [("air", "t"), ("air", "u")]
    assert any("main, which its branch 'rescue-op-9' keeps" in note for note in steps.told())
    steps.take_back()
    assert sql.objects_of_main().keys() == old.keys()
    assert sql.rows("SHOW TABLES") == [("air", "t"), ("air", "u")]
    assert sql.rows("SHOW TABLES IN BRANCH test") == [("air", "t"), ("air", "u")]


def test_what_stands_in_the_way_is_told_before_anything_moves(sql: CatalogBench) -> None:
    sql("USE BRANCH dev; ALTER TABLE air.t RENAME TO air.v; ALTER DATABASE shop RENAME TO lab")
    steps = MergeSteps(sql)
    steps.begin()
    sql("CREATE BRANCH test ON CATALOG LAZY; USE BRANCH test; CREATE TABLE air.v (c INT)")
    before = tree(sql.root)
    with pytest.raises(Refused, match=r"air.db/v is taken: catalog branch 'test' holds a table in"):
        steps.prepare()
    assert tree(sql.root) == before
    sql("USE BRANCH test; DROP TABLE air.v; CREATE DATABASE lab; CREATE TABLE lab.x (d INT)")
    with pytest.raises(Refused, match=r"lab.db is taken: a catalog branch has a database of that"):
        steps.prepare()
    sql("USE BRANCH test; DROP TABLE lab.x; USE BRANCH main; DROP TABLE air.t")
    with pytest.raises(CommitConflict, match=r"Table air.t is gone or was replaced"):
        steps.prepare()


HELD = {
    "renamed into": ("", "DROP TABLE air.t; ALTER TABLE air.u RENAME TO air.t", "TABLE air.t"),
    "created into": ("", "DROP TABLE air.t; CREATE TABLE air.t (x INT)", "TABLE air.t"),
    "a new name": (
        "CREATE TABLE air.v (c INT)",
        "ALTER TABLE air.t RENAME TO air.v",
        "TABLE air.v",
    ),
    "of a database": (
        "CREATE DATABASE lab; CREATE TABLE lab.x (d INT)",
        "ALTER DATABASE shop RENAME TO lab",
        "DATABASE lab",
    ),
}


@pytest.mark.parametrize("case", HELD)
def test_a_place_that_another_branch_holds_is_refused_by_the_preview_as_by_the_run(
    sql: CatalogBench, case: str
) -> None:
    on_test, on_dev, taken = HELD[case]
    sql("CREATE BRANCH test ON CATALOG LAZY")
    if on_test:
        sql(f"USE BRANCH test; {on_test}")
    sql(f"USE BRANCH dev; {on_dev}")
    (block,) = sql.preview("MERGE BRANCH dev").blocks
    assert "is taken: " in block.text
    assert "on the source, then merge again" in block.text
    spec = CatalogMergeSpec(source="dev", target="main")
    plan = preview_catalog_merge(sql.warehouse(read_only=True), spec)
    assert plan.verdict is MergeVerdict.REFUSED
    assert [each.text for each in plan.blocks] == [block.text]
    before = tree(sql.root)
    with pytest.raises(Refused, match="is taken: "):
        sql.run("MERGE BRANCH dev")
    assert tree(sql.root) == before
    # The way out that it names.
    sql(f"USE BRANCH dev; ALTER {taken} RENAME TO {taken.split()[1]}2")
    sql.run("MERGE BRANCH dev")
    assert names_on_main(sql) == names_on_dev(sql)


def test_a_step_that_somebody_forestalls_is_not_carried_out(sql: CatalogBench) -> None:
    sql("USE BRANCH dev; ALTER DATABASE air SET DBPROPERTIES (a = 1); CREATE DATABASE lab")
    steps = MergeSteps(sql)
    steps.begin()
    steps.prepare()
    sql("CREATE DATABASE lab WITH DBPROPERTIES (of = 'others')")
    with pytest.raises(CommitConflict, match=r"'lab' was changed by somebody else"):
        steps.carry_out()
    steps.take_back()
    assert dict(sql.database("lab").properties) == {"of": "others"}
    sql("ALTER DATABASE air SET DBPROPERTIES (a = 2)")
    with pytest.raises(CommitConflict, match=r"'air' was changed by somebody else"):
        action_of(StepKind.SET_PROPERTIES).carry_out(steps.merge, steps.merge.steps[-1])


def test_a_merge_into_a_branch_leaves_main_as_it_is(sql: CatalogBench) -> None:
    sql("CREATE BRANCH test ON CATALOG; USE BRANCH dev; CREATE DATABASE lab")
    sql(
        "USE BRANCH dev; DROP TABLE air.t; ALTER TABLE air.u RENAME TO shop.v; "
        "ALTER DATABASE air SET DBPROPERTIES (a = 1); ALTER DATABASE air RENAME TO sky; "
        "DROP DATABASE old"
    )
    before = sql.objects()
    sql("MERGE BRANCH dev TO test")
    assert sql.objects() == before
    assert sql.rows("SHOW TABLES IN BRANCH test") == [("shop", "v")]
    assert sql.rows("SHOW DATABASES IN BRANCH test") == [("lab",), ("shop",), ("sky",)]


def test_a_folder_that_came_back_at_an_old_name_is_told(sql: CatalogBench) -> None:
    sql("USE BRANCH dev; DROP TABLE air.u; ALTER TABLE air.t RENAME TO air.v")
    sql("USE BRANCH dev; ALTER DATABASE shop RENAME TO stores")
    steps = MergeSteps(sql)
    steps.begin()
    steps.prepare()
    steps.carry_out()
    for name in ("air.db/t", "air.db/u", "shop.db"):
        (sql.root / name).mkdir()
    told = " ".join(steps.told())
    for name in ("air.db/t", "air.db/u", "shop.db"):
        assert f"There is a folder {name} again: another engine wrote there" in told


def test_a_receipt_tells_properties_and_where_a_folder_is_below_the_warehouse(
    sql: CatalogBench,
) -> None:
    sql("USE BRANCH dev; ALTER DATABASE air SET DBPROPERTIES (team = 'ops'); DROP TABLE air.u")
    told = sql("MERGE BRANCH dev")
    assert "Database 'air': Property 'team' becomes 'ops'; it had no value." in told
    assert "Its folder is kept as .branch-console/dropped/" in told
    assert str(sql.root) not in told


def there_and_back(steps: MergeSteps) -> None:
    steps.carry_out()
    steps.take_back()


def is_as(sql: CatalogBench, old: dict[str, tuple[object, object, object]]) -> bool:
    """Whether main is as it was; a database of another engine may have got an id."""
    now = sql.objects_of_main()
    return now.keys() == old.keys() and all(
        (now[name] if old[name][0] is not None else (None, None, now[name][2])) == old[name]
        for name in old
    )


def copied(sql: CatalogBench, root: Path) -> CatalogBench:
    shutil.copytree(sql.root, root)
    return CatalogBench(root=root)


def names_on_main(sql: CatalogBench) -> list[tuple[object, ...]]:
    return [*sql.rows("SHOW DATABASES"), *sql.rows("SHOW TABLES")]


def names_on_dev(sql: CatalogBench) -> list[tuple[object, ...]]:
    return [*sql.rows("SHOW DATABASES IN BRANCH dev"), *sql.rows("SHOW TABLES IN BRANCH dev")]


def test_tables_that_began_alike_do_not_swap_names_by_one_merge(tmp_path: Path) -> None:
    sql = CatalogBench(root=tmp_path / "warehouse")
    sql("CREATE DATABASE air; CREATE TABLE air.a (id INT); CREATE TABLE air.b (id INT)")
    put(sql, "air.a", (1,))
    put(sql, "air.b", (2,))
    sql("CREATE BRANCH dev ON CATALOG; USE BRANCH dev; ALTER TABLE air.a RENAME TO air.x")
    sql("USE BRANCH dev; ALTER TABLE air.b RENAME TO air.a; ALTER TABLE air.x RENAME TO air.b")
    before = seen_on(sql)
    with pytest.raises(Refused, match="began with the same columns in the same millisecond"):
        sql.run("MERGE BRANCH dev TO main")
    assert seen_on(sql) == before
    sql("ALTER TABLE air.a RENAME TO air.y")
    sql.run("MERGE BRANCH dev TO main")
    assert seen_on(sql).tables == {"air.a": (("id",), ((2,),)), "air.b": (("id",), ((1,),))}
