"""Statements on a catalog branch: databases and tables are its own, and main is as before."""

import shutil
from pathlib import Path

import pytest

from branch_console.errors import (
    AlreadyExists,
    CommitConflict,
    ErrorKind,
    InvalidInput,
    NotAllowed,
    NotFound,
    PaimonError,
    Refused,
)
from branch_console.format.identifier import Identifier
from branch_console.procedures.catalog.browse_catalog import catalog_branches, read_catalog_branch
from branch_console.procedures.catalog.states import state_of_main
from tests.support.branch_bench import store_of, tree
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_rows import put, rows_in
from tests.support.faulty_store import At, FaultyStore, Killed, When


@pytest.fixture
def sql(tmp_path: Path) -> CatalogBench:
    """Two databases, two tables, and a lazy branch `dev` of the whole catalog."""
    bench = CatalogBench(root=tmp_path / "w")
    bench("CREATE DATABASE air COMMENT 'flights'; CREATE DATABASE shop")
    bench("CREATE TABLE air.t (a INT); CREATE TABLE air.u (b INT)")
    bench("CREATE BRANCH dev ON CATALOG LAZY")
    return bench


def on_dev(text: str) -> str:
    return f"USE BRANCH dev; {text}"


def names(sql: CatalogBench, branch: str = "dev") -> list[tuple[object, ...]]:
    where = "" if branch == "main" else f" IN BRANCH {branch}"
    return sql.rows(f"SHOW TABLES{where}")


def test_databases_of_a_branch_are_versions_and_main_is_as_before(sql: CatalogBench) -> None:
    before = sql.objects()
    said = sql(on_dev("CREATE DATABASE lab COMMENT 'ours'"))
    assert said == "Database 'lab' was created. Catalog branch 'dev' is at dev@2."
    sql(on_dev("ALTER DATABASE air RENAME TO sky"))
    sql(on_dev("ALTER DATABASE sky SET DBPROPERTIES (a = 1)"))
    sql(on_dev("ALTER DATABASE sky UNSET DBPROPERTIES (comment)"))
    sql(on_dev("DROP DATABASE shop"))
    assert sql.rows("SHOW DATABASES IN BRANCH dev") == [("lab",), ("sky",)]
    assert sql.rows(on_dev("SHOW DATABASES")) == [("lab",), ("sky",)]
    assert sql.rows("SHOW DATABASES") == [("air",), ("shop",)]
    told = dict(sql.rows("DESCRIBE DATABASE sky IN BRANCH dev"))
    assert (told["Comment"], told["Property a"]) == ("", "1")
    assert names(sql) == [("sky", "t"), ("sky", "u")]
    after = sql.objects()
    new = {name: data for name, data in after.items() if before.get(name) != data}
    assert list(new) == ["lab.db/.branch-console/database-0000000001.json"]
    assert b'"onMain": false' in new[next(iter(new))].replace(b" :", b":")
    assert not before.keys() - after.keys()


def test_tables_are_made_dropped_and_renamed_on_a_branch(sql: CatalogBench) -> None:
    of_main = names(sql, "main")
    sql(on_dev("CREATE TABLE air.routes (a INT)"))
    assert (sql.root / "air.db/routes/branch/branch-dev/schema/schema-0").is_file()
    sql(on_dev("ALTER TABLE air.t RENAME TO shop.legs"))
    sql("DROP TABLE `air$branch_dev`.u")
    assert names(sql) == [("air", "routes"), ("shop", "legs")]
    assert names(sql, "main") == of_main
    opened = sql.warehouse().table("shop$branch_dev.legs")
    assert [field.name for field in opened.schema().fields] == ["a"]
    sql("ALTER TABLE `shop$branch_dev`.legs ADD COLUMN more INT")
    assert len(sql.warehouse().table("shop$branch_dev.legs").schema().fields) == 2
    assert len(sql.warehouse().table("air.t").schema().fields) == 1


