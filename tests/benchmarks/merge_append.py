"""B3: a branch of an append table merged into a main that moved, by ours and by Paimon Java.

Ours is the whole procedure: plan, journal, commit, event, receipt, synced. The clock of Java takes
its `mergeBranch`, which reads both full listings, records nothing and syncs nothing.
"""

import shutil
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tests.benchmarks.contest import (
    OURS,
    Contestant,
    Result,
    Target,
    at_least,
    at_most,
    hold,
    new_folder,
)
from tests.benchmarks.synthetic import (
    BRANCH,
    FULL_MANIFESTS,
    add_files,
    make_table,
    open_table,
)
from tests.support.requirements import MissingError, find_jar, find_jvm

CALLS: Final = 6
"""Each process merges so many branches: the first merge is cold, the others are warm."""

JAVA: Final = "java 2.0.0"
_FEW: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A branch that added `changed` files to a table of `files` files in `manifests` manifests."""

    files: int
    changed: int
    manifests: int = 1

    @property
    def facts(self) -> Mapping[str, int | str]:
        """What tells the case from others."""
        return {"files": self.files, "changed": self.changed, "manifests": self.manifests}


CASES: Final = {
    "tiny": [Case(files=100, changed=2)],
    "small": [
        Case(files=10_000, changed=10),
        Case(files=100_000, changed=10),
        Case(files=100_000, changed=1_000),
    ],
    "full": [
        Case(files=10_000, changed=10),
        Case(files=100_000, changed=10, manifests=100),
        Case(files=1_000_000, changed=10, manifests=100),
        Case(files=100_000, changed=1_000),
    ],
}


def run(scale: str, rounds: int, folder: Path) -> Iterator[Result]:
    """Run all cases of a scale; see `live_files.run`."""
    flat: dict[int, float] = {}
    for case in CASES[scale]:
        warehouse = new_folder(folder) / "warehouse"
        made = make_warehouse(warehouse, case)
        contestants, absent = find_contestants()
        samples, wrong = hold(contestants, warehouse, rounds, {"files": made})
        result = Result(
            benchmark="B3", case=case.facts, samples=samples, wrong=wrong, absent=absent
        )
        if case.changed <= _FEW:
            flat[case.files] = statistics.median(result.cold(OURS))
        yield replace(result, targets=tuple(_targets(case, result, flat)))


def make_warehouse(folder: Path, case: Case) -> int:
    """Write a table with branches that each added files, and a main that did too.

    Returns:
        How many files are live on main once all branches are merged.
    """
    live = make_table(folder, case.files, case.manifests, FULL_MANIFESTS).live_files
    main = open_table(folder)
    for number in range(CALLS):
        branch = main.on(f"b{number}")
        shutil.copytree(Path(main.on(BRANCH).paths.root), Path(branch.paths.root))
        add_files(folder, branch, [f"b{number}-{each}" for each in range(case.changed)])
    add_files(folder, main, ["mine"])
    return live + CALLS * case.changed + 1


def find_contestants() -> tuple[list[Contestant], dict[str, str]]:
    """Ours, and Java where it is installed, or why it is not there."""
    found = [Contestant(name=OURS, command=_child(OURS))]
    try:
        find_jvm()
        find_jar("2.0.0")
    except MissingError as gap:
        return found, {JAVA: str(gap)}
    return [*found, Contestant(name=JAVA, command=_child("2.0.0"))], {}


def _child(who: str) -> Callable[[Path], Sequence[str]]:
    module = "tests.benchmarks.child_merge"
    return lambda folder: [sys.executable, "-m", module, str(folder), who]


def _targets(case: Case, result: Result, flat: Mapping[int, float]) -> Iterator[Target]:
    cold, warm = (statistics.median(getattr(result, kind)(OURS)) for kind in ("cold", "warm"))
    again = [sample.answer["again_micros"] / 1_000 for sample in result.of(OURS)]
    if case.changed <= _FEW:
        yield at_most("merge within 100 ms, cold", cold * 1_000, 100.0)
        yield at_most("merge within 30 ms, warm", warm * 1_000, 30.0)
        smallest = flat[min(flat)]
        if len(flat) > 1:
            yield at_most("cold, against the smallest table", cold / smallest, 1.2)
    yield at_most("merge again within 5 ms", statistics.median(again), 5.0)
    for kind in ("cold", "warm"):
        ratios = result.ratios(JAVA, kind)
        middle = statistics.median(ratios) if ratios else None
        yield at_least(f"ten times as fast as {JAVA}, {kind}", middle, 10.0)
