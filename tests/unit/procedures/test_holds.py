"""What keeps something of a table is known by kind, owner and end, as is a running read."""

import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from branch_console.commit.base.read_holds import LONGEST_READ_MILLIS, put_hold, read_holds
from branch_console.commit.base.this_process import this_process
from branch_console.commit.schema.schema_commit import change_schema, set_options
from branch_console.diff.expiry.retention import HoldKind
from branch_console.diff.rows.row_diff import RowDiffWork
from branch_console.errors import NotFound
from branch_console.format.journals.read_hold import HeldSnapshot, ReadHold
from branch_console.format.journals.rows import WriterProcess
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.row_engine import Progress, QuerySource
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.maintenance.table_holds import hold_rows, list_holds
from branch_console.procedures.preview import preview_call
from branch_console.procedures.recover import recover_table
from branch_console.procedures.run.running_reads import holding
from branch_console.procedures.statement.query import answer_query
from branch_console.table.fallback_branch import branch_parts
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ReadState
from tests.support.branch_bench import TrustingRows
from tests.support.expiry_bench import AT_ONCE, LATER, ExpiryBench

_DEAD = WriterProcess(host=this_process().host, process=(1 << 22) + 1)


@pytest.fixture
def bench(tmp_path: Path) -> ExpiryBench:
    made = ExpiryBench(tmp_path / "made")
    made.add("a")
    made.branch("dev")
    made.replace("b", branch="dev")
    for name in "cde":
        made.replace(name)
    for name in made.table().tags.names():
        Path(made.table().paths.tag(name)).unlink()
    Path(made.table().paths.snapshot(1)).unlink()  # so that no merge starts from there
    return made


def call(name: str, operation: str = "op", **arguments: Argument) -> ProcedureCall:
    return ProcedureCall(
        name=name,
        arguments={"table": "db.t", **arguments},
        actor="ann",
        operation_id=operation,
        role="operator",
    )


class ExpiringMeanwhile(TrustingRows):
    """Compares rows while somebody expires main and drops dev for good."""

    def __init__(self, bench: ExpiryBench) -> None:
        super().__init__()
        self.bench = bench
        self.notes: list[str] = []
        self.told: list[str] = []

    def compare_states(
        self,
        table: FileStoreTable,
        work: RowDiffWork,
        name: str,
        facts: dict[str, object],
        progress: Progress,
    ) -> dict[object, int]:
        limits = {"retain_max": 1, "options": AT_ONCE, "grace": "0 s"}
        preview = preview_call(
            self.bench.warehouse(clock=lambda: LATER), call("expire_snapshots", **limits)
        )
        self.told = [each.text for each in preview.consequences]
        self.notes += self.bench.expire("meanwhile").notes
        gone = {"branch": "dev", "reclaim": True, "grace": "0 s"}
        self.notes += self.bench.run("drop_branch", "drop", LATER, gone).notes
        assert self.bench.data_names() >= {"b", "d", "e"}
        return {}


def test_what_a_comparison_reads_stays_until_it_ends(bench: ExpiryBench) -> None:
    rows = ExpiringMeanwhile(bench)
    asked = call("compare_states", "reads", a="main@3", b="dev")
    warehouse = bench.warehouse(clock=lambda: LATER)
    run_call(warehouse, rows, asked, InlineStages())  # type: ignore[arg-type]
    assert "Snapshot 2 of 'main' has expired." in rows.notes
    held = "Snapshot 3 of 'main' and later ones stay: operation reads reads snapshot 3 now."
    assert held in rows.told
    assert (
        "Branch 'dev' is gone. No file was removed: operation reads is open and may need some. "
        "They go with the next expiry." in rows.notes
    )
    # Its holds have gone with it, and what waited goes.
    assert read_holds(bench.table(), LATER) == ()
    bench.expire("after")
    assert bench.data_names() == {"e"}
    assert bench.broken() == []