def test_a_name_used_again_waits_where_other_engines_do_not_look(sql: CatalogBench) -> None:
    sql(on_dev("DROP TABLE air.t; CREATE TABLE air.t (other STRING)"))
    opened = sql.warehouse().table("air$branch_dev.t")
    assert [field.name for field in opened.schema().fields] == ["other"]
    assert "/.branch-console/catalog/new/t-" in opened.paths.table
    assert not (sql.root / "air.db/t/branch").exists()
    sql(on_dev("ALTER TABLE air.u RENAME TO air.v; CREATE TABLE air.u (c INT)"))
    sql(on_dev("ALTER DATABASE air RENAME TO sky; CREATE TABLE sky.w (d INT)"))
    assert names(sql) == [("sky", each) for each in ("t", "u", "v", "w")]
    assert not (sql.root / "sky.db").exists(), "no engine lists a database of the branch"


def test_two_branches_may_have_a_table_of_one_name(sql: CatalogBench) -> None:
    sql("CREATE BRANCH test ON CATALOG LAZY")
    sql(on_dev("CREATE TABLE air.routes (a INT)"))
    sql("USE BRANCH test; CREATE TABLE air.routes (b INT)")
    for branch, column in (("dev", "a"), ("test", "b")):
        table = sql.warehouse().table(f"air$branch_{branch}.routes")
        assert [field.name for field in table.schema().fields] == [column]


UNDOS = (
    "CREATE DATABASE lab",
    "ALTER DATABASE air RENAME TO sky",
    "ALTER DATABASE air SET DBPROPERTIES (a = 1, comment = 'x')",
    "ALTER DATABASE air UNSET DBPROPERTIES (comment)",
    "DROP DATABASE air CASCADE",
    "CREATE TABLE air.routes (a INT)",
    "ALTER TABLE air.t RENAME TO shop.legs",
    "DROP TABLE air.t",
)


@pytest.mark.parametrize("text", UNDOS)
def test_each_previews_itself_repeats_itself_and_is_undone(sql: CatalogBench, text: str) -> None:
    before = meaning(sql)
    if "TABLE" not in text.split()[:2] or text.startswith("DROP"):
        assert sql.preview(on_dev(text)).can_run
    first = sql.run(on_dev(text), operation_id="it")
    changed = meaning(sql)
    assert changed != before
    assert sql.run(on_dev(text), operation_id="it") == first
    assert meaning(sql) == changed
    undone = sql.undo("it")
    assert meaning(sql) == before
    assert sql.undo("it") == undone


def test_undo_is_refused_where_somebody_built_on_it(sql: CatalogBench) -> None:
    sql.run(on_dev("CREATE DATABASE lab"), operation_id="make")
    sql(on_dev("CREATE TABLE lab.t (a INT)"))
    sql.run(on_dev("ALTER TABLE air.t RENAME TO air.v"), operation_id="name")
    sql(on_dev("CREATE TABLE air.t (a INT)"))
    before = tree(sql.root)
    for operation, why in (
        ("make", "the database holds table 't' by now"),
        ("name", "another table has the name 't' by now"),
    ):
        with pytest.raises(Refused, match=why):
            sql.undo(operation)
    assert tree(sql.root) == before


WRONG: tuple[tuple[str, type[PaimonError], str], ...] = (
    ("CREATE DATABASE air", AlreadyExists, "'dev' has a database 'air' already"),
    ("DROP DATABASE air", Refused, "is not empty: it holds tables 't', 'u'. Say CASCADE"),
    ("ALTER DATABASE ari RENAME TO x", NotFound, "Did you mean 'air'?"),
    ("ALTER DATABASE air RENAME TO shop", AlreadyExists, "has a database 'shop' already"),
    ("CREATE TABLE air.t (a INT)", AlreadyExists, "has a table air.t already"),
    ("CREATE TABLE ai.t (a INT)", NotFound, "Did you mean 'air'?"),
    ("ALTER TABLE air.t RENAME TO air.u", AlreadyExists, "has a table air.u already"),
    ("ALTER TABLE air.tt RENAME TO air.x", NotFound, "has no table air.tt"),
    ("DROP TABLE air.tt", NotFound, "has no table air.tt. Did you mean 't'"),
    (
        "ALTER TABLE air.t RENAME TO `air$branch_test`.x",
        InvalidInput,
        "A table is renamed on one branch",
    ),
)


@pytest.mark.parametrize(("text", "error", "message"), WRONG)
def test_wrong_use_is_told_in_a_sentence_and_changes_nothing(
    sql: CatalogBench, text: str, error: type[PaimonError], message: str
) -> None:
    before = tree(sql.root)
    with pytest.raises(error) as caught:
        sql.run(on_dev(text))
    assert message in caught.value.message
    assert tree(sql.root) == before


