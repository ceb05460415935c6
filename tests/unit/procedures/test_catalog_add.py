"""Adding to the scope of a branch of the catalog: more of main, as main has it then."""

from pathlib import Path

import pytest

from branch_console.errors import AlreadyExists, InvalidInput, NotFound, PaimonError, Refused
from branch_console.format.catalog.catalog_version import VersionKind
from branch_console.procedures.catalog.browse_catalog import (
    CatalogBranchDetail,
    catalog_log,
    read_catalog_branch,
)
from tests.support.branch_bench import store_of, tree
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_rows import PLAIN, put, seen_on
from tests.support.faulty_store import FaultyStore


@pytest.fixture
def sql(tmp_path: Path) -> CatalogBench:
    """Two databases, and a branch of one of them; the other one went on since."""
    found = CatalogBench(root=tmp_path / "w")
    found("CREATE DATABASE air; CREATE DATABASE lab WITH DBPROPERTIES (a = 1)")
    for name in ("air.flights", "lab.notes", "lab.boxes"):
        found.now += 1
        found(f"CREATE TABLE {name} {PLAIN}")
        put(found, name, (1, "main"))
    found("CREATE BRANCH dev ON DATABASE air")
    put(found, "lab.notes", (2, "main"))
    return found


def add(sql: CatalogBench, pattern: str, branch: str = "dev") -> str:
    return " ".join(sql.do("add_to_catalog_branch", branch=branch, pattern=pattern).notes)


def shown(sql: CatalogBench) -> CatalogBranchDetail:
    return read_catalog_branch(sql.warehouse(read_only=True), "dev")


def rows(sql: CatalogBench, name: str, branch: str = "main") -> list[object]:
    return [row[0] for row in seen_on(sql, branch).tables[name][1]]


def test_a_database_comes_as_main_has_it_then_and_is_read_there_until_its_first_write(
    sql: CatalogBench,
) -> None:
    told = add(sql, "lab")
    assert told == (
        "Catalog branch 'dev' holds database air, database lab now, at dev@2. "
        "2 tables of main came, as main@2 has them."
    )
    put(sql, "lab.notes", (3, "main"))
    assert rows(sql, "lab.notes", "dev") == [1, 2]
    assert sql.warehouse().on("dev").database("lab") == {"a": "1"}
    found = shown(sql)
    assert (found.item.scope, found.item.tables, found.item.changed) == (
        "database air, database lab",
        3,
        0,
    )
    states = {each.name: each.state for each in found.members}
    assert states == {
        "air.flights": "made",
        "lab.boxes": "not made yet",
        "lab.notes": "not made yet",
    }
    put(sql, "lab.notes", (4, "dev"), branch="dev")
    assert rows(sql, "lab.notes", "dev") == [1, 2, 4]
    assert [each.name for each in shown(sql).changes] == ["lab.notes"]
    kinds = [each.kind for each in catalog_log(sql.warehouse(), "dev")]
    assert kinds == [VersionKind.CHANGED, VersionKind.FORKED]


def test_what_was_added_merges_both_ways_by_the_base_that_it_came_at(sql: CatalogBench) -> None:
    add(sql, "lab")
    put(sql, "lab.notes", (3, "main"))
    put(sql, "lab.notes", (4, "dev"), branch="dev")
    sql("USE BRANCH dev; DROP TABLE lab.boxes; ALTER DATABASE lab SET DBPROPERTIES (b = 2)")
    put(sql, "air.flights", (2, "main"))
    sql.run("MERGE BRANCH main TO dev")
    assert rows(sql, "lab.notes", "dev") == [1, 2, 3, 4]
    sql.run("MERGE BRANCH dev")
    assert rows(sql, "lab.notes") == [1, 2, 3, 4]
    found = seen_on(sql)
    assert set(found.tables) == {"air.flights", "lab.notes"}
    assert found.databases["lab"] == {"a": "1", "b": "2"}
    assert sql("MERGE BRANCH dev").endswith("Nothing was changed.")


def test_what_main_changed_elsewhere_since_is_no_base_of_it(sql: CatalogBench) -> None:
    # Main renamed a table of the branch before the rest was added: that is main's change still.
    sql("ALTER TABLE air.flights RENAME TO air.legs")
    add(sql, "lab")
    put(sql, "air.flights", (2, "dev"), branch="dev")
    sql.run("MERGE BRANCH dev")
    assert set(seen_on(sql).tables) == {"air.legs", "lab.boxes", "lab.notes"}
    assert rows(sql, "air.legs") == [1, 2]


def test_tables_come_by_a_pattern_and_what_the_branch_dropped_stays_dropped(
    sql: CatalogBench,
) -> None:
    add(sql, "lab.no*")
    assert set(seen_on(sql, "dev").tables) >= {"air.flights", "lab.notes"}
    sql("USE BRANCH dev; DROP TABLE lab.notes")
    sql.now += 1
    sql(f"CREATE TABLE lab.nodes {PLAIN}")
    put(sql, "lab.nodes", (1, "main"))
    add(sql, "lab")
    on_dev = sql.warehouse().on("dev")
    assert sorted(each.name for each in on_dev.members()) == [
        "air.flights",
        "lab.boxes",
        "lab.nodes",
    ]
    sql.run("MERGE BRANCH dev")
    assert set(seen_on(sql).tables) == {"air.flights", "lab.boxes", "lab.nodes"}


