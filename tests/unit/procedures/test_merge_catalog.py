"""Merging a branch of the catalog on disk: what a preview reads, decides and refuses."""

import re
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from branch_console import api
from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.schema.schema_commit import add_column, change_schema
from branch_console.errors import FormatError, InvalidInput, NotAllowed, NotFound
from branch_console.format.catalog.catalog_version import (
    CatalogVersion,
    DatabaseChange,
    TableChange,
    VersionKind,
    VersionName,
)
from branch_console.format.data_types import INT
from branch_console.format.identifier import Identifier
from branch_console.format.other_catalog import CatalogKind
from branch_console.merge.catalog import catalog_report
from branch_console.merge.catalog.catalog_plan import CatalogMergePlan
from branch_console.merge.plan import MergeVerdict, PlanCost, ThreeWayPlan, verdict_of
from branch_console.procedures.call.row_engine import NoRowEngine
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog_merge.catalog_sides import CatalogMergeSpec
from branch_console.procedures.catalog_merge.merge_catalog import (
    catalog_merge_of,
    preview_catalog_merge,
)
from branch_console.procedures.dispatch import run_call
from branch_console.sql.parser import parse_statements
from branch_console.storage.file_io import FileIO
from tests.support.caseless_store import CaselessFileIO
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_warehouse import CatalogWarehouse


@pytest.fixture
def made(tmp_path: Path) -> CatalogWarehouse:
    """Main with air.flights, air.planes and lab.notes, and a branch dev of all of it."""
    found = CatalogWarehouse(tmp_path / "warehouse")
    found.create()
    return found


def change(
    made: CatalogWarehouse,
    tables: dict[str, TableChange | None] | None = None,
    databases: dict[str, DatabaseChange | None] | None = None,
) -> None:
    """Note on dev what a statement there would do; objects are named as on dev."""
    seen = made.on()
    version = CatalogVersion(
        branch="dev",
        number=seen.version.number + 1,
        kind=VersionKind.CHANGED,
        parents=(seen.version,),
        operation="op",
        actor="ann",
        time_millis=0,
        tables={key_of(made, name): each for name, each in (tables or {}).items()},
        databases={key_of(made, name): each for name, each in (databases or {}).items()},
    )
    assert made.warehouse.ledger.publish(made.warehouse.store.publisher, version)


def alter(made: CatalogWarehouse, name: str, branch: str, column: str = "extra") -> None:
    """Give a table a column on a branch, which is a change of its content."""
    table = made.warehouse.table(Identifier.parse(name).on_branch(branch))
    change_schema(table, made.warehouse.store, [add_column(column, INT)], now_millis=1)


def key_of(made: CatalogWarehouse, name: str) -> str:
    recorded = made.on().recorded
    databases = {key: each.name for key, each in recorded.databases.items()}
    tables = {
        key: f"{databases[each.database or '']}.{each.name}"
        for key, each in recorded.tables.items()
    }
    return next(key for key, each in (databases | tables).items() if each == name)


def plan(
    made: CatalogWarehouse,
    source: str = "dev",
    target: str = "main",
    database: str | None = None,
) -> CatalogMergePlan:
    """Preview a merge, which writes nothing."""
    before = made.files()
    spec = CatalogMergeSpec(source=source, target=target, database=database)
    found = preview_catalog_merge(made.warehouse, spec)
    assert made.files() == before
    return found


def told(found: CatalogMergePlan) -> list[str]:
    return [f"{each.kind} {each.name}" for each in found.objects]


def test_a_branch_without_changes_brings_nothing_and_a_run_of_it_says_so(
    made: CatalogWarehouse,
) -> None:
    found = plan(made)
    assert (found.verdict, found.objects, found.steps) == (MergeVerdict.UP_TO_DATE, (), ())
    assert (found.versions.base, found.versions.theirs) == ("main@1", "dev@1")
    before = made.files()
    receipt = made.run("merge_catalog_branch", branch="dev")
    assert receipt.notes == ("main holds all that dev changed.", "Nothing was changed.")
    assert made.files() == before