def test_names_outside_of_the_scope_are_refused(sql: CatalogBench) -> None:
    sql("CREATE BRANCH part ON DATABASE air")
    before = tree(sql.root)
    for text in (
        "CREATE DATABASE lab",
        "DROP DATABASE shop",
        "ALTER DATABASE air RENAME TO sky",
        "CREATE TABLE shop.t (a INT)",
        "ALTER TABLE air.t RENAME TO shop.t",
    ):
        with pytest.raises(Refused, match="is outside of catalog branch 'part', which holds"):
            sql.run(f"USE BRANCH part; {text}")
    with pytest.raises(NotFound, match=r"There is no catalog branch 'dve'\. Did you mean 'dev'"):
        sql.run("USE BRANCH dve; CREATE DATABASE lab")
    assert tree(sql.root) == before


@pytest.mark.parametrize("text", UNDOS)
def test_who_may_not_changes_nothing(sql: CatalogBench, text: str) -> None:
    before = tree(sql.root)
    role = "approver" if text.startswith("DROP") else "viewer"
    with pytest.raises(NotAllowed, match=f"your role is {role}"):
        sql.run(on_dev(text), role=role)
    with pytest.raises(NotAllowed, match="open for reading only"):
        sql.run(on_dev(text), read_only=True)
    assert tree(sql.root) == before


@pytest.mark.parametrize("text", ["CREATE DATABASE lab", "CREATE TABLE air.routes (a INT)"])
def test_a_statement_that_somebody_was_faster_than_leaves_nothing(
    sql: CatalogBench, text: str
) -> None:
    store = FaultyStore(inner=store_of(sql.root))
    racer = CatalogBench(root=sql.root, store=store.store)
    store.meanwhile[2] = lambda: sql(on_dev("ALTER DATABASE air SET DBPROPERTIES (a = 1)"))
    with pytest.raises(CommitConflict, match="Somebody else changed catalog branch 'dev'"):
        racer.run(on_dev(text))
    assert names(sql) == [("air", "t"), ("air", "u")]
    assert sql.rows("SHOW DATABASES IN BRANCH dev") == [("air",), ("shop",)]
    assert not (sql.root / "air.db/routes/branch/branch-dev/schema/schema-0").exists()


@pytest.mark.parametrize("text", ["CREATE DATABASE lab", "CREATE TABLE air.routes (a INT)"])
def test_a_kill_at_any_change_leaves_the_old_or_the_new(sql: CatalogBench, text: str) -> None:
    count, old = 0, meaning(sql)
    while True:
        count += 1
        faulty = FaultyStore(
            inner=store_of(sql.root),
            fault=At(call=count, when=(When.BEFORE, When.AFTER)[count % 2]),
        )
        try:
            CatalogBench(root=sql.root, store=faulty.store).run(
                on_dev(text), operation_id=f"try-{count}"
            )
        except Killed:
            sql.recover()
            if meaning(sql) == old:
                continue
            sql.undo(f"try-{count}")
            assert meaning(sql) == old
            continue
        break
    assert count > 3
    assert meaning(sql) != old


def test_a_held_table_survives_a_drop_on_main(sql: CatalogBench) -> None:
    before = meaning(sql)
    of_main = sql.objects()
    said = sql.run("DROP TABLE air.t", operation_id="table").notes[0]
    assert "its other branches stay" in said
    assert meaning(sql) == before
    assert names(sql, "main") == [("air", "u")]
    sql.run("DROP DATABASE air CASCADE", operation_id="database")
    assert sql.rows("SHOW DATABASES") == [("shop",)]
    assert meaning(sql) == before
    table = sql.warehouse().table("air$branch_dev.u")
    assert [field.name for field in table.schema().fields] == ["b"]
    sql.undo("database")
    sql.undo("table")
    assert names(sql, "main") == [("air", "t"), ("air", "u")]
    assert meaning(sql) == before
    assert {name for name in of_main if "/schema/" in name} <= set(sql.objects())
    sql.run("DROP DATABASE shop")
    assert sql.databases() == ("air",)


