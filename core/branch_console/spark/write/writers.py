"""Writes rows as data files in Spark tasks; nothing is visible until somebody commits the messages.

Rows travel as packed Arrow tables, one for each bucket and batch: types that Spark does not have
survive, and a shuffle moves few large values instead of many small rows.
"""

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce
from itertools import groupby
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import ArrayType, DataType, MapType, NullType

from branch_console.commit.base.commit_message import CommitMessage, row_count
from branch_console.commit.rows.row_commit import PreparedRows
from branch_console.errors import ErrorKind, InvalidInput, PaimonError
from branch_console.format.index_manifest import INDEX_MANIFEST_ENTRY
from branch_console.format.manifest_entry import MANIFEST_ENTRY
from branch_console.format.snapshot import NO_SNAPSHOT, Snapshot, SnapshotIdentity
from branch_console.format.table_schema import BucketMode, TableSchema
from branch_console.format.values.arrow_types import to_arrow
from branch_console.spark.files.conform import (
    check_assignable,
    conform,
    constant_for,
    in_spelling_of,
    names_for,
)
from branch_console.spark.files.data_files import (
    WriteTarget,
    WrittenFiles,
    check_writable,
    split,
    write_bucket,
)
from branch_console.spark.read.readers import spark_layout
from branch_console.spark.session.arrow_bytes import from_bytes, to_bytes
from branch_console.spark.session.arrow_frames import frame_of
from branch_console.spark.session.session import Progress, WarmSession
from branch_console.spark.write.dynamic_buckets import DynamicBuckets
from branch_console.sql.token_reader import quoted_name
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable

Sequences: TypeAlias = dict[tuple[bytes, int], int]

# `run` keeps apart what may become files of its own, `position` is the order of arrival in a run.
# The run _REFUSED carries the error of rows that do not fit instead of rows: as a result it keeps
# its kind, where an exception would be tried again and end as text.
_PACKED: Final = pa.schema(
    [
        pa.field("partition", pa.binary(), False),
        pa.field("bucket", pa.int32(), False),
        pa.field("run", pa.int32(), False),
        pa.field("position", pa.int64(), False),
        pa.field("rows", pa.binary(), False),
    ]
)
_PACKED_DDL: Final = "partition binary, bucket int, run int, position long, rows binary"
_WRITTEN: Final = pa.schema(
    [
        pa.field("partition", pa.binary()),
        pa.field("bucket", pa.int32()),
        pa.field("new_files", pa.binary()),
        pa.field("changelog_files", pa.binary()),
        pa.field("index_files", pa.binary()),
        pa.field("error", pa.binary()),
    ]
)
_WRITTEN_DDL: Final = (
    "partition binary, bucket int, new_files binary, changelog_files binary, index_files binary, "
    "error binary"
)
_REFUSED: Final = -1
_BYTES_AT_ONCE: Final = 64 << 20
_SMALLEST_PIECE: Final = 8 << 20
_POSITIONS_PER_TASK: Final = 1 << 40


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRequest:
    """How rows are meant.

    Attributes:
        write_id: The id that the names of all files contain; see
            `branch_console.commit.rows.row_write`.
        by_position: Whether the n-th column is meant for the n-th of the table.
        constants: Columns that are not among those of the rows, and their one value.
        replaces: Whether the partitions that get rows lose what they hold.
    """

    write_id: str = ""
    by_position: bool = False
    constants: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    replaces: bool = False


def write_rows(
    session: WarmSession,
    store: FileIO,
    table: FileStoreTable,
    rows: pa.Table | DataFrame,
    *,
    progress: Progress = lambda done, total: None,
    request: WriteRequest | None = None,
) -> tuple[CommitMessage, ...]:
    """Write rows into an append table or one with a primary key.

    Of rows with one key the last wins, or what the table's merge engine says. A column
    `_VALUE_KIND` (0 insert, 1 and 2 update before and after, 3 delete) deletes rows by their key.

    Args:
        session: The Spark session for the tasks.
        store: The store of the table's paths, with the right to write.
        table: The table on the branch to be written; sequence numbers go on from its live files.
        rows: Columns of the table by name; those left out get their default or null.
        progress: Called with tasks done and tasks known; what it raises stops the writing.
        request: How the rows are meant, where not by the names of their columns.

    Returns:
        A message for each bucket that got rows.

    Raises:
        InvalidInput: The rows do not fit, or the table is of a kind that cannot be written.
    """
    prepared = prepare_rows(session, store, table, rows, progress=progress, request=request)
    return prepared.messages


