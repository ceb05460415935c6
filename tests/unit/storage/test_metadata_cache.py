"""Immutable metadata is fetched once, on disk and decoded, within bounds."""

import os
import time
from multiprocessing.pool import ThreadPool
from pathlib import Path

import pytest

from branch_console.errors import NotFound
from branch_console.storage.file_io import FileIO
from branch_console.storage.metadata_cache import MetadataCache, MetadataReader


class Counter:
    """Counts how often something was fetched."""

    def __init__(self, data: bytes = b"x") -> None:
        self.calls = 0
        self._data = data

    def __call__(self) -> bytes:
        self.calls += 1
        return self._data


def test_bytes_are_fetched_once_also_for_another_process(tmp_path: Path) -> None:
    fetch = Counter(b"manifest")
    assert MetadataCache(tmp_path).get("k", fetch) == b"manifest"
    assert MetadataCache(tmp_path).get("k", fetch) == b"manifest"
    assert Path(MetadataCache(tmp_path).file("k", fetch)).read_bytes() == b"manifest"
    assert fetch.calls == 1


def test_a_look_at_a_file_far_away_brings_its_bytes_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileIO.for_url(f"memory://{tmp_path}")
    path = f"{store.root}/snapshot-1"
    reader, asked = MetadataReader(store), []
    for name in ("read", "status"):
        ask = getattr(FileIO, name)
        monkeypatch.setattr(
            FileIO, name, lambda *given, ask=ask, name=name: asked.append(name) or ask(*given)
        )
    assert reader.find_status(path) is None
    for content in (b"old", b"new", b"new"):
        store.replace(path, content)
        status = reader.find_status(path)
        assert status is not None
        assert (status.name, status.size, status.is_directory) == ("snapshot-1", 3, False)
        assert reader.decode(status, bytes.decode) == content.decode()
    assert asked == ["read"] * 4


def test_a_fetch_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> bytes:
        raise NotFound("gone")

    with pytest.raises(NotFound):
        MetadataCache(tmp_path).get("k", fail)
    assert MetadataCache(tmp_path).get("k", Counter(b"y")) == b"y"


def test_what_was_used_longest_ago_goes_when_there_is_too_much(tmp_path: Path) -> None:
    cache = MetadataCache(tmp_path, max_bytes=1000)
    for number in range(20):
        cache.get(f"k{number}", Counter(b"x" * 100))
        long_ago = time.time() - 10_000 + number
        os.utime(cache.file(f"k{number}", Counter()), (long_ago, long_ago))
    kept = sum(path.stat().st_size for path in tmp_path.glob("??/*"))
    assert kept <= 1000
    newest, oldest = Counter(), Counter()
    cache.get("k19", newest)
    cache.get("k0", oldest)
    assert (newest.calls, oldest.calls) == (0, 1)


def test_a_file_just_used_is_not_taken_from_another_process(tmp_path: Path) -> None:
    cache = MetadataCache(tmp_path, max_bytes=100)
    files = [cache.file(f"k{number}", Counter(b"x" * 100)) for number in range(5)]
    assert all(Path(file).exists() for file in files)


def test_many_readers_of_one_folder_all_get_their_bytes(tmp_path: Path) -> None:
    def read(number: int) -> list[bytes]:
        cache = MetadataCache(tmp_path, max_bytes=300)
        return [
            cache.get(f"k{key}", Counter(b"%d" % key * 50))
            for key in (number, *range(12), *reversed(range(12)))
        ]

    with ThreadPool(8) as pool:
        for number, found in enumerate(pool.map(read, range(8))):
            keys = (number, *range(12), *reversed(range(12)))
            assert found == [b"%d" % key * 50 for key in keys]


def test_a_temporary_cache_goes_with_its_owner() -> None:
    cache = MetadataCache.temporary()
    path = Path(cache.file("k", Counter()))
    assert path.exists()
    del cache
    assert not path.exists()


def test_a_local_store_is_read_in_place(tmp_path: Path) -> None:
    store = FileIO.for_url(str(tmp_path / "store"))
    store.create(f"{store.root}/m", b"1")
    reader = MetadataReader(store, MetadataCache(tmp_path / "cache"))
    assert reader.read_immutable(f"{store.root}/m") == b"1"
    assert reader.local_files([f"{store.root}/m"]) == [f"{tmp_path}/store/m"]
    assert not (tmp_path / "cache").exists()


def test_a_far_store_is_read_once(tmp_path: Path) -> None:
    store = FileIO.for_url(f"memory://{tmp_path}")
    paths = [f"{store.root}/m{number}" for number in range(3)]
    for path in paths:
        store.create(path, path.encode())
    files = MetadataReader(store, MetadataCache(tmp_path / "cache")).local_files(paths)
    assert [Path(file).read_bytes().decode() for file in files] == paths
    for path in paths:
        store.remove(path)
    again = MetadataReader(store, MetadataCache(tmp_path / "cache"))
    assert [again.read_immutable(path).decode() for path in paths] == paths


@pytest.mark.parametrize("scheme", ["", "memory://"])
def test_a_path_that_is_used_again_is_decoded_again(tmp_path: Path, scheme: str) -> None:
    # A rollback frees snapshot ids, and the next commit writes other bytes under them.
    store = FileIO.for_url(f"{scheme}{tmp_path}/wh")
    reader = MetadataReader(store, MetadataCache(tmp_path / "cache"))
    path = f"{store.root}/snapshot-1"
    for data in (b"one", b"another"):
        store.replace(path, data) if store.exists(path) else store.create(path, data)
        (status,) = store.list(store.root)
        assert reader.decode(status, bytes.upper) == data.upper()


def test_each_version_is_decoded_once(tmp_path: Path) -> None:
    store = FileIO.for_url(str(tmp_path))
    store.create(f"{store.root}/s", b"x")
    (status,) = store.list(store.root)
    reader = MetadataReader(store)
    decoded = []

    def decode(data: bytes) -> str:
        decoded.append(data)
        return data.decode()

    assert [reader.decode(status, decode) for _ in range(3)] == ["x"] * 3
    assert decoded == [b"x"]
