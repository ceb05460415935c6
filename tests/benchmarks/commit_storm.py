"""B5: many processes commit to one table at once: ours, both Paimon Javas, and pypaimon.

`cold` is the whole storm in seconds, from the signal to the last commit; `warm` each commit.
"""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tests.benchmarks.commit_figures import JAVA, PYPAIMON, find_contestants
from tests.benchmarks.contest import OURS, Result, Target, at_least, at_most, hold, new_folder
from tests.benchmarks.synthetic import make_table

_ENTRIES: Final = 100
_WANTED_PROCESSES: Final = 8
_WANTED_RATE: Final = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Storm:
    """How many processes commit how often, each time after up to so many milliseconds."""

    processes: int
    commits: int = 100
    delay_millis: int = 0


_ALL: Final = [
    Storm(processes=processes, delay_millis=delay)
    for processes in (1, 2, 4, 8, 16)
    for delay in (0, 4)
]
CASES: Final = {
    "tiny": [Storm(processes=2, commits=5)],
    "small": [Storm(processes=_WANTED_PROCESSES, delay_millis=delay) for delay in (0, 4)],
    "full": _ALL,
}
_DRIVER: Final = "tests.benchmarks.child_storm"


def run(scale: str, rounds: int, folder: Path) -> Iterator[Result]:
    """Run all cases of a scale; see `live_files.run`."""
    for storm in CASES[scale]:
        warehouse = new_folder(folder) / "warehouse"
        make_table(warehouse, _ENTRIES, 1)
        contestants, absent = find_contestants(_DRIVER, *arguments(storm))
        samples, wrong = hold(contestants, warehouse, rounds, expected(storm))
        case = {
            "processes": storm.processes,
            "commits": storm.commits,
            "ms delay": storm.delay_millis,
        }
        result = Result(benchmark="B5", case=case, samples=samples, wrong=wrong, absent=absent)
        yield replace(result, targets=tuple(_targets(storm, result)))


def arguments(storm: Storm) -> tuple[str, str, str]:
    """What the driver is told."""
    return str(storm.processes), str(storm.commits), str(storm.delay_millis)


def expected(storm: Storm) -> dict[str, int]:
    """What is right; peers say of their own losses under other names."""
    return {"processes": storm.processes, "failed": 0, "lost": 0}


def _targets(storm: Storm, result: Result) -> Iterator[Target]:
    count = storm.processes * storm.commits
    for name in (OURS, *JAVA, PYPAIMON):
        samples = result.of(name)
        if not samples:
            continue
        rate = count / statistics.median(result.cold(name))
        slowest = statistics.median(_p99(sample.warm) for sample in samples)
        failed, lost = (
            sum(value for each in samples for key, value in each.answer.items() if word in key)
            for word in ("failed", "lost")
        )
        text = (
            f"{name}: {rate:.0f} commits/s, p99 {slowest * 1_000:.0f} ms, "
            f"failed {failed}, lost {lost}"
        )
        yield at_most(f"nothing failed or lost; {text}", failed + lost, 0)
        if name != OURS:
            yield at_least(
                f"faster than {name}", statistics.median(result.ratios(name, "cold")), 1.0
            )
        elif storm.processes == _WANTED_PROCESSES and not storm.delay_millis:
            yield at_least("8 processes make 100 commits a second", rate, _WANTED_RATE)


def _p99(values: tuple[float, ...]) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(0.99 * len(ordered)))]
