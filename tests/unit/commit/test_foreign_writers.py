"""Writers that rename over a snapshot: seen after the publish, committed again, found later."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from branch_console.commit.base.commit_queue import NoQueue
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.errors import StorageError
from branch_console.format.snapshot import Snapshot
from branch_console.storage.file_publisher import FilePublisher, Published, in_order
from branch_console.table.history_check import find_lost_commits
from tests.support.commit_tables import CommitBench, data_files, message

LATER = 2**62


class Overtaken:
    """A publisher after whose next snapshot somebody else acts, and before the one behind it."""

    def __init__(
        self,
        inner: FilePublisher,
        then: Callable[[], object],
        before_next: Callable[[], object] = lambda: None,
    ) -> None:
        self._inner = inner
        self._acts = [lambda: None, before_next]
        self._then = [then]

    def publish(self, path: str, data: bytes) -> Published:
        is_snapshot = "/snapshot/snapshot-" in path
        if is_snapshot and self._acts:
            self._acts.pop(0)()
        outcome = self._inner.publish(path, data)
        if is_snapshot and self._then:
            self._then.pop()()
        return outcome

    def publish_in_order(
        self, files: list[tuple[str, bytes]], _when_named: object = None
    ) -> list[Published]:
        return in_order(self.publish, files)

    def replace_hint(self, path: str, data: bytes) -> bool:
        return self._inner.replace_hint(path, data)

    def replace(self, path: str, data: bytes) -> bool:
        return self._inner.replace(path, data)


class Renamer:
    """A writer that has looked, and whose finished snapshot waits for its rename."""

    def __init__(self, bench: CommitBench, *names: str) -> None:
        self._bench = bench
        snapshot = bench.append(*names, user="renamer")
        self._path = Path(bench.path) / "snapshot" / f"snapshot-{snapshot.id}"
        self._temporary = self._path.with_name(f".{self._path.name}.{names[0]}.tmp")
        self._path.rename(self._temporary)

    def rename(self) -> None:
        self._temporary.rename(self._path)


@pytest.fixture
def bench(tmp_path: Path) -> CommitBench:
    bench = CommitBench(tmp_path)
    bench.append("first")
    return bench


def commit(
    bench: CommitBench,
    name: str,
    then: Callable[[], object],
    before_next: Callable[[], object] = lambda: None,
    while_waiting: Callable[[], object] = lambda: None,
) -> Snapshot | None:
    def sleep(seconds: float) -> None:
        # Between tries it waits for longer than for renames.
        if seconds < 0.005:
            while_waiting()

    store = replace(bench.store, publisher=Overtaken(bench.store.publisher, then, before_next))
    committer = FileStoreCommit(bench.table(), store, sleep=sleep, queue=NoQueue())
    return committer.commit([message(new_files=data_files([name]))], user="ours", identifier=9)


def names_of(*names: str) -> set[str]:
    return {f"data-{name}.parquet" for name in names}


def test_a_snapshot_that_was_renamed_over_is_committed_again(bench: CommitBench) -> None:
    renamer = Renamer(bench, "theirs")
    snapshot = commit(bench, "ours", renamer.rename)
    assert snapshot is not None
    assert snapshot.id == 3
    assert bench.table().head() == snapshot
    assert bench.live_names() == names_of("first", "theirs", "ours")
    assert find_lost_commits(bench.table(), made_before_millis=LATER).commits == ()


def test_what_others_built_on_meanwhile_is_not_committed_twice(bench: CommitBench) -> None:
    renamer = Renamer(bench, "theirs")

    def build_and_rename() -> None:
        bench.append("next")
        renamer.rename()

    snapshot = commit(bench, "ours", build_and_rename)
    assert snapshot == bench.table().head()
    assert snapshot is not None
    assert snapshot.id == 3
    assert bench.live_names() == names_of("first", "ours", "next")
    # The renamer was told that its commit stands; snapshot 3 passes it by.
    (lost,) = find_lost_commits(bench.table(), made_before_millis=LATER).commits
    assert lost.user == "renamer"
    assert lost.files["file_name"].to_pylist() == ["data-theirs.parquet"]
    assert "Snapshot 2 of renamer took the place of another" in lost.reason


def test_what_was_built_on_it_and_renamed_over_too_does_not_count(bench: CommitBench) -> None:
    theirs = Renamer(bench, "theirs")
    late = []

    def build_and_rename() -> None:
        bench.append("next")
        third = Path(bench.path) / "snapshot" / "snapshot-3"
        built_on_ours = third.rename(third.with_name("elsewhere"))
        theirs.rename()
        late.append(Renamer(bench, "late"))
        built_on_ours.rename(third)

    def rename() -> None:
        if late:
            late.pop().rename()

    snapshot = commit(bench, "ours", build_and_rename, while_waiting=rename)
    assert snapshot is not None
    assert snapshot == bench.table().head()
    assert snapshot.commit_user == "ours"
    assert bench.live_names() == names_of("first", "theirs", "late", "ours")


def test_what_others_built_on_stays_readable_after_tries_that_lost(bench: CommitBench) -> None:
    theirs = Renamer(bench, "theirs")
    built = []

    def build_and_rename() -> None:
        built.append(Renamer(bench, "next"))
        theirs.rename()

    def publish_what_was_built() -> None:
        built.pop().rename()

    snapshot = commit(bench, "ours", build_and_rename, before_next=publish_what_was_built)
    assert snapshot is not None
    assert snapshot == bench.table().head()
    assert snapshot.commit_user == "renamer"
    assert bench.live_names() == names_of("first", "ours", "next")


def test_a_commit_that_stands_by_what_others_built_on_it_is_not_made_again(
    bench: CommitBench,
) -> None:
    theirs = Renamer(bench, "theirs")
    files = [message(new_files=data_files(["ours"]))]
    bench.committer().commit(files, user="ours", identifier=9)
    head = bench.append("next")
    theirs.rename()
    # Its process never heard of it, and asks again.
    again = bench.committer().commit(files, user="ours", identifier=9, seen_id=1)
    assert again == bench.table().head() == head
    assert bench.live_names() == names_of("first", "ours", "next")


def test_a_snapshot_that_cannot_be_read_back_stands(
    bench: CommitBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down() -> None:
        def fail(_: str) -> bytes:
            monkeypatch.undo()
            raise StorageError("no answer")

        monkeypatch.setattr(bench.store.files, "read", fail)

    snapshot = commit(bench, "ours", break_down)
    assert snapshot == bench.table().head()


def test_a_commit_that_no_snapshot_names_is_found_by_its_manifests(bench: CommitBench) -> None:
    one, other = Renamer(bench, "one"), Renamer(bench, "other")
    one.rename()
    other.rename()
    bench.append("next")
    (lost,) = find_lost_commits(bench.table(), made_before_millis=LATER).commits
    assert lost.files["file_name"].to_pylist() == ["data-one.parquet"]
    assert "is in no snapshot" in lost.reason


def test_a_commit_at_work_is_not_called_lost(bench: CommitBench) -> None:
    Renamer(bench, "at work")
    assert find_lost_commits(bench.table(), made_before_millis=0).commits == ()


def test_a_history_whose_manifests_were_merged_is_whole(bench: CommitBench) -> None:
    bench.append("second")
    for number in range(40):
        bench.append(f"many-{number}")
    assert find_lost_commits(bench.table(), made_before_millis=LATER).commits == ()
