"""From a snapshot to its live files: its manifest lists, their manifests, ADD and DELETE folded.

What `manifest_query` does not decode goes through the codec of `branch_console.format`, which is
slower by a factor of twenty and says what is wrong.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import ErrorKind, FormatError, NotFound
from branch_console.format.avro_encoding import whole
from branch_console.format.data_types import RowType
from branch_console.format.index_manifest import NO_INDEX_FILES, decode_index_manifest
from branch_console.format.manifest_entry import MANIFEST_ENTRY, NO_FILES, FileKind, decode_manifest
from branch_console.format.manifest_list import decode_manifest_list
from branch_console.format.snapshot import Snapshot
from branch_console.format.values.binary_row import EMPTY_ROW
from branch_console.format.values.binary_rows import decode_rows
from branch_console.format.values.fine_times import scalar_of
from branch_console.format.values.key_order import sortable
from branch_console.storage.manifest_count import note_read, want_manifests
from branch_console.storage.metadata_cache import MetadataReader
from branch_console.storage.table_paths import TablePaths
from branch_console.table.manifest_query import ManifestSource, query_manifests
from branch_console.table.scan_filter import ScanFilter, Values
from branch_console.table.string_hashes import recurring, string_hashes
from branch_console.table.versioned_files import check_named_files, missing_file, naming_file

_Key = tuple[object, ...]
_Mask = np.ndarray[Any, np.dtype[np.bool_]]
_Rows = np.ndarray[Any, np.dtype[np.int64]]

_MAX_REMEMBERED_BYTES: Final = 1 << 30
_CHECKED: Final = ["kind", "identity", "file_name", "manifest", "bucket", "level"]


class ManifestScan:
    """Reads manifests of any table of a store, each once, and remembers the decoded ones.

    What it remembers is bounded in bytes; what was used longest ago goes first.
    """

    def __init__(
        self, reader: MetadataReader, max_remembered_bytes: int = _MAX_REMEMBERED_BYTES
    ) -> None:
        self._reader = reader
        self._tables = _RememberedTables(max_remembered_bytes)

    def read_list(self, paths: TablePaths, name: str) -> pa.Table:
        """The manifests that a manifest list names, with the columns of MANIFEST_FILE_META.

        Raises:
            FormatError: The list is missing or broken.
        """
        path = paths.manifest(name)
        return self._tables.get((path,), lambda: self._decode_file(path, decode_manifest_list))

    def remember_list(self, paths: TablePaths, name: str, manifests: pa.Table) -> None:
        """Know what a manifest list holds that was just written, with MANIFEST_FILE_META."""
        self._tables.put((paths.manifest(name),), manifests)

    def manifests(self, paths: TablePaths, snapshot: Snapshot) -> pa.Table:
        """The manifests of a snapshot: those of its base list, then those of its delta list."""
        return self.manifests_of(paths, [snapshot])[0]

    def manifests_of(self, paths: TablePaths, snapshots: Sequence[Snapshot]) -> list[pa.Table]:
        """The manifests of each snapshot; their lists are fetched together, each once."""
        wanted = [(each.base_manifest_list, each.delta_manifest_list) for each in snapshots]
        names = list(dict.fromkeys(itertools.chain.from_iterable(wanted)))
        found = dict(zip(names, self._read_lists(paths, names, snapshots), strict=True))
        return [pa.concat_tables([found[name] for name in pair]) for pair in wanted]

    def delta_lists(self, paths: TablePaths, snapshots: Sequence[Snapshot]) -> list[pa.Table]:
        """The manifests that the commit of each snapshot wrote, with MANIFEST_FILE_META.

        Raises:
            FormatError: A list is missing or broken.
        """
        names = [each.delta_manifest_list for each in snapshots]
        return self._read_lists(paths, names, snapshots)

    def _read_lists(
        self, paths: TablePaths, names: Sequence[str], snapshots: Sequence[Snapshot]
    ) -> list[pa.Table]:
        """Read lists of snapshots; whichever is missed first, the error names the same files."""
        try:
            return self._reader.map_parallel(lambda name: self.read_list(paths, name), names)
        except FormatError as error:
            if error.kind is ErrorKind.FILES_MISSING:
                for each in snapshots:
                    lists = (each.base_manifest_list, each.delta_manifest_list)
                    if error.facts.get("path") in [paths.manifest(name) for name in lists]:
                        check_named_files(self._reader, paths, each)
            raise

    def read(self, paths: TablePaths, manifests: pa.Table) -> pa.Table:
        """The entries of manifests, in the order of the rows.

        Args:
            paths: The table that the manifests belong to.
            manifests: Columns of MANIFEST_FILE_META.

        Returns:
            Columns of MANIFEST_ENTRY.

        Raises:
            FormatError: A manifest is missing, broken, or has not the entries its list tells of.
        """
        names = manifests["file_name"].to_pylist()
        counts = entry_counts(manifests)
        wanted = [(paths.manifest(name), count) for name, count in zip(names, counts, strict=True)]
        unknown = [item for item in wanted if (item[0],) not in self._tables]
        decoded = dict(zip(unknown, self._decode_all(unknown), strict=True))
        self._tables.put_slices({(path,): table for (path, _), table in decoded.items()})
        tables = [decoded[item] if item in decoded else self._read_one(*item) for item in wanted]
        return pa.concat_tables([NO_FILES, *tables])

    def find_made(self, path: str, what: str) -> pa.Table | None:
        """Return the decoded manifest or list, None if it is not cached."""
        return self._tables.find((path, what))

    def remember_made(self, what: str, tables: Mapping[str, pa.Table]) -> None:
        """Remember what was made of manifests or of lists, by their paths; all of the same columns.

        For whoever needs a small part of each, and comes again: it takes a thirtieth of the room.
        """
        self._tables.put_slices({(path, what): table for path, table in tables.items()})

    def read_past(
        self, paths: TablePaths, manifests: Sequence[tuple[str, int]], layout: pa.Schema
    ) -> pa.Table:
        """The entries of manifests, given name and number of entries, without remembering them.

        Of the columns of MANIFEST_ENTRY those of a layout, which is that or NAMED_FILE.

        For whoever looks once at all that a table has, and would drive out what others look at.
        Raises as `read` does.
        """
        wanted = [(paths.manifest(name), count) for name, count in manifests]
        return pa.concat_tables([layout.empty_table(), *self._decode_all(wanted, layout)])

    def live_files(
        self,
        paths: TablePaths,
        manifests: pa.Table,
        wanted: ScanFilter,
        partition_type: RowType,
        key_type: RowType,
    ) -> pa.Table:
        """The files that are live after all entries of the manifests, in their order.

        Args:
            paths: The table that the manifests belong to.
            manifests: Columns of MANIFEST_FILE_META, oldest first.
            wanted: The files to find; manifests without any of them are not read.
            partition_type: The partition columns of the table.
            key_type: Its trimmed primary key.

        Returns:
            Columns of MANIFEST_ENTRY, every `kind` ADD.

        Raises:
            FormatError: A manifest is missing or broken, or the entries contradict each other.
        """
        needed = prune_manifests(manifests, wanted, partition_type)
        key = (*(paths.manifest(name) for name in needed["file_name"].to_pylist()), wanted)

        def fold() -> pa.Table:
            entries = filter_entries(self.read(paths, needed), wanted)
            # Keys come last: dropping one half of an ADD and DELETE pair would unbalance it.
            return filter_by_key(live_files(entries), wanted.key_range, key_type)

        return self._tables.get(key, fold)

    def delta_entries(
        self, paths: TablePaths, snapshot: Snapshot, wanted: ScanFilter, partition_type: RowType
    ) -> pa.Table:
        """Return the entries that the commit of a snapshot added and deleted, as MANIFEST_ENTRY.

        Raises:
            FormatError: A manifest is missing or broken.
        """
        (manifests,) = self.delta_lists(paths, [snapshot])
        needed = prune_manifests(manifests, wanted, partition_type)
        return filter_entries(self.read(paths, needed), wanted)

    def changelog_entries(self, paths: TablePaths, snapshot: Snapshot) -> pa.Table:
        """The changelog files of a snapshot, with the columns of MANIFEST_ENTRY.

        Raises:
            FormatError: A manifest is missing or broken.
        """
        if snapshot.changelog_manifest_list is None:
            return NO_FILES
        return self.read(paths, self.read_list(paths, snapshot.changelog_manifest_list))

    def index_entries(self, paths: TablePaths, snapshot: Snapshot) -> pa.Table:
        """The index files of a snapshot, with the columns of INDEX_MANIFEST_ENTRY.

        Raises:
            FormatError: The index manifest is missing or broken.
        """
        if snapshot.index_manifest is None:
            return NO_INDEX_FILES
        return self.read_index(paths, snapshot.index_manifest)

    def read_index(self, paths: TablePaths, name: str) -> pa.Table:
        """Return the entries of an index manifest, with the columns of INDEX_MANIFEST_ENTRY.

        Raises:
            FormatError: The index manifest is missing or broken.
        """
        path = paths.manifest(name)
        return self._tables.get((path,), lambda: self._decode_file(path, decode_index_manifest))

    def _read_one(self, path: str, count: int) -> pa.Table:
        return self._tables.get((path,), lambda: self._decode_all([(path, count)])[0])

    def _decode_all(
        self, manifests: Sequence[tuple[str, int]], layout: pa.Schema = MANIFEST_ENTRY
    ) -> list[pa.Table]:
        if not manifests:
            return []
        paths = [path for path, _ in manifests]
        want_manifests(paths)
        try:
            files = self._reader.local_files(paths)
        except NotFound as error:
            raise missing_file(str(error.facts.get("path"))) from error
        sources = [
            ManifestSource(path=path, file=file, count=count)
            for (path, count), file in zip(manifests, files, strict=True)
        ]
        queried = query_manifests(sources, layout)
        return [self._checked(source, queried.get(source.path), layout) for source in sources]

    def _checked(
        self, source: ManifestSource, table: pa.Table | None, layout: pa.Schema
    ) -> pa.Table:
        if table is None:
            table = self._decode_file(source.path, decode_manifest).select(layout.names)
            note_read(source.path)
        if table.num_rows != source.count:
            raise FormatError(
                f"{source.path} is broken: it holds {table.num_rows} entries where its manifest "
                f"list tells of {source.count}. Restore the file.",
                path=source.path,
            )
        return table

    def _decode_file(self, path: str, decoder: Callable[[bytes, str], pa.Table]) -> pa.Table:
        try:
            return decoder(self._reader.read_immutable(path), path.rsplit("/", 1)[-1])
        except NotFound as error:
            raise missing_file(path) from error
        except FormatError as error:
            raise naming_file(error, path) from error


def entry_counts(manifests: pa.Table) -> list[int]:
    """How many entries each manifest has, given the columns of MANIFEST_FILE_META."""
    counts: list[int] = pc.add(
        manifests["num_added_files"], manifests["num_deleted_files"]
    ).to_pylist()
    return counts


def prune_manifests(manifests: pa.Table, wanted: ScanFilter, partition_type: RowType) -> pa.Table:
    """Return the manifests that may hold a wanted entry, judged by their ranges.

    A range that was not written (before Paimon 1.1 there are none) rules nothing out.
    """
    keep = np.ones(manifests.num_rows, dtype=bool)
    if wanted.buckets is not None:
        keep &= _overlaps(manifests, "min_bucket", "max_bucket", wanted.buckets)
    if wanted.levels is not None:
        keep &= _overlaps(manifests, "min_level", "max_level", wanted.levels)
    if wanted.partitions is not None and partition_type.fields and manifests.num_rows:
        keep &= _may_hold_partition(manifests, wanted.partitions, partition_type)
    return manifests if keep.all() else manifests.filter(pa.array(keep))


def filter_entries(entries: pa.Table, wanted: ScanFilter) -> pa.Table:
    """The entries of the wanted partitions, buckets and levels: all parts of a file's identity."""
    for column, values in (
        ("partition", wanted.partitions),
        ("bucket", wanted.buckets),
        ("level", wanted.levels),
    ):
        if values is not None:
            value_set = pa.array(sorted(values), MANIFEST_ENTRY.field(column).type)
            entries = entries.filter(pc.is_in(entries[column], value_set=value_set))
    return entries


