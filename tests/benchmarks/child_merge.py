"""One process of B3: `python -m tests.benchmarks.child_merge WAREHOUSE ours|VERSION`.

Works on a copy that is made before the clock starts.
"""

import json
import os
import resource
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from tests.benchmarks.contest import OURS
from tests.benchmarks.merge_append import CALLS
from tests.benchmarks.synthetic import TABLE, open_table


def main() -> None:
    """Merge one branch after the other, the last one twice, and print the figures."""
    origin, who = sys.argv[1:]
    warehouse = Path(tempfile.mkdtemp()) / "warehouse"
    shutil.copytree(origin, warehouse)
    merge = _ours(warehouse) if who == OURS else _java(warehouse, who)
    # What was written so far would be charged to the first one that syncs.
    os.sync()
    times = [_timed(merge, f"b{number}") for number in range(CALLS)]
    again = _timed(merge, "b0")
    table = open_table(warehouse)
    head = table.head()
    assert head is not None
    answer = {
        "files": table.live_files(head).num_rows,
        "again_micros": round(again * 1_000_000),
    }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = {"cold": times[0], "warm": times[1:], "peak_rss_kib": peak, "answer": answer}
    sys.stdout.write(json.dumps(said) + "\n")


def _timed(merge: Callable[[str], object], branch: str) -> float:
    started = time.perf_counter()
    merge(branch)
    return time.perf_counter() - started


def _ours(warehouse: Path) -> Callable[[str], object]:
    from branch_console.procedures.call.call import ProcedureCall  # noqa: PLC0415  # a JVM has no use
    from branch_console.procedures.call.row_engine import NoRowEngine, Progress  # noqa: PLC0415
    from branch_console.procedures.call.stages import InlineStages  # noqa: PLC0415
    from branch_console.procedures.call.warehouse import Warehouse  # noqa: PLC0415
    from branch_console.procedures.dispatch import run_call  # noqa: PLC0415
    from branch_console.table.file_checks import FILE_PROBLEMS  # noqa: PLC0415

    class TrustingRows(NoRowEngine):
        """The data files of this table are names; the peer does not look at them either."""

        def verify_files(self, files: pa.Table, progress: Progress) -> pa.Table:
            return FILE_PROBLEMS.empty_table()

    opened = Warehouse.open(str(warehouse))

    def run(branch: str) -> object:
        call = ProcedureCall(
            name="merge_branch",
            arguments={"table": TABLE, "branch": branch},
            actor="benchmark",
            operation_id=uuid.uuid4().hex,
        )
        return run_call(opened, TrustingRows(), call, InlineStages())

    return run


def _java(warehouse: Path, version: str) -> Callable[[str], object]:
    from tests.benchmarks.java_catalog import open_table, start_java  # noqa: PLC0415

    table = open_table(start_java(warehouse, version, cache_enabled="false"), TABLE)
    return lambda branch: table.mergeBranch(branch, "main")


if __name__ == "__main__":
    main()
