"""What the reliability tests share: a folder where waiting for the disk is free."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.reliability.worlds import World

_MEMORY = Path("/dev/shm")


@pytest.fixture(scope="module")
def memory_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder on a file system in memory where the machine has one, gone after the module."""
    if not (_MEMORY.is_dir() and os.access(_MEMORY, os.W_OK)):
        yield tmp_path_factory.mktemp("reliability")
        return
    path = Path(tempfile.mkdtemp(prefix="branch-console-", dir=_MEMORY))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def built(memory_path: Path) -> Callable[[World], Path]:
    """Builds each world once; what changes it works on a copy."""

    def build(world: World) -> Path:
        root = memory_path / world.__name__
        if not root.exists():
            root.mkdir()
            world(root)
        return root

    return build
