"""INSERT, OVERWRITE, DELETE, UPDATE, MERGE and compaction, from the first file to the snapshot."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.rows.row_commit import PreparedRows, RowCommit
from branch_console.commit.rows.row_write import RowWrite
from branch_console.commit.snapshot.conflict_detection import CommitRule
from branch_console.diff.lineage import ROW_OPERATION
from branch_console.errors import CommitConflict, ErrorKind, InvalidInput, StorageError
from branch_console.expr.predicate import Condition, holds, names_in
from branch_console.format import options as table_options
from branch_console.format.kept_elsewhere import WITHOUT_CALLBACKS_PROPERTY
from branch_console.format.manifest_entry import FileKind
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.arrow_types import to_arrow
from branch_console.format.values.binary_row import decode_row, encode_row
from branch_console.format.values.binary_rows import decode_rows
from branch_console.format.values.fine_times import scalar_of
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.permissions import Role, check_role
from branch_console.procedures.call.row_engine import Progress
from branch_console.procedures.call.row_writer import Bucket, Rows, RowWriter
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.call.without_callbacks import reason_for_rows
from branch_console.sql.merges import MergeClauses
from branch_console.table.file_store_table import FileStoreTable

_TRIES: Final = 3
# What was computed from rows or files that changed meanwhile is right when it is computed again.
_COMPUTED_ANEW: Final = frozenset(
    {
        CommitRule.ROWS_CHANGED,
        CommitRule.DELETE_OF_DEAD_FILE,
        CommitRule.STALE_DELETION_VECTOR,
        CommitRule.KEY_RANGES_OVERLAP,
    }
)
_log = logging.getLogger(__name__)

_NO_CONSTANTS: Final[Mapping[str, object]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The result of a statement that writes.

    Attributes:
        snapshot_id: The new snapshot; None if nothing changed.
        rows: The number of rows inserted, deleted, changed, or rewritten by a compaction.
        files_added: The number of added data files.
        files_removed: The number of removed data files.
    """

    snapshot_id: int | None
    rows: int
    files_added: int
    files_removed: int


def _quiet(done: int, total: int | None) -> None:
    """Ignore the progress."""


def insert_rows(
    warehouse: Warehouse,
    writer: RowWriter,
    table: FileStoreTable,
    rows: Rows,
    call: ProcedureCall,
    *,
    by_position: bool = False,
    partition: Mapping[str, object] = _NO_CONSTANTS,
    progress: Progress = _quiet,
) -> Written:
    """Append rows; in a table with a primary key they take the place of rows with their keys.

    Where readers wait for a compaction to see them (deletion vectors, `first-row`), the buckets
    that got rows are compacted as well, unless the table is `write-only`.

    Args:
        warehouse: The warehouse.
        writer: Writes the files.
        table: The table on the branch to be written.
        rows: The rows; a column that is left out gets its default or null.
        call: Who asks, and the id: a call that ran before returns what it returned then. Its
            argument `without_callbacks` is why an operator leaves out what Paimon does for others.
        by_position: Whether the n-th column is meant for the n-th of the table, as `INSERT INTO`
            without a list of columns has it; else columns are found by name.
        partition: Columns that the rows lack, and their one value.
        progress: Called with tasks done and tasks known; what it raises stops the writing.

    Raises:
        InvalidInput: The rows do not fit, or the table is of a kind that is not written; nothing
            was written.
        CommitConflict: Somebody else came in between, where that matters; nothing is left.
    """

    def prepare(write_id: str) -> PreparedRows:
        return writer.insert(
            table,
            rows,
            write_id=write_id,
            by_position=by_position,
            constants=partition,
            replaces=False,
            progress=progress,
        )

    return _shown(warehouse, writer, table, call, prepare, progress)


def overwrite_rows(
    warehouse: Warehouse,
    writer: RowWriter,
    table: FileStoreTable,
    rows: Rows,
    call: ProcedureCall,
    *,
    by_position: bool = False,
    partition: Mapping[str, object] | None = None,
    progress: Progress = _quiet,
) -> Written:
    """Put rows in the place of what partitions hold.

    Args:
        warehouse: The warehouse.
        writer: Writes the files.
        table: The table on the branch to be written.
        rows: The rows.
        call: As for `insert_rows`.
        by_position: As for `insert_rows`.
        partition: Which partitions lose their rows. None: those that get rows (dynamic), or all
            if the table has no partitions or its option `dynamic-partition-overwrite` is false.
            Columns and values (static): all that have these, also if no row comes; rows do not
            bring these columns. Empty: the whole table.
        progress: As for `insert_rows`.

    Raises:
        InvalidInput: As for `insert_rows`, or a column is none of the partition.
        CommitConflict: As for `insert_rows`.
    """
    schema = table.schema()
    spec = _partition_values(schema, partition or {})

    def prepare(write_id: str) -> tuple[PreparedRows, RowCommit]:
        head = table.head()
        prepared = writer.insert(
            table,
            rows,
            write_id=write_id,
            by_position=by_position,
            constants=spec,
            replaces=True,
            progress=progress,
        )
        replaced = None
        if partition is not None and schema.partition_keys:
            replaced = _replaced(table, head, spec, prepared.messages)
            if not replaced:
                return prepared, _commit_of(prepared)
        commit = replace(_commit_of(prepared, "OVERWRITE"), overwrites=True, partitions=replaced)
        return prepared, commit

    return _run(warehouse, table, call, prepare)


