"""A branch or a tag of the catalog is there with all its tables or not at all, after any kill."""

import shutil
from pathlib import Path

import pytest

from tests.support.branch_bench import store_of
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_warehouse import CatalogWarehouse
from tests.support.faulty_store import At, FaultyStore, Killed, When

NAMES = ("air.flights", "lab.notes")
STATEMENTS = {
    "eager": "CREATE BRANCH dev ON CATALOG",
    "lazy": "CREATE BRANCH dev ON CATALOG LAZY",
    "add": "CALL sys.add_to_catalog_branch(branch => 'pending', pattern => 'lab')",
    "drop": "DROP BRANCH old ON CATALOG",
    "drop lazy": "DROP BRANCH pending ON CATALOG",
    "undo": "CALL sys.undo(operation => 'op-gone')",
    "tag": "CALL sys.create_catalog_tag(tag => 'v1')",
    "delete tag": "CALL sys.delete_catalog_tag(tag => 'kept', confirm => 'kept')",
}


@pytest.fixture
def world(tmp_path: Path) -> CatalogBench:
    """Two tables, with a catalog branch that is made, one that is not, and a catalog tag.

    The one that is made has a table of its own. Another one like both was dropped.
    """
    made = CatalogWarehouse(tmp_path / "world", NAMES)
    bench = CatalogBench(root=made.folder)
    bench.run("CREATE BRANCH old ON CATALOG", operation_id="op-old")
    bench.run("CREATE BRANCH pending ON DATABASE air LAZY", operation_id="op-pending")
    bench.run("USE BRANCH old; CREATE TABLE air.routes (id INT)", operation_id="op-routes")
    bench.run("CREATE BRANCH gone ON CATALOG LAZY", operation_id="op-lazy")
    bench.run("USE BRANCH gone; CREATE TABLE lab.lost (code INT)", operation_id="op-lost")
    bench.run("DROP BRANCH gone ON CATALOG", operation_id="op-gone")
    bench.run("CALL sys.create_catalog_tag(tag => 'kept')", operation_id="op-kept")
    return bench


def meaning(bench: CatalogBench) -> dict[str, object]:
    """What the catalog and its tables have; rescue branches by the operation that made them."""
    warehouse = bench.warehouse(read_only=True)
    tables = {}
    for name in NAMES:
        table = warehouse.table(name)
        branches = {each: table.on(each).schemas.ids() for each in table.branches.names()}
        tables[name] = (branches, table.tags.names(), table.schemas.ids())
    return {
        "branches": {
            name: [(each.name, str(each.state)) for each in warehouse.on(name).members()]
            for name in warehouse.ledger.branches()
        },
        "folders": {
            place: sorted(each.name for each in (bench.root / place).iterdir())
            for place in ("air.db", "lab.db", ".branch-console/dropped")
            if (bench.root / place).exists()
        },
        "tags": warehouse.catalog_tags.names(),
        "tables": tables,
    }


@pytest.mark.parametrize("text", STATEMENTS.values(), ids=STATEMENTS)
def test_a_kill_at_any_change_leaves_all_or_nothing(
    world: CatalogBench, tmp_path: Path, text: str
) -> None:
    def copied(name: str) -> CatalogBench:
        shutil.copytree(world.root, tmp_path / name)
        return CatalogBench(root=tmp_path / name)

    old, clean = meaning(world), copied("clean")
    counter = FaultyStore(inner=store_of(clean.root))
    CatalogBench(root=clean.root, store=counter.store).run(text, operation_id="it")
    new = meaning(clean)
    assert old != new
    endings = set()
    for number in range(1, len(counter.changes) + 1):
        when = When.BEFORE if number % 2 else When.AFTER
        cut = copied(f"{number}")
        faulty = FaultyStore(inner=store_of(cut.root), fault=At(call=number, when=when))
        with pytest.raises(Killed):
            CatalogBench(root=cut.root, store=faulty.store).run(text, operation_id="it")
        if number % 3 == 0:
            # Whoever asks again, under the same id, gets what was asked for.
            cut.run(text, operation_id="it")
            assert meaning(cut) == new, (number, when, faulty.changes[-1])
        cut.recover()
        after = meaning(cut)
        assert after in (old, new), (number, when, faulty.changes[-1])
        endings.add(after == new)
        assert cut.recover().notes == ("Nothing was cut off.",)
        assert meaning(cut) == after
        shutil.rmtree(cut.root)
    assert endings == {True, False}
