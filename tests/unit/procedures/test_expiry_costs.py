"""What an expiry asks of a store: each manifest once, and the disk not once a snapshot."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from branch_console.format.identifier import Identifier
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.maintenance.expire_snapshots import plan_expire
from branch_console.procedures.maintenance.remove_orphan_files import plan_cleaning
from branch_console.procedures.maintenance.storage import read_storage
from branch_console.storage.file_publisher import Published
from branch_console.storage.file_remover import FileRemover
from branch_console.storage.local_publisher import LocalPublisher
from branch_console.storage.metadata_cache import MetadataReader
from tests.support.branch_bench import TrustingRows
from tests.support.expiry_bench import AT_ONCE, LATER, ExpiryBench


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The manifests that are opened to be decoded, each with how often."""
    found: Counter[str] = Counter()
    ask = MetadataReader.local_files

    def local_files(self: MetadataReader, paths: Sequence[str]) -> list[str]:
        found.update(paths)
        return ask(self, paths)

    monkeypatch.setattr(MetadataReader, "local_files", local_files)
    return found


@pytest.fixture
def bench(tmp_path: Path) -> ExpiryBench:
    made = ExpiryBench(tmp_path)
    made.add("a", "b")
    made.branch("dev")
    made.replace("c", branch="dev")
    # No merge starts from a branch that is kept, so that main need not wait for one.
    made.call("drop_branch", operation="drop", branch="dev")
    for number in range(9):
        made.replace(f"d{number}")
    return made


def expiry(operation: str) -> ProcedureCall:
    return ProcedureCall(
        name="expire_snapshots",
        arguments={"table": "db.t", "retain_max": 1, "options": AT_ONCE, "grace": "0 s"},
        actor="ann",
        operation_id=operation,
        role="operator",
    )


def plan(warehouse: Warehouse) -> None:
    assert plan_expire(warehouse, expiry("look")).dry_run is not None


def run(warehouse: Warehouse) -> None:
    receipt = run_call(warehouse, TrustingRows(), expiry("run"), InlineStages())
    assert receipt.counts.snapshots_removed == 9


def clean(warehouse: Warehouse) -> None:
    asked = {"table": "db.t"}
    plan_cleaning(
        warehouse,
        ProcedureCall(
            name="remove_orphan_files", arguments=asked, actor="ann", operation_id="look"
        ),
    )


def storage(warehouse: Warehouse) -> None:
    assert read_storage(warehouse, Identifier.parse("db.t")).cost.total.file_count


@pytest.mark.parametrize(
    "question", [plan, clean, storage, run], ids=["expiry", "cleaning", "storage", "run"]
)
def test_what_was_asked_once_opens_no_manifest_again(
    bench: ExpiryBench, opened: Counter[str], question: Callable[[Warehouse], None]
) -> None:
    warehouse = bench.warehouse(clock=lambda: LATER)
    plan(warehouse)
    assert len(opened) > 10
    # Once for numbers of all entries, once for where the files lie that would go.
    assert set(opened.values()) <= {1, 2}
    opened.clear()
    question(warehouse)
    assert not opened


def test_a_new_manifest_is_the_only_one_that_is_opened(
    bench: ExpiryBench, opened: Counter[str]
) -> None:
    warehouse = bench.warehouse(clock=lambda: LATER)
    storage(warehouse)
    before = set(opened)
    opened.clear()
    bench.add("new")
    opened.clear()
    storage(warehouse)
    assert not before & set(opened)
    assert set(opened.values()) == {1}


@pytest.mark.parametrize("options", ["", ",changelog.num-retained.max=100"])
def test_all_snapshots_that_expire_wait_for_the_disk_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str
) -> None:
    published: list[int] = []
    publish = LocalPublisher.publish_in_order

    def count(
        self: LocalPublisher,
        files: Sequence[tuple[str, bytes]],
        when_named: Callable[[], object] | None = None,
    ) -> list[Published]:
        published.append(len(files))
        return publish(self, files, when_named)

    counts = []
    for snapshots in (3, 12):
        bench = ExpiryBench(tmp_path / str(snapshots))
        for number in range(snapshots):
            bench.replace(f"d{number}")
        with monkeypatch.context() as patched:
            patched.setattr(LocalPublisher, "publish_in_order", count)
            published.clear()
            bench.expire(options=AT_ONCE + options)
        counts.append(len(published))
        assert max(published) == (snapshots - 1) * (2 if options else 1)
    assert counts[0] == counts[1]


def test_what_leads_to_data_files_goes_after_all_of_them(
    bench: ExpiryBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[set[str]] = []
    discard = FileRemover.discard

    def note(self: FileRemover, paths: Iterable[str]) -> int:
        doomed = list(paths)
        batches.append({Path(path).name.split("-")[0] for path in doomed})
        return discard(self, doomed)

    monkeypatch.setattr(FileRemover, "discard", note)
    run(bench.warehouse(clock=lambda: LATER))
    # Files of a batch go in any order.
    assert batches[:2] == [{"data"}, {"manifest"}]
    assert all(len(each) <= 1 for each in batches)