def test_a_dry_run_names_its_holds_with_kind_owner_since_and_until(bench: ExpiryBench) -> None:
    warehouse = bench.warehouse(clock=lambda: LATER)
    table, dev = bench.table(), bench.table("dev")
    third, head = table.snapshots.get(3), dev.head()
    assert head is not None
    with holding(warehouse, call("query", "q-1"), ((table, third), (dev, head))):
        expiry = preview_call(
            warehouse, call("expire_snapshots", retain_max=1, options=AT_ONCE, grace="0 s")
        )
        drop = preview_call(warehouse, call("drop_branch", branch="dev", reclaim=True))
    told = {"kind": "running read", "owner": "q-1", "until_millis": LATER + LONGEST_READ_MILLIS}
    (main_hold,), (dev_hold,) = expiry.to_object()["holds"], drop.to_object()["holds"]
    assert told.items() <= main_hold.items()
    assert told.items() <= dev_hold.items()
    assert (main_hold["branch"], main_hold["since_snapshot"]) == ("main", 3)
    assert (dev_hold["branch"], dev_hold["since_millis"]) == ("dev", LATER)
    stays = "Snapshot 3 of 'main' and later ones stay: operation q-1 reads snapshot 3 now."
    assert stays in [each.text for each in expiry.consequences]
    assert "holds" not in preview_call(warehouse, call("drop_branch", branch="dev")).to_object()


def test_a_read_of_what_has_left_the_branch_is_refused(bench: ExpiryBench) -> None:
    warehouse, table = bench.warehouse(clock=lambda: LATER), bench.table()
    second = table.snapshots.get(2)
    bench.expire(grace="10 min")
    with (
        pytest.raises(NotFound, match=r"Snapshot 2 left branch 'main' of db\.t before it could"),
        holding(warehouse, call("query"), ((table, second),)),
    ):
        pass
    assert read_holds(table, LATER) == ()
    # A tag names it as well.
    bench.run("undo", "back", LATER, {"operation": "expiry"})
    bench.run("create_tag", "tag", LATER, {"tag": "kept", "snapshot": 2})
    bench.expire("again")
    with holding(warehouse, call("query"), ((table, second),)):
        assert len(read_holds(table, LATER)) == 1


@pytest.mark.parametrize(
    ("reader", "now", "holds"),
    [
        (this_process(), LATER + 2 * LONGEST_READ_MILLIS, True),
        (_DEAD, LATER, False),
        (WriterProcess(host="far", process=1), LATER + LONGEST_READ_MILLIS - 1, True),
        (WriterProcess(host="far", process=1), LATER + LONGEST_READ_MILLIS, False),
    ],
)
def test_a_read_holds_while_its_process_is_at_work(
    bench: ExpiryBench, reader: WriterProcess, now: int, holds: bool
) -> None:
    third = bench.table().snapshots.get(3)
    hold = ReadHold(
        operation_id="q-1",
        procedure="query",
        actor="ann",
        reader=reader,
        since_millis=LATER,
        until_millis=LATER + LONGEST_READ_MILLIS,
        snapshots=(HeldSnapshot(branch="main", id=3, identity=third.identity),),
    )
    put_hold(bench.table(), bench.store, hold, "h1")
    torn = Path(bench.table().paths.hold("h2"))
    torn.write_text('{"operationId" : ')
    assert read_holds(bench.table(), now) == ((hold,) if holds else ())
    bench.expire(now=now)
    assert bench.snapshot_ids() == ((3, 4) if holds else (4,))


def test_all_that_keeps_something_is_listed(bench: ExpiryBench) -> None:
    bench.tag("v1")
    bench.branch("new")
    consumers = Path(bench.table("new").paths.consumer_dir)
    (consumers / "consumer-late").write_text('{"nextSnapshot": 4}')
    bench.run("drop_branch", "drop", LATER, {"branch": "dev", "reclaim": True})
    found = list_holds(bench.warehouse(clock=lambda: LATER), bench.table().identifier)
    told = {(each.branch, each.kind, each.owner): each for each in found}
    assert set(told) == {
        ("main", HoldKind.MERGE_BASE, "new"),
        ("main", HoldKind.TAG, "v1"),
        ("main", HoldKind.TAG, "branch-base-new"),
        ("new", HoldKind.TAG, "branch-base-new"),
        ("new", HoldKind.CONSUMER, "late"),
        ("new", HoldKind.MERGE_BASE, "main"),
        ("dev", HoldKind.GRACE, "drop"),
    }
    grace = told["dev", HoldKind.GRACE, "drop"]
    assert (grace.since_millis, grace.until_millis) == (LATER, LATER + 600_000)
    assert told["new", HoldKind.CONSUMER, "late"].since_snapshot == 4
    rows = hold_rows(found)
    assert rows.num_rows == len(found)
    assert rows["until"].null_count == rows.num_rows - 1


def test_a_crash_leaves_no_hold_that_counts(bench: ExpiryBench, tmp_path: Path) -> None:
    """Whoever looks into a copy of the warehouse later finds holds of a process that is gone."""
    table = bench.table()
    with holding(bench.warehouse(), call("query"), ((table, table.snapshots.get(3)),)):
        copy = ExpiryBench(shutil.copytree(bench.root, tmp_path / "copy"))
    (name,) = Path(copy.table().paths.lineage_dir).glob("hold-*.json")
    text = name.read_text().replace(f'"process" : {this_process().process}', '"process" : 4194305')
    name.write_text(text)
    copy.expire()
    assert copy.snapshot_ids() == (4,)


