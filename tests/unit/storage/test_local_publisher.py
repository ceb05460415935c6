"""A folder that is not there yet appears with all of its files at once, or they come one by one."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.errors import StorageError
from branch_console.storage.directory_mover import rename_without_replacing
from branch_console.storage.file_io import FileIO
from branch_console.storage.file_publisher import Published
from branch_console.storage.local_publisher import LocalPublisher
from branch_console.storage.publishers import publisher_for

_NAMES = ("schema/schema-0", "schema/schema-1", "tag/tag-v1", "snapshot/snapshot-1")


@pytest.fixture
def store(tmp_path: Path) -> FileIO:
    return FileIO.for_url(str(tmp_path))


@pytest.fixture
def branch(tmp_path: Path) -> Path:
    return tmp_path / "t" / "branch" / "branch-dev"


def _files(branch: Path) -> list[tuple[str, bytes]]:
    return [(f"{branch}/{name}", name.encode()) for name in _NAMES]


def _found(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


_WHOLE = {name: name.encode() for name in _NAMES}


def test_a_new_folder_is_whole_when_it_appears(store: FileIO, branch: Path) -> None:
    seen: list[tuple[bool, dict[str, bytes]]] = []

    def rename(source: bytes, target: bytes) -> int:
        assert os.fsdecode(target) == str(branch)
        seen.append((branch.exists(), _found(Path(os.fsdecode(source)))))
        return rename_without_replacing(source, target)

    outcomes = LocalPublisher(store, rename=rename).publish_in_order(_files(branch))
    assert outcomes == [Published.WON] * 4
    assert seen == [(False, _WHOLE)]
    assert _found(branch) == _WHOLE
    assert [each.name for each in branch.parent.iterdir()] == ["branch-dev"]


def test_files_ahead_of_a_new_folder_have_their_names_before_it(
    store: FileIO, branch: Path, tmp_path: Path
) -> None:
    tag = tmp_path / "t" / "tag" / "tag-base"
    publisher = publisher_for(store)
    assert publisher.publish(str(tag), b"theirs") is Published.WON
    files = [(str(tag), b"ours"), *_files(branch)]
    assert publisher.publish_in_order(files) == [Published.LOST]
    assert not branch.exists()
    assert list(branch.parent.iterdir()) == []


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EINVAL, errno.EIO])
def test_where_folders_cannot_be_renamed_files_come_one_by_one(
    store: FileIO, branch: Path, code: int
) -> None:
    publisher = LocalPublisher(store, rename=lambda *_: code)
    assert publisher.publish_in_order(_files(branch)) == [Published.WON] * 4
    assert _found(branch) == _WHOLE
    assert [each.name for each in branch.parent.iterdir()] == ["branch-dev"]


@pytest.mark.parametrize(
    ("taken", "outcomes"),
    [
        (None, [Published.WON] * 4),
        ("snapshot/snapshot-1", [Published.WON] * 3 + [Published.LOST]),
        ("schema/schema-1", [Published.WON, Published.LOST]),
    ],
)
def test_a_folder_that_somebody_makes_meanwhile_is_never_replaced(
    store: FileIO, branch: Path, taken: str | None, outcomes: list[Published]
) -> None:
    rename = _after(branch, taken)
    assert LocalPublisher(store, rename=rename).publish_in_order(_files(branch)) == outcomes
    won = dict(list(_WHOLE.items())[: outcomes.count(Published.WON)])
    assert _found(branch) == won | ({} if taken is None else {taken: b"theirs"})
    assert [each.name for each in branch.parent.iterdir()] == ["branch-dev"]


def _after(branch: Path, taken: str | None) -> Callable[[bytes, bytes], int]:
    """The real rename, once somebody made the folder, and perhaps a file in it."""

    def late(source: bytes, target: bytes) -> int:
        branch.mkdir()
        if taken is not None:
            (branch / taken).parent.mkdir()
            (branch / taken).write_bytes(b"theirs")
        return rename_without_replacing(source, target)

    return late


def test_a_folder_that_cannot_be_written_leaves_nothing(
    store: FileIO, branch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError("input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StorageError, match="Nothing was published"):
        publisher_for(store).publish_in_order(_files(branch))
    assert list(branch.parent.iterdir()) == []


def test_a_folder_for_reading_only_is_told_by_its_name_alone(
    store: FileIO, branch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbid(_: int) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", ".temporary.tmp")

    monkeypatch.setattr(os, "fsync", forbid)
    with pytest.raises(StorageError) as caught:
        publisher_for(store).publish_in_order(_files(branch))
    assert caught.value.message.endswith(
        "cannot be written: Permission denied. Nothing was published."
    )
