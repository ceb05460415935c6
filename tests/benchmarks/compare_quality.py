"""B7: the quality of a branch beside its main, by ours, by plain Spark, and by datacompy.

Of a table without a key the branch shares all files of main, and adds rows of its own: a twentieth.
Of one with a key it writes all rows of two buckets anew, in files of their own. What main looks
like was profiled before, and is timed apart. Plain Spark profiles both sides whole, in one
aggregation each, with the sketches that it has; with a key, of the rows as our reader merges them.
datacompy matches the rows of both by their key; it merges no files.
"""

import importlib.util
import json
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.format.data_types import parse_data_type
from branch_console.format.table_schema import TableSchema
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import NoRowEngine
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from branch_console.spark.files.conform import conform
from branch_console.spark.files.data_files import WriteTarget, split, write_bucket
from branch_console.table.data_file_paths import data_file_paths
from tests.benchmarks.contest import OURS, Contestant, Result, Target, at_least, at_most, hold
from tests.support.local_tables import CREATED, LocalTable
from tests.support.table_files import a_schema

SPARK: Final = "spark profile"
DATACOMPY: Final = "datacompy"
BASE: Final = "ours, of main before"
WARM_CALLS: Final = 2
FILES: Final = "files.json"
DRIFTED: Final = "f0"
CHANGED: Final = 2
"""So many buckets the branch wrote to."""

