"""One process of B20, B21 or B24: `python -m tests.benchmarks.child_files WAREHOUSE ours reach`."""

import json
import resource
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Final

from branch_console.diff.expiry.reachability import ReferredManifests, reach
from branch_console.format.identifier import Identifier
from branch_console.maintenance.named_files import lists_of, read_named_files
from branch_console.maintenance.references import list_references
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.maintenance.expire_snapshots import plan_expire
from branch_console.procedures.maintenance.storage import read_storage
from tests.benchmarks.expire_files import EXPIRE, REACH, STORAGE
from tests.benchmarks.synthetic import TABLE, open_table

_WARM_CALLS: Final = 2


def main() -> None:
    """Ask once cold and twice warm, and print the figures."""
    folder, _, question = sys.argv[1:]
    ask = _ASKED[question](Path(folder))
    found, times = 0, []
    for _ in range(1 + _WARM_CALLS):
        started = time.perf_counter()
        found = ask()
        times.append(time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer = {"found": found}
    said = {"cold": times[0], "warm": times[1:], "peak_rss_kib": peak, "answer": answer}
    sys.stdout.write(json.dumps(said) + "\n")


def _needed(folder: Path) -> Callable[[], int]:
    """Count the files that some reference of some branch needs."""
    table = open_table(folder)

    def count() -> int:
        named = [lists_of(each) for each in list_references(table)]
        files = read_named_files(table, named)
        referred = [
            ReferredManifests(owner=number, live=files.numbers(each.live))
            for number, each in enumerate(named)
        ]
        found = reach(files.columns, referred)
        return int(found.owners.any(axis=1).sum())

    return count


def _expired(folder: Path) -> Callable[[], int]:
    """Count the snapshots of main that a preview would take."""
    later = time.time_ns() // 1_000_000 + 86_400_000
    warehouse = Warehouse.open(str(folder), read_only=True, clock=lambda: later)

    def count() -> int:
        call = ProcedureCall(
            name="expire_snapshots",
            arguments={
                "table": TABLE,
                "retain_max": 1,
                "options": "snapshot.num-retained.min=1,snapshot.time-retained=1 ms",
            },
            actor="benchmark",
            operation_id=uuid.uuid4().hex,
        )
        journal = plan_expire(warehouse, call).journal
        return sum(len(each.snapshots) for each in getattr(journal, "retirements", ()))

    return count


def _stored(folder: Path) -> Callable[[], int]:
    """Count the files that some branch needs, told by who needs them."""
    warehouse = Warehouse.open(str(folder), read_only=True)
    return lambda: read_storage(warehouse, Identifier.parse(TABLE)).cost.total.file_count


_ASKED: Final = {REACH: _needed, EXPIRE: _expired, STORAGE: _stored}


if __name__ == "__main__":
    main()
