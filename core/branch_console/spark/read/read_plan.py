"""The files of a state to read, and the groups to read together; chosen from metadata alone.

Files of a bucket whose key ranges overlap, directly or through others, are merged in one task; all
others may be read alone. Source: Paimon MergeTreeSplitGenerator, IntervalPartition,
AppendOnlySplitGenerator, DataTableBatchScan.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.expr.predicate import Condition
from branch_console.format.data_types import DataType
from branch_console.format.index_manifest import NO_INDEX_FILES, deletion_vector_entries
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import BucketMode, TableSchema
from branch_console.format.values.binary_row import decode_row
from branch_console.format.values.deletion_vector import DeletionVectorRange
from branch_console.format.values.key_order import key_rank
from branch_console.spark.files.data_reader import DataFile, DeletedRows, check_formats
from branch_console.spark.kernels.merge_on_read import PICKING
from branch_console.spark.read.file_pruning import may_hold_rows, prune_files
from branch_console.storage.file_io import FileIO
from branch_console.table.data_file_paths import data_file_paths, index_file_paths
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.missing_schemas import check_schemas
from branch_console.table.table_state import ReadState

_BYTES_PER_TASK: Final = 64 << 20
_LEAST_TASKS: Final = 8
# Opening a file takes as long as reading some of it: `source.split.open-file-cost`.
_BYTES_TO_OPEN: Final = 4 << 20
_READ: Final = [
    *("partition", "bucket", "total_buckets", "file_name", "file_size", "schema_id"),
    *("min_key", "max_key", "external_path", "first_row_id", "max_sequence_number"),
]


class HasCost(Protocol):
    """Something that a task reads."""

    @property
    def cost(self) -> int:
        """Bytes to read, with what opening files takes."""


Part = TypeVar("Part", bound=HasCost)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadUnit:
    """Files that are read together; `is_merged` where they share keys.

    Attributes:
        before: Files of an earlier state, with the same keys: a row that is as it was there is left
            out.
    """

    files: tuple[DataFile, ...]
    is_merged: bool
    before: tuple[DataFile, ...] = ()

    @property
    def cost(self) -> int:
        """Bytes of all files, with what opening them takes."""
        return sum(max(file.size, _BYTES_TO_OPEN) for file in (*self.files, *self.before))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """The files that a read opens.

    Attributes:
        units: In no order.
        live_files: The number of files that readers of the whole state would open.
    """

    units: tuple[ReadUnit, ...]
    live_files: int = 0

    @property
    def read_files(self) -> int:
        """How many files are opened."""
        return sum(len(unit.files) for unit in self.units)

    def tasks(self) -> tuple[tuple[ReadUnit, ...], ...]:
        """The units in groups, each worth a task."""
        return in_tasks(self.units)


def in_tasks(parts: Iterable[Part]) -> tuple[tuple[Part, ...], ...]:
    """Group what is read so that tasks are neither tiny nor, where there is much, few."""
    largest_first = sorted(parts, key=lambda part: -part.cost)
    share = sum(part.cost for part in largest_first) // _LEAST_TASKS
    limit = max(_BYTES_TO_OPEN, min(_BYTES_PER_TASK, share))
    tasks: list[list[Part]] = []
    room = 0
    for part in largest_first:
        if part.cost > room:
            tasks.append([])
            room = limit
        tasks[-1].append(part)
        room -= part.cost
    return tuple(tuple(task) for task in tasks)


def plan_read(
    store: FileIO,
    state: ReadState,
    schemas: Mapping[int, TableSchema],
    condition: Condition | None = None,
    *,
    partitions: frozenset[bytes] | None = None,
) -> ReadPlan:
    """Decide which live files are read, and which of them together.

    Args:
        store: The store of the table.
        state: The state that is read.
        schemas: All schemas of the branch, by id.
        condition: Files in which it holds for no row are left out; the reader applies it to rows.
        partitions: The wanted partitions, as encoded BinaryRows; None for all.

    Raises:
        FormatError: Metadata is missing or broken.
        InvalidInput: A file is of a format, or lies in a store, that is not served.
        NotFound: The branch has not the schema that a file was written with.
    """
    table, snapshot = state.table, state.snapshot
    if snapshot is None:
        return ReadPlan(units=())
    files = table.live_files(snapshot, partitions=partitions)
    marks = table.index_entries(snapshot)
    return plan_files(store, table, files, marks, state.schema, schemas, condition)


def plan_files(
    store: FileIO,
    table: FileStoreTable,
    files: pa.Table,
    marks: pa.Table,
    schema: TableSchema,
    schemas: Mapping[int, TableSchema],
    condition: Condition | None = None,
) -> ReadPlan:
    """Decide which of some live files are read, and which of them together.

    Args:
        store: The store of the table.
        table: The table on a branch.
        files: All live files, with the columns of MANIFEST_ENTRY.
        marks: All index files, with the columns of INDEX_MANIFEST_ENTRY.
        schema: The schema to read with.
        schemas: All schemas that the files were written with, by id.
        condition: As for `plan_read`.

    Raises:
        FormatError: Metadata is broken.
        InvalidInput: As for `plan_read`.
        NotFound: The branch has not the schema that a file was written with.
    """
    files = _seen_by_readers(files, schema)
    check_schemas(table, files, schemas.keys())
    live = files.num_rows
    if condition is not None:
        files = prune_files(files, condition, schema)
    may_hold = (
        np.ones(files.num_rows, dtype=bool)
        if condition is None
        else may_hold_rows(files, condition, schema, schemas)
    )
    merges = bool(schema.primary_keys) and not schema.skips_level_0
    if not merges:
        files, may_hold = files.filter(pa.array(may_hold)), may_hold[may_hold]
    placed = [
        file if is_wanted else replace(file, may_hold=False)
        for file, is_wanted in zip(place_marked(store, table, files, marks), may_hold, strict=True)
    ]
    picks = schema.merge_engine in PICKING
    units: list[ReadUnit] = []
    if not merges:
        units += (ReadUnit(files=(file.data,), is_merged=False) for file in placed)
    for bucket in by_bucket(placed) if merges else ():
        for section in sections(bucket, schema):
            is_merged = len(section) > 1
            # What a merge makes of rows may be in none of them, so that none tells of it.
            if any(file.may_hold for file in section) or (is_merged and not picks):
                found = tuple(file.data for file in section)
                units.append(ReadUnit(files=found, is_merged=is_merged))
    return ReadPlan(units=tuple(units), live_files=live)


def visible_files(table: FileStoreTable, snapshot: Snapshot, schema: TableSchema) -> pa.Table:
    """The live files that batch readers look at, with the columns of MANIFEST_ENTRY."""
    return _seen_by_readers(table.live_files(snapshot), schema)


def _seen_by_readers(files: pa.Table, schema: TableSchema) -> pa.Table:
    if schema.primary_keys and schema.skips_level_0:
        files = files.filter(pc.greater(files["level"], 0))
    if schema.bucket_mode is BucketMode.POSTPONE_MODE:
        # Until compaction gives them a bucket, such rows are not there for batch readers.
        files = files.filter(pc.greater_equal(files["bucket"], 0))
    return files


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedFile:
    """A live file where it lies.

    Attributes:
        partition: BinaryRow bytes.
        total_buckets: How many buckets the partition had when the file was written.
        min_key, max_key: BinaryRow bytes of the trimmed primary key.
        may_hold: Whether a row may be wanted, as the file has it.
    """

    data: DataFile
    partition: bytes
    bucket: int
    total_buckets: int
    min_key: bytes
    max_key: bytes
    may_hold: bool = True


def place_files(
    store: FileIO, table: FileStoreTable, snapshot: Snapshot | None, files: pa.Table
) -> list[PlacedFile]:
    """Find where files and their deletion vectors lie, of one state.

    Args:
        store: The store of the table.
        table: The table on a branch.
        snapshot: The state whose deletion vectors count; None for rows as they were written.
        files: Columns of MANIFEST_ENTRY.

    Raises:
        InvalidInput: A file is of a format, or lies in a store, that is not served.
    """
    marks = NO_INDEX_FILES if snapshot is None else table.index_entries(snapshot)
    return place_marked(store, table, files, marks)


def place_marked(
    store: FileIO, table: FileStoreTable, files: pa.Table, marks: pa.Table
) -> list[PlacedFile]:
    """Find where files and their deletion vectors lie.

    Args:
        store: The store of the table.
        table: The table on a branch.
        files: Columns of MANIFEST_ENTRY.
        marks: Index files with the vectors that count, as INDEX_MANIFEST_ENTRY.

    Raises:
        InvalidInput: A file is of a format, or lies in a store, that is not served.
    """
    vectors = _deletion_vectors(store, table, marks)
    paths = data_file_paths(table, files).to_pylist()
    check_formats(paths)
    return [
        PlacedFile(
            data=DataFile(
                path=path,
                size=row["file_size"],
                schema_id=row["schema_id"],
                deleted=vectors.get((row["partition"], row["bucket"], row["file_name"])),
                first_row_id=row["first_row_id"],
                sequence_number=row["max_sequence_number"],
            ),
            partition=row["partition"],
            bucket=row["bucket"],
            total_buckets=row["total_buckets"],
            min_key=row["min_key"],
            max_key=row["max_key"],
        )
        for row, path in zip(files.select(_READ).to_pylist(), paths, strict=True)
    ]


def by_bucket(files: Iterable[PlacedFile]) -> Iterator[list[PlacedFile]]:
    """The files of each bucket, in their order."""
    buckets: dict[tuple[bytes, int], list[PlacedFile]] = {}
    for file in files:
        buckets.setdefault((file.partition, file.bucket), []).append(file)
    yield from buckets.values()


def sections(files: Iterable[PlacedFile], schema: TableSchema) -> Iterator[list[PlacedFile]]:
    """Files of one bucket whose key ranges overlap, directly or through others, in key order."""
    types = schema.key_type.types
    ranged = sorted(
        ((_sortable(file.min_key, types), _sortable(file.max_key, types), file) for file in files),
        key=lambda each: each[0],
    )
    section: list[PlacedFile] = []
    end: tuple[Any, ...] | None = None
    for low, high, file in ranged:
        if end is not None and low > end:
            yield section
            section, end = [], None
        section.append(file)
        end = high if end is None else max(end, high)
    if section:
        yield section


def _sortable(key: bytes, types: Sequence[DataType]) -> tuple[Any, ...]:
    return key_rank(decode_row(key, types))


def _deletion_vectors(
    store: FileIO, table: FileStoreTable, marks: pa.Table
) -> dict[tuple[bytes, int, str], DeletedRows]:
    files = deletion_vector_entries(marks)
    return {
        (entry["partition"], entry["bucket"], part["data_file"]): DeletedRows(
            index_path=path, range=DeletionVectorRange(**part)
        )
        for entry, path in zip(files.to_pylist(), index_file_paths(table, files), strict=True)
        for part in entry["dv_ranges"] or ()
    }
