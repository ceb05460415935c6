"""Runs the console as people run it: Streamlit in a process of its own, on a free port."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import branch_console_app
from branch_console.merge.policy import Policy, PolicyChoice
from branch_console.merge.policy_draft import with_table_rule
from branch_console_app.services import Services
from branch_console_app.settings import Settings
from tests.support.ports import free_port
from tests.support.source_roots import python_path

_START_SECONDS = 120
_STOPS = str(Path(__file__).with_name("stops"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningConsole:
    """A console that answers."""

    url: str
    settings: Settings

    @property
    def services(self) -> Services:
        """The same warehouse and jobs, as another process sees them."""
        return Services(self.settings)

    def settle(self, table: str, take: str) -> None:
        """Settle all conflicts of `fix-delays` with main in one way."""
        asked = {"table": table, "branch": "fix-delays", "target": "main"}
        services = self.services
        policy = with_table_rule(Policy(), table, PolicyChoice.parse(take))
        services.save_draft(asked, services.resolution(asked).draft, policy)


@contextmanager
def running_console(
    warehouse: Path, state_dir: Path, *, role: str = "operator"
) -> Iterator[RunningConsole]:
    """Serve the console of a warehouse; a worker that it started ends with it."""
    overrides = {
        "warehouse": str(warehouse),
        "state_dir": str(state_dir),
        "cache_dir": str(state_dir / "cache"),
        "actor": "ada",
        "role": role,
        "port": str(free_port()),
    }
    settings = Settings.from_environment(overrides, {})
    url = f"http://127.0.0.1:{settings.port}"
    state_dir.mkdir(parents=True, exist_ok=True)
    script = Path(branch_console_app.__file__).with_name("main.py")
    with (state_dir / "console.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "branch_console_app.cli.console_process", "run", str(script),
             "--server.address=127.0.0.1", f"--server.port={settings.port}",
             "--server.headless=true"],
            env={**os.environ, **settings.to_environment(),
                 "PYTHONPATH": os.pathsep.join([python_path(), _STOPS])},
            cwd=state_dir,
            # It ends when this process does, however that is killed.
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
    running = RunningConsole(url=url, settings=settings)
    try:
        _wait_until_ready(url, process, state_dir / "console.log")
        yield running
    finally:
        process.terminate()
        process.communicate(timeout=30)
        end_worker(running.services)


def end_worker(services: Services) -> None:
    """End the worker that a console started, at once: nobody needs its state any more."""
    worker = services.worker()
    if worker is not None and worker.is_alive:
        with suppress(ProcessLookupError):
            os.kill(worker.process_id, signal.SIGKILL)


def _wait_until_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"The console ended by itself: {log.read_text()}")
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"The console did not start in {_START_SECONDS} s: {log.read_text()}")
