"""B12: branches of the whole catalog over many small tables: made at once, made lazily, listed.

Nobody else has such branches, so there is no peer: only limits.
"""

import resource
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.browse_catalog import read_catalog_branch
from tests.benchmarks.contest import OURS, Result, Sample, at_most, new_folder
from tests.benchmarks.own_procedure import run_ours
from tests.support.table_files import a_schema, a_snapshot

EAGER: Final = "eager"
LAZY: Final = "lazy"
LIST: Final = "list"
LIMITS: Final[Mapping[tuple[str, int], float]] = {
    (EAGER, 1_000): 10.0,
    (LAZY, 1_000): 1.0,
    (LIST, 10_000): 2.0,
}
"""Seconds, by what is done and how many tables there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is done with a branch over how many tables."""

    operation: str
    tables: int


CASES: Final = {
    "tiny": [Case(operation=each, tables=20) for each in (EAGER, LAZY, LIST)],
    "small": [Case(operation=operation, tables=tables) for operation, tables in LIMITS],
    "full": [
        *(Case(operation=operation, tables=tables) for operation, tables in LIMITS),
        Case(operation=LAZY, tables=10_000),
    ],
}


def run(scale: str, rounds: int, folder: Path) -> Iterator[Result]:
    """Run all cases of a scale; see `live_files.run`."""
    for case in CASES[scale]:
        samples = [_sample(new_folder(folder), case) for _ in range(rounds)]
        limit = LIMITS.get((case.operation, case.tables))
        cold = sorted(each.cold for each in samples)[len(samples) // 2]
        yield Result(
            benchmark="B12",
            case={"operation": case.operation, "tables": case.tables},
            samples=tuple(samples),
            targets=()
            if limit is None
            else (at_most(f"{case.operation} takes {limit:g} s at most", cold, limit),),
            wrong=tuple(
                f"{each.answer} tables, not {case.tables}"
                for each in samples
                if each.answer["tables"] != case.tables
            ),
        )


def make_tables(folder: Path, count: int) -> None:
    """Write tables of one snapshot each, whose manifests need not exist."""
    schema = a_schema()
    for number in range(count):
        table = folder / f"air.db/t{number}"
        (table / "schema").mkdir(parents=True)
        (table / "snapshot").mkdir()
        born = replace(schema, time_millis=1_000 + number)
        (table / "schema/schema-0").write_text(born.to_json())
        (table / "snapshot/snapshot-1").write_text(a_snapshot(1, uuid=f"u{number}").to_json())


def _sample(folder: Path, case: Case) -> Sample:
    make_tables(folder, case.tables)
    create = {"branch": "dev", "lazy": case.operation != EAGER}
    if case.operation == LIST:
        run_ours(Warehouse.open(str(folder)), "create_catalog_branch", **create)
    warehouse = Warehouse.open(str(folder))
    work: Callable[[], object] = (
        (lambda: read_catalog_branch(warehouse, "dev"))
        if case.operation == LIST
        else (lambda: run_ours(warehouse, "create_catalog_branch", **create))
    )
    started = time.perf_counter()
    work()
    seconds = time.perf_counter() - started
    return Sample(
        contestant=OURS,
        cold=seconds,
        warm=(),
        peak_rss_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        process=seconds,
        answer={"tables": len(Warehouse.open(str(folder)).on("dev").members())},
    )
