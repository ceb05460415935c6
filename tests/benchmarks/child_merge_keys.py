"""One process of B4: `python -m tests.benchmarks.child_merge_keys PLACE ours|"spark join"`.

Works on a copy that is made before the clock starts.
"""

import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, functions

from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from branch_console.spark.engine import SparkRowEngine
from branch_console.spark.read.readers import read_table
from branch_console.spark.session.session import SparkSettings, WarmSession, open_session
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ReadState
from tests.benchmarks.contest import OURS
from tests.benchmarks.merge_keys import CALLS, STATES
from tests.support.large_keys import TABLE, call_of
from tests.support.warm_up import warm_up

_POLICY = f"version: 1\ntables: {{{TABLE}: {{take: theirs}}}}"


def main() -> None:
    """Merge one pair of branches after the other, and print the figures."""
    place, who = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        session = open_session(SparkSettings(memory="4g", cache=Path(folder) / "cache"))
        warm_up(session)
        contestant = (_Ours if who == OURS else _Join)(session, Path(place), Path(folder))
        # What was written so far would be charged to the first one that syncs.
        os.sync()
        times = [_timed(contestant.merge, number) for number in range(CALLS)]
        answer = contestant.answer()
        session.close()
    usage = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(each).ru_maxrss for each in usage)
    said = {"cold": times[0], "warm": times[1:], "peak_rss_kib": peak, "answer": answer}
    sys.stdout.write(json.dumps(said) + "\n")


def _timed(merge: Callable[[int], object], number: int) -> float:
    started = time.perf_counter()
    merge(number)
    return time.perf_counter() - started


def _counted(frame: DataFrame) -> dict[str, int]:
    found = frame.agg(functions.count("id"), functions.sum("amount")).collect()[0]
    return {"rows": found[0], "amount": found[1]}


class _Ours:
    def __init__(self, session: WarmSession, place: Path, folder: Path) -> None:
        self._session = session
        self._warehouse = Warehouse.open(
            str(shutil.copytree(place / "warehouse", folder / "warehouse"))
        )
        self._engine = SparkRowEngine(lambda: session, self._warehouse.file_io)

    def merge(self, number: int) -> None:
        call = call_of(
            "merge_branch", branch=f"theirs{number}", target=f"ours{number}", policy=_POLICY
        )
        run_call(self._warehouse, self._engine, call, InlineStages())

    def answer(self) -> dict[str, int]:
        """What the last target holds, and the rows in files that merges wrote."""
        known = set(self._names("theirs")) | set(self._names("ours", back=1))
        written = sum(count for name, count in self._names("ours").items() if name not in known)
        frame = read_table(
            self._session.spark,
            self._warehouse.file_io,
            ReadState.as_it_is(self._on(f"ours{CALLS - 1}")),
        )
        return {**_counted(frame), "rows written": written}

    def _names(self, side: str, *, back: int = 0) -> dict[str, int]:
        """The files of all branches of a side, with their rows."""
        found: dict[str, int] = {}
        for number in range(CALLS):
            table = self._on(f"{side}{number}")
            head = table.head()
            assert head is not None
            files = table.live_files(table.snapshots.get(head.id - back))
            found |= dict(
                zip(files["file_name"].to_pylist(), files["row_count"].to_pylist(), strict=True)
            )
        return found

    def _on(self, branch: str) -> FileStoreTable:
        return self._warehouse.table(f"{TABLE}$branch_{branch}")


class _Join:
    """Three whole states joined by key, and the merged one written."""

    def __init__(self, session: WarmSession, place: Path, folder: Path) -> None:
        self._spark, self._place, self._folder = session.spark, place, folder

    def merge(self, number: int) -> None:
        base, ours, theirs = (
            self._spark.read.parquet(str(self._place / state)).alias(state) for state in STATES
        )
        joined = base.join(ours, "id", "full").join(theirs, "id", "full")
        columns = [
            functions.when(
                functions.col(f"theirs.{name}").eqNullSafe(functions.col(f"base.{name}")),
                functions.col(f"ours.{name}"),
            )
            .otherwise(functions.col(f"theirs.{name}"))
            .alias(name)
            for name in base.columns
            if name != "id"
        ]
        joined.select("id", *columns).write.parquet(str(self._folder / f"merged{number}"))

    def answer(self) -> dict[str, int]:
        """What the last result holds."""
        return _counted(self._spark.read.parquet(str(self._folder / f"merged{CALLS - 1}")))


if __name__ == "__main__":
    main()
