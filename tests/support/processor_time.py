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
    return _own_seconds() + _seconds_of_running()


class Stopwatch:
    """Tells what has been used since it was asked last, without looking at others each time.

    A look at all that runs costs milliseconds beside a Java of hundreds of threads, as much as a
    unit test takes; what others used meanwhile is told with the next look.
    """

    def __init__(self) -> None:
        self._own, self._running = _own_seconds(), _seconds_of_running()
        self._of_ended = _seconds_of_ended()

    def lap(self, *, looks_at_others: bool) -> float:
        """Return the seconds since the last lap, those of running processes as far as looked at."""
        own, running, of_ended = _own_seconds(), self._running, _seconds_of_ended()
        # Who ended is counted with this process now, and must not be with those that run.
        if looks_at_others or of_ended > self._of_ended:
            running = _seconds_of_running()
        used = own - self._own + running - self._running
        self._own, self._running, self._of_ended = own, running, of_ended
        return max(0.0, used)


def _own_seconds() -> float:
    return sum(os.times()[:4])


def _seconds_of_ended() -> float:
    return sum(os.times()[2:4])


def _seconds_of_running() -> float:
    return sum(map(_seconds_with_descendants, _children(os.getpid())))


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
