"""B20, B21, B24: which files of a table are needed, what an expiry would take, what files cost.

B20 reads every reference of every branch and decides who needs which file; B21 previews an expiry
of 50 snapshots of main; B24 tells what each of 50 branches needs alone and with each other one.
Cold is the first question to a warehouse, warm the next one: what was decoded is remembered.
Nobody else answers any of it: Paimon looks at one branch.
"""

import resource
import shutil
import statistics
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from branch_console.commit.branch.rescue import RESCUE_PREFIX
from branch_console.diff.expiry.reachability import ReferredManifests, reach
from branch_console.format.identifier import Identifier
from branch_console.format.snapshot import Snapshot
from branch_console.maintenance.named_files import lists_of, read_named_files
from branch_console.maintenance.references import list_references
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.maintenance.expire_snapshots import plan_expire
from branch_console.procedures.maintenance.storage import read_storage
from tests.benchmarks.contest import OURS, Result, Sample, Target, at_most, new_folder
from tests.benchmarks.synthetic import (
    BRANCH,
    FULL_MANIFESTS,
    TABLE,
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
_WARM_CALLS: Final = 2


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
        warehouse = new_folder(folder) / "warehouse"
        expected = _make(warehouse, case)
        ask = _ASKED[case.question]
        samples = tuple(_sample(warehouse, ask) for _ in range(rounds))
        yield Result(
            benchmark=_NUMBERS[case.question],
            case=case.facts,
            samples=samples,
            targets=_targets(case, samples) if scale == "full" else (),
            wrong=tuple(
                f"{each.contestant} found {each.answer['found']}, not {expected}"
                for each in samples
                if each.answer["found"] != expected
            ),
        )


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


def _sample(folder: Path, asked: Callable[[Path], Callable[[], int]]) -> Sample:
    started = time.perf_counter()
    ask = asked(folder)
    found, seconds = 0, []
    for _ in range(1 + _WARM_CALLS):
        begun = time.perf_counter()
        found = ask()
        seconds.append(time.perf_counter() - begun)
    return Sample(
        contestant=OURS,
        cold=seconds[0],
        warm=tuple(seconds[1:]),
        peak_rss_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        process=time.perf_counter() - started,
        answer={"found": found},
    )


def _needed(folder: Path) -> Callable[[], int]:
    """Count the files that some reference of some branch needs."""
    table = open_table(folder)

    def count() -> int:
        named = [lists_of(each) for each in list_references(table)]
        files = read_named_files(table, named)
        referred = [
            ReferredManifests(owner=number, live=files.numbers(each.live))
            for number, each in enumerate(named)
        ]
        found = reach(files.columns, referred)
        return int(found.owners.any(axis=1).sum())

    return count


def _expired(folder: Path) -> Callable[[], int]:
    """Count the snapshots of main that a preview would take."""
    later = time.time_ns() // 1_000_000 + 86_400_000
    warehouse = Warehouse.open(str(folder), read_only=True, clock=lambda: later)

    def count() -> int:
        call = ProcedureCall(
            name="expire_snapshots",
            arguments={
                "table": TABLE,
                "retain_max": 1,
                "options": "snapshot.num-retained.min=1,snapshot.time-retained=1 ms",
            },
            actor="benchmark",
            operation_id=uuid.uuid4().hex,
        )
        journal = plan_expire(warehouse, call).journal
        return sum(len(each.snapshots) for each in getattr(journal, "retirements", ()))

    return count


def _stored(folder: Path) -> Callable[[], int]:
    """Count the files that some branch needs, told by who needs them."""
    warehouse = Warehouse.open(str(folder), read_only=True)
    return lambda: read_storage(warehouse, Identifier.parse(TABLE)).cost.total.file_count


_WARM_SECONDS: Final = {REACH: 1.5, STORAGE: 2.0}
_NUMBERS: Final = {REACH: "B20", EXPIRE: "B21", STORAGE: "B24"}
_ASKED: Final = {REACH: _needed, EXPIRE: _expired, STORAGE: _stored}


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
