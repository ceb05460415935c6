"""The paths of files that manifests and index manifests name.

Some files lie outside the table: their entries have a whole URL. It is turned into a path of the
table's store only here. Source: Paimon DataFileMeta.externalPath, IndexFileMeta.externalPath.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from branch_console.errors import ErrorKind, FormatError, NotFound
from branch_console.format.index_manifest import IndexType
from branch_console.format.options import INDEX_FILE_IN_DATA_FILE_DIR
from branch_console.format.partition_path import partition_path
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_row import decode_row
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable

_OF_BUCKETS: Final = frozenset({IndexType.HASH, IndexType.DELETION_VECTORS})


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
    places, names, external = (
        _buckets(files),
        files["file_name"].to_pylist(),
        files["external_path"].to_pylist(),
    )
    path_of = table.reader.files.path_of
    folders = _folders(table, table.schema(), places)
    return pa.array(
        [
            f"{folders[place]}/{name}" if outside is None else path_of(outside)
            for place, name, outside in zip(places, names, external, strict=True)
        ],
        pa.string(),
    )


def index_files_beside_data(
    table: FileStoreTable, schema: TableSchema, files: pa.Table
) -> list[str | None]:
    """Return the paths of index files under the option `index-file-in-data-file-dir`.

    Args:
        table: The table on any branch.
        schema: The schema that places data files.
        files: Columns of INDEX_MANIFEST_ENTRY.

    Returns:
        None for files that the option does not place: files outside the table, and indexes over all
        buckets.

    References:
        Paimon FileStorePathFactory.indexFileFactory and globalIndexFileFactory.
    """
    places = _buckets(files)
    folders = _folders(table, schema, places)
    return [
        f"{folders[place]}/{name}" if outside is None and kind in _OF_BUCKETS else None
        for place, name, outside, kind in zip(
            places,
            files["file_name"].to_pylist(),
            files["external_path"].to_pylist(),
            files["index_type"].to_pylist(),
            strict=True,
        )
    ]


def _buckets(files: pa.Table) -> list[tuple[bytes, int]]:
    return [*zip(files["partition"].to_pylist(), files["bucket"].to_pylist(), strict=True)]


def _folders(
    table: FileStoreTable, schema: TableSchema, places: Iterable[tuple[bytes, int]]
) -> dict[tuple[bytes, int], str]:
    """The folder of each bucket, by its partition and number."""
    paths, types = table.data_paths(schema), schema.partition_type.types
    return {
        (partition, bucket): paths.bucket(
            partition_path(decode_row(partition, types), schema), bucket
        )
        # Thousands of files may share a bucket, and decoding a partition is slow.
        for partition, bucket in dict.fromkeys(places)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFolders:
    """The folders of the index files of buckets, by the options of one branch.

    Attributes:
        paths: The table's paths, with its own folder for data files.
        schema: The newest schema of the branch.
        path_of: Makes a path of the URL of a file outside the table.
    """

    paths: TablePaths
    schema: TableSchema
    path_of: Callable[[str], str]

    @classmethod
    def of(cls, table: FileStoreTable) -> "IndexFolders":
        """Read the options; raises NotFound or FormatError if the branch has no schema."""
        schema = table.schema()
        path_of = table.reader.files.path_of
        return cls(paths=table.data_paths(schema), schema=schema, path_of=path_of)

    def path(self, place: tuple[bytes, int], name: str, external: str | None = None) -> str:
        """Return the path of an index file of a bucket.

        Args:
            place: Encoded partition and bucket.
            name: The name of the file.
            external: Its URL, if it lies outside the table.

        Raises:
            InvalidInput: It lies in another store.

        References:
            Paimon FileStorePathFactory.indexFileFactory.
        """
        if external is not None:
            return self.path_of(external)
        if not self.schema.options.read(INDEX_FILE_IN_DATA_FILE_DIR):
            return self.paths.index(name)
        partition, bucket = place
        values = decode_row(partition, self.schema.partition_type.types)
        return self.paths.data_file(partition_path(values, self.schema), bucket, name)


def read_index_file(table: FileStoreTable, path: str) -> bytes:
    """Return an index file, such as one of deletion vectors.

    Args:
        table: The table on the branch that refers to the file.
        path: The file.

    Raises:
        FormatError: It is missing, so nobody knows which rows are deleted.
        StorageError: The store did not answer.
    """
    try:
        return table.reader.read_immutable(path)
    except NotFound as error:
        name = table.identifier.table_name
        raise FormatError(
            f"{path} is missing, an index file of branch {table.branch!r} of {name}: which of its "
            f"rows are deleted is not known. Restore it from a copy, or run branch-console doctor "
            f"{name} --deep, which names a snapshot that is whole.",
            kind=ErrorKind.FILES_MISSING,
            path=path,
            branch=table.branch,
        ) from error


def index_file_paths(table: FileStoreTable, files: pa.Table) -> list[str]:
    """Return the paths of index files, such as deletion vectors.

    Args:
        table: The table on the branch that refers to the files.
        files: Columns of INDEX_MANIFEST_ENTRY.

    Raises:
        InvalidInput: A file lies in another store.
    """
    if not files.num_rows:
        return []
    folders = IndexFolders.of(table)
    columns = (files[each].to_pylist() for each in ("file_name", "external_path", "index_type"))
    return [
        folders.path(place, name, external)
        if kind in _OF_BUCKETS or external is not None
        else table.paths.index(name)
        for place, name, external, kind in zip(_buckets(files), *columns, strict=True)
    ]
