"""pypaimon's part of B2, run by its own interpreter: `python child_diff_pypaimon.py WAREHOUSE`.

It imports nothing of ours: that environment has other versions of what we depend on.
"""

import json
import resource
import sys
import time

from pypaimon import CatalogFactory


def main() -> None:
    """Tell main and the branch apart once, and print the figures."""
    catalog = CatalogFactory.create({"warehouse": sys.argv[1]})

    def plan(name: str) -> set:
        scan = catalog.get_table(name).new_read_builder().new_scan()
        return {file.file_name for split in scan.plan().splits() for file in split.files}

    started = time.perf_counter()
    changed = plan("db.t$branch_dev") - plan("db.t")
    taken = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = {"cold": taken, "warm": [], "peak_rss_kib": peak, "answer": {"changed": len(changed)}}
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main()
