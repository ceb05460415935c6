"""The cases DB01 to DB24 on disk, as Paimon lists databases, tables and rows after the merge (K1).

All cases without a conflict are databases of one warehouse, which one merge brings; each with a
conflict is a warehouse of its own, of which no byte changes.
"""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from branch_console.errors import Refused
from branch_console.format.catalog.database_file import DatabaseFile
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.catalog_merge.catalog_sides import CatalogMergeSpec
from branch_console.procedures.catalog_merge.merge_catalog import preview_catalog_merge
from branch_console.procedures.dispatch import run_call
from branch_console.sql.parser import parse_statements
from tests.support.branch_bench import tree
from tests.support.catalog_bench import CatalogBench
from tests.support.java_paimon import JavaPaimon
from tests.support.local_row_engine import LocalRows

# What the source and the target did to database d, and what main has then: its name and its
# properties, or what is in the way; and what the receipt tells.
CASES = """
    DB01 | drop      | drop      | absent      |
    DB02 | drop      | rename e  | absent      | rename
    DB03 | drop      | set a=1   | absent      | set
    DB04 | drop      | unset a   | absent      | unset
    DB06 | rename s  | rename e  | s a=0 b=0   | The target had renamed it to
    DB07 | rename s  | set a=1   | s a=1 b=0   |
    DB08 | rename s  | unset a   | s b=0       |
    DB10 | set a=2   | rename e  | e a=2 b=0   |
    DB11 | set a=2   | set b=1   | d a=2 b=1   |
    DB12 | set a=2   | set a=1   | d a=2 b=0   | Property 'a' is as the source has it; the target had set it to '1'
    DB13 | set a=2   | unset a   | d a=2 b=0   | the target had removed it
    DB15 | unset a   | rename e  | e b=0       |
    DB16 | unset a   | set a=1   | d b=0       | the target had set it to '1'
    DB18 | unset a   | unset b   | d           |
    DB19 | create n  | nothing   | d a=0 b=0; n |
    DB23 | nothing   | set a=1   | d a=1 b=0   |
"""  # noqa: E501
CONFLICTS = """
    DB05 | rename s  | drop      | object gone
    DB09 | set a=2   | drop      | object gone
    DB14 | unset a   | drop      | object gone
    DB17 | unset a   | unset a   | property
    DB20 | create n  | create n  | name occupied
    DB21 | rename s  | create s  | name occupied
"""


def rows_of(cases: str) -> Iterator[list[str]]:
    for line in cases.strip().split("\n"):
        yield [each.strip() for each in line.split("|")]


def statement(case: str, what: str) -> str:
    """What a side does to the database of a case; each name has the case in it."""
    d = f"d_{case}"
    match what.split():
        case ["drop"]:
            return f"DROP DATABASE {d} CASCADE"
        case ["rename", to]:
            return f"ALTER DATABASE {d} RENAME TO {to}_{d}"
        case ["set", text]:
            key, _, value = text.partition("=")
            return f"ALTER DATABASE {d} SET DBPROPERTIES ({key} = {value})"
        case ["unset", key]:
            return f"ALTER DATABASE {d} UNSET DBPROPERTIES ({key})"
        case ["create", name]:
            return f"CREATE DATABASE {name}_{d}"
        case _:
            return "SHOW DATABASES"


def begin(java: JavaPaimon, root: Path, cases: list[list[str]]) -> CatalogBench:
    """A database for each case, with a table that Paimon wrote, and what both sides did to it."""
    sql = CatalogBench(root=root)
    for case, *_ in cases:
        sql(f"CREATE DATABASE d_{case} WITH DBPROPERTIES (a = 0, b = 0)")
        java.create_table(f"d_{case}.t", {"id": "INT"}).write([(int(case[2:]),)])
    sql("CREATE BRANCH dev ON CATALOG")
    for case, theirs, ours, *_ in cases:
        for text, branch in ((theirs, "dev"), (ours, "main")):
            if text != "nothing":
                sql(f"USE BRANCH {branch}; {statement(case, text)}")
    return sql


@dataclass
class Merged:
    """A warehouse with all cases merged, and what Paimon lists there."""

    sql: CatalogBench
    receipt: Receipt
    ids: dict[str, str]
    before: dict[str, dict[str, list[tuple[object, ...]]]]
    rows: dict[str, dict[str, list[tuple[object, ...]]]]


@pytest.fixture(scope="module")
def merged(
    open_java: Callable[[Path], JavaPaimon], tmp_path_factory: pytest.TempPathFactory
) -> Merged:
    root = tmp_path_factory.mktemp("cases") / "w"
    java = open_java(root)
    sql = begin(java, root, list(rows_of(CASES)))
    ids = {each: found.id for each, found in files_on_main(sql).items()}
    before = listed(java)
    receipt = sql.run("MERGE BRANCH dev", operation_id="merge")
    return Merged(sql=sql, receipt=receipt, ids=ids, before=before, rows=listed(java))


def listed(java: JavaPaimon) -> dict[str, dict[str, list[tuple[object, ...]]]]:
    """What Paimon lists: databases with their tables and rows."""
    return {
        database: {name: java.table(f"{database}.{name}").rows() for name in java.tables(database)}
        for database in java.databases()
    }


def files_on_main(sql: CatalogBench) -> dict[str, DatabaseFile]:
    return {each: sql.database(each) for each in sql.databases()}


