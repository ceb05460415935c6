"""Arrow tables as frames of Spark, and the names of columns that they have for us alone."""

from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

_OWN: Final = "\ue000"


def own_name(name: str) -> str:
    """A name for a column of ours beside those of a table.

    It begins with a character of Unicode that stands for nothing, so nobody names a column so.
    """
    return f"{_OWN}{name}"


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Return a frame with the rows of a table; its times without a zone stay without one."""
    layout = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
    return spark.createDataFrame(table, schema=layout)