def prepare_rows(
    session: WarmSession,
    store: FileIO,
    table: FileStoreTable,
    rows: pa.Table | DataFrame | Sequence[DataFrame],
    *,
    progress: Progress = lambda done, total: None,
    request: WriteRequest | None = None,
) -> PreparedRows:
    """Write rows as `write_rows` does, and say on which head they may be committed.

    Of several frames, each with columns of its own, rows of later ones come after the others.
    With dynamic buckets the messages hold the whole index of buckets as it was at the head.
    """
    request = request or WriteRequest()
    schema = table.schema()
    check_writable(schema, keeps_index=True)
    check_store(store)
    given = [rows] if isinstance(rows, pa.Table | DataFrame) else rows
    parts = [_prepared(each, schema, request) for each in given]
    if all(isinstance(each, pa.Table) and each.num_rows == 0 for each in parts):
        return PreparedRows(messages=(), row_count=0)
    target = replace(write_target(store, table, request.write_id), replaces=request.replaces)
    head = table.head()
    index = None
    if schema.bucket_mode is BucketMode.HASH_DYNAMIC:
        index = DynamicBuckets.of(table, None if request.replaces else head, target)
    task = _writing(target, next_sequences(table, head), index)

    def act(spark: SparkSession) -> pa.Table:
        packed = reduce(
            DataFrame.unionAll, (_packed(spark, session, each, target) for each in parts)
        )
        # Without a number Spark makes fewer tasks of few rows.
        if index is not None:
            packed = (
                packed.repartition("partition")
                .sortWithinPartitions("partition", "position")
                .mapInArrow(_assigning(index), _PACKED_DDL)
            )
        return (
            packed.repartition("partition", "bucket", "run")
            .sortWithinPartitions("partition", "bucket", "run", "position")
            .mapInArrow(task, _WRITTEN_DDL)
            .toArrow()
        )

    written = session.run(act, description=f"write {table.identifier}", progress=progress)
    messages = _messages(written, target)
    return PreparedRows(
        messages=messages,
        row_count=row_count(messages),
        expected_head=None if index is None else identity_of(head),
    )


def identity_of(head: Snapshot | None) -> SnapshotIdentity:
    """Return the identity that a commit on exactly this head requires."""
    return NO_SNAPSHOT if head is None else head.identity


def check_store(store: FileIO) -> None:
    """Refuse a store that only this process sees; raises InvalidInput."""
    if store.scheme == "memory":
        raise InvalidInput(
            "Rows cannot be written into a store in memory: tasks are processes of their own.",
            kind=ErrorKind.UNSUPPORTED,
        )


def write_target(store: FileIO, table: FileStoreTable, write_id: str) -> WriteTarget:
    """Return everything that tasks need to write files of a table in its current state."""
    return WriteTarget(
        schema=table.schema(),
        paths=table.data_paths(),
        store=store,
        created=datetime.now(),
        write_id=write_id,
    )


def _prepared(
    rows: pa.Table | DataFrame, schema: TableSchema, request: WriteRequest
) -> pa.Table | DataFrame:
    """The rows under the names of the table's columns, of types that fit."""
    constants = {
        name: constant_for(value, schema.field(name)) for name, value in request.constants.items()
    }

    def named(given: Sequence[str]) -> list[str]:
        by_position = request.by_position
        found = given if by_position else in_spelling_of(schema, given)
        return list(names_for(found, schema, by_position=by_position, constants=constants))

    if isinstance(rows, DataFrame):
        rows = rows.toDF(*named(rows.columns))
        for name, constant in constants.items():
            rows = rows.withColumn(name, functions.lit(constant.as_py()))
        return _spelled(rows, schema)
    rows = rows.rename_columns(named(rows.column_names))
    for name, constant in constants.items():
        rows = rows.append_column(name, pa.repeat(constant, rows.num_rows))
    check_assignable(dict(zip(rows.column_names, rows.schema.types, strict=True)), schema)
    return rows


