"""The files that references name, read as far as it takes to tell who needs which."""

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.format.avro_encoding import required, whole
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.options import INDEX_FILE_IN_DATA_FILE_DIR
from branch_console.format.table_schema import TableSchema
from branch_console.maintenance.references import Reference, ReferenceKind
from branch_console.table.data_file_paths import (
    data_file_paths,
    index_files_beside_data,
)
from branch_console.table.file_columns import read_file_columns, read_made
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.manifest_list_query import read_manifest_lists

# `rank` says when a file goes: what other files are found by goes after these.
RELEASED_FILES: Final = pa.schema(
    [
        required("path", pa.string()),
        required("file_size", pa.int64()),
        required("rank", pa.int8()),
        required("name", pa.uint64()),
    ]
)
DATA_RANK: Final = 0
INDEX_RANK: Final = 1
STATISTICS_RANK: Final = 2
MANIFEST_RANK: Final = 3
LIST_RANK: Final = 4
_MANIFESTS_AT_ONCE: Final = 64
_MADE: Final = "places of files"
_PLACED: Final = ["partition", "bucket", "file_name", "external_path", "file_size", "extra_files"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedLists:
    """The manifest lists that one reference names, and what else it names itself.

    Attributes:
        live: Lists of the state.
        added: The list of changelog files.
        written: The list of a delta that is a changelog itself.
        kept: Lists that stay although no file of theirs does because of this reference.
    """

    live: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    index_manifest: str | None = None
    statistics: str | None = None

    @property
    def all(self) -> tuple[str, ...]:
        """All lists."""
        return (*self.live, *self.added, *self.written, *self.kept)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NamedFiles:
    """The files that references lead to, each list and each manifest read once.

    Attributes:
        manifests: How many entries each manifest has, by name, in the order of their numbers.
        lists: The numbers of the manifests of each list.
        index_files: The paths and sizes of the index files of each index manifest.
        columns: Columns of FILE_COLUMNS, of all manifests.
    """

    manifests: Mapping[str, int]
    lists: Mapping[str, tuple[int, ...]]
    index_files: Mapping[str, Mapping[str, int]]
    columns: pa.Table

    def numbers(self, lists: Iterable[str]) -> tuple[int, ...]:
        """Return the numbers of the manifests that some lists name."""
        return tuple(itertools.chain.from_iterable(self.lists[each] for each in lists))


def lists_of(reference: Reference) -> NamedLists:
    """Return the lists that a reference names.

    A changelog outlives what its snapshot held besides. Source: Paimon ChangelogDeletion, and
    SnapshotDeletion for what it leaves to that.
    """
    snapshot = reference.snapshot
    changelog = snapshot.changelog_manifest_list
    added = () if changelog is None else (changelog,)
    state = (snapshot.base_manifest_list, snapshot.delta_manifest_list)
    if reference.kind is not ReferenceKind.CHANGELOG:
        return NamedLists(
            live=state,
            added=added,
            index_manifest=snapshot.index_manifest,
            statistics=snapshot.statistics,
        )
    if reference.has_changelog_files:
        return NamedLists(added=added)
    return NamedLists(added=added, written=state[1:], kept=state[:1])


def read_named_files(
    table: FileStoreTable, named: Sequence[NamedLists], unread: Collection[str] = ()
) -> NamedFiles:
    """Read what references lead to.

    Args:
        table: The table on any branch.
        named: The files that references name.
        unread: Branches whose schemas are left aside, as they cannot be read.

    Raises:
        FormatError: A list or a manifest is missing or broken.
    """
    names = list(dict.fromkeys(itertools.chain.from_iterable(each.all for each in named)))
    read = read_manifest_lists(table, names)
    numbers: dict[str, int] = {}
    entries: dict[str, int] = {}
    lists = {}
    for name, found in read.items():
        for manifest, count in found:
            numbers.setdefault(manifest, len(numbers))
            entries[manifest] = count
        lists[name] = tuple(numbers[manifest] for manifest, _ in found)
    indexes = {each.index_manifest for each in named if each.index_manifest is not None}
    return NamedFiles(
        manifests=entries,
        lists=lists,
        index_files=_all_index_files(table, sorted(indexes), unread),
        columns=read_file_columns(table.scan, table.paths, entries),
    )


def released_data_files(table: FileStoreTable, files: NamedFiles, chosen: pa.Table) -> pa.Table:
    """Return the data files of some entries, with the files that lie beside them.

    Args:
        table: The table on the branch whose folders the files lie in.
        files: The files that were read.
        chosen: Columns of FILE_COLUMNS; the entries.

    Returns:
        Columns of RELEASED_FILES; the name of a file that lies beside is that of its data file.
    """
    named = list(files.manifests.items())
    order = chosen.sort_by([("manifest", "ascending"), ("position", "ascending")])
    manifests, counts = np.unique(order["manifest"].to_numpy(), return_counts=True)
    found = []
    for first in range(0, len(manifests), _MANIFESTS_AT_ONCE):
        part = slice(first, first + _MANIFESTS_AT_ONCE)
        wanted = [named[number] for number in manifests[part]]
        # A plan is decided again before it runs, and once more before anything goes.
        read = read_made(table.scan, table.paths, wanted, _MADE, _placed)
        starts = np.cumsum([0, *(count for _, count in wanted[:-1])])
        begin = int(counts[:first].sum())
        rows = order.slice(begin, int(counts[part].sum()))
        places = np.repeat(starts, counts[part]) + rows["position"].to_numpy()
        entries = pa.concat_tables(read).take(pa.array(places))
        found += list(_files_of(table, entries, rows["name"].combine_chunks()))
    released = pa.concat_tables([RELEASED_FILES.empty_table(), *found]).combine_chunks()
    return released.take(_first_of_each(released["path"]))


def _placed(entries: pa.Table) -> pa.Table:
    return entries.select(_PLACED)


def _files_of(
    table: FileStoreTable, entries: pa.Table, names: pa.Array | pa.ChunkedArray
) -> Iterator[pa.Table]:
    paths, names = data_file_paths(table, entries), whole(names)
    yield _released(paths, whole(entries["file_size"]), names)
    extra = whole(entries["extra_files"])
    parents = pc.list_parent_indices(extra)
    if len(parents):
        folders = pc.replace_substring_regex(paths.take(parents), r"[^/]*$", "")
        beside = pc.binary_join_element_wise(folders, pc.list_flatten(extra), "")
        unknown = pa.repeat(pa.scalar(0, pa.int64()), len(beside))
        yield _released(beside, unknown, names.take(parents))


def _released(paths: pa.Array, sizes: pa.Array, names: pa.Array) -> pa.Table:
    ranks = pa.repeat(pa.scalar(DATA_RANK, pa.int8()), len(paths))
    return pa.Table.from_arrays([paths, sizes, ranks, names], schema=RELEASED_FILES)


def _first_of_each(column: pa.ChunkedArray) -> pa.Array:
    codes = whole(column).dictionary_encode().indices.to_numpy()
    _, rows = np.unique(codes, return_index=True)
    return pa.array(np.sort(rows))


def _all_index_files(
    table: FileStoreTable, index_manifests: Sequence[str], unread: Collection[str]
) -> dict[str, dict[str, int]]:
    if not index_manifests:
        return {}
    tables = [table.on_listed(each) for each in (MAIN_BRANCH, *table.branches.names())]
    newest = (each.schemas.find_latest() for each in (table, *tables) if each.branch not in unread)
    schemas = [each for each in newest if each is not None]
    return {each: _index_files(table, each, schemas) for each in index_manifests}


def _index_files(
    table: FileStoreTable, index_manifest: str, schemas: Sequence[TableSchema]
) -> dict[str, int]:
    """The index files of an index manifest, each where it lies.

    Where branches have different options the one that wrote a file is not known: it is looked for.
    """
    entries = table.scan.read_index(table.paths, index_manifest)
    columns = (entries[each].to_pylist() for each in ("file_name", "external_path", "file_size"))
    by_option = {each.options.read(INDEX_FILE_IN_DATA_FILE_DIR): each for each in schemas}
    beside: list[str | None] = [None] * entries.num_rows
    if True in by_option:
        beside = index_files_beside_data(table, by_option[True], entries)
    found: dict[str, int] = {}
    for place, name, external, size in zip(beside, *columns, strict=True):
        path = table.paths.index(name)
        if external is not None:
            path = table.reader.files.path_of(external)
        if place is not None and (False not in by_option or table.reader.files.exists(place)):
            path = place
        found[path] = size
    return found
