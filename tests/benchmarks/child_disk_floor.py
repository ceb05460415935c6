"""What a durable commit waits for whoever makes it: `child_disk_floor WAREHOUSE N`.

Nothing is read, decided or encoded. Three files beside the manifests and one beside the snapshots
are written and brought down to the disk side by side, with the names of the three; then the fourth
gets a snapshot's name, which no other had, and that is brought down too.
"""

import json
import os
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.benchmarks.commit_place import copy_of

_BYTES = b"x" * 900
_THREADS = ThreadPoolExecutor(4)


def main() -> None:
    """Take the time of N commits, and print the figures."""
    origin, count = sys.argv[1], int(sys.argv[2])
    with copy_of(Path(origin), None) as place:
        table = f"{place.url}/db.db/t"
        times = [_timed(table, number) for number in range(count)]
        snapshots = len(list(Path(table, "snapshot").glob("floor-*")))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = {"cold": times[0], "warm": times[1:], "answer": {"snapshots": snapshots}}
    sys.stdout.write(json.dumps({**said, "peak_rss_kib": peak}) + "\n")


def _timed(table: str, number: int) -> float:
    started = time.perf_counter()
    temporary = f"{table}/snapshot/.floor-{number}"
    places = [*(f"{table}/manifest/floor-{number}-{part}" for part in range(3)), temporary]
    open_now = [_written(place) for place in places]
    open_now.append(os.open(f"{table}/manifest", os.O_RDONLY))
    first, *others = open_now
    synced = [_THREADS.submit(os.fsync, each) for each in others]
    os.fsync(first)
    for each in synced:
        each.result()
    os.link(temporary, f"{table}/snapshot/floor-{number}")
    os.unlink(temporary)  # noqa: PTH108 - the call alone
    open_now.append(os.open(f"{table}/snapshot", os.O_RDONLY))
    os.fsync(open_now[-1])
    for descriptor in open_now:
        os.close(descriptor)
    return time.perf_counter() - started


def _written(place: str) -> int:
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.write(descriptor, _BYTES)
    return descriptor


if __name__ == "__main__":
    main()
