"""The health of the branches of the catalog: what the doctor says of operations and of tables."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from branch_console.diff.health.catalog_rules import (
    CatalogFacts,
    catalog_findings,
)
from branch_console.diff.health.open_operations import OpenOperationFacts
from branch_console.procedures.compare.catalog_health import examine_catalog
from tests.support.branch_bench import store_of
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_warehouse import CatalogWarehouse
from tests.support.command_line import CommandLine
from tests.support.faulty_store import At, FaultyStore, Killed, When


@pytest.fixture
def made(tmp_path: Path) -> CatalogWarehouse:
    """Main with air.flights, air.planes and lab.notes, and a branch dev of all of it."""
    found = CatalogWarehouse(tmp_path / "warehouse")
    found.create()
    return found


@pytest.fixture
def console(made: CatalogWarehouse, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(str(made.folder), capsys)


def rules(made: CatalogWarehouse) -> list[tuple[str, str, str]]:
    before = made.files()
    found = examine_catalog(made.warehouse)
    assert found.unchecked == ()
    assert made.files() == before
    return [(each.rule, str(each.severity), each.branch) for each in found.findings]


def test_a_catalog_where_nothing_is_wrong_is_not_spoken_of(
    made: CatalogWarehouse, console: CommandLine
) -> None:
    assert rules(made) == []
    assert not any("catalog" in line for line in console("doctor", "--fail-on", "critical").lines)
    assert console("doctor", "--json").document["catalog"] == {"findings": [], "unchecked": []}
    assert "catalog" not in console("doctor", "lab.notes", "--json").document


def test_an_operation_that_was_cut_off_is_told_and_recovered(
    made: CatalogWarehouse, console: CommandLine
) -> None:
    bench = CatalogBench(root=made.folder, now=1_000)
    faulty = FaultyStore(inner=store_of(made.folder), fault=At(call=2, when=When.BEFORE))
    bench.store = faulty.store
    with pytest.raises(Killed):
        bench("CREATE BRANCH late ON CATALOG")
    assert rules(made) == [("F30", "warning", "late")]
    told = console("doctor", "--fail-on", "warning")
    assert told.code == 1
    assert told.lines[0] == "The catalog"
    assert "(create catalog branch)" in told.lines[1]
    assert told.lines[2].strip() == "branch-console recover"
    bench.store = None
    bench.recover()
    assert rules(made) == []


def test_a_table_branch_that_is_gone_is_lost(made: CatalogWarehouse, console: CommandLine) -> None:
    shutil.rmtree(made.folder / "air.db/planes/branch/branch-dev")
    assert rules(made) == [("F31", "critical", "dev")]
    told = console("doctor", "--json").document["catalog"]["findings"]
    assert told[0]["finding"] == "Tables are lost on it: air.planes. Nobody dropped them there."


def test_a_table_of_main_that_two_folders_may_be_is_unclear(made: CatalogWarehouse) -> None:
    home = made.folder / "lab.db"
    for name in ("one", "two"):
        shutil.copytree(home / "notes", home / name)
    shutil.rmtree(home / "notes")
    assert ("F32", "warning", "main") in rules(made)


def test_a_branch_that_cannot_be_read_is_not_checked_and_spoils_no_other(
    made: CatalogWarehouse,
) -> None:
    made.create("other", lazy=True)
    path = made.folder / ".branch-console/catalog/versions/other/version-0000000001.json"
    path.write_text("{")
    shutil.rmtree(made.folder / "air.db/planes/branch/branch-dev")
    found = examine_catalog(made.warehouse)
    assert [(each.rule, each.branch) for each in found.findings] == [("F31", "dev")]
    assert [each.branch for each in found.unchecked] == ["other"]


OPEN = OpenOperationFacts(id="op-1", what="merge catalog branch", branch="main", age_millis=60_000)


@pytest.mark.parametrize(
    ("facts", "severity", "recovers"),
    [
        (OPEN, "info", False),
        (replace(OPEN, age_millis=3_600_000), "warning", True),
        (replace(OPEN, turns_back="others wrote."), "critical", True),
    ],
    ids=["young", "cut off", "waiting"],
)
def test_how_bad_an_open_operation_is_depends_on_what_became_of_it(
    facts: OpenOperationFacts, severity: str, recovers: bool
) -> None:
    (found,) = catalog_findings(CatalogFacts(operations=(facts,), lost={}, unclear={}))
    assert (str(found.severity), bool(found.remedies)) == (severity, recovers)
    assert "  " not in found.sentences
