from pathlib import Path

import pytest

from branch_console.commit.base.retry_policy import RetryPolicy
from branch_console.commit.schema.schema_commit import change_schema, set_options
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.errors import CommitConflict, NotAllowed, NotFound
from branch_console.format.data_types import INT
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.format.values.binary_row import encode_row
from branch_console.storage.file_publisher import Published
from tests.support.commit_tables import CommitBench, data_files, message
from tests.support.meddler import meddled


def test_c01_the_first_snapshot_is_1_and_each_commit_adds_1(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    ids = [bench.append(name).id for name in ("a", "b", "c")]
    assert ids == [1, 2, 3]
    assert bench.table().snapshots.ids() == (1, 2, 3)
    assert bench.live_names() == {"data-a.parquet", "data-b.parquet", "data-c.parquet"}


def test_c24_the_total_record_count_is_the_sum_of_the_deltas(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    bench.append("a", rows=10)
    bench.append("b", "c", rows=5)
    gone = bench.committer().commit(
        [message(deleted_files=data_files(["b"], rows=5))], user="alice", identifier=3
    )
    assert gone is not None
    snapshots = bench.table().snapshots.all()
    assert [each.delta_record_count for each in snapshots] == [10, 10, -5]
    assert [each.total_record_count for each in snapshots] == [10, 20, 15]
    assert [str(each.commit_kind) for each in snapshots] == ["APPEND", "APPEND", "OVERWRITE"]


def test_c04_appended_files_come_in_a_snapshot_before_the_compacted_ones(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path, primary_keys=["id"], options={"bucket": "1"})
    bench.committer().commit(
        [message(new_files=data_files(["a"], keys=(0, 9)))], user="alice", identifier=1
    )
    bench.committer().commit(
        [
            message(
                new_files=data_files(["b"], keys=(5, 20)),
                compact_before=data_files(["a"], keys=(0, 9)),
                compact_after=data_files(["c"], keys=(0, 9), level=5),
            )
        ],
        user="alice",
        identifier=2,
    )
    snapshots = bench.table().snapshots.all()
    assert [each.commit_kind for each in snapshots] == ["APPEND", "APPEND", "COMPACT"]
    assert bench.live_names() == {"data-b.parquet", "data-c.parquet"}


def test_c05_deleting_a_file_that_is_not_live_fails_and_is_not_retried(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    bench.append("a")
    waits: list[float] = []
    committer = FileStoreCommit(bench.table(), bench.store, sleep=waits.append)
    before = bench.manifest_names()
    with pytest.raises(CommitConflict, match=r"data-x\.parquet.*not live"):
        committer.commit([message(deleted_files=data_files(["x"]))], user="bob", identifier=1)
    assert bench.table().snapshots.ids() == (1,)
    assert waits == []
    assert bench.manifest_names() == before


def test_c06_adding_a_file_that_is_live_fails(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    bench.append("a")
    with pytest.raises(CommitConflict, match="live already"):
        bench.committer().commit(
            [message(new_files=data_files(["a"]))], user="b", identifier=9, check_append=True
        )


def test_c07_of_two_compactions_of_the_same_files_one_fails(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path, primary_keys=["id"], options={"bucket": "1"})
    bench.committer().commit(
        [message(new_files=data_files(["a"], keys=(0, 9)))], user="alice", identifier=1
    )
    first, second = (
        message(
            compact_before=data_files(["a"], keys=(0, 9)),
            compact_after=data_files([name], keys=(0, 9), level=5),
        )
        for name in ("c1", "c2")
    )
    bench.committer().commit([first], user="alice", identifier=2)
    with pytest.raises(CommitConflict):
        bench.committer().commit([second], user="bob", identifier=2)
    assert bench.live_names() == {"data-c1.parquet"}


@pytest.mark.parametrize(("level", "stands"), [(0, True), (1, False), (5, False)])
def test_c08_c09_key_ranges_may_overlap_on_level_0_only(
    tmp_path: Path, level: int, stands: bool
) -> None:
    bench = CommitBench(tmp_path, primary_keys=["id"], options={"bucket": "1"})
    committer = bench.committer()
    committer.commit(
        [message(new_files=data_files(["a"], keys=(0, 9), level=level))], user="a", identifier=1
    )
    overlapping = [message(new_files=data_files(["b"], keys=(9, 20), level=level))]
    if stands:
        committer.commit(overlapping, user="a", identifier=2)
    else:
        with pytest.raises(CommitConflict, match="overlapping keys"):
            committer.commit(overlapping, user="a", identifier=2)


def test_keys_next_to_each_other_on_one_level_stand(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path, primary_keys=["id"], options={"bucket": "1"})
    for name, keys in (("b", (10, 19)), ("a", (0, 9)), ("c", (20, 29))):
        bench.committer().commit(
            [message(new_files=data_files([name], keys=keys, level=5))],
            user="a",
            identifier=keys[0],
        )
    assert len(bench.live_names()) == 3


def test_c10_a_file_added_and_deleted_again_is_not_live(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    bench.append("a", "b")
    bench.committer().commit([message(deleted_files=data_files(["a"]))], user="a", identifier=2)
    assert bench.live_names() == {"data-b.parquet"}


def test_c22_writers_of_different_partitions_do_not_conflict(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path, partition_keys=["pt"])
    one, two = bench.committer(), bench.committer()
    for index, committer in enumerate((one, two)):
        partition = encode_row([index], [INT])
        files = data_files([f"p{index}"], partition=partition)
        committer.commit(
            [message(partition=partition, new_files=files)], user=f"w{index}", identifier=1
        )
    assert len(bench.live_names()) == 2
    manifests = bench.table().manifests(bench.table().snapshots.get(2))
    assert manifests["partition_stats"].to_pylist()[0]["min_values"] == encode_row([0], [INT])


def test_c23_base_and_delta_of_a_snapshot_are_the_base_of_the_next(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    for name in ("a", "b", "c"):
        bench.append(name)
    table = bench.table()
    second, third = table.snapshots.get(2), table.snapshots.get(3)
    base = table.scan.read_list(table.paths, third.base_manifest_list)
    assert table.read_manifests(base).select(["identity"]) == table.read_manifests(
        table.manifests(second)
    ).select(["identity"])


def test_c27_the_bucket_count_of_a_partition_changes_by_overwrite_only(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path, options={"bucket": "2", "bucket-key": "id"})
    bench.committer().commit(
        [message(total_buckets=2, new_files=data_files(["a"], total_buckets=2))],
        user="a",
        identifier=1,
    )
    rescaled = [message(total_buckets=4, new_files=data_files(["b"], total_buckets=4))]
    with pytest.raises(CommitConflict, match="files of 2 and of 4 buckets"):
        bench.committer().commit(rescaled, user="a", identifier=2)
    bench.committer().overwrite(rescaled, user="a", identifier=3)
    assert bench.live_names() == {"data-b.parquet"}


def test_an_overwrite_of_a_partition_leaves_the_others(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path, partition_keys=["pt"])
    first, second = encode_row([1], [INT]), encode_row([2], [INT])
    for name, partition in (("a", first), ("b", second)):
        bench.committer().commit(
            [message(partition=partition, new_files=data_files([name], partition=partition))],
            user=name,
            identifier=1,
        )
    new = message(partition=first, new_files=data_files(["c"], partition=first))
    snapshot = bench.committer().overwrite([new], user="c")
    assert bench.live_names() == {"data-b.parquet", "data-c.parquet"}
    assert snapshot.commit_kind is CommitKind.OVERWRITE


def test_a_commit_demands_the_head_that_it_was_planned_on(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    planned_on = bench.append("a")
    bench.append("b")
    with pytest.raises(CommitConflict, match="moved: it is at snapshot 2") as caught:
        bench.committer().commit(
            [message(new_files=data_files(["c"]))],
            user="a",
            identifier=3,
            expected_head=planned_on.identity,
        )
    assert caught.value.kind == "HEAD_MOVED"


def test_nothing_to_commit_makes_no_snapshot(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    assert bench.committer().commit([], user="a") is None
    assert bench.table().snapshots.ids() == ()


def test_watermark_and_properties_are_carried(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    commit = bench.committer().commit
    commit([message(new_files=data_files(["a"]))], user="a", identifier=1, watermark=50)
    commit([message(new_files=data_files(["b"]))], user="a", identifier=2, watermark=20)
    last = commit(
        [message(new_files=data_files(["c"]))], user="a", identifier=3, properties={"k": "v"}
    )
    assert last is not None
    assert [each.watermark for each in bench.table().snapshots.all()] == [50, 50, 50]
    assert dict(last.properties) == {"k": "v"}


def test_c11_the_check_is_repeated_when_the_head_moved(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    bench.append("a")

    def another_deletes_a_first(path: str, data: bytes) -> Published:
        bench.committer().commit([message(deleted_files=data_files(["a"]))], user="b", identifier=1)
        return bench.store.publisher.publish(path, data)

    committer = meddled(bench, another_deletes_a_first)
    with pytest.raises(CommitConflict, match="not live"):
        committer.commit([message(deleted_files=data_files(["a"]))], user="c", identifier=1)


def test_c17_a_lost_attempt_leaves_no_manifest(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)

    def another_is_first(path: str, data: bytes) -> Published:
        bench.append("other")
        return bench.store.publisher.publish(path, data)

    landed = meddled(bench, another_is_first).commit(
        [message(new_files=data_files(["mine"]))], user="me", identifier=1
    )
    assert landed is not None
    assert landed.id == 2
    table = bench.table()
    named = set()
    for snapshot in table.snapshots.all():
        named |= {snapshot.base_manifest_list, snapshot.delta_manifest_list}
        named |= set(table.manifests(snapshot)["file_name"].to_pylist())
    assert bench.manifest_names() == named


def test_c14_a_publish_that_reported_failure_but_landed_makes_one_snapshot(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)

    def lands_but_says_unknown(path: str, data: bytes) -> Published:
        bench.store.publisher.publish(path, data)
        return Published.UNKNOWN

    landed = meddled(bench, lands_but_says_unknown).commit(
        [message(new_files=data_files(["a"]))], user="me", identifier=7
    )
    assert landed is not None
    assert bench.table().snapshots.ids() == (1,)
    assert bench.live_names() == {"data-a.parquet"}


def test_c18_an_unknown_outcome_deletes_nothing_before_it_is_known(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    late: list[tuple[str, bytes]] = []

    def hangs(path: str, data: bytes) -> Published:
        late.append((path, data))
        return Published.UNKNOWN

    def the_late_one_arrives_first(path: str, data: bytes) -> Published:
        assert bench.store.publisher.publish(*late[0]) is Published.WON
        return bench.store.publisher.publish(path, data)

    meddled(bench, hangs, the_late_one_arrives_first).commit(
        [message(new_files=data_files(["a"]))], user="me", identifier=7
    )
    assert bench.table().snapshots.ids() == (1,)
    # Its manifests are still there: the table can be read.
    assert bench.live_names() == {"data-a.parquet"}


def test_a_retry_after_a_crash_finds_what_landed(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    bench.append("a")
    files = [message(new_files=data_files(["b"]))]
    first = bench.committer().commit(files, user="job", identifier=1)
    again = bench.committer().commit(files, user="job", identifier=1, seen_id=1)
    assert again == first
    assert bench.table().snapshots.ids() == (1, 2)


def test_c15_the_same_user_and_identifier_with_another_kind_is_another_commit(
    tmp_path: Path,
) -> None:
    bench = CommitBench(tmp_path, primary_keys=["id"], options={"bucket": "1"})
    bench.committer().commit(
        [message(new_files=data_files(["a"], keys=(0, 9)))], user="job", identifier=1
    )
    compacted = message(
        compact_before=data_files(["a"], keys=(0, 9)),
        compact_after=data_files(["c"], keys=(0, 9), level=5),
    )
    bench.committer().commit([compacted], user="job", identifier=1, seen_id=0)
    assert bench.table().snapshots.ids() == (1, 2)


def test_c16_an_expired_snapshot_in_the_range_makes_the_answer_unknown(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    for name in ("a", "b", "c"):
        bench.append(name)
    bench.store.remover.remove([bench.table().paths.snapshot(2)])
    with pytest.raises(NotFound, match="snapshot 2 has expired"):
        bench.committer().commit(
            [message(new_files=data_files(["d"]))], user="job", identifier=1, seen_id=1
        )


def test_c20_files_that_no_snapshot_refers_to_are_invisible(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    bench.append("a")
    bench.store.publisher.publish(f"{bench.path}/bucket-0/data-orphan.parquet", b"x")
    assert bench.live_names() == {"data-a.parquet"}


@pytest.mark.parametrize("hint", [None, b"1", b"99", b"garbage"])
def test_c21_hints_change_nothing(tmp_path: Path, hint: bytes | None) -> None:
    bench = CommitBench(tmp_path)
    bench.append("a")
    bench.append("b")
    path = bench.table().paths.latest_hint
    if hint is None:
        bench.store.remover.remove([path])
    else:
        bench.store.publisher.replace_hint(path, hint)
    assert bench.append("c").id == 3


@pytest.mark.parametrize("retry", range(12))
def test_c13_waits_double_up_to_the_limit_with_a_fifth_on_top(retry: int) -> None:
    policy = RetryPolicy(max_retries=10, min_wait=10, max_wait=1000, timeout=None)
    shortest = min(10 * 2**retry, 1000)
    assert policy.wait_millis(retry, 0.0) == shortest
    assert policy.wait_millis(retry, 1.0) == pytest.approx(shortest * 1.2)


def test_c13_retries_are_counted_and_the_loss_is_told(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path, options={"commit.max-retries": "3"})
    tries: list[str] = []

    def loses(path: str, data: bytes) -> Published:
        tries.append(path)
        return Published.LOST

    with pytest.raises(CommitConflict, match="lost against other writers"):
        meddled(bench, *[loses] * 9).commit(
            [message(new_files=data_files(["a"]))], user="me", identifier=1
        )
    assert len(tries) == 4


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("data-evolution.enabled", "true"),
        ("sequence.snapshot-ordering", "true"),
        ("write.sequence-number-init-mode", "snapshot"),
        ("commit.callbacks", "org.example.Callback"),
        ("manifest.compression", "brotli"),
        ("manifest.format", "orc"),
    ],
)
def test_what_only_paimon_can_do_is_refused_by_name(
    tmp_path: Path, option: str, value: str
) -> None:
    bench = CommitBench(tmp_path, options={option: value})
    with pytest.raises(NotAllowed, match=option) as caught:
        bench.append("a")
    assert caught.value.kind == "UNSUPPORTED"
    assert bench.table().snapshots.ids() == ()
    assert bench.manifest_names() == set()


def test_a_writer_that_knew_an_older_schema_writes_by_the_newest(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path)
    table = bench.table()
    committer = FileStoreCommit(table, bench.store)

    def append(number: int) -> Snapshot:
        new = message(new_files=data_files([f"f{number}"]))
        landed = committer.commit([new], user="alice", identifier=number)
        assert landed is not None
        return landed

    append(0)
    change_schema(
        bench.table(), bench.store, [set_options({"manifest.compression": "null"})], now_millis=5
    )
    landed = append(1)
    [line] = table.scan.read_list(table.paths, landed.delta_manifest_list).to_pylist()
    assert (landed.schema_id, line["schema_id"]) == (1, 1)
    data = bench.file_io.read(table.paths.manifest(line["file_name"]))
    assert b"avro.codec\x08null" in data
    change_schema(
        bench.table(), bench.store, [set_options({"manifest.compression": "brotli"})], now_millis=6
    )
    with pytest.raises(NotAllowed, match=r"manifest\.compression"):
        append(2)
    change_schema(
        bench.table(), bench.store, [set_options({"manifest.compression": "zstd"})], now_millis=7
    )
    assert append(2).id == 3
    assert bench.live_names() == {"data-f0.parquet", "data-f1.parquet", "data-f2.parquet"}
