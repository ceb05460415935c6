"""The console and its worker as a user starts them, and a fast-forward through both."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.ports import free_port
from tests.support.serving import PROGRAM, get, is_running, serving
from tests.support.warehouses import FixtureWarehouse

TABLE = "fixtures.branches_ahead"


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
        assert receipt.pop("reason") is None
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
