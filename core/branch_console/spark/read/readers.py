"""Any branch, snapshot, tag or range of a table as a DataFrame; merged in tasks, without a shuffle.

The driver plans from metadata which files are read together. A task reads them, brings their rows
into today's schema and merges those that share keys. Source: Paimon MergeTreeSplitGenerator,
IntervalPartition, DataTableBatchScan.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.expr.predicate import Condition, Name, holds, names_in
from branch_console.format import options as table_options
from branch_console.format.data_types import DataField, with_nullable
from branch_console.format.layout_options import check_rows_read
from branch_console.format.read_branches import ChainRule, rows_elsewhere
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.arrow_types import VARIANT_MARK, arrow_schema, to_arrow
from branch_console.format.values.fine_times import FINE_LOCAL_TIME, cast_times, has_part, is_fine
from branch_console.spark.files.data_reader import (
    ROW_TRACKING_FIELDS,
    DataFile,
    read_data_file,
    read_pieces,
)
from branch_console.spark.kernels.merge_on_read import (
    check_mergeable,
    columns_to_merge,
    live_rows,
    merge_rows,
)
from branch_console.spark.read.changed_plan import plan_changed
from branch_console.spark.read.changed_rows import changed_rows
from branch_console.spark.read.file_pruning import check_condition
from branch_console.spark.read.read_plan import ReadPlan, ReadUnit, plan_files, plan_read
from branch_console.spark.session.task_errors import with_kinds
from branch_console.storage.file_io import FileContents, FileIO
from branch_console.table.fallback_branch import branch_parts
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ChangedState, ReadState, StagedState

T = TypeVar("T")

_BATCH_ROWS: Final = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTask:
    """The schemas, columns and condition that a task of a read needs; sent to each task.

    Attributes:
        schema: The schema to read with.
        schemas: All schemas of the branch by id; files name the one that they were written with.
        fields: The columns that are wanted.
        condition: The condition for rows; None reads all rows.
        keeps_times: Whether to refuse times that Spark would truncate.
    """

    store: FileContents
    schema: TableSchema
    schemas: Mapping[int, TableSchema]
    fields: tuple[DataField, ...]
    condition: Condition | None = None
    keeps_times: bool = False

    @property
    def layout(self) -> pa.Schema:
        """The columns that Spark gets."""
        return spark_layout(self.fields)

    def batches(self, unit: ReadUnit) -> Iterator[pa.RecordBatch]:
        """Read one unit in the columns of `layout`; raises FormatError or InvalidInput."""
        layout = self.layout
        if unit.before:
            tables: Iterable[pa.Table] = (self._changed(unit),)
        elif unit.is_merged:
            tables = (self._merged(unit),)
        else:
            tables = chain.from_iterable(map(self._unmerged, unit.files))
        for rows in tables:
            wanted = self._filtered(rows).select([field.name for field in self.fields])
            if self.keeps_times:
                _check_times_kept(wanted, layout)
            yield from spark_rows(wanted, layout).to_batches(max_chunksize=_BATCH_ROWS)

    def read(self, unit: ReadUnit) -> pa.Table:
        """Read one unit as a whole, in the Arrow types of `fields`."""
        names = [field.name for field in self.fields]
        if unit.is_merged:
            return self._filtered(self._merged(unit)).select(names)
        empty = pa.schema([(each.name, to_arrow(each.type)) for each in self.fields]).empty_table()
        tables = chain.from_iterable(map(self._unmerged, unit.files))
        return pa.concat_tables([empty, *(self._filtered(rows).select(names) for rows in tables)])

    def _changed(self, unit: ReadUnit) -> pa.Table:
        """The rows that an earlier state has not, or has otherwise; in all columns of the table."""
        whole = replace(self, fields=self.schema.fields, condition=None)
        after = whole.read(replace(unit, before=()))
        before = whole.read(ReadUnit(files=unit.before, is_merged=len(unit.before) > 1))
        return changed_rows(before, after, self.schema)

    def _merged(self, unit: ReadUnit) -> pa.Table:
        # What decides between rows of a key is read with them, and left out afterwards.
        fields = self._fields(columns_to_merge(self.schema, self._names))
        return merge_rows(
            pa.concat_tables(
                read_data_file(self.store, file, self.schemas, fields, with_system=True)
                for file in unit.files
            ),
            self.schema,
        )

    def _unmerged(self, file: DataFile) -> Iterator[pa.Table]:
        has_keys = bool(self.schema.primary_keys)
        fields = self._fields(self._names)
        for rows in read_pieces(self.store, file, self.schemas, fields, with_system=has_keys):
            yield live_rows(rows) if has_keys else rows

    @property
    def _names(self) -> tuple[str, ...]:
        asked = () if self.condition is None else names_in(self.condition)
        wanted = [field.name for field in self.fields]
        return tuple(dict.fromkeys([*wanted, *sorted(name.column for name in asked)]))

    def _fields(self, names: Iterable[str]) -> tuple[DataField, ...]:
        known = {field.name: field for field in (*self.schema.fields, *self.fields)}
        return tuple(known[name] for name in names)

    def _filtered(self, rows: pa.Table) -> pa.Table:
        if self.condition is None or not rows.num_rows:
            return rows

        def column_of(name: Name) -> pa.Array:
            return rows[name.column]

        return rows.filter(holds(self.condition, column_of))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRead:
    """A read that is planned: what its tasks know, and what each opens.

    Attributes:
        along: The read of another branch, in the same columns.
    """

    task: ReadTask
    plan: ReadPlan
    along: "TableRead | None" = None

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows as a frame; nothing is read yet."""
        if self.along is None:
            return read_in_tasks(spark, self.task.batches, self.plan.tasks(), self.task.layout)
        groups = [[(task, unit) for unit in units] for task, units in self.tasks()]
        return read_in_tasks(spark, _batches_of, groups, self.task.layout)

    def keeping_times(self) -> "TableRead":
        """The same read, whose tasks refuse times that are finer than Spark's."""
        along = None if self.along is None else self.along.keeping_times()
        return replace(self, task=replace(self.task, keeps_times=True), along=along)

    def tasks(self) -> Iterator[tuple[ReadTask, tuple[ReadUnit, ...]]]:
        """Yield each task with the units it opens; the tasks of the other branch come last."""
        for units in self.plan.tasks():
            yield self.task, units
        if self.along is not None:
            yield from self.along.tasks()


