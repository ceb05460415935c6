"""Merging a branch of the catalog: all of it or nothing, with one version and one receipt."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from branch_console.catalog.sightings import look_at_main
from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.journal import Journal
from branch_console.commit.schema.schema_commit import add_column, change_schema
from branch_console.errors import CommitConflict, NotAllowed, Refused, StorageError
from branch_console.format.catalog.catalog_version import CatalogVersion, VersionKind
from branch_console.format.data_types import INT, STRING
from branch_console.format.identifier import Identifier
from branch_console.format.journals.catalog_merge import MergeDirection
from branch_console.format.journals.merge import MergeJournal
from branch_console.format.receipt import Receipt
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.call.call import AGAIN
from branch_console.procedures.call.row_engine import NoRowEngine
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.catalog import states
from branch_console.procedures.catalog.catalog_operation import CatalogOperation
from branch_console.procedures.catalog.states import state_of_branch
from branch_console.procedures.catalog_merge import publish_catalog, table_content
from branch_console.procedures.catalog_merge.actions import action_of
from branch_console.procedures.catalog_merge.catalog_sides import CatalogMergeSpec
from branch_console.procedures.catalog_merge.merge_catalog import preview_catalog_merge
from branch_console.procedures.catalog_merge.merged_parts import parts_of_job, parts_of_merge
from branch_console.procedures.catalog_merge.step_actions import MergeOperation
from branch_console.procedures.catalog_merge.turn_back import decide_direction
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.recover import recover_catalog
from branch_console.procedures.run.all_tables import all_tables
from branch_console.procedures.run.open_operation import Operation
from branch_console.storage.file_publisher import Published
from tests.support.branch_bench import store_of
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_warehouse import CatalogWarehouse
from tests.support.examples import Examples
from tests.support.faulty_store import At, FaultyPublisher, FaultyStore, Killed, What, When

MERGE = "MERGE BRANCH dev"
TABLES = ("air.flights", "air.planes")


def write(made: CatalogWarehouse, name: str, snapshot_id: int, branch: str = "dev") -> None:
    """Give a table a column and a snapshot on a branch."""
    table = made.warehouse.table(Identifier.parse(name).on_branch(branch))
    column = add_column(f"extra{snapshot_id}", INT)
    change_schema(table, made.warehouse.store, [column], now_millis=1)
    made.commit(name, snapshot_id, branch)


@pytest.fixture
def made(tmp_path: Path) -> CatalogWarehouse:
    return changed_warehouse(tmp_path / "warehouse")


def changed_warehouse(folder: Path) -> CatalogWarehouse:
    """Main, and a branch dev that changed two of the three tables."""
    found = CatalogWarehouse(folder)
    found.create()
    for name in TABLES:
        write(found, name, 2)
    return found


@pytest.fixture
def bench(made: CatalogWarehouse) -> CatalogBench:
    return CatalogBench(root=made.folder)


def heads(bench: CatalogBench) -> list[tuple[int, int]]:
    """The snapshot and the schema of each table of main."""
    tables = map(bench.warehouse(read_only=True).table, (*TABLES, "lab.notes"))
    return [(table.snapshots.ids()[-1], table.schemas.ids()[-1]) for table in tables]


BEFORE, AFTER = [(1, 0), (1, 0), (1, 0)], [(2, 1), (2, 1), (1, 0)]


def newest(bench: CatalogBench) -> CatalogVersion:
    return next(bench.warehouse(read_only=True).ledger.versions("main"))


def ends(bench: CatalogBench) -> list[str]:
    """The intents that nobody ended, of the catalog and of its tables."""
    warehouse = bench.warehouse(read_only=True)
    tables = (table for _, table in all_tables(warehouse))
    places = [warehouse.ledger.paths, *(table.paths for table in tables)]
    return [
        intent.operation_id
        for place in places
        for intent in Journal(warehouse.store, place).unfinished()
    ]


def test_the_receipt_says_which_rows_the_options_left_alone(made: CatalogWarehouse) -> None:
    given = {"branch": "dev", "isolation": "snapshot", "scope": "partition"}
    call = made.call("merge_catalog_branch", **given)
    receipt = run_call(made.warehouse, NoRowEngine(), call, InlineStages())
    assert "Isolation snapshot was set: rows that 'main' added stay as they are." in receipt.notes
    assert any(each.startswith("Insert scope partition was set") for each in receipt.notes)


def test_a_merge_is_one_version_one_receipt_and_one_snapshot_a_table(bench: CatalogBench) -> None:
    receipt = bench.run(MERGE, operation_id="it")
    assert heads(bench) == AFTER
    version = newest(bench)
    assert (str(version.name), version.kind) == ("main@2", VersionKind.MERGED)
    assert [str(each) for each in version.parents] == ["main@1", "dev@1"]
    assert version.plan == receipt.plan_id
    assert {each.step for each in version.expects.values()} == {"it-t1", "it-t2"}
    assert receipt.notes[0] == "'dev' was merged into 'main': main@2."
    assert receipt.counts.snapshots_added == 2
    for name in TABLES:
        events = bench.warehouse().table(name).ledger.events()
        (merged,) = [each for each in events if each.operation_id.startswith("it-")]
        assert merged.receipt is not None
        assert merged.receipt.moves[0].after_id == 2
    assert ends(bench) == []


def test_a_merge_says_that_main_was_noted_in_a_version_of_its_own(bench: CatalogBench) -> None:
    bench.run("CREATE TABLE air.later (later INT)")
    receipt = bench.run(MERGE)
    assert str(newest(bench).name) == "main@3"
    assert receipt.notes[0] == "'dev' was merged into 'main': main@3."
    assert "main@2 notes how main had changed since main@1." in receipt.notes


def test_a_second_merge_writes_nothing(made: CatalogWarehouse, bench: CatalogBench) -> None:
    bench.run(MERGE)
    before = made.files()
    assert bench.run(MERGE).notes[-1] == "Nothing was changed."
    assert made.files() == before


def test_a_database_alone_and_then_the_whole_is_the_whole(
    made: CatalogWarehouse, bench: CatalogBench
) -> None:
    write(made, "lab.notes", 2)
    bench.run("MERGE BRANCH dev TO main ON DATABASE lab")
    assert heads(bench) == [(1, 0), (1, 0), (2, 1)]
    bench.run(MERGE)
    assert heads(bench) == [(2, 1), (2, 1), (2, 1)]
    assert bench.run(MERGE).notes[-1] == "Nothing was changed."


def test_a_table_that_was_merged_by_hand_does_not_come_twice(bench: CatalogBench) -> None:
    bench.run("MERGE BRANCH dev TO main ON TABLE air.flights")
    bench.run(MERGE)
    assert heads(bench)[:2] == [(2, 1), (2, 1)]


def on_main(bench: CatalogBench) -> dict[str, tuple[int | None, list[int]]]:
    """Head and schemas of all tables of main, by name."""
    warehouse = bench.warehouse(read_only=True)
    catalog = warehouse.catalog
    names = [f"{home}.{name}" for home in catalog.databases() for name in catalog.table_names(home)]
    tables = {name: warehouse.table(name) for name in names}
    return {
        **{home: (None, []) for home in catalog.databases()},
        **{
            name: (table.snapshots.latest_id(), list(table.schemas.ids()))
            for name, table in tables.items()
        },
    }


@pytest.fixture
def many(made: CatalogWarehouse, bench: CatalogBench) -> CatalogBench:
    """The branch also makes, moves and drops tables and databases, and writes to new tables."""
    for number, statement in enumerate(
        (
            "CREATE TABLE air.routes (id INT)",
            "DROP TABLE lab.notes",
            "CREATE TABLE lab.notes (x INT)",
            "CREATE DATABASE sea",
            "CREATE TABLE sea.boats (b INT)",
            "CREATE TABLE air.old (o INT)",
            "ALTER TABLE air.old RENAME TO air.new",
            "ALTER TABLE air.planes RENAME TO sea.planes",
            "ALTER DATABASE lab RENAME TO laboratory",
        )
    ):
        bench.now += number
        bench.run(f"USE BRANCH dev; {statement}")
    for snapshot_id in (1, 2):
        made.commit("air.routes", snapshot_id, "dev")
    return bench


def test_objects_of_all_kinds_come_by_one_merge(many: CatalogBench) -> None:
    receipt = many.run(MERGE)
    assert on_main(many) == {
        "air": (None, []),
        "laboratory": (None, []),
        "sea": (None, []),
        "air.flights": (2, [0, 1]),
        "air.new": (None, [0]),
        "air.routes": (2, [0]),
        "laboratory.notes": (None, [0]),
        "sea.boats": (None, [0]),
        "sea.planes": (2, [0, 1]),
    }
    assert "Table air.routes is new, with its history." in receipt.notes
    # Two tables got a snapshot and a schema each; four came with a schema, one of them with two
    # snapshots.
    assert (receipt.counts.snapshots_added, receipt.counts.schemas_added) == (4, 6)
    assert many.run(MERGE).notes[-1] == "Nothing was changed."
    # The ledger has main as it is, with the ids that the branch knows.
    of_main = many.warehouse().ledger.recorded("main")
    of_dev = many.warehouse().ledger.recorded("dev")
    assert set(of_main.tables) == set(of_dev.tables)
    assert set(of_main.databases) == set(of_dev.databases)
    # All tables are still the branch's.
    assert {str(each.state) for each in many.warehouse().on("dev").members()} == {"made"}
    many.run("CREATE BRANCH later ON CATALOG")
    assert newest(many).kind is VersionKind.SIGHTED


def test_a_run_does_what_its_preview_said(many: CatalogBench) -> None:
    # K12: also where main got a table that nobody noted before.
    many.run("CREATE TABLE air.later (later INT)")
    spec = CatalogMergeSpec(source="dev", target="main")
    plan = preview_catalog_merge(many.warehouse(read_only=True), spec)
    receipt = many.run(MERGE)
    assert receipt.plan_id == plan.id
    steps = CatalogOperation.find(many.warehouse(), receipt.operation_id)
    assert steps is not None
    assert tuple(each.step for each in MergeOperation.of(steps).steps) == plan.steps
    found = state_of_branch(many.warehouse(), "main")
    for of_plan, of_main in (
        (plan.result.databases, found.databases),
        (plan.result.tables, found.tables),
    ):
        assert of_plan.keys() == of_main.keys()
    keys = (*found.databases, *found.tables)
    assert {key: found.name_of(key) for key in keys} == {
        key: plan.result.name_of(key) for key in keys
    }
    assert receipt.counts.snapshots_added == 4


def test_main_is_looked_at_once_to_check_and_once_to_run(
    bench: CatalogBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[object] = []

    def looked(*arguments: Any) -> object:
        looks.append(arguments)
        return look_at_main(*arguments)

    monkeypatch.setattr(states, "look_at_main", looked)
    bench.run(MERGE)
    assert len(looks) == 2


def test_a_run_tells_how_many_of_its_steps_are_carried_out(many: CatalogBench) -> None:
    told: list[tuple[int, int | None]] = []
    stages = InlineStages(progress=lambda done, total: told.append((done, total)))
    call = many.call("merge_catalog_branch", branch="dev")
    # A job that had to plan again goes on under this id.
    call = replace(call, operation_id=f"job{AGAIN}1")
    assert parts_of_job(many.warehouse(), "job") == ()
    run_call(many.warehouse(), NoRowEngine(), call, stages)
    total = told[-1][1]
    parts = parts_of_merge(many.warehouse(), call.operation_id)
    assert parts_of_job(many.warehouse(), "job") == parts
    # A table that gets a new name and other content is one object of two steps.
    assert len({each.object_id for each in parts}) < len(parts)
    assert total == len(parts)
    assert told == [(number, total) for number in range(len(told))]
    assert len(told) == total


@pytest.mark.parametrize("world", ["bench", "many"])
def test_a_kill_at_any_change_leaves_all_or_nothing(
    request: pytest.FixtureRequest, tmp_path: Path, world: str, examples: Examples
) -> None:
    bench: CatalogBench = request.getfixturevalue(world)
    before = on_main(bench)

    def copied(name: str) -> CatalogBench:
        shutil.copytree(bench.root, tmp_path / name)
        return CatalogBench(root=tmp_path / name, now=bench.now)

    clean = copied("clean")
    counter = FaultyStore(inner=store_of(clean.root))
    CatalogBench(root=clean.root, store=counter.store, now=bench.now).run(MERGE, operation_id="it")
    after = on_main(clean)
    assert after != before
    endings = set()
    most = len(counter.changes)
    for number in range(1, most + 1, max(1, most // examples(10, quick=4, long=most))):
        when = When.BEFORE if number % 2 else When.AFTER
        cut = copied(f"{number}")
        faulty = FaultyStore(inner=store_of(cut.root), fault=At(call=number, when=when))
        with pytest.raises(Killed):
            CatalogBench(root=cut.root, store=faulty.store, now=bench.now).run(
                MERGE, operation_id="it"
            )
        told = cut.recover().notes
        found = on_main(cut)
        assert found in (before, after), (number, when, faulty.changes[-1], told)
        endings.add(found == after)
        assert ends(cut) == []
        assert cut.recover().notes == ("Nothing was cut off.",)
        # What was taken back can be merged.
        cut.run(MERGE)
        assert on_main(cut) == after, (number, when, faulty.changes[-1])
        shutil.rmtree(cut.root)
    assert endings == {True, False}


def test_an_operation_that_was_cut_off_before_its_commit_point_does_not_go_on_and_says_so(
    bench: CatalogBench,
) -> None:
    faulty = FaultyStore(inner=store_of(bench.root), fault=At(call=2, when=When.AFTER))
    with pytest.raises(Killed):
        CatalogBench(root=bench.root, store=faulty.store).run(MERGE, operation_id="it")
    for _ in range(2):
        with pytest.raises(CommitConflict, match="such an operation does not go on") as told:
            bench.run(MERGE, operation_id="it")
        assert told.value.message.endswith("Nothing was changed; merge again, as a new operation.")
        assert (heads(bench), ends(bench)) == (BEFORE, [])
    bench.run(MERGE)
    assert heads(bench) == AFTER


def test_a_commit_between_check_and_publish_stops_the_merge(
    made: CatalogWarehouse, bench: CatalogBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = publish_catalog.check_unmoved

    def late(merge: publish_catalog.MergeOperation) -> None:
        made.commit("air.planes", 2, "main")
        check(merge)

    monkeypatch.setattr(publish_catalog, "check_unmoved", late)
    with pytest.raises(CommitConflict, match=r"air[.]planes got a commit in the meantime"):
        bench.run(MERGE)
    assert heads(bench)[0] == (1, 0)
    assert newest(bench).kind is VersionKind.SIGHTED
    assert ends(bench) == []


@pytest.mark.parametrize("is_void", [True, False], ids=["void", "sighting"])
def test_a_runner_meets_what_took_its_number(
    bench: CatalogBench, monkeypatch: pytest.MonkeyPatch, is_void: bool
) -> None:
    check: Callable[[publish_catalog.MergeOperation], None] = publish_catalog.check_unmoved
    taken = []

    def late(merge: publish_catalog.MergeOperation) -> None:
        check(merge)
        if not taken:
            version = merge.version
            taken.append(version)
            other = CatalogVersion(
                branch="main",
                number=version.number,
                kind=VersionKind.VOID if is_void else VersionKind.SIGHTED,
                operation=version.operation if is_void else "other",
                actor="bob",
                time_millis=1,
                parents=version.parents[:1],
            )
            assert merge.warehouse.ledger.publish(merge.warehouse.store.publisher, other)

    monkeypatch.setattr(publish_catalog, "check_unmoved", late)
    if is_void:
        with pytest.raises(CommitConflict):
            bench.run(MERGE)
        assert heads(bench) == BEFORE
    else:
        bench.run(MERGE)
        assert heads(bench) == AFTER
        assert str(newest(bench).name) == "main@3"
    assert ends(bench) == []


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Have somebody else act once a merge is decided, before any of it can be seen."""

    def plan(act: Callable[[], None]) -> None:
        forward = publish_catalog.go_forward

        def late(merge: publish_catalog.MergeOperation, version: CatalogVersion) -> Receipt:
            monkeypatch.setattr(publish_catalog, "go_forward", forward)
            act()
            return forward(merge, version)

        monkeypatch.setattr(publish_catalog, "go_forward", late)

    return plan


