"""The tests of a folder, for hooks that pytest calls with all tests of a run."""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest


def items_below(folder: Path, items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the items that lie in a folder; a run has thousands, of a few hundred files."""
    prefix = f"{folder}{os.sep}"
    return [item for item in items if str(item.path).startswith(prefix)]