def _batches_of(part: tuple[ReadTask, ReadUnit]) -> Iterator[pa.RecordBatch]:
    task, unit = part
    return task.batches(unit)


def read_table(
    spark: SparkSession,
    store: FileIO,
    state: ReadState | ChangedState,
    *,
    columns: Iterable[str] | None = None,
    filters: Condition | None = None,
    keeps_times: bool = False,
) -> DataFrame:
    """Read a state of a table, or changes; see `plan_table` for the arguments and errors.

    Args:
        spark: The Spark session for the tasks.
        store: The store of the table.
        state: As for `plan_table`.
        columns: As for `plan_table`.
        filters: As for `plan_table`.
        keeps_times: Whether a task refuses times that are finer than Spark's.

    Returns:
        A frame with the wanted columns. Timestamps have microseconds, as Spark's do.
    """
    read = plan_table(store, state, columns=columns, filters=filters)
    return (read.keeping_times() if keeps_times else read).frame(spark)


def plan_table(
    store: FileIO,
    state: ReadState | ChangedState,
    *,
    columns: Iterable[str] | None = None,
    filters: Condition | None = None,
) -> TableRead:
    """Decide what a read of a state of a table opens.

    Args:
        store: The store of the table.
        state: The state, as it is or as it was; or the changes between two.
        columns: The wanted columns in their order; all if left out. A table with row tracking has
            `_ROW_ID` and `_SEQUENCE_NUMBER` besides.
        filters: The condition for rows, see `branch_console.expr.predicate`; names have no side.

    Raises:
        NotFound: There is no such column, or a branch that is read along is missing.
        FormatError: Metadata is missing or broken.
        InvalidInput: The table needs something that is not served, or the filter does not fit it.
    """
    if isinstance(state, ChangedState):
        check_alone(state.table)
        schemas = {each.id: each for each in state.table.schemas.all()}
        schema = state.schema
        task = _read_task(
            store, schema, schemas, columns, filters, lambda name: wanted_field(schema, name)
        )
        return TableRead(task=task, plan=plan_changed(store, state))
    if ChainRule.of(state.table.schema(), state.table.branch) is not None:
        check_alone(state.table)
    parts = branch_parts(state)
    if parts is None:
        return _plan_part(store, state, columns, filters)
    names = state.schema.row_type.names
    if any(part.state.schema.row_type.names != names for part in parts):
        raise _unserved("Branches that are read as one and name their columns differently")
    first, second = (
        _plan_part(store, part.state, columns, filters, partitions=part.partitions)
        for part in parts
    )
    # A column may be null on one of both branches only.
    fields = tuple(
        replace(ours, type=with_nullable(ours.type, True)) if theirs.type.nullable else ours
        for ours, theirs in zip(first.task.fields, second.task.fields, strict=True)
    )
    own, other = (_with_types(part, fields) for part in (first, second))
    return replace(own, along=other)


