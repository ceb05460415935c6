"""What was acknowledged outlives a crash of the machine: the file and its name are synced first."""

import os
from pathlib import Path

import pytest

from core.storage.file_io import FileIO
from core.storage.file_publisher import Published, publisher_for


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
