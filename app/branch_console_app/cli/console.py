"""The commands that keep running: the console, its worker, and both on the demo's warehouse."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Final

import typer

import branch_console
import branch_console_app
from branch_console.errors import ErrorKind, InvalidInput, PaimonError, StorageError
from branch_console.jobs.kept_files import make_private_file, make_private_folder
from branch_console.jobs.progress import JobState
from branch_console.procedures.call.call import Argument
from branch_console_app.cli.arguments import JsonOption, WarehouseOption, services_with
from branch_console_app.cli.jobs import follow_job
from branch_console_app.cli.output import print_json, print_line, print_note
from branch_console_app.demo import PROCEDURE, demo_folder, prepare_demo
from branch_console_app.settings import Settings

if TYPE_CHECKING:
    from branch_console_app.services import Services

console = typer.Typer()

PortOption = Annotated[
    int | None,
    typer.Option(
        "--port",
        "-p",
        min=0,
        max=65_535,
        help="The port; 8501 where left out, or a free one where that is taken.",
    ),
]
HostOption = Annotated[
    str | None, typer.Option("--host", help="The address to listen on; 127.0.0.1 if left out.")
]

_USUAL_PORT: Final = 8501
_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 20.0
_POLL_SECONDS: Final = 0.2
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_ANYWHERE: Final = frozenset({"0.0.0.0", "::"})


@console.command("open")
def open_warehouse(
    path_or_url: Annotated[str, typer.Argument(metavar="PATH_OR_URL", help="The warehouse.")],
    port: PortOption = None,
    host: HostOption = None,
    as_json: JsonOption = False,
) -> None:
    """Open a warehouse in the browser: ./wh, s3://bucket/wh."""
    serve_console(services_with(settings_of(path_or_url, host, port)), as_json=as_json)


@console.command()
def serve(
    warehouse: WarehouseOption = None,
    port: PortOption = None,
    host: HostOption = None,
    as_json: JsonOption = False,
) -> None:
    """Serve the console of a warehouse until Ctrl-C."""
    serve_console(services_with(settings_of(warehouse, host, port)), as_json=as_json)


@console.command()
def worker(warehouse: WarehouseOption = None, as_json: JsonOption = False) -> None:
    """Run the jobs of a warehouse until Ctrl-C."""
    # The worker brings Spark, which no other command should wait for.
    from branch_console.jobs.worker import run_worker  # noqa: PLC0415

    services = services_with(settings_of(warehouse))
    settings = services.job_settings
    services.check_warehouse()
    if as_json:
        print_json({"warehouse": settings.warehouse, "process_id": os.getpid()})
    else:
        print_line(f"Worker {os.getpid()} runs the jobs of {settings.warehouse}. Stop: Ctrl-C.")
    sys.stdout.flush()
    run_worker(settings)


@console.command()
def demo(
    warehouse: WarehouseOption = None,
    build_only: Annotated[
        bool, typer.Option("--build-only", help="Build the warehouse and stop there.")
    ] = False,
    port: PortOption = None,
    host: HostOption = None,
    as_json: JsonOption = False,
) -> None:
    """Build a warehouse of real flights with diverged branches, and open it.

    It is built in the folder that --warehouse names, else in a folder of yours.
    """
    settings = settings_of(warehouse, host, port)
    services = services_with(replace(settings, warehouse=str(demo_folder(settings))))
    arguments = prepare_demo(Path(services.settings.get_warehouse()))
    if build_only and arguments is None:
        _tell_demo(services, as_json=as_json)
        return
    with _stopped_by_sigterm(), _worker_of(services):
        if arguments is not None:
            build_demo(services, arguments)
        if build_only:
            _tell_demo(services, as_json=as_json)
        else:
            serve_console(services, as_json=as_json)


def settings_of(
    warehouse: str | None, host: str | None = None, port: int | None = None
) -> Settings:
    """Return the settings of a command's options."""
    overrides = {"warehouse": warehouse, "host": host, "port": None if port is None else str(port)}
    return Settings.from_environment(overrides)


def serve_console(services: Services, *, as_json: bool) -> None:
    """Run the console and a worker until Ctrl-C, then stop what was started here.

    Raises:
        InvalidInput: The path is no warehouse, or the port is taken.
        StorageError: The console does not start, or ends by itself.
    """
    services.check_warehouse()
    settings = services.settings
    settings = replace(settings, port=_choose_port(settings.host, settings.port))
    with _stopped_by_sigterm(), _worker_of(services), _console_of(settings) as running:
        _tell_address(services, settings, running, as_json=as_json)
        try:
            while running.poll() is None:
                time.sleep(_POLL_SECONDS)
        except KeyboardInterrupt:
            print_note("Stopped.")
            return
        raise _console_failed(settings, "ended by itself")


def build_demo(services: Services, arguments: Mapping[str, Argument]) -> None:
    """Have the demo built, or go on where an earlier build stopped.

    Raises:
        PaimonError: It could not be built; with the code and the words of the job.
    """
    begun = (job for job in services.jobs() if job.name == PROCEDURE and not job.state.is_over)
    started = next(begun, None)
    job = follow_job(services, started.id if started else services.start(PROCEDURE, arguments))
    if job.state is not JobState.DONE:
        raise PaimonError(
            f"The demo is not complete: {job.message} Run the command again to go on.",
            kind=job.error,
            job=job.id,
        )


