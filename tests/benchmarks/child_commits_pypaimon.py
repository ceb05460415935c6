"""pypaimon's part, run by its own interpreter: see `child_commits`.

`child_commits_pypaimon.py WAREHOUSE OPTIONS N SEED DELAY`; it imports nothing of ours, as that
environment has other versions of what we depend on.
"""

import json
import random
import resource
import sys
import time

import pyarrow as pa
from pypaimon import CatalogFactory

_TABLE = "db.t"
_SCHEMA = pa.schema(
    [("pt", pa.int32()), ("id", pa.int64()), ("name", pa.string()), ("amount", pa.int64())]
)


def main() -> None:
    """Prepare, wait, commit, and print the figures."""
    warehouse, text, *numbers = sys.argv[1:]
    count, seed, delay_millis = map(int, numbers)
    catalog = CatalogFactory.create({"warehouse": warehouse, **_options(json.loads(text))})
    table = catalog.get_table(_TABLE)
    prepared = []
    for number in range(count):
        builder = table.new_batch_write_builder()
        write = builder.new_write()
        values = [[0], [seed * count + number], ["benchmark"], [number]]
        row = dict(zip(_SCHEMA.names, values, strict=True))
        write.write_arrow(pa.Table.from_pydict(row, schema=_SCHEMA))
        prepared.append((builder.new_commit(), write.prepare_commit()))
        write.close()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    rng = random.Random(seed)
    times, failures = [], []
    for commit, messages in prepared:
        time.sleep(rng.random() * delay_millis / 1_000)
        started = time.perf_counter()
        try:
            commit.commit(messages)
        except Exception as failure:  # its failures have no common class
            failures.append(str(failure)[:300])
        times.append(time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = {"times": times, "failures": failures, "peak_rss_kib": peak}
    sys.stdout.write(json.dumps(said) + "\n")


def _options(store: dict[str, str]) -> dict[str, str]:
    if not store:
        return {}
    return {
        "fs.s3.endpoint": store["endpoint_url"],
        "fs.s3.accessKeyId": store["key"],
        "fs.s3.accessKeySecret": store["secret"],
        "fs.s3.region": "us-east-1",
    }


if __name__ == "__main__":
    main()
