"""B4: a branch of a primary-key table merged into one that changed other keys, and some of its own.

Ours has a warm session, as in the worker, and is the whole procedure: plan, check of the files,
comparing and settling of rows, commit, receipt, synced. Plain Spark joins three whole states by key
and writes the fourth; doltlite merges two commits and settles what it reports.
"""

import importlib.util
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.benchmarks.contest import OURS, Contestant, Result, Target, at_least, at_most, hold
from tests.support.large_keys import Keys, make_branch, make_table, rows_of

DOLTLITE: Final = "doltlite"
JOIN: Final = "spark join"
CALLS: Final = 3
"""Each process merges so many pairs of equal branches: the first is cold, the others are warm."""

STATES: Final = ("base", "ours", "theirs")
_FILES: Final = 4
_ADDED: Final = {"ours": 1, "theirs": 2}
_SMALL: Final = 1_000
_LARGE: Final = 10_000
_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A table of `rows` rows of which each side changed `changed`, `both` of them the same."""

    rows: int
    changed: int
    both: int = 0

    @property
    def facts(self) -> Mapping[str, int | str]:
        """What tells the case from others."""
        return {"rows": self.rows, "changed": self.changed, "conflicts": self.both}

    @property
    def expected(self) -> Mapping[str, int]:
        """What everybody must find; of a row that both changed, what the source made of it."""
        amount = self.rows * (self.rows - 1) // 2
        amount += (self.changed - self.both) * _ADDED["ours"] + self.changed * _ADDED["theirs"]
        return {"rows": self.rows, "amount": amount}

    def keys(self, side: str) -> Keys:
        """The keys that a side changed, spread over all there are."""
        some = np.random.default_rng(self.changed)
        found = some.choice(self.rows, 2 * self.changed - self.both, replace=False)
        return np.sort(found[: self.changed] if side == "ours" else found[-self.changed :])

    def change(self, side: str) -> pa.Table:
        """The rows as a side wrote them."""
        return rows_of(self.keys(side), more=_ADDED[side])


CASES: Final = {
    "tiny": [Case(rows=2_000, changed=100, both=1)],
    "small": [
        Case(rows=1_000_000, changed=1_000),
        Case(rows=1_000_000, changed=10_000),
        Case(rows=1_000_000, changed=10_000, both=100),
    ],
    "full": [
        Case(rows=1_000_000, changed=10),
        *(
            Case(rows=rows, changed=changed, both=both)
            for rows in (1_000_000, 10_000_000)
            for changed in (1_000, 10_000, 100_000)
            for both in (0, changed // 100)
        ),
    ],
}


def run(scale: str, rounds: int, folder: Path) -> Iterator[Result]:
    """Run all cases of a scale; see `live_files.run`."""
    for case in CASES[scale]:
        place = folder / f"B4-{case.rows}-{case.changed}-{case.both}"
        contestants, absent = find_contestants()
        for each in contestants:
            prepare(each.name, place, case)
        samples, wrong = hold(contestants, place, rounds, case.expected)
        result = Result(benchmark="B4", case=case.facts, samples=samples, absent=absent)
        wrong += tuple(_written_in_vain(case, result))
        result = replace(result, wrong=wrong)
        yield replace(result, targets=tuple(_targets(case, result)))


def prepare(name: str, place: Path, case: Case) -> None:
    """Write what a contestant merges."""
    place.mkdir(parents=True, exist_ok=True)
    if name == OURS:
        _make_warehouse(place / "warehouse", case)
    elif name == JOIN:
        _make_states(place, case)
    else:
        size = map(str, (case.rows, case.changed, case.both))
        command = [*_doltlite("make", place), *size]
        subprocess.run(command, check=True, cwd=Path(__file__).parents[2])


def _make_warehouse(folder: Path, case: Case) -> None:
    """Write the table, and pairs of branches that each changed their share of the keys."""
    warehouse = make_table(folder, case.rows)
    for number in range(CALLS):
        for side in ("ours", "theirs"):
            make_branch(warehouse, f"{side}{number}", case.change(side))


def _make_states(place: Path, case: Case) -> None:
    """Write each state as a whole, in some files."""
    whole = rows_of(np.arange(case.rows))
    amounts = np.arange(case.rows)
    for state in STATES:
        changed = amounts.copy()
        if state != "base":
            changed[case.keys(state)] += _ADDED[state]
        rows = whole.set_column(2, "amount", pa.array(changed))
        (place / state).mkdir(parents=True)
        size = -(-case.rows // _FILES)
        for number in range(_FILES):
            pq.write_table(rows.slice(number * size, size), place / state / f"{number}.parquet")


def find_contestants() -> tuple[list[Contestant], dict[str, str]]:
    """Ours, plain Spark, and doltlite where it is installed."""
    found = [Contestant(name=name, command=_spark(name)) for name in (OURS, JOIN)]
    if importlib.util.find_spec(DOLTLITE) is None:
        return found, {DOLTLITE: "no doltlite; run `pip install doltlite`"}
    return [*found, Contestant(name=DOLTLITE, command=lambda place: _doltlite("merge", place))], {}


def _spark(name: str) -> Callable[[Path], Sequence[str]]:
    module = "tests.benchmarks.child_merge_keys"
    return lambda place: [sys.executable, "-m", module, str(place), name]


def _doltlite(what: str, place: Path) -> Sequence[str]:
    module = "tests.benchmarks.child_merge_keys_doltlite"
    return [sys.executable, "-m", module, what, str(place / "doltlite.db")]


def _written_in_vain(case: Case, result: Result) -> Iterator[str]:
    """Merges move files: only rows that were settled may be written, and not all of these."""
    for sample in result.of(OURS):
        written, settled = sample.answer["rows written"], case.both * CALLS
        if written > settled:
            yield f"{OURS} wrote {written} rows to settle {settled}"


def _targets(case: Case, result: Result) -> Iterator[Target]:
    def ratio(peer: str) -> float | None:
        found = result.ratios(peer, "warm")
        return statistics.median(found) if found else None

    if case.changed <= _SMALL:
        warm = statistics.median(result.warm(OURS))
        yield at_most("merged within 1 s, warm", warm, 1.0)
    elif case.changed == _LARGE:
        behind = ratio(DOLTLITE)
        yield at_most(
            "times as long as doltlite, warm", None if behind is None else 1 / behind, 3.0
        )
    times = 10.0 if case.rows > _MILLION else 4.0
    yield at_least(f"{times:.0f} times as fast as the join of whole tables", ratio(JOIN), times)
