"""Writes that fail, are cut off, or meet another: nothing is shown by halves, nothing is left."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from branch_console.commit.journal import Journal
from branch_console.commit.rows.row_commit import PreparedRows
from branch_console.errors import CommitConflict, ErrorKind, PaimonError, StorageError
from branch_console.format.journals.intent import Ending
from branch_console.format.snapshot import CommitKind
from branch_console.procedures.kept_receipts import read_receipt
from branch_console.procedures.recover import recover_table
from branch_console.procedures.statement.write_rows import Written, delete_rows, insert_rows
from branch_console.spark.session.session import WarmSession
from branch_console.spark.write.row_writer import SparkRowWriter
from tests.support.write_bench import WriteBench
from tests.support.write_child import OPERATION, LocalRowWriter
from tests.support.write_contest import count_up, counted, make_counter

pytestmark = pytest.mark.depth("full")

_COLUMNS = {"id": "INT NOT NULL", "name": "STRING", "day": "STRING NOT NULL"}
_KEYED = {"primary_keys": ("id", "day"), "options": {"bucket": "2"}}
_ROWS = [(1, "a", "x"), (2, "b", "y"), (3, "c", "x")]


@pytest.fixture
def bench(session: WarmSession, tmp_path: Path) -> WriteBench:
    return WriteBench(folder=tmp_path, session=session)


def kill_a_write(bench: WriteBench, place: str, engine: str = "here") -> None:
    run = subprocess.run(
        [
            *(sys.executable, "-m", "tests.support.write_child"),
            *(str(bench.folder), "db.t", place, engine),
        ],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == -signal.SIGKILL, run.stderr.decode()[-3000:]


def leftovers(bench: WriteBench) -> set[str]:
    return bench.files("t") - bench.named_files("t")


@pytest.mark.parametrize(
    ("place", "engine", "ending"),
    [
        ("files", "here", Ending.ROLLED_BACK),
        ("entry", "here", Ending.DONE),
        ("snapshot", "here", Ending.DONE),
        ("tasks", "spark", Ending.ROLLED_BACK),
    ],
)
def test_recovery_ends_what_a_kill_cut_off(
    bench: WriteBench,
    place: str,
    engine: str,
    ending: Ending,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if engine == "here":  # there are no tasks whose last files might come
        monkeypatch.setattr("branch_console.commit.rows.row_write._TASKS_END_SECONDS", 0)
    table = bench.create("t", _COLUMNS, partition_keys=("day",), **_KEYED)
    kill_a_write(bench, place, engine)
    assert (table.head() is not None) is (place == "snapshot")
    assert bool(leftovers(bench)) is (place != "snapshot")
    (found,) = recover_table(bench.warehouse, bench.open("t"))
    assert (found.operation_id, found.ending, found.error) == (OPERATION, ending, None)
    assert leftovers(bench) == set()
    assert bench.named_files("t") <= bench.files("t")
    assert recover_table(bench.warehouse, bench.open("t")) == ()
    snapshots = list(bench.open("t").snapshots.walk())
    assert len(snapshots) == (ending is Ending.DONE)
    assert sum(each.total_record_count or 0 for each in snapshots) == 3 * len(snapshots)


def test_a_task_whose_worker_is_killed_fails_the_write_and_leaves_nothing(
    bench: WriteBench,
) -> None:
    table = bench.create("t", _COLUMNS, partition_keys=("day",), **_KEYED)
    frame = bench.session.spark.range(40).selectExpr(
        "cast(id as int) id", "'n' name", "concat('d', id % 4) day"
    )
    with pytest.raises(PaimonError, match="crashed") as error:
        bench.insert("t", frame.mapInArrow(_killed_at_the_end, frame.schema))
    assert "\n" not in error.value.message
    assert table.head() is None
    assert leftovers(bench) == set()
    assert Journal(bench.warehouse.store, table.paths).unfinished() == ()


def _killed_at_the_end(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("place", ["files", "entry", "snapshot"])
def test_an_operation_that_was_cut_off_is_made_once(
    bench: WriteBench, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("branch_console.commit.rows.row_write._TASKS_END_SECONDS", 0)
    bench.create("t", _COLUMNS, partition_keys=("day",), **_KEYED)
    kill_a_write(bench, place)
    table = bench.open("t")

    def write() -> Written:
        writer = LocalRowWriter(bench.warehouse.file_io)
        rows, call = bench.typed(table, _ROWS), bench.call(operation_id=OPERATION)
        return insert_rows(bench.warehouse, writer, table, rows, call)

    written = write()
    assert (written.snapshot_id, written.rows) == (1, 3)
    assert leftovers(bench) == set()
    assert bench.named_files("t") <= bench.files("t")
    # A job that lost its answer asks again.
    assert write() == written
    head = table.head()
    assert head is not None
    assert head.id == 1
    receipt = read_receipt(bench.warehouse, OPERATION)
    (move,) = receipt.moves
    assert (move.branch, move.before_id, move.after_id, move.after) == (
        "main",
        None,
        1,
        head.identity,
    )
    assert (receipt.actor, receipt.notes[0][:28]) == ("test", "Rows written or changed: 3. ")


def test_a_write_that_goes_on_is_left_alone(bench: WriteBench) -> None:
    table = bench.create("t", _COLUMNS, **_KEYED)
    entered, leave = threading.Event(), threading.Event()

    class Slow(LocalRowWriter):
        def insert(self, *arguments: Any, **named: Any) -> PreparedRows:
            prepared = super().insert(*arguments, **named)
            entered.set()
            assert leave.wait(60)
            return prepared

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(
            insert_rows,
            bench.warehouse,
            Slow(bench.warehouse.file_io),
            table,
            bench.typed(table, _ROWS),
            bench.call(),
        )
        assert entered.wait(60)
        assert recover_table(bench.warehouse, bench.open("t")) == ()
        leave.set()
        assert running.result().snapshot_id == 1
    assert Journal(bench.warehouse.store, table.paths).unfinished() == ()


def test_a_task_that_fails_takes_the_files_of_the_others_along(bench: WriteBench) -> None:
    table = bench.create("t", _COLUMNS, partition_keys=("day",), **_KEYED)
    # Where the folder of a partition belongs there is a file: only its tasks fail.
    (bench.folder / "db.db" / "t" / "day=y").write_text("in the way")
    with pytest.raises(PaimonError, match="Not a directory"):
        bench.insert("t", [(i, "n", "x" if i % 2 else "y") for i in range(100)])
    assert table.head() is None
    assert leftovers(bench) == set()
    assert Journal(bench.warehouse.store, table.paths).unfinished() == ()


def test_a_write_that_is_cancelled_leaves_nothing(bench: WriteBench) -> None:
    table = bench.create("t", _COLUMNS, **_KEYED)
    frame = bench.session.spark.range(50_000_000).selectExpr(
        "cast(id as int) as id", "sha2(cast(id as string), 512) as name", "'x' as day"
    )

    def stop(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.insert("t", frame, progress=stop)
    assert table.head() is None
    assert leftovers(bench) == set()
    assert Journal(bench.warehouse.store, table.paths).unfinished() == ()


@pytest.mark.parametrize("buckets", ["2", "-1"], ids=["fixed", "dynamic"])
def test_of_two_writers_at_once_both_land_or_one_is_told(bench: WriteBench, buckets: str) -> None:
    table = bench.create("t", _COLUMNS, primary_keys=("id", "day"), options={"bucket": buckets})
    bench.insert("t", _ROWS)
    meet = threading.Barrier(2)

    def write(number: int) -> int | ErrorKind:
        rows = bench.typed(table, [(100 + number, "n", "x"), (1, f"by {number}", "x")])
        writer, call = bench.writer, bench.call()
        meet.wait(60)
        try:
            return insert_rows(bench.warehouse, writer, table, rows, call).snapshot_id or 0
        except CommitConflict as error:
            return error.kind

    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(write, range(2)))
    landed = [end for end in ends if isinstance(end, int) and not isinstance(end, ErrorKind)]
    told = [end for end in ends if isinstance(end, ErrorKind)]
    assert landed, ends
    assert buckets == "-1" or len(landed) == 2, ends
    assert set(told) <= {ErrorKind.HEAD_MOVED}
    assert len(list(table.snapshots.walk())) == 1 + len(landed)
    assert leftovers(bench) == set()


@pytest.mark.parametrize("times", [1, 9])
def test_a_change_of_a_file_that_was_compacted_away_is_made_anew_or_conflicts_by_name(
    bench: WriteBench, times: int
) -> None:
    table = bench.create("t", _COLUMNS)
    bench.insert("t", _ROWS)
    compactions = 0

    class Meanwhile(SparkRowWriter):
        def delete(self, *arguments: Any, **named: Any) -> PreparedRows:
            nonlocal compactions
            prepared = super().delete(*arguments, **named)
            if compactions < times:
                compactions += 1
                bench.insert("t", [(4, "d", "x")])
                bench.compact("t")
            return prepared

    def delete() -> Written:
        writer = Meanwhile(lambda: bench.session, bench.warehouse.file_io)
        return delete_rows(bench.warehouse, writer, table, "id = 1", bench.call())

    if times == 1:
        assert delete().rows == 1
    else:
        with pytest.raises(CommitConflict, match="not live") as caught:
            delete()
        assert caught.value.kind is ErrorKind.COMMIT_CONFLICT
        assert compactions == 3
        head = table.head()
        assert head is not None
        assert (head.id, head.commit_kind) == (7, CommitKind.COMPACT)
    assert leftovers(bench) == set()


@pytest.mark.parametrize(
    "table", [{"primary_keys": ("id",), "options": {"bucket": "1"}}, {}], ids=["by key", "by file"]
)
def test_of_changes_of_one_row_at_once_none_is_lost(
    bench: WriteBench, table: dict[str, Any]
) -> None:
    make_counter(bench, **table)
    meet = threading.Barrier(2)

    def write(_: int) -> Mapping[str, int]:
        meet.wait(60)
        return count_up(bench, 3)

    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(write, range(2)))
    assert all(each["landed"] + each["told"] == 3 for each in ends)
    assert counted(bench) == sum(each["landed"] for each in ends) > 0


def test_rows_that_stand_are_told_so_though_that_cannot_be_noted(
    bench: WriteBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.create("t", _COLUMNS, partition_keys=("day",), **_KEYED)
    mark, call = Journal.mark, bench.call(operation_id="once")

    def insert() -> Written:
        table = bench.open("t")
        rows = bench.typed(table, _ROWS)
        return insert_rows(bench.warehouse, bench.writer, table, rows, call)

    def full(self: Journal, operation_id: str, step: str, content: bytes = b"{}") -> bytes:
        if step == "result":
            raise StorageError("The disk is full. Nothing was published.")
        return mark(self, operation_id, step, content)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "mark", full)
        first = insert()
    again = insert()
    assert (first.snapshot_id, again.snapshot_id, again.rows) == (1, 1, len(_ROWS))
    bench.expect("t", _ROWS)
