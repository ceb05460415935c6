"""Rows of append tables by file and position, and files that lose some of their rows.

Each file is a unit of its own: it is read once to look for rows, and once more to be written
without them, or to be marked by a deletion vector.
"""

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.rows.row_commit import PreparedRows
from branch_console.errors import PaimonError
from branch_console.expr.predicate import Condition
from branch_console.format import options as table_options
from branch_console.format.manifest_entry import MANIFEST_ENTRY
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import BucketMode
from branch_console.spark.files.conform import unsupported
from branch_console.spark.files.data_files import WriteTarget, write_bucket
from branch_console.spark.files.data_reader import (
    DataFile,
    DeletedRows,
    deleted_positions,
    kept_rows,
    read_data_file,
)
from branch_console.spark.files.deletion_vectors import Positions, mark_rows
from branch_console.spark.read.file_pruning import may_hold_rows, prune_files
from branch_console.spark.read.read_plan import place_files
from branch_console.spark.read.readers import spark_layout, spark_rows
from branch_console.spark.session.arrow_bytes import from_bytes, to_bytes
from branch_console.spark.session.arrow_frames import frame_of, own_name
from branch_console.spark.session.session import Progress, WarmSession
from branch_console.spark.session.task_errors import with_kinds
from branch_console.spark.write.writers import identity_of, write_target
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable

FILE: Final = own_name("file")
POSITION: Final = own_name("position")
"""With FILE the place of a row: the number of its file, and its position, deleted rows counted."""

_UNIT: Final = pa.schema([pa.field("unit", pa.binary(), False)])
_FOUND: Final = pa.schema(
    [
        pa.field("file", pa.int32()),
        pa.field("positions", pa.binary()),
        pa.field("new_files", pa.binary()),
        pa.field("error", pa.binary()),
    ]
)
_FOUND_DDL: Final = "file int, positions binary, new_files binary, error binary"
_ROWS_AT_ONCE: Final = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class FileUnit:
    """A live file of an append table; `entry` are its columns of MANIFEST_ENTRY."""

    number: int
    data: DataFile
    deleted: DeletedRows | None
    entry: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFiles:
    """Live files of an append table at a head: all that may hold what is looked for."""

    head: Snapshot | None
    units: tuple[FileUnit, ...]


def plan_files(
    store: FileIO, table: FileStoreTable, head: Snapshot | None, condition: Condition | None = None
) -> PlannedFiles:
    """Number the live files of an append table that may hold rows of a condition.

    Raises:
        FormatError: A manifest is missing or broken.
        InvalidInput: A file is of a format, or lies in a store, that is not served.
    """
    if head is None:
        return PlannedFiles(head=None, units=())
    files = table.live_files(head)
    if condition is not None:
        schema, schemas = table.schema(), {each.id: each for each in table.schemas.all()}
        files = prune_files(files, condition, schema)
        files = files.filter(pa.array(may_hold_rows(files, condition, schema, schemas)))
    placed = place_files(store, table, head, files)
    units = tuple(
        FileUnit(
            number=number,
            # Positions count rows as the file has them.
            data=replace(file.data, deleted=None),
            deleted=file.data.deleted,
            entry=entry,
        )
        for number, (file, entry) in enumerate(zip(placed, files.to_pylist(), strict=True))
    )
    return PlannedFiles(head=head, units=units)


def numbered_rows(
    spark: SparkSession, store: FileIO, table: FileStoreTable, files: PlannedFiles
) -> DataFrame:
    """The rows of an append table with FILE and POSITION in front of its columns."""
    schema = table.schema()
    schemas = {each.id: each for each in table.schemas.all()}
    layout = spark_layout(schema.fields)
    numbers = [pa.field(FILE, pa.int32(), False), pa.field(POSITION, pa.int64(), False)]
    whole = pa.schema([*numbers, *layout])
    packed = [pickle.dumps(unit) for unit in sorted(files.units, key=lambda u: -u.data.size)]
    frame = frame_of(spark, pa.table([pa.array(packed, pa.binary())], schema=_UNIT))

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for each in batch["unit"].to_pylist():
                unit: FileUnit = pickle.loads(each)
                rows = read_data_file(store, unit.data, schemas, schema.fields, with_system=False)
                count = rows.num_rows
                arrays = [
                    pa.array(np.full(count, unit.number, np.int32)),
                    pa.array(np.arange(count, dtype=np.int64)),
                    *spark_rows(rows, layout).columns,
                ]
                found = pa.Table.from_arrays(arrays, schema=whole)
                if unit.deleted is not None:
                    gone = deleted_positions(store, unit.data, unit.deleted)
                    found = found.filter(kept_rows(gone, 0, count))
                yield from found.to_batches(max_chunksize=_ROWS_AT_ONCE)

    return frame.repartition(max(1, len(packed))).mapInArrow(
        lambda batches: with_kinds(read(batches)),
        from_arrow_schema(whole, prefer_timestamp_ntz=True),
    )


