"""One turn of B7: `python -m tests.benchmarks.child_quality FOLDER ours|base|spark|datacompy`."""

import json
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

from branch_console.format.identifier import Identifier
from branch_console.jobs.kept_profiles import KeptProfiles
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.compare.states import compare_states
from branch_console.quality.comparison import Scope
from branch_console.quality.drift import Rating
from branch_console.quality.work import plan_quality
from branch_console.spark.compare.profile_pass import ProfilePass
from branch_console.spark.read.readers import read_table
from branch_console.spark.session.session import SparkSettings, WarmSession, open_session
from branch_console.table.table_state import ReadState
from tests.benchmarks.compare_quality import COLUMNS, DATACOMPY, DRIFTED, FILES, WARM_CALLS
from tests.support.warm_up import warm_up

_TABLE = Identifier.parse("db.t")
_BINS = 10


def main(folder: Path, who: str) -> None:
    """Compare both sides and print the figures."""
    if who == DATACOMPY:
        times, answer = _timed(lambda: _matched(folder), 0)
    else:
        cache = Path(tempfile.mkdtemp())
        session = open_session(SparkSettings(memory="4g", cache=cache))
        warm_up(session)
        if who == "spark":
            times, answer = _timed(lambda: _profiled(session, folder), 1)
        elif who == "base":
            units = folder / "units"
            times, answer = _timed(lambda: _ours(session, folder, units, "main"), 0)
        else:
            if not (folder / "units").exists():
                _ours(session, folder, folder / "units", "main")
            units = cache / "units"
            shutil.copytree(folder / "units", units)
            bytes_read: list[int] = []
            times, answer = _timed(
                lambda: _ours(session, folder, units, "dev", bytes_read), WARM_CALLS
            )
            answer["bytes"] = bytes_read[0]
        session.close()
        shutil.rmtree(cache)
    usage = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(each).ru_maxrss for each in usage)
    said = {"cold": times[0], "warm": times[1:], "peak_rss_kib": peak, "answer": answer}
    sys.stdout.write(json.dumps(said) + "\n")


def _timed(call: Callable[[], dict[str, int]], again: int) -> tuple[list[float], dict[str, int]]:
    times, answer = [], {}
    for _ in range(1 + again):
        started = time.perf_counter()
        answer = call()
        times.append(time.perf_counter() - started)
    return times, answer


def _ours(
    session: WarmSession,
    folder: Path,
    units: Path,
    branch: str,
    bytes_read: list[int] | None = None,
) -> dict[str, int]:
    warehouse = Warehouse.open(str(folder), read_only=True)
    diff = compare_states(warehouse, _TABLE, "main", branch)
    # Without limits that spare small tables the tasks: at every scale it is the same way.
    made = ProfilePass(warehouse.file_io, lambda: session, KeptProfiles(folder=units), small_rows=0)
    work = plan_quality(diff, reads_all=True)
    found = made.compare(warehouse.table(_TABLE), work, finished_millis=0)
    whole, own = found.find_scope(Scope.WHOLE), found.find_scope(Scope.OWN)
    assert whole is not None
    assert own is not None
    side = next(each.after for each in whole.columns if each.name == "s0")
    assert side is not None
    alarms = {each.name for each in own.columns if each.rating is Rating.ALARM}
    if bytes_read is not None:
        bytes_read.append(found.bytes_read)
    return {
        "before": whole.rows[0],
        "after": whole.rows[1],
        "nulls": side.nulls,
        "drifted": int(DRIFTED in alarms),
    }


def _profiled(session: WarmSession, folder: Path) -> dict[str, int]:
    """What Spark can tell of each side in one aggregation, quantiles among it."""
    before, after = (
        frame.agg(*_figures()).collect()[0].asDict() for frame in _frames(session, folder)
    )
    apart = abs(after[f"{DRIFTED}_mean"] - before[f"{DRIFTED}_mean"])
    return {
        "before": before["rows"],
        "after": after["rows"],
        "nulls": after["rows"] - after["s0_valid"],
        # In all rows a twentieth that moved by one deviation is hardly seen.
        "drifted": int(apart > 0.01),
    }


def _frames(session: WarmSession, folder: Path) -> Iterator[DataFrame]:
    """Both sides: their files, or with a key the rows that these are merged into."""
    warehouse = Warehouse.open(str(folder), read_only=True)
    paths = json.loads((folder / FILES).read_text())
    for side, branch in (("before", "main"), ("after", "dev")):
        state = ReadState.as_it_is(warehouse.table(_TABLE.on_branch(branch)))
        if state.schema.primary_keys:
            yield read_table(session.spark, warehouse.file_io, state)
        else:
            yield session.spark.read.parquet(*paths[side])


def _figures() -> list[Any]:
    found = [F.count("*").alias("rows")]
    for name, kind in COLUMNS.items():
        found += [
            F.count(name).alias(f"{name}_valid"), F.min(name).alias(f"{name}_min"),
            F.max(name).alias(f"{name}_max"),
        ]  # fmt: skip
        hashed = name if kind in ("BIGINT", "STRING") else f"xxhash64({name})"
        distinct = f"hll_sketch_estimate(hll_sketch_agg({hashed}, 12))"
        found.append(F.expr(distinct).alias(f"{name}_distinct"))
        if kind == "STRING":
            found.append(F.expr(f"approx_top_k({name}, 50, 1000)").alias(f"{name}_top"))
            measure, sketch = f"length({name})", "bigint"
        else:
            measure, sketch = _MEASURES.get(kind, name).format(name), _SKETCHES.get(kind, "double")
        found += [
            F.expr(f"avg({measure})").alias(f"{name}_mean"),
            F.expr(f"stddev({measure})").alias(f"{name}_deviation"),
            F.expr(
                f"kll_sketch_get_quantile_{sketch}(kll_sketch_agg_{sketch}({measure}, 400), "
                f"array({', '.join(f'{at / _BINS}D' for at in range(1, _BINS))}))"
            ).alias(f"{name}_quantiles"),
        ]
    return found


_MEASURES = {
    "DECIMAL(12, 2)": "cast({0} as double)",
    "DATE": "unix_date({0})",
    "TIMESTAMP(6)": "unix_micros(cast({0} as timestamp))",
}
_SKETCHES = {"BIGINT": "bigint", "DATE": "bigint", "TIMESTAMP(6)": "bigint"}


def _matched(folder: Path) -> dict[str, int]:
    """What datacompy does: both sides in memory, matched by their key."""
    import datacompy  # noqa: PLC0415  # a peer that need not be there
    import polars  # noqa: PLC0415

    paths = json.loads((folder / FILES).read_text())
    before, after = (
        polars.from_arrow(ds.dataset(paths[side]).to_table(columns=list(COLUMNS)))
        for side in ("before", "after")
    )
    found = datacompy.PolarsCompare(before, after, join_columns=["id"])
    found.report()
    return {
        "before": len(before),
        "after": len(found.intersect_rows) + len(found.df2_unq_rows),
        "nulls": after["s0"].null_count(),
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
