"""pypaimon's part of B6: `python child_branches_pypaimon.py WAREHOUSE OPERATION`.

Run by its own interpreter, it imports nothing of ours: that environment has other versions of what
we depend on.
"""

import json
import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

from pypaimon import CatalogFactory

_CALLS = 6
_FORWARD = "fast-forward"
_TAG = "v1"


def main() -> None:
    """Repeat one operation, and print the figures."""
    origin, operation = sys.argv[1:]
    warehouse = Path(tempfile.mkdtemp()) / "warehouse"
    shutil.copytree(origin, warehouse)
    catalog = CatalogFactory.create({"warehouse": str(warehouse)})

    def branches(table):
        return catalog.get_table(f"db.{table}").branch_manager()

    acts = {
        _FORWARD: lambda n: branches(f"t{n}").fast_forward("dev"),
        "create": lambda n: branches("t").create_branch(f"b{n}", _TAG),
        "rename": lambda n: branches("t").rename_branch(f"b{n}", f"r{n}"),
        "drop": lambda n: branches("t").drop_branch(f"b{n}"),
    }
    if operation in ("rename", "drop"):
        for number in range(_CALLS):
            acts["create"](number)
    # What was written so far would be charged to the first one that syncs.
    os.sync()
    times = []
    for number in range(_CALLS):
        started = time.perf_counter()
        acts[operation](number)
        times.append(time.perf_counter() - started)
    answer = _answer(warehouse, operation)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = {"cold": times[0], "warm": times[1:], "peak_rss_kib": peak, "answer": answer}
    sys.stdout.write(json.dumps(said) + "\n")


def _answer(warehouse, operation):
    if operation != _FORWARD:
        return {"branches": len(list(warehouse.glob("db.db/t/branch/branch-*")))}
    heads = {
        max(int(each.name.split("-")[1]) for each in snapshots.glob("snapshot-*"))
        for snapshots in warehouse.glob("db.db/*/snapshot")
    }
    return {"head": heads.pop()}


if __name__ == "__main__":
    main()
