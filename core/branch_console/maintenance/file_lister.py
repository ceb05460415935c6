"""The files that lie in the folders which all branches of a table share, whoever put them there."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from branch_console.commit.rows.write_files import bucket_folders
from branch_console.errors import FormatError, NotFound
from branch_console.format.avro_encoding import required
from branch_console.format.folder_kind import FolderKind
from branch_console.format.table_schema import TableSchema
from branch_console.storage.file_io import FileReader, FileStatus
from branch_console.storage.parallel_io import map_parallel
from branch_console.table.file_columns import name_prints
from branch_console.table.file_store_table import FileStoreTable

# `kind` is a FolderKind; `name` is a number that stands for the name by which a manifest would
# name the file.
LISTED_FILES: Final = pa.schema(
    [
        required("path", pa.string()),
        required("file_size", pa.int64()),
        required("kind", pa.string()),
        required("name", pa.uint64()),
    ]
)
Prints: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]
_INDEX_OF_FILE: Final = ".index"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wanted:
    """The files of a listing to check: old files that nothing refers to.

    Attributes:
        before_millis: Only files written before this time are checked.
        named: The numbers of all names that something refers to, rising.
    """

    before_millis: int
    named: Prints

    @classmethod
    def everything(cls) -> "Wanted":
        """All files, however young, and whoever names them."""
        return cls(before_millis=1 << 62, named=np.zeros(0, np.uint64))

    def old(self, statuses: Iterable[FileStatus]) -> list[FileStatus]:
        """Return the files of a folder that are old enough."""
        return [
            status
            for status in statuses
            if not status.is_directory and status.modified_millis < self.before_millis
        ]

    def is_named(self, names: Prints) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether something names each file, given the numbers of their names."""
        if not len(self.named):
            return np.zeros(len(names), dtype=bool)
        places = np.minimum(np.searchsorted(self.named, names), len(self.named) - 1)
        found: np.ndarray[Any, np.dtype[np.bool_]] = self.named[places] == names
        return found


class FileLister(Protocol):
    """Lists folders; of a store far away by many at once. It removes nothing."""

    def list(
        self, files: FileReader, folders: Mapping[str, FolderKind], wanted: Wanted
    ) -> pa.Table:
        """Return the wanted files of some folders.

        Args:
            files: The store.
            folders: The contents of each folder, by its path.
            wanted: The files to list.

        Returns:
            Columns of LISTED_FILES. A link that leads out of the warehouse is left out, as what it
            leads to is not the table's.

        Raises:
            StorageError: The store did not answer.
        """


class LocalLister:
    """Lists in this process, folders of a store far away side by side."""

    def list(
        self, files: FileReader, folders: Mapping[str, FolderKind], wanted: Wanted
    ) -> pa.Table:
        """Return the wanted files of some folders; raises StorageError."""
        listed = map_parallel(
            files, lambda item: list_folder(files, *item, wanted), [*folders.items()]
        )
        return pa.concat_tables([LISTED_FILES.empty_table(), *listed])


def list_folder(files: FileReader, folder: str, kind: FolderKind, wanted: Wanted) -> pa.Table:
    """Return the wanted files of one folder, with columns of LISTED_FILES; raises StorageError."""
    found = [
        status
        for status in wanted.old(_children(files, folder, wanted))
        if _is_text(status.name) and (not status.is_link or _is_within(files, status.path))
    ]
    prints = _prints([status.name for status in found])
    left = np.flatnonzero(~wanted.is_named(prints))
    unnamed = [found[place] for place in left]
    return pa.Table.from_arrays(
        [
            pa.array([status.path for status in unnamed], pa.string()),
            pa.array([status.size for status in unnamed], pa.int64()),
            pa.array([str(kind)] * len(unnamed), pa.string()),
            pa.array(prints[left]),
        ],
        schema=LISTED_FILES,
    )


def _children(files: FileReader, folder: str, wanted: Wanted) -> list[FileStatus]:
    """The children of a folder; named ones may be left out."""
    if not files.is_local or not len(wanted.named):
        return files.list(folder)
    # On this machine each file is asked about by itself, which takes ten times as long as its name,
    # and nearly all files of a table are named.
    names = sorted(filter(_is_text, files.names(folder)))
    unnamed = np.flatnonzero(~wanted.is_named(_prints(names)))
    statuses = (files.status(f"{folder}/{names[place]}") for place in unnamed)
    return [each for each in statuses if each is not None]


def _prints(names: list[str]) -> Prints:
    # The index of a data file has no entry of its own: it is named with its file.
    stems = [name.removesuffix(_INDEX_OF_FILE) for name in names]
    return name_prints(pa.chunked_array([pa.array(stems, pa.string())]))


def _is_text(name: str) -> bool:
    """Whether a name is text: no engine gives a file another one, and no list could hold it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def folders_of(table: FileStoreTable, schemas: Iterable[TableSchema]) -> Mapping[str, FolderKind]:
    """Return the folders in which files of a table lie, but those at external paths.

    Args:
        table: The table on any branch.
        schemas: All schemas of all branches: each may have had a folder of its own for data files.
    """
    return dict(_folders(table, schemas))


def _folders(
    table: FileStoreTable, schemas: Iterable[TableSchema]
) -> Iterator[tuple[str, FolderKind]]:
    paths = table.paths
    yield paths.manifest_dir, FolderKind.MANIFEST
    yield paths.index("").rstrip("/"), FolderKind.INDEX
    yield paths.statistics("").rstrip("/"), FolderKind.STATISTICS
    tops = {
        (table.data_paths(schema).data_directory.strip("/"), len(schema.partition_keys))
        for schema in schemas
    }
    for directory, depth in sorted(tops):
        top = f"{paths.table}/{directory}" if directory else paths.table
        for folder in bucket_folders(table.reader.files, top, depth):
            yield folder, FolderKind.BUCKET


def _is_within(files: FileReader, path: str) -> bool:
    try:
        files.native_file(path)
    except (FormatError, NotFound):
        return False
    return True
