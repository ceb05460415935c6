"""The worker of a console, stopped or killed where a test wants it."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from app.services import Services

_PATIENCE_SECONDS = 240


def kill_worker(services: Services, is_there: Callable[[], bool]) -> None:
    """Kill the worker once it lives and has come to a place; returns when it is gone."""
    os.kill(_reached(services, is_there), signal.SIGKILL)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while _is_alive(services):
        assert time.monotonic() < deadline, "the worker outlives its end"
        time.sleep(0.005)


@contextmanager
def held_worker(services: Services, is_there: Callable[[], bool]) -> Iterator[None]:
    """Hold the worker where it has come to a place, and let it go on afterwards."""
    process_id = _reached(services, is_there)
    try:
        yield
    finally:
        os.kill(process_id, signal.SIGCONT)


def _reached(services: Services, is_there: Callable[[], bool]) -> int:
    """Stop the worker once it lives and has come to a place, and return its process."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    # What a job says of itself may be its last worker's word.
    while not _is_alive(services):
        assert time.monotonic() < deadline, "no worker comes"
        time.sleep(0.005)
    worker = services.worker()
    assert worker is not None
    with _slowed_till_stopped(worker.process_id):
        while not is_there():
            assert time.monotonic() < deadline, f"not there: {services.jobs()}"
            time.sleep(0.002)
    return worker.process_id


@contextmanager
def _slowed_till_stopped(process_id: int) -> Iterator[None]:
    """Give a process a fifth of the time, as some stages are over sooner than anybody looks."""
    done = threading.Event()
    # On a busy machine who looks goes first.
    for thread in Path(f"/proc/{process_id}/task").iterdir():
        with suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, int(thread.name), 19)

    def slow() -> None:
        with suppress(ProcessLookupError):
            while not done.wait(0.001):
                os.kill(process_id, signal.SIGSTOP)
                if done.wait(0.004):
                    return
                os.kill(process_id, signal.SIGCONT)

    slowing = threading.Thread(target=slow)
    slowing.start()
    try:
        yield
    finally:
        done.set()
        slowing.join()
        os.kill(process_id, signal.SIGSTOP)


def _is_alive(services: Services) -> bool:
    worker = services.worker()
    return worker is not None and worker.is_alive
