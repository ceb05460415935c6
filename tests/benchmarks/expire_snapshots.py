"""B21: snapshots of main expire, by ours over all branches, by both Paimon Javas looking at main.

Each commit replaced the files of the one before it. Ours is the whole procedure: plan, journal,
names that retire durably, a second look at all branches, event and receipt.
"""

import shutil
import statistics
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from branch_console.format.identifier import RESCUE_PREFIX
from tests.benchmarks.commit_figures import JAVA, find_contestants
from tests.benchmarks.contest import OURS, Result, at_least, hold, new_folder
from tests.benchmarks.synthetic import (
    BRANCH,
    FULL_MANIFESTS,
    add_files,
    make_table,
    open_table,
    place_of,
)

CALLS: Final = 3
"""Each process expires so many tables: the first call is cold, the others are warm."""
_FILES_OF_COMMIT: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A table of so many files that so many branches share, and what came on main since."""

    files: int
    branches: int
    commits: int
    manifests: int = 100

    @property
    def facts(self) -> Mapping[str, int | str]:
        """What tells the case from others."""
        return {"question": "run", "files": self.files, "branches": self.branches}

    @property
    def expected(self) -> Mapping[str, int]:
        """What each contestant has to leave of all tables."""
        return {"snapshots": CALLS, "files": CALLS * _FILES_OF_COMMIT}


CASES: Final = {
    "tiny": [Case(files=200, manifests=4, branches=2, commits=3)],
    "small": [Case(files=10_000, branches=10, commits=50)],
    "full": [Case(files=100_000, branches=10, commits=50)],
}


def run(scale: str, rounds: int, folder: Path) -> Iterator[Result]:
    """Run all cases of a scale; see `live_files.run`."""
    for case in CASES[scale]:
        warehouse = new_folder(folder) / "warehouse"
        make_warehouse(warehouse, case)
        contestants, absent = find_contestants("tests.benchmarks.child_expire", names=(OURS, *JAVA))
        samples, wrong = hold(contestants, warehouse, rounds, case.expected)
        result = Result(
            benchmark="B21", case=case.facts, samples=samples, wrong=wrong, absent=absent
        )
        ratios = {name: result.ratios(name, "cold") for name in JAVA}
        targets = tuple(
            at_least(f"faster than {name}, cold", statistics.median(each) if each else None, 1.0)
            for name, each in ratios.items()
        )
        yield replace(result, targets=targets)


def make_warehouse(folder: Path, case: Case) -> None:
    """Write the tables of a case; of data files those are there that main added since."""
    make_table(folder, case.files, case.manifests, FULL_MANIFESTS)
    origin = folder / "db.db" / "t"
    branches = origin / "branch"
    for number in range(case.branches):
        # No merge starts from a rescue branch, so that it holds files of main, and no snapshot.
        shutil.copytree(branches / f"branch-{BRANCH}", branches / f"branch-{RESCUE_PREFIX}{number}")
    shutil.rmtree(branches / f"branch-{BRANCH}")
    table, gone = open_table(folder), list[str]()
    for number in range(case.commits):
        names = [f"{uuid.UUID(int=(1 << 100) + number)}-{each}" for each in range(_FILES_OF_COMMIT)]
        for place, name in enumerate(names):
            path = origin / place_of(name, place)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"PAR1")
        add_files(folder, table, names, gone)
        gone = names
    for number in range(CALLS):
        shutil.copytree(origin, origin.with_name(f"t{number}"))
    shutil.rmtree(origin)
