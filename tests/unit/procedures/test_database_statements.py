"""Databases on main: each statement with its preview, its receipt, its undo, and after a kill."""

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
from branch_console.format.other_catalog import CatalogKind
from branch_console.procedures.kept_receipts import read_receipt
from tests.support.branch_bench import store_of, tree
from tests.support.catalog_bench import CatalogBench
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.lifecycle import without_renames


@pytest.fixture
def sql(tmp_path: Path) -> CatalogBench:
    """Two databases, `air` with two tables and a property."""
    bench = CatalogBench(root=tmp_path / "w")
    bench("CREATE DATABASE air COMMENT 'flights'; CREATE DATABASE shop")
    bench("CREATE TABLE air.t (a INT); CREATE TABLE air.u (a INT)")
    return bench


def test_a_database_is_a_folder_with_an_id_and_properties(sql: CatalogBench) -> None:
    assert sql("CREATE DATABASE lab WITH DBPROPERTIES (a = 1)") == "Database 'lab' was created."
    assert sql.databases() == ("air", "lab", "shop")
    assert sql.database("air").properties == {"comment": "flights"}
    assert sql.database("lab").properties == {"a": "1"}
    assert len({sql.database(name).id for name in sql.databases()}) == 3
    assert sql("CREATE DATABASE IF NOT EXISTS lab").startswith("There is a database 'lab' already")


def test_every_statement_previews_itself_and_repeats_itself(sql: CatalogBench) -> None:
    for text in (
        "CREATE DATABASE lab",
        "ALTER DATABASE lab SET DBPROPERTIES (a = 1)",
        "ALTER DATABASE lab RENAME TO field",
        "DROP DATABASE field",
    ):
        assert sql.preview(text).can_run
        first = sql.run(text, operation_id="once")
        after = tree(sql.root)
        assert sql.run(text, operation_id="once") == first
        assert tree(sql.root) == after
        assert read_receipt(sql.warehouse(), "once") == first
        forget_operation(sql, "once")
    assert sql.databases() == ("air", "shop")


def forget_operation(sql: CatalogBench, operation_id: str) -> None:
    journal = sql.root / ".branch-console" / "catalog" / "journal"
    for path in journal.glob(f"*{operation_id}*"):
        path.unlink()


def test_properties_are_set_and_taken_away_one_by_one(sql: CatalogBench) -> None:
    sql("ALTER DATABASE air SET DBPROPERTIES (a = 1, b = 2)")
    said = sql("ALTER DATABASE air UNSET DBPROPERTIES ('a', 'none')")
    assert "Property 'a', which was '1', goes." in said
    assert sql.database("air").properties == {"b": "2", "comment": "flights"}
    same = sql("ALTER DATABASE air SET DBPROPERTIES (b = 2)")
    assert same == "Database 'air' has these properties already. Nothing was changed."


def test_setting_properties_is_a_compare_and_set(sql: CatalogBench) -> None:
    store = FaultyStore(inner=store_of(sql.root))
    racer = CatalogBench(root=sql.root, store=store.store)
    # The first change is the intent; the second is the file.
    store.meanwhile[2] = lambda: sql("ALTER DATABASE air SET DBPROPERTIES (a = 'first')")
    with pytest.raises(CommitConflict, match="was changed by somebody else"):
        racer.run("ALTER DATABASE air SET DBPROPERTIES (a = 'second')")
    assert sql.database("air").properties["a"] == "first"


def test_properties_never_bring_back_a_folder_that_was_just_renamed(sql: CatalogBench) -> None:
    sql("ALTER DATABASE air SET DBPROPERTIES (a = 1)")
    store = FaultyStore(inner=store_of(sql.root))
    racer = CatalogBench(root=sql.root, store=store.store)
    store.meanwhile[2] = lambda: sql("ALTER DATABASE air RENAME TO sky")
    with pytest.raises(CommitConflict, match="was changed by somebody else"):
        racer.run("ALTER DATABASE air SET DBPROPERTIES (a = 2)")
    assert sql.databases() == ("shop", "sky")
    assert not (sql.root / "air.db").exists()
    assert sql.database("sky").properties["a"] == "1"


def test_a_renamed_database_keeps_its_id_its_tables_and_its_properties(sql: CatalogBench) -> None:
    before = sql.database("air")
    sql("ALTER DATABASE air RENAME TO sky")
    assert sql.databases() == ("shop", "sky")
    after = sql.database("sky")
    assert (after.id, after.properties, after.name) == (before.id, before.properties, "sky")
    catalog = sql.warehouse().catalog
    assert [str(each.identifier) for each in catalog.tables("sky")] == ["sky.t", "sky.u"]


