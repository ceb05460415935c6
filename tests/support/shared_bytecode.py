"""Every module is compiled once for all processes of a run.

A whole run imports hundreds of modules in each worker of xdist, and in a fresh clone pytest has to
rewrite the assertions of each test module before: a third of a minute of processor time a worker.
All workers would do so in the same order at the same moment. Here each begins with another part of
the modules, and finds written what the others have rewritten.
"""

import importlib
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

_PATTERN = "test_*.py"


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import the modules of a run, each worker from a place of its own on; collecting tells errors.

    A worker that was named files has too few to share.
    """
    worker = getattr(session.config, "workerinput", None)
    folders = [session.config.invocation_params.dir / name for name in session.config.args]
    if worker is None or sys.dont_write_bytecode or not all(map(Path.is_dir, folders)):
        return
    names = modules_of(folders, session.config.rootpath)
    number = int(worker["workerid"].removeprefix("gw"))
    for name in from_part(names, number, worker["workercount"]):
        with suppress(Exception, pytest.skip.Exception):
            importlib.import_module(name)


def modules_of(folders: Sequence[Path], root: Path) -> list[str]:
    """Return the names of the test modules in folders below a root."""
    files = sorted(file for folder in folders for file in folder.rglob(_PATTERN))
    return [".".join(file.relative_to(root).with_suffix("").parts) for file in files]


def from_part(names: Sequence[str], number: int, count: int) -> list[str]:
    """Return all names, those first that begin one of `count` equal parts."""
    start = len(names) * number // count
    return [*names[start:], *names[:start]]
