"""Where the data files of a manifest lie."""

import pyarrow as pa

from core.format.binary_row import decode_row
from core.format.partition_path import partition_path
from core.table.file_store_table import FileStoreTable


def data_file_paths(table: FileStoreTable, files: pa.Table) -> pa.Array:
    """The paths of data files, as text.

    Args:
        table: The table on the branch that refers to the files.
        files: Columns of MANIFEST_ENTRY.
    """
    if not files.num_rows:
        return pa.array([], pa.string())
    schema, paths = table.schema(), table.data_paths()
    types = schema.partition_type.types
    buckets = files.select(["partition", "bucket"]).group_by(["partition", "bucket"]).aggregate([])
    folders = {}
    for each in buckets.to_pylist():
        values = decode_row(each["partition"], types)
        folder = partition_path(values, schema)
        folders[(each["partition"], each["bucket"])] = paths.bucket(folder, each["bucket"])
    columns = (files[name].to_pylist() for name in ("partition", "bucket", "file_name"))
    external = files["external_path"].to_pylist()
    return pa.array(
        [
            outside or f"{folders[(partition, bucket)]}/{name}"
            for partition, bucket, name, outside in zip(*columns, external, strict=True)
        ],
        pa.string(),
    )
