"""What the reliability tests share: a folder, worlds that are built once, and equal names."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.reliability.worlds import World
from tests.support.repeatable import Repeatable


@pytest.fixture(scope="module")
def memory_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the module, in memory where the machine has room for files there."""
    return tmp_path_factory.mktemp("reliability")


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


@pytest.fixture
def repeatable(monkeypatch: pytest.MonkeyPatch) -> Repeatable:
    """Gives what each kind of run writes the same names each time."""
    return Repeatable(monkeypatch)
