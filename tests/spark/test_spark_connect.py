"""The same runs through a Spark Connect server, which is started here."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from core.spark.java_home import find_java
from tests.support.requirements import need_spark_connect

HERE = Path(__file__)
BOUND_SECONDS = 120

# In a process of its own: PySpark is either classic or Connect for as long as a process lives.
RUNS = """
import sys
import threading
from pathlib import Path

import pyarrow as pa
from core.errors import PaimonError
from core.spark.session import SparkSettings, open_session
from core.spark.verify_files import FILES_TO_VERIFY, verify_data_files
from core.spark.writers import write_rows
from core.storage.file_io import FileIO
from tests.spark.test_writers import KEYED, make_table, rows_of

remote, folder = sys.argv[1], Path(sys.argv[2])
session = open_session(SparkSettings(remote=remote))

def slowly(batches):
    import time
    for batch in batches:
        time.sleep(0.2)
        yield batch

def broken(batches):
    raise ValueError("this bucket has no bottom")
    yield from batches

told = []
frame = session.spark.range(0, 12, 1, 12).mapInArrow(slowly, "id long")
rows = session.run(lambda _: frame.count(), description="count", progress=lambda *c: told.append(c))
print(rows, told[-1][1] is not None)

threading.Timer(0.5, session.cancel).start()
try:
    session.run(lambda _: frame.count(), description="count")
except PaimonError as error:
    print(error.kind)
try:
    session.run(lambda s: s.range(1).mapInArrow(broken, "id long").count(), description="fill")
except PaimonError as error:
    print(error.message)

options = {"bucket": "2"}
table = make_table(folder, KEYED, keys=("id", "pt"), partitions=("pt",), options=options)
store = FileIO.for_url(str(folder))
rows = pa.table({"id": list(range(100)), "name": ["x"] * 100, "pt": ["p"] * 100})
messages = write_rows(session, store, table, rows)
print(len(rows_of(table, messages)))
listed = [
    {
        "path": table.data_paths().data_file("pt=p", message.bucket, entry["file_name"]),
        "size": entry["file_size"],
        "row_count": entry["row_count"] + 1,
    }
    for message in messages
    for entry in message.new_files.to_pylist()
]
files = pa.Table.from_pylist(listed, schema=FILES_TO_VERIFY)
print(verify_data_files(session, store, files).num_rows == len(listed))
session.close()
"""


@pytest.fixture(scope="module")
def remote() -> Iterator[str]:
    need_spark_connect()
    home = Path(pyspark.__file__).parent
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    server = subprocess.Popen(
        [
            *(str(home / "bin" / "spark-submit"), "--master", "local[2]"),
            *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
            *("--conf", f"spark.connect.grpc.binding.port={port}"),
            *("--conf", "spark.ui.enabled=false", "spark-internal"),
        ],
        env={
            **os.environ,
            "JAVA_HOME": str(find_java().home),
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join([str(HERE.parents[2]), *sys.path]),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port)
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(BOUND_SECONDS)


def test_runs_writers_and_checks_work_through_spark_connect(remote: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUNS, remote, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parents[2]), *sys.path])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.splitlines() == [
        "12 True",
        "CANCELLED",
        "Spark could not fill: ValueError: this bucket has no bottom. The worker's log has more.",
        "100",
        "True",
    ]


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + BOUND_SECONDS
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError(f"The Spark Connect server did not open port {port}.")
