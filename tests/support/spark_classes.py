"""A Spark that loads what tests need of it and ends: its Java keeps the classes where it is told.

`tests.support.fetch` runs it.
"""

import sys
from pathlib import Path

from pyspark import SparkContext

from branch_console.spark.session.session import SparkSettings, open_session
from tests.support.warm_up import warm_up

_BOUND_SECONDS = 120
_QUERIES = (
    "SELECT k, count(*), avg(v), array_agg(t) FROM VALUES (1, 1.5, 'a'), (2, 2.5, 'b')"
    " AS given(k, v, t) GROUP BY k ORDER BY k",
    "SELECT a.id, b.id FROM range(9) a FULL JOIN range(3, 12) b ON a.id = b.id WHERE a.id > 2",
    "SELECT *, row_number() OVER (PARTITION BY id % 2 ORDER BY id) FROM range(9)",
)


def main(folder: str) -> None:
    """Load the classes; a folder takes what is written."""
    opened = open_session(SparkSettings(master="local[2]", memory="1g", cache=Path(folder)))
    warm_up(opened)
    spark = opened.spark
    for query in _QUERIES:
        spark.sql(query).collect()
    written = f"{folder}/rows"
    spark.range(9).selectExpr("id", "string(id) AS name").write.parquet(written)
    spark.read.parquet(written).createOrReplaceTempView("rows")
    spark.sql("SELECT count(*), max(name) FROM rows WHERE id > 3").toArrow()
    gateway = SparkContext._gateway
    opened.close()
    assert gateway is not None
    # The classes are written as the Java ends, and it ends with its input.
    gateway.proc.stdin.close()
    gateway.proc.wait(_BOUND_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1])
