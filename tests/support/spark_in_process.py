"""What our Spark jobs do, done in this process: one task, one partition, no JVM.

For tests whose subject is the files that tasks write, many times over; that rows travel through
Spark as they should is the subject of `tests/spark`.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import SparkSession

from branch_console.spark.session.session import SparkSettings, WarmSession

Task = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class FrameInProcess:
    """The part of a data frame that our jobs of packed rows use."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    def select(self, *columns: str) -> "FrameInProcess":
        return FrameInProcess(self._rows.select(list(columns)))

    def repartition(self, *by: int | str) -> "FrameInProcess":
        return self

    def sortWithinPartitions(self, *columns: str) -> "FrameInProcess":  # noqa: N802 - as in Spark
        return FrameInProcess(self._rows.sort_by([(name, "ascending") for name in columns]))

    def mapInArrow(self, task: Task, layout: str) -> "FrameInProcess":  # noqa: N802
        found = list(task(iter(self._rows.to_batches())))
        # Only where nothing came do the names alone tell the columns.
        empty = pa.schema([(column.split()[0], pa.null()) for column in layout.split(", ")])
        return FrameInProcess(pa.Table.from_batches(found, found[0].schema if found else empty))

    def toArrow(self) -> pa.Table:  # noqa: N802
        return self._rows

    def toLocalIterator(self, **_: bool) -> Iterator[dict[str, Any]]:  # noqa: N802
        return iter(self._rows.to_pylist())


class _Spark:
    def createDataFrame(self, rows: pa.Table, schema: Any = None) -> FrameInProcess:  # noqa: N802
        return FrameInProcess(rows)


class SessionInProcess(WarmSession):
    """A session whose runs are over when they begin to be watched."""

    def __init__(self) -> None:
        super().__init__(cast(SparkSession, _Spark()), SparkSettings(master="local[1]"))

    @property
    def parallelism(self) -> int:
        return 1

    def run(self, action: Callable[[SparkSession], Any], **_: Any) -> Any:
        return action(self.spark)