def _plan_part(
    store: FileIO,
    state: ReadState,
    columns: Iterable[str] | None,
    filters: Condition | None,
    *,
    partitions: frozenset[bytes] | None = None,
) -> TableRead:
    """Plan what is read of one branch, of all partitions if none are named."""
    schema = state.schema
    schemas = {each.id: each for each in state.table.schemas.all()}
    task = _read_task(
        store, schema, schemas, columns, filters, lambda name: wanted_field(schema, name)
    )
    plan = plan_read(store, state, schemas, filters, partitions=partitions)
    return TableRead(task=task, plan=plan)


def _with_types(read: TableRead, fields: Iterable[DataField]) -> TableRead:
    """The same read, whose columns have the types of others by position."""
    typed = (
        replace(own, type=given.type) for own, given in zip(read.task.fields, fields, strict=True)
    )
    return replace(read, task=replace(read.task, fields=tuple(typed)))


def read_staged(
    spark: SparkSession,
    store: FileIO,
    state: StagedState,
    *,
    columns: Iterable[str] | None = None,
    filters: Condition | None = None,
    keeps_times: bool = False,
) -> DataFrame:
    """Read what a commit would leave.

    Args:
        spark: The Spark session for the tasks.
        store: The store of the table.
        state: The state that would be left.
        columns: The wanted columns in their order; all if left out.
        filters: As for `plan_table`.
        keeps_times: Whether a task refuses times that are finer than Spark's.

    Raises:
        NotFound: There is no such column.
        InvalidInput: As for `plan_table`.
    """
    check_alone(state.table)
    schema, schemas = state.schema, state.schemas
    # Rows have the numbers of row tracking from the commit on, so there are no such columns yet.
    task = _read_task(store, schema, schemas, columns, filters, schema.field)
    plan = plan_files(store, state.table, state.files, state.index_files, schema, schemas, filters)
    read = TableRead(task=task, plan=plan)
    return (read.keeping_times() if keeps_times else read).frame(spark)


def _read_task(
    store: FileIO,
    schema: TableSchema,
    schemas: Mapping[int, TableSchema],
    columns: Iterable[str] | None,
    filters: Condition | None,
    field_of: Callable[[str], DataField],
) -> ReadTask:
    check_readable(schema)
    if filters is not None:
        check_condition(filters, schema)
    names = schema.row_type.names if columns is None else tuple(columns)
    return ReadTask(
        store=store,
        schema=schema,
        schemas=schemas,
        fields=tuple(field_of(name) for name in names),
        condition=filters,
    )


def wanted_field(schema: TableSchema, name: str) -> DataField:
    """The column of a table by its name, also one that row tracking adds.

    Raises:
        NotFound: There is no such column.
    """
    if schema.options.read(table_options.ROW_TRACKING_ENABLED) and not schema.find_field(name):
        for field in ROW_TRACKING_FIELDS:
            if field.name == name:
                return field
    return schema.field(name)


def read_in_tasks(
    spark: SparkSession,
    read: Callable[[T], Iterator[pa.RecordBatch]],
    tasks: Sequence[Sequence[T]],
    layout: pa.Schema,
) -> DataFrame:
    """A frame of what a function reads of things, in a task for each group of them.

    Args:
        spark: The Spark session for the tasks.
        read: Travels to the tasks; gives batches in `layout`.
        tasks: The groups.
        layout: Columns in types that Spark takes, see `spark_layout`.
    """
    packed = [pickle.dumps(tuple(task)) for task in tasks]

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in chain.from_iterable(batch["id"].to_pylist() for batch in batches):
            for each in pickle.loads(packed[number]):
                yield from with_kinds(read(each))

    # One task a number, without a shuffle to spread them.
    numbers = spark.range(0, len(packed), 1, max(1, len(packed)))
    return numbers.mapInArrow(run, from_arrow_schema(layout, prefer_timestamp_ntz=True))


