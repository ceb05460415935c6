"""The snapshots, schemas and tags of one branch, newest first."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.rows.row_figure import (
    NOTHING_COUNTED,
    RowFigure,
    commit_figures,
    snapshot_figure,
)
from branch_console.diff.schema_diff import ChangeKind, SchemaChange, SchemaDiff, diff_schemas
from branch_console.errors import InvalidInput, NotFound, PaimonError
from branch_console.format.identifier import Identifier
from branch_console.format.partition_path import partition_words
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.format.tag import Tag
from branch_console.format.values.binary_row import decode_row
from branch_console.procedures.browse.page_values import (
    SchemaItem,
    SnapshotDetail,
    SnapshotItem,
    TagItem,
)
from branch_console.procedures.call.row_figures import counted_figure, figure_of_files
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.commit_deletes import figures_with_deletes
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.missing_branch import no_branch
from branch_console.table.table_state import ReadState

PARTITION_SUMMARY: Final = pa.schema(
    [
        pa.field("partition", pa.string(), nullable=False),
        pa.field("file_count", pa.int64(), nullable=False),
        pa.field("record_count", pa.int64(), nullable=False),
        pa.field("byte_count", pa.int64(), nullable=False),
        pa.field("bucket_count", pa.int64(), nullable=False),
    ]
)
"""Live files by partition, as `dt=20240101/hh=8`; empty text without partitions."""


def list_snapshots(warehouse: Warehouse, table: Identifier) -> tuple[SnapshotItem, ...]:
    """Return the snapshots of a branch, newest first, broken ones with their error."""
    found = warehouse.table(table)
    tags = tags_by_id(_readable_tags(found))
    items, schema_id = [], None
    newest, older = _newest_schema(found), None
    for state in found.snapshots.states():
        snapshot = state.value
        if snapshot is None:
            named = tuple(tag.name for tag in tags.get(int(state.name), ()))
        else:
            named = tag_names(tags, snapshot)
        changed = snapshot is not None and schema_id not in (None, snapshot.schema_id)
        schema_id = schema_id if snapshot is None else snapshot.schema_id
        items.append(
            SnapshotItem(
                id=int(state.name),
                snapshot=snapshot,
                figure=snapshot_figure(snapshot, newest, found.branch)
                if snapshot
                else NOTHING_COUNTED,
                change=_change(snapshot, older, newest, found.branch),
                tags=named,
                schema_changed=changed,
                error=state.error,
            )
        )
        older = snapshot
    return tuple(sorted(items, key=lambda item: -item.id))


def _change(
    snapshot: Snapshot | None, older: Snapshot | None, schema: TableSchema | None, branch: str
) -> RowFigure:
    """Return the changes by the commit of a snapshot; nothing is known of a broken one."""
    if snapshot is None:
        return NOTHING_COUNTED
    return commit_figures((snapshot,), older, schema, branch)[0]


def _newest_schema(table: FileStoreTable) -> TableSchema | None:
    """The newest schema of a branch, None if it cannot be read: its snapshots are listed."""
    try:
        return table.schema()
    except PaimonError:
        return None


def read_snapshot(warehouse: Warehouse, table: Identifier, version: str) -> SnapshotDetail:
    """Return one snapshot with its files summed up.

    Args:
        warehouse: The warehouse.
        table: The table with its branch.
        version: A snapshot id or a tag, or either of another branch: `dev.7`.

    Raises:
        NotFound: There is no such snapshot.
        FormatError: A manifest is missing or broken.
    """
    found = warehouse.table(table)
    snapshot = found.snapshot_for(version)
    files = found.live_files(snapshot)
    delta = found.scan.read_list(found.paths, snapshot.delta_manifest_list)
    schema, before = _schema_of(found, snapshot), found.snapshots.find(snapshot.id - 1)
    figure = figure_of_files(found, snapshot, files, schema)
    return SnapshotDetail(
        identifier=found.identifier,
        snapshot=snapshot,
        tags=tag_names(tags_by_id(_readable_tags(found)), snapshot),
        schema=schema,
        file_count=files.num_rows,
        byte_count=_sum(files["file_size"]),
        figure=counted_figure(warehouse, found, snapshot, schema, figure),
        change=figures_with_deletes(
            found, (snapshot,), (_change(snapshot, before, found.schema(), found.branch),)
        )[0],
        delete_file_count=_sum(delta["num_deleted_files"]),
        added_file_count=_sum(delta["num_added_files"]),
        partitions=_by_partition(files, found.schema()),
    )


def list_schemas(warehouse: Warehouse, table: Identifier) -> tuple[SchemaItem, ...]:
    """Return the schemas of a branch, newest first, broken ones with their error."""
    found = warehouse.table(table)
    used = Counter(
        state.value.schema_id for state in found.snapshots.states() if state.value is not None
    )
    items: list[SchemaItem] = []
    before: TableSchema | None = None
    for state in found.schemas.states():
        schema = state.value
        changes: tuple[str, ...] = ()
        if schema is not None and before is not None:
            changes = tuple(_sentence(each) for each in diff_schemas(before, schema).changes)
        items.append(
            SchemaItem(
                id=int(state.name),
                schema=schema,
                changes=changes,
                snapshot_count=used.get(int(state.name), 0),
                error=state.error,
            )
        )
        before = schema or before
    return tuple(reversed(items))


def compare_schemas(warehouse: Warehouse, table: Identifier, left: str, right: str) -> SchemaDiff:
    """Compare two schemas, each named by a branch or as `branch@schema-id`.

    Raises:
        NotFound: There is no such branch or schema.
    """
    found = warehouse.table(table)
    sides = (_named_schema(found, left), _named_schema(found, right))
    return diff_schemas(*sides, base=shared_schema(found, _branch_of(left), _branch_of(right)))


def list_tags(warehouse: Warehouse, table: Identifier) -> tuple[TagItem, ...]:
    """Return the tags of a branch by name, broken ones with their error."""
    found = warehouse.table(table)
    bases: dict[str, list[str]] = {}
    for event in found.ledger.events():
        if event.base_tag is not None and event.source_branch == found.branch:
            bases.setdefault(event.base_tag, []).append(event.branch)
    alive = set(found.branches.names())
    newest = _newest_schema(found)
    return tuple(
        TagItem(
            name=state.name,
            tag=state.value,
            figure=snapshot_figure(state.value.snapshot, newest, found.branch)
            if state.value
            else NOTHING_COUNTED,
            is_base_of=tuple(name for name in bases.get(state.name, ()) if name in alive),
            error=state.error,
        )
        for state in found.tags.states()
    )


def tags_by_id(tags: Iterable[Tag]) -> dict[int, tuple[Tag, ...]]:
    """Group tags by the id of the snapshot that they name."""
    found: dict[int, tuple[Tag, ...]] = {}
    for tag in tags:
        found[tag.snapshot.id] = (*found.get(tag.snapshot.id, ()), tag)
    return found


def tag_names(tags: Mapping[int, tuple[Tag, ...]], snapshot: Snapshot) -> tuple[str, ...]:
    """Return the tags of a snapshot: of it, and not of another one that had its id before."""
    return tuple(
        tag.name
        for tag in tags.get(snapshot.id, ())
        if tag.snapshot.identity.same_as(snapshot.identity)
    )


def shared_schema(table: FileStoreTable, left: str, right: str) -> TableSchema | None:
    """Return the newest schema that two branches hold alike; ids above it mean two things."""
    if left == right:
        return None
    ours, theirs = (
        {
            state.value.id: state.value
            for state in table.on(branch or table.branch).schemas.states()
            if state.value is not None
        }
        for branch in (left, right)
    )
    alike = (
        schema
        for schema_id, schema in ours.items()
        if (other := theirs.get(schema_id)) and schema.fingerprint == other.fingerprint
    )
    return max(alike, key=lambda schema: schema.id, default=None)


def _readable_tags(table: FileStoreTable) -> Iterator[Tag]:
    return (state.value for state in table.tags.states() if state.value is not None)


def _schema_of(table: FileStoreTable, snapshot: Snapshot) -> TableSchema:
    try:
        return ReadState.as_it_was(table, snapshot).schema
    except NotFound:
        # The snapshot of another branch, whose schema ids mean something else here.
        return table.schema()


def _by_partition(files: pa.Table, schema: TableSchema) -> pa.Table:
    """Sum live files up by partition, the one with most bytes first."""
    sums = files.group_by("partition").aggregate(
        [
            ("file_name", "count"),
            ("row_count", "sum"),
            ("file_size", "sum"),
            ("bucket", "count_distinct"),
        ]
    )
    types = schema.partition_type.types
    names = [
        partition_words(decode_row(each, types), schema) for each in sums["partition"].to_pylist()
    ]
    columns = ("file_name_count", "row_count_sum", "file_size_sum", "bucket_count_distinct")
    table = pa.table(
        [pa.array(names, pa.string()), *(sums[name] for name in columns)],
        schema=PARTITION_SUMMARY,
    )
    return table.sort_by([("byte_count", "descending"), ("partition", "ascending")])


def _sum(column: pa.ChunkedArray) -> int:
    return int(pc.sum(column).as_py() or 0)


def _sentence(change: SchemaChange) -> str:
    """Tell a change of a schema to somebody who reads its history."""
    what = f"Column {change.subject!r}" if change.field_id is not None else change.subject
    match change.kind:
        case ChangeKind.ADDED:
            return f"{what} {change.after} was added."
        case ChangeKind.DROPPED:
            return f"{what} {change.before} was dropped."
        case ChangeKind.RENAMED:
            return f"Column {change.before!r} was renamed to {change.after!r}."
        case ChangeKind.MOVED:
            return f"{what} was moved."
        case ChangeKind.WIDENED | ChangeKind.NARROWED | ChangeKind.RETYPED | ChangeKind.NULLABILITY:
            return f"{what} went from {change.before} to {change.after}."
        case ChangeKind.OPTION_SET | ChangeKind.OPTION_CHANGED | ChangeKind.OPTION_UNSET:
            return _set_sentence(f"Option {change.subject!r}", change)
        case ChangeKind.DEFAULT | ChangeKind.COMMENT:
            return _set_sentence(f"The {change.kind} of column {change.subject!r}", change)
        case ChangeKind.TABLE_COMMENT:
            return _set_sentence("The table's comment", change)
        case ChangeKind.PARTITION_KEYS | ChangeKind.PRIMARY_KEYS:
            before, after = change.before or "none", change.after or "none"
            return f"The {change.kind} went from {before} to {after}."
        case _:
            assert_never(change.kind)


def _set_sentence(what: str, change: SchemaChange) -> str:
    """Tell of a text that a schema may have or not."""
    if change.before is None:
        return f"{what} was set to {change.after!r}."
    if change.after is None:
        return f"{what} was unset; it was {change.before!r}."
    return f"{what} went from {change.before!r} to {change.after!r}."


def _named_schema(table: FileStoreTable, name: str) -> TableSchema:
    branch, schema_id = _branch_of(name) or table.branch, name.rpartition("@")[2]
    if branch != name and not schema_id.isdigit():
        raise InvalidInput(f"{name!r} names no schema. Write a branch, or branch@schema-id.")
    if not table.branches.exists(branch):
        raise no_branch(table, branch)
    there = table.on(branch)
    return there.schema() if branch == name else there.schemas.get(int(schema_id))


def _branch_of(name: str) -> str:
    branch, separator, _ = name.rpartition("@")
    return branch if separator else name
