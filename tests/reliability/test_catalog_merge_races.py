"""A commit of somebody else behind the commit point of a catalog merge: on, back or waiting."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from branch_console.commit.catalog.database_commit import change_database
from branch_console.errors import CommitConflict, NotFound, Refused
from branch_console.format.receipt import Receipt
from branch_console.format.table_schema import TableSchema
from branch_console.procedures.catalog import states
from branch_console.procedures.catalog.main_databases import database_file_of
from branch_console.procedures.compare.catalog_health import examine_catalog
from branch_console.procedures.kept_receipts import read_receipt
from tests.reliability.worlds import copy_world
from tests.support.branch_bench import store_of
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_kills import (
    OPERATION,
    MergeKills,
    machines_apart,
    outcome,
    spread,
)
from tests.support.catalog_rows import KEYED, PLAIN, SeenCatalog, put, rows_in, seen_on
from tests.support.examples import Examples
from tests.support.faulty_store import At, FaultyStore, Killed, When

_ALL = 1_000_000


def two_with_keys(root: Path) -> CatalogBench:
    """Three tables that a branch changes, one that it renames and one that it drops.

    The content of `early` comes before that of `late`.
    """
    sql = CatalogBench(root=root)
    sql("CREATE DATABASE air WITH DBPROPERTIES (a = '0')")
    for name, columns in (
        *(("late", KEYED), ("early", KEYED)),
        *(("log", PLAIN), ("old", PLAIN), ("gone", PLAIN)),
    ):
        sql.now += 1
        sql(f"CREATE TABLE air.{name} {columns}")
        put(sql, f"air.{name}", (1, "a"), (2, "b"))
    sql("CREATE BRANCH dev ON CATALOG")
    for name in ("early", "late"):
        put(sql, f"air.{name}", (2, "dev"), (3, "dev"), branch="dev")
    put(sql, "air.log", (3, "dev"), branch="dev")
    sql("USE BRANCH dev; DROP TABLE air.gone; ALTER TABLE air.old RENAME TO air.legs")
    sql("USE BRANCH dev; ALTER DATABASE air SET DBPROPERTIES (a = '1')")
    return sql


@pytest.fixture(scope="module")
def kills(memory_path: Path) -> MergeKills:
    """A merge of these, and what it does."""
    two_with_keys(memory_path / "races")
    return MergeKills(origin=memory_path / "races")


def with_row(seen: SeenCatalog, name: str, row: tuple[int, str]) -> SeenCatalog:
    """The same with another row of a key."""
    columns, rows = seen.tables[name]
    kept = tuple(sorted(({each[0]: each for each in rows} | {row[0]: row}).values(), key=repr))
    return replace(seen, tables={**seen.tables, name: (columns, kept)})


def raced(
    kills: MergeKills, world: CatalogBench, act: Callable[[], object], *, kill: At | None = None
) -> FaultyStore:
    """A store in which somebody acts once the merge is decided, before any of it can be seen."""
    faulty = FaultyStore(inner=store_of(world.root), fault=kill)
    faulty.meanwhile[kills.decides + 1] = act
    return faulty


def clash(world: CatalogBench) -> None:
    """Change a row that the merge is about to change."""
    put(world, "air.late", (2, "foreign"))


def test_a_commit_that_fits_is_built_on_and_told(kills: MergeKills) -> None:
    world = kills.copy("forward")
    act = partial(put, world, "air.log", (9, "foreign"))
    kills.run(world, raced(kills, world, act))
    assert seen_on(world) == with_row(kills.new, "air.log", (9, "foreign"))
    kept = read_receipt(world.warehouse(read_only=True), OPERATION)
    (told,) = (each for each in kept.notes if each.startswith("air.log: "))
    assert "Planned again at snapshot 2" in told or "carried over snapshot 2" in told


def test_a_commit_that_collides_turns_all_back_and_that_is_told(kills: MergeKills) -> None:
    world = kills.copy("back")
    with pytest.raises(CommitConflict, match="decided and then turned back") as error:
        kills.run(world, raced(kills, world, partial(clash, world)))
    assert "'main' is as before" in error.value.message
    receipt = read_receipt(world.warehouse(read_only=True), OPERATION)
    assert " ".join(receipt.notes) == error.value.message
    back = with_row(kills.old, "air.late", (2, "foreign"))
    assert seen_on(world) == back
    assert seen_on(world, "dev") == kills.dev
    assert world.recover().notes == ("Nothing was cut off.",)
    # The edge is void: what collides is told, and nothing counts as merged.
    with pytest.raises(Refused):
        world.run(kills.text)
    assert seen_on(world) == back


def waiting(kills: MergeKills) -> tuple[CatalogBench, str]:
    """A merge that turns back while somebody changed a row that it brought; what its run is told.

    Only then is it met by a commit that it cannot go forward on.
    """
    world = kills.copy("waiting")
    store = raced(kills, world, partial(clash, world))
    at = next(
        number
        for number, each in enumerate(kills.changes, start=1)
        if each.startswith("hint") and "/early/" in each
    )
    store.meanwhile[at] = partial(put, world, "air.early", (2, "also"))
    with pytest.raises(Refused, match="It waits") as error:
        kills.run(world, store)
    return world, error.value.message


PARTIAL = f"branch-console recover --partial {OPERATION}"


def test_a_commit_on_what_came_and_one_that_collides_leave_it_waiting(
    kills: MergeKills, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, told = waiting(kills)
    assert "air.early: others changed the very rows" in told
    assert "run: branch-console recover. " in told
    assert told.endswith(f"{PARTIAL}.")
    assert any(told in note for note in world.recover().notes)
    # Whoever asks for the receipt is told the same, and so is who asks what is wrong.
    with pytest.raises(NotFound, match="It waits") as receipt:
        read_receipt(world.warehouse(read_only=True), OPERATION)
    assert receipt.value.message == told
    (finding,) = examine_catalog(world.warehouse(read_only=True)).findings
    assert (finding.rule, str(finding.severity), finding.text) == ("F30", "critical", told)
    # What others wrote is there, and nothing forks off a catalog that stands in between.
    assert (2, "also") in rows_in(world.warehouse().table("air.early"))
    assert (2, "foreign") in rows_in(world.warehouse().table("air.late"))
    monkeypatch.setattr(states, "_WAIT_SECONDS", 0)
    with pytest.raises(CommitConflict):
        world.run("CREATE BRANCH later ON CATALOG")


def test_a_merge_that_waits_turns_back_once_a_person_has_settled_what_is_in_the_way(
    kills: MergeKills,
) -> None:
    world, _ = waiting(kills)
    world.do("rollback", table="air.early", snapshot=2, cut=True)
    assert "'main' is as before" in " ".join(world.recover().notes)
    assert seen_on(world) == with_row(kills.old, "air.late", (2, "foreign"))
    assert seen_on(world, "dev") == kills.dev
    assert world.recover().notes == ("Nothing was cut off.",)


def test_a_merge_that_waits_is_ended_as_partial_and_tells_what_is_new_and_what_is_old(
    kills: MergeKills,
) -> None:
    world, _ = waiting(kills)
    (told,) = world.do("recover", partial=OPERATION).notes
    receipt = read_receipt(world.warehouse(read_only=True), OPERATION)
    assert told.endswith(" ".join(receipt.notes))
    assert "ann ended it as partial: main@" in receipt.notes[0]
    assert receipt.notes[1].startswith("New: air.early ")
    (old,) = (note for note in receipt.notes if note.startswith("As before: "))
    for name in ("air.late", "air.log", "air.old", "air.gone"):
        assert name in old
    assert "air.early" not in old
    early = with_row(kills.new, "air.early", (2, "also")).tables["air.early"]
    old_tables = with_row(kills.old, "air.late", (2, "foreign")).tables
    assert seen_on(world) == replace(kills.old, tables={**old_tables, "air.early": early})
    assert examine_catalog(world.warehouse(read_only=True)).findings == ()
    assert world.recover().notes == ("Nothing was cut off.",)
    with pytest.raises(Refused, match="has ended"):
        world.do("recover", partial=OPERATION)
    # What was taken back can be merged, and what stands does not come twice.
    world.do("rollback", table="air.late", snapshot=1, cut=True)
    world.run(kills.text)
    assert seen_on(world) == with_row(kills.new, "air.early", (2, "also"))


def test_a_name_that_somebody_took_stays_with_a_merge_that_is_ended_as_partial(
    kills: MergeKills,
) -> None:
    world = kills.copy("taken")

    def take() -> None:
        """Make a table where one moved away, and set properties before the merge does."""
        home = world.root / "air.db"
        shutil.copytree(home / "log/schema", home / "old/schema")
        path = home / "old/schema/schema-0"
        schema = TableSchema.from_json(path.read_text())
        path.write_text(replace(schema, time_millis=7).to_json())
        warehouse = world.warehouse()
        change_database(
            warehouse.store,
            warehouse.ledger.paths,
            str(home),
            database_file_of(warehouse, "air"),
            lambda known: replace(known, properties={"a": "9"}),
        )

    store = FaultyStore(inner=store_of(world.root))
    moves = [
        at
        for at, each in enumerate(kills.changes, start=1)
        if each.startswith("move ") and each.endswith("/air.db/old")
    ]
    store.meanwhile[moves[-1] + 1] = take
    with pytest.raises(Refused, match=r"It waits: Something is at air.db/old already"):
        kills.run(world, store)
    world.do("recover", partial=OPERATION)
    receipt = read_receipt(world.warehouse(read_only=True), OPERATION)
    assert any(note.startswith("New: air.legs ") for note in receipt.notes), receipt.notes
    empty = (kills.old.tables["air.log"][0], ())
    seen = seen_on(world)
    assert seen.databases["air"] == {"a": "9"}
    assert seen.tables == {
        **kills.old.tables,
        "air.old": empty,
        "air.legs": kills.old.tables["air.old"],
    }
    assert seen_on(world, "dev") == kills.dev
    assert world.recover().notes == ("Nothing was cut off.",)
    world.run(kills.text)
    assert seen_on(world).tables == {**kills.new.tables, "air.old": empty}


def test_a_merge_that_does_not_wait_is_not_ended_as_partial(kills: MergeKills) -> None:
    world = kills.killed("cut", kills.decides + 1, When.AFTER)
    with pytest.raises(Refused, match="does not wait half taken back"):
        world.do("recover", partial=OPERATION)
    with pytest.raises(NotFound, match="no merge of the catalog"):
        world.do("recover", partial="other")
    world.recover()
    assert seen_on(world) == kills.new


@pytest.mark.parametrize("reverts", [False, True], ids=["rollback", "revert"])
def test_a_commit_behind_the_version_of_an_undo_leaves_it_open_until_that_is_settled(
    kills: MergeKills, reverts: bool
) -> None:
    origin = kills.copy("merged")
    origin.run(kills.text, operation_id=OPERATION)
    old = kills.old
    if reverts:
        put(origin, "air.log", (9, "since"))
        old = with_row(old, "air.log", (9, "since"))
    snapshot = origin.warehouse().table("air.late").snapshots.latest_id()

    def copied(name: str) -> CatalogBench:
        shutil.rmtree(origin.root.parent / name, ignore_errors=True)
        return CatalogBench(root=copy_world(origin.root, origin.root.parent / name), now=origin.now)

    clean = copied("clean undo")
    counter = FaultyStore(inner=store_of(clean.root))
    clean.store = counter.store
    clean.undo(OPERATION)
    version = "/versions/main/version-"
    at = max(number for number, each in enumerate(counter.changes, start=1) if version in each)
    world = copied("undone")
    faulty = FaultyStore(inner=store_of(world.root))
    faulty.meanwhile[at + 1] = partial(clash, world)
    racing = CatalogBench(root=world.root, store=faulty.store, now=world.now)
    with pytest.raises(
        Refused, match=r"has begun, and waits for air.late: .*run: branch-console recover"
    ):
        racing.undo(OPERATION)
    # As long as it stands, recovery tells so and leaves what others wrote.
    for _ in range(2):
        assert any("has begun, and waits for air.late" in note for note in world.recover().notes)
        assert (2, "foreign") in rows_in(world.warehouse().table("air.late"))
    world.do("rollback", table="air.late", snapshot=snapshot, cut=True)
    world.recover()
    assert seen_on(world) == old
    assert seen_on(world, "dev") == kills.dev
    assert world.recover().notes == ("Nothing was cut off.",)


def test_a_kill_at_any_change_of_turning_back_leaves_nothing_of_the_merge(
    kills: MergeKills, examples: Examples
) -> None:
    clean = kills.copy("clean")
    counter = raced(kills, clean, partial(clash, clean))
    assert isinstance(outcome(partial(kills.run, clean, counter)), CommitConflict)
    back = with_row(kills.old, "air.late", (2, "foreign"))
    count = len(counter.changes) - kills.decides - 1
    for behind in spread(count, examples(3, quick=2, long=_ALL)):
        number = kills.decides + 1 + behind
        where = f"{number}: {counter.changes[number - 1]}"
        world = kills.copy("killed")
        kill = At(call=number, when=When.AFTER)
        with pytest.raises(Killed):
            kills.run(world, raced(kills, world, partial(clash, world), kill=kill))
        world.recover()
        assert seen_on(world) == back, where
        assert seen_on(world, "dev") == kills.dev, where
        assert world.recover().notes == ("Nothing was cut off.",), where


@pytest.mark.parametrize("dies", [False, True], ids=["lives", "dies"])
def test_a_runner_that_publishes_behind_a_turning_back_leaves_nothing(
    kills: MergeKills, examples: Examples, monkeypatch: pytest.MonkeyPatch, dies: bool
) -> None:
    """It sleeps at a change while somebody else turns the merge back, then makes the change."""
    back = with_row(kills.old, "air.late", (2, "foreign"))
    count = len(kills.changes) - kills.decides
    for behind in spread(count, examples(3, quick=2, long=_ALL)):
        number = kills.decides + behind
        where = f"{number}: {kills.changes[number - 1]}"
        world = kills.copy("asleep")
        other = CatalogBench(root=world.root, now=world.now)

        def turned(world: CatalogBench = world, other: CatalogBench = other) -> Receipt:
            clash(world)
            return other.recover()

        faulty = FaultyStore(inner=store_of(world.root), meanwhile={number: turned})
        if dies:
            faulty.fault = At(call=number, when=When.AFTER)
        told: object = None
        with machines_apart(monkeypatch):
            try:
                told = outcome(partial(kills.run, world, faulty))
            except Killed:
                assert dies
        world.now += 7_200_000
        world.recover()
        seen = seen_on(world)
        # Where the table that it collides on had been published, the commit stands on that.
        ahead = with_row(kills.new, "air.late", (2, "foreign"))
        assert seen in (back, ahead), where
        assert seen == ahead or not isinstance(told, Receipt), where
        assert world.recover().notes == ("Nothing was cut off.",), where