def delete_rows(
    warehouse: Warehouse,
    writer: RowWriter,
    table: FileStoreTable,
    condition: str | None,
    call: ProcedureCall,
    *,
    alias: str | None = None,
    progress: Progress = _quiet,
) -> Written:
    """Delete the rows for which a condition is true.

    With a primary key rows are written that delete by key; without one the files that hold such
    rows are written anew, or get deletion vectors where the table has these.

    Args:
        warehouse: The warehouse.
        writer: Writes the files.
        table: The table on the branch to be written.
        condition: In Spark's SQL, over the bare names of columns or behind `alias`; None for all.
        call: As for `insert_rows`.
        alias: How the condition calls the table.
        progress: As for `insert_rows`.

    Raises:
        InvalidInput: The condition is wrong, or the merge engine takes no deletes.
        CommitConflict: Time and again rows with the same keys were written, or a file that was
            written anew is gone, since the rows were read; nothing is left.
    """

    def prepare(write_id: str) -> PreparedRows:
        return writer.delete(table, condition, alias=alias, write_id=write_id, progress=progress)

    return _shown(warehouse, writer, table, call, prepare, progress, "DELETE")


def update_rows(
    warehouse: Warehouse,
    writer: RowWriter,
    table: FileStoreTable,
    assignments: Mapping[str, str],
    condition: str | None,
    call: ProcedureCall,
    *,
    alias: str | None = None,
    progress: Progress = _quiet,
) -> Written:
    """Give columns new values, in the rows for which a condition is true.

    Args:
        warehouse: The warehouse.
        writer: Writes the files.
        table: The table on the branch to be written.
        assignments: Expressions in Spark's SQL, by column; they see the values from before.
        condition: As for `delete_rows`.
        call: As for `insert_rows`.
        alias: As for `delete_rows`.
        progress: As for `insert_rows`.

    Raises:
        InvalidInput: An expression or a value is wrong, a column belongs to the primary key, or
            the merge engine takes no updates.
        CommitConflict: As for `delete_rows`.
    """

    def prepare(write_id: str) -> PreparedRows:
        return writer.update(
            table, assignments, condition, alias=alias, write_id=write_id, progress=progress
        )

    return _shown(warehouse, writer, table, call, prepare, progress, "UPDATE")


def merge_into(
    warehouse: Warehouse,
    writer: RowWriter,
    table: FileStoreTable,
    merge: MergeClauses,
    call: ProcedureCall,
    *,
    progress: Progress = _quiet,
) -> Written:
    """Let rows meet those of a source, and change, delete or insert rows as clauses say.

    Args:
        warehouse: The warehouse.
        writer: Writes the files.
        table: The table on the branch to be written.
        merge: The source, when rows match, and the clauses.
        call: As for `insert_rows`.
        progress: As for `insert_rows`.

    Raises:
        InvalidInput: As for `update_rows`, or several rows of the source would change one row.
        CommitConflict: As for `delete_rows`.
    """

    def prepare(write_id: str) -> PreparedRows:
        return writer.merge(table, merge, write_id=write_id, progress=progress)

    return _shown(warehouse, writer, table, call, prepare, progress, "MERGE")