def filter_by_key(
    files: pa.Table, key_range: tuple[Values, Values] | None, key_type: RowType
) -> pa.Table:
    """The files whose keys overlap a range; all of them where the table has no primary key."""
    if key_range is None or not key_type.fields or not files.num_rows:
        return files
    first, last = key_range
    is_before = _is_less(decode_rows(whole(files["max_key"]), key_type), first)
    is_after = _is_greater(decode_rows(whole(files["min_key"]), key_type), last)
    return files.filter(pc.invert(pc.or_(is_before, is_after)))


def live_files(entries: pa.Table) -> pa.Table:
    """Fold ADD and DELETE entries into the files that are live.

    Args:
        entries: Columns of MANIFEST_ENTRY, the older manifests first.

    Returns:
        Columns of MANIFEST_ENTRY, every `kind` ADD, one row per live file.

    Raises:
        FormatError: A file is added twice, or a DELETE is left over.

    References:
        Paimon FileEntry.mergeEntries; statement C10.
    """
    # The level belongs to the identity: an upgrade deletes and adds the same file name.
    deleted = entries["identity"].filter(pc.equal(entries["kind"], int(FileKind.DELETE)))
    if not len(deleted):
        _check_distinct(entries, np.ones(entries.num_rows, dtype=bool))
        return entries
    is_touched = pc.is_in(entries["identity"], value_set=deleted.combine_chunks())
    keep = pc.invert(is_touched).to_numpy().copy()
    _check_distinct(entries, keep)
    # Not `take`, which would first make one piece of all batches.
    live = _live_of_touched(entries.select(_CHECKED).filter(is_touched))
    keep[np.flatnonzero(~keep)[live]] = True
    return _kept_rows(entries, keep)


