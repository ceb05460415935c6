"""Where the files lie that manifests and index manifests name.

Some lie outside the table: their entries hold a whole URL. It is turned into a path of the table's
store here and nowhere else. Source: Paimon DataFileMeta.externalPath, IndexFileMeta.externalPath.
"""

import pyarrow as pa

from branch_console.format.partition_path import partition_path
from branch_console.format.values.binary_row import decode_row
from branch_console.table.file_store_table import FileStoreTable


def data_file_paths(table: FileStoreTable, files: pa.Table) -> pa.Array:
    """The paths of data files, as text.

    Args:
        table: The table on the branch that refers to the files.
        files: Columns of MANIFEST_ENTRY.

    Raises:
        InvalidInput: A file lies in another store.
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
    path_of = table.reader.files.path_of
    folders = {
        (partition, bucket): paths.bucket(
            partition_path(decode_row(partition, types), schema), bucket
        )
        for partition, bucket in dict.fromkeys(places)
    }
    return pa.array(
        [
            f"{folders[place]}/{name}" if outside is None else path_of(outside)
            for place, name, outside in zip(places, names, external, strict=True)
        ],
        pa.string(),
    )


def index_file_path(table: FileStoreTable, name: str, external: str | None) -> str:
    """The path of an index file, such as deletion vectors.

    Args:
        table: The table on any branch.
        name: Its file name.
        external: Its URL, where it lies outside the table.

    Raises:
        InvalidInput: It lies in another store.
    """
    return table.paths.index(name) if external is None else table.reader.files.path_of(external)
