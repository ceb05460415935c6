"""Writes rows as data files in Spark tasks; nothing is visible until somebody commits the messages.

Rows travel as packed Arrow tables, one for each bucket and batch: types that Spark does not have
survive, and a shuffle moves few large values instead of many small rows.
"""

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import groupby
from typing import Any, Final, TypeAlias
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from core.commit.commit_message import CommitMessage
from core.errors import ErrorKind, InvalidInput, PaimonError
from core.format.manifest_entry import MANIFEST_ENTRY
from core.format.table_schema import BucketMode
from core.spark.data_files import (
    WriteTarget,
    WrittenFiles,
    check_writable,
    conform,
    split,
    write_bucket,
)
from core.spark.session import Progress, WarmSession
from core.spark.table_bytes import from_bytes, to_bytes
from core.storage.file_io import FileIO
from core.table.file_store_table import FileStoreTable

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
        pa.field("error", pa.binary()),
    ]
)
_WRITTEN_DDL: Final = (
    "partition binary, bucket int, new_files binary, changelog_files binary, error binary"
)
_REFUSED: Final = -1
_BYTES_AT_ONCE: Final = 64 << 20
_SMALLEST_PIECE: Final = 8 << 20
_TASKS_PER_CORE: Final = 4
_POSITIONS_PER_TASK: Final = 1 << 40


def write_rows(
    session: WarmSession,
    store: FileIO,
    table: FileStoreTable,
    rows: pa.Table | DataFrame,
    *,
    progress: Progress = lambda done, total: None,
) -> tuple[CommitMessage, ...]:
    """Write rows into an append table or one with a primary key and a fixed number of buckets.

    Of rows with one key the last wins, or what the table's merge engine says. A column
    `_VALUE_KIND` (0 insert, 1 and 2 update before and after, 3 delete) deletes rows by their key.

    Args:
        session: Where the tasks run.
        store: The store of the table's paths, with the right to write.
        table: The table on the branch to be written; sequence numbers go on from its live files.
        rows: Columns of the table by name; those left out get their default or null.
        progress: Called with tasks done and tasks known; what it raises stops the writing.

    Returns:
        A message for each bucket that got rows.

    Raises:
        InvalidInput: The rows do not fit, or the table is of a kind that cannot be written.
    """
    schema = table.schema()
    check_writable(schema)
    if store.scheme == "memory":
        raise InvalidInput(
            "Rows cannot be written into a store in memory: tasks are processes of their own.",
            kind=ErrorKind.UNSUPPORTED,
        )
    if isinstance(rows, pa.Table) and rows.num_rows == 0:
        return ()
    target = WriteTarget(
        schema=schema, paths=table.data_paths(), store=store, created=datetime.now()
    )
    task = _writing(target, _next_sequences(table, target))

    def act(spark: SparkSession) -> pa.Table:
        packed, tasks = _packed(spark, session, rows, target)
        return (
            packed.repartition(tasks, "partition", "bucket", "run")
            .sortWithinPartitions("partition", "bucket", "run", "position")
            .mapInArrow(task, _WRITTEN_DDL)
            .toArrow()
        )

    written = session.run(act, description=f"write {table.identifier}", progress=progress)
    return _messages(written, target)


def _packed(
    spark: SparkSession, session: WarmSession, rows: pa.Table | DataFrame, target: WriteTarget
) -> tuple[DataFrame, int]:
    """The rows packed by bucket, and how many tasks should write them."""
    most = _TASKS_PER_CORE * session.parallelism
    if isinstance(rows, pa.Table):
        piece = max(_SMALLEST_PIECE, rows.nbytes // session.parallelism + 1)
        packed = pa.Table.from_batches(
            _pack(conform(rows, target.schema), target, piece), schema=_PACKED
        )
        return spark.createDataFrame(packed), max(1, min(most, packed.num_rows))
    return rows.mapInArrow(_packing(target), _PACKED_DDL), most


def _pack(rows: pa.Table, target: WriteTarget, piece: int) -> Iterator[pa.RecordBatch]:
    run = 0
    for partition, bucket, part in split(rows, target):
        # Only where rows have no bucket of their own may they be written by several tasks.
        step = part.num_rows
        if not target.has_buckets:
            step = max(1, part.num_rows * piece // max(1, part.nbytes))
        for start in range(0, part.num_rows, step):
            yield _packed_row(partition, bucket, run, start, to_bytes(part.slice(start, step)))
            run += not target.has_buckets


def _packing(target: WriteTarget) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        number = context.partitionId() if context is not None else 0
        run = 0 if target.has_buckets else number
        position = number * _POSITIONS_PER_TASK
        try:
            for rows in _join(batches):
                for partition, bucket, part in split(conform(rows, target.schema), target):
                    yield _packed_row(partition, bucket, run, position, to_bytes(part))
                position += rows.num_rows
        except PaimonError as error:
            yield _packed_row(b"", 0, _REFUSED, 0, pickle.dumps(error))

    return pack


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
    target: WriteTarget, sequences: Sequences
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        packed = (_checked(row) for batch in batches for row in batch.to_pylist())
        try:
            for (partition, bucket, _), rows in groupby(
                packed, key=lambda row: (row["partition"], row["bucket"], row["run"])
            ):
                files = write_bucket(
                    target,
                    partition,
                    bucket,
                    (from_bytes(row["rows"]) for row in rows),
                    next_sequence=sequences.get((partition, bucket), 0),
                    # A task that Spark runs again writes new names: no file is ever written twice.
                    file_id=str(uuid4()),
                )
                yield _written_row(partition, bucket, files)
        except PaimonError as error:
            yield _written_row(b"", 0, None, pickle.dumps(error))

    return write


def _checked(row: dict[str, Any]) -> dict[str, Any]:
    if row["run"] == _REFUSED:
        raise pickle.loads(row["rows"])
    return row


def _written_row(
    partition: bytes, bucket: int, files: WrittenFiles | None, error: bytes | None = None
) -> pa.RecordBatch:
    values = (
        partition,
        bucket,
        None if files is None else to_bytes(files.new_files),
        None if files is None else to_bytes(files.changelog_files),
        error,
    )
    return pa.RecordBatch.from_arrays(
        [pa.array([value], field.type) for value, field in zip(values, _WRITTEN, strict=True)],
        schema=_WRITTEN,
    )


def _next_sequences(table: FileStoreTable, target: WriteTarget) -> Sequences:
    """The first unused sequence number of each bucket that has files."""
    head = table.head()
    if head is None or target.schema.bucket_mode is BucketMode.BUCKET_UNAWARE:
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
        )
        for (partition, bucket), rows in sorted(found.items())
    )


def _all_files(rows: list[dict[str, Any]], name: str) -> pa.Table:
    return pa.concat_tables([MANIFEST_ENTRY.empty_table(), *(from_bytes(r[name]) for r in rows)])
