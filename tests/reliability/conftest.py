"""What the reliability tests share: a folder, stores, worlds built once, and equal names."""

import functools
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from branch_console.storage.file_io import FileIO
from tests.reliability.worlds import World
from tests.support.repeatable import Repeatable
from tests.support.requirements import (
    need_azure_server,
    need_gcs_server,
    need_hdfs,
    need_s3_server,
)
from tests.support.store_servers import (
    StoreServer,
    running_azure_server,
    running_gcs_server,
    running_hdfs,
    running_s3_server,
)

_STORES: Final = {
    "s3": (need_s3_server, running_s3_server),
    "gcs": (need_gcs_server, running_gcs_server),
    "azure": (need_azure_server, running_azure_server),
    "hdfs": (need_hdfs, running_hdfs),
}


@pytest.fixture(scope="session")
def store_server(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str], StoreServer]]:
    """Starts an object store when it is first asked for: `s3`, `gcs`, `azure` or `hdfs`."""
    with ExitStack() as running:

        @functools.cache
        def started(kind: str) -> StoreServer:
            need, run = _STORES[kind]
            return running.enter_context(run(need(), tmp_path_factory.mktemp(kind) / "server"))

        yield started


@pytest.fixture(scope="module")
def bucket(server: StoreServer) -> str:
    """A bucket of the module, on the server that it names."""
    return server.make_bucket(f"tests-{uuid.uuid4()}")


@pytest.fixture
def store(server: StoreServer, bucket: str, tmp_path: Path) -> FileIO:
    """A folder of its own in the bucket."""
    return FileIO.for_url(f"{bucket}{tmp_path}", server.options)


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
