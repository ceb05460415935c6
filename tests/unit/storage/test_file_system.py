"""A file system is synced as a whole only where that writes all, tells errors, and is soon done."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import pytest

from branch_console.storage import file_system
from branch_console.storage.file_system import suits_one_sync, sync_file_system

_LITTLE: Final = "MemTotal: 9 kB\nDirty:      12 kB\nWriteback:   0 kB\nWritebackTmp: 0 kB\n"


@pytest.fixture
def tell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Sets what the system tells of the file system of a folder, of itself and its memory."""
    device = tmp_path.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"

    def set_all(kind: str = "ext4", release: str = "6.1.0-13", memory: str = _LITTLE) -> None:
        mounts = (
            f"21 1 0:5 / /proc rw - proc proc rw\n22 1 {number} / /a rw shared:1 - {kind} /dev/b"
        )
        told = {"/proc/self/mountinfo": mounts, "/proc/meminfo": memory}
        monkeypatch.setattr(file_system, "_read_system_file", told.__getitem__)
        monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(release=release))

    file_system._is_known.cache_clear()
    yield set_all
    file_system._is_known.cache_clear()


@pytest.mark.parametrize(
    ("told", "suits"),
    [
        ({}, True),
        ({"kind": "xfs"}, True),
        # It need not reach the server, or what is above it.
        ({"kind": "fuse.sshfs"}, False),
        ({"kind": "nfs4"}, False),
        # Errors of the disk were not told.
        ({"release": "5.4.0-200-generic"}, False),
        ({"release": "unknown"}, False),
        ({"memory": "Dirty: 65536 kB\nWriteback: 0 kB\n"}, True),
        ({"memory": "Dirty: 65000 kB\nWriteback: 800 kB\n"}, False),
        ({"memory": ""}, False),
    ],
    ids=str,
)
def test_where_one_sync_will_do(
    told: dict[str, str], suits: bool, tell: Callable[..., None], tmp_path: Path
) -> None:
    tell(**told)
    assert suits_one_sync([str(tmp_path)]) is suits


def test_folders_of_two_file_systems_do_not_go_together(
    tell: Callable[..., None], tmp_path: Path
) -> None:
    tell()
    assert Path("/proc").stat().st_dev != tmp_path.stat().st_dev
    assert not suits_one_sync([str(tmp_path), "/proc"])


def test_a_sync_tells_what_went_wrong(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    sync_file_system(descriptor)
    os.close(descriptor)
    with pytest.raises(OSError, match="Bad file descriptor"):
        sync_file_system(descriptor)
