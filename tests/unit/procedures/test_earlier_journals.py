"""Operations that an earlier release began are finished by this one, to the very receipt."""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from branch_console.format.journals.intent import Intent
from branch_console.format.journals.procedures import JOURNALS
from branch_console.procedures.recover import recover_table
from branch_console.table.file_store_table import FileStoreTable
from tests.reliability.worlds import RowBench
from tests.support.branch_bench import NOW

DATA = Path(__file__).resolve().parents[2] / "data" / "journals"
TOLD = json.loads((DATA / "recovered-1.json").read_text(encoding="utf-8"))
LATER = NOW + 7_200_000


@pytest.fixture(scope="module")
def warehouses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouses, unpacked once; each test changes its own."""
    root = tmp_path_factory.mktemp("earlier")
    with tarfile.open(DATA / "open-operations-1.tar.gz") as archive:
        archive.extractall(root, filter="data")
    return root / "warehouses"


def recovered(bench: RowBench) -> list[dict[str, Any]]:
    """What recovery tells of each operation, and the events that are recorded of it."""
    done = recover_table(bench.warehouse(clock=lambda: LATER), bench.table())
    ids = {each.operation_id for each in done}
    return [
        *(
            {"operation": each.operation_id, "ending": each.ending, "message": each.message}
            for each in done
        ),
        *events_of(bench.table(), ids),
    ]


def events_of(table: FileStoreTable, operations: set[str]) -> list[dict[str, Any]]:
    found = []
    for event in table.ledger.events():
        if event.operation_id not in operations:
            continue
        receipt = event.receipt
        found.append(
            {
                "kind": event.kind,
                "branch": event.branch,
                "source": event.source_branch,
                "reason": event.reason,
                "tag": event.tag,
                "base_tag": event.base_tag,
                "undoes": event.undoes,
                "plan_id": receipt and receipt.plan_id,
                "notes": receipt and list(receipt.notes),
                "counts": receipt and receipt.counts.to_object(),
                "rescue": receipt and receipt.rescue_branch,
                "moves": receipt
                and [[each.branch, each.before_id, each.after_id] for each in receipt.moves],
            }
        )
    return found


@pytest.mark.parametrize("name", sorted(TOLD))
def test_what_an_earlier_release_began_is_finished_as_it_was_then(
    warehouses: Path, name: str
) -> None:
    assert recovered(RowBench(warehouses / name)) == TOLD[name]


@pytest.mark.parametrize("name", sorted(TOLD))
def test_each_of_its_journals_encodes_as_it_was_written(warehouses: Path, name: str) -> None:
    paths = sorted((warehouses / name).rglob("intent-*.json"))
    for path in paths:
        intent = Intent.from_json(path.read_bytes())
        codec = JOURNALS[intent.procedure]
        assert codec.encode(codec.decode(intent.plan)) == intent.plan
    assert paths or name.startswith("write-rows")