def _kept_rows(entries: pa.Table, keep: _Mask) -> pa.Table:
    """The rows to keep; batches that lose none are shared, not copied, as most are."""
    batches = []
    start = 0
    for batch in entries.to_batches():
        mask = keep[start : start + batch.num_rows]
        start += batch.num_rows
        if mask.any():
            batches.append(batch if mask.all() else batch.filter(pa.array(mask)))
    return pa.Table.from_batches(batches, entries.schema)


def _live_of_touched(entries: pa.Table) -> _Rows:
    """Return the rows of the live entries, of files that some entry deletes.

    Rewritten manifests may be listed before or after their sources, so a DELETE may precede its
    ADD. But the two must alternate, and no DELETE may be left over.
    """
    codes = whole(entries["identity"]).dictionary_encode().indices.to_numpy()
    kinds = entries["kind"].to_numpy()
    order = np.argsort(codes, kind="stable")
    codes, kinds = codes[order], kinds[order]
    is_first = np.r_[True, codes[1:] != codes[:-1]]
    is_last = np.r_[codes[1:] != codes[:-1], True]
    repeats = ~is_first & (kinds == np.r_[kinds[:1], kinds[:-1]])
    balance = np.add.reduceat(1 - 2 * kinds, np.flatnonzero(is_first))
    if repeats.any():
        _fail(entries, int(order[np.flatnonzero(repeats)[0]]))
    if (balance < 0).any():
        _fail(entries, int(order[np.flatnonzero(is_last)[np.flatnonzero(balance < 0)[0]]]))
    live: _Rows = order[np.flatnonzero(is_last)[balance == 1]]
    return live


