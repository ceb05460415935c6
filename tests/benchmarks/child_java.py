"""Paimon Java's part of B1: `python -m tests.benchmarks.child_java WAREHOUSE VERSION`.

The JVM keeps its default compiler, and the catalog its default caches: Java at its best.
"""

import json
import resource
import sys
import time
from typing import Any

from tests.benchmarks.java_catalog import open_table, start_java
from tests.benchmarks.synthetic import BRANCH, TABLE

_WARM_CALLS = 3


def main() -> None:
    """Plan the live files once cold and some times warm, and print the figures."""
    warehouse, version = sys.argv[1:]
    catalog, name = start_java(warehouse, version), f"{TABLE}$branch_{BRANCH}"

    def plan() -> Any:
        return open_table(catalog, name).store().newScan().plan().files()

    times = []
    for _ in range(1 + _WARM_CALLS):
        started = time.perf_counter()
        count = plan().size()
        times.append(time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    partitions = list(open_table(catalog, name).store().newScan().readPartitionEntries())
    answer = {
        "files": int(count),
        "rows": sum(int(each.recordCount()) for each in partitions),
        "bytes": sum(int(each.fileSizeInBytes()) for each in partitions),
    }
    said = {"cold": times[0], "warm": times[1:], "peak_rss_kib": peak, "answer": answer}
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main()
