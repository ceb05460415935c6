"""Writers that stall for hours, whose writes somebody takes back or finishes meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from branch_console.commit.rows.row_commit import RowCommit
from branch_console.commit.rows.row_write import RowWrite
from branch_console.errors import CommitConflict, PaimonError
from branch_console.format.journals.rows import WriterProcess
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.recover import recover_table
from tests.support.write_bench import WriteBench
from tests.support.write_child import LocalRowWriter

HOUR = 3_600_000
COLUMNS = {"id": "INT NOT NULL", "day": "STRING NOT NULL"}
ROWS = [(1, "x"), (2, "y"), (3, "x")]


@dataclass
class Stall:
    """A writer on another host, and a clock that both sides see."""

    bench: WriteBench
    now: int = 1_800_000_000_000

    def write(self, *, overwrites: bool = False, has_strays: bool = False) -> RowWrite:
        table = self.bench.create("t", COLUMNS, partition_keys=("day",))
        warehouse = self.bench.warehouse
        writer = RowWrite.begin(
            table,
            warehouse.store,
            operation_id="stalled",
            actor="test",
            statement="INSERT",
            clock=lambda: self.now,
            process=WriterProcess(host="elsewhere", process=1),
        )
        rows = self.bench.typed(table, ROWS)
        prepared = LocalRowWriter(warehouse.file_io).insert(table, rows, write_id=writer.write_id)
        self.commit = RowCommit(
            messages=prepared.messages,
            overwrites=overwrites,
            has_strays=has_strays,
            summary={"rows": prepared.row_count},
        )
        return writer

    def recover(self) -> None:
        """Somebody who holds the writer for dead takes care of what it left."""
        warehouse = self.bench.warehouse
        clocked = Warehouse(
            **{
                name: getattr(warehouse, name)
                for name in warehouse.__dataclass_fields__
                if name != "clock"
            },
            clock=lambda: self.now,
        )
        recover_table(clocked, self.bench.open("t"))

    @property
    def snapshots(self) -> list[int | None]:
        return [each.total_record_count for each in self.bench.open("t").snapshots.walk()]

    @property
    def leftovers(self) -> set[str]:
        return self.bench.files("t") ^ self.bench.named_files("t")

    @property
    def journal(self) -> list[str]:
        folder = self.bench.folder / "db.db" / "t" / "branch-lineage"
        return sorted(path.name for path in folder.glob("*") if path.name[:4] in ("inte", "step"))


@pytest.fixture(autouse=True)
def no_tasks_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("branch_console.commit.rows.row_write._TASKS_END_SECONDS", 0)


@pytest.fixture
def stall(tmp_path: Path) -> Stall:
    return Stall(WriteBench(folder=tmp_path, session=None))  # type: ignore[arg-type]


@pytest.mark.parametrize("overwrites", [False, True], ids=["append", "overwrite"])
def test_whenever_somebody_takes_a_stalled_write_over_it_lands_once_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrites: bool
) -> None:
    ends = set()
    for number in range(100):
        folder = tmp_path / str(number)
        folder.mkdir()
        with monkeypatch.context() as patches:
            stall = Stall(WriteBench(folder=folder, session=None))  # type: ignore[arg-type]
            has_come, stands = _taken_over(stall, patches, number, overwrites)
        assert stall.leftovers == set(), number
        assert stall.snapshots == ([3] if stands else []), number
        stall.recover()
        assert stall.leftovers == set(), number
        assert [name for name in stall.journal if not name.endswith("-result.json")] == [], number
        ends.add(stands)
        if not has_come:
            break
    else:
        pytest.fail("a commit that asks its store a hundred times")
    assert number > 8
    assert ends == {False, True}


def _taken_over(
    stall: Stall, patches: pytest.MonkeyPatch, number: int, overwrites: bool
) -> tuple[bool, bool]:
    """Publish, while somebody recovers before the store is asked for the n-th time."""
    write = stall.write(overwrites=overwrites)
    stall.now += 2 * HOUR
    left = number

    def asking(method: Callable[..., Any]) -> Callable[..., Any]:
        def ask(*arguments: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left == -1:
                stall.recover()
            return method(*arguments, **named)

        return ask

    store = stall.bench.warehouse.store
    for kind, names in (
        (type(store.files), ("exists", "read", "names")),
        (type(store.publisher), ("publish", "publish_in_order")),
    ):
        for name in names:
            patches.setattr(kind, name, asking(getattr(kind, name)))
    try:
        with write.guarded():
            snapshot = write.publish(stall.commit)
    except CommitConflict:
        return True, False
    assert snapshot is not None
    write.finish({"snapshot_id": snapshot.id})
    return left < 0, True


def test_files_that_were_taken_for_orphans_are_not_named(stall: Stall) -> None:
    write = stall.write()
    gone = next((stall.bench.folder / "db.db" / "t").rglob("bucket-*/*"))
    stall.now += 2 * HOUR
    gone.unlink()
    told = f"{gone.name} and perhaps other files"
    with pytest.raises(CommitConflict, match=told) as error, write.guarded():
        write.publish(stall.commit)
    assert "\n" not in error.value.message
    assert (stall.snapshots, stall.leftovers, stall.journal) == ([], set(), [])


def test_what_recovery_would_name_must_be_there_as_well(
    stall: Stall, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = stall.write()

    def die(*_: Any, **__: Any) -> None:
        raise PaimonError("cut off")

    with monkeypatch.context() as patches:
        patches.setattr("branch_console.commit.rows.row_write.land", die)
        with pytest.raises(PaimonError, match="cut off"):
            write.publish(stall.commit)
    next((stall.bench.folder / "db.db" / "t").rglob("bucket-*/*")).unlink()
    stall.now += 2 * HOUR
    stall.recover()
    assert (stall.snapshots, stall.leftovers, stall.journal) == ([], set(), [])


def test_what_landed_is_not_taken_back_where_files_of_it_have_gone_since(stall: Stall) -> None:
    write = stall.write()
    write.publish(stall.commit)
    gone, kept = sorted((stall.bench.folder / "db.db" / "t").rglob("bucket-*/*"))
    gone.unlink()  # as it does once a compaction replaced it and its snapshot expired
    stall.now += 2 * HOUR
    stall.recover()
    assert kept.exists()
    assert (stall.snapshots, stall.journal) == ([3], ["step-stalled-result.json"])


@pytest.mark.parametrize("recovers", [False, True], ids=["lands", "recovers"])
def test_files_of_tasks_that_ran_twice_go(
    stall: Stall, monkeypatch: pytest.MonkeyPatch, recovers: bool
) -> None:
    write = stall.write(has_strays=True)
    for path in list((stall.bench.folder / "db.db" / "t").rglob("bucket-*/*")):
        path.with_name(f"data-{write.write_id}-again-0.parquet").write_bytes(b"cut off")
    if recovers:
        with monkeypatch.context() as patches:
            patches.setattr(
                "branch_console.commit.rows.row_write.remove_unnamed", lambda *_, **__: None
            )
            write.publish(stall.commit)
        assert stall.leftovers
        stall.now += 2 * HOUR
        stall.recover()
    else:
        write.publish(stall.commit)
    assert (stall.snapshots, stall.leftovers) == ([3], set())