def compact_table(
    warehouse: Warehouse,
    writer: RowWriter,
    table: FileStoreTable,
    call: ProcedureCall,
    *,
    partitions: Sequence[Mapping[str, object]] = (),
    where: Condition | None = None,
    idle_before_millis: int | None = None,
    buckets: Iterable[Bucket] | None = None,
    progress: Progress = _quiet,
) -> Written:
    """Rewrite buckets: with a primary key to the top level, else small files into large ones.

    Args:
        warehouse: The warehouse.
        writer: Writes the files.
        table: The table on the branch to be written.
        call: As for `insert_rows`.
        partitions: Columns and values: only partitions that have all of one; empty for all.
        where: Only partitions for which it holds; it speaks of partition columns alone.
        idle_before_millis: Only partitions whose newest file is older.
        buckets: Encoded partitions and buckets, where just these are meant.
        progress: As for `insert_rows`.

    Raises:
        InvalidInput: The table is of a kind that is not compacted here.
        CommitConflict: Time and again another commit took a file away meanwhile; nothing is left.
    """
    specs = [_partition_values(table.schema(), each) for each in partitions]
    if where is not None:
        _check_of_partitions(table.schema(), where)
    is_of_all = where is None and idle_before_millis is None and not (specs and all(specs))

    def prepare(write_id: str) -> tuple[PreparedRows, RowCommit]:
        head = table.head()
        chosen = None if buckets is None else frozenset(buckets)
        if chosen is None and not is_of_all and head is not None:
            found = [
                _buckets_of(table, head, each, idle_before_millis, where) for each in specs or [{}]
            ]
            chosen = frozenset[Bucket]().union(*found)
        prepared = writer.compact(table, chosen, write_id=write_id, progress=progress)
        return prepared, _commit_of(prepared)

    return _run(warehouse, table, call, prepare)


_Prepare = Callable[[str], tuple[PreparedRows, RowCommit]]


def _shown(
    warehouse: Warehouse,
    writer: RowWriter,
    table: FileStoreTable,
    call: ProcedureCall,
    prepare: Callable[[str], PreparedRows],
    progress: Progress,
    operation: str | None = None,
) -> Written:
    """Write rows, and compact their buckets where readers would not see them otherwise."""
    schema = table.schema()
    waits = bool(schema.primary_keys) and schema.skips_level_0
    touched: set[Bucket] = set()

    def noting(write_id: str) -> tuple[PreparedRows, RowCommit]:
        prepared = prepare(write_id)
        touched.update((each.partition, each.bucket) for each in prepared.messages)
        return prepared, _commit_of(prepared, operation)

    written = _run(warehouse, table, call, noting)
    if not waits or schema.options.read(table_options.WRITE_ONLY) or written.snapshot_id is None:
        return written
    again = replace(call, operation_id=f"{call.operation_id}-compact")
    try:
        compacted = compact_table(
            # Of a write that was resumed the buckets are not known.
            warehouse,
            writer,
            table,
            again,
            buckets=touched or None,
            progress=progress,
        )
    except CommitConflict as error:
        # The rows stand; only who reads them has to wait for a later compaction.
        _log.info("buckets of %s were not compacted: %s", table.identifier, error)
        return written
    return replace(written, snapshot_id=compacted.snapshot_id or written.snapshot_id)


def _run(
    warehouse: Warehouse, table: FileStoreTable, call: ProcedureCall, prepare: _Prepare
) -> Written:
    warehouse.check_writable()
    check_role(call.role, Role.EDITOR, "write rows")
    for _ in range(_TRIES - 1):
        try:
            return _run_once(warehouse, table, call, prepare)
        except CommitConflict as error:
            if (
                error.kind is not ErrorKind.HEAD_MOVED
                and error.facts.get("rule") not in _COMPUTED_ANEW
            ):
                raise
            _log.info("a write to %s is made anew: %s", table.identifier, error)
    return _run_once(warehouse, table, call, prepare)


def _run_once(
    warehouse: Warehouse, table: FileStoreTable, call: ProcedureCall, prepare: _Prepare
) -> Written:
    known = RowWrite.resume(table, warehouse.store, call.operation_id, warehouse.clock)
    if known is not None:
        return _written(known)
    reason = reason_for_rows(call, table)
    write = RowWrite.begin(
        table,
        warehouse.store,
        operation_id=call.operation_id,
        actor=call.actor,
        statement=call.statement,
        clock=warehouse.clock,
        without_callbacks=reason is not None,
    )
    snapshot: Snapshot | None = None
    with write.guarded():
        prepared, commit = prepare(write.write_id)
        figures = {
            "rows": prepared.row_count,
            "files_added": _count(prepared.messages, "new_files", "compact_after"),
            "files_removed": _count(prepared.messages, "deleted_files", "compact_before"),
        }
        if commit.overwrites or commit.messages:
            reported = {} if reason is None else {WITHOUT_CALLBACKS_PROPERTY: reason}
            properties = {**commit.properties, **reported}
            snapshot = write.publish(replace(commit, summary=figures, properties=properties))
    if commit.overwrites:
        figures["files_removed"] = _replaced_files(table, snapshot)
    found = {"snapshot_id": None if snapshot is None else snapshot.id, **figures}
    try:
        write.finish(found)
    except StorageError as error:
        # The rows stand; whoever was told otherwise would write them twice.
        _log.warning(
            "recovery has to end write %s of %s: %s", write.write_id, table.identifier, error
        )
    return _written(found)


def _written(figures: Mapping[str, int | None]) -> Written:
    return Written(
        snapshot_id=figures.get("snapshot_id"),
        rows=figures.get("rows") or 0,
        files_added=figures.get("files_added") or 0,
        files_removed=figures.get("files_removed") or 0,
    )


