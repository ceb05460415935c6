"""pypaimon's part of B9, run by its own interpreter: `python child_read_pypaimon.py WAREHOUSE`.

It imports nothing of ours: that environment has other versions of what we depend on.
"""

import json
import resource
import sys
import time

import pyarrow.compute as pc
from pypaimon import CatalogFactory

# A later call takes as long as the first one: it is not worth minutes.
_WARM_CALLS = 1


def main() -> None:
    """Read all rows and columns once cold and once warm, and print the figures."""
    catalog = CatalogFactory.create({"warehouse": sys.argv[1]})
    times, answer = [], {}
    for _ in range(1 + _WARM_CALLS):
        started = time.perf_counter()
        builder = catalog.get_table("db.t").new_read_builder()
        rows = builder.new_read().to_arrow(builder.new_scan().plan().splits())
        answer = {"rows": rows.num_rows, "amount": pc.sum(rows["amount"]).as_py()}
        for name in ("ratio", "name", "code"):
            pc.min_max(rows[name])
        times.append(time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = {"cold": times[0], "warm": times[1:], "peak_rss_kib": peak, "answer": answer}
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main()
