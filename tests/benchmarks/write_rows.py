"""B10: rows upserted into a primary-key table, twice over the same keys, commit included.

Ours has a warm session, as in the worker; the clock takes the call alone, from an Arrow table in
memory to the snapshot, for both alike.
"""

import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.schema.schema_commit import create_table, new_schema
from branch_console.format.data_types import parse_data_type
from branch_console.storage.file_io import FileIO
from branch_console.storage.table_paths import TablePaths
from tests.benchmarks.contest import OURS, Contestant, Result, Target, at_least, hold
from tests.support.requirements import MissingError, find_pypaimon

PYPAIMON: Final = "pypaimon"
CALLS: Final = 3
"""Each process writes all keys that often: the first call is cold, the others warm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many rows a call writes, and into how many buckets."""

    rows: int
    buckets: int


CASES: Final = {
    "tiny": [Size(rows=1_000, buckets=2)],
    "small": [Size(rows=200_000, buckets=4)],
    "full": [Size(rows=1_000_000, buckets=4)],
}
_COLUMNS: Final = {"id": "BIGINT NOT NULL", "name": "STRING", "amount": "BIGINT", "rate": "DOUBLE"}


def run(scale: str, rounds: int, folder: Path) -> Iterator[Result]:
    """Run all cases of a scale; see `live_files.run`."""
    for size in CASES[scale]:
        warehouse = folder / "warehouse"
        contestants, absent = find_contestants(size)
        expected = {"rows": size.rows * CALLS, "snapshots": CALLS}
        samples, wrong = hold(contestants, warehouse, rounds, expected)
        case = {"rows": size.rows, "buckets": size.buckets}
        result = Result(benchmark="B10", case=case, samples=samples, wrong=wrong, absent=absent)
        yield replace(result, targets=tuple(_targets(result, size)))


def find_contestants(size: Size) -> tuple[list[Contestant], dict[str, str]]:
    """Those that are installed, and why the others are not there."""
    arguments = (str(size.rows), str(size.buckets), str(CALLS))
    ours = [sys.executable, "-m", "tests.benchmarks.child_write"]
    found = [Contestant(name=OURS, command=lambda folder: [*ours, str(folder), *arguments])]
    try:
        theirs = [str(find_pypaimon()), str(Path(__file__).with_name("child_write_pypaimon.py"))]
    except MissingError as gap:
        return found, {PYPAIMON: str(gap)}
    found.append(
        Contestant(name=PYPAIMON, command=lambda folder: [*theirs, str(folder), *arguments])
    )
    return found, {}


def make_table(warehouse: Path, name: str, buckets: int) -> None:
    """Make the table `db.<name>`, without rows."""
    fields = [(column, parse_data_type(written)) for column, written in _COLUMNS.items()]
    options = {"bucket": str(buckets), "write-only": "true"}
    schema = new_schema(fields, primary_keys=("id",), options=options)
    warehouse.mkdir(parents=True, exist_ok=True)
    store = CommitStore.of(FileIO.for_url(str(warehouse)))
    create_table(store, TablePaths(table=f"{warehouse}/db.db/{name}"), schema)


def _targets(result: Result, size: Size) -> Iterator[Target]:
    ratios = result.ratios(PYPAIMON, "warm")
    middle = statistics.median(ratios) if ratios else None
    yield at_least("rows upserted faster than pypaimon, warm", middle, 5.0)
    rate = size.rows / statistics.median(result.warm(OURS)) / 1_000
    yield Target(text="thousand rows a second of ours, warm", value=rate, is_met=True)
