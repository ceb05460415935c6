"""B20, B21, B24: which files of a table are needed, what an expiry would take, what files cost.

B20 reads every reference of every branch and decides who needs which file; B21 previews an expiry
of 50 snapshots of main; B24 tells what each of 50 branches needs alone and with each other one.
Cold is the first question to a warehouse, warm the next one: what was decoded is remembered.
Nobody else answers any of it: Paimon looks at one branch.
"""

import shutil
import statistics
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from branch_console.format.identifier import RESCUE_PREFIX
from branch_console.format.snapshot import Snapshot
from tests.benchmarks.commit_figures import find_contestants
from tests.benchmarks.contest import OURS, Result, Sample, Target, at_most, hold
from tests.benchmarks.prepared import PreparedTable, prepared
from tests.benchmarks.synthetic import (
    BRANCH,
    FULL_MANIFESTS,
    add_files,
    make_table,
    open_table,
)

REACH: Final = "reach"
EXPIRE: Final = "expire"
STORAGE: Final = "storage"
REACH_SECONDS: Final = 10.0
REACH_BYTES: Final = 1_500_000_000
EXPIRE_SECONDS: Final = 1.0
_CHILD: Final = "tests.benchmarks.child_files"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is asked of a table of so many files that so many branches share.

    Attributes:
        commits: How many snapshots of main were committed since the branches were made.
        snapshots: How many each branch has, each with manifest lists of its own.
    """

    question: str
    files: int
    manifests: int
    branches: int
    commits: int = 0
    snapshots: int = 1

    @property
    def facts(self) -> Mapping[str, int | str]:
        """What tells the case from others."""
        return {
            "question": self.question,
            "files": self.files,
            "references": 1 + self.commits + self.branches * self.snapshots,
        }


CASES: Final = {
    "tiny": [
        Case(question=REACH, files=200, manifests=4, branches=3, snapshots=2),
        Case(question=EXPIRE, files=200, manifests=4, branches=2, commits=3),
        Case(question=STORAGE, files=200, manifests=4, branches=3),
    ],
    "small": [
        Case(question=REACH, files=100_000, manifests=100, branches=50, snapshots=2),
        Case(question=EXPIRE, files=10_000, manifests=100, branches=10, commits=50),
        Case(question=STORAGE, files=100_000, manifests=100, branches=50),
    ],
    "full": [
        Case(question=REACH, files=1_000_000, manifests=500, branches=50, snapshots=20),
        Case(question=EXPIRE, files=100_000, manifests=100, branches=10, commits=50),
        Case(question=STORAGE, files=1_000_000, manifests=500, branches=50),
    ],
}


def run(scale: str, rounds: int, folder: Path) -> Iterator[Result]:
    """Run all cases of a scale; see `live_files.run`."""
    for case in CASES[scale]:
        table = _prepared(folder, case)
        contestants, absent = find_contestants(_CHILD, case.question, names=(OURS,))
        expected = {"found": table.expected}
        samples, wrong = hold(contestants, table.warehouse, rounds, expected)
        yield Result(
            benchmark=_NUMBERS[case.question],
            case=case.facts,
            samples=samples,
            targets=_targets(case, samples) if scale == "full" else (),
            wrong=wrong,
            absent=absent,
        )


def prepare(scale: str, folder: Path) -> None:
    """Make the tables of a scale for a later run."""
    for case in CASES[scale]:
        _prepared(folder, case)


def _prepared(folder: Path, case: Case) -> PreparedTable:
    def make(warehouse: Path) -> int:
        return _make(warehouse, case)

    return prepared(folder, case, make)


def _make(warehouse: Path, case: Case) -> int:
    """Write the table; return what is to be found in it."""
    made = make_table(warehouse, case.files, case.manifests, FULL_MANIFESTS)
    branches = warehouse / "db.db" / "t" / "branch"
    for number in range(case.branches):
        # No merge starts from a rescue branch, so that it holds files of main, and no snapshot.
        shutil.copytree(branches / f"branch-{BRANCH}", branches / f"branch-{RESCUE_PREFIX}{number}")
    shutil.rmtree(branches / f"branch-{BRANCH}")
    for number in range(case.branches):
        _add_snapshots(branches / f"branch-{RESCUE_PREFIX}{number}", case.snapshots - 1)
    for number in range(case.commits):
        add_files(warehouse, open_table(warehouse), [f"{number}-{uuid.UUID(int=number)}"])
    return case.commits if case.question == EXPIRE else made.live_files


def _add_snapshots(branch: Path, count: int) -> None:
    """Let a branch have so many more snapshots of what its first one holds, in other lists."""
    first = Snapshot.from_json((branch / "snapshot" / "snapshot-1").read_bytes())
    manifests = branch.parents[1] / "manifest"
    for number in range(2, count + 2):
        lists = []
        for name in (first.base_manifest_list, first.delta_manifest_list):
            lists.append(f"manifest-list-{uuid.uuid4()}-0")
            shutil.copyfile(manifests / name, manifests / lists[-1])
        base, delta = lists
        snapshot = replace(first, id=number, base_manifest_list=base, delta_manifest_list=delta)
        path = branch / "snapshot" / f"snapshot-{number}"
        path.write_text(snapshot.to_json(), encoding="utf-8")


_WARM_SECONDS: Final = {REACH: 1.5, STORAGE: 2.0}
_NUMBERS: Final = {REACH: "B20", EXPIRE: "B21", STORAGE: "B24"}


def _targets(case: Case, samples: tuple[Sample, ...]) -> tuple[Target, ...]:
    cold = sorted(each.cold for each in samples)[len(samples) // 2]
    if case.question == EXPIRE:
        return (at_most(f"a preview takes {EXPIRE_SECONDS:g} s at most", cold, EXPIRE_SECONDS),)
    most = max(each.peak_rss_bytes for each in samples)
    targets = (
        at_most(f"it takes {REACH_SECONDS:g} s at most", cold, REACH_SECONDS),
        at_most("it takes 1.5 GB at most", most, REACH_BYTES),
    )
    warm = sorted(statistics.median(each.warm) for each in samples)[len(samples) // 2]
    most_seconds = _WARM_SECONDS[case.question]
    return (*targets, at_most(f"warm it takes {most_seconds:g} s at most", warm, most_seconds))
