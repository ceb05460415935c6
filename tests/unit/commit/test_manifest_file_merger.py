"""Merging of manifests, decision and result."""

import itertools
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from branch_console.commit.base.commit_queue import NoQueue
from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.schema.schema_commit import create_table, new_schema
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.commit.snapshot.manifest_file_merger import MergePolicy, is_full_due, minor_runs
from branch_console.errors import FormatError
from branch_console.format.data_types import INT, parse_data_type
from branch_console.format.manifest_list import MANIFEST_FILE_META
from branch_console.format.snapshot import Snapshot
from branch_console.format.values.binary_row import encode_row
from branch_console.storage.file_io import FileIO
from branch_console.storage.file_publisher import in_order
from branch_console.storage.table_paths import TablePaths
from branch_console.table.manifest_scan import live_files
from tests.support.commit_tables import UNPARTITIONED, CommitBench, data_files, message

POLICY = MergePolicy(target_size=100, full_size=300, min_count=3)


def metas(*sizes: int, deleted: int = 0) -> pa.Table:
    stats = {"min_values": UNPARTITIONED, "max_values": UNPARTITIONED, "null_counts": []}
    rows = [
        {
            "file_name": f"manifest-{number}",
            "file_size": size,
            "num_added_files": 1,
            "num_deleted_files": deleted,
            "partition_stats": stats,
            "schema_id": 0,
        }
        for number, size in enumerate(sizes)
    ]
    return pa.Table.from_pylist(rows, schema=MANIFEST_FILE_META)


@pytest.mark.parametrize(
    ("sizes", "runs"),
    [
        ([], []),
        ([10, 10], []),
        ([10, 10, 10], [range(3)]),
        ([120, 10, 10], []),
        ([120, 10, 10, 10], [range(1, 4)]),
        ([60, 60, 10], [range(2)]),
        ([60, 60, 50, 70, 1, 1, 1], [range(2), range(2, 4), range(4, 7)]),
        ([120, 130], []),
    ],
)
def test_neighbours_are_merged_at_the_target_size_or_by_count(
    sizes: list[int], runs: list[range]
) -> None:
    assert minor_runs(sizes, POLICY) == runs


@pytest.mark.parametrize(
    ("manifests", "is_due"),
    [
        (metas(90, 90, 90), False),
        (metas(90, 90, 90, 90), True),
        (metas(200, 200), False),
        (metas(200, 200, deleted=1), True),
    ],
)
def test_a_full_merge_is_due_by_the_size_of_what_must_change(
    manifests: pa.Table, is_due: bool
) -> None:
    assert is_full_due(manifests, POLICY) is is_due


OPTIONS = [
    {"manifest.merge-min-count": "2"},
    {"manifest.full-compaction-threshold-size": "4 kb", "manifest.target-file-size": "3 kb"},
    *(
        pytest.param(each, marks=pytest.mark.depth("long"))
        for each in (
            {"manifest.merge-min-count": "3", "manifest.target-file-size": "6 kb"},
            {"manifest.full-compaction-threshold-size": "4 kb"},
        )
    ),
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda each: " ".join(each.values()))
@pytest.mark.parametrize(
    "partition_keys",
    [
        pytest.param((), id="whole"),
        pytest.param(("pt",), id="in partitions", marks=pytest.mark.depth("full")),
    ],
)
def test_c25_merging_never_changes_the_live_files(
    tmp_path: Path, rng: Random, options: dict[str, str], partition_keys: tuple[str, ...]
) -> None:
    bench = CommitBench(tmp_path, options=options, partition_keys=partition_keys)
    live: dict[str, bytes] = {}
    for number in range(40):
        value = encode_row([rng.randrange(3)], [INT]) if partition_keys else UNPARTITIONED
        doomed = rng.sample(sorted(live), k=min(len(live), rng.randrange(3)))
        messages = [message(value, -1, -1, new_files=files(f"f{number}", value))]
        messages += [
            message(live[name], -1, -1, deleted_files=files(name, live.pop(name)))
            for name in doomed
        ]
        live[f"f{number}"] = value
        bench.committer().commit(messages, user="x", identifier=number)
        assert bench.live_names() == {f"data-{name}.parquet" for name in live}
    assert_base_follows(bench)


def files(name: str, partition: bytes) -> pa.Table:
    return data_files([name], partition=partition, total_buckets=-1)


def assert_base_follows(bench: CommitBench) -> None:
    """C23: what is live by base and delta of a snapshot is live by the base of the next."""
    table = bench.table()
    snapshots = table.snapshots.all()
    merged = 0
    for before, after in itertools.pairwise(snapshots):
        base = table.scan.read_list(table.paths, after.base_manifest_list)
        found = live_files(table.read_manifests(base))
        wanted = table.live_files(before)
        assert sorted(found["identity"].to_pylist()) == sorted(wanted["identity"].to_pylist())
        merged += base["file_name"].to_pylist() != table.manifests(before)["file_name"].to_pylist()
    assert merged, "nothing was merged"


def test_plain_manifests_are_joined_as_their_writer_wrote_them(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path, options={"manifest.merge-min-count": "3"})
    heads = [bench.append(name) for name in ("a", "b", "c", "d")]
    table = bench.table()
    (joined,) = table.scan.read_list(table.paths, heads[-1].base_manifest_list)[
        "file_name"
    ].to_pylist()
    data = table.reader.files.read(table.paths.manifest(joined))
    deltas = [table.scan.read_list(table.paths, each.delta_manifest_list) for each in heads[:3]]
    for delta in deltas:
        path = table.paths.manifest(delta["file_name"][0].as_py())
        block = table.reader.files.read(path)[-60:-16]
        assert block in data


