"""The worker's sign of life, and the lock that lets one worker at a time run the jobs of a store.

Both are files of the state directory: the console finds a killed worker at once, as the operating
system drops the lock of a dead process.
"""

import fcntl
import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Final

from branch_console.errors import ErrorKind, Refused
from branch_console.jobs.kept_files import make_private_file, make_private_folder
from branch_console.jobs.progress import WorkerView

FRESH_MILLIS: Final = 15_000
"""A heartbeat older than this is that of a worker which hangs or is gone."""

_TRIES: Final = 10
_LOOK_SECONDS: Final = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """The status that a worker writes a few times a second.

    Attributes:
        spark: `cold`, `starting`, `warm`, `ended` or why there is none.
        store: The identity of the job store that it takes its jobs from.
        job: The job that runs now, with the units of its step.
    """

    id: str
    process_id: int
    host: str
    started_millis: int
    heartbeat_millis: int
    spark: str
    store: str = ""
    job: str | None = None
    step: str = ""
    done: int = 0
    total: int | None = None


def write_heartbeat(path: Path, heartbeat: Heartbeat) -> None:
    """Replace the heartbeat; readers see the old one or the new one."""
    temporary = path.with_name(f".{path.name}.{heartbeat.process_id}.tmp")
    make_private_file(temporary)
    temporary.write_text(json.dumps(asdict(heartbeat)))
    temporary.replace(path)


def read_heartbeat(path: Path) -> Heartbeat | None:
    """Return the last heartbeat, or None if there is none that can be read."""
    try:
        return Heartbeat(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def worker_view(
    heartbeat: Heartbeat, lock_path: Path, now_millis: int, *, store: str
) -> WorkerView:
    """Judge a heartbeat: fresh, and on this machine also with its lock held.

    Args:
        heartbeat: The last heartbeat of the worker.
        lock_path: The lock that it holds.
        now_millis: The time.
        store: The identity of the job store of whoever looks.
    """
    fresh = now_millis - heartbeat.heartbeat_millis <= FRESH_MILLIS
    is_here = heartbeat.host == socket.gethostname()
    return WorkerView(
        id=heartbeat.id,
        process_id=heartbeat.process_id,
        host=heartbeat.host,
        started_millis=heartbeat.started_millis,
        heartbeat_millis=heartbeat.heartbeat_millis,
        is_alive=fresh and (not is_here or is_locked(lock_path)),
        spark=heartbeat.spark,
        job=heartbeat.job,
        # A worker of an earlier release names no store.
        other_store=heartbeat.store if heartbeat.store not in ("", store) else None,
    )


@contextmanager
def worker_lock(path: Path) -> Iterator[None]:
    """Hold the lock of the worker.

    Raises:
        Refused: Another worker holds it.
    """
    make_private_folder(path.parent)
    make_private_file(path)
    with path.open("a") as file:
        # Somebody who looks whether a worker lives holds a lock too, for a moment.
        if not _lock_within(file, _TRIES):
            raise Refused(
                f"A worker already runs the jobs of {path.parent}. Leave it running, or stop it "
                "before starting another.",
                kind=ErrorKind.NAME_TAKEN,
            )
        yield


def _lock_within(file: IO[str], tries: int) -> bool:
    for _ in range(tries):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOOK_SECONDS)
        else:
            return True
    return False


def is_locked(path: Path) -> bool:
    """Whether a living process holds the lock of the worker."""
    try:
        with path.open("r") as file:
            # A shared lock: two lookers at once must not take each other for a worker.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