@pytest.mark.parametrize("text", ["DROP TABLE air.t", "DROP DATABASE air CASCADE"])
def test_each_branch_that_reads_a_table_on_main_gets_its_own_when_main_drops_it(
    sql: CatalogBench, text: str
) -> None:
    put(sql, "air.t", (1,))
    for branch in ("one", "two"):
        sql(f"CREATE BRANCH {branch} ON CATALOG LAZY")
    sql(text)
    for branch in ("dev", "one", "two"):
        table = sql.warehouse().on(branch).open(Identifier.parse("air.t"))
        assert rows_in(table) == (() if branch == "dev" else ((1,),))


def test_a_branch_follows_a_database_that_main_renames(sql: CatalogBench) -> None:
    sql(on_dev("CREATE TABLE air.routes (c INT)"))
    before = names(sql)
    sql("ALTER DATABASE air RENAME TO sky")
    assert names(sql) == before
    for name, column in (("t", "a"), ("routes", "c")):
        table = sql.warehouse().table(f"air$branch_dev.{name}")
        assert [field.name for field in table.schema().fields] == [column]


def test_tables_that_a_branch_alone_has_are_recovered_too(sql: CatalogBench) -> None:
    sql(on_dev("DROP TABLE air.t; CREATE TABLE air.t (z INT)"))
    faulty = FaultyStore(inner=store_of(sql.root), fault=At(call=1, when=When.AFTER))
    with pytest.raises(Killed):
        CatalogBench(root=sql.root, store=faulty.store).do(
            "protect_branch", table="air$branch_dev.t", branch="dev"
        )
    assert "protect_branch" in sql.recover().notes[0]
    assert sql.recover().notes == ("Nothing was cut off.",)


def test_other_refusals_have_kinds(sql: CatalogBench) -> None:
    with pytest.raises(Refused) as caught:
        sql.run(on_dev("DROP DATABASE air"))
    assert caught.value.kind is ErrorKind.DATABASE_NOT_EMPTY


def meaning(sql: CatalogBench) -> dict[str, object]:
    """Each database of `dev` with its properties, and the columns of its tables."""
    seen = sql.warehouse(read_only=True).on("dev")
    return {
        name: (
            dict(seen.database(name)),
            {
                str(each.identifier): each.error or sorted(each.options.items())
                for each in seen.tables(name)
            },
        )
        for name in seen.databases()
    }


def test_a_branch_is_shown_with_all_that_it_did_and_its_net_effect_only(sql: CatalogBench) -> None:
    sql("CREATE TABLE air.v (a INT); CREATE TABLE shop.w (a INT)")
    sql("CREATE BRANCH two ON CATALOG LAZY")

    def on_two(text: str) -> None:
        sql(f"USE BRANCH two; {text}")

    on_two("CREATE DATABASE lab; CREATE DATABASE gone; DROP DATABASE gone")
    on_two("ALTER DATABASE air RENAME TO sky; ALTER DATABASE sky SET DBPROPERTIES (a = 1)")
    on_two("ALTER DATABASE sky UNSET DBPROPERTIES (comment)")
    on_two("DROP DATABASE shop CASCADE")
    on_two("ALTER TABLE sky.t RENAME TO lab.legs; ALTER TABLE lab.legs ADD COLUMN b INT")
    on_two("DROP TABLE sky.u; CREATE TABLE sky.u (a INT)")
    on_two("ALTER TABLE sky.v RENAME TO sky.x; ALTER TABLE sky.x RENAME TO sky.v")
    shown = read_catalog_branch(sql.warehouse(), "two")
    assert [(each.name, each.was, *each.did) for each in shown.changes] == [
        ("lab", None, "created"),
        ("shop", "shop", "dropped"),
        ("sky", "air", "renamed", "properties set", "properties unset"),
        ("air.u", "air.u", "dropped"),
        ("lab.legs", "air.t", "renamed", "altered"),
        ("shop.w", "shop.w", "dropped"),
        ("sky.u", None, "created"),
    ]
    assert shown.changes[2].properties == ("a", "comment")
    assert shown.item.changed == 7
    assert [(each.name, each.is_changed) for each in shown.members] == [
        ("lab.legs", True),
        ("sky.u", True),
        ("sky.v", False),
    ]
    assert [each.changed for each in catalog_branches(sql.warehouse())] == [0, 7]


