"""Options and fixtures that all tests share; what they build lies in tests/support."""

import gc
import itertools
import os
import random
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.support import quick_java
from tests.support.demo_build import built_demo
from tests.support.golden import Golden
from tests.support.postgres_server import running_postgres
from tests.support.requirements import need_postgres
from tests.support.warehouses import VERSIONS, WRITERS, FixtureWarehouse, unpack

pytest_plugins = [
    "tests.support.depths",
    "tests.support.durations",
    "tests.support.longest_first",
    "tests.support.shared_bytecode",
]

# A run starts hundreds of processes. Where bytecode may not be written, each would compile the
# project anew, and each worker of xdist all tests as well: a minute of processor time and more.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

_MEMORY = Path("/dev/shm")
_ROOM_BYTES = 4 << 30
_YOUNG_OBJECTS = 35_000
_NO_NAME = re.compile(r"\W")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("branch console")
    group.addoption("--update-golden", action="store_true", help="write expected files anew")
    group.addoption("--paimon", choices=VERSIONS, default=VERSIONS[0], help="version of the oracle")
    group.addoption("--seed", type=int, help="seed of the randomised tests")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault("JDK_JAVA_OPTIONS", quick_java.options_of_spark())
    _work_in_memory()
    if config.getoption("--seed") is not None:
        config.option.hypothesis_seed = config.option.seed
    elif worker := getattr(config, "workerinput", None):
        config.option.seed = worker["seed"]
    else:
        is_fixed = config.getoption("--depth") == "full"
        config.option.seed = 0 if is_fixed else random.SystemRandom().getrandbits(32)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    # Modules and tests stay: to look for garbage among them took a quarter of their collection.
    gc.disable()
    try:
        return (yield)
    finally:
        # Garbage is looked for among what tests make, not each time among all tests and modules.
        gc.freeze()
        # Tests make and drop tens of thousands of objects without cycles: to look a fiftieth as
        # often finds the same.
        gc.set_threshold(_YOUNG_OBJECTS)
        gc.enable()


def _work_in_memory() -> None:
    """Keep the folders of tests in memory where there is room: syncs of small files cost most."""
    is_usable = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK)
    if is_usable and shutil.disk_usage(_MEMORY).free >= _ROOM_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    # The workers of xdist read the command line again; a seed drawn here must reach them.
    node.workerinput["seed"] = node.config.getoption("--seed")


def pytest_report_header(config: pytest.Config) -> str:
    return f"depth: {config.getoption('--depth')}, seed: {config.getoption('--seed')}"


@pytest.fixture(scope="session")
def seed(pytestconfig: pytest.Config) -> int:
    """The seed of this run; a test that draws prints it when it fails."""
    return cast("int", pytestconfig.getoption("--seed"))


@pytest.fixture
def rng(seed: int, request: pytest.FixtureRequest) -> random.Random:
    """Randomness of one test, the same for the same seed and test."""
    print(f"--seed {seed}")
    return random.Random(f"{seed} {request.node.nodeid}")


_folders = itertools.count()


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A folder of the test, as pytest's own, but without a look for a number that is free.

    That is a look at the folders of all earlier tests, of which a process runs thousands.
    """
    name = _NO_NAME.sub("_", request.node.name)[:30]
    folder = tmp_path_factory.getbasetemp() / f"{name}-{next(_folders)}"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def golden(pytestconfig: pytest.Config) -> Golden:
    """Expected files in tests/golden/expected."""
    return Golden(update=pytestconfig.getoption("--update-golden"))


@pytest.fixture(scope="session")
def paimon_version(pytestconfig: pytest.Config) -> str:
    """The Paimon version that the oracle of this process runs."""
    return cast("str", pytestconfig.getoption("--paimon"))


@pytest.fixture(scope="session")
def demo_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo, one for all processes of a run; copy it before changing it."""
    own = tmp_path_factory.getbasetemp()
    return built_demo(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server that runs while the tests do."""
    with running_postgres(need_postgres()) as url:
        yield url


@pytest.fixture(scope="session")
def warehouse_142(tmp_path_factory: pytest.TempPathFactory) -> FixtureWarehouse:
    """The warehouse that Paimon 1.4.2 wrote; read only."""
    return unpack("1.4.2", tmp_path_factory.mktemp("paimon-1.4.2"))


@pytest.fixture(scope="session")
def warehouse_200(tmp_path_factory: pytest.TempPathFactory) -> FixtureWarehouse:
    """The warehouse that Paimon 2.0.0 wrote; read only."""
    return unpack("2.0.0", tmp_path_factory.mktemp("paimon-2.0.0"))


@pytest.fixture(scope="session")
def warehouse_pypaimon(tmp_path_factory: pytest.TempPathFactory) -> FixtureWarehouse:
    """The warehouse that pypaimon 2.1.0 wrote; read only."""
    return unpack(WRITERS[-1], tmp_path_factory.mktemp(WRITERS[-1]))


@pytest.fixture(scope="session", params=["warehouse_142", "warehouse_200"])
def fixture_warehouse(request: pytest.FixtureRequest) -> FixtureWarehouse:
    """The fixture warehouses of both Java versions, one after the other; read only."""
    return cast("FixtureWarehouse", request.getfixturevalue(request.param))


@pytest.fixture
def expected(fixture_warehouse: FixtureWarehouse) -> dict[str, Any]:
    """What Paimon says of each table of `fixture_warehouse`."""
    return fixture_warehouse.expected


@pytest.fixture
def copy_of_warehouse(fixture_warehouse: FixtureWarehouse, tmp_path: Path) -> FixtureWarehouse:
    """A copy of `fixture_warehouse` to write to."""
    path = shutil.copytree(fixture_warehouse.path, tmp_path / "warehouse")
    return FixtureWarehouse(path=path, version=fixture_warehouse.version)
