"""What the tests against the Java library share: one JVM per process, one Paimon version in it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.java_paimon import JavaPaimon
from tests.support.requirements import need_java_paimon
from tests.support.warehouses import FixtureWarehouse

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


@pytest.fixture
def same_version(request: pytest.FixtureRequest, paimon_version: str) -> FixtureWarehouse:
    """The fixture warehouse that the Paimon version of this process wrote."""
    name = {"1.4.2": "warehouse_142", "2.0.0": "warehouse_200"}[paimon_version]
    warehouse: FixtureWarehouse = request.getfixturevalue(name)
    return warehouse


@pytest.fixture
def own_copy(same_version: FixtureWarehouse, tmp_path: Path) -> FixtureWarehouse:
    """A copy of `same_version` to write to."""
    path = shutil.copytree(same_version.path, tmp_path / "copy")
    return FixtureWarehouse(path=path, version=same_version.version)
