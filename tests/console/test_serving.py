"""The console and its worker as a user starts them, and a fast-forward through both."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.ports import free_port
from tests.support.warehouses import FixtureWarehouse

PROGRAM = Path(sys.executable).with_name("branch-console")
TABLE = "fixtures.branches_ahead"


def _hear_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def serving(environment: dict[str, str], *arguments: str) -> Iterator[dict[str, Any]]:
    """Run a command that serves, until the block ends; yield what it told of itself."""
    running = subprocess.Popen(
        [PROGRAM, *arguments, "--json"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests run in the background of a shell, Ctrl-C would be ignored.
        preexec_fn=_hear_ctrl_c,  # noqa: PLW1509  # one call, before any code of ours
    )
    try:
        assert running.stdout is not None
        told = ""
        while not told.endswith("\n}\n"):
            line = running.stdout.readline()
            assert line, f"it ended: {running.stderr.read() if running.stderr else ''}"
            told += line
        yield json.loads(told)
    finally:
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    assert (running.returncode, said.splitlines()[-1:]) == (0, ["Stopped."])


def get(url: str, path: str) -> int:
    address = urlsplit(url)
    assert address.hostname is not None
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def is_running(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_console_is_served_and_a_job_runs_beside_it(
    warehouse_200: FixtureWarehouse, tmp_path: Path
) -> None:
    copy = FixtureWarehouse(path=tmp_path / "warehouse", version=warehouse_200.version)
    shutil.copytree(warehouse_200.table_path(TABLE), copy.table_path(TABLE))
    environment = {
        **os.environ,
        "BRANCH_CONSOLE_STATE_DIR": str(tmp_path / "state"),
        "BRANCH_CONSOLE_WAREHOUSE": str(copy.path),
        "BRANCH_CONSOLE_SPARK_MASTER": "local[1]",
    }

    def ask(*arguments: str) -> Any:
        answer = subprocess.run(
            [PROGRAM, *arguments, "--json"],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=180,
        )
        return json.loads(answer.stdout)

    with serving(environment, "open", str(copy.path)) as told:
        assert told["warehouse"] == str(copy.path)
        assert get(told["url"], "/_stcore/health") == http.HTTPStatus.OK
        assert get(told["url"], "/") == http.HTTPStatus.OK
        done = ask("fast-forward", TABLE, "ahead")
        assert done["verdict"] == "fast-forward"
        assert done["receipt"]["counts"]["snapshots_added"] == 2
        receipt = ask("receipt", done["operation_id"])
        assert receipt.pop("undo")["can_run"]
        assert receipt == done["receipt"]
        jobs = ask("jobs")
        assert [job["state"] for job in jobs["jobs"]] == ["done"]
        assert jobs["worker"]["is_alive"]
        assert ask("fast-forward", TABLE, "ahead")["verdict"] == "up-to-date"
        heads = {item["name"]: item["head"]["id"] for item in ask("branches", TABLE)["branches"]}
        assert heads["main"] == heads["ahead"]
    assert not is_running(told["process_id"])
    assert not is_running(jobs["worker"]["process_id"])


def test_a_console_whose_command_is_killed_ends(
    warehouse_142: FixtureWarehouse, tmp_path: Path
) -> None:
    environment = {
        **os.environ,
        "BRANCH_CONSOLE_STATE_DIR": str(tmp_path / "state"),
        "BRANCH_CONSOLE_WAREHOUSE": str(warehouse_142.path),
    }
    # The usual port goes to another test's console as soon as it is free.
    command = subprocess.Popen(
        [PROGRAM, "serve", "--json", "--port", str(free_port())],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert command.stdout is not None
    told = ""
    while not told.endswith("\n}\n"):
        line = command.stdout.readline()
        assert line, "it ended"
        told += line
    serving = json.loads(told)
    command.kill()
    command.communicate()
    deadline = time.monotonic() + 20
    while is_running(serving["process_id"]) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not is_running(serving["process_id"])
    with pytest.raises(ConnectionRefusedError):
        get(serving["url"], "/_stcore/health")
    # The worker is nobody's child: it ends by itself, or the next command takes it over.
    while not (beats := list((tmp_path / "state").glob("*/worker.json"))):
        time.sleep(0.1)
    os.kill(json.loads(beats[0].read_text())["process_id"], signal.SIGTERM)


def test_a_port_that_is_taken_is_said(warehouse_142: FixtureWarehouse, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        answer = subprocess.run(
            [PROGRAM, "open", str(warehouse_142.path), "--port", port],
            env={**os.environ, "BRANCH_CONSOLE_STATE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert answer.returncode == 2
    assert f"127.0.0.1:{port}" in answer.stderr
    assert len(answer.stderr.splitlines()) == 1
