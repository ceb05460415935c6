"""Tasks list the same files as this process does, and none that is young or named."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from branch_console.errors import StorageError
from branch_console.format.folder_kind import FolderKind
from branch_console.maintenance.file_lister import LISTED_FILES, LocalLister, Wanted
from branch_console.spark.files.file_lister import SparkFileLister
from branch_console.spark.session.session import WarmSession
from branch_console.storage.file_io import FileIO
from branch_console.table.file_columns import name_prints

_OLD, _YOUNG = 1_600_000_000, 1_700_000_000


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, FolderKind]:
    """Two buckets and a folder of manifests, each with an old, a young and a named file."""
    made = {}
    for name, kind in (
        ("pt=1/bucket-0", FolderKind.BUCKET),
        ("pt=2/bucket-0", FolderKind.BUCKET),
        ("manifest", FolderKind.MANIFEST),
        ("not-there", FolderKind.INDEX),
    ):
        made[str(tmp_path / name)] = kind
        if kind is FolderKind.INDEX:
            continue
        for file, seconds in (("old", _OLD), ("young", _YOUNG), ("named", _OLD)):
            path = tmp_path / name / f"{file}-{name[:4].replace('/', '')}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"0123456789")
            os.utime(path, (seconds, seconds))
    return made


@pytest.fixture
def wanted() -> Wanted:
    named = ["named-pt=1", "named-pt=2", "named-mani"]
    prints = name_prints(pa.chunked_array([pa.array(named)]))
    return Wanted(before_millis=_YOUNG * 1_000, named=np.unique(prints))


def test_tasks_list_what_this_process_lists(
    session: WarmSession, tmp_path: Path, folders: dict[str, FolderKind], wanted: Wanted
) -> None:
    store = FileIO.for_url(str(tmp_path))
    near = LocalLister().list(store, folders, wanted)
    assert sorted(Path(path).name for path in near["path"].to_pylist()) == [
        "old-mani",
        "old-pt=1",
        "old-pt=2",
    ]
    found = SparkFileLister(lambda: session, store, least_folders=1).list(store, folders, wanted)
    assert found.schema == LISTED_FILES
    assert found.sort_by("path").to_pylist() == near.sort_by("path").to_pylist()


def test_a_store_that_does_not_answer_a_task_ends_the_listing(
    session: WarmSession, tmp_path: Path, folders: dict[str, FolderKind], wanted: Wanted
) -> None:
    # A file where a folder is looked for: on this machine it has no children.
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    store = FileIO.for_url(str(tmp_path))
    lister = SparkFileLister(lambda: session, store, least_folders=1)
    with pytest.raises(StorageError, match=r"No file was removed; try again\."):
        lister.list(store, {**folders, str(tmp_path / "loop"): FolderKind.BUCKET}, wanted)


def test_few_folders_and_near_ones_need_no_session(
    tmp_path: Path, folders: dict[str, FolderKind], wanted: Wanted
) -> None:
    def no_session() -> WarmSession:
        raise AssertionError("a session was opened")

    store = FileIO.for_url(str(tmp_path))
    assert SparkFileLister(no_session, store).list(store, folders, wanted).num_rows == 3
