"""Our part of B9, or plain Spark's: `python -m tests.benchmarks.child_read WAREHOUSE ours`."""

import json
import resource
import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame, functions

from branch_console.catalog.filesystem_catalog import FilesystemCatalog
from branch_console.format.identifier import Identifier
from branch_console.spark.read.readers import read_table
from branch_console.spark.session.session import SparkSettings, WarmSession, open_session
from branch_console.storage.file_io import FileIO
from branch_console.table.table_state import ReadState
from tests.benchmarks.read_rows import WARM_CALLS
from tests.support.warm_up import warm_up


def main() -> None:
    """Read all rows and columns once cold and some times warm, and print the figures."""
    folder, who = sys.argv[1:]
    session = open_session(SparkSettings(memory="4g", cache=Path(folder) / "cache"))
    warm_up(session)
    times, answer = [], {}
    for _ in range(1 + WARM_CALLS):
        started = time.perf_counter()
        answer = _read(_ours(session, folder) if who == "ours" else _parquet(session, folder))
        times.append(time.perf_counter() - started)
    session.close()
    usage = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(each).ru_maxrss for each in usage)
    said = {"cold": times[0], "warm": times[1:], "peak_rss_kib": peak, "answer": answer}
    sys.stdout.write(json.dumps(said) + "\n")


def _ours(session: WarmSession, folder: str) -> DataFrame:
    store = FileIO.for_url(folder)
    table = FilesystemCatalog(store, store.root).open(Identifier.parse("db.t"))
    return read_table(session.spark, store, ReadState.as_it_is(table))


def _parquet(session: WarmSession, folder: str) -> DataFrame:
    return session.spark.read.parquet(f"{folder}/db.db/t/bucket-0")


def _read(frame: DataFrame) -> dict[str, int]:
    # Something of every column, or Spark would not read it.
    found = frame.agg(
        functions.count("id"),
        functions.sum("amount"),
        functions.max("ratio"),
        functions.max("name"),
        functions.max("code"),
    ).collect()[0]
    return {"rows": found[0], "amount": found[1]}


if __name__ == "__main__":
    main()
