"""Runs that make the same names at the same time, so that equal states are equal bytes."""

import random
import time
import uuid

import pytest

from branch_console.procedures.merge import deletion_vectors
from branch_console.spark.files import data_files

_NOW_NANOS = time.time_ns()


class Repeatable:
    """Draws the names of what is written from a seed, and stops the clock that snapshots bear."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._random = random.Random()
        for module in (uuid, data_files, deletion_vectors):
            monkeypatch.setattr(module, "uuid4", self._draw)
        monkeypatch.setattr(time, "time_ns", lambda: _NOW_NANOS)

    def begin(self, run: str) -> None:
        """Begin a run: from here on names are those of every other run that is called so."""
        self._random.seed(run)

    def _draw(self) -> uuid.UUID:
        return uuid.UUID(int=self._random.getrandbits(128), version=4)
