"""Merging a branch of the catalog: all of it or nothing, with one version and one receipt."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.commit.journal import Journal
from branch_console.commit.schema.schema_commit import add_column, change_schema
from branch_console.errors import CommitConflict
from branch_console.format.catalog.catalog_version import CatalogVersion, VersionKind
from branch_console.format.data_types import INT
from branch_console.format.identifier import Identifier
from branch_console.procedures.catalog_merge import publish_catalog
from tests.support.branch_bench import store_of
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_warehouse import CatalogWarehouse
from tests.support.faulty_store import At, FaultyStore, Killed, When

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
    """Main, and a branch dev that changed two of the three tables."""
    found = CatalogWarehouse(tmp_path / "warehouse")
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
    places = [warehouse.ledger.paths, *(warehouse.table(each).paths for each in TABLES)]
    return [
        intent.operation_id
        for place in places
        for intent in Journal(warehouse.store, place).unfinished()
    ]


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


def test_a_kill_at_any_change_leaves_all_or_nothing(bench: CatalogBench, tmp_path: Path) -> None:
    def copied(name: str) -> CatalogBench:
        shutil.copytree(bench.root, tmp_path / name)
        return CatalogBench(root=tmp_path / name)

    clean = copied("clean")
    counter = FaultyStore(inner=store_of(clean.root))
    CatalogBench(root=clean.root, store=counter.store).run(MERGE, operation_id="it")
    assert heads(clean) == AFTER
    endings = set()
    for number in range(1, len(counter.changes) + 1):
        when = When.BEFORE if number % 2 else When.AFTER
        cut = copied(f"{number}")
        faulty = FaultyStore(inner=store_of(cut.root), fault=At(call=number, when=when))
        with pytest.raises(Killed):
            CatalogBench(root=cut.root, store=faulty.store).run(MERGE, operation_id="it")
        cut.recover()
        after = heads(cut)
        assert after in (BEFORE, AFTER), (number, when, faulty.changes[-1])
        endings.add(after == AFTER)
        assert ends(cut) == []
        assert cut.recover().notes == ("Nothing was cut off.",)
        # What was taken back can be merged.
        cut.run(MERGE)
        assert heads(cut) == AFTER
        shutil.rmtree(cut.root)
    assert endings == {True, False}


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
