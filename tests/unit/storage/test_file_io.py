"""Stores behind one door: local paths and memory behave alike."""

from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.errors import ErrorKind, InvalidInput, NotFound, StorageError
from branch_console.storage.file_io import FileIO
from branch_console.storage.file_publisher import Published
from branch_console.storage.file_remover import FileRemover
from branch_console.storage.publishers import publisher_for


@pytest.fixture(params=["plain path", "file url", "Hadoop's file url", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> FileIO:
    urls = {
        "plain path": str(tmp_path),
        "file url": f"file://{tmp_path}",
        "Hadoop's file url": f"file:{tmp_path}",
        "memory": f"memory://{tmp_path}",
    }
    return FileIO.for_url(urls[request.param])


def test_a_file_is_read_whole_and_in_parts(store: FileIO) -> None:
    path = f"{store.root}/a/b"
    store.create(path, b"0123456789")
    assert store.read(path) == b"0123456789"
    assert store.read_range(path, 3, 4) == b"3456"
    assert store.read_range(path, 8, 4) == b"89"
    assert store.read_many([path, path]) == [b"0123456789"] * 2


def test_a_missing_file_is_not_found_by_its_path(store: FileIO) -> None:
    path = f"{store.root}/none"
    with pytest.raises(NotFound, match="none") as caught:
        store.read(path)
    assert caught.value.facts["path"] == path
    assert store.status(path) is None
    assert not store.exists(path)


def test_a_status_tells_what_a_listing_tells(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"0123")
    for name, target in (("link", "file"), ("to-folder", "folder"), ("ring", "ring")):
        (tmp_path / name).symlink_to(tmp_path / target)
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    store = FileIO.for_url(str(tmp_path))
    found = store.list(store.root)
    assert [each.name for each in found if each.is_link] == ["link", "ring", "to-folder"]
    assert [store.status(each.path) for each in found] == found
    assert store.status(f"{store.root}/nowhere") is None


def test_a_file_is_found_whole_or_not_at_all(store: FileIO) -> None:
    store.create(f"{store.root}/x", b"1")
    assert store.find(f"{store.root}/x") == b"1"
    assert store.find(f"{store.root}/y") is None


def test_a_listing_has_the_direct_children_by_name(store: FileIO) -> None:
    for name in ("b", "a", "sub/c", ".a.123.tmp"):
        store.create(f"{store.root}/d/{name}", b"xy")
    found = store.list(f"{store.root}/d")
    assert [(each.name, each.is_directory) for each in found] == [
        (".a.123.tmp", False),
        ("a", False),
        ("b", False),
        ("sub", True),
    ]
    assert found[1].size == 2
    assert found[1].path == f"{store.root}/d/a"
    assert found[1].modified_millis > 0


def test_a_missing_directory_lists_as_empty_and_so_does_a_file(store: FileIO) -> None:
    store.create(f"{store.root}/file", b"")
    assert store.list(f"{store.root}/none") == []
    assert store.list(f"{store.root}/file") == []


def test_create_refuses_a_taken_path_and_replace_takes_it(store: FileIO) -> None:
    path = f"{store.root}/x"
    store.create(path, b"1")
    with pytest.raises(FileExistsError):
        store.create(path, b"2")
    assert store.read(path) == b"1"
    store.replace(path, b"3")
    assert store.read(path) == b"3"
    assert [each.name for each in store.list(store.root)] == ["x"]


@pytest.mark.parametrize("name", ["../x", "a/../../x", "a/\0"])
def test_a_path_that_leaves_the_warehouse_is_refused(store: FileIO, name: str) -> None:
    path = f"{store.root}/{name}"
    for call in (store.read, store.list, store.status, store.remove):
        with pytest.raises(InvalidInput) as caught:
            call(path)
        assert caught.value.kind is ErrorKind.INVALID_NAME
    with pytest.raises(InvalidInput):
        store.create(path, b"")


def test_nothing_outside_the_root_is_changed(store: FileIO, tmp_path: Path) -> None:
    outside = f"{tmp_path}-other/x"
    for change in (store.create, store.replace):
        with pytest.raises(InvalidInput, match="outside the warehouse"):
            change(outside, b"")
    with pytest.raises(InvalidInput):
        FileRemover(store).remove([f"{store.root}/x", outside])


def test_a_remover_checks_every_path_before_the_first_file_goes(store: FileIO) -> None:
    kept = f"{store.root}/kept"
    store.create(kept, b"")
    with pytest.raises(InvalidInput):
        FileRemover(store).remove([kept, f"{store.root}/../other"])
    assert store.exists(kept)
    assert FileRemover(store).remove([kept, f"{store.root}/gone"]) == 1
    assert not store.exists(kept)


def test_empty_directories_go_and_full_ones_stay(tmp_path: Path) -> None:
    store = FileIO.for_url(str(tmp_path))
    (tmp_path / "empty").mkdir()
    store.create(f"{store.root}/full/x", b"")
    remover = FileRemover(store)
    assert remover.remove_empty_directories([f"{store.root}/full", f"{store.root}/empty"]) == 1
    assert (tmp_path / "full").exists()


def test_a_name_with_two_dots_inside_is_no_way_out(store: FileIO) -> None:
    store.create(f"{store.root}/v1..2", b"x")
    assert store.read(f"{store.root}/v1..2") == b"x"


def test_only_a_local_store_has_native_paths(tmp_path: Path) -> None:
    local, memory = FileIO.for_url(str(tmp_path)), FileIO.for_url("memory://w")
    assert local.is_local
    assert local.native_path(f"{local.root}/x") == f"{tmp_path}/x"
    assert local.url(f"{local.root}/x") == f"file://{tmp_path}/x"
    assert not memory.is_local
    assert memory.url("/w/x") == "memory:///w/x"
    with pytest.raises(InvalidInput):
        memory.native_path("/w/x")


def test_the_host_of_hdfs_is_no_part_of_its_paths() -> None:
    store = FileIO.for_url("webhdfs://node:9870/warehouse/", {"user": "ann"})
    assert store.root == "/warehouse"
    assert store.url(f"{store.root}/x") == "webhdfs://node:9870/warehouse/x"


def test_a_url_in_metadata_is_turned_into_a_path(tmp_path: Path) -> None:
    assert FileIO.for_url(str(tmp_path)).path_of("file:/data/x.parquet") == "/data/x.parquet"


@pytest.mark.parametrize("location", ["s3://bucket/x.parquet", "memory:/x.parquet"])
def test_a_url_of_another_store_is_refused(tmp_path: Path, location: str) -> None:
    with pytest.raises(InvalidInput, match="lies in another store") as caught:
        FileIO.for_url(str(tmp_path)).path_of(location)
    assert caught.value.kind is ErrorKind.UNSUPPORTED


def test_a_relative_path_is_taken_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert FileIO.for_url("warehouse").root == f"{tmp_path}/warehouse"


def test_a_store_whose_package_is_missing_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr("branch_console.storage.store_urls.fsspec.filesystem", missing)
    with pytest.raises(InvalidInput, match=r"paimon-branch-console\[s3\]") as caught:
        FileIO.for_url("s3://bucket/wh")
    assert caught.value.facts["extra"] == "s3"


@pytest.mark.parametrize(
    ("url", "message"),
    [("", "no URL"), ("zz://b/w", "No store has the scheme 'zz'"), ("/a/../b", "leave")],
)
def test_a_url_that_can_never_be_right_is_refused(url: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        FileIO.for_url(url)


def test_a_store_that_fails_is_a_storage_error_with_the_path(tmp_path: Path) -> None:
    store = FileIO.for_url(str(tmp_path))
    name = "x" * 300
    with pytest.raises(StorageError, match=name) as caught:
        store.read(f"{store.root}/{name}")
    assert caught.value.kind is ErrorKind.STORE_UNREACHABLE


def test_a_file_removed_during_a_listing_is_left_out(tmp_path: Path) -> None:
    store = FileIO.for_url(str(tmp_path))
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    assert store.list(store.root) == []


class PartsGone:
    """A store that does not find the parts of a file: it has them, or it has no such bucket."""

    def __init__(self, *, has_bucket: bool) -> None:
        self._has_bucket = has_bucket

    def pipe_file(self, path: str, data: bytes, mode: str) -> None:
        raise FileNotFoundError(f"{mode} {path}: {len(data)}")

    def exists(self, path: str) -> bool:
        return path == "bucket" and self._has_bucket


def test_a_publish_whose_parts_are_not_found_may_have_been_carried_out() -> None:
    path = "bucket/wh/x"
    store = FileIO(PartsGone(has_bucket=True), "s3", "bucket/wh")
    assert publisher_for(store).publish(path, b"1") is Published.UNKNOWN
    store = FileIO(PartsGone(has_bucket=False), "s3", "bucket/wh")
    with pytest.raises(StorageError, match="'bucket' does not exist"):
        publisher_for(store).publish(path, b"1")


@pytest.mark.parametrize("remove", [FileRemover.discard, FileRemover.remove_together])
def test_of_many_files_that_go_in_any_order_those_that_were_there_are_counted(
    store: FileIO, remove: Callable[[FileRemover, list[str]], int]
) -> None:
    made = [f"{store.root}/d/{number}" for number in range(100)]
    for path in made[::2]:
        store.create(path, b"")
    assert remove(FileRemover(store), made) == 50
    assert not store.names(f"{store.root}/d")


def test_files_that_are_removed_for_good_go_in_the_order_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, gone = FileIO.for_url(str(tmp_path)), list[str]()
    monkeypatch.setattr(store, "remove", lambda path: not gone.append(path))
    paths = [f"{store.root}/{number}" for number in (7, *range(100))]
    assert FileRemover(store).remove(paths) == 101
    assert gone == paths
