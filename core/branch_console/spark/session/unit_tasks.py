"""Tasks that do one packed unit after the other, and answer each with a row of packed values."""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from branch_console.errors import PaimonError
from branch_console.spark.session.arrow_frames import frame_of
from branch_console.spark.session.session import Progress, WarmSession

_FEW_PER_TASK: Final = 4
_SMALL_BYTES: Final = 512 << 20


class HasNumber(Protocol):
    """A unit of work that can be packed."""

    @property
    def number(self) -> int:
        """Its place among all units."""

    @property
    def size(self) -> int:
        """Bytes that are read for it."""


Unit = TypeVar("Unit", bound=HasNumber)


def run_units(
    session: WarmSession,
    units: Sequence[Unit],
    do: Callable[[Unit], Mapping[str, bytes | None]],
    columns: Sequence[str],
    *,
    description: str,
    progress: Progress,
) -> list[dict[str, Any]]:
    """Do units in tasks, the largest first; each in one of its own where the work is large.

    Args:
        session: The Spark session for the tasks.
        units: The units of work.
        do: Does a unit; it travels to the tasks.
        columns: The columns of the result.
        description: The description of the work for people.
        progress: Called with tasks done and tasks known; what it raises stops the run.

    Returns:
        A row a unit, in the order of their numbers: `number` and the columns.

    Raises:
        PaimonError: The first that a unit raised.
    """
    if not units:
        return []
    in_order = sorted(units, key=lambda unit: -unit.size)
    lanes = session.parallelism
    size = sum(unit.size for unit in units)
    is_small = len(units) <= _FEW_PER_TASK * lanes and size <= _SMALL_BYTES
    if is_small:
        # A frame is cut into one piece a lane: each gets its share of the large ones.
        in_order = [unit for lane in range(lanes) for unit in in_order[lane::lanes]]
    packed = [pickle.dumps(each) for each in in_order]
    layout = {
        "number": pa.int32(),
        **dict.fromkeys((*columns, "error"), pa.binary()),
    }
    written = ", ".join(f"{name} {'int' if name == 'number' else 'binary'}" for name in layout)
    tasks = _tasks(do, pa.schema(layout))

    def act(spark: SparkSession) -> pa.Table:
        frame = frame_of(spark, pa.table({"unit": pa.array(packed, pa.binary())}))
        # A shuffle gives each unit its own task; for small work it takes longer than the tasks do.
        parts = frame if is_small else frame.repartition(len(packed))
        return parts.mapInArrow(tasks, written).toArrow()

    rows = session.run(act, description=description, progress=progress).to_pylist()
    for row in rows:
        if row["error"] is not None:
            raise pickle.loads(row["error"])
    return sorted(rows, key=lambda row: row["number"])


def _tasks(
    do: Callable[[Any], Mapping[str, bytes | None]], layout: pa.Schema
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def act(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for packed in batch["unit"].to_pylist():
                unit = pickle.loads(packed)
                try:
                    found = {"number": unit.number, **do(unit)}
                except PaimonError as error:
                    # As a result an error keeps its kind; raised, it would end as text.
                    found = {"number": unit.number, "error": pickle.dumps(error)}
                yield pa.RecordBatch.from_pylist([found], schema=layout)

    return act
