"""One process of B22: `python -m tests.benchmarks.child_orphans WAREHOUSE WHO find|remove`.

Ours takes the options of the store as one more argument.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.commit_figures import JAVA
from tests.benchmarks.contest import OURS
from tests.benchmarks.orphan_files import FIND
from tests.benchmarks.synthetic import TABLE


def main() -> None:
    """Find orphan files, or remove them, and print the figures."""
    warehouse, who, question, *options = sys.argv[1:]
    if who == OURS:
        act = _ours(warehouse, question, json.loads(options[0]) if options else None)
    else:
        act = _java(warehouse, JAVA[who])
    started = time.perf_counter()
    found = act()
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer = {"orphans": found}
    said = {"cold": seconds, "warm": [], "peak_rss_kib": peak, "answer": answer}
    sys.stdout.write(json.dumps(said) + "\n")


def _ours(folder: str, question: str, options: dict[str, str] | None) -> Callable[[], int]:
    from branch_console.procedures.call.warehouse import Warehouse  # noqa: PLC0415  # a JVM has no use
    from branch_console.procedures.maintenance.orphan_files import find_orphans  # noqa: PLC0415
    from tests.benchmarks.own_procedure import run_ours  # noqa: PLC0415

    warehouse = Warehouse.open(folder, store_options=options)
    if question == FIND:
        before = warehouse.clock() - 86_400_000
        return lambda: (
            find_orphans(warehouse, warehouse.table(TABLE), before, "benchmark").files.num_rows
        )

    def remove() -> int:
        receipt = run_ours(warehouse, "remove_orphan_files", table=TABLE, grace="0 s")
        return receipt.counts.files_removed

    return remove


def _java(folder: str, version: str) -> Callable[[], int]:
    from tests.benchmarks.java_catalog import open_table, paimon, start_java  # noqa: PLC0415

    catalog = start_java(Path(folder), version)
    before = int(time.time() * 1_000) - 86_400_000
    clean = paimon("operation.LocalOrphanFilesClean")
    is_dry = True
    return lambda: int(
        clean(open_table(catalog, TABLE), before, is_dry).clean().getDeletedFileCount()
    )


if __name__ == "__main__":
    main()
