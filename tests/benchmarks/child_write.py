"""Our part of B10: `python -m tests.benchmarks.child_write WAREHOUSE ROWS BUCKETS CALLS`."""

import json
import resource
import sys
import tempfile
import time
import uuid
from pathlib import Path

import numpy as np
import pyarrow as pa

from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.statement.write_rows import insert_rows
from branch_console.spark.session.session import SparkSettings, open_session
from branch_console.spark.write.row_writer import SparkRowWriter
from tests.benchmarks.write_rows import make_table
from tests.support.warm_up import warm_up


def rows_of(count: int, call: int) -> pa.Table:
    """All keys in another order each time."""
    ids = np.random.default_rng(call).permutation(count)
    return pa.table(
        {
            "id": ids,
            "name": [f"name {number}" for number in ids],
            "amount": ids * 7 + call,
            "rate": ids * 0.5,
        }
    )


def main(folder: str, *numbers: str) -> None:
    """Write and print the figures."""
    count, buckets, calls = map(int, numbers)
    name = f"ours_{uuid.uuid4().hex[:8]}"
    make_table(Path(folder), name, buckets)
    warehouse = Warehouse.open(folder)
    table = warehouse.table(f"db.{name}")
    session = open_session(SparkSettings(cache=Path(tempfile.mkdtemp())))
    warm_up(session)
    writer = SparkRowWriter(lambda: session, warehouse.file_io)
    times = []
    for number in range(calls):
        rows = rows_of(count, number)
        call = ProcedureCall(name="write_rows", actor="benchmark", operation_id=str(uuid.uuid4()))
        started = time.perf_counter()
        insert_rows(warehouse, writer, table, rows, call)
        times.append(time.perf_counter() - started)
    session.close()
    head = table.head()
    assert head is not None
    answer = {"rows": head.total_record_count, "snapshots": head.id}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = {"cold": times[0], "warm": times[1:], "peak_rss_kib": peak, "answer": answer}
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
