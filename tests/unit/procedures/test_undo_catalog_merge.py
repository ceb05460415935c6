"""Undoing a merge of the catalog: names, properties, folders and heads are as before it (K13)."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from branch_console.commit.schema.schema_commit import add_column, change_schema
from branch_console.diff.catalog_state import CatalogState
from branch_console.errors import InvalidInput, Refused
from branch_console.format.catalog.catalog_version import CatalogVersion, VersionKind
from branch_console.format.data_types import INT
from branch_console.format.identifier import Identifier
from branch_console.merge.catalog.catalog_steps import StepKind
from branch_console.procedures.call.consequence import Weight
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import CatalogOperation
from branch_console.procedures.catalog.states import state_of_branch, state_of_main
from branch_console.procedures.catalog_merge.step_actions import MergeOperation, MergeStep
from branch_console.procedures.preview import preview_call
from tests.support.branch_bench import store_of, tree
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_warehouse import CatalogWarehouse
from tests.support.faulty_store import At, FaultyStore, Killed, When

NAMES = ("air.flights", "air.planes", "air.trips", "lab.notes")


def write(made: CatalogWarehouse, name: str, snapshot_id: int, branch: str = "dev") -> None:
    """Give a table a column and a snapshot on a branch."""
    table = made.warehouse.table(Identifier.parse(name).on_branch(branch))
    column = add_column(f"extra{snapshot_id}{branch}", INT)
    change_schema(table, made.warehouse.store, [column], now_millis=1)
    made.commit(name, snapshot_id, branch)


@pytest.fixture
def made(tmp_path: Path) -> CatalogWarehouse:
    """Main, and a branch dev that did one of each: content, new, dropped, moved, databases."""
    found = CatalogWarehouse(tmp_path / "w", NAMES)
    found.create()
    write(found, "air.flights", 2)
    write(found, "air.planes", 2)
    CatalogBench(root=found.folder)(
        "USE BRANCH dev; DROP TABLE air.trips; CREATE TABLE air.routes (a INT); "
        "ALTER TABLE air.planes RENAME TO air.trips; CREATE DATABASE new; "
        "ALTER DATABASE lab SET DBPROPERTIES (a = 1); ALTER DATABASE lab RENAME TO labs"
    )
    return found


@pytest.fixture
def bench(made: CatalogWarehouse) -> CatalogBench:
    return CatalogBench(root=made.folder)


def shown(bench: CatalogBench) -> dict[str, object]:
    """Every database of main with its properties, every table with its id, head and schema."""
    state = state_of_main(bench.warehouse(read_only=True))
    databases = {each.name: dict(each.properties) for each in state.databases.values()}
    tables = {
        state.name_of(key): (key, each.folder, each.head, each.schema)
        for key, each in state.tables.items()
    }
    return {"databases": databases, **{str(key): value for key, value in tables.items()}}


def without_hints(made: CatalogWarehouse) -> dict[str, bytes]:
    """The schemas and snapshots of main."""
    return {name: data for name, data in made.of_main().items() if not name.endswith("EST")}


def newest(bench: CatalogBench) -> CatalogVersion:
    return next(bench.warehouse(read_only=True).ledger.versions("main"))


def steps_of_it(bench: CatalogBench) -> tuple[MergeStep, ...]:
    """The steps of the merge that ran as `it`."""
    found = CatalogOperation.find(bench.warehouse(), "it")
    assert found is not None
    return MergeOperation.of(found).steps


MERGED = {"air.flights", "air.trips", "air.routes", "labs.notes"}


def test_undo_of_a_merge_gives_names_properties_folders_and_heads_back(
    made: CatalogWarehouse, bench: CatalogBench
) -> None:
    before, of_main = shown(bench), without_hints(made)
    bench.run("MERGE BRANCH dev", operation_id="it")
    after = shown(bench)
    assert after.keys() - {"databases"} == MERGED
    merged = newest(bench)
    receipt = bench.undo("it")
    assert shown(bench) == before
    assert without_hints(made) == of_main
    undone = newest(bench)
    assert (undone.kind, undone.voids) == (VersionKind.UNDONE, (merged.name,))
    assert receipt.notes[0] == (
        "Operation it (merge of 'dev' into 'main') is undone: main@3. 'dev' can be merged again."
    )
    assert bench.undo("it").operation_id == receipt.operation_id, "twice is once"
    bench.run("MERGE BRANCH dev", operation_id="again")
    assert shown(bench).keys() - {"databases"} == MERGED
    assert {key: each[0] for key, each in shown(bench).items() if key in MERGED} == {
        key: each[0] for key, each in after.items() if key in MERGED
    }, "the same ids"
    assert bench.run("MERGE BRANCH dev").notes[-1] == "Nothing was changed."
    bench.undo("again")
    assert shown(bench) == before


def test_the_receipt_of_an_undo_counts_what_went(bench: CatalogBench) -> None:
    came = bench.run("MERGE BRANCH dev", operation_id="it").counts
    assert (came.snapshots_added, came.schemas_added) == (2, 3)
    new = next(each for each in steps_of_it(bench) if each.kind is StepKind.CREATE_TABLE)
    alone = bench.undo(f"it-{new.name}").counts
    assert (alone.snapshots_removed, alone.schemas_removed) == (0, 1)
    went = bench.undo("it").counts
    assert (went.snapshots_removed, went.schemas_removed) == (2, 2)
    assert bench.undo("it").counts == went


def test_preview_and_receipt_of_an_undo_say_where_rescue_branches_keep_what_leaves(
    bench: CatalogBench,
) -> None:
    bench.run("MERGE BRANCH dev", operation_id="it")
    answer = preview_call(bench.warehouse(), bench.call("undo", "asked", operation="it"))
    (kept,) = (each for each in answer.consequences if "rescue" in each.text)
    assert kept.weight is Weight.KEEPS
    assert kept.details == ("air.flights", "air.trips")
    notes = bench.undo("it").notes
    # One of them has its earlier name again.
    for name in ("air.flights", "air.planes"):
        (rescue,) = _rescues_of(bench.warehouse(), name)
        told = f"Rescue branch {rescue!r} keeps the snapshots that left."
        assert sum(told in each for each in notes) == 1


def _rescues_of(warehouse: Warehouse, table: str) -> list[str]:
    names = warehouse.table(Identifier.parse(table)).branches.names()
    return [name for name in names if name.startswith("rescue-")]


def test_where_somebody_went_on_tables_get_reverts_and_the_merge_stays(
    made: CatalogWarehouse, bench: CatalogBench
) -> None:
    before = shown(bench)
    bench.run("MERGE BRANCH dev", operation_id="it")
    made.commit("air.flights", 3, "main")
    receipt = bench.undo("it")
    after = shown(bench)
    assert after.keys() == before.keys()
    assert newest(bench).voids == ()
    assert "stays part of the history" in receipt.notes[0]
    assert (receipt.counts.snapshots_removed, receipt.counts.schemas_removed) == (0, 1)
    flights = bench.warehouse().table("air.flights")
    assert flights.snapshots.ids()[-1] == 3
    assert bench.run("MERGE BRANCH dev").notes[-1] == "Nothing was changed."


def test_undo_of_a_merge_into_a_branch_is_its_next_version(
    made: CatalogWarehouse, bench: CatalogBench
) -> None:
    bench("CREATE BRANCH test ON CATALOG")

    def on_test() -> CatalogState:
        return replace(state_of_branch(bench.warehouse(), "test"), version="", members=None)

    before, of_main = on_test(), shown(bench)
    bench.run("MERGE BRANCH dev TO test", operation_id="it")
    after = on_test()
    assert {after.name_of(each) for each in after.tables} == MERGED
    bench.undo("it")
    assert on_test() == before
    bench.run("MERGE BRANCH dev TO test", operation_id="again")
    assert {after.name_of(each) for each in on_test().tables} == MERGED
    assert shown(bench) == of_main


def test_one_table_of_a_merge_goes_back_alone_and_comes_again(
    made: CatalogWarehouse, bench: CatalogBench
) -> None:
    before = shown(bench)
    bench.run("MERGE BRANCH dev", operation_id="it")
    after = shown(bench)
    (part,) = [
        each.name
        for each in steps_of_it(bench)
        if each.kind is StepKind.MERGE_CONTENT and each.folder == "air.db/flights"
    ]
    with pytest.raises(InvalidInput, match=f"branch-console undo it-{part}; or undo it as a whole"):
        bench.do("undo", operation=f"it-{part}", table="air.flights")
    bench.undo(f"it-{part}")
    assert shown(bench) == after | {"air.flights": before["air.flights"]}
    assert len(newest(bench).covers or ()) == 1
    assert bench.undo(f"it-{part}").notes, "twice is once"
    bench.run("MERGE BRANCH dev", operation_id="again")
    assert shown(bench).keys() == after.keys()
    assert bench.run("MERGE BRANCH dev").notes[-1] == "Nothing was changed."
    bench.undo("again")
    bench.undo("it")
    assert shown(bench) == before


def test_a_table_that_main_dropped_comes_back_as_the_source_has_it(
    made: CatalogWarehouse, bench: CatalogBench
) -> None:
    (key,) = [
        each
        for each, table in state_of_main(bench.warehouse()).tables.items()
        if table.name == "flights"
    ]
    bench("DROP TABLE air.flights")
    before = shown(bench)
    policy = "version: 1\nobjects: {'*': {object gone: theirs}}"
    with pytest.raises(Refused, match=r"air\.flights"):
        bench.run("MERGE BRANCH dev")
    for number in range(2):
        receipt = bench.do("merge_catalog_branch", branch="dev", policy=policy)
        flights = bench.warehouse().table("air.flights")
        assert flights.head_and_schema()[1].id == 1
        assert key in state_of_main(bench.warehouse()).tables
        assert [each for each in flights.branches.names() if each.startswith("rescue-")]
        if number == 0:
            bench.undo(receipt.operation_id)
            assert shown(bench) == before


def test_what_moved_with_its_database_goes_back_with_the_whole_only(
    made: CatalogWarehouse, bench: CatalogBench
) -> None:
    bench("USE BRANCH dev; ALTER TABLE labs.notes RENAME TO labs.words")
    bench.run("MERGE BRANCH dev", operation_id="it")
    steps = steps_of_it(bench)
    moves = {each.folder: each.name for each in steps if each.kind is StepKind.MOVE_TABLE}
    with pytest.raises(Refused, match="came or went with its database; undo operation it as a"):
        bench.undo(f"it-{moves['lab.db/notes']}")
    (rename,) = [each.name for each in steps if each.kind is StepKind.RENAME_DATABASE]
    with pytest.raises(Refused, match="undo operation it as a whole"):
        bench.undo(f"it-{rename}")


IN_THE_WAY: dict[str, Callable[[CatalogBench, CatalogWarehouse], object]] = {
    "table air.trips was dropped or renamed since": lambda bench, _: bench(
        "ALTER TABLE air.trips RENAME TO air.other"
    ),
    "another table has the name air.planes by now": lambda bench, _: bench(
        "CREATE TABLE air.planes (a INT)"
    ),
    "another database has the name 'lab' by now": lambda bench, _: bench("CREATE DATABASE lab"),
    "properties of database 'labs' changed since": lambda bench, _: bench(
        "ALTER DATABASE labs SET DBPROPERTIES (a = 2)"
    ),
    "database 'new' holds table 't' by now": lambda bench, _: bench("CREATE TABLE new.t (a INT)"),
    "database 'labs' was dropped or renamed since": lambda bench, _: bench(
        "ALTER DATABASE labs RENAME TO other"
    ),
    "nothing is left of table air.trips": lambda _, made: shutil.rmtree(
        made.folder / ".branch-console/dropped"
    ),
}


@pytest.mark.parametrize("reason", IN_THE_WAY)
def test_what_stands_in_the_way_of_an_undo_is_told_and_nothing_changes(
    made: CatalogWarehouse, bench: CatalogBench, reason: str
) -> None:
    bench.run("MERGE BRANCH dev", operation_id="it")
    IN_THE_WAY[reason](bench, made)
    before = tree(made.folder)
    with pytest.raises(Refused, match=f"Undo is not possible: .*{reason}"):
        bench.undo("it")
    assert tree(made.folder) == before


def test_a_kill_at_any_change_of_an_undo_is_all_or_nothing(
    made: CatalogWarehouse,
    bench: CatalogBench,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    before = shown(bench)
    bench.run("MERGE BRANCH dev", operation_id="it")
    after = shown(bench)
    every = 1 if request.config.getoption("depth") == "long" else 4

    def copied(name: str) -> CatalogBench:
        shutil.copytree(bench.root, tmp_path / name)
        return CatalogBench(root=tmp_path / name)

    def undo(world: CatalogBench) -> None:
        world.do("undo", operation="it")

    clean = copied("clean")
    counter = FaultyStore(inner=store_of(clean.root))
    clean.store = counter.store
    undo(clean)
    endings = set()
    for number in range(1, len(counter.changes) + 1, every):
        world = copied(str(number))
        fault = At(call=number, when=When.AFTER if number % 8 == 1 else When.BEFORE)
        world.store = FaultyStore(inner=store_of(world.root), fault=fault).store
        with pytest.raises(Killed):
            undo(world)
        world.store = None
        world.recover()
        assert shown(world) in (before, after), number
        endings.add(shown(world) == before)
        twice = tree(world.root)
        assert world.recover().notes == ("Nothing was cut off.",)
        assert tree(world.root) == twice
    assert endings == {True, False}