def test_rows_names_and_drops_of_a_branch_are_one_plan(made: CatalogWarehouse) -> None:
    alter(made, "air.flights", "dev")
    change(made, {"air.planes": TableChange(name="jets"), "lab.notes": None})
    made.commit("air.planes", 2)
    made.commit("lab.notes", 2)
    found = plan(made)
    assert told(found) == ["table air.flights", "table air.jets", "table lab.notes"]
    assert [f"{each.kind}" for each in found.steps] == ["merge content", "drop table", "move table"]
    flights, jets, notes = found.objects
    assert flights.plan is not None
    assert (verdict_of(flights.plan), flights.merged_name) == (MergeVerdict.CLEAN, "air.flights")
    assert (jets.names.ours, jets.merged_name, jets.plan) == ("air.planes", "air.jets", None)
    told_of_drop = "It goes with what the target did since the base: content (1 commit)."
    assert notes.reported == (told_of_drop,)
    assert plan(made).id == found.id
    alter(made, "air.flights", "dev", "later")
    assert plan(made).id != found.id


def test_statements_on_both_sides_are_one_plan(tmp_path: Path) -> None:
    bench = CatalogBench(root=tmp_path / "warehouse")
    for statement in (
        "CREATE DATABASE air WITH DBPROPERTIES ('a' = '0')",
        "CREATE DATABASE lab",
        *(f"CREATE TABLE {name} (id INT)" for name in ("air.flights", "air.planes", "lab.notes")),
        "CREATE BRANCH dev ON CATALOG",
        "USE BRANCH dev; CREATE DATABASE sea",
        "USE BRANCH dev; CREATE TABLE sea.ships (id INT)",
        "USE BRANCH dev; ALTER TABLE air.planes RENAME TO air.jets",
        "USE BRANCH dev; DROP TABLE lab.notes",
        "USE BRANCH dev; CREATE TABLE lab.notes (id BIGINT)",
        "USE BRANCH dev; ALTER DATABASE air SET DBPROPERTIES ('a' = '2')",
        "USE BRANCH dev; ALTER TABLE air.flights ADD COLUMN extra INT",
        "USE BRANCH dev; ALTER DATABASE lab RENAME TO laboratory",
    ):
        bench(statement)
    dev_into_main = CatalogMergeSpec(source="dev", target="main")
    found = preview_catalog_merge(bench.warehouse(), dev_into_main)
    assert found.verdict is MergeVerdict.CLEAN
    assert [str(each.kind) for each in found.steps] == [
        "create database",
        "merge content",
        "create table",
        "create table",
        "drop table",
        "move table",
        "move table",
        "rename database",
        "set properties",
    ]
    # The new notes wait until those that main has are dropped.
    aside = [each.after for each in found.steps if each.after is not None and each.after.is_aside]
    assert [each.name for each in aside] == ["notes"]
    for statement in (
        "ALTER DATABASE air SET DBPROPERTIES ('a' = '1')",
        "CREATE TABLE air.jets (id INT, y INT)",
        "DROP TABLE air.flights",
        "CREATE DATABASE laboratory",
    ):
        bench(statement)
    texts = [each.text for each in bench.preview("MERGE BRANCH dev").consequences]
    wanted = {
        "Name occupied, laboratory (name): base lab, target another database 'laboratory' has",
        "Name occupied, air.jets (name): base air.planes, target another table 'jets' has the",
        "Object gone, air.flights (table/content.drop): base air.flights, target absent, source",
        "Database air: its properties change; the target set properties since the base.",
        "Table air.flights: the source changed its content; the target dropped it since the",
    }
    assert [start for start in wanted if not any(text.startswith(start) for text in texts)] == []
    back = preview_catalog_merge(bench.warehouse(), CatalogMergeSpec(source="main", target="dev"))
    assert {str(each.kind) for each in back.conflicts} == {"name occupied"}


