"""The processor time of this process and of all that it started, ended or not."""

import os
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PROCESSES: Final = Path("/proc")


def processor_seconds() -> float:
    """Return the seconds that this process, its children and their children have used.

    A Spark or a server that tests share lives on: without a look at what runs, its work would be
    nobody's. Systems without /proc count children when they end.
    """
    own = sum(os.times()[:4])
    return own + sum(map(_seconds_with_descendants, _children(os.getpid())))


def _seconds_with_descendants(process: int) -> float:
    try:
        # The name stands in brackets and may hold spaces and brackets itself.
        fields = (_PROCESSES / f"{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0  # it ended; whoever waited for it has its seconds
    user, system, of_user, of_system = map(int, fields[11:15])
    own = (user + system + of_user + of_system) / _TICKS
    return own + sum(map(_seconds_with_descendants, _children(process)))


def _children(process: int) -> list[int]:
    threads = _PROCESSES / f"{process}/task"
    try:
        # A list, as an iterator that an error leaves open warns in whichever test comes next.
        names = os.listdir(threads)  # noqa: PTH208
    except OSError:
        return []  # it ended, or the system tells no children
    return [child for name in names for child in _children_of_thread(threads / name)]


def _children_of_thread(thread: Path) -> list[int]:
    try:
        return list(map(int, (thread / "children").read_text().split()))
    except OSError:
        return []  # it ended since