def check_readable(schema: TableSchema) -> None:
    """Refuse tables whose rows need more than reading files and merging by key.

    Raises:
        InvalidInput: It needs a feature that is not supported.
    """
    check_rows_read(schema.options)
    if schema.options.read(table_options.DATA_EVOLUTION_ENABLED):
        raise _unserved("Tables with data evolution")
    if schema.primary_keys:
        check_mergeable(schema)


def check_alone(table: FileStoreTable) -> None:
    """Refuse a branch whose batch reads take rows of other branches.

    Raises:
        InvalidInput: By the kind of table.
    """
    kind = rows_elsewhere(table.schema(), table.branch)
    if kind is not None:
        raise InvalidInput(
            f"{table.identifier} is {kind}. This is not done here with rows on several branches. "
            "Nothing was changed. Name a branch that holds rows of its own, or use Paimon.",
            kind=ErrorKind.UNSUPPORTED,
            branch=table.branch,
        )


def _unserved(what: str) -> InvalidInput:
    return InvalidInput(
        f"{what} cannot be read here yet. Read the table with Paimon.", kind=ErrorKind.UNSUPPORTED
    )


def spark_layout(fields: tuple[DataField, ...]) -> pa.Schema:
    """The Arrow columns that Spark takes for columns of a table."""
    plain = pa.schema([_spark_field(field) for field in arrow_schema(fields)])
    kinds = from_arrow_schema(plain, prefer_timestamp_ntz=True)
    return to_arrow_schema(kinds, timezone="UTC")


def spark_rows(rows: pa.Table, layout: pa.Schema) -> pa.Table:
    """Rows in the columns of `spark_layout`: what is finer than Spark's microseconds is left off.

    Raises:
        InvalidInput: A column holds a value that Spark does not reach.
    """
    columns = []
    for field in layout:
        try:
            columns.append(cast_times(rows[field.name], field.type))
        except pa.ArrowInvalid as error:
            raise InvalidInput(
                f"Column {field.name!r} holds a value that Spark cannot hold: {error}. "
                "Read the other columns, or the table with Paimon.",
                kind=ErrorKind.UNSUPPORTED,
                column=field.name,
            ) from error
    return pa.Table.from_arrays(columns, schema=layout)


def _check_times_kept(rows: pa.Table, layout: pa.Schema) -> None:
    """Refuse times that lose digits in the columns of `spark_layout`, by their column."""
    for field in layout:
        column = rows[field.name]
        if not has_part(column.type, is_fine):
            continue
        kept = spark_rows(rows.select([field.name]), pa.schema([field]))[field.name]
        if not cast_times(kept, column.type).equals(column):
            raise InvalidInput(
                f"Column {field.name!r} holds a time that is finer than a microsecond, and Spark "
                "would cut it to microseconds. Nothing was written. Leave the column out, or "
                "write these rows with Paimon.",
                kind=ErrorKind.UNSUPPORTED,
                column=field.name,
            )


def _spark_field(field: pa.Field) -> pa.Field:
    mark = VARIANT_MARK if VARIANT_MARK.items() <= (field.metadata or {}).items() else None
    return pa.field(field.name, _spark_type(field.type), field.nullable, mark)


def _spark_type(kind: pa.DataType) -> pa.DataType:
    if is_fine(kind):
        return pa.timestamp("us", "UTC" if kind == FINE_LOCAL_TIME else None)
    if pa.types.is_time(kind):
        return pa.time64("ns")
    if pa.types.is_struct(kind):
        return pa.struct([_spark_field(each) for each in kind])
    if pa.types.is_map(kind):
        return pa.map_(_spark_type(kind.key_type), _spark_field(kind.item_field))
    if pa.types.is_list(kind):
        return pa.list_(_spark_field(kind.value_field))
    return kind