def test_the_same_work_on_a_lazy_and_an_eager_branch_is_the_same_plan(tmp_path: Path) -> None:
    bench = CatalogBench(root=tmp_path / "warehouse")
    for statement in (
        "CREATE DATABASE air",
        *(f"CREATE TABLE air.{name} (id INT)" for name in ("flights", "planes", "notes")),
        "CREATE BRANCH eager ON CATALOG",
        "CREATE BRANCH lazy ON CATALOG LAZY",
    ):
        bench(statement)
    for branch in ("eager", "lazy"):
        for statement in (
            "ALTER TABLE air.flights ADD COLUMN extra INT",
            "ALTER TABLE air.planes RENAME TO air.jets",
            "ALTER TABLE air.jets ADD COLUMN seats INT",
            "DROP TABLE air.notes",
        ):
            bench(f"USE BRANCH {branch}; {statement}")
    bench("ALTER TABLE air.flights ADD COLUMN other INT")

    def planned(branch: str) -> dict[str, object]:
        spec = CatalogMergeSpec(source=branch, target="main")
        found = preview_catalog_merge(bench.warehouse(), spec)
        return {
            "verdict": found.verdict,
            "objects": told(found),
            "steps": [(str(each.kind), each.before, each.after) for each in found.steps],
            "tables": [each.plan and verdict_of(each.plan) for each in found.objects],
            "reported": [each.reported for each in found.objects],
        }

    assert planned("lazy") == planned("eager")  # K16
    assert planned("lazy")["verdict"] is MergeVerdict.CLEAN


def test_only_one_database_can_come(made: CatalogWarehouse) -> None:
    alter(made, "air.flights", "dev")
    alter(made, "lab.notes", "dev")
    assert told(plan(made, database="lab")) == ["table lab.notes"]
    assert told(plan(made, database="air")) == ["table air.flights"]
    with pytest.raises(NotFound, match=r"no database 'ari' on 'dev'.*Did you mean 'air'"):
        plan(made, database="ari")


def test_a_renamed_database_with_its_properties_changes_no_table(made: CatalogWarehouse) -> None:
    change(made, databases={"air": DatabaseChange(name="sky", properties={"owner": "ana"})})
    found = plan(made)
    assert told(found) == ["database sky"]
    assert [str(each.kind) for each in found.steps] == ["rename database", "set properties"]


def test_a_table_that_main_dropped_and_the_branch_changed_is_a_conflict(
    made: CatalogWarehouse,
) -> None:
    change(made, {"air.planes": TableChange(name="jets")})
    shutil.rmtree(made.folder / "air.db" / "planes" / "schema")
    found = plan(made)
    assert (found.verdict, [str(each.kind) for each in found.conflicts]) == (
        MergeVerdict.CONFLICTS,
        ["object gone"],
    )
    policy = "version: 1\nobjects: {'*': {object gone: ours}}"
    call = made.call("merge_catalog_branch", branch="dev", policy=policy)
    settled = catalog_merge_of(made.warehouse, call)
    assert (settled.verdict, settled.steps) == (MergeVerdict.CLEAN, ())


def test_a_table_of_the_branch_that_is_nowhere_is_lost_and_no_empty_table(
    made: CatalogWarehouse,
) -> None:
    version = CatalogVersion(
        branch="dev",
        number=2,
        kind=VersionKind.CHANGED,
        parents=(made.on().version,),
        operation="op",
        actor="ann",
        time_millis=0,
        tables={
            "t-new": TableChange(
                database=key_of(made, "lab"), name="routes", folder="lab.db/routes", birth="b"
            )
        },
    )
    assert made.warehouse.ledger.publish(made.warehouse.store.publisher, version)
    found = plan(made)
    assert (found.verdict, told(found)) == (MergeVerdict.REFUSED, ["table lab.routes"])
    assert found.blocks[0].text.startswith("The table branch 'dev' of 'lab.routes' is gone")


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_main_merges_into_a_branch_within_its_scope(tmp_path: Path, lazy: bool) -> None:
    made = CatalogWarehouse(tmp_path / "warehouse")
    made.create(databases="air", lazy=lazy)
    alter(made, "air.flights", "main")
    alter(made, "lab.notes", "main")
    made.add("air.routes", born=50)
    made.add("lab.more", born=51)
    found = plan(made, source="main", target="dev")
    assert (found.verdict, told(found)) == (
        MergeVerdict.CLEAN,
        ["table air.flights", "table air.routes"],
    )
    assert found.objects[0].is_adopted == lazy
    assert [str(each.kind) for each in found.steps] == ["merge content", "create table"]


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_a_branch_of_a_branch_brings_what_that_one_had_when_it_began(
    made: CatalogWarehouse, lazy: bool
) -> None:
    alter(made, "air.flights", "dev")
    made.commit("air.flights", 2, branch="dev")
    made.create("late", from_branch="dev", lazy=lazy)
    made.commit("air.flights", 3, branch="dev")
    found = plan(made, source="late")  # K16
    assert (found.verdict, told(found)) == (MergeVerdict.CLEAN, ["table air.flights"])
    of_flights = found.objects[0].plan
    assert isinstance(of_flights, ThreeWayPlan)
    assert of_flights.heads.theirs.id == 2
    assert plan(made, source="late", target="dev").verdict is MergeVerdict.UP_TO_DATE
    alter(made, "air.flights", "dev", "later")
    found = plan(made, source="late")
    if lazy:
        assert [each.text for each in found.blocks] == [
            "air.flights: 'late' has not made the table yet, and 'dev', on which it began, went on "
            "since. Write to it there first, so that it is made, then merge."
        ]
    else:
        assert found.verdict is MergeVerdict.CLEAN


