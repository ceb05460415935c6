"""What was acknowledged outlives a crash of the machine: the file and its name are synced first."""

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

from branch_console.errors import StorageError
from branch_console.storage import durable, file_system
from branch_console.storage.durable import write_all
from branch_console.storage.file_io import FileIO
from branch_console.storage.file_publisher import Published
from branch_console.storage.local_publisher import LocalPublisher
from branch_console.storage.publishers import publisher_for


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of everything that is synced, in order."""
    paths: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        paths.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    return paths


def test_a_data_file_is_on_the_disk_before_its_writer_goes_on(
    tmp_path: Path, synced: list[str]
) -> None:
    store = FileIO.for_url(str(tmp_path))
    path = f"{store.root}/pt=1/bucket-0/data-1.parquet"
    store.create(path, b"rows")
    # The file, its name, and the names of the folders that were made for it.
    assert synced.index(path) < synced.index(f"{tmp_path}/pt=1/bucket-0")
    assert {f"{tmp_path}", f"{tmp_path}/pt=1"} <= set(synced)


def test_a_published_file_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, synced: list[str]
) -> None:
    store = FileIO.for_url(str(tmp_path))
    assert publisher_for(store).publish(f"{store.root}/s/snapshot-1", b"1") is Published.WON
    *before, folder = synced
    assert folder == f"{tmp_path}/s"
    assert any(".snapshot-1." in path for path in before)


_UUID = "0f3c7a52-9d1e-4b6a-8c11-2f5e9a7b3d40"


def test_manifests_are_on_the_disk_with_their_names_before_the_snapshot_has_its_own(
    tmp_path: Path, synced: list[str]
) -> None:
    store = FileIO.for_url(str(tmp_path))
    manifests = [f"{store.root}/t/manifest/manifest-{_UUID}-{number}" for number in range(3)]
    snapshot = f"{store.root}/t/snapshot/snapshot-1"
    seen: list[set[str]] = []

    def link(source: str, target: str) -> None:
        seen.append(set(synced))
        os.link(source, target)

    publisher = LocalPublisher(store, link=link)
    files = [(path, b"entries") for path in manifests]
    assert publisher.publish_in_order([*files, (snapshot, b"1")]) == [Published.WON] * 4
    assert [store.read(path) for path in manifests] == [b"entries"] * 3
    (durable,) = seen
    assert {*manifests, f"{tmp_path}/t/manifest", f"{tmp_path}/t", f"{tmp_path}"} <= durable
    assert synced[-1] == f"{tmp_path}/t/snapshot"


def test_others_are_told_of_names_that_can_be_seen_before_these_are_durable(
    tmp_path: Path, synced: list[str]
) -> None:
    store = FileIO.for_url(str(tmp_path))
    path = f"{store.root}/s/snapshot-1"
    told: list[tuple[bool, bool]] = []

    def tell() -> None:
        told.append((store.exists(path), f"{tmp_path}/s" in synced))

    assert publisher_for(store).publish_in_order([(path, b"1")], tell) == [Published.WON]
    assert synced[-1] == f"{tmp_path}/s"
    assert publisher_for(store).publish_in_order([(path, b"2")], tell) == [Published.LOST]
    assert told == [(True, False)]


def test_a_manifest_that_could_not_be_synced_does_not_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a failed sync left looks whole to who reads it, and is not on the disk.
    store = FileIO.for_url(str(tmp_path))
    path = f"{store.root}/t/manifest/manifest-{_UUID}-0"

    def fail(_: int) -> None:
        raise OSError("input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", fail)
        with pytest.raises(StorageError, match="Nothing was published"):
            # The folders are made, and not known to be durable.
            publisher_for(store).publish_in_order([(path, b"entries"), (f"{path}0", b"more")])
    assert not store.exists(path)
    assert publisher_for(store).publish(path, b"entries") is Published.WON


def test_a_manifest_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    store = FileIO.for_url(str(tmp_path))
    path = f"{store.root}/t/manifest/manifest-{_UUID}-0"
    assert publisher_for(store).publish(path, b"first") is Published.WON
    assert publisher_for(store).publish(path, b"second") is Published.LOST
    assert store.read(path) == b"first"


def test_many_files_are_synced_each_and_by_few_threads(
    tmp_path: Path, synced: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_system, "suits_one_sync", lambda _: False)
    files = [(tmp_path / f"file-{number}", b"%d" % number) for number in range(300)]
    write_all(files, [tmp_path])
    assert sorted(synced) == sorted([str(path) for path, _ in files] + [str(tmp_path)])
    assert [path.read_bytes() for path, _ in files] == [data for _, data in files]
    assert len([each for each in threading.enumerate() if each.name.startswith("sync")]) <= 16


@pytest.mark.parametrize("count", [7, 8, 300])
def test_many_files_are_synced_with_their_file_system_where_that_is_known_and_sooner(
    count: int, tmp_path: Path, synced: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    whole: list[set[str]] = []

    def suits(folders: Iterable[str]) -> bool:
        asked.append(sorted(folders))
        return True

    def sync(descriptor: int) -> None:
        assert stat.S_ISDIR(os.fstat(descriptor).st_mode)
        whole.append({each.name for each in (tmp_path / "files").iterdir()})

    monkeypatch.setattr(file_system, "suits_one_sync", suits)
    monkeypatch.setattr(file_system, "sync_file_system", sync)
    (tmp_path / "files").mkdir()
    files = [(tmp_path / "files" / f"file-{number}", b"%d" % number) for number in range(count)]
    write_all(files, [tmp_path])
    assert [path.read_bytes() for path, _ in files] == [data for _, data in files]
    if count < 8:
        assert len(synced) == count + 1
        assert not whole
        return
    # All that was written was there when the one sync began.
    assert asked == [sorted([str(tmp_path), f"{tmp_path}/files"])]
    assert whole == [{path.name for path, _ in files}]
    assert synced == []


def test_a_file_system_that_cannot_be_synced_fails_the_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError("input/output error")

    monkeypatch.setattr(file_system, "suits_one_sync", lambda _: True)
    monkeypatch.setattr(file_system, "sync_file_system", fail)
    store = FileIO.for_url(str(tmp_path))
    files = [(f"{store.root}/s/snapshot-{number}", b"1") for number in range(40)]
    with pytest.raises(StorageError, match="Nothing was published"):
        publisher_for(store).publish_in_order(files)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_made_fails_the_write_of_all_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, whole = durable._create, []

    def fail_late(path: str | Path) -> int:
        if "snapshot-50." in str(path):
            raise OSError("no space left on device")
        return make(path)

    monkeypatch.setattr(durable, "_create", fail_late)
    monkeypatch.setattr(file_system, "suits_one_sync", lambda _: True)
    monkeypatch.setattr(file_system, "sync_file_system", whole.append)
    store = FileIO.for_url(str(tmp_path))
    (tmp_path / "s").mkdir()
    files = [(f"{store.root}/s/snapshot-{number}", b"1") for number in range(60)]
    with pytest.raises(StorageError, match=r"no space left.*Nothing was published"):
        publisher_for(store).publish_in_order(files)
    assert list((tmp_path / "s").iterdir()) == []
    assert not whole


def test_a_sync_that_fails_in_another_thread_fails_the_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_elsewhere(_: int) -> None:
        if threading.current_thread() is not threading.main_thread():
            raise OSError("input/output error")

    monkeypatch.setattr(os, "fsync", fail_elsewhere)
    with pytest.raises(OSError, match="input/output error"):
        write_all([(tmp_path / name, b"") for name in "ab"])


_FORKED: Final = """
import os, signal, sys
from pathlib import Path
from branch_console.storage.durable import write_all

folder = Path(sys.argv[1])
write_all([(folder / name, b"") for name in "ab"])
if not (child := os.fork()):
    signal.alarm(30)
    write_all([(folder / name, b"") for name in "cd"])
    os._exit(0)
sys.exit(os.waitpid(child, 0)[1])
"""


def test_a_forked_process_syncs_with_threads_of_its_own(tmp_path: Path) -> None:
    # A process of the tests may hold a JVM, which does not live through a fork.
    command = [sys.executable, "-W", "ignore", "-c", _FORKED, str(tmp_path)]
    subprocess.run(command, check=True)
    assert {each.name for each in tmp_path.iterdir()} == set("abcd")
