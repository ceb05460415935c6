"""Plain Spark beside ours: the same statement over a copy of the rows."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from branch_console.errors import InvalidInput


class PlainSpark:
    """Views of plain rows in a session of their own."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark.newSession()

    def add(self, view: str, schema: str, rows: Iterable[Sequence[Any]]) -> None:
        """Keep rows as a view; the schema is that of Spark's DDL."""
        frame = self._spark.createDataFrame([tuple(row) for row in rows], schema)
        frame.createOrReplaceTempView(view)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return what plain Spark answers."""
        found = self._spark.sql(sql).toArrow()
        return list(zip(*(column.to_pylist() for column in found.columns), strict=True))


def answer_of(rows: Callable[[str], Sequence[tuple[Any, ...]]], sql: str) -> list[str] | str:
    """Return the rows as texts in an order of their own, or that the statement is refused."""
    try:
        return sorted(map(repr, rows(sql)))
    except (InvalidInput, PySparkException):
        return "refused"
