"""A disk that is full from some write on: what is told then is so, and recovery ends it."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from branch_console.commit.journal import Journal
from branch_console.errors import StorageError
from tests.support.branch_bench import NOW, BranchBench
from tests.support.lifecycle import metadata, run

VERBS = {
    "fast_forward": {"branch": "dev"},
    "create_branch": {"branch": "new", "tag": "v1"},
    "drop_branch": {"branch": "dev"},
    "rename_branch": {"branch": "dev", "to": "fix"},
    "create_tag": {"tag": "v2"},
    "replace_main": {"branch": "dev"},
    "rollback": {"snapshot": 1},
}
LATER = NOW + 3_600_000


def bench_in(root: Path) -> BranchBench:
    bench = BranchBench(root)
    bench.append("a")
    bench.tag("v1")
    bench.append("b")
    bench.branch("dev")
    bench.append("c", branch="dev")
    return bench


@contextmanager
def full_after(monkeypatch: pytest.MonkeyPatch, writes: int) -> Iterator[None]:
    """The disk takes so many writes, and no more."""
    write, left = os.write, iter(range(writes))

    def one(descriptor: int, data: bytes) -> int:
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", one)
        yield


def failure_of(call: Callable[[], object]) -> StorageError | None:
    try:
        call()
    except StorageError as error:
        return error
    return None


@pytest.mark.parametrize("name", VERBS)
def test_who_is_told_that_nothing_was_done_finds_nothing_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    told = []
    for writes in range(100):
        bench = bench_in(tmp_path / str(writes))
        before = metadata(bench)
        with full_after(monkeypatch, writes):
            failure = failure_of(partial(run, bench, name, **VERBS[name]))
        if failure is None:
            break
        told.append(failure.message)
        assert "No space left on device" in failure.message
        if "was cut off" in failure.message:
            assert "Nothing was published" not in failure.message
            run(bench, "recover", "later", now=LATER)
        else:
            assert metadata(bench) == before
        assert Journal(bench.store, bench.table().paths).unfinished() == ()
    assert any("was cut off" in each for each in told)