def test_a_commit_that_touches_nothing_that_is_merged_is_built_on(
    made: CatalogWarehouse,
    bench: CatalogBench,
    between: Callable[[Callable[[], None]], None],
) -> None:
    between(lambda: made.commit("air.planes", 2, "main"))
    receipt = bench.run(MERGE)
    assert heads(bench) == [(2, 1), (3, 1), (1, 0)]
    assert any("carried over snapshot 2" in note for note in receipt.notes), receipt.notes


def test_a_column_that_somebody_adds_first_is_planned_with(
    made: CatalogWarehouse,
    bench: CatalogBench,
    between: Callable[[Callable[[], None]], None],
) -> None:
    def alter() -> None:
        table = made.warehouse.table("air.planes")
        change_schema(table, made.warehouse.store, [add_column("mine", INT)], now_millis=1)

    between(alter)
    receipt = bench.run(MERGE)
    assert heads(bench)[1] == (2, 2)
    assert any("Planned again" in note for note in receipt.notes), receipt.notes
    names = [each.name for each in bench.warehouse().table("air.planes").schema().fields]
    assert {"mine", "extra2"} <= set(names)


@pytest.mark.parametrize("is_built_on", [False, True], ids=["alone", "built on"])
def test_a_merge_that_meets_a_conflict_behind_its_commit_point_turns_back(
    made: CatalogWarehouse,
    many: CatalogBench,
    between: Callable[[Callable[[], None]], None],
    is_built_on: bool,
) -> None:
    bench, before = many, on_main(many)

    def collide() -> None:
        table = made.warehouse.table("air.planes")
        change_schema(table, made.warehouse.store, [add_column("extra2", STRING)], now_millis=1)
        if is_built_on:
            publish = table_content.publish_merge

            def late(operation: Operation, journal: MergeJournal) -> Snapshot:
                landed = publish(operation, journal)
                made.commit("air.flights", 3, "main")
                return landed

            monkeypatch.setattr(table_content, "publish_merge", late)

    monkeypatch = pytest.MonkeyPatch()
    between(collide)
    with monkeypatch.context(), pytest.raises(CommitConflict, match="turned back") as told:
        bench.run(MERGE, operation_id="it")
    monkeypatch.undo()
    after = on_main(bench)
    assert after["air.planes"] == (1, [0, 1])
    # What came had no rows; the schema stays, as others may have written by it.
    flights = (3, [0, 1]) if is_built_on else (1, [0])
    assert after == {**before, "air.planes": (1, [0, 1]), "air.flights": flights}
    assert ("others had built on it" in told.value.message) is is_built_on
    version = newest(bench)
    assert version.kind is VersionKind.TURNED_BACK
    assert [str(each) for each in version.voids] == ["main@2"]
    assert ends(bench) == []
    assert bench.recover().notes == ("Nothing was cut off.",)
    recorded = bench.warehouse().ledger
    for part in ("tables", "databases"):
        now, then = (getattr(recorded.recorded("main", each), part) for each in (3, 1))
        assert {key: each.name for key, each in now.items()} == {
            key: each.name for key, each in then.items()
        }


