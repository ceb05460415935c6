"""B1: the live files of a branch, read by ours, by Paimon Java 1.4.2 and 2.0.0, and by pypaimon."""

import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.benchmarks.contest import (
    OURS,
    Contestant,
    Result,
    Target,
    at_least,
    at_most,
    hold,
)
from tests.benchmarks.synthetic import SyntheticTable, make_table
from tests.support.requirements import MissingError, find_jar, find_jvm, find_pypaimon

CASES = {
    "tiny": [(200, 4)],
    "small": [(10_000, 1), (10_000, 100), (100_000, 1), (100_000, 100)],
    "full": [
        *[(10_000, 1), (10_000, 100), (100_000, 1), (100_000, 100)],
        *[(1_000_000, 1), (1_000_000, 100)],
    ],
}
PYPAIMON = "pypaimon"
JAVA = {"java 1.4.2": "1.4.2", "java 2.0.0": "2.0.0"}
_FEW, _MANY, _MOST = 10_000, 100_000, 1_000_000
# It takes minutes there, on a busy machine an hour, and says the same each time.
_PYPAIMON_ROUNDS = {_MANY: 2, _MOST: 1}
_PYPAIMON_BOUND_SECONDS = 3_600


def run(scale: str, rounds: int, folder: Path) -> Iterator[Result]:
    """Run all cases of a scale, each when it is asked for.

    Args:
        scale: A key of CASES.
        rounds: How often each contestant takes its turn.
        folder: Where the tables are made; each is removed before the next.
    """
    for case in CASES[scale]:
        yield _run_case(folder, *case, rounds)


def _run_case(folder: Path, entries: int, manifests: int, rounds: int) -> Result:
    table = make_table(folder / "warehouse", entries, manifests)
    contestants, absent = find_contestants(table)
    expected = {"files": table.live_files, "rows": table.live_rows, "bytes": table.live_bytes}
    samples, wrong = hold(contestants, table.warehouse, rounds, expected, rehearsed=True)
    result = Result(
        benchmark="B1",
        case={"entries": entries, "manifests": manifests},
        samples=samples,
        wrong=wrong,
        absent=absent,
    )
    return Result(
        benchmark=result.benchmark,
        case=result.case,
        samples=samples,
        targets=tuple(_targets(result, entries)),
        wrong=wrong,
        absent=absent,
    )


def find_contestants(table: SyntheticTable) -> tuple[list[Contestant], dict[str, str]]:
    """Ours and the peers that are installed, and why the others are not there."""
    found = [Contestant(name=OURS, command=_module("tests.benchmarks.child_ours"))]
    absent = {}
    for name, version in JAVA.items():
        try:
            find_jvm()
            find_jar(version)
        except MissingError as gap:
            absent[name] = str(gap)
        else:
            found.append(
                Contestant(name=name, command=_module("tests.benchmarks.child_java", version))
            )
    try:
        python = find_pypaimon()
    except MissingError as gap:
        absent[PYPAIMON] = str(gap)
    else:
        script = str(Path(__file__).with_name("child_pypaimon.py"))
        rounds = next(
            (
                n
                for size, n in sorted(_PYPAIMON_ROUNDS.items(), reverse=True)
                if table.entries >= size
            ),
            None,
        )
        found.append(
            Contestant(
                name=PYPAIMON,
                command=lambda folder: [str(python), script, str(folder)],
                max_rounds=rounds,
                bound_seconds=_PYPAIMON_BOUND_SECONDS,
            )
        )
    return found, absent


def _module(name: str, *arguments: str) -> Callable[[Path], Sequence[str]]:
    return lambda folder: [sys.executable, "-m", name, str(folder), *arguments]


def _targets(result: Result, entries: int) -> list[Target]:
    cold, warm = statistics.median(result.cold(OURS)), statistics.median(result.warm(OURS))
    memory = max(sample.peak_rss_bytes for sample in result.of(OURS)) / 1e9
    targets: list[Target] = []
    if entries < _FEW:
        return targets
    if entries == _MANY:
        targets.append(at_most("100k entries cold in 0.4 s", cold, 0.4))
    if entries == _MOST:
        targets += [
            at_most("1M entries cold in 3 s", cold, 3.0),
            at_most("1M entries within 1.5 GB", memory, 1.5),
            at_most("1M entries warm in 0.3 s", warm, 0.3),
        ]
    for name in JAVA:
        ratios = result.ratios(name, "warm")
        middle = statistics.median(ratios) if ratios else None
        targets.append(at_least(f"warm faster than {name}", middle, 1.0))
    ratios = result.ratios(PYPAIMON, "cold")
    middle = statistics.median(ratios) if ratios else None
    targets.append(at_least("ten times as fast as pypaimon, cold", middle, 10.0))
    return targets
