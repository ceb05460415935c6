from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from core.procedures.warehouse import Warehouse
from core.spark.session import SparkSettings, WarmSession, open_session
from tests.support.examples import Examples
from tests.support.warehouses import VERSIONS
from tests.support.warm_up import warm_up


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmSession]:
    """The one session of a test process; its tests share the group `spark`."""
    cache = tmp_path_factory.mktemp("cache")
    opened = open_session(SparkSettings(master="local[2]", memory="2g", cache=cache))
    warm_up(opened)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def demo(demo_warehouse: Path) -> Warehouse:
    """The demo's warehouse; copy it before changing it."""
    return Warehouse.open(str(demo_warehouse))


@pytest.fixture(scope="session")
def java_versions(examples: Examples) -> Sequence[str]:
    """The versions of Java that read what a test wrote: a quick run starts one."""
    return VERSIONS[:1] if examples.depth == "quick" else VERSIONS


# Also where this folder is named, and xdist would look at the groups before.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))
