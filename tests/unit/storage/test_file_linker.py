"""Hard links as copies: where they work, where not, and what stays as it is."""

import errno
import os
from pathlib import Path

import pytest

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.branch.data_copy import copy_data_files
from branch_console.storage.file_io import FileIO
from branch_console.storage.file_linker import Linked, LocalFileLinker, NoLinks, linker_for


@pytest.fixture
def file_io(tmp_path: Path) -> FileIO:
    return FileIO.for_url(str(tmp_path / "warehouse"))


def data_file(file_io: FileIO, name: str) -> Path:
    path = Path(file_io.root) / "t" / "bucket-0" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"rows")
    return path


def test_a_link_is_the_same_file_and_outlives_its_first_name(file_io: FileIO) -> None:
    first = data_file(file_io, "data-a")
    second = first.parent.parent / "bucket-1" / "data-b"
    linker = linker_for(file_io)
    assert linker.link(str(first), str(second)) is Linked.DONE
    assert linker.link(str(first), str(second)) is Linked.DONE
    assert first.samefile(second)
    first.unlink()
    assert second.read_bytes() == b"rows"


def test_a_name_that_is_taken_is_left_alone(file_io: FileIO) -> None:
    first, other = data_file(file_io, "data-a"), data_file(file_io, "data-b")
    other.write_bytes(b"more")
    assert linker_for(file_io).link(str(first), str(other)) is Linked.UNSUPPORTED
    assert other.read_bytes() == b"more"


def test_what_cannot_be_linked_is_copied(file_io: FileIO, tmp_path: Path) -> None:
    first = data_file(file_io, "data-a")

    def refuse(_source: str, _name: str) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    linker = LocalFileLinker(file_io, refuse)
    copy = first.with_name("data-b")
    assert linker.link(str(first), str(copy)) is Linked.UNSUPPORTED
    store = CommitStore.of(file_io)
    other = CommitStore(
        files=store.files,
        publisher=store.publisher,
        remover=store.remover,
        mover=store.mover,
        linker=linker,
    )
    copy_data_files(other, [(str(first), str(copy))])
    assert copy.read_bytes() == b"rows"
    assert not copy.samefile(first)
    outside = tmp_path / "data-outside"
    outside.write_bytes(b"rows")
    symbolic = first.with_name("data-c")
    symbolic.symlink_to(first)
    for source in (outside, symbolic):
        name = str(first.with_name("data-d"))
        assert linker_for(file_io).link(str(source), name) is Linked.UNSUPPORTED


def test_only_local_stores_have_links(tmp_path: Path) -> None:
    assert isinstance(linker_for(FileIO.for_url(f"memory://{tmp_path}")), NoLinks)
    store = CommitStore.of(FileIO.for_url(f"memory://{tmp_path}"))
    assert store.linker.link("memory://a", "memory://b") is Linked.UNSUPPORTED
