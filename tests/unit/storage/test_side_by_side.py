"""What is asked aside helps where it comes in time, and else is left out."""

import threading
import time

import pytest

from branch_console.errors import StorageError
from branch_console.storage import side_by_side
from branch_console.storage.side_by_side import aside


def test_what_was_asked_aside_is_handed_out() -> None:
    assert aside(lambda: (1, 2))() == (1, 2)


@pytest.mark.parametrize("error", [StorageError("gone"), ValueError("odd")])
def test_what_fails_aside_is_left_out(error: Exception) -> None:
    def fail() -> int:
        raise error

    assert aside(fail)() is None


def test_what_takes_long_aside_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "_PATIENCE_SECONDS", 0.01)
    gate = threading.Event()
    began = time.monotonic()
    assert aside(gate.wait)() is None
    assert time.monotonic() - began < 5
    gate.set()
