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
    schema = table.schema()
    paths = table.data_paths(schema)
    types = schema.partition_type.types
    places, names, external = (
        [*zip(files["partition"].to_pylist(), files["bucket"].to_pylist(), strict=True)],
        files["file_name"].to_pylist(),
        files["external_path"].to_pylist(),
    )
    folders = {
        (partition, bucket): paths.bucket(
            partition_path(decode_row(partition, types), schema), bucket
        )
        for partition, bucket in dict.fromkeys(places)
    }
    return pa.array(
        [
            outside or f"{folders[place]}/{name}"
            for place, name, outside in zip(places, names, external, strict=True)
        ],
        pa.string(),
    )
