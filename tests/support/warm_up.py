"""Spark as it is once it has run something."""

from collections.abc import Iterator
from typing import Any

from branch_console.spark.session.session import WarmSession


def warm_up(session: WarmSession) -> None:
    """Start a Python worker and let the JVM load what the first run would wait for."""

    def same(batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches

    frame = session.spark.range(session.parallelism).mapInArrow(same, "id long")
    session.run(lambda _: frame.count(), description="warm up")
