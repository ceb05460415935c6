"""What is asked aside helps where it comes in time, and else is left out."""

import threading
import time

import pytest

from branch_console.errors import StorageError
from branch_console.storage import parallel_io
from branch_console.storage.parallel_io import aside, many_side_by_side


def test_what_was_asked_aside_is_handed_out() -> None:
    assert aside(lambda: (1, 2))() == (1, 2)


@pytest.mark.parametrize("error", [StorageError("gone"), ValueError("odd")])
def test_what_fails_aside_is_left_out(error: Exception) -> None:
    def fail() -> int:
        raise error

    assert aside(fail)() is None


def test_what_takes_long_aside_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_io, "_PATIENCE_SECONDS", 0.01)
    gate = threading.Event()
    began = time.monotonic()
    assert aside(gate.wait)() is None
    assert time.monotonic() - began < 5
    gate.set()


def test_many_do_not_wait_for_each_other() -> None:
    gate = threading.Barrier(4, timeout=30)

    def call(item: int) -> int:
        if item < 4:
            gate.wait()  # lets nobody through before four are there
        return -item

    assert many_side_by_side(call, range(100)) == [-item for item in range(100)]


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 47, 48])
def test_what_many_return_stands_in_their_order(count: int) -> None:
    assert many_side_by_side(str, range(count)) == [str(item) for item in range(count)]


def test_an_error_of_one_of_many_is_told() -> None:
    def call(item: int) -> None:
        if item == 40:
            raise StorageError("gone")

    with pytest.raises(StorageError, match="gone"):
        many_side_by_side(call, range(64))
