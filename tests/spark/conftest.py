from collections.abc import Iterator
from pathlib import Path

import pytest

from app.demo import PROCEDURE, prepare_demo
from core.procedures.call import ProcedureCall
from core.procedures.registry import run_call
from core.procedures.stages import InlineStages
from core.procedures.warehouse import Warehouse
from core.spark.row_engine import SparkRowEngine
from core.spark.session import SparkSettings, WarmSession, open_session


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmSession]:
    """The one session of a test process; its tests share the group `spark`."""
    cache = tmp_path_factory.mktemp("cache")
    opened = open_session(SparkSettings(master="local[2]", memory="2g", cache=cache))
    opened.warm_up()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def demo(session: WarmSession, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """The demo's warehouse, built once; copy it before changing it."""
    folder = tmp_path_factory.mktemp("demo") / "warehouse"
    arguments = prepare_demo(folder)
    assert arguments is not None
    warehouse = Warehouse.open(str(folder))
    call = ProcedureCall(name=PROCEDURE, arguments=arguments, actor="test", operation_id="demo")
    run_call(warehouse, SparkRowEngine(session, warehouse.file_io), call, InlineStages())
    return warehouse


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))
