"""A listing leaves out what is young and what is named, and asks of nearly no file about itself."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from branch_console.format.folder_kind import FolderKind
from branch_console.maintenance.file_lister import LocalLister, Wanted
from branch_console.storage.file_io import FileStatus, LocalFileIO
from branch_console.table.file_columns import name_prints

_OLD, _YOUNG = 1_600_000_000, 1_700_000_000
_NAMED = [f"named-{number}" for number in range(50)]


@pytest.fixture
def bucket(tmp_path: Path) -> Path:
    """A folder of the warehouse with files of every sort."""
    made = tmp_path / "warehouse" / "bucket-0"
    (made / "folder").mkdir(parents=True)
    outside = tmp_path / "outside"
    for name in ("old", "old.index", "young", *_NAMED, f"{_NAMED[0]}.index"):
        (made / name).write_bytes(b"0123456789")
    outside.write_bytes(b"0")
    (made / "leads out").symlink_to(outside)
    (made / "leads within").symlink_to(made / "old")
    (made / "leads nowhere").symlink_to(made / "gone")
    (made / "ring").symlink_to(made / "ring")
    (made / os.fsdecode(b"no text \xe9")).write_bytes(b"0")
    for path in (*made.iterdir(), outside):
        if path.exists():
            seconds = _YOUNG if path.name == "young" else _OLD
            os.utime(path, (seconds, seconds))
    return made


@pytest.fixture
def wanted() -> Wanted:
    names = pa.chunked_array([pa.array([*_NAMED, "named and gone"])])
    return Wanted(before_millis=_YOUNG * 1_000, named=np.unique(name_prints(names)))


class Asked(LocalFileIO):
    """A store that notes which files it was asked about."""

    asked: tuple[str, ...] = ()

    def status(self, path: str) -> FileStatus | None:
        """What the store knows of the path."""
        self.asked = (*self.asked, Path(path).name)
        return super().status(path)

    def list(self, path: str) -> list[FileStatus]:
        """The direct children, each asked about."""
        found = super().list(path)
        self.asked = (*self.asked, *(each.name for each in found))
        return found


class Far(LocalFileIO):
    """The same files, where a listing tells all about them."""

    @property
    def is_local(self) -> bool:
        """Whether the operating system can open the paths of this store."""
        return False


def listed(store: type[LocalFileIO], bucket: Path, wanted: Wanted) -> tuple[LocalFileIO, pa.Table]:
    made = LocalFileIO.for_url(str(bucket.parent))
    made.__class__ = store
    assert isinstance(made, store)
    folders = {str(bucket): FolderKind.BUCKET, f"{bucket}/gone": FolderKind.BUCKET}
    return made, LocalLister().list(made, folders, wanted)


def test_files_that_are_named_are_not_asked_about(bucket: Path, wanted: Wanted) -> None:
    store, found = listed(Asked, bucket, wanted)
    names = [Path(path).name for path in found["path"].to_pylist()]
    assert names == ["leads within", "old", "old.index"]
    assert isinstance(store, Asked)
    assert not any(name.startswith("named") for name in store.asked)
    assert len(store.asked) == len(set(store.asked)) < 10


def test_a_near_store_lists_what_a_far_one_does(bucket: Path, wanted: Wanted) -> None:
    near, far = (listed(each, bucket, wanted)[1] for each in (LocalFileIO, Far))
    assert near.to_pylist() == far.to_pylist()
    _, all_near = listed(LocalFileIO, bucket, Wanted.everything())
    _, all_far = listed(Far, bucket, Wanted.everything())
    assert all_near.to_pylist() == all_far.to_pylist()
    assert {"young", *_NAMED} < {Path(path).name for path in all_near["path"].to_pylist()}