def test_a_full_merge_leaves_no_delete(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path, options={"manifest.full-compaction-threshold-size": "1 b"})
    for name in ("a", "b", "c"):
        bench.append(name)
    gone = data_files(["a"], total_buckets=-1)
    bench.committer().commit([message(deleted_files=gone)], user="x", identifier=1)
    head = bench.append("d")
    table = bench.table()
    base = table.scan.read_list(table.paths, head.base_manifest_list)
    assert base["num_deleted_files"].to_pylist() == [0] * base.num_rows
    assert bench.live_names() == {f"data-{name}.parquet" for name in "bcd"}


def test_partitions_and_ranges_of_joined_manifests_cover_all(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path, options={"manifest.merge-min-count": "3"}, partition_keys=["pt"])
    for number, value in enumerate((7, None, 3, 5)):
        partition = encode_row([value], [INT])
        new = data_files([f"f{number}"], partition=partition, bucket=number, total_buckets=-1)
        bench.committer().commit([message(partition, number, -1, new_files=new)], user="x")
    table = bench.table()
    head = table.snapshots.get(4)
    (line,) = table.scan.read_list(table.paths, head.base_manifest_list).to_pylist()
    assert line["partition_stats"] == {
        "min_values": encode_row([3], [INT]),
        "max_values": encode_row([7], [INT]),
        "null_counts": [1],
    }
    assert (line["min_bucket"], line["max_bucket"]) == (0, 2)
    for number, value in enumerate((7, None, 3, 5)):
        found = table.live_files(head, partitions=[encode_row([value], [INT])])
        assert found["file_name"].to_pylist() == [f"data-f{number}.parquet"]


@pytest.mark.parametrize(
    ("written", "values"),
    [("BYTES", (b"\xff", b"a", b"\0")), ("DOUBLE", (1.0, float("nan"), -1.0))],
)
def test_a_manifest_without_bounds_leaves_the_joined_one_without(
    tmp_path: Path, written: str, values: tuple[object, ...]
) -> None:
    kind = parse_data_type(written)
    paths = TablePaths(table=f"{tmp_path}/db.db/t")
    schema = new_schema([("id", INT), ("pt", kind)], partition_keys=["pt"])
    schema = schema.with_options({"manifest.merge-min-count": "3"})
    create_table(CommitStore.of(FileIO.for_url(str(tmp_path))), paths, schema)
    bench = CommitBench(tmp_path)
    partitions = [encode_row([value], [kind]) for value in (*values, values[0])]
    for number, partition in enumerate(partitions):
        new = data_files([f"f{number}"], partition=partition, total_buckets=-1)
        bench.committer().commit([message(partition, 0, -1, new_files=new)], user="x")
    table = bench.table()
    head = table.snapshots.get(len(partitions))
    (line,) = table.scan.read_list(table.paths, head.base_manifest_list).to_pylist()
    unknown = encode_row([None], [kind])
    assert line["partition_stats"] == {
        "min_values": unknown,
        "max_values": unknown,
        "null_counts": [0],
    }
    for number, partition in enumerate(partitions[1:-1], 1):
        found = table.live_files(head, partitions=[partition])
        assert found["file_name"].to_pylist() == [f"data-f{number}.parquet"]


def test_a_damaged_manifest_is_not_merged(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path, options={"manifest.merge-min-count": "2"})
    bench.append("a")
    head = bench.append("b")
    table = bench.table()
    name = table.scan.read_list(table.paths, head.delta_manifest_list)["file_name"][0].as_py()
    path = Path(table.paths.manifest(name))
    path.write_bytes(path.read_bytes()[:-30])
    before = bench.manifest_names()
    with pytest.raises(FormatError):
        bench.append("c")
    assert bench.manifest_names() == before
    assert bench.table().snapshots.latest_id() == 2


def test_merged_manifests_serve_the_next_try_and_are_removed_if_they_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = CommitBench(tmp_path, options={"manifest.merge-min-count": "2"})
    bench.append("a")
    bench.append("b")
    never = replace(MergePolicy.of(bench.table().schema().options), min_count=1000)
    tried: list[set[str]] = []

    class Rival:
        """Commits just before a snapshot is published, once."""

        def __getattr__(self, name: str) -> object:
            return getattr(bench.store.publisher, name)

        def publish(self, path: str, data: bytes) -> object:
            if "/snapshot/" in path:
                tried.append(names_in(bench, Snapshot.from_json(data)))
                if len(tried) == 1:
                    with monkeypatch.context() as patch:
                        patch.setattr(MergePolicy, "of", lambda _: never)
                        bench.append("rival")
            return bench.store.publisher.publish(path, data)

        def publish_in_order(
            self, files: list[tuple[str, bytes]], _when_named: object = None
        ) -> object:
            return in_order(self.publish, files)  # type: ignore[arg-type]

    store = replace(bench.store, publisher=Rival())  # type: ignore[arg-type]
    committer = FileStoreCommit(bench.table(), store, sleep=lambda _: None, queue=NoQueue())
    committer.commit([message(new_files=data_files(["d"], total_buckets=-1))], user="x")
    assert len(tried) == 2
    known = names_in(bench, bench.table().snapshots.get(2))
    assert len((tried[0] & tried[1]) - known) == 2  # what was merged, and the delta
    assert bench.manifest_names() == referenced(bench)


def names_in(bench: CommitBench, snapshot: Snapshot) -> set[str]:
    table = bench.table()
    return set(table.manifests(snapshot)["file_name"].to_pylist())


def referenced(bench: CommitBench) -> set[str]:
    found: set[str] = set()
    for snapshot in bench.table().snapshots.all():
        found |= {snapshot.base_manifest_list, snapshot.delta_manifest_list}
        found |= names_in(bench, snapshot)
    return found