def delete_positions(
    session: WarmSession,
    store: FileIO,
    table: FileStoreTable,
    files: PlannedFiles,
    rows: DataFrame,
    *,
    write_id: str,
    progress: Progress,
) -> PreparedRows:
    """Write files without some of their rows, or what marks these rows deleted.

    Args:
        session: The Spark session for the tasks.
        store: The store of the table's paths.
        table: The table on the branch to be written.
        files: The files that the rows were read from.
        rows: Columns FILE and POSITION; others are left alone.
        write_id: The id that the names of all files contain.
        progress: Called with tasks done and tasks known.

    Raises:
        InvalidInput: The rows' ids would be lost, or vectors stand if none are to be.
    """
    schema = table.schema()
    marks = schema.options.read(table_options.DELETION_VECTORS_ENABLED)
    if not marks:
        if schema.options.read(table_options.ROW_TRACKING_ENABLED):
            raise unsupported(
                "Files of a table with 'row-tracking.enabled' are not written anew here: their "
                "rows would lose their ids. Set 'deletion-vectors.enabled' to delete rows."
            )
        if any(unit.deleted is not None for unit in files.units):
            raise unsupported(
                "The table has deletion vectors, and 'deletion-vectors.enabled' is not set. Set it "
                "to change rows."
            )
    if not files.units:
        return PreparedRows(messages=(), row_count=0)
    target = write_target(store, table, write_id)
    units = {unit.number: unit for unit in files.units}
    task = _marking() if marks else _rewriting(target, table, units)

    def act(_: SparkSession) -> pa.Table:
        return (
            rows.select(FILE, POSITION)
            .repartition(FILE)
            .sortWithinPartitions(FILE)
            .mapInArrow(task, _FOUND_DDL)
            .toArrow()
        )

    found = session.run(act, description=f"change {table.identifier}", progress=progress)
    results = found.to_pylist()
    for row in results:
        if row["error"] is not None:
            raise pickle.loads(row["error"])
    positions = {row["file"]: np.frombuffer(row["positions"], np.int64) for row in results}
    count = sum(len(each) for each in positions.values())
    if not marks:
        return PreparedRows(messages=_rewritten(units, results), row_count=count)
    assert files.head is not None
    names: dict[tuple[bytes, int], dict[str, Positions]] = {
        (units[number].entry["partition"], units[number].entry["bucket"]): {}
        for number in positions
    }
    for number, gone in positions.items():
        entry = units[number].entry
        names[entry["partition"], entry["bucket"]][entry["file_name"]] = gone
    return PreparedRows(
        messages=mark_rows(table, files.head, target, names),
        row_count=count,
        # A bucket's vectors are one file that is replaced whole: a second writer would undo it.
        expected_head=(
            None if schema.bucket_mode is BucketMode.BUCKET_UNAWARE else identity_of(files.head)
        ),
    )


def _by_file(
    batches: Iterable[pa.RecordBatch],
) -> Iterator[tuple[int, Positions]]:
    """The positions of each file; rows come sorted by file."""
    held: dict[int, list[Positions]] = defaultdict(list)
    for batch in batches:
        numbers, positions = batch.column(0).to_numpy(), batch.column(1).to_numpy()
        for number in np.unique(numbers):
            if held and int(number) not in held:
                for done, parts in held.items():
                    yield done, np.sort(np.concatenate(parts))
                held.clear()
            held[int(number)].append(positions[numbers == number])
    for done, parts in held.items():
        yield done, np.sort(np.concatenate(parts))


def _marking() -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def mark(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, positions in _by_file(batches):
            yield _found_row(number, positions, None)

    return mark


def _rewriting(
    target: WriteTarget, table: FileStoreTable, units: dict[int, FileUnit]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    schemas = {each.id: each for each in table.schemas.all()}

    def rewrite(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, positions in _by_file(batches):
            unit = units[number]
            try:
                fields = target.schema.fields
                rows = read_data_file(target.store, unit.data, schemas, fields, with_system=False)
                keep = np.ones(rows.num_rows, dtype=bool)
                keep[positions] = False
                written = MANIFEST_ENTRY.empty_table()
                if keep.any():
                    written = write_bucket(
                        target,
                        unit.entry["partition"],
                        unit.entry["bucket"],
                        [rows.filter(pa.array(keep))],
                        # What stays keeps its place among the files of the bucket.
                        next_sequence=unit.entry["min_sequence_number"],
                        file_id=target.new_file_id(),
                    ).new_files
                yield _found_row(number, positions, written)
            except PaimonError as error:
                yield _found_row(number, positions, None, pickle.dumps(error))

    return rewrite


def _found_row(
    number: int, positions: Positions, new_files: pa.Table | None, error: bytes | None = None
) -> pa.RecordBatch:
    files = None if new_files is None else to_bytes(new_files)
    values = (number, positions.astype(np.int64).tobytes(), files, error)
    return pa.RecordBatch.from_arrays(
        [pa.array([value], field.type) for value, field in zip(values, _FOUND, strict=True)],
        schema=_FOUND,
    )


def _rewritten(
    units: dict[int, FileUnit], results: Sequence[dict[str, Any]]
) -> tuple[CommitMessage, ...]:
    messages = []
    for row in results:
        entry = units[row["file"]].entry
        messages.append(
            CommitMessage(
                partition=entry["partition"],
                bucket=entry["bucket"],
                total_buckets=entry["total_buckets"],
                new_files=from_bytes(row["new_files"]),
                deleted_files=pa.Table.from_pylist([entry], schema=MANIFEST_ENTRY),
            )
        )
    return tuple(messages)