def _replaced_files(table: FileStoreTable, snapshot: Snapshot | None) -> int:
    """How many files went with an overwrite, which only its commit finds out."""
    if snapshot is None:
        return 0
    kinds = table.delta_entries(snapshot)["kind"]
    return int(pc.sum(pc.equal(kinds, int(FileKind.DELETE))).as_py() or 0)


def _commit_of(prepared: PreparedRows, operation: str | None = None) -> RowCommit:
    """The commit of prepared rows; merges go by the operation where one is told."""
    return RowCommit(
        messages=prepared.messages,
        expected_head=prepared.expected_head,
        read_at=prepared.read_at,
        has_strays=prepared.has_strays,
        properties={} if operation is None else {ROW_OPERATION: operation},
    )


def _count(messages: Sequence[CommitMessage], *names: str) -> int:
    return sum(getattr(each, name).num_rows for each in messages for name in names)


def _partition_values(schema: TableSchema, given: Mapping[str, object]) -> dict[str, object]:
    """The values of partition columns as Python has them."""
    found: dict[str, object] = {}
    for name, value in given.items():
        if name not in schema.partition_keys:
            known = ", ".join(schema.partition_keys) or "none"
            raise InvalidInput(
                f"{name!r} is no partition column; the table has {known}.", column=name
            )
        kind = to_arrow(schema.field(name).type)
        try:
            scalar = scalar_of(value, kind)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InvalidInput(
                f"Partition column {name!r} is {schema.field(name).type} and takes no {value!r}.",
                column=name,
            ) from error
        found[name] = scalar.as_py()
    return found


def _replaced(
    table: FileStoreTable,
    head: Snapshot | None,
    spec: Mapping[str, object],
    messages: Sequence[CommitMessage],
) -> tuple[bytes, ...]:
    """The partitions that a static overwrite replaces: those there are, and those that come."""
    schema = table.schema()
    found = {each.partition for each in messages}
    if len(spec) == len(schema.partition_keys):
        values = [spec[key] for key in schema.partition_keys]
        found.add(encode_row(values, schema.partition_type.types))
    elif head is not None:
        found |= {partition for partition, _ in _buckets_of(table, head, spec)}
    return tuple(sorted(found))


def _check_of_partitions(schema: TableSchema, where: Condition) -> None:
    """Refuse a condition on anything but partition columns; raises InvalidInput."""
    for name in names_in(where):
        if name.side is not None or name.column not in schema.partition_keys:
            known = ", ".join(schema.partition_keys) or "none"
            raise InvalidInput(
                f"The condition speaks of {name.column!r}, which is no partition column; the table "
                f"has {known}. Nothing was changed.",
                kind=ErrorKind.INVALID_ARGUMENT,
                column=name.column,
            )


def _holds_for(schema: TableSchema, partitions: pa.Array, where: Condition) -> pa.Array:
    """Whether a condition holds for each encoded partition; not where a value is missing."""
    values = decode_rows(partitions, schema.partition_type)
    held = holds(where, lambda name: values.field(schema.partition_keys.index(name.column)))
    return pc.fill_null(held, False)


def _buckets_of(
    table: FileStoreTable,
    head: Snapshot,
    spec: Mapping[str, object],
    idle_before_millis: int | None = None,
    where: Condition | None = None,
) -> frozenset[Bucket]:
    """The buckets of partitions with such values, only of those whose newest file is older."""
    schema = table.schema()
    files = table.live_files(head).select(["partition", "bucket", "creation_time"])
    if idle_before_millis is not None:
        newest = files.group_by("partition").aggregate([("creation_time", "max")])
        # Writers put down the wall clock of where they run, without a zone, as Paimon does.
        before = datetime.fromtimestamp(idle_before_millis / 1000, UTC).astimezone()
        limit = pa.scalar(before.replace(tzinfo=None), pa.timestamp("ms"))
        idle = newest.filter(pc.less(newest["creation_time_max"], limit))["partition"]
        files = files.filter(pc.is_in(files["partition"], value_set=idle.combine_chunks()))
    places = files.group_by(["partition", "bucket"]).aggregate([])
    wanted = [(schema.partition_keys.index(name), value) for name, value in spec.items()]
    types = schema.partition_type.types
    partitions = pc.unique(places["partition"])
    if where is not None:
        partitions = partitions.filter(_holds_for(schema, partitions, where))
    matching = {
        partition
        for partition in partitions.to_pylist()
        if all(decode_row(partition, types)[at] == value for at, value in wanted)
    }
    return frozenset(
        (each["partition"], each["bucket"])
        for each in places.to_pylist()
        if each["partition"] in matching
    )
