"""Our part of B1, in a process of its own: `python -m tests.benchmarks.child_ours WAREHOUSE`."""

import json
import resource
import sys
import time

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.catalog.filesystem_catalog import FilesystemCatalog
from branch_console.format.identifier import Identifier
from branch_console.storage.file_io import FileIO
from tests.benchmarks.synthetic import BRANCH, TABLE

_WARM_CALLS = 3


def main() -> None:
    """Read the live files once cold and some times warm, and print the figures."""
    store = FileIO.for_url(sys.argv[1])
    catalog = FilesystemCatalog(store, store.root)
    identifier = Identifier.parse(TABLE).on_branch(BRANCH)

    def read() -> pa.Table:
        table = catalog.open(identifier)
        head = table.head()
        assert head is not None
        return table.live_files(head)

    times = []
    for _ in range(1 + _WARM_CALLS):
        started = time.perf_counter()
        files = read()
        times.append(time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer = {
        "files": files.num_rows,
        "rows": pc.sum(files["row_count"]).as_py(),
        "bytes": pc.sum(files["file_size"]).as_py(),
    }
    said = {"cold": times[0], "warm": times[1:], "peak_rss_kib": peak, "answer": answer}
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main()
