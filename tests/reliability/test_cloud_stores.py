"""The core on each object store: the answers of local files, and nothing ever overwritten.

S3 and Google Cloud Storage are asked in every full run, Azure and HDFS at night, whose servers take
longest to start; what these answer is played to the publishers by tests/unit/storage in each run.
"""

from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest

from branch_console.commit.base.commit_store import CommitStore
from branch_console.errors import NotAllowed, StorageError
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.storage.directory_mover import MoveOutcome
from branch_console.storage.file_io import FileIO
from branch_console.storage.metadata_cache import MetadataCache, MetadataReader
from branch_console.storage.publishers import publisher_for
from branch_console.table.file_store_table import FileStoreTable
from tests.support.branch_bench import BranchBench
from tests.support.far_bench import FarBench, answers, history
from tests.support.our_answers import our_live_files, our_schemas, our_snapshots, our_tags
from tests.support.publish_race import check_one_wins_each_name
from tests.support.store_servers import StoreServer
from tests.support.warehouses import FixtureWarehouse

pytestmark = pytest.mark.depth("full")
_at_night = pytest.mark.depth("long")
_AZURE = pytest.param("azure", marks=_at_night)
_HDFS = pytest.param("hdfs", marks=_at_night)


@pytest.fixture(scope="module", params=["s3", "gcs", _AZURE, _HDFS])
def server(
    request: pytest.FixtureRequest, store_server: Callable[[str], StoreServer]
) -> StoreServer:
    return store_server(request.param)


@pytest.mark.parametrize("kind", ["s3", "gcs", _AZURE])
def test_a_warehouse_gives_the_answers_of_the_same_files_on_disk(
    warehouse_142: FixtureWarehouse,
    store_server: Callable[[str], StoreServer],
    kind: str,
) -> None:
    # To HDFS it would take minutes: each file is asked for twice there.
    server = store_server(kind)
    bucket = server.make_bucket("fixtures")
    far, path = fsspec.url_to_fs(f"{bucket}/fixture/", **server.options)
    far.put(f"{warehouse_142.path}/", path, recursive=True)
    here = Warehouse.open(str(warehouse_142.path), read_only=True)
    there = Warehouse.open(f"{bucket}/fixture", store_options=server.options, read_only=True)
    assert list(there.catalog.databases()) == list(here.catalog.databases())
    compared = 0
    branched = [name for name in warehouse_142.expected if here.table(name).branches.names()]
    tables = list(warehouse_142.expected) if kind == "s3" else branched
    for name in tables:
        names = [None, *here.table(name).branches.names()]
        assert there.table(name).branches.names() == here.table(name).branches.names()
        for branch in names:
            one, other = (
                each.table(name if branch is None else f"{name}$branch_{branch}")
                for each in (here, there)
            )
            assert _table_answers(one) == _table_answers(other)
            compared += 1
    assert compared > len(tables)


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


def test_of_many_writers_that_race_one_wins_each_name(store: FileIO) -> None:
    check_one_wins_each_name(store)


def test_a_path_used_again_within_the_second_is_read_again(store: FileIO, tmp_path: Path) -> None:
    # S3 counts time in seconds; only the ETag tells two versions of one size apart.
    reader = MetadataReader(store, MetadataCache(tmp_path / "cache"))
    for data in (b"one", b"two", b"six"):
        store.replace(f"{store.root}/d/snapshot-1", data)
        (status,) = store.list(f"{store.root}/d")
        assert reader.decode(status, bytes.upper) == data.upper()


def test_what_is_written_is_listed_at_once_and_what_is_removed_no_more(
    server: StoreServer, store: FileIO
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
    assert other.list(f"{store.root}/d") == []


def test_a_store_has_no_directories_to_move(store: FileIO) -> None:
    store.create(f"{store.root}/a/x", b"")
    moved = CommitStore.of(store).mover.move(f"{store.root}/a", f"{store.root}/b")
    assert moved is MoveOutcome.UNSUPPORTED


@pytest.mark.parametrize("kind", ["s3", "gcs", _AZURE])
def test_a_warehouse_in_a_bucket_that_is_not_there_opens_with_the_reason(
    store_server: Callable[[str], StoreServer], kind: str
) -> None:
    server = store_server(kind)
    opened = Warehouse.open(f"{server.base}nowhere/wh", store_options=server.options)
    with pytest.raises(NotAllowed, match="the bucket or container 'nowhere' does not exist"):
        opened.check_writable()


@pytest.mark.parametrize("kind", ["s3", _AZURE])
def test_a_wrong_key_is_named_with_the_file_it_was_to_open(
    store_server: Callable[[str], StoreServer], kind: str
) -> None:
    # The server of Google Cloud Storage asks for no key.
    server = store_server(kind)
    bucket = server.make_bucket("locked")
    opened = Warehouse.open(f"{bucket}/wh", store_options=server.stranger)
    with pytest.raises(NotAllowed, match="refuses access to locked/wh/"):
        opened.check_writable()
    stranger = FileIO.for_url(bucket, server.stranger)
    path = f"{stranger.root}/x"
    for call in (
        lambda: stranger.read(path),
        lambda: stranger.list(path),
        lambda: stranger.replace(path, b""),
        lambda: publisher_for(stranger).publish(path, b""),
    ):
        with pytest.raises(StorageError, match=f"refuses access to {path}"):
            call()
    assert not FileIO.for_url(bucket, server.options).exists(path)
