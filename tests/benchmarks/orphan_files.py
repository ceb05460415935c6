"""B22: orphan files among a million that lie in a table, found by ours and by both Paimon Javas.

Each looks alone, and removes nothing: Java is told to do nothing with what it found. Then ours
removes them, which notes them durably and looks at all branches again.
"""

import os
import statistics
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tests.benchmarks.commit_figures import JAVA, find_contestants
from tests.benchmarks.contest import OURS, Result, Target, at_least, at_most, hold, new_folder
from tests.benchmarks.synthetic import FULL_MANIFESTS, PARTITIONS, make_table, open_table

FIND: Final = "find"
REMOVE: Final = "remove"
SECONDS: Final = 30.0
_CHILD: Final = "tests.benchmarks.child_orphans"
# Long before any time that a contestant asks for.
_OLD_SECONDS: Final = 1_600_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A table of so many files, and so many more that nothing names."""

    question: str
    files: int
    orphans: int
    manifests: int = 500

    @property
    def facts(self) -> Mapping[str, int | str]:
        """What tells the case from others."""
        return {"question": self.question, "files": self.files, "orphans": self.orphans}


def _cases(files: int, orphans: int, manifests: int) -> list[Case]:
    return [
        Case(question=question, files=files, orphans=orphans, manifests=manifests)
        for question in (FIND, REMOVE)
    ]


CASES: Final = {
    "tiny": _cases(200, 10, 4),
    "small": _cases(100_000, 1_000, 100),
    "full": _cases(1_000_000, 10_000, 500),
}


def run(scale: str, rounds: int, folder: Path) -> Iterator[Result]:
    """Run all cases of a scale; see `live_files.run`. What is removed is removed once."""
    warehouse = new_folder(folder) / "warehouse"
    for case in CASES[scale]:
        if case.question == FIND:
            make_warehouse(warehouse, case)
        names = (OURS, *JAVA) if case.question == FIND else (OURS,)
        contestants, absent = find_contestants(_CHILD, case.question, names=names)
        often = rounds if case.question == FIND else 1
        samples, wrong = hold(contestants, warehouse, often, {"orphans": case.orphans})
        result = Result(
            benchmark="B22", case=case.facts, samples=samples, wrong=wrong, absent=absent
        )
        yield replace(result, targets=tuple(_targets(case, result)) if scale == "full" else ())


def make_warehouse(folder: Path, case: Case) -> None:
    """Write a table with all its data files, which are empty, and files that nothing names."""
    make_table(folder, case.files, case.manifests, FULL_MANIFESTS)
    table = open_table(folder)
    head = table.head()
    assert head is not None
    entries = table.scan.read(table.paths, table.manifests(head))
    origin = Path(table.paths.table)
    names = dict.fromkeys(entries["file_name"].to_pylist())
    orphans = (
        f"data-{uuid.UUID(int=(1 << 100) + number)}-0.parquet" for number in range(case.orphans)
    )
    buckets = [origin / f"pt={number}" / "bucket-0" for number in range(PARTITIONS)]
    for bucket in buckets:
        bucket.mkdir(parents=True)
    # Where a file lies nobody asks: it is known by its name.
    for number, name in enumerate((*names, *orphans)):
        path = f"{buckets[number % PARTITIONS]}/{name}"
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        os.utime(path, (_OLD_SECONDS, _OLD_SECONDS))


def _targets(case: Case, result: Result) -> Iterator[Target]:
    cold = statistics.median(result.cold(OURS))
    yield at_most(f"{case.question} within {SECONDS:g} s", cold, SECONDS)
    if case.question == FIND:
        for name in JAVA:
            ratios = result.ratios(name, "cold")
            middle = statistics.median(ratios) if ratios else None
            yield at_least(f"faster than {name}, cold", middle, 1.0)
