"""Deletion vectors of files that stay, where one index file held those of others, too."""

from collections.abc import Collection, Iterable
from typing import Any
from uuid import uuid4

import pyarrow as pa

from branch_console.format import options as table_options
from branch_console.format.index_manifest import INDEX_MANIFEST_ENTRY, deletion_vector_entry
from branch_console.format.values.deletion_vector import (
    DeletionVectorRange,
    read_deletion_vectors,
    write_deletion_vectors,
)
from branch_console.table.data_file_paths import IndexFolders, read_index_file
from branch_console.table.file_store_table import FileStoreTable


def kept_vectors(table: FileStoreTable, given_up: pa.Table, missing: Collection[str]) -> pa.Table:
    """Return the index files that take the place of others, without vectors of missing files.

    Nothing is written: `vector_files` tells the bytes.

    Args:
        table: The table on the branch.
        given_up: Columns of INDEX_MANIFEST_ENTRY: the index files that go.
        missing: The names of the data files that are missing.

    Returns:
        Columns of INDEX_MANIFEST_ENTRY; none for an index file of which nothing stays.

    Raises:
        FormatError: An index file is missing or broken.
    """
    entries = []
    for old in given_up.to_pylist():
        kept = [each["data_file"] for each in old["dv_ranges"] if each["data_file"] not in missing]
        if kept:
            data, ranges = _file_of(table, old, kept)
            place = (old["partition"], old["bucket"])
            entries.append(deletion_vector_entry(place, f"index-{uuid4()}-0", len(data), ranges))
    return pa.Table.from_pylist(entries, schema=INDEX_MANIFEST_ENTRY)


def vector_files(
    table: FileStoreTable, given_up: Iterable[dict[str, Any]], kept: Iterable[dict[str, Any]]
) -> list[tuple[str, bytes]]:
    """Return the paths and bytes of index files that `kept_vectors` told, the same at each try.

    Args:
        table: The table on the branch.
        given_up: The entries that go.
        kept: The entries that come.
    """
    folders = IndexFolders.of(table)
    holder = {
        (old["partition"], old["bucket"], each["data_file"]): old
        for old in given_up
        for each in old["dv_ranges"]
    }
    found = []
    for new in kept:
        place = (new["partition"], new["bucket"])
        names = [each["data_file"] for each in new["dv_ranges"]]
        data, _ = _file_of(table, holder[(*place, names[0])], names)
        found.append((folders.path(place, new["file_name"]), data))
    return found


def _file_of(
    table: FileStoreTable, old: dict[str, Any], names: list[str]
) -> tuple[bytes, tuple[DeletionVectorRange, ...]]:
    """The index file that holds some of the vectors of another one."""
    place = (old["partition"], old["bucket"])
    path = IndexFolders.of(table).path(place, old["file_name"], old["external_path"])
    ranges = {each["data_file"]: DeletionVectorRange(**each) for each in old["dv_ranges"]}
    data = read_index_file(table, path)
    vectors = read_deletion_vectors(data, [ranges[name] for name in names], path)
    is_wide = table.schema().options.read(table_options.DELETION_VECTORS_BITMAP64)
    return write_deletion_vectors({name: vectors[name] for name in names}, bitmap64=is_wide)
