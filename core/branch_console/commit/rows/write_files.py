"""The files of one write of rows: whoever made them, and however often, their names hold its id."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.base.commit_store import CommitStore
from branch_console.format import options as table_options
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.partition_path import partition_path
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_row import decode_row
from branch_console.storage.file_io import FileReader
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable


def files_of_write(table: FileStoreTable, store: CommitStore, write_id: str) -> Iterator[str]:
    """The paths of data, changelog and index files whose names hold the id of a write."""
    yield from _named(store, _all_folders(table, store), write_id)


def remove_unnamed(
    table: FileStoreTable,
    store: CommitStore,
    write_id: str,
    messages: Sequence[CommitMessage],
    *,
    everywhere: bool = False,
) -> None:
    """Remove files of a write that its messages do not name: those of tasks that were run again.

    Args:
        table: The table.
        store: Its store.
        write_id: The id of the write.
        messages: All messages of the write.
        everywhere: Whether to look into all buckets of the table, not into those of the messages.
    """
    folders = _all_folders(table, store) if everywhere else _folders_of(table, messages)
    wanted = names_in(messages)
    found = _named(store, folders, write_id)
    store.remover.discard([path for path in found if _name_of(path) not in wanted])


def find_missing(
    table: FileStoreTable, store: CommitStore, write_id: str, messages: Sequence[CommitMessage]
) -> tuple[str, ...]:
    """The names of files of a write that its messages name and that are not there any more."""
    wanted = {name for name in names_in(messages) if write_id in name}
    there = map(_name_of, _named(store, _folders_of(table, messages), write_id))
    return tuple(sorted(wanted.difference(there)))


def names_in(messages: Iterable[CommitMessage]) -> set[str]:
    """The names of all files that come with messages."""
    return {
        name
        for each in messages
        for files in (
            *(each.new_files, each.changelog_files, each.compact_after),
            *(each.compact_changelog_files, each.new_index_files, each.compact_new_index_files),
        )
        for name in files["file_name"].to_pylist()
    }


def _named(store: CommitStore, folders: Iterable[str], write_id: str) -> Iterator[str]:
    for folder in folders:
        yield from (f"{folder}/{name}" for name in store.files.names(folder) if write_id in name)


def _name_of(path: str) -> str:
    return path.rpartition("/")[2]


def _index_folder(paths: TablePaths, schema: TableSchema) -> Iterator[str]:
    if not schema.options.read(table_options.INDEX_FILE_IN_DATA_FILE_DIR):
        yield paths.index("").rstrip("/")


def _schema_of(table: FileStoreTable) -> TableSchema:
    """A schema that tells where data files lie; a write may outlive its branch."""
    return table.schemas.find_latest() or table.on(MAIN_BRANCH).schema()


def _all_folders(table: FileStoreTable, store: CommitStore) -> Iterator[str]:
    schema = _schema_of(table)
    paths = table.data_paths(schema)
    yield from _index_folder(paths, schema)
    directory = paths.data_directory.strip("/")
    top = f"{paths.table}/{directory}" if directory else paths.table
    yield from bucket_folders(store.files, top, len(schema.partition_keys))


def _folders_of(table: FileStoreTable, messages: Iterable[CommitMessage]) -> Iterator[str]:
    schema = _schema_of(table)
    paths = table.data_paths(schema)
    yield from _index_folder(paths, schema)
    for partition, bucket in sorted({(each.partition, each.bucket) for each in messages}):
        values = decode_row(partition, schema.partition_type.types)
        yield paths.bucket(partition_path(values, schema), bucket)


def bucket_folders(files: FileReader, folder: str, depth: int) -> Iterator[str]:
    """The folders of buckets, below as many levels of partitions as there are below a folder."""
    is_wanted: Callable[[str], bool] = (
        (lambda name: name.startswith("bucket-")) if depth == 0 else (lambda name: "=" in name)
    )
    for name in sorted(filter(is_wanted, files.names(folder))):
        path = f"{folder}/{name}"
        if depth == 0:
            yield path
        else:
            yield from bucket_folders(files, path, depth - 1)
