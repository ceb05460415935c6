"""The demo, built once for all processes of a run."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

from branch_console.procedures.demo_marker import is_complete

_ROOT = Path(__file__).parents[2]
_BOUND_SECONDS = 900


def built_demo(folder: Path) -> Path:
    """Build the demo in a folder by the command that people use, unless another process has."""
    warehouse = folder / "demo"
    with (folder / "demo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_complete(warehouse):
            state = {
                "BRANCH_CONSOLE_STATE_DIR": str(folder / "demo-state"),
                "BRANCH_CONSOLE_CACHE_DIR": str(folder / "demo-cache"),
            }
            command = [
                "-m",
                "branch_console_app",
                "demo",
                "--build-only",
                "--warehouse",
                str(warehouse),
            ]
            run = subprocess.run(
                [sys.executable, *command],
                cwd=_ROOT,
                env=os.environ | state,
                capture_output=True,
                text=True,
                timeout=_BOUND_SECONDS,
                check=False,
            )
            assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-4000:]
    return warehouse
