"""What the tests against the Java library share: one JVM per process, one Paimon version in it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.java_paimon import JavaPaimon
from tests.support.requirements import need_java_paimon

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # A JVM takes seconds to warm up; in one group all its tests share it.
    for item in items:
        if _HERE in item.path.parents and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group("java"))


@pytest.fixture(scope="session")
def open_java(paimon_version: str) -> Callable[[Path], JavaPaimon]:
    """Opens a warehouse in the Java library; skips where it cannot run."""
    need_java_paimon(paimon_version)
    return lambda warehouse: JavaPaimon(warehouse, paimon_version)


@pytest.fixture
def java(open_java: Callable[[Path], JavaPaimon], tmp_path: Path) -> JavaPaimon:
    """The Java library on an empty warehouse in `tmp_path / "java"`."""
    return open_java(tmp_path / "java")
