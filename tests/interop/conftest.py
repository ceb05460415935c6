"""What the tests against the Java library share: one JVM per process, one Paimon version in it."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from zlib import crc32

import pytest

from tests.interop.shards import TABLES, shard_of
from tests.support.below import items_below
from tests.support.examples import Examples
from tests.support.java_paimon import JavaPaimon
from tests.support.requirements import need_java_paimon
from tests.support.warehouses import VERSIONS, FixtureWarehouse

_HERE = Path(__file__).parent


# Also where this folder is named, and xdist would look at the groups before.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = items_below(_HERE, items)
    left_out = set(filter(_is_of_another_version, here))
    if left_out:
        config.hook.pytest_deselected(items=[item for item in here if item in left_out])
        items[:] = [item for item in items if item not in left_out]
    # A JVM takes seconds to warm up: the tests of a group share it. In one group they would be
    # what a run waits for at its end.
    for item in here:
        if item.get_closest_marker("xdist_group") is None:
            group = "java, tables" if shard_of(item.path.name) == TABLES else "java, merges"
            item.add_marker(pytest.mark.xdist_group(group))


def _is_of_another_version(item: pytest.Item) -> bool:
    """Whether a cell that the versions of Paimon share between them is another one's to write."""
    if item.get_closest_marker("shared_cells") is None or item.config.getoption("depth") == "long":
        return False
    share = crc32(item.name.encode()) % len(VERSIONS)
    return share != VERSIONS.index(item.config.getoption("paimon"))


@pytest.fixture(scope="session")
def examples(examples: Examples) -> Examples:
    """The share of one version: each tries cases of its own."""
    return replace(examples, parts=len(VERSIONS))


@pytest.fixture
def rng(seed: int, paimon_version: str, request: pytest.FixtureRequest) -> Random:
    """Randomness of one test, another one for each version."""
    print(f"--seed {seed}")
    return Random(f"{seed} {request.node.nodeid} {paimon_version}")


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
