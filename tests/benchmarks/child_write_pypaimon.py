"""pypaimon's part of B10, by its own interpreter: `child_write_pypaimon.py WAREHOUSE ROWS BUCKETS
CALLS`; it imports nothing of ours, as that environment has other versions of what we depend on.
"""

import json
import resource
import sys
import time
import uuid

import numpy as np
import pyarrow as pa
from pypaimon import CatalogFactory, Schema

_SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("name", pa.string()),
        ("amount", pa.int64()),
        ("rate", pa.float64()),
    ]
)


def main(folder: str, *numbers: str) -> None:
    """Write and print the figures."""
    count, buckets, calls = map(int, numbers)
    name = f"db.peer_{uuid.uuid4().hex[:8]}"
    catalog = CatalogFactory.create({"warehouse": folder})
    catalog.create_database("db", True)
    options = {"bucket": str(buckets), "write-only": "true"}
    schema = Schema.from_pyarrow_schema(_SCHEMA, [], ["id"], options, "")
    catalog.create_table(name, schema, False)
    table = catalog.get_table(name)
    times = []
    for number in range(calls):
        ids = np.random.default_rng(number).permutation(count)
        columns = [ids, [f"name {each}" for each in ids], ids * 7 + number, ids * 0.5]
        rows = pa.Table.from_arrays(
            [pa.array(column, kind.type) for column, kind in zip(columns, _SCHEMA, strict=True)],
            schema=_SCHEMA,
        )
        started = time.perf_counter()
        builder = table.new_batch_write_builder()
        write, commit = builder.new_write(), builder.new_commit()
        write.write_arrow(rows)
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()
        times.append(time.perf_counter() - started)
    head = table.snapshot_manager().get_latest_snapshot()
    answer = {"rows": head.total_record_count, "snapshots": head.id}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = {"cold": times[0], "warm": times[1:], "peak_rss_kib": peak, "answer": answer}
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