def test_databases_of_other_engines_get_an_id_that_stays(sql: CatalogBench) -> None:
    (sql.root / "old.db").mkdir()
    sql("ALTER DATABASE old RENAME TO older")
    first = sql.database("older").id
    sql("ALTER DATABASE older SET DBPROPERTIES (a = 1)")
    assert sql.database("older").id == first


def test_a_drop_asks_for_cascade_and_keeps_all(sql: CatalogBench) -> None:
    with pytest.raises(Refused, match=r"holds tables 't', 'u'\. Say CASCADE") as caught:
        sql.run("DROP DATABASE air")
    assert caught.value.kind is ErrorKind.DATABASE_NOT_EMPTY
    said = sql("DROP DATABASE air CASCADE")
    assert sql.databases() == ("shop",)
    kept = sql.root / said.split("kept as ")[1].split(". With")[0]
    assert (kept / "t" / "schema" / "schema-0").is_file()
    assert sql("DROP DATABASE IF EXISTS air") == (
        "There is no database 'air'; nothing was changed."
    )


def test_databases_are_listed_and_told_of(sql: CatalogBench) -> None:
    sql("ALTER DATABASE air SET DBPROPERTIES (team = 'ops')")
    assert sql.rows("SHOW DATABASES") == [("air",), ("shop",)]
    assert sql.rows("SHOW SCHEMAS LIKE 'SH*|x'") == [("shop",)]
    assert sql.rows("SHOW TABLES IN air LIKE 'u'") == [("air", "u")]
    assert sql.rows("SHOW TABLES") == [("air", "t"), ("air", "u")]
    assert sql.rows("DESCRIBE DATABASE air") == [
        ("Namespace Name", "air"),
        ("Comment", "flights"),
        ("Location", f"{sql.root}/air.db"),
        ("Property team", "ops"),
    ]
    for text, message in (
        ("SHOW TABLES IN ari", "There is no database 'ari'. Did you mean 'air'?"),
        ("DESCRIBE DATABASE shp", "Did you mean 'shop'?"),
        ("SHOW DATABASES IN BRANCH dev", "There is no catalog branch 'dev'"),
    ):
        with pytest.raises(NotFound) as caught:
            sql.rows(text)
        assert message in caught.value.message


UNDOS = (
    "CREATE DATABASE lab",
    "ALTER DATABASE air SET DBPROPERTIES (a = 1, comment = 'x')",
    "ALTER DATABASE air UNSET DBPROPERTIES (comment)",
    "ALTER DATABASE air RENAME TO sky",
    "DROP DATABASE air CASCADE",
    "DROP DATABASE shop",
    "DROP TABLE air.t",
    "ALTER TABLE air.t RENAME TO shop.v",
)


@pytest.mark.parametrize("text", UNDOS)
def test_undo_takes_each_back_once(sql: CatalogBench, text: str) -> None:
    before = sql.objects_of_main()
    sql.run(text, operation_id="it")
    changed = sql.objects_of_main()
    assert changed != before
    undone = sql.undo("it")
    assert sql.objects_of_main() == before
    assert sql.undo("it") == undone, "a second undo tells of the first"
    assert sql.objects_of_main() == before


def test_undo_is_refused_where_others_built_on_it(sql: CatalogBench) -> None:
    sql.run("CREATE DATABASE lab", operation_id="make")
    sql("CREATE TABLE lab.t (a INT)")
    sql.run("ALTER DATABASE air SET DBPROPERTIES (a = 1)", operation_id="set")
    sql("ALTER DATABASE air SET DBPROPERTIES (a = 2)")
    sql.run("ALTER DATABASE shop RENAME TO store", operation_id="name")
    sql("CREATE DATABASE shop")
    before = tree(sql.root)
    for operation, why in (
        ("make", "holds table 't' by now"),
        ("set", "'a' of database 'air' changed since"),
        ("name", "something has the name 'shop' by now"),
    ):
        with pytest.raises(Refused, match=why):
            sql.undo(operation)
    with pytest.raises(NotFound, match="has no operation 'none' to undo"):
        sql.undo("none")
    assert tree(sql.root) == before


WRONG: tuple[tuple[str, type[PaimonError], str], ...] = (
    ("CREATE DATABASE air", AlreadyExists, "There is a database 'air' already"),
    ("CREATE DATABASE sys", InvalidInput, "Paimon keeps 'sys' for itself"),
    ("CREATE DATABASE `a.b`", InvalidInput, "must not hold '.'"),
    ("DROP DATABASE ari", NotFound, "There is no database 'ari'. Did you mean 'air'?"),
    ("ALTER DATABASE ari RENAME TO x", NotFound, "Did you mean 'air'?"),
    ("ALTER DATABASE air RENAME TO shop", AlreadyExists, "There is a database 'shop' already"),
    ("ALTER DATABASE shp SET DBPROPERTIES (a = 1)", NotFound, "Did you mean 'shop'?"),
    ("DROP DATABASE air", Refused, "is not empty"),
    ("DROP TABLE air.tt", NotFound, "Did you mean 'air.t'?"),
    ("ALTER TABLE air.t RENAME TO air.u", AlreadyExists, "There is a table air.u already"),
    ("ALTER TABLE air.t RENAME TO sho.v", NotFound, "Did you mean 'shop'?"),
)


