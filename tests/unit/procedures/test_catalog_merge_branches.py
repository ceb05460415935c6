"""Merging into a branch of the catalog: names are in its next version, content is on its tables."""

import shutil
from pathlib import Path

import pytest

from branch_console.commit.schema.schema_commit import add_column, change_schema
from branch_console.errors import ErrorKind, Refused
from branch_console.format.catalog.catalog_version import VersionKind
from branch_console.format.data_types import INT
from tests.support.branch_bench import store_of, tree
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_rows import put, seen_on
from tests.support.catalog_warehouse import CatalogWarehouse
from tests.support.examples import Examples
from tests.support.faulty_store import At, FaultyStore, Killed, When

MERGE = "MERGE BRANCH main TO dev"


def seen(bench: CatalogBench, branch: str = "dev") -> dict[str, object]:
    """What a branch has: the states, heads and schemas of its tables, and its databases."""
    of_branch = bench.warehouse(read_only=True).on(branch)
    found: dict[str, object] = {each: of_branch.database(each) for each in of_branch.databases()}
    for member in of_branch.members():
        table = of_branch.open_member(member)
        head, schema = table.head_and_schema()
        found[member.name] = (None if head is None else head.id, schema.id)
    return found


@pytest.fixture(params=["eager", "lazy"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> CatalogBench:
    """Main changed rows, made a table and a database, and dropped and renamed since dev began."""
    made = CatalogWarehouse(tmp_path / "warehouse")
    bench = CatalogBench(root=made.folder)
    bench.run(f"CREATE BRANCH dev ON CATALOG {'LAZY' if request.param == 'lazy' else ''}")
    made.commit("air.flights", 2)
    table = made.warehouse.table("air.flights")
    change_schema(table, made.warehouse.store, [add_column("extra", INT)], now_millis=1)
    for number, statement in enumerate(
        (
            "CREATE DATABASE sea WITH DBPROPERTIES ('a' = '1')",
            "CREATE TABLE sea.boats (b INT)",
            "ALTER TABLE air.planes RENAME TO air.jets",
            "DROP TABLE lab.notes",
        )
    ):
        bench.now += number
        bench.run(statement)
    made.commit("sea.boats", 1)
    return bench


AFTER = {
    "air": {},
    "lab": {},
    "sea": {"a": "1"},
    "air.flights": (2, 1),
    "air.jets": (1, 0),
    "sea.boats": (1, 0),
}


def test_main_comes_into_a_branch(bench: CatalogBench) -> None:
    of_main = {path: data for path, data in files(bench).items() if "/branch/" not in path}
    receipt = bench.run(MERGE, operation_id="it")
    assert seen(bench) == AFTER
    assert receipt.notes[0] == "'main' was merged into 'dev': dev@2."
    newest = next(bench.warehouse().ledger.versions("dev"))
    assert (newest.kind, newest.operation) == (VersionKind.MERGED, "it")
    assert {path: files(bench)[path] for path in of_main} == of_main
    # What the branch begins with is kept, and so is what it was merged with.
    assert "branch-base-dev" in bench.warehouse().table("sea.boats").tags.names()
    assert bench.run(MERGE).notes[-1] == "Nothing was changed."
    assert bench.run("MERGE BRANCH dev").notes[-1] == "Nothing was changed."


def test_a_kill_at_any_change_leaves_all_or_nothing(
    bench: CatalogBench, tmp_path: Path, examples: Examples
) -> None:
    before = seen(bench)

    def copied(name: str) -> CatalogBench:
        shutil.copytree(bench.root, tmp_path / name)
        return CatalogBench(root=tmp_path / name, now=bench.now)

    clean = copied("clean")
    counter = FaultyStore(inner=store_of(clean.root))
    CatalogBench(root=clean.root, store=counter.store, now=bench.now).run(MERGE, operation_id="it")
    assert seen(clean) == AFTER
    endings, most = set(), len(counter.changes)
    for number in range(1, most + 1, max(1, most // examples(12, quick=4, long=most))):
        when = When.BEFORE if number % 2 else When.AFTER
        cut = copied(f"{number}")
        faulty = FaultyStore(inner=store_of(cut.root), fault=At(call=number, when=when))
        with pytest.raises(Killed):
            CatalogBench(root=cut.root, store=faulty.store, now=bench.now).run(
                MERGE, operation_id="it"
            )
        told = cut.recover().notes
        found = seen(cut)
        assert found in (before, AFTER), (number, when, faulty.changes[-1], told)
        endings.add(found == AFTER)
        assert cut.recover().notes == ("Nothing was cut off.",)
        cut.run(MERGE)
        assert seen(cut) == AFTER
        shutil.rmtree(cut.root)
    assert endings == {True, False}


def test_what_comes_by_one_branch_into_another_and_then_into_main_is_the_same(
    tmp_path: Path,
) -> None:
    made = CatalogWarehouse(tmp_path / "warehouse")
    bench = CatalogBench(root=made.folder)
    bench.run("CREATE BRANCH test ON CATALOG")
    bench.run("CREATE BRANCH dev ON CATALOG")
    bench.run("USE BRANCH dev; CREATE TABLE air.routes (r INT)")
    bench.now += 1
    bench.run("USE BRANCH dev; DROP TABLE lab.notes")
    made.commit("air.routes", 1, "dev")
    flights = made.warehouse.table("air.flights$branch_dev")
    change_schema(flights, made.warehouse.store, [add_column("extra", INT)], now_millis=1)
    made.commit("air.flights", 2, "dev")
    bench.run("MERGE BRANCH dev TO test")
    found = seen(bench, "test")
    assert found["air.routes"] == (1, 0)
    assert found["air.flights"] == (2, 1)
    assert "lab.notes" not in found
    bench.run("MERGE BRANCH test")
    tables = bench.warehouse().catalog.table_names("air")
    assert tables == ("flights", "planes", "routes")
    assert bench.warehouse().table("air.routes").snapshots.ids() == (1,)
    assert bench.run("MERGE BRANCH dev").notes[-1] == "Nothing was changed."


def files(bench: CatalogBench) -> dict[str, bytes]:
    return {
        str(path.relative_to(bench.root)): path.read_bytes()
        for path in bench.root.rglob("*")
        if path.is_file() and path.parent.name in ("schema", "snapshot")
    }


def test_a_table_that_came_and_is_not_made_yet_comes_once(tmp_path: Path) -> None:
    sql = CatalogBench(root=tmp_path / "warehouse")
    sql("CREATE DATABASE air; CREATE TABLE air.flights (id INT)")
    sql("CREATE BRANCH dev ON CATALOG; CREATE BRANCH test ON CATALOG")
    sql("USE BRANCH dev; CREATE TABLE air.routes (id INT)")
    put(sql, "air.routes", (1,), branch="dev")
    for value in range(3):
        sql(f"USE BRANCH dev; ALTER DATABASE air SET DBPROPERTIES (a = '{value}')")
        sql.run("MERGE BRANCH dev TO test")
        before = tree(sql.root)
        again = sql.run("MERGE BRANCH dev TO test")
        assert again.notes == ("test holds all that dev changed.", "Nothing was changed.")
        assert tree(sql.root) == before
    assert "not made yet" in [str(each.state) for each in sql.warehouse().on("test").members()]


@pytest.fixture
def made_again(tmp_path: Path) -> CatalogBench:
    """`test` dropped a table, and main by it; another one has its name, beside what dev holds."""
    sql = CatalogBench(root=tmp_path / "warehouse")
    sql("CREATE DATABASE air; CREATE TABLE air.b (old INT)")
    put(sql, "air.b", (1,))
    sql("CREATE BRANCH dev ON CATALOG; CREATE BRANCH test ON CATALOG")
    sql.run("USE BRANCH test; DROP TABLE air.b", operation_id="drop")
    sql.run("MERGE BRANCH test TO main")
    sql.now += 1
    sql("CREATE TABLE air.b (new INT)")
    put(sql, "air.b", (2,))
    return sql


def test_a_table_made_again_reads_nothing_of_the_branch_that_the_one_before_it_left(
    made_again: CatalogBench,
) -> None:
    sql = made_again
    sql.run("MERGE BRANCH main TO test")
    assert seen_on(sql, "test").tables == {"air.b": (("new",), ((2,),))}
    assert seen_on(sql, "dev").tables == {"air.b": (("old",), ((1,),))}
    put(sql, "air.b", (3,), branch="test")
    after = {"air.b": (("new",), ((2,), (3,)))}
    assert seen_on(sql, "test").tables == after
    sql.run("MERGE BRANCH test TO main")
    assert seen_on(sql).tables == after
    assert seen_on(sql, "dev").tables == {"air.b": (("old",), ((1,),))}
    # What the first table held on the branch is kept, and comes back no more by undo of its drop.
    names = sql.warehouse().table("air.b").branches.names()
    assert [each for each in names if each.startswith("rescue-made-")]
    sql("USE BRANCH test; DROP TABLE air.b")
    before = tree(sql.root)
    with pytest.raises(Refused, match=r"of table 'air\.b' is gone, or a rescue branch by now"):
        sql.undo("drop")
    assert tree(sql.root) == before


def test_the_branch_that_a_dropped_table_left_is_dropped_by_itself(
    made_again: CatalogBench,
) -> None:
    sql = made_again
    sql.run("MERGE BRANCH main TO test")
    assert "Branch 'test' is dropped" in sql("DROP BRANCH test ON TABLE air.b")
    assert seen_on(sql, "test").tables == {"air.b": (("new",), ((2,),))}


def test_a_table_whose_folder_holds_another_one_of_the_branch_does_not_come(
    made_again: CatalogBench,
) -> None:
    sql = made_again
    sql("USE BRANCH dev; ALTER TABLE air.b RENAME TO air.c")
    before = seen_on(sql, "dev")
    told = "The folder air.db/b is taken: it holds air.c of catalog branch 'dev' too"
    # Main dropped it, and somebody decided that dev goes on with it.
    policy = "version: 1\nobjects: {'*': {object gone: ours}}"
    with pytest.raises(Refused, match=told) as caught:
        sql.do("merge_catalog_branch", branch="main", target="dev", strict=True, policy=policy)
    assert caught.value.kind is ErrorKind.NAME_TAKEN
    assert seen_on(sql, "dev") == before
    sql("USE BRANCH dev; DROP TABLE air.c")
    sql.run("MERGE BRANCH main TO dev")
    assert seen_on(sql, "dev").tables == {"air.b": (("new",), ((2,),))}


@pytest.mark.parametrize("has_rows", [True, False], ids=["rows", "no rows"])
@pytest.mark.parametrize(
    "moves",
    [
        "ALTER TABLE air.a RENAME TO air.c",
        "ALTER TABLE air.a RENAME TO air.c; ALTER TABLE air.b RENAME TO air.a",
        "DROP TABLE air.b; ALTER TABLE air.a RENAME TO air.c",
    ],
)
def test_a_branch_finds_a_table_that_a_merge_moved_though_another_began_as_it_did(
    tmp_path: Path, moves: str, has_rows: bool
) -> None:
    sql = CatalogBench(root=tmp_path / "warehouse")
    sql("CREATE DATABASE air; CREATE TABLE air.a (id INT); CREATE TABLE air.b (id INT)")
    if has_rows:
        put(sql, "air.a", (1,))
        put(sql, "air.b", (2,))
    sql("CREATE BRANCH dev ON CATALOG; CREATE BRANCH test ON CATALOG")
    put(sql, "air.a", (3,), branch="dev")
    put(sql, "air.b", (4,), branch="dev")
    before = seen_on(sql, "dev")
    sql(f"USE BRANCH test; {moves}")
    sql.run("MERGE BRANCH test TO main")
    assert seen_on(sql, "dev") == before


def test_a_merge_of_a_database_leaves_out_what_both_sides_moved_from_it(tmp_path: Path) -> None:
    sql = CatalogBench(root=tmp_path / "warehouse")
    sql("CREATE DATABASE air; CREATE DATABASE lab; CREATE TABLE lab.a (id INT)")
    sql("CREATE BRANCH dev ON CATALOG")
    for branch in ("dev", "main"):
        sql(f"USE BRANCH {branch}; ALTER TABLE lab.a RENAME TO air.a")
    put(sql, "air.a", (1,), branch="dev")
    assert sql.run("MERGE BRANCH dev TO main ON DATABASE lab").notes[-1] == "Nothing was changed."
    sql.run("MERGE BRANCH dev TO main ON DATABASE air")
    assert seen_on(sql).tables == {"air.a": (("id",), ((1,),))}