@pytest.mark.parametrize(
    ("case", "expected", "told"),
    [pytest.param(name, *rest, id=name) for name, _, _, *rest in rows_of(CASES)],
)
def test_a_case(merged: Merged, case: str, expected: str, told: str) -> None:
    d = f"d_{case}"
    found = {
        name: " ".join(f"{key}={value}" for key, value in sorted(file.properties.items()))
        for name, file in files_on_main(merged.sql).items()
        if name.endswith(d)
    }
    wanted = {}
    for each in expected.split(";"):
        name, *properties = each.split()
        if name != "absent":
            wanted[d if name == "d" else f"{name}_{d}"] = " ".join(properties)
    assert found == wanted
    shown = {name: tables for name, tables in merged.rows.items() if name.endswith(d)}
    of_table = {"t": [(int(case[2:]),)]}
    assert shown == {name: {} if name.startswith("n_") else of_table for name in wanted}
    for name, file in files_on_main(merged.sql).items():
        if name.endswith(d) and not name.startswith("n_"):
            assert file.id in merged.ids.values(), "the database kept its id"
    notes = [each for each in merged.receipt.notes if d in each]
    assert told in " ".join(notes)


@pytest.mark.parametrize(
    ("case", "theirs", "ours", "kind"),
    [pytest.param(*row, id=row[0]) for row in rows_of(CONFLICTS)],
)
def test_a_case_that_is_a_conflict_changes_no_byte(
    open_java: Callable[[Path], JavaPaimon],
    tmp_path: Path,
    case: str,
    theirs: str,
    ours: str,
    kind: str,
) -> None:
    java = open_java(tmp_path / "w")
    sql = begin(java, tmp_path / "w", [[case, theirs, ours]])
    before, shown = tree(sql.root), listed(java)
    plan = preview_catalog_merge(
        sql.warehouse(read_only=True), CatalogMergeSpec(source="dev", target="main")
    )
    assert {str(each.kind) for each in plan.conflicts} == {kind}
    with pytest.raises(Refused):
        sql.run("MERGE BRANCH dev")
    assert tree(sql.root) == before
    assert listed(java) == shown


def test_a_database_that_was_merged_before_is_that_database(merged: Merged, tmp_path: Path) -> None:
    # DB22, by two merges, and DB23: what brings nothing makes no version.
    sql = CatalogBench(root=tmp_path / "w")
    shutil.copytree(merged.sql.root, sql.root)
    name = "n_d_DB19"
    before = sql.database(name)
    sql(f"USE BRANCH dev; ALTER DATABASE {name} SET DBPROPERTIES (x = 1)")
    sql("MERGE BRANCH dev")
    assert (sql.database(name).id, dict(sql.database(name).properties)) == (before.id, {"x": "1"})
    sql("ALTER DATABASE d_DB23 SET DBPROPERTIES (a = 3)")
    versions, files = sql.warehouse().ledger.newest("main"), sql.objects()
    assert sql("MERGE BRANCH dev").endswith("Nothing was changed.")
    assert sql.warehouse().ledger.newest("main") == versions
    assert sql.objects() == files


def test_paimon_lists_what_was_there_before_a_merge_that_was_undone(
    merged: Merged, open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    # K13, and what comes again.
    sql = CatalogBench(root=tmp_path / "w")
    shutil.copytree(merged.sql.root, sql.root)
    java = open_java(sql.root)
    sql.undo("merge")
    assert listed(java) == merged.before
    assert {each: found.id for each, found in files_on_main(sql).items()} == merged.ids
    sql("MERGE BRANCH dev")
    assert listed(java) == merged.rows


def merge(sql: CatalogBench, text: str) -> Receipt:
    """Run a merge that may check data files."""
    (statement,) = parse_statements(text)
    call = sql.call(statement.procedure, **dict(statement.arguments))
    warehouse = sql.warehouse()
    return run_call(warehouse, LocalRows(warehouse.file_io), call, InlineStages())


def test_undo_beside_a_later_commit_takes_out_what_came_and_leaves_the_rest(
    open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    java = open_java(tmp_path / "w")
    for name in ("t", "u"):
        java.create_table(f"d.{name}", {"id": "INT"}).write([(1,)])
    sql = CatalogBench(root=tmp_path / "w")
    sql("CREATE BRANCH dev ON CATALOG; USE BRANCH dev; ALTER TABLE d.u RENAME TO d.v")
    for name in ("t", "u"):
        java.table(f"d.{name}$branch_dev").write([(2,)])
    operation_id = merge(sql, "MERGE BRANCH dev").operation_id
    java.table("d.t").write([(3,)])
    told = " ".join(sql.undo(operation_id).notes)
    assert java.tables("d") == ["t", "u"]
    assert sorted(java.table("d.t").rows()) == [(1,), (3,)]
    assert java.table("d.u").rows() == [(1,)]
    assert "stays part of the history" in told
    assert merge(sql, "MERGE BRANCH dev").notes[-1] == "Nothing was changed."
    java.table("d.t").write([(4,)])
    assert sorted(java.table("d.t").rows()) == [(1,), (3,), (4,)]


def test_an_object_of_another_type_does_not_arrive(
    open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    # DB24: a catalog branch cannot make one, so the source is main.
    java = open_java(tmp_path / "w")
    java.create_table("d.t", {"id": "INT"}).write([(1,)])
    sql = CatalogBench(root=tmp_path / "w")
    sql("CREATE BRANCH dev ON CATALOG")
    schema = sql.root / "d.db/v/schema/schema-0"
    schema.parent.mkdir(parents=True)
    text = (sql.root / "d.db/t/schema/schema-0").read_text()
    options = text.replace(
        '"options" : {', '"options" : {"type": "object-table", "object-location": "x",'
    )
    schema.write_text(options)
    java.table("d.t").write([(2,)])
    receipt = merge(sql, "MERGE BRANCH main TO dev")
    assert "d.v does not come" in " ".join(receipt.notes)
    assert sql.rows("SHOW TABLES IN BRANCH dev") == [("d", "t")]
    assert sorted(java.table("d.t$branch_dev").rows()) == [(1,), (2,)]
