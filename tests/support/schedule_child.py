"""A worker that stops dead at a point of a schedule's way, once, so that it can be killed there.

Is given the settings of the worker as JSON, the name of a point and the path of a mark: whoever
comes to the point first makes the mark and waits for ever.
"""

import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from branch_console.jobs.settings import JobSettings

_EXPIRY: Final = "branch_console.procedures.maintenance.expire_snapshots"
POINTS: Final = {
    "before the time is enqueued": ("dbos._scheduler", "_enqueue_scheduled_workflow", False),
    "after the time is enqueued": ("branch_console.jobs.schedules", "calls_of", False),
    "between two calls": ("branch_console.jobs.client", "JobClient.start", True),
    "before a name leaves": (_EXPIRY, "retire", False),
    "after a name left": (_EXPIRY, "retire", True),
    "before files leave": (_EXPIRY, "release", False),
    "after all is done": ("branch_console.jobs.workflows", "is_recorded", False),
}
"""Where a worker stops: a function, and whether it has done its work by then."""


def main() -> None:
    """Run the worker."""
    settings, point, mark = sys.argv[1:]
    if point:
        _stop_at(point, Path(mark))
    from branch_console.jobs.worker import run_worker  # noqa: PLC0415 - with the stop in place

    run_worker(JobSettings.from_json(settings))


def _stop_at(point: str, mark: Path) -> None:
    module, name, comes_after = POINTS[point]
    holder: Any = importlib.import_module(module)
    *owners, function = name.split(".")
    for owner in owners:
        holder = getattr(holder, owner)
    real: Callable[..., Any] = getattr(holder, function)

    def stopping(*given: Any, **named: Any) -> Any:
        if not comes_after:
            _stop(mark)
        answer = real(*given, **named)
        if comes_after:
            _stop(mark)
        return answer

    setattr(holder, function, stopping)


def _stop(mark: Path) -> None:
    if not mark.exists():
        mark.touch()
        time.sleep(3_600)


if __name__ == "__main__":
    main()
