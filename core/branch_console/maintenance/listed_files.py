"""The files that lie in the folders which all branches of a table share, whoever put them there."""

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa

from branch_console.commit.rows.write_files import bucket_folders
from branch_console.errors import FormatError, NotFound
from branch_console.format.avro_encoding import required
from branch_console.format.folder_kind import FolderKind
from branch_console.format.table_schema import TableSchema
from branch_console.table.file_store_table import FileStoreTable

LISTED_FILES: Final = pa.schema(
    [
        required("path", pa.string()),
        required("file_name", pa.string()),
        required("file_size", pa.int64()),
        required("modified_millis", pa.int64()),
        required("kind", pa.string()),
    ]
)


def list_files(table: FileStoreTable, schemas: Iterable[TableSchema]) -> pa.Table:
    """Return the files in the folders of a table, but those at external paths.

    Args:
        table: The table on any branch.
        schemas: All schemas of all branches: each may have had a folder of its own for data files.

    Returns:
        Columns of LISTED_FILES, the kind a FolderKind. A link that leads out of the warehouse is
        left out, as what it leads to is not the table's.
    """
    rows = [
        {
            "path": status.path,
            "file_name": status.name,
            "file_size": status.size,
            "modified_millis": status.modified_millis,
            "kind": str(kind),
        }
        for folder, kind in dict(_folders(table, schemas)).items()
        for status in table.reader.files.list(folder)
        if not status.is_directory and _is_within(table, status.path)
    ]
    return pa.Table.from_pylist(rows, LISTED_FILES)


def _folders(
    table: FileStoreTable, schemas: Iterable[TableSchema]
) -> Iterator[tuple[str, FolderKind]]:
    paths = table.paths
    yield paths.manifest_dir, FolderKind.MANIFEST
    yield paths.index("").rstrip("/"), FolderKind.INDEX
    yield paths.statistics("").rstrip("/"), FolderKind.STATISTICS
    tops = {
        (table.data_paths(each).data_directory.strip("/"), len(each.partition_keys))
        for each in schemas
    }
    for directory, depth in sorted(tops):
        top = f"{paths.table}/{directory}" if directory else paths.table
        for folder in bucket_folders(table.reader.files, top, depth):
            yield folder, FolderKind.BUCKET


def _is_within(table: FileStoreTable, path: str) -> bool:
    files = table.reader.files
    if not files.is_local:
        return True
    try:
        files.native_file(path)
    except (FormatError, NotFound):
        return False
    return True
