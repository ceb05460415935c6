"""A directory moves whole, in one step, and never onto a name that is taken."""

import errno
import os
import threading
from multiprocessing.pool import ThreadPool
from pathlib import Path

import pytest

from branch_console.errors import InvalidInput, NotFound, StorageError
from branch_console.storage.directory_mover import LocalDirectoryMover, MoveOutcome, mover_for
from branch_console.storage.file_io import FileIO


@pytest.fixture
def store(tmp_path: Path) -> FileIO:
    store = FileIO.for_url(str(tmp_path))
    store.create(f"{store.root}/branch/branch-dev/snapshot/snapshot-1", b"1")
    return store


def test_a_directory_moves_with_all_it_holds(store: FileIO) -> None:
    source, target = f"{store.root}/branch/branch-dev", f"{store.root}/kept/deep/branch-new"
    before = store.status(f"{source}/snapshot/snapshot-1")
    assert mover_for(store).move(source, target) is MoveOutcome.DONE
    after = store.status(f"{target}/snapshot/snapshot-1")
    assert before is not None
    assert after is not None
    assert after.etag == before.etag
    assert not store.exists(source)


@pytest.mark.parametrize("holds", ["nothing", "a file", "is a file"])
def test_a_taken_name_is_refused_also_an_empty_directory(store: FileIO, holds: str) -> None:
    source, target = f"{store.root}/branch/branch-dev", f"{store.root}/branch/branch-new"
    if holds == "is a file":
        store.create(target, b"theirs")
    else:
        store.make_directory(target)
    if holds == "a file":
        store.create(f"{target}/x", b"theirs")
    assert mover_for(store).move(source, target) is MoveOutcome.TAKEN
    assert store.read(f"{source}/snapshot/snapshot-1") == b"1"
    assert [each.name for each in store.list(target)] == (["x"] if holds == "a file" else [])


def test_of_many_that_move_to_one_name_one_does(store: FileIO) -> None:
    mover, rounds, threads = mover_for(store), 20, 4
    for round_ in range(rounds):
        for number in range(threads):
            store.create(f"{store.root}/{round_}-{number}/x", b"%d" % number)
    start = threading.Barrier(threads)

    def race(number: int) -> list[MoveOutcome]:
        start.wait()
        return [
            mover.move(f"{store.root}/{round_}-{number}", f"{store.root}/won-{round_}")
            for round_ in range(rounds)
        ]

    with ThreadPool(threads) as pool:
        outcomes = pool.map(race, range(threads))
    for round_, results in enumerate(zip(*outcomes, strict=True)):
        assert sorted(results) == [MoveOutcome.DONE] + [MoveOutcome.TAKEN] * (threads - 1)
        assert store.read(f"{store.root}/won-{round_}/x") == b"%d" % results.index(MoveOutcome.DONE)


def test_what_is_not_there_cannot_be_moved(store: FileIO) -> None:
    with pytest.raises(NotFound, match="branch-none"):
        mover_for(store).move(f"{store.root}/branch-none", f"{store.root}/branch-x")


@pytest.mark.parametrize(
    ("source", "target"), [("a", "../b"), ("../a", "b"), ("a", "a/b"), ("a/b", "a"), ("a", "a")]
)
def test_a_move_that_can_never_be_right_is_refused(store: FileIO, source: str, target: str) -> None:
    with pytest.raises(InvalidInput):
        mover_for(store).move(f"{store.root}/{source}", f"{store.root}/{target}")


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOSYS, errno.EXDEV])
def test_a_file_system_that_may_overwrite_is_not_asked_to(store: FileIO, code: int) -> None:
    mover = LocalDirectoryMover(store, rename=lambda *_: code)
    source = f"{store.root}/branch/branch-dev"
    assert mover.move(source, f"{store.root}/branch/branch-new") is MoveOutcome.UNSUPPORTED
    assert store.exists(source)


def test_a_move_whose_answer_was_lost_is_an_error_that_names_both(store: FileIO) -> None:
    def moved_but_failed(source: bytes, target: bytes) -> int:
        os.rename(source, target)  # noqa: PTH104
        return errno.EIO

    mover = LocalDirectoryMover(store, rename=moved_but_failed)
    with pytest.raises(StorageError, match=r"branch-dev became .*branch-new is not known"):
        mover.move(f"{store.root}/branch/branch-dev", f"{store.root}/branch/branch-new")


def test_an_object_store_has_no_directories_to_move(tmp_path: Path) -> None:
    store = FileIO.for_url(f"memory://{tmp_path}")
    store.create(f"{store.root}/a/x", b"1")
    assert mover_for(store).move(f"{store.root}/a", f"{store.root}/b") is MoveOutcome.UNSUPPORTED
    assert store.read(f"{store.root}/a/x") == b"1"
