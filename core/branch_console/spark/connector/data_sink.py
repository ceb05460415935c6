"""The writing half of `paimon-branch`: `df.write.format("paimon-branch")`, appending or replacing.

Every task writes the rows that it has, wherever they belong, and one commit names all files.
"""

import os
import pickle
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.this_process import this_process
from branch_console.commit.journal import Journal
from branch_console.commit.rows.row_commit import RowCommit
from branch_console.commit.rows.row_write import RowWrite
from branch_console.diff.lineage import ROW_OPERATION
from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.kept_elsewhere import (
    WITHOUT_CALLBACKS_OPTION,
    WITHOUT_CALLBACKS_PROPERTY,
    Act,
    kept_elsewhere,
)
from branch_console.format.scan_options import READ_OPTIONS, WRITE_OPTIONS
from branch_console.format.table_schema import BucketMode, TableSchema
from branch_console.spark.connector.notebook_errors import sentence_first
from branch_console.spark.files.conform import check_assignable, conform, names_for, unsupported
from branch_console.spark.files.data_files import WriteTarget, check_writable, split, write_bucket
from branch_console.spark.write.writers import Sequences, check_store, next_sequences, write_target
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable

_READ_OPTIONS: Final = (
    *("snapshot", "tag", "timestamp", "changes", "columns", "filter", "pushdown"),
    *(option for option in READ_OPTIONS if option not in WRITE_OPTIONS),
)
_BYTES_AT_ONCE: Final = 256 << 20
# Rows of one key that two tasks write are told apart by their tasks.
_SEQUENCES_PER_TASK: Final = 1 << 32
_ACTOR: Final = "spark"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenMessages(WriterCommitMessage):
    """The messages that one task wrote, pickled."""

    packed: bytes


class BranchWriter(DataSourceArrowWriter):
    """Writes the rows of one job; tasks get it as it was made on the driver."""

    def __init__(
        self,
        store: FileIO,
        table: FileStoreTable,
        options: Mapping[str, str],
        schema: StructType,
        *,
        overwrite: bool,
    ) -> None:
        """Look whether the rows fit, and write the journal entry before the first file.

        Args:
            store: The store of the table.
            table: The table on the branch to be written.
            options: The options of the write.
            schema: The columns of the rows, found by name.
            overwrite: Whether the partitions that get rows lose what they hold; of a table
                without partitions all goes.

        Raises:
            InvalidInput: The rows do not fit, or the table is of a kind that is not written.
            NotAllowed: The table has a feature whose commits are not made here.
        """
        table = table.with_one_schema()
        _check(store, table.schema(), options, schema)
        self._store = store
        self._path = table.paths.table
        self._identifier = table.identifier
        self._overwrite = overwrite
        self._properties = _properties(table, options, overwrite=overwrite)
        self._operation_id = str(uuid4())
        write = RowWrite.begin(
            table,
            CommitStore.of(store),
            operation_id=self._operation_id,
            actor=_ACTOR,
            statement=f"write to {table.identifier}",
            clock=_now_millis,
            # This very process ends with the call; what started it lives as long as the driver.
            process=replace(this_process(), process=os.getppid()),
            without_callbacks=WITHOUT_CALLBACKS_PROPERTY in self._properties,
        )
        self._target = replace(write_target(store, table, write.write_id), replaces=overwrite)
        self._sequences = next_sequences(table, table.head())

    @sentence_first()
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenMessages:
        """Write the rows of one task."""
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        messages = tuple(
            write_batches(
                self._target,
                self._sequences,
                iterator,
                first_sequence=number * _SEQUENCES_PER_TASK,
            )
        )
        return WrittenMessages(packed=pickle.dumps(messages))

    @sentence_first()
    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Make the snapshot; raises CommitConflict if it cannot stand."""
        found: list[CommitMessage] = []
        for each in messages:
            if isinstance(each, WrittenMessages):
                found += pickle.loads(each.packed)
        write = self._write()
        with write.guarded():
            if found or self._overwrite:
                # Whether Spark ran tasks again is not told here.
                write.publish(
                    RowCommit(
                        messages=tuple(found),
                        overwrites=self._overwrite,
                        has_strays=True,
                        properties=self._properties,
                    )
                )
        write.finish()

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Remove the files that the tasks wrote, also of tasks without a message."""
        self._write().discard()

    def _write(self) -> RowWrite:
        table = FileStoreTable.open(self._store, self._path, self._identifier)
        store = CommitStore.of(self._store)
        intent = Journal(store, table.paths).find(self._operation_id)
        if intent is None:
            raise InvalidInput(
                f"Recovery discarded the write to {self._identifier}. Write again.",
                kind=ErrorKind.INTERRUPTED,
            )
        return RowWrite(table, store, intent, _now_millis)