def _check_distinct(entries: pa.Table, chosen: _Mask) -> None:
    """Find out whether two of the chosen entries are of the same file."""
    # Names alone tell it nearly always, and are half as long as identities.
    suspect = chosen.copy()
    suspect[chosen] = recurring(string_hashes(entries["file_name"])[chosen])
    if not suspect.any():
        return
    suspects = entries.select(_CHECKED).filter(pa.array(suspect))
    codes = whole(suspects["identity"]).dictionary_encode().indices.to_numpy()
    repeats = np.ones(len(codes), dtype=bool)
    repeats[np.unique(codes, return_index=True)[1]] = False
    if repeats.any():
        _fail(suspects, int(np.flatnonzero(repeats)[0]))


def _fail(entries: pa.Table, row: int) -> None:
    entry = entries.select(["kind", "file_name", "manifest", "bucket", "level"]).slice(row, 1)
    facts = entry.to_pylist()[0]
    what = "added twice" if facts["kind"] == FileKind.ADD else "deleted without being live"
    raise FormatError(
        f"Manifest {facts['manifest']} contradicts those before it: file {facts['file_name']} "
        f"(bucket {facts['bucket']}, level {facts['level']}) is {what}. The snapshot's manifests "
        "were damaged or mixed up; restore them.",
        manifest=facts["manifest"],
        file_name=facts["file_name"],
    )


def _overlaps(manifests: pa.Table, low: str, high: str, values: Collection[int]) -> _Mask:
    if not values:
        return np.zeros(manifests.num_rows, dtype=bool)
    first = manifests[low].fill_null(np.iinfo(np.int32).min).to_numpy()
    last = manifests[high].fill_null(np.iinfo(np.int32).max).to_numpy()
    chosen = np.array(sorted(values))
    # The smallest wanted number from `first` on lies within the range, or none does.
    at = np.searchsorted(chosen, first)
    found: _Mask = (at < len(chosen)) & (chosen[np.minimum(at, len(chosen) - 1)] <= last)
    return found


