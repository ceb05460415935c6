from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from branch_console.procedures.call.warehouse import Warehouse
from branch_console.spark.session.session import SparkSettings, WarmSession, open_session
from tests.support.below import items_below
from tests.support.examples import Examples
from tests.support.warehouses import VERSIONS
from tests.support.warm_up import warm_up

# A module that lets Java read has one of these.
_JAVA: Final = {"JavaPaimon", "read_with_java"}


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmSession]:
    """The one session of a test process."""
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
    for item in items_below(Path(__file__).parent, items):
        item.add_marker(pytest.mark.xdist_group(_group_of(item)))


def _group_of(item: pytest.Item) -> str:
    """Return the group of tests that share a process: two of about equal length share a session.

    What writes is in one of them with what Java reads, whose two versions are started there alone.
    A quick run has too little to do with Spark for starting a second one: it has one group.
    """
    assert isinstance(item, pytest.Function)
    file = item.path.stem
    is_java = not _JAVA.isdisjoint(vars(item.module))
    if not is_java and "session" not in item.fixturenames:
        return f"spark, {file}"
    if item.config.getoption("--depth") == "quick":
        return "spark"
    return "spark, written" if is_java or file.startswith("test_write") else "spark, read"
