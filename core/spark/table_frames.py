"""Arrow tables as frames of Spark, which are known by their types and not by their rows."""

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Return a frame with the rows of a table; its times without a zone stay without one."""
    layout = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
    return spark.createDataFrame(table, schema=layout)
