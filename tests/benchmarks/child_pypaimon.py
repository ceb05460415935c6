"""pypaimon's part of B1, run by its own interpreter: `python child_pypaimon.py WAREHOUSE`.

It imports nothing of ours: that environment has other versions of what we depend on.
"""

import json
import resource
import sys
import time

from pypaimon import CatalogFactory

# A second call takes as long as the first one: it is not worth minutes.
_WORTH_REPEATING_SECONDS = 5


def main() -> None:
    """Plan the live files once cold and, where that is quick, once warm, and print the figures."""
    catalog = CatalogFactory.create({"warehouse": sys.argv[1]})

    def plan() -> list:
        table = catalog.get_table("db.t$branch_dev")
        return table.new_read_builder().new_scan().plan().splits()

    times: list[float] = []
    while not times or (len(times) == 1 and times[0] < _WORTH_REPEATING_SECONDS):
        started = time.perf_counter()
        splits = plan()
        times.append(time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    files = [file for split in splits for file in split.files]
    answer = {
        "files": len(files),
        "rows": sum(file.row_count for file in files),
        "bytes": sum(file.file_size for file in files),
    }
    said = {"cold": times[0], "warm": times[1:], "peak_rss_kib": peak, "answer": answer}
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main()
