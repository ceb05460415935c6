"""Paimon Java's part of B1: `python -m tests.benchmarks.child_java WAREHOUSE VERSION`.

The JVM keeps its default compiler, and the catalog its default caches: Java at its best.
"""

import json
import resource
import sys
import time
from typing import Any

import jpype

from tests.benchmarks.synthetic import BRANCH, TABLE
from tests.support.java_vm import hadoop_jars
from tests.support.requirements import find_jar, find_jvm

_WARM_CALLS = 3
_HEAP = "-Xmx4g"


def main() -> None:
    """Plan the live files once cold and some times warm, and print the figures."""
    warehouse, version = sys.argv[1:]
    jars = [find_jar(version), *hadoop_jars()]
    jpype.startJVM(
        _HEAP,
        "-Dslf4j.internal.verbosity=ERROR",
        jvmpath=str(find_jvm()),
        classpath=[str(jar) for jar in jars],
    )
    options = jpype.JClass("java.util.HashMap")()
    options.put("warehouse", warehouse)
    context = _class("catalog.CatalogContext").create(_class("options.Options").fromMap(options))
    catalog = _class("catalog.CatalogFactory").createCatalog(context)
    database, name = TABLE.split(".")
    identifier = _class("catalog.Identifier").create(database, f"{name}$branch_{BRANCH}")

    def plan() -> Any:
        return catalog.getTable(identifier).store().newScan().plan().files()

    times = []
    for _ in range(1 + _WARM_CALLS):
        started = time.perf_counter()
        count = plan().size()
        times.append(time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    partitions = list(catalog.getTable(identifier).store().newScan().readPartitionEntries())
    answer = {
        "files": int(count),
        "rows": sum(int(each.recordCount()) for each in partitions),
        "bytes": sum(int(each.fileSizeInBytes()) for each in partitions),
    }
    said = {"cold": times[0], "warm": times[1:], "peak_rss_kib": peak, "answer": answer}
    sys.stdout.write(json.dumps(said) + "\n")


def _class(name: str) -> Any:
    return jpype.JClass(f"org.apache.paimon.{name}")


if __name__ == "__main__":
    main()
