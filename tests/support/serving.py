"""The console as a user starts it: a process that serves until Ctrl-C."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

PROGRAM: Final = Path(sys.executable).with_name("branch-console")


def _hear_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def serving(
    environment: dict[str, str], *arguments: str, cwd: Path | None = None
) -> Iterator[dict[str, Any]]:
    """Run a command that serves, until the block ends; yield what it told of itself."""
    running = subprocess.Popen(
        [PROGRAM, *arguments, "--json"],
        cwd=cwd,
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
    """Return the status that an address answers with."""
    address = urlsplit(url)
    assert address.hostname is not None
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def is_running(process_id: int) -> bool:
    """Whether this machine has that process."""
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True
