"""Statements about commits that take more than one try, one reader or one writer to see."""

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from branch_console.commit.base.commit_queue import NoQueue
from branch_console.commit.snapshot.commit_identity import snapshots_after
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.commit.snapshot.live_file_tracker import LiveFileTracker
from branch_console.errors import CommitConflict, InvalidInput, NotFound, StorageError
from branch_console.format.data_types import INT
from branch_console.format.snapshot import Snapshot
from branch_console.format.values.binary_row import encode_row
from branch_console.storage.file_io import FileReader
from branch_console.storage.file_publisher import FilePublisher, Published, in_order
from branch_console.table.file_store_table import FileStoreTable
from tests.support.commit_tables import CommitBench, data_files, message
from tests.support.faulty_store import Fault, FaultyStore, What

Answer = Callable[[str, bytes], Published]


class Meddled:
    """A publisher whose first publishes of a snapshot are answered otherwise."""

    def __init__(self, inner: FilePublisher, *answers: Answer) -> None:
        self._inner = inner
        self._answers = list(answers)

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def publish(self, path: str, data: bytes) -> Published:
        if "/snapshot/snapshot-" in path and self._answers:
            return self._answers.pop(0)(path, data)
        return self._inner.publish(path, data)

    def publish_in_order(
        self, files: list[tuple[str, bytes]], _when_named: object = None
    ) -> list[Published]:
        return in_order(self.publish, files)


def meddled(bench: CommitBench, *answers: Answer, **more: object) -> FileStoreCommit:
    store = replace(bench.store, publisher=Meddled(bench.store.publisher, *answers))  # type: ignore[arg-type]
    given = {"sleep": lambda _: None, "queue": NoQueue(), **more}
    return FileStoreCommit(bench.table(), store, **given)  # type: ignore[arg-type]


def new(name: str) -> list[object]:
    return [message(total_buckets=-1, new_files=data_files([name], total_buckets=-1))]


def loses(path: str, data: bytes) -> Published:
    return Published.LOST


