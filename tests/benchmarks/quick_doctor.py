"""B23: the quick rules of the doctor on a table of many branches. Nobody else looks at them."""

import resource
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from branch_console.format.identifier import Identifier
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.maintenance.doctor import examine
from tests.benchmarks.contest import OURS, Result, Sample, at_most, new_folder
from tests.benchmarks.own_procedure import run_ours
from tests.benchmarks.synthetic import FULL_MANIFESTS, TABLE, add_files, make_table, open_table

SECONDS: Final = 1.0
_COMMITS: Final = 3
_WARM_CALLS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A table with so many branches, each of which went on by three commits."""

    branches: int

    @property
    def facts(self) -> Mapping[str, int | str]:
        """What tells the case from others."""
        return {"branches": self.branches}


CASES: Final = {
    "tiny": [Case(branches=2)],
    "small": [Case(branches=10)],
    "full": [Case(branches=50)],
}


def run(scale: str, rounds: int, folder: Path) -> Iterator[Result]:
    """Run all cases of a scale; see `live_files.run`."""
    for case in CASES[scale]:
        warehouse = new_folder(folder) / "warehouse"
        _make(warehouse, case)
        samples = tuple(_sample(warehouse) for _ in range(rounds))
        cold = sorted(each.cold for each in samples)[len(samples) // 2]
        yield Result(
            benchmark="B23",
            case=case.facts,
            samples=samples,
            targets=(at_most(f"within {SECONDS:g} s, cold", cold, SECONDS),),
            wrong=tuple("a rule did not run" for each in samples if each.answer["unchecked"]),
        )


def _make(folder: Path, case: Case) -> None:
    make_table(folder, 1_000, 10, FULL_MANIFESTS)
    warehouse = Warehouse.open(str(folder))
    for number in range(case.branches):
        run_ours(warehouse, "create_branch", table=TABLE, branch=f"b{number}")
        for commit in range(_COMMITS):
            add_files(folder, open_table(folder).on(f"b{number}"), [f"{number}-{commit}-0"])


def _sample(folder: Path) -> Sample:
    started = time.perf_counter()
    warehouse = Warehouse.open(str(folder), read_only=True)
    seconds, found = [], None
    for _ in range(1 + _WARM_CALLS):
        begun = time.perf_counter()
        found = examine(warehouse, Identifier.parse(TABLE))
        seconds.append(time.perf_counter() - begun)
    assert found is not None
    return Sample(
        contestant=OURS,
        cold=seconds[0],
        warm=tuple(seconds[1:]),
        peak_rss_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        process=time.perf_counter() - started,
        answer={"findings": len(found.findings), "unchecked": len(found.unchecked)},
    )
