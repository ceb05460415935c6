"""B9: all rows of a table, by ours in a warm Spark session, by pypaimon, and by plain Spark.

Plain Spark reads the Parquet files of the append table as such: what it takes is the floor.
"""

import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from branch_console.format.data_types import BIGINT, INT, STRING, AtomicType, TypeRoot
from tests.benchmarks.contest import OURS, Contestant, Result, Target, at_least, hold
from tests.support.local_tables import LocalTable
from tests.support.requirements import MissingError, find_pypaimon
from tests.support.table_files import a_schema

PYPAIMON: Final = "pypaimon"
SPARK: Final = "spark parquet"
WARM_CALLS: Final = 3

_COLUMNS: Final = (
    ("id", BIGINT),
    ("amount", BIGINT),
    ("ratio", AtomicType(root=TypeRoot.DOUBLE)),
    ("name", STRING),
    ("code", INT),
)
_ROWS_PER_COMMIT: Final = 625_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A table of `rows` rows, or of `rows` keys which two runs hold both."""

    rows: int
    has_keys: bool

    @property
    def facts(self) -> Mapping[str, int | str]:
        """What tells the case from others."""
        return {"keys in two runs" if self.has_keys else "rows appended": self.rows}

    @property
    def expected(self) -> Mapping[str, int]:
        """What everybody must find: of keys the newer run, whose amounts are greater by one."""
        return {"rows": self.rows, "amount": sum(range(self.rows)) + self.rows * self.has_keys}


CASES: Final = {
    "tiny": [Case(rows=2_000, has_keys=False), Case(rows=1_000, has_keys=True)],
    "small": [Case(rows=1_000_000, has_keys=False), Case(rows=200_000, has_keys=True)],
    "full": [Case(rows=5_000_000, has_keys=False), Case(rows=1_000_000, has_keys=True)],
}


def run(scale: str, rounds: int, folder: Path) -> Iterator[Result]:
    """Run all cases of a scale; see `live_files.run`."""
    for case in CASES[scale]:
        warehouse = folder / f"{case.rows}-{case.has_keys}"
        make_warehouse(warehouse, case)
        contestants, absent = find_contestants(case)
        samples, wrong = hold(contestants, warehouse, rounds, case.expected)
        result = Result(benchmark="B9", case=case.facts, samples=samples)
        yield Result(
            benchmark="B9",
            case=case.facts,
            samples=samples,
            targets=tuple(_targets(result, case)),
            wrong=wrong,
            absent=absent,
        )


def make_warehouse(folder: Path, case: Case) -> None:
    """Write the table `db.t` of a case."""
    keys = ("id",) if case.has_keys else ()
    options = {"bucket": "1" if case.has_keys else "-1"}
    table = LocalTable(folder, a_schema(0, _COLUMNS, primary_keys=keys, options=options))
    if case.has_keys:
        table.append(_rows(0, case.rows, more=0), level=5)
        table.append(_rows(0, case.rows, more=1))
        return
    for start in range(0, case.rows, _ROWS_PER_COMMIT):
        table.append(_rows(start, min(case.rows, start + _ROWS_PER_COMMIT), more=0))


def _rows(start: int, end: int, *, more: int) -> pa.Table:
    ids = np.arange(start, end, dtype=np.int64)
    return pa.table(
        {
            "id": ids,
            "amount": ids + more,
            "ratio": np.sqrt(ids),
            "name": pa.array(np.char.add("name ", (ids % 100_000).astype(str))),
            "code": (ids % 1000).astype(np.int32),
        }
    )


def find_contestants(case: Case) -> tuple[list[Contestant], dict[str, str]]:
    """Ours, plain Spark where it may read the files as they are, and pypaimon if installed."""
    found = [Contestant(name=OURS, command=_module("ours"))]
    if not case.has_keys:
        found.append(Contestant(name=SPARK, command=_module("parquet")))
    try:
        python = find_pypaimon()
    except MissingError as gap:
        return found, {PYPAIMON: str(gap)}
    script = str(Path(__file__).with_name("child_read_pypaimon.py"))
    found.append(
        Contestant(name=PYPAIMON, command=lambda folder: [str(python), script, str(folder)])
    )
    return found, {}


def _module(who: str) -> Callable[[Path], Sequence[str]]:
    return lambda folder: [
        *(sys.executable, "-m", "tests.benchmarks.child_read", str(folder), who),
    ]


def _targets(result: Result, case: Case) -> list[Target]:
    def ratio(peer: str) -> float | None:
        found = result.ratios(peer, "warm")
        return statistics.median(found) if found else None

    if case.has_keys:
        return [at_least("five times as fast as pypaimon, warm", ratio(PYPAIMON), 5.0)]
    return [at_least("half as fast as Spark on the files themselves, warm", ratio(SPARK), 0.5)]
