"""pypaimon's part of B6, run by its own interpreter: `python child_forward_pypaimon.py WAREHOUSE`.

It imports nothing of ours: that environment has other versions of what we depend on.
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

_CALLS = 4


def main() -> None:
    """Fast-forward one table after the other, and print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        warehouse = Path(folder) / "warehouse"
        shutil.copytree(sys.argv[1], warehouse)
        # What the copy left to be written would be charged to the first one that syncs.
        os.sync()
        catalog = CatalogFactory.create({"warehouse": str(warehouse)})
        times = []
        for number in range(_CALLS):
            started = time.perf_counter()
            catalog.get_table(f"db.t{number}").branch_manager().fast_forward("dev")
            times.append(time.perf_counter() - started)
        heads = {
            max(int(each.name.split("-")[1]) for each in snapshots.glob("snapshot-*"))
            for snapshots in warehouse.glob("db.db/*/snapshot")
        }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = {
        "cold": times[0],
        "warm": times[1:],
        "peak_rss_kib": peak,
        "answer": {"head": heads.pop()},
    }
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main()
