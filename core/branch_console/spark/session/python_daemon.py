"""Spark's Python daemon, which imports what tasks need before it forks workers for them.

PySpark's own imports nothing first, as a library may start threads, which do not survive a fork:
so each worker spends a second of processor on imports, and workers end after an idle minute.
Of what is imported here only Arrow's allocator has a thread, and it is made to be forked; NumPy's
OpenBLAS starts none if OMP_NUM_THREADS is 1, as Spark sets it.
"""

import gc
import importlib
import sys
from typing import Final

_WORKER: Final = "pyspark.worker"
_NEEDED: Final = (_WORKER, "pandas", "pyarrow.parquet", "branch_console.spark.engine")


def import_for_tasks() -> None:
    """Import what tasks of ours need."""
    for name in _NEEDED:
        importlib.import_module(name)
    # Pages that no collection writes to stay shared with the workers.
    gc.collect()
    gc.freeze()


def main() -> None:
    """Serve Spark, which asks for workers of the module that is the first argument."""
    # The workers of data sources come from daemons of their own and run few of these.
    if sys.argv[1:2] == [_WORKER]:
        import_for_tasks()
    # It reads the arguments by itself.
    from pyspark.daemon import manager  # noqa: PLC0415

    manager()


if __name__ == "__main__":
    main()