def test_a_base_that_is_gone_or_newer_is_told_with_its_file_and_the_way_out(
    made: CatalogWarehouse,
) -> None:
    alter(made, "air.flights", "dev")
    base = made.folder / ".branch-console/catalog/versions/main/version-0000000001.json"
    data = base.read_bytes()
    spec = CatalogMergeSpec(source="dev", target="main")
    base.unlink()
    files = made.files()
    with pytest.raises(NotFound) as gone:
        preview_catalog_merge(made.warehouse, spec)
    assert gone.value.message == (
        f"Version main@1 of the catalog, at which branches may begin, is gone: there is no file "
        f"{base}. Nothing was changed. Put the file back from a copy of the warehouse; until then "
        "merge the branches of single tables, with MERGE BRANCH … ON TABLE."
    )
    # The number is not given again: to dev, the base would be what main has by now.
    with pytest.raises(NotFound, match="main@1 of the catalog, at which branches may begin, is"):
        made.create("late", lazy=True)
    assert made.files() == files
    base.write_bytes(data.replace(b'"format" : 1', b'"format" : 9'))
    with pytest.raises(FormatError, match="has format 9; 1 is the newest known"):
        preview_catalog_merge(made.warehouse, spec)
    base.write_bytes(data)
    made.create("late", from_branch="dev", lazy=True)
    shutil.rmtree(made.folder / ".branch-console/catalog/versions/dev")
    files = made.files()
    for call in (lambda: plan(made, source="late"), lambda: made.create("dev", adopt=True)):
        with pytest.raises(NotFound, match="Version dev@1 of the catalog, at which branches may"):
            call()
    assert made.files() == files


def test_a_preview_says_what_becomes_of_each_object(made: CatalogWarehouse) -> None:
    alter(made, "air.flights", "dev")
    change(made, {"lab.notes": None})
    preview = made.preview("merge_catalog_branch", branch="dev")
    texts = [each.text for each in preview.consequences]
    assert texts[:3] == [
        "dev merges into main, and nothing collides.",
        "Table air.flights: it gets 1 snapshot; the source added column 'extra'.",
        "Table lab.notes: it is dropped.",
    ]
    assert texts[3].startswith("2 steps: merge content 1, drop table 1.")
    assert preview.plan_id == plan(made).id


@pytest.mark.parametrize(
    ("cost", "told"),
    [
        (PlanCost(files_added=2, records_added=5), " (files: 2 added; records: +5)"),
        (PlanCost(files_removed=1, records_added=-3), " (files: 1 removed; records: -3)"),
        (PlanCost(files_added=1, files_removed=1), " (files: 1 added, 1 removed)"),
    ],
)
def test_a_line_of_an_object_tells_no_number_that_is_zero(
    made: CatalogWarehouse, monkeypatch: pytest.MonkeyPatch, cost: PlanCost, told: str
) -> None:
    alter(made, "air.flights", "dev")
    monkeypatch.setattr(catalog_report, "cost_of", lambda plan: cost)
    (first, *_) = made.preview("merge_catalog_branch", branch="dev").consequences[1:]
    assert f"it gets 1 snapshot{told}; the source" in first.text


