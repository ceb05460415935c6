import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from branch_console.diff.rows.row_figure import RowCounts
from branch_console.errors import FormatError, InvalidInput, NotAllowed, NotFound, Refused
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Receipt
from branch_console.jobs.kept_counts import KeptCounts
from branch_console.procedures.branch.fast_forward import preview_fast_forward
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.compare.count_rows import count_name
from branch_console.procedures.compare.states import compare_states
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.kept_receipts import read_receipt
from branch_console.table.file_checks import FILE_PROBLEMS
from branch_console_app.models.jobs.receipt_text import changed_rows
from tests.support.branch_bench import BranchBench, TrustingRows, tree
from tests.support.lifecycle import run
from tests.support.two_branches import dev_ahead, move_main


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Main at 2, and dev two commits, a schema and a tag ahead."""
    return dev_ahead(tmp_path)


def test_main_becomes_the_branch_byte_for_byte(bench: BranchBench) -> None:
    rows = TrustingRows()
    before = tree(Path(bench.table().paths.snapshot_dir))
    receipt = bench.call("fast_forward", branch="dev", rows=rows)
    main, dev = bench.table(), bench.table("dev")
    for snapshot_id in (3, 4):
        copied = Path(main.paths.snapshot(snapshot_id)).read_bytes()
        assert copied == Path(dev.paths.snapshot(snapshot_id)).read_bytes()
    after = tree(Path(main.paths.snapshot_dir))
    assert {k: after[k] for k in before if k.startswith("snapshot-")} == {
        k: v for k, v in before.items() if k.startswith("snapshot-")
    }
    assert (after["LATEST"], after["EARLIEST"]) == (b"4", b"1")
    assert main.schemas.ids() == (0, 1)
    assert main.tags.names() == ("branch-base-dev", "branch-pin-op", "v4")
    assert sorted(Path(path).name for path in rows.verified) == ["data-c.parquet", "data-d.parquet"]
    assert all(path.startswith(f"{bench.path}/bucket-0/") for path in rows.verified)
    move = receipt.moves[0]
    assert (move.branch, move.before_id, move.after_id) == ("main", 2, 4)
    counts = receipt.counts
    assert (counts.snapshots_added, counts.schemas_added, counts.tags_added) == (2, 1, 2)
    assert (counts.files_verified, counts.records_added) == (2, 20)
    assert (counts.rows_before, counts.rows_after) == (20, 40)
    event = main.ledger.events()[-1]
    assert (event.kind, event.source_branch) == (LineageKind.FAST_FORWARDED, "dev")
    assert read_receipt(bench.warehouse(), "op") == receipt


def test_the_preview_is_the_plan_and_a_moved_head_stops_it(bench: BranchBench) -> None:
    plan = preview_fast_forward(bench.warehouse(), bench.identifier, "dev")
    bench.append("e", branch="dev")
    before = tree(Path(bench.file_io.root))
    with pytest.raises(Refused, match="preview is out of date") as caught:
        bench.call("fast_forward", branch="dev", plan_id=plan.id)
    assert caught.value.kind == "HEAD_MOVED"
    assert tree(Path(bench.file_io.root)) == before
    again = preview_fast_forward(bench.warehouse(), bench.identifier, "dev")
    bench.call("fast_forward", branch="dev", plan_id=again.id)
    assert bench.table().snapshots.latest_id() == 5


def test_a_head_that_moves_while_files_are_verified_stops_it(bench: BranchBench) -> None:
    class MeanwhileMain(TrustingRows):
        def verify_files(self, files: pa.Table, progress: object) -> pa.Table:
            bench.append("etl", user="etl")
            return FILE_PROBLEMS.empty_table()

    with pytest.raises(Refused, match="changed while the files were checked"):
        bench.call("fast_forward", branch="dev", rows=MeanwhileMain())
    assert bench.table().snapshots.get(3).commit_user == "etl"
    assert bench.table().schemas.ids() == (0,)


def test_a_moved_target_is_refused_and_nothing_changes(bench: BranchBench) -> None:
    bench.append("x", user="etl")
    before = tree(Path(bench.file_io.root))
    with pytest.raises(Refused) as caught:
        bench.call("fast_forward", branch="dev")
    assert caught.value.kind == "TARGET_MOVED"
    assert "1 commit of its own since the shared snapshot 2 (by etl)" in caught.value.message
    assert "What you can do: merge, update, compare, replace." in caught.value.message
    assert tree(Path(bench.file_io.root)) == before


def test_branches_at_one_snapshot_that_were_both_altered_are_refused(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.branch("dev")
    bench.alter("dev", "theirs")
    bench.alter("main", "ours")
    before = tree(tmp_path)
    with pytest.raises(Refused, match="Schema 1 is one thing on 'dev' and another on 'main'"):
        bench.call("fast_forward", branch="dev")
    assert tree(tmp_path) == before
    bench.call("fast_forward", operation="forced", branch="dev", force=True)
    assert bench.table().schema().fingerprint == bench.table("dev").schema().fingerprint
    run(bench, "undo", "back", operation="forced")
    assert bench.table().schema().fields[-1].name == "ours"


def test_force_keeps_the_target_on_a_rescue_branch_and_then_replaces_it(bench: BranchBench) -> None:
    move_main(bench)
    old = tree(Path(bench.table().paths.snapshot_dir))
    live = bench.live_names()
    receipt = bench.call("fast_forward", branch="dev", force=True)
    assert receipt.rescue_branch == "rescue-op"
    main, dev, rescue = bench.table(), bench.table("dev"), bench.table("rescue-op")
    assert main.snapshots.ids() == (1, 2, 3, 4)
    assert bench.live_names() == bench.live_names("dev")
    assert main.schema().fingerprint == dev.schema().fingerprint
    assert main.tags.get("v4").snapshot.identity.same_as(dev.tags.get("v4").snapshot.identity)
    kept = tree(Path(rescue.paths.snapshot_dir))
    assert kept == old
    assert bench.live_names("rescue-op") == live
    assert rescue.schemas.ids() == (0, 1)
    counts = receipt.counts
    assert (counts.snapshots_removed, counts.schemas_removed, counts.tags_removed) == (1, 1, 1)
    kinds = [event.kind for event in main.ledger.events()]
    assert kinds == [LineageKind.FORKED, LineageKind.REPLACED, LineageKind.RESCUED]


def test_force_is_for_operators(bench: BranchBench) -> None:
    bench.append("x")
    with pytest.raises(NotAllowed, match="it asks for operator, and your role is editor"):
        bench.call("fast_forward", branch="dev", force=True, role="editor")


def test_force_on_a_legal_fast_forward_makes_no_rescue(bench: BranchBench) -> None:
    receipt = bench.call("fast_forward", branch="dev", force=True)
    assert receipt.rescue_branch is None
    assert bench.table().branches.names() == ("dev",)


def test_an_empty_created_branch_is_refused(bench: BranchBench) -> None:
    bench.branch("bare", empty=True)
    bench.append("z", branch="bare")
    before = tree(Path(bench.file_io.root))
    with pytest.raises(Refused) as caught:
        bench.call("fast_forward", branch="bare")
    assert caught.value.kind == "NO_COMMON_HISTORY"
    assert tree(Path(bench.file_io.root)) == before


def test_force_from_an_unrelated_branch_keeps_everything_on_the_rescue(bench: BranchBench) -> None:
    bench.branch("bare", empty=True)
    bench.append("z", branch="bare")
    bench.call("fast_forward", branch="bare", force=True)
    assert bench.live_names() == {"data-z.parquet"}
    assert bench.table().snapshots.ids() == (1,)
    assert bench.live_names("rescue-op") == {"data-a.parquet", "data-b.parquet"}
    assert bench.table("rescue-op").snapshots.ids() == (1, 2)


def test_nothing_to_do_changes_nothing_and_says_so(bench: BranchBench) -> None:
    bench.call("fast_forward", operation="first", branch="dev")
    before = tree(Path(bench.file_io.root))
    receipt = bench.call("fast_forward", operation="second", branch="dev")
    assert receipt.moves == ()
    assert "already contains 'dev'" in receipt.notes[0]
    assert tree(Path(bench.file_io.root)) == before


def test_a_repeated_click_does_the_work_once(bench: BranchBench) -> None:
    first = bench.call("fast_forward", branch="dev")
    before = tree(Path(bench.file_io.root))
    assert bench.call("fast_forward", branch="dev") == first
    assert tree(Path(bench.file_io.root)) == before


def test_a_branch_can_be_brought_up_to_main(bench: BranchBench) -> None:
    bench.branch("old", snapshot=1)
    bench.call("fast_forward", branch="main", target="old")
    assert bench.table("old").snapshots.ids() == (1, 2)


def test_broken_data_files_refuse_it(bench: BranchBench) -> None:
    problems = pa.table(
        {"path": ["/x/data-c.parquet"], "problem": ["The file is missing."]}, schema=FILE_PROBLEMS
    )
    before = tree(Path(bench.file_io.root))
    with pytest.raises(Refused, match=r"data-c\.parquet: The file is missing\.") as caught:
        bench.call("fast_forward", branch="dev", rows=TrustingRows(problems))
    assert caught.value.kind == "FILES_MISSING"
    assert tree(Path(bench.file_io.root)) == before


@pytest.mark.parametrize(
    ("sides", "error"),
    [
        ({"branch": "dev", "target": "dev"}, InvalidInput),
        ({"branch": "nope"}, NotFound),
        ({"branch": "dev", "target": "nope"}, NotFound),
        ({}, InvalidInput),
    ],
)
def test_sides_that_cannot_be(
    bench: BranchBench, sides: dict[str, str], error: type[Exception]
) -> None:
    with pytest.raises(error):
        bench.call("fast_forward", **sides)


def test_a_broken_consumer_is_in_the_way_only_where_something_leaves(bench: BranchBench) -> None:
    folder = Path(bench.table().paths.consumer_dir)
    folder.mkdir()
    (folder / "consumer-flink").write_bytes(b"{")
    bench.call("fast_forward", branch="dev")
    assert bench.table().snapshots.latest_id() == 4
    bench.append("ours")
    bench.append("theirs", branch="dev")
    with pytest.raises(FormatError, match="consumer-flink"):
        bench.call("fast_forward", operation="forced", branch="dev", force=True)
    assert bench.table().snapshots.latest_id() == 5


def test_a_read_only_warehouse_is_not_written(bench: BranchBench) -> None:
    warehouse = bench.warehouse()
    closed = type(warehouse).open(bench.file_io.root, read_only=True)
    with pytest.raises(NotAllowed, match="for reading only"):
        closed.check_writable()
    assert preview_fast_forward(closed, bench.identifier, "dev").can_run


def test_a_base_tag_of_a_branch_that_is_gone_is_not_in_the_way(bench: BranchBench) -> None:
    bench.branch("again")
    bench.call("drop_branch", operation="drop", branch="again")
    bench.call("fast_forward", branch="dev")
    bench.call("create_branch", operation="anew", branch="again", from_branch="dev")
    bench.append("e", branch="again")
    bench.call("fast_forward", operation="further", branch="again")
    tags = bench.table().tags
    assert tags.get("branch-base-again").snapshot.id == 2
    assert tags.get("branch-base-again-2").snapshot.id == 4


@pytest.fixture
def cut_back(tmp_path: Path) -> BranchBench:
    """Main was cut back behind the fork of dev, whose base tag stays on it."""
    bench = BranchBench(tmp_path)
    for name in ("a", "b", "c"):
        bench.append(name)
    bench.branch("dev")
    run(bench, "rollback", "cut", snapshot=2, cut=True)
    assert "branch-base-dev" in bench.table().tags.names()
    return bench


@pytest.mark.parametrize(
    ("is_rescued", "reason"), [(True, "since the shared snapshot 2"), (False, "share no snapshot")]
)
def test_a_branch_is_not_moved_to_where_its_fork_was_taken_back(
    cut_back: BranchBench, is_rescued: bool, reason: str
) -> None:
    """Its rows would go without a word: what main is now does not build on them."""
    for name in ("x", "y"):
        cut_back.append(name, user="etl")
    if not is_rescued:
        shutil.rmtree(cut_back.table("rescue-cut").paths.root)
    before = tree(Path(cut_back.file_io.root))
    for heads in ({"branch": "main", "target": "dev"}, {"branch": "dev"}):
        with pytest.raises(Refused, match=reason):
            cut_back.call("fast_forward", **heads)
    assert tree(Path(cut_back.file_io.root)) == before


def test_what_was_cut_off_is_not_said_to_be_held(cut_back: BranchBench) -> None:
    """Nothing tells what the fork built on once the rescue branch is gone; its tag does not."""
    shutil.rmtree(cut_back.table("rescue-cut").paths.root)
    before = tree(Path(cut_back.file_io.root))
    for heads in ({"branch": "main", "target": "dev"}, {"branch": "dev"}):
        with pytest.raises(Refused, match="share no snapshot"):
            cut_back.call("fast_forward", **heads)
    assert tree(Path(cut_back.file_io.root)) == before


def test_what_was_cut_off_comes_back_with_a_branch_that_builds_on_it(
    cut_back: BranchBench,
) -> None:
    """The rescue branch tells that the fork builds on what main was cut back to."""
    [note] = cut_back.call("fast_forward", branch="main", target="dev").notes
    assert "'dev' already contains 'main'" in note
    cut_back.call("fast_forward", branch="dev")
    assert cut_back.table().snapshots.ids() == (1, 2, 3)
    assert cut_back.live_names() == cut_back.live_names("dev")


def run_counted(bench: BranchBench, folder: Path, procedure: str) -> Receipt:
    """Bring main to dev where the rows by which both differ are counted, and kept in a folder."""
    counts = KeptCounts(folder=folder)
    warehouse = replace(bench.warehouse(), counted=counts)
    diff = compare_states(warehouse, bench.identifier, "main", "dev")
    counts.keep(
        count_name(bench.identifier, diff),
        RowCounts(before=10, after=12, added=3, removed=1, changed=4),
    )
    call = ProcedureCall(
        name=procedure, arguments={"table": "db.t", "branch": "dev"}, actor="ann",
        operation_id="op", role="operator",
    )  # fmt: skip
    return run_call(warehouse, TrustingRows(), call, InlineStages())


@pytest.mark.parametrize("procedure", ["fast_forward", "merge_branch"])
def test_the_receipt_keeps_the_rows_that_were_counted_before(
    tmp_path: Path, procedure: str
) -> None:
    bench = BranchBench(tmp_path / "table", primary_keys=["id"], options={"bucket": "1"})
    bench.append("a")
    bench.branch("dev")
    bench.append("b", branch="dev")
    receipt = run_counted(bench, tmp_path / "counts", procedure)
    assert receipt.counts.rows_before == 10
    assert receipt.counts.rows_after == 12
    assert changed_rows(receipt.counts) == "3 rows added, 1 removed, 4 changed"
    assert Receipt.from_json(receipt.to_json()) == receipt
    # Whoever reads it later has no count at hand any more.
    assert read_receipt(bench.warehouse(), "op") == receipt


def test_the_receipt_takes_no_count_of_a_branch_that_also_reads_another(tmp_path: Path) -> None:
    options = {"bucket": "1", "scan.fallback-branch": "old"}
    bench = BranchBench(tmp_path / "table", primary_keys=["id"], options=options)
    bench.append("a")
    bench.branch("old")
    bench.branch("dev")
    bench.append("b", branch="dev")
    # Since the count, rows may have come to the other branch.
    receipt = run_counted(bench, tmp_path / "counts", "fast_forward")
    assert receipt.counts.snapshots_added == 1
    assert changed_rows(receipt.counts) is None
    assert receipt.counts.rows_after is None


def test_the_receipt_says_nothing_of_rows_that_nobody_counted(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path, primary_keys=["id"], options={"bucket": "1"})
    bench.append("a")
    bench.branch("dev")
    bench.append("b", branch="dev")
    receipt = bench.call("fast_forward", branch="dev")
    assert changed_rows(receipt.counts) is None
    assert "rows_changed" not in receipt.to_json()
