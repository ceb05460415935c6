"""The same runs, writes and statements through a Spark Connect server and on a cluster.

Both are started here: the server in one process, the cluster as a master and a worker, whose
executor is a process of its own.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest

from branch_console.errors import StorageError
from branch_console.spark.session.java_home import find_java
from branch_console.spark.session.session import SparkSettings, WarmSession, open_session
from tests.support.ports import free_port
from tests.support.requirements import need_spark_connect
from tests.support.session_child import (
    COUNTER_IS_THERE,
    COUNTS,
    ON_A_CLUSTER,
    ON_A_SERVER,
    other_session,
)
from tests.support.source_roots import python_path
from tests.support.write_bench import WriteBench
from tests.support.write_contest import count_up, counted

_BOUND_SECONDS = 120


@contextmanager
def spark_server(command: Sequence[str], has_begun: Callable[[], bool]) -> Iterator[None]:
    home = Path(pyspark.__file__).parent
    server = subprocess.Popen(
        [str(home / "bin" / command[0]), *command[1:]],
        env={
            **os.environ,
            "JAVA_HOME": str(find_java().home),
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join([python_path(), *sys.path]),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + _BOUND_SECONDS
        while not has_begun():
            assert server.poll() is None, f"{command[0]} ended with {server.returncode}"
            assert time.monotonic() < deadline, f"{command[0]} did not begin"
            time.sleep(0.1)
        yield
    finally:
        server.terminate()
        server.wait(_BOUND_SECONDS)


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def remote() -> Iterator[str]:
    need_spark_connect()
    port = free_port()
    command = [
        *("spark-submit", "--master", "local[2]"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--conf", f"spark.connect.grpc.binding.port={port}"),
        *("--conf", "spark.connect.progress.reportInterval=200ms"),
        # Who asks for UTC gets it, wherever the server is.
        *("--conf", "spark.sql.session.timeZone=Asia/Kolkata"),
        *("--conf", "spark.ui.enabled=false", "spark-internal"),
    ]
    with spark_server(command, lambda: is_open(port)):
        yield f"sc://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port, work = free_port(), tmp_path_factory.mktemp("executors")
    at, deploy = f"spark://127.0.0.1:{port}", "org.apache.spark.deploy"
    pages = ("--host", "127.0.0.1", "--webui-port", "0")
    master = ["spark-class", f"{deploy}.master.Master", *pages, "--port", str(port)]
    worker = ["spark-class", f"{deploy}.worker.Worker", *pages, "--cores", "2", "--memory", "1g"]
    with ExitStack() as servers:
        servers.enter_context(spark_server(master, lambda: is_open(port)))
        started = spark_server([*worker, "--work-dir", str(work), at], lambda: True)
        servers.enter_context(started)
        yield at


@pytest.mark.depth("long")
def test_a_client_of_spark_connect_does_what_a_session_does_beside_another_session(
    remote: str, session: WarmSession, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(1) as pool:
        client = pool.submit(other_session, remote, tmp_path)
        while not client.done() and not (tmp_path / COUNTER_IS_THERE).exists():
            time.sleep(0.1)
        # Both change one row of one branch at once.
        bench = WriteBench(folder=tmp_path / "warehouse", session=session)
        here = {} if client.done() else count_up(bench, COUNTS)
        found = client.result()
    there = found.pop("counted up")
    assert found == ON_A_SERVER
    assert [sum(each.values()) for each in (here, there)] == [COUNTS, COUNTS]
    assert counted(bench) == here["landed"] + there["landed"] > 0


@pytest.mark.depth("long")
def test_a_cluster_does_what_a_session_does_though_an_executor_dies(
    cluster: str, tmp_path: Path
) -> None:
    assert other_session(cluster, tmp_path) == ON_A_CLUSTER


@pytest.mark.parametrize("kind", ["master", "remote"])
def test_where_nobody_answers_one_line_says_so_at_once(kind: str) -> None:
    port = free_port()
    address = f"{'spark' if kind == 'master' else 'sc'}://127.0.0.1:{port}"
    settings = SparkSettings(**{kind: address})  # type: ignore[arg-type]
    started = time.monotonic()
    with pytest.raises(StorageError, match=f"at {address} does not answer: .*refused") as error:
        open_session(settings)
    assert "\n" not in error.value.message
    assert time.monotonic() - started < 5
