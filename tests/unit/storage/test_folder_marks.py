"""The marks of folders, which change if a child comes, goes or is renamed."""

import os
import time
from pathlib import Path

from branch_console.storage.file_io import FileIO
from branch_console.storage.listed_once import ListedOnce

_THEN = (1_000, 1_000)


def test_a_folder_of_this_machine_tells_that_a_child_came_or_went(tmp_path: Path) -> None:
    store = FileIO.for_url(str(tmp_path))
    first, other = tmp_path / "first", tmp_path / "other"
    for each in (first, other):
        each.mkdir()
        os.utime(each, _THEN)
    paths = [str(first), str(other), str(tmp_path / "none")]
    before = store.folder_marks(paths)
    assert before[2] is None
    assert before[0] != before[1]
    assert store.folder_marks(paths) == before
    (first / "child").touch()
    with_child = store.folder_marks(paths)
    assert with_child[0] != before[0]
    assert with_child[1:] == before[1:]
    # Asked as of now, also within a decision that lists each folder once.
    within = ListedOnce(store)
    assert within.folder_marks(paths) == with_child
    # Within one tick of its clock a folder tells of one change: who keeps a mark waits for that.
    os.utime(first, _THEN)
    long_ago = within.folder_marks(paths)
    (first / "child").unlink()
    assert within.folder_marks(paths)[0] != long_ago[0]


def test_a_folder_that_a_decision_has_listed_has_no_mark_for_it(tmp_path: Path) -> None:
    store = FileIO.for_url(str(tmp_path))
    for each in ("list", "names", "folder_names"):
        within = ListedOnce(store)
        getattr(within, each)(store.root)
        assert list(within.folder_marks([store.root])) == [None]
        within.look_anew()
        assert within.folder_marks([store.root]) == store.folder_marks([store.root])


def test_a_folder_whose_time_was_set_back_is_told_apart(tmp_path: Path) -> None:
    # As a copy that keeps the times of folders does.
    store = FileIO.for_url(str(tmp_path))
    os.utime(tmp_path, _THEN)
    before = store.folder_marks([store.root])
    time.sleep(0.05)  # a tick of the clock of the file system
    (tmp_path / "child").touch()
    os.utime(tmp_path, _THEN)
    assert store.folder_marks([store.root]) != before


def test_another_folder_of_the_same_name_and_time_is_told_apart(tmp_path: Path) -> None:
    store = FileIO.for_url(str(tmp_path))
    first, other = tmp_path / "first", tmp_path / "other"
    for each in (first, other):
        each.mkdir()
        os.utime(each, _THEN)
    before = store.folder_marks([str(first)])
    first.rename(tmp_path / "away")
    other.rename(first)
    assert first.stat().st_mtime == _THEN[1]
    assert store.folder_marks([str(first)]) != before


def test_folders_of_a_store_of_objects_tell_nothing() -> None:
    store = FileIO.for_url("memory://marks/store")
    store.create(f"{store.root}/deep/1", b"x")
    assert list(store.folder_marks([f"{store.root}/deep", f"{store.root}/none"])) == [None, None]