def _spelled(rows: DataFrame, schema: TableSchema) -> DataFrame:
    """The frame with numbers, dates and the like as text where a column wants text."""
    rows = _with_empty_ones_typed(rows, schema)
    types = {each.name: each.type for each in to_arrow_schema(rows.schema, timezone="UTC")}
    for each in schema.fields:
        given = types.get(each.name)
        if given is None or not pa.types.is_string(to_arrow(each.type)):
            continue
        is_kept = pa.types.is_nested(given) or given in (pa.string(), pa.binary(), pa.null())
        if not is_kept:
            rows = rows.withColumn(each.name, functions.col(quoted_name(each.name)).cast("string"))
            types[each.name] = pa.string()
    check_assignable(types, schema)
    return rows


def _with_empty_ones_typed(rows: DataFrame, schema: TableSchema) -> DataFrame:
    """The frame with what `array()` and `map()` make, which has no type, in those of the table."""
    wanted = from_arrow_schema(spark_layout(schema.fields), prefer_timestamp_ntz=True)
    for each in rows.schema.fields:
        if each.name in wanted.names and _is_empty_of_no_type(each.dataType):
            cast = functions.col(quoted_name(each.name)).cast(wanted[each.name].dataType)
            try:
                rows = rows.withColumn(each.name, cast)
            except AnalysisException as error:
                raise InvalidInput(
                    f"Column {each.name!r} is {schema.field(each.name).type} and takes no "
                    f"{each.dataType.simpleString()}. Cast the values.",
                    column=each.name,
                ) from error
    return rows


def _is_empty_of_no_type(kind: DataType) -> bool:
    match kind:
        case ArrayType():
            is_void = isinstance(kind.elementType, NullType) and not kind.containsNull
            return is_void or _is_empty_of_no_type(kind.elementType)
        case MapType():
            return isinstance(kind.keyType, NullType) or _is_empty_of_no_type(kind.valueType)
    return False