def _tell_demo(services: Services, *, as_json: bool) -> None:
    if as_json:
        print_json({"warehouse": services.settings.warehouse})
    else:
        print_line(f"The demo is in {services.settings.warehouse}.")


@contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    """Let a polite kill end the block as Ctrl-C does."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _worker_of(services: Services) -> Iterator[None]:
    """Have a worker; one that ran before goes on running afterwards."""
    started = services.start_worker()
    try:
        yield
    finally:
        found = services.worker()
        if started and found is not None and found.is_alive and found.host == socket.gethostname():
            _stop_process(found.process_id)


def _stop_process(process_id: int) -> None:
    """Ask a process that is no child of ours to stop; in the end, make it."""
    # Jobs are durable: what a killed worker ran goes on with the next one.
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(process_id, number)
            deadline = time.monotonic() + _STOP_SECONDS
            while time.monotonic() < deadline:
                os.kill(process_id, 0)
                time.sleep(_POLL_SECONDS)
        except ProcessLookupError:
            return


@contextmanager
def _console_of(settings: Settings) -> Iterator[subprocess.Popen[bytes]]:
    """Run Streamlit as a child of its own session, so that Ctrl-C reaches this process alone."""
    log_path = _log_path(settings)
    make_private_folder(log_path.parent)
    make_private_file(log_path)
    with log_path.open("wb") as log:
        running = subprocess.Popen(
            _streamlit(settings),
            env=_child_environment(settings),
            # Streamlit would take a .streamlit folder where the user stands for ours.
            cwd=log_path.parent,
            # Never written to: it ends when this process does, however that is killed.
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait_until_ready(settings, running)
        yield running
    finally:
        running.terminate()
        if running.stdin is not None:
            running.stdin.close()
        try:
            running.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()


def _streamlit(settings: Settings) -> list[str]:
    script = Path(branch_console_app.__file__).with_name("main.py")
    options = {
        "server.address": settings.host,
        "server.port": str(settings.port),
        "server.headless": "true",
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    # -P: what lies where the user happens to stand must not be taken for a module of ours.
    return [
        sys.executable,
        "-P",
        "-m",
        "branch_console_app.cli.console_process",
        "run",
        str(script),
        *flags,
    ]


def _child_environment(settings: Settings) -> dict[str, str]:
    environment = settings.child_environment()
    library, console = Path(branch_console.__file__), Path(branch_console_app.__file__)
    roots = dict.fromkeys(str(each.parents[1]) for each in (console, library))
    paths = [*roots, environment.get("PYTHONPATH", "")]
    return {**environment, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def _log_path(settings: Settings) -> Path:
    return settings.warehouse_state_dir / "console.log"


def _wait_until_ready(settings: Settings, running: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if running.poll() is not None:
            raise _console_failed(settings, "did not start")
        if _answers(settings):
            return
        time.sleep(_POLL_SECONDS)
    raise _console_failed(settings, f"did not answer in {_START_SECONDS:.0f} s")


def _answers(settings: Settings) -> bool:
    connection = http.client.HTTPConnection(_reachable(settings.host), settings.port, timeout=2)
    try:
        connection.request("GET", "/_stcore/health")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _console_failed(settings: Settings, what: str) -> StorageError:
    path = _log_path(settings)
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    tail = " | ".join(line.strip() for line in lines if line.strip())[-400:]
    return StorageError(
        f"The console {what}. Its log is {path}: {tail}",
        kind=ErrorKind.UNEXPECTED,
        log=str(path),
    )


def _tell_address(
    services: Services,
    settings: Settings,
    running: subprocess.Popen[bytes],
    *,
    as_json: bool,
) -> None:
    address = f"http://{_in_url(_reachable(settings.host))}:{settings.port}"
    if as_json:
        print_json(
            {
                "url": address,
                "warehouse": settings.warehouse,
                "process_id": running.pid,
                "worker": services.worker(),
            }
        )
    else:
        print_line(f"{settings.warehouse} is open at {address}")
        print_line("Stop: Ctrl-C.")
    if settings.host not in _LOOPBACK:
        print_note(f"No login: everyone who reaches {settings.host} acts as {settings.role}.")
    sys.stdout.flush()


def _reachable(host: str) -> str:
    return "127.0.0.1" if host in _ANYWHERE else host


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _choose_port(host: str, wanted: int) -> int:
    """Return the port, or if none is wanted the usual one, or one that is free.

    Raises:
        InvalidInput: The wanted port is taken, or this machine has no such address.
    """
    for port in (wanted,) if wanted else (_USUAL_PORT, 0):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            with socket.create_server((host, port), family=family) as server:
                return int(server.getsockname()[1])
        except OSError as error:
            problem = error
    raise InvalidInput(
        f"The console cannot listen on {host}:{wanted or _USUAL_PORT}: {problem.strerror}. Choose "
        "another --port or --host.",
        kind=ErrorKind.INVALID_ARGUMENT,
        port=wanted,
    )
