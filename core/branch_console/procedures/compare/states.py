"""Any two states of a table, compared by their manifests: no row is read, and no Spark runs."""

import functools
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.changes.file_history import original_name
from branch_console.diff.file_masks import MaskKey
from branch_console.diff.masks import Load, Mask, cardinality, changed_masks, masks_of
from branch_console.diff.rows.disjoint_rows import cannot_be_equal, columns_to_tell
from branch_console.diff.schema_diff import diff_schemas
from branch_console.diff.state_diff import (
    ComparedState,
    StateDiff,
    StateTotals,
    contested_partitions,
    differing_files,
    places_of,
    row_difference,
    with_masks,
)
from branch_console.diff.state_name import StateName, parse_state_name
from branch_console.errors import ErrorKind, FormatError, NotFound
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.manifest_entry import FileKind
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.deletion_vector import Positions, read_deletion_vectors
from branch_console.format.values.simple_stats import value_stats
from branch_console.procedures.browse.history import shared_schema
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.storage.parallel_io import aside
from branch_console.table.data_file_paths import IndexFolders, read_index_file
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.manifest_scan import entry_counts
from branch_console.table.missing_branch import no_branch
from branch_console.table.table_state import ReadState
from branch_console.table.unshared_manifests import unshared_entries

_STATISTICS_READ: Final = 5_000
"""Files of which both sides have some in one partition, up to which statistics are looked at."""

_SHARED_ENTRIES_READ: Final = 20_000
"""Entries of shared manifests that are read as well, so that their bytes can be told."""


def compare_states(warehouse: Warehouse, table: Identifier, before: str, after: str) -> StateDiff:
    """Compare two states of a table.

    Only manifests that one state lists and the other does not are opened, and those of both where
    they are few.

    Args:
        warehouse: The warehouse.
        table: The table; its branch is the one whose tags need no branch in front.
        before: A state as `parse_state_name` reads it.
        after: The other one.

    Raises:
        InvalidInput: A text names no state.
        NotFound: There is no such branch, snapshot or tag, or it is another one by now.
        FormatError: A manifest, index file or schema cannot be decoded.
    """
    found = warehouse.table(table)
    return diff_states(found, find_state(found, before), find_state(found, after))


def find_state(table: FileStoreTable, text: str) -> ComparedState:
    """Find the state that a text names.

    Raises:
        InvalidInput: It names none.
        NotFound: There is no such branch, snapshot or tag, or it is another one by now.
    """
    names = (MAIN_BRANCH, *table.branches.names())
    name = parse_state_name(text, names, table.branch)
    if name.branch not in names:
        if text in (aside(table.tags.names)() or ()):
            raise NotFound(
                f"Table {table.identifier.table_name} has no branch {text!r}, but a tag of that "
                f"name. Write 'tag:{text}'.",
                kind=ErrorKind.BRANCH_NOT_FOUND,
                branch=text,
            )
        raise no_branch(table, name.branch)
    there = table.on(name.branch)
    snapshot = _snapshot_of(there, name)
    return ComparedState(
        name=name,
        branch=name.branch,
        snapshot=snapshot,
        schema=_schema_of(there, name, snapshot),
    )


def branch_listing(
    table: FileStoreTable, snapshot: Snapshot, branches: Iterable[str]
) -> str | None:
    """Return the first of some branches that lists this very snapshot; None if none of them does.

    Both sides of a merge contain their merge base, but not both list it: what a side took in by an
    earlier merge has the number of another snapshot there.

    Raises:
        FormatError: A snapshot cannot be decoded.
    """
    return next((name for name in branches if table.on(name).snapshots.holds(snapshot)), None)


def _snapshot_of(table: FileStoreTable, name: StateName) -> Snapshot | None:
    if name.tag is not None:
        return table.tags.get(name.tag).snapshot
    if name.time_millis is not None:
        return table.snapshot_for(timestamp_millis=name.time_millis)
    if name.snapshot_id is None:
        return table.head()
    snapshot = table.snapshots.get(name.snapshot_id)
    if name.identity is not None and snapshot.identity.short != name.identity:
        raise NotFound(
            f"Snapshot {snapshot.id} of {table.branch!r} is not the one that {str(name)!r} was "
            f"written for: it is {snapshot.identity.short} now.",
            kind=ErrorKind.SNAPSHOT_NOT_FOUND,
            snapshot=snapshot.id,
        )
    return snapshot


def _schema_of(table: FileStoreTable, name: StateName, snapshot: Snapshot | None) -> TableSchema:
    """The newest schema for a head, also if a link pinned it; else the snapshot's, as Paimon."""
    if snapshot is None or name.is_head:
        return table.schema()
    if name.identity is not None:
        head = table.head()
        if head is not None and head.identity.same_as(snapshot.identity):
            return table.schema()
    return ReadState.as_it_was(table, snapshot).schema