def test_c03_a_snapshot_file_never_changes(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    bench.append("a")
    path = Path(bench.table().paths.snapshot(1))
    before = path.stat().st_ino, path.read_bytes()
    assert bench.store.publisher.publish(str(path), b"another") is Published.LOST
    bench.append("b")
    bench.committer().restore(bench.table().snapshots.get(1), user="x")
    assert (path.stat().st_ino, path.read_bytes()) == before


class CountingReader:
    """A reader that notes which files were read."""

    def __init__(self, inner: FileReader) -> None:
        self._inner = inner
        self.read_paths: list[str] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def read(self, path: str) -> bytes:
        self.read_paths.append(path)
        return self._inner.read(path)

    def find(self, path: str) -> bytes | None:
        self.read_paths.append(path)
        return self._inner.find(path)

    def native_path(self, path: str) -> str:
        self.read_paths.append(path)
        return self._inner.native_path(path)

    def native_file(self, path: str) -> str:
        self.read_paths.append(path)
        return self._inner.native_file(path)

    def path_of(self, location: str) -> str:
        return self._inner.path_of(location)

    def manifests(self) -> Collection[str]:
        names = {path.rsplit("/", 1)[-1] for path in self.read_paths}
        return {name for name in names if name.startswith("manifest-") and "list" not in name}


@pytest.mark.parametrize("foreign", [1, 3, 7])
def test_c12_the_incremental_view_is_the_full_one_and_reads_only_what_is_new(
    tmp_path: Path, rng: Random, foreign: int
) -> None:
    bench = CommitBench(tmp_path, partition_keys=["pt"])
    partitions = [encode_row([value], [INT]) for value in range(2)]
    live: dict[str, bytes] = {}

    def step(number: int, *, deletes: bool) -> Snapshot:
        partition = rng.choice(partitions)
        name = f"f{number}"
        messages = [message(partition, -1, -1, new_files=files(name, partition))]
        if deletes and live:
            gone = rng.choice(sorted(live))
            old = files(gone, live[gone])
            messages = [
                message(
                    live.pop(gone), -1, -1, compact_before=old,
                    compact_after=files(name, partition),
                )
            ]  # fmt: skip
        live[name] = partition
        head = bench.committer().commit(messages, user="x", identifier=number)
        assert head is not None
        return head

    for number in range(5):
        seen = step(number, deletes=False)
    reader = CountingReader(bench.store.files)
    table = FileStoreTable.open(reader, bench.path, bench.identifier)  # type: ignore[arg-type]
    view = LiveFileTracker(table, frozenset(partitions[:1]))
    view.at(seen)
    for number in range(foreign):
        head = step(10 + number, deletes=rng.random() < 0.5)
    reader.read_paths.clear()
    found = view.at(head)
    full = bench.table().live_files(head, partitions=partitions[:1])
    assert sorted(found["identity"].to_pylist()) == sorted(full["identity"].to_pylist())
    between = [bench.table().snapshots.get(each) for each in range(seen.id + 1, head.id + 1)]
    fresh: set[str] = set()
    for snapshot in between:
        lists = bench.table().scan.read_list(bench.table().paths, snapshot.delta_manifest_list)
        fresh |= set(lists["file_name"].to_pylist())
    assert set(reader.manifests()) <= fresh


def files(name: str, partition: bytes) -> object:
    return data_files([name], partition=partition, total_buckets=-1)


def test_c12_an_overwrite_in_between_is_read_in_full(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    seen = bench.append("a", "b")
    view = LiveFileTracker(bench.table(), None)
    view.at(seen)
    bench.committer().overwrite(new("c"), user="x")
    head = bench.append("d")
    names = view.at(head)["file_name"].to_pylist()
    assert sorted(names) == ["data-c.parquet", "data-d.parquet"]


def test_c13_the_timeout_bounds_the_waits(tmp_path: Path) -> None:
    options = {"commit.timeout": "100 ms", "commit.min-retry-wait": "10 ms"}
    bench = CommitBench(tmp_path, options=options)
    now = [0.0]
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds * 1000)
        now[0] += seconds * 1000

    committer = meddled(
        bench, *[loses] * 20, sleep=sleep, clock=lambda: round(now[0]), jitter=lambda: 0.0
    )
    with pytest.raises(CommitConflict, match="lost against other writers"):
        committer.commit(new("a"), user="x")
    assert waits == pytest.approx([10, 20, 40])


def test_c14_an_exception_after_the_snapshot_appeared_leaves_one(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)

    def lands_and_fails(path: str, data: bytes) -> Published:
        bench.store.publisher.publish(path, data)
        raise StorageError("the answer was lost")

    landed = meddled(bench, lands_and_fails).commit(new("a"), user="me", identifier=4)
    assert landed is not None
    assert bench.table().snapshots.ids() == (1,)
    assert bench.live_names() == {"data-a.parquet"}


def test_c16_what_came_since_is_seen_though_a_listing_leaves_it_out(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    for name in "abc":
        bench.append(name)
    lists = Fault(what=What.PARTIAL)
    weather = FaultyStore(inner=bench.store, draw=lambda kind: lists if kind == "list" else None)
    table = FileStoreTable.open(weather.store.files, bench.path, bench.identifier)
    assert [each.id for each in snapshots_after(table, 1)] == [2, 3]


def test_c16_what_came_since_cannot_be_told_where_some_of_it_has_expired(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    for name in "abc":
        bench.append(name)
    Path(bench.table().paths.snapshot(2)).unlink()
    with pytest.raises(NotFound, match="snapshot 2 has expired"):
        list(snapshots_after(bench.table(), 1))


def test_c18_a_store_that_never_answers_keeps_what_may_still_appear(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path, options={"commit.max-retries": "1"})
    late: list[tuple[str, bytes]] = []

    def fails(path: str, data: bytes) -> Published:
        late.append((path, data))
        raise StorageError("the store does not answer")

    with pytest.raises(StorageError, match="does not answer"):
        meddled(bench, fails, fails).commit(new("a"), user="me")
    assert bench.store.publisher.publish(*late[0]) is Published.WON
    assert bench.live_names() == {"data-a.parquet"}


def test_c18_what_was_not_written_though_nobody_could_tell_is_written_by_the_next_try(
    tmp_path: Path,
) -> None:
    bench = CommitBench(tmp_path)
    bench.append("a")
    due = {"publish": Fault(what=What.SAY_UNKNOWN), "look": Fault(what=What.FAIL)}

    def draw(kind: str) -> Fault | None:
        # The look that fails is the one at what the publish should have made.
        return due.pop(kind, None) if kind == "publish" or "publish" not in due else None

    weather = FaultyStore(inner=bench.store, draw=draw)
    commit = FileStoreCommit(bench.table(), weather.store, sleep=lambda _: None, queue=NoQueue())
    snapshot = commit.commit(new("b"), user="u")
    assert len(weather.faults) == 2
    live = bench.table().live_files(snapshot)["file_name"].to_pylist()
    assert live == ["data-a.parquet", "data-b.parquet"]


def test_c19_a_reader_keeps_its_snapshot_while_others_commit_and_compact(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path, options={"manifest.merge-min-count": "2"})
    seen = bench.append("a", "b")
    reader = bench.table()
    bench.append("c")
    compacted = message(
        compact_before=data_files(["a"], total_buckets=-1),
        compact_after=data_files(["ab"], total_buckets=-1),
    )
    bench.committer().commit([compacted], user="x")
    bench.append("d")
    for table in (reader, bench.table()):
        names = set(table.live_files(seen)["file_name"].to_pylist())
        assert names == {"data-a.parquet", "data-b.parquet"}


def test_c28_callbacks_run_once_also_when_success_is_found_out_later(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    told: list[int] = []

    def lands_but_says_unknown(path: str, data: bytes) -> Published:
        bench.store.publisher.publish(path, data)
        return Published.UNKNOWN

    def tell(snapshot: Snapshot) -> None:
        told.append(snapshot.id)

    meddled(bench, lands_but_says_unknown, callbacks=[tell]).commit(new("a"), user="x")
    meddled(bench, loses, callbacks=[tell]).commit(new("b"), user="x", identifier=2)
    assert told == [1, 2]
    with pytest.raises(CommitConflict):
        meddled(bench, *[loses] * 20, callbacks=[tell]).commit(new("c"), user="x", identifier=3)
    assert told == [1, 2]


def test_c28_a_callback_that_fails_undoes_nothing(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    told: list[int] = []

    def fails(snapshot: Snapshot) -> None:
        raise ValueError("nobody listens")

    committer = meddled(bench, callbacks=[fails, lambda snapshot: told.append(snapshot.id)])
    landed = committer.commit(new("a"), user="x")
    assert landed is not None
    assert told == [1]


def test_a_plain_append_reads_no_manifest(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    for name in ("a", "b", "c"):
        bench.append(name)
    reader = CountingReader(bench.store.files)
    table = FileStoreTable.open(reader, bench.path, bench.identifier)  # type: ignore[arg-type]
    FileStoreCommit(table, bench.store).commit(new("d"), user="x")
    assert reader.manifests() == set()


def test_files_that_are_live_are_left_out_where_the_option_asks(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path, options={"commit.discard-duplicate-files": "true"})
    bench.append("a")
    both = message(new_files=data_files(["a", "b"], total_buckets=-1))
    landed = bench.committer().commit([both], user="x")
    assert landed is not None
    assert landed.delta_record_count == 10
    assert bench.live_names() == {"data-a.parquet", "data-b.parquet"}


def test_a_file_added_again_leaves_no_manifest_that_deletes_it(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    bench.append("a", "b")
    old = data_files(["a"], total_buckets=-1)
    bench.committer().commit([message(deleted_files=old)], user="x", identifier=1)
    head = bench.committer().commit(
        [message(new_files=old)], user="x", identifier=2, check_append=True
    )
    assert head is not None
    entries = bench.table().read_manifests(bench.table().manifests(head))
    assert entries["kind"].to_pylist() == [0, 0]
    assert bench.live_names() == {"data-a.parquet", "data-b.parquet"}


def test_strict_mode_gives_way_to_who_touched_the_same_partition(tmp_path: Path) -> None:
    options = {"commit.strict-mode.last-safe-snapshot": "1"}
    bench = CommitBench(tmp_path, partition_keys=["pt"], options=options)
    one, two = (encode_row([value], [INT]) for value in (1, 2))

    def put(name: str, partition: bytes, user: str) -> None:
        made = [message(partition, 0, -1, new_files=files(name, partition))]
        bench.committer().overwrite(made, user=user, identifier=len(name))

    put("a", one, "me")
    put("bb", one, "other")
    with pytest.raises(CommitConflict, match="OVERWRITE snapshot 2 of user 'other'"):
        put("ccc", one, "me")
    put("dddd", two, "me")
    put("eeeee", one, "other")
    bench.store.remover.remove([bench.table().paths.snapshot(2)])
    with pytest.raises(NotFound, match="snapshot 2 has expired"):
        put("ffffff", two, "me")


def test_a_static_overwrite_takes_only_files_of_its_partitions(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path, partition_keys=["pt"])
    one, two = (encode_row([value], [INT]) for value in (1, 2))
    for name, partition in (("a", one), ("b", two)):
        made = [message(partition, 0, -1, new_files=files(name, partition))]
        bench.committer().commit(made, user=name)
    with pytest.raises(InvalidInput, match="files for others"):
        bench.committer().overwrite(
            [message(two, 0, -1, new_files=files("c", two))], user="x", partitions=[one]
        )
    bench.committer().overwrite([], user="x", partitions=[one])
    assert bench.live_names() == {"data-b.parquet"}
    assert bench.committer().overwrite([], user="x") is None
