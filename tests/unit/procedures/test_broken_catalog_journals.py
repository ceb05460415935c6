"""The journal of the catalog: what cannot be read there is told with its file, and no more."""

from dataclasses import replace
from pathlib import Path

import pytest

from branch_console.commit.journal import Journal
from branch_console.errors import ErrorKind, FormatError
from branch_console.format.journals.intent import Intent
from branch_console.procedures.catalog.catalog_operation import paths_of
from branch_console.procedures.recover import recover_catalog
from branch_console.procedures.registry import JOURNALLED_BY_CATALOG
from tests.support.branch_bench import NOW, BranchBench, tree

LATER = NOW + 7_200_000
PROCEDURES = tuple(JOURNALLED_BY_CATALOG)
BROKEN = Intent(
    operation_id="torn",
    procedure="",
    actor="ann",
    branch="main",
    statement="",
    time_millis=NOW,
    event_millis=NOW,
    plan={},
)


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path)
    bench.append("a")
    return bench


def recover_beside(bench: BranchBench, *intents: Intent) -> dict[str, FormatError]:
    """Begin the operations, and recover: how each is told, where nothing but journals changes."""
    warehouse = bench.warehouse(bench.store, clock=lambda: LATER)
    journal = Journal(bench.store, paths_of(warehouse))
    for intent in intents:
        journal.begin(intent)
    before = tree(Path(bench.file_io.root))
    found = recover_catalog(warehouse)
    assert tree(Path(bench.file_io.root)) == before
    assert {each.operation_id for each in found} == {each.operation_id for each in intents}
    told = {}
    for each in found:
        assert isinstance(each.error, FormatError)
        told[each.operation_id] = each.error
    return told


def test_a_journal_without_its_keys_is_told_with_its_file(bench: BranchBench) -> None:
    intents = [
        replace(BROKEN, operation_id=f"torn-{number}", procedure=procedure, plan=plan)
        for number, (procedure, plan) in enumerate(
            (procedure, plan)
            for procedure in PROCEDURES
            for plan in ({}, {"subject": "air", "undoes": "op", "way": "sideways"})
        )
    ]
    for operation_id, error in recover_beside(bench, *intents).items():
        assert f"/intent-{operation_id}.json is broken: The journal of " in error.message


@pytest.mark.parametrize("procedure", PROCEDURES)
def test_a_journal_of_a_newer_release_is_refused(bench: BranchBench, procedure: str) -> None:
    newer = replace(BROKEN, procedure=procedure, plan={"version": 2, "subject": "air"})
    error = recover_beside(bench, newer)["torn"]
    assert error.kind is ErrorKind.UNKNOWN_VERSION
    assert "/intent-torn.json cannot be read. The journal of an operation was" in error.message
