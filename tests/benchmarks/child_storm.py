"""One round of commits: `child_storm WAREHOUSE WHO PROCESSES N DELAY [MILLISECONDS OF A STORE]`.

Starts the committing processes on a copy of the warehouse, lets all of them go at once, and looks
afterwards what really stands in the table.
"""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from branch_console.format.identifier import Identifier
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable
from tests.benchmarks.commit_figures import OURS, worker_command
from tests.benchmarks.commit_place import Place, copy_of
from tests.benchmarks.synthetic import TABLE


def main() -> None:
    """Hold the round, and print the figures."""
    origin, who, *numbers = sys.argv[1:]
    processes, commits, delay_millis, *line = map(int, numbers)
    with copy_of(Path(origin), line[0] if line else None) as place:
        files, head = _state(place)
        seconds, said = _run(who, place, processes, commits, delay_millis)
        files_after, head_after = _state(place)
    failures = [text for each in said for text in each["failures"]]
    if failures:
        sys.stderr.write(f"{len(failures)} commits of {who} failed, one with: {failures[0]}\n")
    landed = processes * commits - len(failures)
    answer = _answer(who, processes, len(failures), landed - (files_after - files))
    times = [each["times"] for each in said]
    is_storm = processes * commits > commits or delay_millis > 0
    print(
        json.dumps(
            {
                "cold": seconds if is_storm else times[0][0],
                "warm": [one for each in times for one in each] if is_storm else times[0][1:],
                "peak_rss_kib": max(each["peak_rss_kib"] for each in said),
                "answer": {**answer, "snapshots": head_after - head},
            }
        )
    )


def _run(
    who: str, place: Place, processes: int, commits: int, delay_millis: int
) -> tuple[float, list[dict[str, Any]]]:
    """Seconds from the start signal to the last commit, and what each process said."""
    workers = [
        subprocess.Popen(
            [*worker_command(who), *place.told, str(commits), str(seed), str(delay_millis)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in range(1, processes + 1)
    ]
    for worker in workers:
        while (line := _line(worker)) != "ready":
            if not line and worker.poll() is not None:
                raise RuntimeError(f"A process of {who} ended before it was ready.")
    started = time.perf_counter()
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    # The others wait in their pipes: the last one to end is the end of all.
    said = [json.loads(_line(worker)) for worker in workers]
    seconds = time.perf_counter() - started
    for worker in workers:
        worker.wait()
    return seconds, said


def _line(worker: subprocess.Popen[str]) -> str:
    assert worker.stdout is not None
    return worker.stdout.readline().rstrip("\n")


def _state(place: Place) -> tuple[int, int]:
    """How many files are live, and the id of the head."""
    file_io = FileIO.for_url(place.url, place.near_options)
    database, name = TABLE.split(".")
    path = f"{file_io.root}/{database}.db/{name}"
    table = FileStoreTable.open(file_io, path, Identifier(database=database, table=name))
    head = table.head()
    assert head is not None
    return table.live_files(head).num_rows, head.id


def _answer(who: str, processes: int, failed: int, lost: int) -> Mapping[str, int]:
    # A peer's losses are a finding, ours would be a wrong answer.
    prefix = "" if who == OURS else "their_"
    return {"processes": processes, f"{prefix}failed": failed, f"{prefix}lost": lost}


if __name__ == "__main__":
    main()