def _may_hold_partition(
    manifests: pa.Table, partitions: Collection[bytes], partition_type: RowType
) -> _Mask:
    stats = whole(manifests["partition_stats"])
    low, high, nulls = stats.flatten()
    lows, highs = _decode_stats(low, partition_type), _decode_stats(high, partition_type)
    wanted = decode_rows(pa.array(sorted(partitions), pa.binary()), partition_type)
    keep = np.zeros(manifests.num_rows, dtype=bool)
    for row in range(len(wanted)):
        holds = np.ones(manifests.num_rows, dtype=bool)
        for index in range(len(partition_type.fields)):
            value = wanted.field(index)[row]
            bounds = pc.struct_field(lows, index), pc.struct_field(highs, index)
            holds &= _may_hold(value, *bounds, nulls, index)
        keep |= holds
    return keep


def _decode_stats(rows: pa.Array, partition_type: RowType) -> pa.StructArray:
    # Not every writer collects statistics; an empty row rules nothing out.
    return decode_rows(
        pc.if_else(pc.equal(rows, pa.scalar(EMPTY_ROW, pa.binary())), None, rows), partition_type
    )


def _may_hold(
    value: pa.Scalar, low: pa.Array, high: pa.Array, nulls: pa.Array, index: int
) -> _Mask:
    if not value.is_valid:
        # Null counts are not always written; without them anything may be null.
        counts = [row[index] if row and len(row) > index else None for row in nulls.to_pylist()]
        return np.array([count is None or count > 0 for count in counts], dtype=bool)
    is_outside = pc.or_(pc.less(high, value), pc.greater(low, value))
    kept: _Mask = pc.invert(is_outside).fill_null(True).to_numpy(zero_copy_only=False)
    return kept


def _is_less(rows: pa.StructArray, key: Values) -> pa.Array:
    return _compare(rows, key, pc.less)


def _is_greater(rows: pa.StructArray, key: Values) -> pa.Array:
    return _compare(rows, key, pc.greater)


def _compare(
    rows: pa.StructArray, key: Values, comparison: Callable[[pa.Array, pa.Scalar], pa.Array]
) -> pa.Array:
    """Compare rows with a key, column by column; what cannot be compared is never true."""
    result = pa.repeat(pa.scalar(False), len(rows))
    for index in reversed(range(len(key))):
        column = sortable(rows.field(index))
        kind = rows.field(index).type
        value = sortable(pa.array([scalar_of(key[index], kind)], kind))[0]
        decided = comparison(column, value).fill_null(False)
        tied = pc.equal(column, value).fill_null(False)
        result = pc.or_(decided, pc.and_(tied, result))
    return result


class _RememberedTables:
    """Arrow tables by key, bounded in bytes."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._tables: OrderedDict[_Key, tuple[pa.Table, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, key: _Key) -> bool:
        with self._lock:
            return key in self._tables

    def find(self, key: _Key) -> pa.Table | None:
        with self._lock:
            if key not in self._tables:
                return None
            self._tables.move_to_end(key)
            return self._tables[key][0]

    def get(self, key: _Key, make: Callable[[], pa.Table]) -> pa.Table:
        known = self.find(key)
        if known is not None:
            return known
        table = make()
        self.put(key, table)
        return table

    def put(self, key: _Key, table: pa.Table) -> None:
        self._put(key, table, table.get_total_buffer_size())

    def put_slices(self, tables: Mapping[_Key, pa.Table]) -> None:
        """Keep tables of the same columns that may share buffers, each with its part of them."""
        if not tables:
            return
        # Of all at once: to measure each slice takes longer than to decode it.
        total = pa.concat_tables(tables.values()).get_total_buffer_size()
        rows = max(1, sum(table.num_rows for table in tables.values()))
        for key, table in tables.items():
            self._put(key, table, total * table.num_rows // rows)

    def _put(self, key: _Key, table: pa.Table, size: int) -> None:
        if size > self._max_bytes:
            return
        with self._lock:
            _, replaced = self._tables.pop(key, (None, 0))
            self._bytes += size - replaced
            self._tables[key] = (table, size)
            while self._bytes > self._max_bytes:
                _, (_, dropped) = self._tables.popitem(last=False)
                self._bytes -= dropped
