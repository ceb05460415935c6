"""What Spark's Python daemon has imported when it forks."""

import os
import subprocess
import sys

_THREADS = """
import os
from pathlib import Path
from branch_console.spark.session.python_daemon import import_for_tasks
import_for_tasks()
for task in Path("/proc/self/task").iterdir():
    if task.name != str(os.getpid()):
        print((task / "comm").read_text().strip())
"""


def test_no_import_starts_a_thread_that_a_fork_would_lose() -> None:
    run = subprocess.run(
        [sys.executable, "-c", _THREADS],
        env={**os.environ, "OMP_NUM_THREADS": "1"},  # as Spark sets it
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    # That of the allocator is set up anew in the child.
    assert set(run.stdout.split()) <= {"jemalloc_bg_thd"}