def write_batches(
    target: WriteTarget,
    sequences: Sequences,
    batches: Iterable[pa.RecordBatch],
    *,
    first_sequence: int,
) -> Iterator[CommitMessage]:
    """Write rows as they come, those of a bucket together as far as memory allows.

    Args:
        target: The table.
        sequences: The first unused sequence number by partition and bucket.
        batches: Columns of the table by name.
        first_sequence: What the task adds to these.
    """
    schema = target.schema
    counts: dict[tuple[bytes, int], int] = defaultdict(int)
    for rows in _join(batches):
        for partition, bucket, part in split(conform(rows, schema), target):
            place = (partition, bucket)
            files = write_bucket(
                target,
                partition,
                bucket,
                [part],
                # Without buckets no order is kept, and each writer counts from 0.
                next_sequence=(
                    sequences.get(place, 0) + first_sequence + counts[place]
                    if target.gathers_buckets
                    else 0
                ),
                file_id=target.new_file_id(),
            )
            counts[place] += part.num_rows
            yield CommitMessage(
                partition=partition,
                bucket=bucket,
                total_buckets=schema.num_buckets,
                new_files=files.new_files,
                changelog_files=files.changelog_files,
            )


def _join(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(each.nbytes for each in held) >= _BYTES_AT_ONCE:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def _check(
    store: FileIO, schema: TableSchema, options: Mapping[str, str], given: StructType
) -> None:
    check_store(store)
    misplaced = sorted(name for name in options if name.lower() in _READ_OPTIONS)
    if misplaced:
        raise InvalidInput(
            f"Option {misplaced[0]!r} is for reading. Leave it out to write.",
            kind=ErrorKind.INVALID_OPTION,
            option=misplaced[0],
        )
    if schema.bucket_mode is BucketMode.HASH_DYNAMIC:
        raise unsupported(
            "Tasks of this format cannot share the index of dynamic buckets. Write the rows with "
            "INSERT, or set the option 'bucket' to a number when you make such a table."
        )
    check_writable(schema)
    if schema.primary_keys and schema.skips_level_0:
        raise unsupported(
            "Readers of this table see rows only once they are compacted. Write them with INSERT."
        )
    types = {each.name: each.type for each in to_arrow_schema(given, timezone="UTC")}
    names_for(list(types), schema)
    check_assignable(types, schema)


def _properties(
    table: FileStoreTable, options: Mapping[str, str], *, overwrite: bool
) -> dict[str, str]:
    """The properties of the snapshot: what was done, and why others are not told of it."""
    found = {ROW_OPERATION: "OVERWRITE"} if overwrite else {}
    given = {name.lower(): value.strip() for name, value in options.items()}
    reason = given.get(WITHOUT_CALLBACKS_OPTION)
    if reason and kept_elsewhere(table.schema().options, table.branch, Act.COMMIT):
        found[WITHOUT_CALLBACKS_PROPERTY] = reason
    return found


def _now_millis() -> int:
    return time.time_ns() // 1_000_000