def test_checkpoints_change_no_answer(sql: CatalogBench) -> None:
    # K17, with a scope that grew before the checkpoint.
    add(sql, "lab.no*")
    for number in range(64):
        sql(f"USE BRANCH dev; ALTER DATABASE air SET DBPROPERTIES (a = {number})")
    add(sql, "lab")
    folder = sql.root / ".branch-console/catalog/versions/dev"
    (checkpoint,) = folder.glob("checkpoint-*")
    with_it = shown(sql)
    checkpoint.unlink()
    assert shown(sql) == with_it
    assert with_it.item.scope == "database air, database lab, lab.no*"


def test_a_branch_of_the_branch_and_its_drop_and_undo_have_what_was_added(
    sql: CatalogBench,
) -> None:
    add(sql, "lab")
    sql("CREATE BRANCH late ON CATALOG FROM BRANCH dev")
    assert rows(sql, "lab.notes", "late") == [1, 2]
    sql("DROP BRANCH late ON CATALOG")
    dropped = sql.run("DROP BRANCH dev ON CATALOG").operation_id
    sql.undo(dropped)
    assert rows(sql, "lab.notes", "dev") == [1, 2]
    assert shown(sql).item.scope == "database air, database lab"


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("CALL sys.add_to_catalog_branch(branch => 'dev', pattern => 'lab')", "not made less"),
        ("CALL sys.create_catalog_tag(tag => 'v1')", "Delete the tag: branch-console catalog"),
        (
            "CALL sys.create_catalog_tag(tag => 'v1'); "
            "CALL sys.delete_catalog_tag(tag => 'v1', confirm => 'v1')",
            "Make the tag again: branch-console catalog tag NAME",
        ),
    ],
)
def test_what_has_no_undo_says_what_to_do_instead(
    sql: CatalogBench, text: str, instead: str
) -> None:
    operation_id = sql.run(text).operation_id
    files = tree(sql.root)
    with pytest.raises(InvalidInput, match=instead):
        sql.undo(operation_id)
    assert tree(sql.root) == files


@pytest.mark.parametrize(
    ("before", "pattern", "error", "told"),
    [
        ("", "sky", NotFound, "There is no database 'sky'"),
        ("", "lab.x*", NotFound, "No table matches 'lab.x*'"),
        (
            "CALL sys.create_branch('lab.notes', 'dev')",
            "lab",
            AlreadyExists,
            "Branch 'dev' is there already on 1 table: lab.notes. Nothing was changed. Rename or",
        ),
    ],
)
def test_what_cannot_come_is_refused_and_nothing_changes(
    sql: CatalogBench, before: str, pattern: str, error: type[PaimonError], told: str
) -> None:
    if before:
        sql(before)
    files = tree(sql.root)
    with pytest.raises(error) as refused:
        add(sql, pattern)
    assert told in refused.value.message
    assert tree(sql.root) == files


def test_a_name_that_something_else_has_on_the_branch_is_refused(sql: CatalogBench) -> None:
    add(sql, "lab.*es")
    sql("USE BRANCH dev; ALTER TABLE lab.notes RENAME TO lab.rules")
    sql.now += 1
    sql(f"CREATE TABLE lab.rules {PLAIN}")
    files = tree(sql.root)
    with pytest.raises(Refused, match=r"'dev' has another table lab\.rules"):
        add(sql, "lab")
    assert tree(sql.root) == files


def test_what_is_held_already_changes_nothing(sql: CatalogBench) -> None:
    add(sql, "lab")
    sql("CREATE BRANCH whole ON CATALOG LAZY")
    files = tree(sql.root)
    assert add(sql, "lab") == "Catalog branch 'dev' holds lab already; nothing was changed."
    assert "holds the catalog already" in add(sql, "lab", branch="whole")
    assert tree(sql.root) == files


def test_one_that_loses_against_another_statement_takes_its_tags_back(sql: CatalogBench) -> None:
    other = CatalogBench(root=sql.root, now=sql.now)
    counter = FaultyStore(inner=store_of(sql.root))

    def first() -> None:
        other("USE BRANCH dev; ALTER DATABASE air SET DBPROPERTIES (a = 1)")

    sql.store = counter.store
    clean = len(counter.changes)
    counter.meanwhile = {clean + 3: first}
    with pytest.raises(PaimonError, match="Somebody else changed catalog branch 'dev'"):
        add(sql, "lab")
    sql.store = None
    assert not counter.meanwhile
    table = sql.warehouse().table("lab.notes")
    assert table.tags.names() == ()
    assert shown(sql).item.scope == "database air"
    assert sql.recover().notes == ("Nothing was cut off.",)
    add(sql, "lab")