@pytest.mark.parametrize("wanted", ["stop", "again", "all the time", "decide anew"])
def test_a_target_that_moves_before_the_commit_point_is_planned_again(
    made: CatalogWarehouse, bench: CatalogBench, monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    check, moved = publish_catalog.check_unmoved, []

    def late(merge: publish_catalog.MergeOperation) -> None:
        if not moved or wanted == "all the time":
            moved.append(merge.id)
            made.commit("air.planes", 1 + len(moved), "main")
            if wanted == "decide anew":
                bench.run("USE BRANCH dev; DROP TABLE lab.notes")
        check(merge)

    monkeypatch.setattr(publish_catalog, "check_unmoved", late)
    call = bench.call("merge_catalog_branch", branch="dev", plan_again=wanted != "stop")
    if wanted == "again":
        receipt = run_call(bench.warehouse(), NoRowEngine(), call, InlineStages())
        assert heads(bench) == [(2, 1), (3, 1), (1, 0)]
        assert any(note.startswith("Planned again: air.planes got") for note in receipt.notes)
        assert newest(bench).operation == f"{call.operation_id}-again-1"
    else:
        with pytest.raises((CommitConflict, Refused)) as stopped:
            run_call(bench.warehouse(), NoRowEngine(), call, InlineStages())
        assert heads(bench)[0] == (1, 0)
        assert newest(bench).kind is VersionKind.SIGHTED
        is_decided = "would decide something else" in stopped.value.message
        assert is_decided is (wanted == "decide anew")
        assert len(moved) == (4 if wanted == "all the time" else 1)
    assert ends(bench) == []


def test_a_merge_on_another_machine_is_taken_over_five_minutes_after_its_last_sign(
    bench: CatalogBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench_now = bench.now
    faulty = FaultyStore(inner=store_of(bench.root), fault=At(call=6, when=When.AFTER))
    monkeypatch.setattr("platform.node", lambda: "elsewhere")
    there = CatalogBench(root=bench.root, store=faulty.store, now=bench_now)
    with pytest.raises(Killed):
        there.run(MERGE, operation_id="it")
    merge = publish_catalog.MergeOperation.of(operation_of(bench, "it"))
    for seconds in (10, 40, 200):
        bench.now = bench_now + seconds * 1_000
        merge = publish_catalog.MergeOperation.of(operation_of(bench, "it"))
        publish_catalog.SignOfLife(merge).give()
    monkeypatch.undo()
    for seconds, is_over in ((301, False), (499, False), (501, True)):
        bench.now = bench_now + seconds * 1_000
        found = recover_catalog(bench.warehouse())
        assert bool(found) is is_over, seconds
    assert heads(bench) == AFTER


def operation_of(bench: CatalogBench, operation_id: str) -> CatalogOperation:
    found = CatalogOperation.find(bench.warehouse(), operation_id)
    assert found is not None
    return found


def test_a_merge_that_is_killed_while_it_turns_back_turns_back(
    many: CatalogBench,
    tmp_path: Path,
    examples: Examples,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decided = tmp_path / "decided"
    shutil.copytree(many.root, decided)
    # Decided, and met by a column of another type, before any step is carried out.
    cut = CatalogBench(root=decided, now=many.now)
    with monkeypatch.context() as patch:
        patch.setattr(publish_catalog, "go_forward", stop)
        with pytest.raises(KeyboardInterrupt):
            cut.run(MERGE, operation_id="it")
    opened = CatalogBench(root=decided).warehouse()
    column = add_column("extra2", STRING)
    change_schema(opened.table("air.planes"), opened.store, [column], now_millis=1)

    def copied(name: str) -> CatalogBench:
        shutil.copytree(decided, tmp_path / name)
        return CatalogBench(root=tmp_path / name, now=many.now)

    before, clean = on_main(CatalogBench(root=decided)), copied("clean")
    counter = FaultyStore(inner=store_of(clean.root))
    counted = CatalogBench(root=clean.root, store=counter.store, now=many.now)
    counted.recover()
    assert on_main(clean) == before
    most = len(counter.changes)
    for number in range(1, most + 1, max(1, most // examples(10, quick=3, long=most))):
        when = When.BEFORE if number % 2 else When.AFTER
        again = copied(f"{number}")
        faulty = FaultyStore(inner=store_of(again.root), fault=At(call=number, when=when))
        with pytest.raises(Killed):
            CatalogBench(root=again.root, store=faulty.store, now=many.now).recover()
        told = again.recover().notes
        assert on_main(again) == before, (number, when, faulty.changes[-1], told)
        assert ends(again) == []
        shutil.rmtree(again.root)


def test_what_others_wrote_to_a_new_table_outlives_kills_while_its_merge_turns_back(
    made: CatalogWarehouse, many: CatalogBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(publish_catalog, "go_forward", stop)
        with pytest.raises(KeyboardInterrupt):
            many.run(MERGE, operation_id="it")
    merge = MergeOperation.of(operation_of(many, "it"))
    for step in merge.steps:
        action_of(step.kind).carry_out(merge, step)
    made.commit("air.routes", 3, "main")
    decide_direction(merge, MergeDirection(turns_back=True, reason="a test says so."))

    def copied(name: str, store: CommitStore | None = None) -> CatalogBench:
        return CatalogBench(root=tmp_path / name, store=store, now=many.now)

    shutil.copytree(many.root, tmp_path / "clean")
    counter = FaultyStore(inner=store_of(tmp_path / "clean"))
    copied("clean", counter.store).recover()
    at = [number for number, each in enumerate(counter.changes, 1) if "air.db/routes" in each]
    assert at
    for number in at:
        root = shutil.copytree(many.root, tmp_path / f"{number}")
        fault = At(call=number, when=When.AFTER)
        with pytest.raises(Killed):
            copied(root.name, FaultyStore(inner=store_of(root), fault=fault).store).recover()
        copied(root.name).recover()
        kept = [*root.glob("air.db/routes/branch/branch-rescue-*/snapshot/snapshot-3")]
        assert len(kept) == 1, counter.changes[number - 1]


@pytest.mark.parametrize(
    "text", [MERGE, "USE BRANCH dev; CREATE DATABASE sky", "DROP BRANCH dev ON CATALOG"]
)
def test_a_version_without_an_answer_is_sent_again(
    bench: CatalogBench, tmp_path: Path, text: str
) -> None:
    """The first try may arrive late: nobody may take the operation for undone by then."""
    clean = shutil.copytree(bench.root, tmp_path / "clean")
    counter = FaultyStore(inner=store_of(clean))
    CatalogBench(root=clean, store=counter.store, now=bench.now).run(text)
    at = [number for number, each in enumerate(counter.changes, 1) if "/versions/" in each]
    fault = At(call=at[-1], what=What.SAY_UNKNOWN)
    bench.store = FaultyStore(inner=store_of(bench.root), fault=fault).store
    bench.run(text)
    bench.store = None
    versions = "catalog/versions/*/version-*.json"
    assert sorted(each.name for each in bench.root.rglob(versions)) == sorted(
        each.name for each in clean.rglob(versions)
    )
    assert ends(bench) == []


def test_a_store_that_never_answers_leaves_an_operation_to_recovery(bench: CatalogBench) -> None:
    class Silent(FaultyPublisher):
        def publish(self, path: str, data: bytes) -> Published:
            return Published.UNKNOWN

    ledger, silent = bench.warehouse().ledger, Silent(FaultyStore(inner=store_of(bench.root)))
    with pytest.raises(StorageError, match="did not tell whether it made"):
        ledger.publish(silent, replace(newest(bench), number=99))


def stop(*_: object) -> Receipt:
    raise KeyboardInterrupt


def test_a_protected_branch_of_one_table_wants_an_approver(
    made: CatalogWarehouse, bench: CatalogBench
) -> None:
    made.run("protect_branch", table="air.planes", branch="main", reason="release")
    with pytest.raises(NotAllowed):
        bench.run(MERGE, role="editor")
    assert heads(bench) == BEFORE
    told = [each.text for each in bench.preview(MERGE).consequences]
    assert any("'main' of air.planes is protected" in text for text in told)
    bench.run(MERGE, role="approver")
    assert heads(bench) == AFTER


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("DROP TABLE air.planes", "dropped"),
        ("ALTER TABLE air.planes RENAME TO air.jets", "renamed"),
        ("ALTER DATABASE air RENAME TO sky", "renamed"),
    ],
)
def test_a_preview_tells_that_a_protected_table_cannot_go(
    made: CatalogWarehouse, bench: CatalogBench, text: str, what: str
) -> None:
    made.run("protect_branch", table="air.planes", branch="main", reason="release")
    bench.run(f"USE BRANCH dev; {text}")
    told = [each.text for each in bench.preview(MERGE).blocks]
    assert len(told) == 1
    assert told[0].startswith("air.planes: ")
    assert what in told[0]
    with pytest.raises(Refused):
        bench.run(MERGE)
    assert heads(bench) == BEFORE


def test_what_only_an_operator_may_drop_comes_by_an_operator(many: CatalogBench) -> None:
    before = on_main(many)
    with pytest.raises(NotAllowed, match="operator"):
        many.run(MERGE, role="approver")
    assert on_main(many) == before


def test_a_table_with_an_operation_at_work_keeps_all_of_it_back(
    made: CatalogWarehouse, bench: CatalogBench
) -> None:
    faulty = FaultyStore(inner=store_of(bench.root), fault=At(call=1, when=When.AFTER))
    with pytest.raises(Killed):
        CatalogBench(root=bench.root, store=faulty.store).run(
            "MERGE BRANCH dev TO main ON TABLE air.planes"
        )
    with pytest.raises(Refused, match=r"air[.]planes: Operation .* is at work on branch 'main'"):
        bench.run(MERGE)
    assert heads(bench) == BEFORE


def test_a_schema_alone_comes_to_a_table_whose_name_another_one_gets(tmp_path: Path) -> None:
    made = CatalogWarehouse(tmp_path / "warehouse", ())
    for born, name in enumerate(("air.a", "air.b")):
        made.add(name, born=born, snapshot=False)
    made.create()
    bench = CatalogBench(root=made.folder)
    table = made.warehouse.table("air.a$branch_dev")
    change_schema(table, made.warehouse.store, [add_column("extra", INT)], now_millis=1)
    for names in ("air.a RENAME TO air.c", "air.b RENAME TO air.a"):
        bench.run(f"USE BRANCH dev; ALTER TABLE {names}")
    receipt = bench.run(MERGE)
    assert on_main(bench) == {"air": (None, []), "air.a": (None, [0]), "air.c": (None, [0, 1])}
    assert "air.c: its schema is 1." in receipt.notes
    assert bench.run(MERGE).notes[-1] == "Nothing was changed."
