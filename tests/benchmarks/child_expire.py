"""One process of B21: `python -m tests.benchmarks.child_expire WAREHOUSE WHO`.

Works on a copy that is made before the clock starts.
"""

import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.commit_figures import JAVA
from tests.benchmarks.contest import OURS
from tests.benchmarks.expire_snapshots import CALLS


def main() -> None:
    """Expire all snapshots but the newest of some tables, and print the figures."""
    origin, who = sys.argv[1:]
    warehouse = Path(tempfile.mkdtemp()) / "warehouse"
    shutil.copytree(origin, warehouse)
    expire = _ours(warehouse) if who == OURS else _java(warehouse, JAVA[who])
    # What was written so far would be charged to the first one that syncs.
    os.sync()
    times = []
    for number in range(CALLS):
        started = time.perf_counter()
        expire(f"db.t{number}")
        times.append(time.perf_counter() - started)
    tables = list(warehouse.glob("db.db/t*"))
    answer = {
        "snapshots": sum(len(list(each.glob("snapshot/snapshot-*"))) for each in tables),
        "files": sum(len(list(each.glob("pt=*/bucket-0/data-*"))) for each in tables),
    }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = {"cold": times[0], "warm": times[1:], "peak_rss_kib": peak, "answer": answer}
    sys.stdout.write(json.dumps(said) + "\n")


def _ours(warehouse: Path) -> Callable[[str], object]:
    from branch_console.procedures.call.warehouse import Warehouse  # noqa: PLC0415  # a JVM has no use
    from tests.benchmarks.own_procedure import run_ours  # noqa: PLC0415

    opened = Warehouse.open(str(warehouse))
    options = "snapshot.num-retained.min=1,snapshot.time-retained=1 ms"
    return lambda name: run_ours(
        opened,
        "expire_snapshots",
        table=name,
        retain_max=1,
        options=options,
        grace="0 s",
    )


def _java(warehouse: Path, version: str) -> Callable[[str], object]:
    import jpype  # noqa: PLC0415  # only where a JVM is wanted

    from tests.benchmarks.java_catalog import open_table, paimon, start_java  # noqa: PLC0415

    catalog = start_java(warehouse, version)
    limits = paimon("options.ExpireConfig").builder().snapshotRetainMax(1).snapshotRetainMin(1)
    limits.snapshotTimeRetain(jpype.JClass("java.time.Duration").ZERO)
    limits.snapshotMaxDeletes(1_000)
    config = limits.build()
    return lambda name: open_table(catalog, name).newExpireSnapshots().config(config).expire()


if __name__ == "__main__":
    main()