def _packed(
    spark: SparkSession, session: WarmSession, rows: pa.Table | DataFrame, target: WriteTarget
) -> DataFrame:
    """The rows packed by bucket."""
    if isinstance(rows, pa.Table):
        piece = min(max(_SMALLEST_PIECE, rows.nbytes // session.parallelism + 1), _BYTES_AT_ONCE)
        packed = pa.Table.from_batches(
            _pack(conform(rows, target.schema), target, piece), schema=_PACKED
        )
        return frame_of(spark, packed)
    # PySpark looks columns up by name here, and takes a dot for a field of a row.
    names = rows.columns
    numbered = rows.toDF(*(f"c{number}" for number in range(len(names))))
    return numbered.mapInArrow(_packing(target, names), _PACKED_DDL)


def _pack(rows: pa.Table, target: WriteTarget, piece: int) -> Iterator[pa.RecordBatch]:
    run = 0
    for partition, bucket, part in split(rows, target):
        step = max(1, part.num_rows * piece // max(1, part.nbytes))
        for start in range(0, part.num_rows, step):
            yield _packed_row(partition, bucket, run, start, to_bytes(part.slice(start, step)))
            # Only if nothing keeps rows of a bucket together may several tasks write them.
            run += not target.gathers_buckets


def _packing(
    target: WriteTarget, names: Sequence[str]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        number = context.partitionId() if context is not None else 0
        run = 0 if target.gathers_buckets else number
        position = number * _POSITIONS_PER_TASK
        try:
            for rows in _join(batches):
                named = rows.rename_columns(list(names))
                for partition, bucket, part in split(conform(named, target.schema), target):
                    yield _packed_row(partition, bucket, run, position, to_bytes(part))
                position += rows.num_rows
        except PaimonError as error:
            yield _packed_row(b"", 0, _REFUSED, 0, pickle.dumps(error))

    return pack


def _assigning(
    index: DynamicBuckets,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Give rows that come by partition the buckets that the index says."""

    def assign(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        packed = (row for batch in batches for row in batch.to_pylist())
        for partition, rows in groupby(packed, key=lambda row: row["partition"]):
            buckets = None
            for row in rows:
                if row["run"] == _REFUSED:
                    yield _packed_row(b"", 0, _REFUSED, 0, row["rows"])
                    continue
                try:
                    buckets = buckets or index.load(partition)
                    for bucket, part in index.split(from_bytes(row["rows"]), buckets):
                        yield _packed_row(
                            partition, bucket, row["run"], row["position"], to_bytes(part)
                        )
                except PaimonError as error:
                    yield _packed_row(b"", 0, _REFUSED, 0, pickle.dumps(error))

    return assign


def _join(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= _BYTES_AT_ONCE:
            yield pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)


def _packed_row(
    partition: bytes, bucket: int, run: int, position: int, rows: bytes
) -> pa.RecordBatch:
    values = (partition, bucket, run, position, rows)
    return pa.RecordBatch.from_arrays(
        [pa.array([value], field.type) for value, field in zip(values, _PACKED, strict=True)],
        schema=_PACKED,
    )


def _writing(
    target: WriteTarget, sequences: Sequences, index: DynamicBuckets | None
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        packed = (_checked(row) for batch in batches for row in batch.to_pylist())
        try:
            for (partition, bucket, _), rows in groupby(
                packed, key=lambda row: (row["partition"], row["bucket"], row["run"])
            ):
                chunks = (from_bytes(row["rows"]) for row in rows)
                keys = None if index is None else index.keys_of(partition, bucket)
                files = write_bucket(
                    target,
                    partition,
                    bucket,
                    chunks if keys is None else keys.watch(chunks),
                    next_sequence=sequences.get((partition, bucket), 0),
                    # A task that Spark runs again writes new names: no file is ever written twice.
                    file_id=target.new_file_id(),
                )
                yield _written_row(partition, bucket, files, None if keys is None else keys.write())
        except PaimonError as error:
            yield _written_row(b"", 0, None, None, pickle.dumps(error))

    return write


def _checked(row: dict[str, Any]) -> dict[str, Any]:
    if row["run"] == _REFUSED:
        raise pickle.loads(row["rows"])
    return row


def _written_row(
    partition: bytes,
    bucket: int,
    files: WrittenFiles | None,
    index: pa.Table | None,
    error: bytes | None = None,
) -> pa.RecordBatch:
    values = (
        partition,
        bucket,
        None if files is None else to_bytes(files.new_files),
        None if files is None else to_bytes(files.changelog_files),
        None if index is None else to_bytes(index),
        error,
    )
    return pa.RecordBatch.from_arrays(
        [pa.array([value], field.type) for value, field in zip(values, _WRITTEN, strict=True)],
        schema=_WRITTEN,
    )


def next_sequences(table: FileStoreTable, head: Snapshot | None) -> Sequences:
    """The first unused sequence number of each bucket that has files at a head."""
    if head is None or table.schema().bucket_mode is BucketMode.BUCKET_UNAWARE:
        return {}
    newest = (
        table.live_files(head)
        .group_by(["partition", "bucket"])
        .aggregate([("max_sequence_number", "max")])
    )
    columns = (newest[name].to_pylist() for name in newest.column_names)
    by_name = dict(zip(newest.column_names, columns, strict=True))
    return {
        (partition, bucket): highest + 1
        for partition, bucket, highest in zip(
            by_name["partition"], by_name["bucket"], by_name["max_sequence_number_max"], strict=True
        )
    }


def _messages(written: pa.Table, target: WriteTarget) -> tuple[CommitMessage, ...]:
    found: dict[tuple[bytes, int], list[dict[str, Any]]] = defaultdict(list)
    for row in written.to_pylist():
        if row["error"] is not None:
            raise pickle.loads(row["error"])
        found[row["partition"], row["bucket"]].append(row)
    return tuple(
        CommitMessage(
            partition=partition,
            bucket=bucket,
            total_buckets=target.schema.num_buckets,
            new_files=_all_files(rows, "new_files"),
            changelog_files=_all_files(rows, "changelog_files"),
            new_index_files=_all_files(rows, "index_files", INDEX_MANIFEST_ENTRY),
        )
        for (partition, bucket), rows in sorted(found.items())
    )


def _all_files(
    rows: list[dict[str, Any]], name: str, layout: pa.Schema = MANIFEST_ENTRY
) -> pa.Table:
    found = [from_bytes(row[name]) for row in rows if row[name] is not None]
    return pa.concat_tables([layout.empty_table(), *found])
