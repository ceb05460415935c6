"""One process of B6: `python -m tests.benchmarks.child_forward WAREHOUSE ours|VERSION`.

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

from tests.benchmarks.branch_operations import CALLS


def main() -> None:
    """Fast-forward one table after the other, and print the figures."""
    origin, who = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        warehouse = Path(folder) / "warehouse"
        shutil.copytree(origin, warehouse)
        # What the copy left to be written would be charged to the first one that syncs.
        os.sync()
        forward = _ours(warehouse) if who == "ours" else _java(warehouse, who)
        times = []
        for number in range(CALLS):
            started = time.perf_counter()
            forward(f"t{number}")
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


def _ours(warehouse: Path) -> Callable[[str], object]:
    from core.procedures.call import ProcedureCall  # noqa: PLC0415  # a JVM process has no use
    from core.procedures.registry import run_call  # noqa: PLC0415
    from core.procedures.row_engine import NoRowEngine  # noqa: PLC0415
    from core.procedures.stages import InlineStages  # noqa: PLC0415
    from core.procedures.warehouse import Warehouse  # noqa: PLC0415

    opened = Warehouse.open(str(warehouse))

    def forward(table: str) -> object:
        call = ProcedureCall(
            name="fast_forward",
            arguments={"table": f"db.{table}", "branch": "dev"},
            actor="benchmark",
            operation_id=f"forward-{table}",
        )
        return run_call(opened, NoRowEngine(), call, InlineStages())

    return forward


def _java(warehouse: Path, version: str) -> Callable[[str], object]:
    import jpype  # noqa: PLC0415  # only where a JVM is wanted

    from tests.support.java_vm import hadoop_jars  # noqa: PLC0415
    from tests.support.requirements import find_jar, find_jvm  # noqa: PLC0415

    jpype.startJVM(
        "-Xmx4g",
        "-Dslf4j.internal.verbosity=ERROR",
        jvmpath=str(find_jvm()),
        classpath=[str(jar) for jar in (find_jar(version), *hadoop_jars())],
    )

    def java(name: str) -> object:
        return jpype.JClass(f"org.apache.paimon.{name}")

    options = jpype.JClass("java.util.HashMap")()
    options.put("warehouse", str(warehouse))
    context = java("catalog.CatalogContext").create(java("options.Options").fromMap(options))
    catalog = java("catalog.CatalogFactory").createCatalog(context)

    def forward(table: str) -> object:
        identifier = java("catalog.Identifier").create("db", table)
        return catalog.getTable(identifier).fastForward("dev")

    return forward


if __name__ == "__main__":
    main()