@pytest.mark.parametrize(("text", "error", "message"), WRONG)
def test_wrong_use_is_told_in_a_sentence_and_changes_nothing(
    sql: CatalogBench, text: str, error: type[PaimonError], message: str
) -> None:
    before = tree(sql.root)
    with pytest.raises(error) as caught:
        sql.run(text)
    assert message in caught.value.message
    assert tree(sql.root) == before


@pytest.mark.parametrize("text", UNDOS)
def test_who_may_not_changes_nothing(sql: CatalogBench, text: str) -> None:
    before = tree(sql.root)
    role = "approver" if text.startswith("DROP") else "viewer"
    with pytest.raises(NotAllowed, match=f"your role is {role}. Nothing was changed"):
        sql.run(text, role=role)
    with pytest.raises(NotAllowed, match="open for reading only"):
        sql.run(text, read_only=True)
    hive = CatalogBench(root=sql.root, kind=CatalogKind.HIVE)
    with pytest.raises(NotAllowed, match="kept in a Hive metastore"):
        hive.run(text)
    assert tree(sql.root) == before


def test_tables_tell_which_catalog_keeps_their_database(sql: CatalogBench) -> None:
    sql("ALTER TABLE air.t SET TBLPROPERTIES ('metastore.partitioned-table' = 'true')")
    before = tree(sql.root)
    for text in UNDOS[:5]:
        with pytest.raises(NotAllowed, match=r"'metastore.partitioned-table' of air\.t says"):
            sql.run(text)
    assert tree(sql.root) == before
    sql("DROP DATABASE shop")


def test_a_protected_branch_keeps_its_database(sql: CatalogBench) -> None:
    sql.do("protect_branch", table="air.u", branch="main")
    before = tree(sql.root)
    for text in ("DROP DATABASE air CASCADE", "ALTER DATABASE air RENAME TO sky"):
        with pytest.raises(Refused, match=r"air\.u: Branch 'main' is protected") as caught:
            sql.run(text)
        assert caught.value.kind is ErrorKind.PROTECTED
    assert tree(sql.root) == before


def test_a_ledger_that_cannot_be_read_keeps_its_database(sql: CatalogBench) -> None:
    sql.do("protect_branch", table="air.u", branch="main")
    (event,) = (sql.root / "air.db/u/branch-lineage").glob("event-*")
    event.write_text("{")
    before = tree(sql.root)
    for text in ("DROP DATABASE air CASCADE", "ALTER DATABASE air RENAME TO sky"):
        with pytest.raises(Refused, match=r"air\.u: .*Nothing was changed"):
            sql.run(text)
    assert tree(sql.root) == before


def test_recovery_drops_no_table_that_came_after_the_crash(sql: CatalogBench) -> None:
    faulty = FaultyStore(inner=store_of(sql.root), fault=At(call=1, when=When.AFTER))
    with pytest.raises(Killed):
        CatalogBench(root=sql.root, store=faulty.store).run("DROP DATABASE shop")
    sql("CREATE TABLE shop.orders (a INT)")
    said = sql.recover().notes
    assert "got table 'orders' in the meantime. Nothing was dropped" in said[0]
    assert sql.databases() == ("air", "shop")


def test_a_store_without_folder_renames_drops_where_things_lie(sql: CatalogBench) -> None:
    bench = CatalogBench(root=sql.root, store=without_renames(sql.root))
    before = sql.objects_of_main()
    with pytest.raises(NotAllowed, match="cannot give a folder another name in one step"):
        bench.run("ALTER DATABASE air RENAME TO sky")
    assert sql.objects_of_main() == before
    bench.run("DROP TABLE air.t", operation_id="table")
    assert bench.rows("SHOW TABLES") == [("air", "u")]
    bench.run("DROP DATABASE air CASCADE", operation_id="database")
    assert bench.databases() == ("shop",)
    assert bench.warehouse().find_table("air.u") is None
    bench.undo("database")
    assert bench.rows("SHOW TABLES") == [("air", "u")]
    bench.undo("table")
    assert sql.objects_of_main() == before
    bench.run("DROP DATABASE air CASCADE", operation_id="again")
    assert bench("CREATE DATABASE air") == "Database 'air' was created."
    with pytest.raises(Refused, match="another database has the name 'air' by now"):
        bench.undo("again")
