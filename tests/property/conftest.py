"""Fixtures of the laws."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.merge_walk import Walk

if TYPE_CHECKING:
    # A conftest of a folder that is named on the command line is imported before the depth is
    # known, by which these steps choose how many examples are tried.
    from tests.property.walk_steps import Walks


@pytest.fixture
def walks(tmp_path: Path) -> Walks:
    """Begins walks, each from a copy of where the first of its kind began."""
    numbers = itertools.count()
    begun: dict[type[Walk], Walk] = {}
    folders: list[Path] = []

    def begin(kind: type[Walk]) -> Walk:
        if kind not in begun:
            begun[kind] = kind(tmp_path / kind.__name__)
            begun[kind].start()
        # Of thousands of examples only the last one has to be there.
        while folders:
            shutil.rmtree(folders.pop())
        folders.append(tmp_path / str(next(numbers)))
        return begun[kind].twin(folders[-1] / "walk")

    return begin
