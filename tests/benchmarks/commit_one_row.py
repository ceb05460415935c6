"""B5, one row: a commit of one small file to a table of many files and snapshots.

The clock takes the commit alone, for all contestants alike; see `commit_figures`. In a folder
`disk alone` takes part: what a commit waits for that is on the disk when it is told, which the
peers' are not.
"""

import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from branch_console.format.snapshot import Snapshot
from tests.benchmarks.commit_figures import JAVA, PYPAIMON, find_contestants
from tests.benchmarks.contest import OURS, Contestant, Result, Target, at_least, hold, new_folder
from tests.benchmarks.synthetic import make_table

CALLS: Final = 6
"""Each process commits that often: the first commit is cold, the others warm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What the table holds, and how long the bucket takes to answer that it is in, if it is.

    From 30 manifests on Paimon's options ask to merge them.
    """

    files: int
    snapshots: int
    manifests: int = 1
    line_millis: int | None = None


CASES: Final = {
    "tiny": [Size(files=200, snapshots=5), Size(files=200, snapshots=5, line_millis=1)],
    "small": [
        Size(files=100_000, snapshots=1_000),
        *(Size(files=100_000, snapshots=1_000, line_millis=millis) for millis in (0, 20)),
    ],
    "full": [
        Size(files=10_000, snapshots=1_000),
        Size(files=100_000, snapshots=1_000),
        Size(files=100_000, snapshots=1_000, manifests=40),
        Size(files=1_000_000, snapshots=1_000),
    ],
}
EXPECTED: Final = {"processes": 1, "failed": 0, "lost": 0, "snapshots": CALLS}
_DRIVER: Final = "tests.benchmarks.child_storm"
DISK_ALONE: Final = Contestant(
    name="disk alone",
    command=lambda folder: [
        *(sys.executable, "-m", "tests.benchmarks.child_disk_floor"),
        *(str(folder), str(CALLS)),
    ],
)


def run(scale: str, rounds: int, folder: Path) -> Iterator[Result]:
    """Run all cases of a scale; see `live_files.run`."""
    for size in CASES[scale]:
        warehouse = new_folder(folder) / "warehouse"
        make_warehouse(warehouse, size)
        contestants, absent = find_contestants(_DRIVER, *arguments(size))
        if size.line_millis is None:
            contestants.append(DISK_ALONE)
        samples, wrong = hold(contestants, warehouse, rounds, EXPECTED)
        case: dict[str, int | str] = {"files": size.files, "snapshots": size.snapshots}
        if size.line_millis is None:
            case["manifests"] = size.manifests
        else:
            case["ms to S3"] = size.line_millis
        result = Result(benchmark="B5", case=case, samples=samples, wrong=wrong, absent=absent)
        yield replace(result, targets=tuple(_targets(result)))


def arguments(size: Size) -> tuple[str, ...]:
    """What the driver is told."""
    line = () if size.line_millis is None else (str(size.line_millis),)
    return ("1", str(CALLS), "0", *line)


def make_warehouse(folder: Path, size: Size) -> None:
    """Write a table with that many files, whose snapshots all name the same ones."""
    make_table(folder, size.files, size.manifests)
    snapshots = folder / "db.db" / "t" / "snapshot"
    first = Snapshot.from_json((snapshots / "snapshot-1").read_text())
    for snapshot_id in range(2, size.snapshots + 1):
        later = replace(first, id=snapshot_id, commit_identifier=snapshot_id)
        (snapshots / f"snapshot-{snapshot_id}").write_text(later.to_json())
    (snapshots / "LATEST").write_text(str(size.snapshots))
    (snapshots / "EARLIEST").write_text("1")


def _targets(result: Result) -> Iterator[Target]:
    for kind in ("cold", "warm"):
        for peer in (*JAVA, PYPAIMON):
            ratios = result.ratios(peer, kind)
            middle = statistics.median(ratios) if ratios else None
            yield at_least(f"one row faster than {peer}, {kind}", middle, 1.0)
        millis = statistics.median(getattr(result, kind)(OURS)) * 1_000
        yield Target(text=f"milliseconds a commit of ours, {kind}", value=millis, is_met=True)