COLUMNS: Final[Mapping[str, str]] = {
    "id": "BIGINT",
    **{f"i{at}": "BIGINT" for at in range(6)},
    **{f"f{at}": "DOUBLE" for at in range(6)},
    "price": "DECIMAL(12, 2)",
    "day": "DATE",
    "at": "TIMESTAMP(6)",
    **{f"s{at}": "STRING" for at in range(3)},
    "code": "STRING",
}
_ROWS_PER_COMMIT: Final = 500_000
_NOT_THERE: Final = (
    "not installed (`pip install datacompy 'polars<2'`); its own figure: 10M rows in 11.3 s"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A table of `rows` rows, without a key if it has no buckets."""

    rows: int
    buckets: int = 0

    @property
    def added(self) -> int:
        """How many rows the branch has more."""
        return 0 if self.buckets else self.rows // 20

    @property
    def facts(self) -> Mapping[str, int | str]:
        """What tells the case from others."""
        own = f"{CHANGED} of {self.buckets} buckets" if self.buckets else self.added
        return {"rows x 20": self.rows, "own": own}

    @property
    def expected(self) -> Mapping[str, int]:
        """What everybody must find: every tenth `s0` is null, and one column drifted."""
        after = self.rows + self.added
        return {"before": self.rows, "after": after, "nulls": after // 10, "drifted": 1}

    def chunks(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The rows from one to another, by commits."""
        for first in range(start, end, _ROWS_PER_COMMIT):
            yield first, min(end, first + _ROWS_PER_COMMIT)


CASES: Final = {
    "tiny": [Case(rows=4_000), Case(rows=4_000, buckets=16)],
    "small": [Case(rows=1_000_000), Case(rows=1_000_000, buckets=64)],
    "full": [Case(rows=10_000_000), Case(rows=10_000_000, buckets=64)],
}


def run(scale: str, rounds: int, folder: Path) -> Iterator[Result]:
    """Run all cases of a scale; see `live_files.run`."""
    for case in CASES[scale]:
        warehouse = folder / f"quality-{case.rows}-{case.buckets}"
        own_bytes = make_warehouse(warehouse, case)
        contestants, absent = find_contestants(case)
        of_main = Contestant(name=BASE, command=command_of("base"))
        before, wrong_before = hold([of_main], warehouse, 1, {"before": case.rows})
        samples, wrong = hold(contestants, warehouse, rounds, case.expected)
        result = Result(
            benchmark="B7",
            case=case.facts,
            samples=(*samples, *before),
            wrong=(*wrong_before, *wrong),
            absent=absent,
        )
        yield replace(result, targets=tuple(_targets(case, result, own_bytes)))


def make_warehouse(folder: Path, case: Case) -> int:
    """Write the table `db.t` and its branch `dev`; return the bytes that tell them apart.

    These are the branch's own files. With a key also those that it shares of the buckets that it
    wrote to: merging on read needs them to know what a row was, and what it is.
    """
    table = LocalTable(folder, schema_of(case))
    for start, end in case.chunks(0, case.rows):
        table.append(rows_of(start, end, shift=0.0), level=5 if case.buckets else 0)
    warehouse = Warehouse.open(str(folder))
    call = ProcedureCall(
        name="create_branch", arguments={"table": "db.t", "branch": "dev"}, actor="benchmark",
        operation_id="make",
    )  # fmt: skip
    run_call(warehouse, NoRowEngine(), call, InlineStages())
    dev = warehouse.table("db.t$branch_dev")
    target = WriteTarget(
        schema=dev.schema(), paths=dev.paths, store=warehouse.file_io, created=CREATED
    )
    messages = [
        CommitMessage(
            partition=partition,
            bucket=bucket,
            total_buckets=case.buckets or -1,
            new_files=write_bucket(
                target, partition, bucket, [part], next_sequence=case.rows + start,
                file_id=f"own-{start}-{number}",
            ).new_files,
        )
        for start, rows in changes_of(case)
        for number, (partition, bucket, part) in enumerate(
            split(conform(rows, target.schema), target)
        )
        if not case.buckets or bucket < CHANGED
    ]  # fmt: skip
    FileStoreCommit(dev, CommitStore.of(warehouse.file_io)).commit(messages, user="benchmark")
    paths, files = {}, {}
    for side, there in (("before", warehouse.table("db.t")), ("after", dev)):
        head = there.head()
        assert head is not None
        files[side] = there.live_files(head)
        paths[side] = data_file_paths(there, files[side]).to_pylist()
    (folder / FILES).write_text(json.dumps(paths), encoding="utf-8")
    if case.buckets:
        # The branch has all files of main.
        told = files["after"].filter(pc.less(files["after"]["bucket"], CHANGED))
        return int(pc.sum(told["file_size"]).as_py())
    return sum(sum(each.new_files["file_size"].to_pylist()) for each in messages)


def schema_of(case: Case) -> TableSchema:
    """The table of a case."""
    fields = [(name, parse_data_type(text)) for name, text in COLUMNS.items()]
    if not case.buckets:
        return a_schema(0, fields, options={"bucket": "-1"})
    fields[0] = ("id", parse_data_type("BIGINT NOT NULL"))
    options = {"bucket": str(case.buckets)}
    return a_schema(0, fields, primary_keys=["id"], options=options)


def changes_of(case: Case) -> Iterator[tuple[int, pa.Table]]:
    """What the branch wrote: new rows, or with a key all rows anew, of which a bucket keeps its."""
    first, last = (0, case.rows) if case.buckets else (case.rows, case.rows + case.added)
    for start, end in case.chunks(first, last):
        yield start, rows_of(start, end, shift=1.0)


def rows_of(start: int, end: int, *, shift: float) -> pa.Table:
    """Rows of COLUMNS; `shift` moves the column DRIFTED, in deviations."""
    rng, ids = np.random.default_rng(start), np.arange(start, end, dtype=np.int64)
    words = np.char.add("w", (ids % 40).astype(str))
    columns: dict[str, object] = {"id": ids}
    for at in range(6):
        columns[f"i{at}"] = rng.integers(0, 10 ** (at + 2), len(ids))
        columns[f"f{at}"] = rng.normal(shift if f"f{at}" == DRIFTED else 0.0, 1.0, len(ids))
    cents = pa.array(rng.integers(0, 10**6, len(ids), dtype=np.int32))
    columns["price"] = cents.cast(pa.decimal128(12, 2))
    columns["day"] = pa.array((ids % 365).astype(np.int32), pa.date32())
    columns["at"] = pa.array(ids % 10**6 * 1_000_000, pa.timestamp("us"))
    for at in range(3):
        columns[f"s{at}"] = pa.array(words, mask=(ids % 10 == 0) if at == 0 else None)
    columns["code"] = pa.array(np.char.add("code ", (ids % 100_000).astype(str)))
    return pa.table({name: columns[name] for name in COLUMNS})


def find_contestants(case: Case) -> tuple[list[Contestant], dict[str, str]]:
    """Ours, plain Spark, and without a key datacompy where it is installed."""
    found = [
        Contestant(name=OURS, command=command_of("ours")),
        Contestant(name=SPARK, command=command_of("spark")),
    ]
    if case.buckets:
        return found, {DATACOMPY: "it does not merge the files of a key"}
    if importlib.util.find_spec(DATACOMPY) is None:
        return found, {DATACOMPY: _NOT_THERE}
    return [*found, Contestant(name=DATACOMPY, command=command_of(DATACOMPY), max_rounds=3)], {}


def command_of(who: str) -> Callable[[Path], Sequence[str]]:
    """How one turn of a contestant is started."""
    module = "tests.benchmarks.child_quality"
    return lambda folder: [sys.executable, "-m", module, str(folder), who]


def _targets(case: Case, result: Result, own_bytes: int) -> Iterator[Target]:
    read = max(sample.answer["bytes"] for sample in result.of(OURS))
    yield at_most("bytes read, of those that tell both apart", read / own_bytes, 1.05)
    for peer in (SPARK,) if case.buckets else (SPARK, DATACOMPY):
        ratios = result.ratios(peer, "cold")
        middle = statistics.median(ratios) if ratios else None
        yield at_least(f"five times as fast as {peer}", middle, 5.0)
    yield at_most("seconds to compare again", statistics.median(result.warm(OURS)), 2.0)
