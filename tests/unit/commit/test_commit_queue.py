"""Processes of one machine take turns, and none is passed over again and again."""

import fcntl
import os
import threading
import time
from pathlib import Path

import pytest

from branch_console.commit.base.commit_queue import DirectoryQueue, queue_of
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.format.snapshot import Snapshot
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable
from tests.support.commit_tables import CommitBench, data_files, message


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    turn, gate = tmp_path / "turn", tmp_path / "gate"
    turn.mkdir()
    gate.mkdir()
    return turn, gate


def test_one_has_its_turn_at_a_time(folders: tuple[Path, Path]) -> None:
    inside, most = 0, 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal inside, most
        for _ in range(20):
            with DirectoryQueue(*folders).turn():
                with lock:
                    inside += 1
                    most = max(most, inside)
                with lock:
                    inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert most == 1


def test_who_waits_at_the_gate_goes_before_who_was_just_in(folders: tuple[Path, Path]) -> None:
    order: list[str] = []

    def wait_for_turn() -> None:
        with DirectoryQueue(*folders).turn():
            order.append("waiting")

    first = DirectoryQueue(*folders)
    with first.turn():
        waiting = threading.Thread(target=wait_for_turn)
        waiting.start()
        while not _is_locked(folders[1]):
            time.sleep(0.001)
    with first.turn():
        order.append("again")
    waiting.join()
    assert order == ["waiting", "again"]


def test_a_commit_waits_for_the_disk_after_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = CommitBench(tmp_path / "wh")
    waited: list[float] = []
    real = os.fsync

    def add(name: str) -> Snapshot | None:
        files = [message(new_files=data_files([name], total_buckets=-1), total_buckets=-1)]
        committer = FileStoreCommit(bench.table(), bench.store, sleep=waited.append)
        return committer.commit(files, user=name)

    def fsync(descriptor: int) -> None:
        real(descriptor)
        if Path(f"/proc/self/fd/{descriptor}").readlink().name == "snapshot":
            monkeypatch.setattr(os, "fsync", real)
            second = add("second")
            assert second is not None
            assert second.id == 2

    monkeypatch.setattr(os, "fsync", fsync)
    first = add("first")
    assert first is not None
    assert first.id == 1
    assert waited == []
    assert bench.table().snapshots.latest_id() == 2


def test_a_holder_that_is_stopped_stops_nobody_for_ever(folders: tuple[Path, Path]) -> None:
    turn, gate = folders
    holder = os.open(turn, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    began = []
    with DirectoryQueue(*folders, longest_wait_seconds=0.05).turn():
        began.append("without a turn")
    os.close(holder)
    assert began
    # Who gave up waiting keeps the turn from nobody.
    while _is_locked(turn):
        time.sleep(0.001)
    assert not _is_locked(gate)


def test_folders_that_are_not_there_are_not_waited_for(tmp_path: Path) -> None:
    with DirectoryQueue(tmp_path / "none", tmp_path / "no gate").turn():
        pass


def test_a_store_far_away_has_its_queue_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    near = CommitBench(tmp_path / "wh")
    far = FileIO.for_url(f"memory://{tmp_path}/far")
    far.create(f"{far.root}/t/schema/schema-0", near.file_io.read(f"{near.path}/schema/schema-0"))
    table = FileStoreTable.open(far, f"{far.root}/t", near.identifier)
    with queue_of(table).turn():
        (place,) = (tmp_path / f"branch-console-queues-{os.getuid()}").iterdir()
        assert _is_locked(place / "turn")


def _is_locked(folder: Path) -> bool:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
