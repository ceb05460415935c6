"""One process of B6: `python -m tests.benchmarks.child_branches WAREHOUSE OPERATION ours|VERSION`.

Works on a copy that is made before the clock starts.
"""

import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tests.benchmarks.branch_operations import CALLS, FORWARD, OURS, PROTECT, TAG

Act = Callable[[int], object]


def main() -> None:
    """Repeat one operation, and print the figures."""
    origin, operation, who = sys.argv[1:]
    warehouse = Path(tempfile.mkdtemp()) / "warehouse"
    shutil.copytree(origin, warehouse)
    acts = _ours(warehouse) if who == OURS else _java(warehouse, who)
    if operation in ("rename", "drop", PROTECT):
        for number in range(CALLS):
            acts["create"](number)
    # What was written so far would be charged to the first one that syncs.
    os.sync()
    times = []
    for number in range(CALLS):
        started = time.perf_counter()
        acts[operation](number)
        times.append(time.perf_counter() - started)
    answer = _answer(warehouse, operation)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = {"cold": times[0], "warm": times[1:], "peak_rss_kib": peak, "answer": answer}
    sys.stdout.write(json.dumps(said) + "\n")


def _answer(warehouse: Path, operation: str) -> Mapping[str, int]:
    if operation != FORWARD:
        found = [each.name for each in warehouse.glob("db.db/t/branch/branch-*")]
        return {"branches": sum(not name.startswith("branch-rescue-") for name in found)}
    heads = {
        max(int(each.name.split("-")[1]) for each in snapshots.glob("snapshot-*"))
        for snapshots in warehouse.glob("db.db/*/snapshot")
    }
    return {"head": heads.pop()}


def _ours(warehouse: Path) -> Mapping[str, Act]:
    from branch_console.procedures.call.warehouse import Warehouse  # noqa: PLC0415  # a JVM has no use
    from tests.benchmarks.own_procedure import run_ours  # noqa: PLC0415

    opened = Warehouse.open(str(warehouse))
    run = partial(run_ours, opened)
    return {
        FORWARD: lambda n: run("fast_forward", table=f"db.t{n}", branch="dev"),
        "create": lambda n: run("create_branch", table="db.t", branch=f"b{n}", tag=TAG),
        "rename": lambda n: run("rename_branch", table="db.t", branch=f"b{n}", to=f"r{n}"),
        "drop": lambda n: run("drop_branch", table="db.t", branch=f"b{n}"),
        PROTECT: lambda n: run("protect_branch", table="db.t", branch=f"b{n}"),
    }


def _java(warehouse: Path, version: str) -> Mapping[str, Act]:
    from tests.benchmarks.java_catalog import open_table, start_java  # noqa: PLC0415

    catalog = start_java(warehouse, version)

    def table(name: str) -> Any:
        return open_table(catalog, f"db.{name}")

    return {
        FORWARD: lambda n: table(f"t{n}").fastForward("dev"),
        "create": lambda n: table("t").createBranch(f"b{n}", TAG),
        "rename": lambda n: table("t").renameBranch(f"b{n}", f"r{n}"),
        "drop": lambda n: table("t").deleteBranch(f"b{n}"),
    }


if __name__ == "__main__":
    main()
