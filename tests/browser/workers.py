"""The worker of a console, stopped or killed in a stage that a test names."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from branch_console_app.services import Services

_PATIENCE_SECONDS = 240


def ask_to_stop(services: Services, place: str) -> None:
    """Have the next worker stop at `<stage> begins` or `<stage> ends`; see `stops`."""
    asked = Path(services.settings.warehouse_state_dir) / "stop-at"
    beside = asked.with_suffix(".new")
    beside.write_text(place)
    beside.replace(asked)


def kill_stopped(services: Services) -> None:
    """Kill the worker once it has stopped where it was asked to; returns when it is gone."""
    os.kill(_stopped(services), signal.SIGKILL)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while (worker := services.worker()) is not None and worker.is_alive:
        assert time.monotonic() < deadline, "the worker outlives its end"
        time.sleep(0.005)


@contextmanager
def held(services: Services) -> Iterator[None]:
    """Wait until the worker has stopped where it was asked to, and let it go on afterwards."""
    process_id = _stopped(services)
    try:
        yield
    finally:
        os.kill(process_id, signal.SIGCONT)


def _stopped(services: Services) -> int:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while (worker := services.worker()) is None or not _is_stopped(worker.process_id):
        assert time.monotonic() < deadline, f"no worker stops: {services.jobs()}"
        time.sleep(0.05)
    return worker.process_id


def _is_stopped(process_id: int) -> bool:
    try:
        about = Path(f"/proc/{process_id}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return about.rpartition(")")[2].split()[0] == "T"
