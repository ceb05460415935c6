"""C02, C03, C18: one writer wins, nothing is overwritten, and not knowing is an outcome."""

import os
import threading
from collections.abc import Callable
from multiprocessing.pool import ThreadPool
from pathlib import Path

import pytest

from branch_console.errors import InvalidInput, NotAllowed, StorageError
from branch_console.storage.file_io import FileIO
from branch_console.storage.file_publisher import (
    ExclusiveCreatePublisher,
    Published,
    RefusingPublisher,
)
from branch_console.storage.local_publisher import LocalPublisher
from branch_console.storage.publishers import publisher_for
from branch_console.storage.store_probe import probe
from tests.support.publish_race import publish_all, racing_processes


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> FileIO:
    return FileIO.for_url(str(tmp_path) if request.param == "local" else f"memory://{tmp_path}")


def test_the_first_publish_wins_and_the_second_changes_nothing(store: FileIO) -> None:
    publisher = publisher_for(store)
    path = f"{store.root}/t/snapshot/snapshot-1"
    assert publisher.publish(path, b"first") is Published.WON
    before = store.status(path)
    assert publisher.publish(path, b"second") is Published.LOST
    assert store.read(path) == b"first"
    assert store.status(path) == before
    assert [each.name for each in store.list(f"{store.root}/t/snapshot")] == ["snapshot-1"]


def test_files_are_published_in_order_up_to_the_first_that_is_taken(store: FileIO) -> None:
    publisher = publisher_for(store)
    names = [f"{store.root}/s/snapshot-{number}" for number in range(1, 6)]
    assert publisher.publish(names[2], b"theirs") is Published.WON
    outcomes = publisher.publish_in_order([(name, b"ours") for name in names])
    assert outcomes == [Published.WON, Published.WON, Published.LOST]
    assert [store.exists(name) for name in names] == [True, True, True, False, False]
    assert store.read(names[2]) == b"theirs"


def test_a_hint_is_replaced(store: FileIO) -> None:
    publisher = publisher_for(store)
    path = f"{store.root}/LATEST"
    assert publisher.replace_hint(path, b"1")
    assert publisher.replace_hint(path, b"2")
    assert store.read(path) == b"2"


def test_a_hint_is_read_whole_or_is_not_there_while_it_is_replaced(tmp_path: Path) -> None:
    store = FileIO.for_url(str(tmp_path))
    publisher, path = publisher_for(store), f"{tmp_path}/LATEST"
    told = (b"9" * 40, b"1" * 41)
    done = threading.Event()

    def replace() -> None:
        for number in range(2_000):
            assert publisher.replace_hint(path, told[number % 2])
        done.set()

    writer = threading.Thread(target=replace)
    writer.start()
    seen = {store.find(path)}
    while not done.is_set():
        seen.add(store.find(path))
    writer.join()
    assert seen <= {None, *told}
    assert [each.name for each in tmp_path.iterdir()] == ["LATEST"]


def test_a_hint_that_cannot_be_written_is_no_harm(tmp_path: Path) -> None:
    publisher = publisher_for(FileIO.for_url(str(tmp_path)))
    assert not publisher.replace_hint(f"{tmp_path}/gone/LATEST", b"1")