@pytest.mark.parametrize("text", ["SHOW DATABASES", "SHOW TABLES IN air", "DESCRIBE DATABASE air"])
def test_a_branch_that_is_nowhere_is_not_taken_for_main(sql: CatalogBench, text: str) -> None:
    with pytest.raises(NotFound, match=r"neither the catalog nor a table has one\. Did you mean"):
        sql.rows(f"USE BRANCH deu; {text}")
    sql("CREATE BRANCH deu ON TABLE air.t")
    assert sql.rows(f"USE BRANCH deu; {text}") == sql.rows(text)


def test_one_and_several_are_told_apart(sql: CatalogBench) -> None:
    # Columns of its own: tables that are made at one time with equal ones cannot be told apart.
    sql("CREATE TABLE shop.w (w INT); CREATE BRANCH fix ON DATABASE shop LAZY")

    def told(text: str) -> str:
        return " ".join(each.text for each in sql.preview(text).consequences)

    assert "With it goes table 'w' and all" in told("DROP DATABASE shop CASCADE")
    assert "With it go tables 't', 'u' and all" in told("DROP DATABASE air CASCADE")
    on_fix = "USE BRANCH fix; DROP DATABASE shop CASCADE"
    assert "With it goes table 'w' of 'fix'." in told(on_fix)
    assert "where catalog branch 'dev' holds them" in told("DROP DATABASE air CASCADE")
    sql("CREATE BRANCH late ON CATALOG LAZY")
    assert "where catalog branches 'dev', 'late' hold them" in told("DROP DATABASE air CASCADE")


def test_main_is_no_catalog_branch_and_says_so(sql: CatalogBench) -> None:
    for look in (lambda: sql.warehouse().on("main"), lambda: sql("DROP BRANCH main ON CATALOG")):
        with pytest.raises(NotFound, match="'main' is no branch of the catalog: it is what"):
            look()


def test_a_name_of_the_fork_tells_what_became_of_its_table(sql: CatalogBench) -> None:
    sql(on_dev("ALTER TABLE air.t RENAME TO shop.legs; DROP TABLE air.u"))
    seen = sql.warehouse().on("dev")
    for name, said in (
        ("t", "has no table air.t. It is called shop.legs there."),
        ("u", "has no table air.u. It was dropped there."),
        ("v", "has no table air.v. A table that main got after the fork comes"),
    ):
        with pytest.raises(NotFound, match=said):
            seen.open(Identifier.parse(f"air.{name}"))


def ids_of_main(sql: CatalogBench) -> dict[str, str]:
    return {each.name: key for key, each in state_of_main(sql.warehouse()).databases.items()}


@pytest.mark.parametrize("is_noted", [True, False], ids=["noted", "not noted"])
@pytest.mark.parametrize("before", ["renamed", "dropped", "without a file", "on its own"])
def test_a_database_of_another_engine_keeps_the_id_that_the_ledger_has(
    sql: CatalogBench, before: str, is_noted: bool
) -> None:
    folder = sql.root / "lab.db"
    folder.mkdir()
    if before in ("renamed", "dropped"):
        # The id that is made of the name is that of another database now.
        sql("ALTER DATABASE lab SET DBPROPERTIES (a = 1)")
        sql("CREATE BRANCH early ON CATALOG LAZY")
        if before == "renamed":
            sql("ALTER DATABASE lab RENAME TO field")
        else:
            shutil.rmtree(folder)
        folder.mkdir()
    elif before == "without a file":
        sql("CREATE BRANCH early ON CATALOG LAZY")
        shutil.rmtree(folder)
        folder.mkdir()
    if is_noted:
        sql("CREATE BRANCH late ON CATALOG LAZY")
    known = ids_of_main(sql)
    assert len(set(known.values())) == len(known)
    sql("ALTER DATABASE lab SET DBPROPERTIES (b = 2)")
    assert sql.database("lab").id == known["lab"]
    assert ids_of_main(sql) == known
    undone = sql.last
    shutil.rmtree(folder)
    with pytest.raises(Refused, match="database 'lab' is gone"):
        sql.undo(undone)
    folder.mkdir()
    with pytest.raises(Refused, match="Undo is not possible"):
        sql.undo(undone)
    sql("ALTER DATABASE lab RENAME TO again")
    assert sorted(ids_of_main(sql)) == sorted({*known, "again"} - {"lab"})
