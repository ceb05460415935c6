"""The whole core on a real S3 server: the answers of local files, and nothing ever overwritten."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from core.commit.commit_store import CommitStore
from core.commit.schema_commit import create_table, new_schema
from core.errors import NotAllowed, StorageError
from core.format.identifier import Identifier
from core.procedures.recover import FRESH_MILLIS
from core.procedures.warehouse import Warehouse
from core.storage.directory_mover import Moved
from core.storage.file_io import FileIO
from core.storage.file_publisher import Published, publisher_for
from core.storage.metadata_cache import MetadataCache, MetadataReader
from core.storage.table_paths import TablePaths
from core.table.file_store_table import FileStoreTable
from tests.support.branch_bench import NOW, BranchBench
from tests.support.commit_tables import COLUMNS
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.lossy_proxy import lossy_proxy
from tests.support.our_answers import our_live_files, our_schemas, our_snapshots, our_tags
from tests.support.publish_race import check_one_wins_each_name
from tests.support.requirements import need_s3_server
from tests.support.s3_server import S3Server, running_s3_server
from tests.support.warehouses import FixtureWarehouse

_MULTIPART = 101 << 20  # from 100 MiB on s3fs sends a file in parts


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with running_s3_server(need_s3_server(), tmp_path_factory.mktemp("s3") / "server") as running:
        yield running


@pytest.fixture(scope="module")
def bucket(server: S3Server) -> str:
    return server.make_bucket("warehouse")


@pytest.fixture
def store(server: S3Server, bucket: str, tmp_path: Path) -> FileIO:
    """A folder of its own in the bucket."""
    return FileIO.for_url(f"{bucket}{tmp_path}", server.options)


class FarBench(BranchBench):
    """The table of a BranchBench, in a bucket."""

    def __init__(self, file_io: FileIO) -> None:
        self.file_io = file_io
        self.store = CommitStore.of(file_io)
        self.path = f"{file_io.root}/db.db/t"
        self.identifier = Identifier(database="db", table="t")
        paths = TablePaths(table=self.path)
        if not file_io.exists(paths.schema(0)):
            create_table(self.store, paths, new_schema(COLUMNS))


def history(bench: BranchBench) -> None:
    """A branch that is a snapshot, a schema and a tag ahead of main."""
    bench.append("a")
    bench.append("b")
    bench.tag("v1")
    bench.branch("dev")
    bench.append("c", branch="dev")
    bench.alter("dev")
    bench.append("d", branch="dev")
    bench.tag("v2", "dev")


def answers(bench: BranchBench) -> dict[str, object]:
    """What a user is told of a table and its branches, without names that are random."""
    return {
        "branches": bench.table().branches.names(),
        **{branch: _branch(bench, branch) for branch in ("main", *bench.table().branches.names())},
    }


def _branch(bench: BranchBench, branch: str) -> tuple[object, ...]:
    table = bench.table(branch)
    return (
        [
            (each.id, each.schema_id, each.commit_kind, each.total_record_count)
            for each in table.snapshots.all()
        ],
        [each.name for each in table.tags.all()],
        [[field.name for field in schema.fields] for schema in table.schemas.all()],
        sorted(bench.live_names(branch)),
    )


def test_a_warehouse_gives_the_answers_of_the_same_files_on_disk(
    warehouse_142: FixtureWarehouse, server: S3Server, bucket: str
) -> None:
    far = fsspec.filesystem("s3", **server.options)
    far.put(f"{warehouse_142.path}/", "warehouse/fixture/", recursive=True)
    here = Warehouse.open(str(warehouse_142.path), read_only=True)
    there = Warehouse.open(f"{bucket}/fixture", store_options=server.options, read_only=True)
    assert list(there.catalog.databases()) == list(here.catalog.databases())
    compared = 0
    for name in warehouse_142.expected:
        names = [None, *here.table(name).branches.names()]
        assert there.table(name).branches.names() == here.table(name).branches.names()
        for branch in names:
            one, other = (
                each.table(name if branch is None else f"{name}$branch_{branch}")
                for each in (here, there)
            )
            assert _table_answers(one) == _table_answers(other)
            compared += 1
    assert compared > len(warehouse_142.expected)


def _table_answers(table: FileStoreTable) -> tuple[object, ...]:
    files = our_live_files(table, table.head())
    return our_schemas(table), our_snapshots(table), our_tags(table), files


def test_branching_committing_and_fast_forwarding_end_as_on_disk(
    tmp_path: Path, store: FileIO
) -> None:
    near, far = BranchBench(tmp_path), FarBench(store)
    for bench in (near, far):
        history(bench)
    assert answers(far) == answers(near)
    for bench in (near, far):
        bench.call("fast_forward", branch="dev")
        bench.append("e")
    assert answers(far) == answers(near)
    assert [path.name for path in store.list(f"{far.path}/snapshot")] == [
        path.name for path in near.file_io.list(f"{near.path}/snapshot")
    ]


@pytest.mark.parametrize("verb", ["create_branch", "fast_forward"])
def test_killed_after_any_change_recovers_to_the_old_or_the_new_state(
    server: S3Server, store: FileIO, verb: str
) -> None:
    folder = server.folder / store.root
    arguments = {"branch": "dev"} if verb == "fast_forward" else {"branch": "new", "tag": "v1"}

    def bench_in(name: str) -> FarBench:
        # Copied beside the protocol: to the server a bucket is a folder.
        shutil.copytree(folder / "origin", folder / name, dirs_exist_ok=True)
        return FarBench(FileIO.for_url(f"s3://{store.root}/{name}", server.options))

    origin = FarBench(FileIO.for_url(f"s3://{store.root}/origin", server.options))
    history(origin)
    clean = bench_in("clean")
    counter = FaultyStore(inner=clean.store)
    clean.call(verb, store=counter.store, **arguments)
    before, after = answers(origin), answers(clean)
    assert before != after

    for number in range(1, len(counter.changes) + 1):
        bench = bench_in(f"killed-{number}")
        fault = At(call=number, when=When.AFTER)
        with pytest.raises(Killed):
            bench.call(verb, store=FaultyStore(inner=bench.store, fault=fault).store, **arguments)
        bench.call("recover", operation="repair", clock=lambda: NOW + FRESH_MILLIS)
        assert answers(bench) in (before, after), counter.changes[number - 1]
        bench.call(verb, **arguments)
        assert answers(bench) == after, counter.changes[number - 1]


def test_of_many_writers_that_race_one_wins_each_name(store: FileIO) -> None:
    check_one_wins_each_name(store)


def test_a_file_sent_in_parts_is_not_overwritten_either(store: FileIO) -> None:
    publisher, path = publisher_for(store), f"{store.root}/large"
    assert publisher.publish(path, b"1" * _MULTIPART) is Published.WON
    first = store.status(path)
    assert publisher.publish(path, b"2" * _MULTIPART) is Published.LOST
    assert store.status(path) == first
    assert store.read_range(path, _MULTIPART - 2, 10) == b"11"


def test_a_commit_whose_answer_was_lost_is_in_the_history_once(
    server: S3Server, store: FileIO
) -> None:
    # C14, on the wire: the client sends the request again and meets its own first success.
    FarBench(store).append("a")
    target = server.options["endpoint_url"].removeprefix("http://")
    with lossy_proxy(target) as proxy:
        options = server.options | {"endpoint_url": f"http://{proxy.address}"}
        bench = FarBench(FileIO.for_url(store.url(store.root), options))
        proxy.lose_the_answer_to(f"PUT /{bench.path}/snapshot/snapshot-2 ")
        snapshot = bench.append("b")
        assert len(proxy.lost) == 1
    far = FarBench(store)
    assert far.table().head() == snapshot
    assert [each.id for each in far.table().snapshots.all()] == [1, 2]
    assert far.live_names() == {"data-a.parquet", "data-b.parquet"}


def test_a_path_used_again_within_the_second_is_read_again(store: FileIO, tmp_path: Path) -> None:
    # S3 counts time in seconds; only the ETag tells two versions of one size apart.
    reader = MetadataReader(store, MetadataCache(tmp_path / "cache"))
    for data in (b"one", b"two", b"six"):
        store.replace(f"{store.root}/d/snapshot-1", data)
        (status,) = store.list(f"{store.root}/d")
        assert reader.decode(status, bytes.upper) == data.upper()


def test_what_is_written_is_listed_at_once_and_what_is_removed_no_more(
    server: S3Server, store: FileIO
) -> None:
    another = {**server.options, "skip_instance_cache": True}
    other = FileIO.for_url(store.url(store.root), another)
    assert other.list(f"{store.root}/d") == []
    for number in range(5):
        store.create(f"{store.root}/d/{number}", b"")
        assert [each.name for each in other.list(f"{store.root}/d")][-1] == str(number)
    for number in range(5):
        store.remove(f"{store.root}/d/{number}")
        assert str(number) not in [each.name for each in other.list(f"{store.root}/d")]
    assert not other.exists(f"{store.root}/d")


def test_a_store_has_no_directories_to_move(store: FileIO) -> None:
    store.create(f"{store.root}/a/x", b"")
    moved = CommitStore.of(store).mover.move(f"{store.root}/a", f"{store.root}/b")
    assert moved is Moved.UNSUPPORTED


@pytest.mark.parametrize(
    ("place", "change", "said"),
    [
        ("", {"secret": "wrong"}, "refuses access to warehouse/wh/"),
        ("nowhere", {}, "nowhere/wh/.*bucket does not exist"),
    ],
)
def test_a_warehouse_that_cannot_be_written_opens_with_the_reason(
    server: S3Server, bucket: str, place: str, change: dict[str, str], said: str
) -> None:
    url = f"{bucket}/wh" if place == "" else f"s3://{place}/wh"
    opened = Warehouse.open(url, store_options={**server.options, **change})
    with pytest.raises(NotAllowed, match=said):
        opened.check_writable()


def test_a_wrong_key_is_named_with_the_file_it_was_to_open(server: S3Server, store: FileIO) -> None:
    stranger = FileIO.for_url(store.url(store.root), {**server.options, "secret": "wrong"})
    path = f"{store.root}/x"
    for call in (
        lambda: stranger.read(path),
        lambda: stranger.list(path),
        lambda: stranger.replace(path, b""),
        lambda: publisher_for(stranger).publish(path, b""),
    ):
        with pytest.raises(StorageError, match=f"refuses access to {path}"):
            call()
    assert not store.exists(path)


def test_a_server_that_went_away_leaves_a_publish_unknown_and_a_read_failed(
    tmp_path: Path,
) -> None:
    with running_s3_server(need_s3_server(), tmp_path / "server") as server:
        store = FileIO.for_url(f"{server.make_bucket('brief')}/wh", server.options)
        assert publisher_for(store).publish(f"{store.root}/x", b"") is Published.WON
    assert publisher_for(store).publish(f"{store.root}/y", b"") is Published.UNKNOWN
    with pytest.raises(StorageError, match="brief/wh/x"):
        store.read(f"{store.root}/x")
