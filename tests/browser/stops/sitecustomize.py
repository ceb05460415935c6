"""Lets a test stop the worker of a console within a stage: Python loads this when it starts.

The test writes `<stage> begins` or `<stage> ends` into the file `stop-at` beside the worker. The
worker takes that file away and stops itself there: before the stage has done anything, or once all
is done but noted.
"""

import importlib.util
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

_WORKFLOWS = "branch_console.jobs.workflows"
_ASKED = Path("stop-at")


class _Stops(MetaPathFinder):
    """Puts the stops around the stages of a worker when it loads them."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != _WORKFLOWS:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.loader is not None
        load = spec.loader.exec_module

        def load_with_stops(module: ModuleType) -> None:
            load(module)
            module.__dict__["_step"] = _with_stops(module.__dict__["_step"])

        spec.loader.exec_module = load_with_stops  # type: ignore[method-assign]
        return spec


def _with_stops(step: Callable[..., Any]) -> Callable[..., Any]:
    def run(work: Callable[..., Any], progress: Any) -> Any:
        name = progress.__self__.step
        _stop_if_asked(f"{name} begins")
        result = step(work, progress)
        _stop_if_asked(f"{name} ends")
        return result

    return run


def _stop_if_asked(place: str) -> None:
    if _ASKED.exists() and _ASKED.read_text() == place:
        _ASKED.unlink()
        # Sent to the process, another thread may take it, and this one runs on until that is woken.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


sys.meta_path.insert(0, _Stops())