def diff_states(table: FileStoreTable, before: ComparedState, after: ComparedState) -> StateDiff:
    """Compare two states that were found.

    Raises:
        FormatError: A manifest, index file or schema cannot be decoded.
    """
    snapshots = (before.snapshot, after.snapshot)
    entries = unshared_entries(table.scan, table.paths, snapshots)
    left, right = entries.sides
    files = differing_files(left, right, (before.schema, after.schema))
    old, new = (_masks(table, each) for each in snapshots)
    load = functools.partial(_load, table, IndexFolders.of(table))
    masks = changed_masks(_only_shared(files, old), _only_shared(files, new), load)
    files = with_masks(
        files, _hidden(files, old, load, after=False), _hidden(files, new, load, after=True)
    )
    places = places_of(files, masks)
    contested = frozenset[bytes]()
    if not after.schema.primary_keys:
        contested = contested_partitions(places, masks)
    disjoint = _disjoint(table, (before, after), entries.sides, files, contested)
    totals = _totals(table, snapshots)
    common = shared_schema(table, before.branch, after.branch)
    return StateDiff(
        before=before,
        after=after,
        files=files,
        masks=masks,
        places=places,
        rows=row_difference(files, places, masks, after.schema, disjoint),
        schema=diff_schemas(before.schema, after.schema, base=common),
        totals=totals,
        manifests_read=entries.manifests_read,
        manifests_skipped=entries.manifests_skipped,
    )


def _disjoint(
    table: FileStoreTable,
    states: tuple[ComparedState, ComparedState],
    sides: tuple[pa.Table, ...],
    files: pa.Table,
    partitions: frozenset[bytes],
) -> frozenset[bytes]:
    """Return the partitions whose statistics prove that no rows of both sides are equal."""
    wanted = files.filter(
        pc.is_in(files["partition"], value_set=pa.array(sorted(partitions), pa.binary()))
    )
    if not partitions or wanted.num_rows > _STATISTICS_READ:
        return frozenset()
    columns = columns_to_tell(states[0].schema, states[1].schema)
    try:
        bounds = [
            _statistics(table.on(state.branch), state, sides, wanted, is_after=is_after)
            for state, is_after in zip(states, (False, True), strict=True)
        ]
    except FormatError:
        # Statistics are a help and no more: without them there are bounds.
        return frozenset()
    return frozenset(
        partition
        for partition in partitions
        if all(partition in side for side in bounds)
        and cannot_be_equal(bounds[0][partition], bounds[1][partition], columns)
    )


_Statistics: TypeAlias = tuple[pa.StructArray, pa.Array]


def _statistics(
    table: FileStoreTable,
    state: ComparedState,
    sides: tuple[pa.Table, ...],
    files: pa.Table,
    *,
    is_after: bool,
) -> dict[bytes, _Statistics]:
    """The value statistics of the files that one state has for itself, by partition."""
    own = files.filter(pc.equal(files["is_after"], is_after))
    names = own["file_name"].combine_chunks()
    entries = pa.concat_tables(sides)
    entries = entries.filter(pc.is_in(entries["file_name"], value_set=names))
    schemas = {schema.id: schema for schema in table.schemas.all()}
    stats = value_stats(entries, schemas, state.schema, as_bounds=True)
    counts = entries["row_count"].combine_chunks()
    found: dict[bytes, _Statistics] = {}
    for partition in own["partition"].unique().to_pylist():
        here = pc.equal(entries["partition"], partition).combine_chunks()
        found[partition] = (stats.filter(here), counts.filter(here))
    return found


def _masks(table: FileStoreTable, snapshot: Snapshot | None) -> dict[MaskKey, Mask]:
    return {} if snapshot is None else masks_of(table.index_entries(snapshot))


def _only_shared(files: pa.Table, masks: Mapping[MaskKey, Mask]) -> dict[MaskKey, Mask]:
    """Return the deletion vectors of files that both states have."""
    own = {key for key, _ in _keys(files)} if masks else set()
    return {key: mask for key, mask in masks.items() if key not in own}


def _hidden(
    files: pa.Table, masks: Mapping[MaskKey, Mask], load: Load, *, after: bool
) -> dict[MaskKey, int]:
    """The rows that one state hides of its own files."""
    if not masks:
        return {}
    own = (key for key, is_after in _keys(files) if is_after == after)
    return {key: cardinality(masks[key], load) for key in own if key in masks}


def _keys(files: pa.Table) -> list[tuple[MaskKey, bool]]:
    columns = (files[name].to_pylist() for name in ("partition", "bucket", "file_name", "is_after"))
    return [
        ((partition, bucket, original_name(name)), is_after)
        for partition, bucket, name, is_after in zip(*columns, strict=True)
    ]


def _load(table: FileStoreTable, folders: IndexFolders, mask: Mask) -> Positions:
    path = folders.path(mask.place, mask.index_file, mask.external_path)
    data = read_index_file(table, path)
    return read_deletion_vectors(data, [mask.range], path)[mask.range.data_file]


def _totals(
    table: FileStoreTable, snapshots: tuple[Snapshot | None, Snapshot | None]
) -> tuple[StateTotals, StateTotals]:
    """Return the totals of each state; bytes are None if reading them would be slow."""
    first, second = (_total(table, each) for each in snapshots)
    return first, second


def _total(table: FileStoreTable, snapshot: Snapshot | None) -> StateTotals:
    if snapshot is None:
        return StateTotals(file_count=0, byte_count=0, record_count=0)
    manifests = table.manifests(snapshot)
    added, deleted = (_sum(manifests[f"num_{what}_files"]) for what in ("added", "deleted"))
    byte_count = None
    if sum(entry_counts(manifests)) <= _SHARED_ENTRIES_READ:
        entries = table.read_manifests(manifests)
        is_add = pc.equal(entries["kind"], int(FileKind.ADD))
        sizes = entries["file_size"]
        byte_count = _sum(pc.if_else(is_add, sizes, pc.negate(sizes)))
    return StateTotals(
        file_count=added - deleted,
        byte_count=byte_count,
        record_count=snapshot.total_record_count,
    )


def _sum(column: pa.ChunkedArray) -> int:
    return int(pc.sum(column).as_py() or 0)