def test_an_operation_that_runs_again_takes_its_own_hold_along(bench: ExpiryBench) -> None:
    warehouse, table = bench.warehouse(clock=lambda: LATER), bench.table()
    read = (table, table.snapshots.get(3))
    with holding(warehouse, call("query", "q-1"), (read,)):
        (left,) = read_holds(table, LATER)
        with holding(warehouse, call("query", "q-2"), (read,)):
            assert len(read_holds(table, LATER)) == 2
        with holding(warehouse, call("query", "q-1"), (read,)):
            assert read_holds(table, LATER) == (left,)
        assert read_holds(table, LATER) == ()


def test_recovery_removes_holds_of_processes_that_are_gone(bench: ExpiryBench) -> None:
    table, warehouse = bench.table(), bench.warehouse(clock=lambda: LATER)
    with holding(warehouse, call("query", "q-1"), ((table, table.snapshots.get(3)),)):
        (kept,) = read_holds(table, LATER)
        put_hold(table, bench.store, replace(kept, operation_id="q-2", reader=_DEAD), "dead")
        recover_table(warehouse, table)
        (name,) = Path(table.paths.lineage_dir).glob("hold-*.json")
        assert "q-1" in name.read_text()


class QueryingMeanwhile(TrustingRows):
    """Answers a query while the branch that is read along moves on and expires."""

    def __init__(self, bench: ExpiryBench) -> None:
        super().__init__()
        self.bench = bench
        self.held: set[tuple[str, int]] = set()
        self.most_rows = 100

    def query(
        self,
        sql: str,
        contents: dict[str, QuerySource],
        limit: int,
        progress: Progress,
        *,
        keeps_times: bool = False,
    ) -> tuple[pa.Table, str]:
        answer = pa.table({"n": [0], "total": [1]})
        if self.held:
            return answer, ""
        ((state, _),) = (each for each in contents.values() if not isinstance(each, pa.Table))
        assert isinstance(state, ReadState)
        (hold,) = read_holds(self.bench.table(), LATER)
        self.held = {(each.branch, each.id) for each in hold.snapshots}
        self.bench.replace("new", branch="dev")
        self.bench.replace("newer", branch="dev")
        self.bench.expire("meanwhile", branch="dev")
        # What is read is what is held, whatever the other branch has become.
        parts = branch_parts(state)
        assert parts is not None
        assert {
            (each.state.table.branch, each.state.snapshot.id)
            for each in parts
            if each.state.snapshot is not None
        } == self.held
        assert self.bench.data_names() >= {"b", "e", "newer"}
        return answer, ""

    def keep(self, *_: object) -> None: ...


@pytest.mark.parametrize("option", ["scan.fallback-branch", "scan.primary-branch"])
def test_a_query_holds_the_branch_that_is_read_along(bench: ExpiryBench, option: str) -> None:
    change_schema(bench.table(), bench.store, [set_options({option: "dev"})], now_millis=LATER)
    rows = QueryingMeanwhile(bench)
    asked = ProcedureCall(
        name="query",
        arguments={"sql": "SELECT * FROM db.t"},
        actor="ann",
        operation_id="q-1",
        role="viewer",
    )
    answer_query(bench.warehouse(clock=lambda: LATER), rows, asked, lambda *_: None)  # type: ignore[arg-type]
    assert rows.held == {("main", 4), ("dev", 2)}
    assert read_holds(bench.table(), LATER) == ()
    bench.expire("after", branch="dev")
    assert bench.data_names() & {"b", "new", "newer"} == {"newer"}


def test_rules_hold_all_branches_that_they_are_asked_about(bench: ExpiryBench) -> None:
    option = {"scan.fallback-branch": "dev"}
    change_schema(bench.table(), bench.store, [set_options(option)], now_millis=LATER)
    rows = QueryingMeanwhile(bench)
    rules = "table: db.t\nrules:\n  - {id: all, rule: sql, query: 'SELECT * FROM {table}'}\n"
    asked = call("check_rules", "judges", rules=rules)
    run_call(bench.warehouse(clock=lambda: LATER), rows, asked, InlineStages())  # type: ignore[arg-type]
    assert rows.held == {("main", 4), ("dev", 2)}
    assert read_holds(bench.table(), LATER) == ()
