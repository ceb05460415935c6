"""One process of B2: `python -m tests.benchmarks.child_diff WAREHOUSE ours|VERSION`."""

import json
import resource
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from tests.benchmarks.contest import OURS
from tests.benchmarks.synthetic import BRANCH, TABLE

_WARM_CALLS = 3


def main() -> None:
    """Tell main and the branch apart, once cold and some times warm, and print the figures."""
    warehouse, who = sys.argv[1:]
    diff = _ours(warehouse) if who == OURS else _java(warehouse, who)
    times = []
    for _ in range(1 + _WARM_CALLS):
        started = time.perf_counter()
        answer = diff()
        times.append(time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = {"cold": times[0], "warm": times[1:], "peak_rss_kib": peak, "answer": answer}
    sys.stdout.write(json.dumps(said) + "\n")


def _ours(folder: str) -> Callable[[], Mapping[str, int]]:
    from branch_console.format.identifier import Identifier  # noqa: PLC0415  # a JVM has no use
    from branch_console.procedures.call.warehouse import Warehouse  # noqa: PLC0415
    from branch_console.procedures.compare.states import compare_states  # noqa: PLC0415

    warehouse, table = Warehouse.open(folder), Identifier.parse(TABLE)

    def diff() -> Mapping[str, int]:
        found = compare_states(warehouse, table, "main", BRANCH)
        head = warehouse.table(table).head()
        assert head is not None
        shared = warehouse.table(table).manifests(head).num_rows
        return {
            "changed": found.only_in(after=True).file_count,
            "shared_manifests_read": shared - found.manifests_skipped,
        }

    return diff


def _java(folder: str, version: str) -> Callable[[], Mapping[str, int]]:
    import jpype  # noqa: PLC0415  # only where a JVM is wanted

    from tests.benchmarks.java_catalog import open_table, paimon, start_java  # noqa: PLC0415

    catalog = start_java(folder, version)

    def plan(table: str) -> Any:
        entries = open_table(catalog, table).store().newScan().plan().files()
        # All of it happens inside the JVM: calls from here, one a file, would be charged to it.
        return jpype.JClass("java.util.HashSet")(paimon("manifest.SimpleFileEntry").from_(entries))

    def diff() -> Mapping[str, int]:
        files = plan(f"{TABLE}$branch_{BRANCH}")
        files.removeAll(plan(TABLE))
        return {"changed": int(files.size())}

    return diff


if __name__ == "__main__":
    main()
