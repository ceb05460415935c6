from pathlib import Path

import pytest

from branch_console.commit.schema.schema_commit import change_schema, set_options
from branch_console.diff.health.finding import HazardSeverity, HealthFinding
from branch_console.errors import ErrorKind, InvalidInput, NotFound, Refused
from branch_console.format.lineage_event import LineageKind
from branch_console.procedures.browse.branches import list_branches
from branch_console.procedures.browse.page_values import BranchItem
from branch_console.table.missing_schemas import check_schemas
from tests.support.branch_bench import NOW, BranchBench
from tests.support.lifecycle import metadata, preview, run


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """A branch of three schemas, of which the files need the first and the last."""
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.alter()
    bench.alter(column="more")
    bench.append("b")
    bench.branch("dev")
    bench.append("c", branch="dev")
    return bench


def _lose(bench: BranchBench, branch: str, *ids: int) -> None:
    bench.store.remover.remove([bench.table(branch).paths.schema(each) for each in ids])


def _item(bench: BranchBench, branch: str) -> BranchItem:
    items = list_branches(bench.warehouse(), bench.identifier)
    return next(each for each in items if each.name == branch)


def _lost(bench: BranchBench, branch: str) -> list[HealthFinding]:
    return [each for each in _item(bench, branch).findings if each.rule == "F25"]


def test_a_branch_without_a_schema_that_its_files_need_is_not_healthy(bench: BranchBench) -> None:
    assert not _lost(bench, "dev")
    _lose(bench, "dev", 0)
    [found] = _lost(bench, "dev")
    assert found.severity is HazardSeverity.CRITICAL
    assert found.text == "It lacks schema 0, with which some of its files were written."
    assert _item(bench, "dev").needs_repair


def test_a_schema_that_no_file_needs_is_not_missed(bench: BranchBench) -> None:
    _lose(bench, "dev", 1)
    assert not _lost(bench, "dev")
    with pytest.raises(Refused, match="has every schema") as caught:
        run(bench, "repair_branch", branch="dev")
    assert caught.value.kind is ErrorKind.NOTHING_TO_DO


def test_a_repair_brings_it_back_byte_for_byte(bench: BranchBench) -> None:
    before = metadata(bench)
    _lose(bench, "dev", 0)
    receipt = run(bench, "repair_branch", branch="dev")
    assert metadata(bench) == before
    assert receipt.notes == ("Branch 'dev' has schema 0 again.",)
    assert receipt.counts.schemas_added == 1
    assert bench.table().ledger.events()[-1].kind is LineageKind.REPAIRED
    assert not _lost(bench, "dev")
    with pytest.raises(InvalidInput, match="files of the branch need the schemas"):
        run(bench, "undo", "back", operation="op")


def test_what_main_lost_too_is_named(bench: BranchBench) -> None:
    for branch in ("main", "dev"):
        _lose(bench, branch, 0)
    [found] = _lost(bench, "main")
    assert found.remedies == ()
    [told] = preview(bench, "repair_branch", branch="dev").consequences
    assert told.text.startswith("Main has no schema 0 either. Restore ")
    assert told.kind is ErrorKind.SCHEMA_NOT_FOUND


def test_another_history_of_main_is_no_source(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.branch("dev")
    change_schema(bench.table("dev"), bench.store, [set_options({"custom.a": "b"})], now_millis=NOW)
    bench.append("b", branch="dev")
    bench.alter()
    _lose(bench, "dev", 0)
    [told] = preview(bench, "repair_branch", branch="dev").consequences
    assert told.text.startswith("Schema 1 of 'dev' is not that of main")


def test_main_is_not_repaired_from_itself(bench: BranchBench) -> None:
    with pytest.raises(InvalidInput, match="cannot be repaired"):
        preview(bench, "repair_branch", branch="main")


def test_a_read_names_the_schema_and_its_path(bench: BranchBench) -> None:
    table = bench.table("dev")
    head = table.head()
    assert head is not None
    files = table.live_files(head)
    check_schemas(table, files, {0, 2})
    with pytest.raises(NotFound, match="written with schema 0") as caught:
        check_schemas(table, files, {2})
    assert caught.value.kind is ErrorKind.SCHEMA_NOT_FOUND
    assert caught.value.facts["path"] == table.paths.schema(0)