def test_a_program_asks_for_the_same_preview(made: CatalogWarehouse) -> None:
    alter(made, "air.flights", "dev")
    warehouse = api.open_warehouse(str(made.folder))
    asked = api.ask(api.MergeCatalogRequest(source="dev"))
    assert api.preview(warehouse, asked).plan_id == plan(made).id
    assert api.run(warehouse, asked).notes[0] == "'dev' was merged into 'main': main@2."
    again = api.ask(api.MergeCatalogRequest(source="dev"))
    assert api.run(warehouse, again).notes[-1] == "Nothing was changed."


@pytest.mark.parametrize("is_noted", [True, False], ids=["noted", "by an earlier release"])
def test_what_a_merge_noted_is_not_planned_again_nor_missed_when_main_drops_it(
    made: CatalogWarehouse, is_noted: bool
) -> None:
    alter(made, "air.flights", "dev")
    ledger = made.warehouse.ledger
    spec = CatalogMergeSpec(source="dev", target="main", database="air")
    found = preview_catalog_merge(made.warehouse, spec)
    ours, theirs = found.versions.ours, found.versions.theirs
    version = CatalogVersion(
        branch="main",
        number=ledger.newest("main") + 1,
        kind=VersionKind.MERGED,
        parents=(VersionName.parse(ours), VersionName.parse(theirs)),
        covers=found.covers,
        operation="op",
        actor="ann",
        time_millis=5,
        sources=found.sources if is_noted else {},
    )
    assert ledger.publish(made.warehouse.store.publisher, version)
    assert told(plan(made)) == ([] if is_noted else ["table air.flights"])
    shutil.rmtree(made.folder / "air.db" / "flights" / "schema")
    kinds = [str(each.kind) for each in plan(made).conflicts]
    assert kinds == ([] if is_noted else ["object gone"])
    alter(made, "lab.notes", "dev")
    assert told(plan(made))[-1] == "table lab.notes"


@pytest.mark.parametrize("own", [False, True], ids=["history taken over", "merged"])
@pytest.mark.parametrize(
    ("then", "found"),
    [("", []), ("write", ["object gone"]), ("alter", ["object gone"]), ("undo", ["object gone"])],
)
def test_a_table_that_was_merged_by_hand_is_not_in_the_way_when_main_drops_it(
    made: CatalogWarehouse, own: bool, then: str, found: list[str]
) -> None:
    bench = CatalogBench(root=made.folder)
    alter(made, "air.flights", "dev")
    made.commit("air.flights", 2, "dev", schema_id=1)
    if own:
        made.commit("air.flights", 2, "main")
    merged = bench.run("MERGE BRANCH dev ON TABLE air.flights")
    assert told(plan(made)) == []
    if then == "undo":
        made.run("undo", table="air.flights", operation=merged.operation_id)
    bench("DROP TABLE air.flights")
    if then == "write":
        made.commit("air.flights", 3, "dev", schema_id=1)
    if then == "alter":
        alter(made, "air.flights", "dev", "later")
    assert [str(each.kind) for each in plan(made).conflicts] == found


@pytest.mark.parametrize("change", ["viewer", "read-only"])
def test_a_preview_needs_no_rights_and_a_run_does(made: CatalogWarehouse, change: str) -> None:
    alter(made, "air.flights", "dev")
    call = made.call(
        "merge_catalog_branch", "viewer" if change == "viewer" else "operator", branch="dev"
    )
    warehouse = Warehouse.open(str(made.folder), read_only=change == "read-only")
    before = made.files()
    assert catalog_merge_of(warehouse, call).verdict is MergeVerdict.CLEAN
    with pytest.raises(NotAllowed):
        run_call(warehouse, NoRowEngine(), call, InlineStages())
    assert made.files() == before


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("MERGE BRANCH dev DRY RUN", {}),
        ("MERGE BRANCH dev ON CATALOG DRY RUN", {}),
        ("MERGE BRANCH dev TO test DRY RUN", {"target": "test"}),
        ("MERGE BRANCH dev ON DATABASE air DRY RUN", {"database": "air"}),
        ("MERGE BRANCH dev TO test ON DATABASE air DRY RUN", {"target": "test", "database": "air"}),
    ],
)
def test_sql_names_the_catalog_or_a_database(text: str, arguments: dict[str, str]) -> None:
    (statement,) = parse_statements(text)
    found = {key: value for key, value in statement.arguments.items() if value is not None}
    assert (statement.procedure, statement.is_dry) == ("merge_catalog_branch", True)
    assert found == {"branch": "dev", "target": "main", **arguments}