def test_a_path_outside_the_warehouse_is_refused(store: FileIO, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        publisher_for(store).publish(f"{tmp_path}-other/x", b"")


def test_of_many_threads_one_wins(store: FileIO) -> None:
    publisher = publisher_for(store)
    start = threading.Barrier(8)

    def race(number: int) -> list[Published]:
        start.wait()
        return [
            publisher.publish(f"{store.root}/snapshot-{round_}", b"%d" % number)
            for round_ in range(25)
        ]

    with ThreadPool(8) as pool:
        outcomes = pool.map(race, range(8))
    for results in zip(*outcomes, strict=True):
        assert sorted(results) == [Published.LOST] * 7 + [Published.WON]


def test_of_many_processes_one_wins_and_the_file_is_its(tmp_path: Path) -> None:
    rounds, processes = 30, 4
    with racing_processes().Pool(processes) as pool:
        jobs = [(str(tmp_path), number, rounds) for number in range(processes)]
        outcomes = pool.starmap(publish_all, jobs)
    for round_ in range(rounds):
        winners = [number for number in range(processes) if outcomes[number][round_] == "WON"]
        assert len(winners) == 1
        assert (tmp_path / f"snapshot-{round_}").read_bytes() == b"%d" % winners[0]
    assert len(list(tmp_path.iterdir())) == rounds


def _failing(
    error: OSError, *, link_first: bool, occupy: bool = False
) -> Callable[[str, str], None]:
    def link(source: str, target: str) -> None:
        if link_first:
            os.link(source, target)
        if occupy:
            Path(target).write_bytes(b"theirs")
        raise error

    return link


def test_a_link_that_worked_but_reported_failure_has_won(tmp_path: Path) -> None:
    # A network file system may repeat a request whose answer was lost, and meet its own file.
    store = FileIO.for_url(str(tmp_path))
    for error in (FileExistsError(), OSError("timed out")):
        publisher = LocalPublisher(store, link=_failing(error, link_first=True))
        path = f"{store.root}/{type(error).__name__}"
        assert publisher.publish(path, b"x") is Published.WON
        assert store.read(path) == b"x"


def test_a_link_that_failed_while_another_file_appeared_is_unknown(tmp_path: Path) -> None:
    store = FileIO.for_url(str(tmp_path))
    link = _failing(OSError("timed out"), link_first=False, occupy=True)
    assert LocalPublisher(store, link=link).publish(f"{store.root}/x", b"x") is Published.UNKNOWN
    assert store.read(f"{store.root}/x") == b"theirs"


def test_a_file_system_without_links_is_named_as_unsafe(tmp_path: Path) -> None:
    store = FileIO.for_url(str(tmp_path))
    publisher = LocalPublisher(store, link=_failing(OSError("not supported"), link_first=False))
    with pytest.raises(StorageError, match="refuses links"):
        publisher.publish(f"{store.root}/x", b"x")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_publishes_nothing(tmp_path: Path) -> None:
    store = FileIO.for_url(str(tmp_path))
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="Nothing was published"):
        publisher_for(store).publish(f"{store.root}/file/x", b"x")


def test_a_store_that_answers_with_an_error_leaves_the_outcome_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = FileIO.for_url("memory://unknown")

    def fail(*_: object) -> None:
        raise TimeoutError("503 slow down")

    monkeypatch.setattr(store, "create", fail)
    publisher = ExclusiveCreatePublisher(store)
    outcomes = publisher.publish_in_order([(f"{store.root}/1", b""), (f"{store.root}/2", b"")])
    assert outcomes == [Published.UNKNOWN]


def test_a_store_without_exclusive_create_is_read_only() -> None:
    publisher = RefusingPublisher("it may overwrite.")
    with pytest.raises(NotAllowed, match="it may overwrite"):
        publisher.publish("/x", b"")
    assert publisher.publish_in_order([]) == []
    assert not publisher.replace_hint("/x", b"")


def test_the_probe_accepts_a_store_that_keeps_the_first_file(store: FileIO) -> None:
    store.create(f"{store.root}/x", b"")
    assert probe(store, publisher_for(store), store.root).can_write
    assert [each.name for each in store.list(store.root)] == ["x"]


class OverwritingPublisher(LocalPublisher):
    """The promise that the probe must not believe: it overwrites and says that it won."""

    def publish(self, path: str, data: bytes) -> Published:
        self._file_io.replace(path, data)
        return Published.WON


def test_the_probe_refuses_a_store_that_overwrites(tmp_path: Path) -> None:
    # C26
    store = FileIO.for_url(str(tmp_path))
    verdict = probe(store, OverwritingPublisher(store), store.root)
    assert not verdict.can_write
    assert verdict.reason is not None
    assert "Commits would be lost" in verdict.reason
    assert list(tmp_path.iterdir()) == []


def test_the_probe_tells_of_a_missing_folder_and_of_a_refusing_store(tmp_path: Path) -> None:
    store = FileIO.for_url(str(tmp_path / "none"))
    assert "There is no folder" in str(probe(store, publisher_for(store), store.root).reason)
    store = FileIO.for_url(str(tmp_path))
    verdict = probe(store, RefusingPublisher("no conditional writes."), store.root)
    assert "no conditional writes" in str(verdict.reason)
