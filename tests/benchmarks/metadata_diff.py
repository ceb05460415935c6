"""B2: which files two branches do not share, told by ours, both Paimon Javas and pypaimon.

The peers have no such call: they plan both branches and subtract one from the other.
"""

import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tests.benchmarks.contest import OURS, Contestant, Result, Target, at_least, at_most, hold
from tests.benchmarks.synthetic import (
    BRANCH,
    FULL_MANIFESTS,
    add_files,
    make_table,
    open_table,
)
from tests.support.requirements import MissingError, find_jar, find_jvm, find_pypaimon

JAVA: Final = {"java 1.4.2": "1.4.2", "java 2.0.0": "2.0.0"}
PYPAIMON: Final = "pypaimon"
_FEW: Final = 10
_MOST: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Two branches that share `files` files, one of which added `changed` more."""

    files: int
    changed: int
    manifests: int = 100

    @property
    def facts(self) -> Mapping[str, int | str]:
        """What tells the case from others."""
        return {"files": self.files, "changed": self.changed, "manifests": self.manifests}


CASES: Final = {
    "tiny": [Case(files=100, changed=2, manifests=2)],
    "small": [Case(files=100_000, changed=changed) for changed in (10, 1_000, 10_000)],
    "full": [
        Case(files=files, changed=changed)
        for files in (100_000, _MOST)
        for changed in (10, 1_000, 10_000)
    ],
}


def run(scale: str, rounds: int, folder: Path) -> Iterator[Result]:
    """Run all cases of a scale; see `live_files.run`."""
    smaller: dict[int, float] = {}
    for case in CASES[scale]:
        warehouse = folder / "warehouse"
        make_warehouse(warehouse, case)
        contestants, absent = find_contestants(case)
        samples, wrong = hold(contestants, warehouse, rounds, {"changed": case.changed})
        result = Result(
            benchmark="B2", case=case.facts, samples=samples, wrong=wrong, absent=absent
        )
        yield replace(result, targets=tuple(_targets(case, result, smaller)))
        smaller[case.changed] = statistics.median(result.cold(OURS))


def make_warehouse(folder: Path, case: Case) -> None:
    """Write a table and a branch of it that added files."""
    make_table(folder, case.files, case.manifests, FULL_MANIFESTS)
    names = [str(number) for number in range(case.changed)]
    add_files(folder, open_table(folder).on(BRANCH), names)


def find_contestants(case: Case) -> tuple[list[Contestant], dict[str, str]]:
    """Ours and the peers that are installed, and why the others are not there."""
    found, absent = [Contestant(name=OURS, command=_child(OURS))], {}
    for name, version in JAVA.items():
        try:
            find_jvm()
            find_jar(version)
        except MissingError as gap:
            absent[name] = str(gap)
        else:
            found.append(Contestant(name=name, command=_child(version)))
    if case.files >= _MOST:
        return found, {**absent, PYPAIMON: "it plans a million files for minutes, and two branches"}
    try:
        python = find_pypaimon()
    except MissingError as gap:
        return found, {**absent, PYPAIMON: str(gap)}
    script = str(Path(__file__).with_name("child_diff_pypaimon.py"))
    peer = Contestant(name=PYPAIMON, command=lambda folder: [str(python), script, str(folder)])
    return [*found, peer], absent


def _child(who: str) -> Callable[[Path], Sequence[str]]:
    module = "tests.benchmarks.child_diff"
    return lambda folder: [sys.executable, "-m", module, str(folder), who]


def _targets(case: Case, result: Result, smaller: Mapping[int, float]) -> Iterator[Target]:
    cold = statistics.median(result.cold(OURS))
    if case.changed == _FEW:
        yield at_most("ten changed files within 50 ms, cold", cold * 1_000, 50.0)
    if case.changed in smaller:
        yield at_most("against the smaller table, cold", cold / smaller[case.changed], 1.2)
    read = max(sample.answer["shared_manifests_read"] for sample in result.of(OURS))
    yield at_most("manifests read that both list", float(read), 0.0)
    for name in (*JAVA, PYPAIMON):
        ratios = result.ratios(name, "cold")
        middle = statistics.median(ratios) if ratios else None
        yield at_least(f"faster than {name}, cold", middle, 1.0)