def test_without_to_the_branch_of_the_session_is_the_target() -> None:
    statements = parse_statements("USE BRANCH test; MERGE BRANCH dev")
    assert statements[-1].arguments["target"] == "test"


def test_wrong_use_says_the_way_out(made: CatalogWarehouse) -> None:
    made.run("create_branch", table="air.flights", branch="fix")
    with pytest.raises(NotFound, match=r"air.flights. Merge each: MERGE BRANCH fix ON TABLE air"):
        plan(made, source="fix")
    with pytest.raises(NotFound, match="no catalog branch 'nope'"):
        plan(made, source="nope")
    with pytest.raises(InvalidInput, match="cannot be merged into itself"):
        plan(made, target="dev")
    hive = replace(made.warehouse, catalog_kind=CatalogKind.HIVE)
    assert isinstance(hive, Warehouse)
    with pytest.raises(NotAllowed, match="does not write"):
        preview_catalog_merge(hive, CatalogMergeSpec(source="dev", target="main"))


def test_of_tables_that_the_source_left_alone_only_heads_are_read(
    made: CatalogWarehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    alter(made, "air.flights", "dev")
    read: set[str] = set()
    ask = FileIO._ask

    def noting(self: FileIO, path: str, call: Callable[[], Any]) -> Any:
        read.add(path)
        return ask(self, path, call)

    with monkeypatch.context() as patched:
        patched.setattr(FileIO, "_ask", noting)
        spec = CatalogMergeSpec(source="dev", target="main")
        assert told(preview_catalog_merge(made.warehouse, spec)) == ["table air.flights"]
    of_others = {path.rpartition("/")[2] for path in read if "planes" in path or "notes" in path}
    kinds = {re.sub(r"[-0-9].*", "", name) for name in of_others}
    assert not kinds & {"manifest", "index", "data", "bucket", "branches"}
    assert {"schema", "snapshot"} <= kinds


@pytest.mark.depth("long")
def test_a_thousand_tables_are_checked_in_a_second(tmp_path: Path) -> None:
    names = tuple(f"air{number % 10}.t{number}" for number in range(1_000))
    made = CatalogWarehouse(tmp_path / "warehouse", names)
    made.create()
    for name in names[:10]:
        alter(made, name, "dev")
    seconds = []
    for _ in range(3):
        warehouse = made.warehouse
        started = time.perf_counter()
        found = preview_catalog_merge(warehouse, CatalogMergeSpec(source="dev", target="main"))
        seconds.append(time.perf_counter() - started)
        assert (found.verdict, len(found.steps)) == (MergeVerdict.CLEAN, 10)
    print(f"checked in {min(seconds):.2f} s")
    assert min(seconds) < 1


def test_names_that_differ_by_case_are_one_where_the_store_says_so(tmp_path: Path) -> None:
    sql = CatalogBench(root=tmp_path / "w")
    sql("CREATE DATABASE air; CREATE TABLE air.t (a INT); CREATE BRANCH dev ON CATALOG LAZY")
    sql("USE BRANCH dev; ALTER TABLE air.t RENAME TO air.Legs; USE BRANCH main")
    sql("CREATE TABLE air.legs (b INT)")
    spec = CatalogMergeSpec(source="dev", target="main")
    assert not preview_catalog_merge(sql.warehouse(read_only=True), spec).conflicts
    sql.store = CommitStore.of(CaselessFileIO.of(sql.root))
    (conflict,) = preview_catalog_merge(sql.warehouse(read_only=True), spec).conflicts
    assert str(conflict.kind) == "name occupied"
