"""Rows of two states compared in tasks: only files that one side has, and what they overlap.

With a primary key a task reads the files of both sides whose key ranges overlap, merges each side
as readers do, and matches rows by key. Without one, rows of files that only one side has are
counted: a shuffle brings equal rows together, and those that stand equally often on both sides drop
out.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from branch_console.diff.rows.row_diff import (
    ComparedColumn,
    RowDiffWork,
    arrow_columns,
    counted_rows,
    diff_counted,
    diff_keyed,
)
from branch_console.diff.state_diff import ComparedState
from branch_console.errors import PaimonError
from branch_console.format.data_types import DataField, RowType
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.arrow_types import to_arrow
from branch_console.format.values.binary_rows import decode_rows
from branch_console.spark.compare.compare_units import CompareUnit, plan_units
from branch_console.spark.files.data_reader import DataFile, evolve, read_data_file
from branch_console.spark.kernels.merge_on_read import live_rows, merge_rows
from branch_console.spark.read.readers import check_alone, check_readable
from branch_console.spark.session.arrow_bytes import from_bytes, to_bytes
from branch_console.spark.session.session import Progress, WarmSession
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable

_UNIT: Final = pa.schema([pa.field("unit", pa.binary(), False)])
_FOUND: Final = pa.schema(
    [
        pa.field("number", pa.int32()),
        pa.field("rows", pa.binary()),
        pa.field("error", pa.binary()),
    ]
)
_FOUND_DDL: Final = "number int, rows binary, error binary"
_COUNTED: Final = pa.schema(
    [
        pa.field("row", pa.binary()),
        pa.field("before", pa.int64()),
        pa.field("after", pa.int64()),
        pa.field("error", pa.binary()),
    ]
)
_COUNTED_DDL: Final = "row binary, before bigint, after bigint, error binary"
_BATCH_ROWS: Final = 65_536
_BYTES_PER_PART: Final = 64 << 20
_MOST_PARTS: Final = 200
_MOST_TASKS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSide:
    """One state as tasks read it.

    Attributes:
        schema: The schema to read with.
        schemas: All schemas of its branch by id; files name the one that they were written with.
    """

    schema: TableSchema
    schemas: Mapping[int, TableSchema]


def compare_rows(
    session: WarmSession,
    store: FileIO,
    table: FileStoreTable,
    work: RowDiffWork,
    keep: Callable[[Iterator[pa.Table]], None],
    *,
    progress: Progress = lambda done, total: None,
) -> None:
    """Find the rows in which two states differ.

    Args:
        session: The Spark session for the tasks.
        store: The store of the table.
        table: The table on any branch.
        work: The comparison to make.
        keep: Takes what is found, table by table, with the columns of `work.layout`.
        progress: Called with tasks done and tasks known; what it raises stops the run.

    Raises:
        FormatError: A file is missing or cannot be read.
        InvalidInput: The table is of a kind whose rows cannot be read here.
    """
    task, units = task_of(store, table, work), plan_units(store, table, work)
    if not units:
        keep(iter(()))
        return
    packed = pa.table([pa.array([pickle.dumps(each) for each in units], pa.binary())], schema=_UNIT)

    def act(spark: SparkSession) -> None:
        frame = spark.createDataFrame(packed).repartition(min(len(units), _MOST_TASKS))
        found = _keyed(frame, task, units) if work.keys else _counted(frame, task, units)
        keep(_tables(found))

    description = f"compare rows of {table.identifier.table_name}"
    session.run(act, description=description, progress=progress)


def task_of(store: FileIO, table: FileStoreTable, work: RowDiffWork) -> "CompareTask":
    """Say what every task of a comparison knows.

    Raises:
        InvalidInput: The table is of a kind whose rows cannot be read here.
    """
    before, after = (_side(table, state) for state in (work.before, work.after))
    for state, side in zip((work.before, work.after), (before, after), strict=True):
        check_alone(table.on(state.branch))
        check_readable(side.schema)
    return CompareTask(store=store, work=work, before=before, after=after)


def _side(table: FileStoreTable, state: ComparedState) -> ComparedSide:
    schemas = table.on(state.branch).schemas.all()
    return ComparedSide(schema=state.schema, schemas={schema.id: schema for schema in schemas})


def _keyed(frame: DataFrame, task: "CompareTask", units: Sequence[CompareUnit]) -> DataFrame:
    parts = min(len(units), _MOST_PARTS)
    # Behind a shuffle the tasks run at once, though what they found is fetched part by part.
    return frame.mapInArrow(_comparing(task), _FOUND_DDL).repartition(parts, "number")


def _counted(frame: DataFrame, task: "CompareTask", units: Sequence[CompareUnit]) -> DataFrame:
    size = sum(unit.size for unit in units)
    parts = max(1, min(_MOST_PARTS, size // _BYTES_PER_PART + 1))
    counts = frame.mapInArrow(_counting(task), _COUNTED_DDL).repartition(parts, "row")
    return counts.mapInArrow(_summing(task), _FOUND_DDL)


def _tables(found: DataFrame) -> Iterator[pa.Table]:
    """Yield the result in parts: the driver never has all of it in memory."""
    for row in found.toLocalIterator(prefetchPartitions=True):
        if row["error"] is not None:
            raise pickle.loads(row["error"])
        yield from_bytes(row["rows"])


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareTask:
    """The store, the work and the sides that a task of a comparison needs; sent to each task."""

    store: FileIO
    work: RowDiffWork
    before: ComparedSide
    after: ComparedSide

    def compare(self, unit: CompareUnit) -> pa.Table:
        """Compare the rows of one unit by key; columns of `work.layout`."""
        before, after = self.sides(unit)
        return diff_keyed(before, after, self.work)

    def count(self, unit: CompareUnit) -> Iterator[pa.RecordBatch]:
        """Count how often each row of a unit stands on each side, as batches of _COUNTED."""
        types = [column.type for column in self.work.columns]
        for rows, is_after in zip(self.sides(unit), (False, True), strict=True):
            for start in range(0, rows.num_rows, _BATCH_ROWS):
                keys = counted_rows(rows.slice(start, _BATCH_ROWS), types)
                found = pc.value_counts(keys)
                counts = found.field("counts").cast(pa.int64())
                none = pa.array([0] * len(counts), pa.int64())
                sides = (none, counts) if is_after else (counts, none)
                errors = pa.nulls(len(counts), pa.binary())
                yield pa.RecordBatch.from_arrays(
                    [found.field("values"), *sides, errors], schema=_COUNTED
                )

    def summed(self, counted: pa.Table) -> Iterator[pa.Table]:
        """Rows that stand more often on one side, as columns of `work.layout`.

        Args:
            counted: Columns of _COUNTED; all counts of a row are among them.
        """
        sums = counted.group_by("row", use_threads=False).aggregate(
            [("before", "sum"), ("after", "sum")]
        )
        found = sums.filter(pc.not_equal(sums["before_sum"], sums["after_sum"])).combine_chunks()
        fields = [
            DataField(id=at, name=each.name, type=each.type)
            for at, each in enumerate(self.work.columns)
        ]
        row_type = RowType(fields=tuple(fields), nullable=False)
        for start in range(0, found.num_rows, _BATCH_ROWS):
            part = found.slice(start, _BATCH_ROWS).combine_chunks()
            cells = decode_rows(part["row"].combine_chunks(), row_type).flatten()
            rows = pa.table(cells, schema=arrow_columns(self.work.columns))
            before, after = (part[f"{side}_sum"].combine_chunks() for side in ("before", "after"))
            yield diff_counted(rows, before, after, self.work)

    def sides(self, unit: CompareUnit) -> tuple[pa.Table, pa.Table]:
        """The rows of both sides, in the columns of `arrow_columns`."""
        before = self._rows(unit.before, self.before, [each.before for each in self.work.columns])
        after = self._rows(unit.after, self.after, [each.after for each in self.work.columns])
        return before, after

    def _rows(
        self,
        groups: Sequence[Sequence[DataFile]],
        side: ComparedSide,
        fields: Sequence[DataField | None],
    ) -> pa.Table:
        layout = arrow_columns(self.work.columns)
        parts = [layout.empty_table()]
        for group in groups:
            rows = self._merged(group, side)
            columns = [
                _cells(rows, field, column)
                for field, column in zip(fields, self.work.columns, strict=True)
            ]
            parts.append(pa.table(columns, schema=layout))
        return pa.concat_tables(parts)

    def _merged(self, files: Sequence[DataFile], side: ComparedSide) -> pa.Table:
        schema, has_keys = side.schema, bool(side.schema.primary_keys)
        read = [
            read_data_file(self.store, file, side.schemas, schema.fields, with_system=has_keys)
            for file in files
        ]
        rows = pa.concat_tables(read)
        if not has_keys:
            return rows
        return (
            live_rows(rows) if schema.skips_level_0 or len(files) == 1 else merge_rows(rows, schema)
        )


def _cells(rows: pa.Table, field: DataField | None, column: ComparedColumn) -> pa.ChunkedArray:
    if field is None:
        return pa.chunked_array([pa.nulls(rows.num_rows, to_arrow(column.type))])
    return evolve(rows[field.name], field.type, column.type)


def _comparing(
    task: CompareTask,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def act(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for unit in _units(batches):
            try:
                rows = task.compare(unit)
            except PaimonError as error:
                yield _failed(unit.number, error)
                continue
            for start in range(0, rows.num_rows, _BATCH_ROWS):
                yield _packed(unit.number, rows.slice(start, _BATCH_ROWS))

    return act


def _counting(
    task: CompareTask,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def act(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for unit in _units(batches):
            try:
                yield from task.count(unit)
            except PaimonError as error:
                # As a row an error keeps its kind; raised, it would end as text.
                yield pa.RecordBatch.from_pylist([{"error": pickle.dumps(error)}], schema=_COUNTED)

    return act


def _summing(
    task: CompareTask,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def act(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        whole = pa.Table.from_batches(list(batches), _COUNTED)
        errors = whole["error"].drop_null()
        if len(errors):
            yield pa.RecordBatch.from_pylist([{"number": 0, "error": errors[0].as_py()}], _FOUND)
            return
        yield from (_packed(0, rows) for rows in task.summed(whole))

    return act


def _units(batches: Iterable[pa.RecordBatch]) -> Iterator[CompareUnit]:
    for batch in batches:
        for packed in batch["unit"].to_pylist():
            yield pickle.loads(packed)


def _packed(number: int, rows: pa.Table) -> pa.RecordBatch:
    found = {"number": number, "rows": to_bytes(rows), "error": None}
    return pa.RecordBatch.from_pylist([found], schema=_FOUND)


def _failed(number: int, error: PaimonError) -> pa.RecordBatch:
    found = {"number": number, "rows": None, "error": pickle.dumps(error)}
    return pa.RecordBatch.from_pylist([found], schema=_FOUND)
