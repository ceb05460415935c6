"""The changes of the rows of a branch between two of its snapshots.

In a table without a primary key these are the appended rows, read from the files that the snapshots
added. In a table with a key they are the keys whose row differs at the end. They are read from the
files that only one of the states has and the files that overlap them. Source: Paimon
IncrementalDeltaStartingScanner, IncrementalDiffSplitRead, AuditLogTable.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.data_types import STRING, DataField
from branch_console.format.manifest_entry import MANIFEST_ENTRY, FileKind
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.merge.row_merge import changed_keys
from branch_console.spark.read.changed_rows import row_keys
from branch_console.spark.read.read_plan import (
    PlacedFile,
    ReadUnit,
    by_bucket,
    in_tasks,
    place_files,
    sections,
    visible_files,
)
from branch_console.spark.read.readers import (
    ReadTask,
    check_alone,
    check_readable,
    read_in_tasks,
    spark_layout,
    spark_rows,
    wanted_field,
)
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ReadState

ROW_KIND: Final = "rowkind"
"""The first column of changes: +I, +U or -D; `$audit_log` calls it so, too."""

_KIND_FIELD: Final = DataField(id=-1, name=ROW_KIND, type=STRING)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedSection:
    """The files of some keys in two states; `before` or `after` may be empty."""

    before: ReadUnit
    after: ReadUnit

    @property
    def cost(self) -> int:
        """Bytes of all files, with what opening them takes."""
        return self.before.cost + self.after.cost


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesRead:
    """A read of changes that is planned.

    Attributes:
        whole: Reads the rows of a state, in all columns of the table.
        fields: The wanted columns, `rowkind` first.
        tasks: Groups of files that were appended, or of sections that changed.
    """

    whole: ReadTask
    fields: tuple[DataField, ...]
    tasks: tuple[tuple[ReadUnit | ChangedSection, ...], ...]

    @property
    def layout(self) -> pa.Schema:
        """The columns that Spark gets."""
        return spark_layout(self.fields)

    @property
    def read_files(self) -> int:
        """How many files are opened; one that both states have counts twice."""
        return sum(len(unit.files) for unit in chain.from_iterable(map(_units, self._parts())))

    def frame(self, spark: SparkSession) -> DataFrame:
        """The changes as a frame; nothing is read yet."""
        return read_in_tasks(spark, self.batches, self.tasks, self.layout)

    def batches(self, part: ReadUnit | ChangedSection) -> Iterator[pa.RecordBatch]:
        """Read one part in the columns of `layout`; raises FormatError or InvalidInput."""
        if isinstance(part, ReadUnit):
            for batch in self.whole.batches(part):
                yield from self._with_kind(pa.Table.from_batches([batch]), "+I")
            return
        schema = self.whole.schema
        before, after = self.whole.read(part.before), self.whole.read(part.after)
        changed = row_keys(changed_keys(before, after, schema), schema)
        was, is_ = row_keys(before, schema), row_keys(after, schema)
        is_changed = pc.is_in(is_, value_set=changed)
        is_old = pc.is_in(is_, value_set=was)
        is_gone = pc.invert(pc.is_in(was, value_set=is_))
        yield from self._with_kind(after.filter(pc.and_(is_changed, pc.invert(is_old))), "+I")
        yield from self._with_kind(after.filter(pc.and_(is_changed, is_old)), "+U")
        yield from self._with_kind(before.filter(is_gone), "-D")

    def _with_kind(self, rows: pa.Table, kind: str) -> Iterator[pa.RecordBatch]:
        names = [field.name for field in self.fields]
        with_kind = rows.append_column(ROW_KIND, pa.repeat(kind, rows.num_rows)).select(names)
        yield from spark_rows(with_kind, self.layout).to_batches()

    def _parts(self) -> Iterator[ReadUnit | ChangedSection]:
        return chain.from_iterable(self.tasks)


def plan_changes(
    store: FileIO,
    table: FileStoreTable,
    start: Snapshot | None,
    end: Snapshot,
    *,
    columns: Sequence[str] | None = None,
) -> ChangesRead:
    """Decide what a read of the changes after one snapshot, up to another one, opens.

    Args:
        store: The store of the table.
        table: The table on the branch to which both snapshots belong.
        start: What is in it is no change; None for the empty table.
        end: The state after the changes; its schema is read with.
        columns: The wanted columns in their order, `rowkind` left out; all if left out.

    Raises:
        NotFound: There is no such column, or a snapshot between them has expired.
        FormatError: Metadata is missing or broken.
        InvalidInput: The snapshots come in the wrong order, rows without a key were overwritten
            between them, or the table needs something that is not served.
    """
    if start is not None and start.id > end.id:
        raise InvalidInput(
            f"Snapshot {start.id} comes after snapshot {end.id}. Name the earlier one first.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    check_alone(table)
    schema = ReadState.as_it_was(table, end).schema
    check_readable(schema)
    if schema.find_field(ROW_KIND) is not None:
        raise InvalidInput(
            f"The table has a column {ROW_KIND!r}, so changes cannot be told. Rename it.",
            kind=ErrorKind.UNSUPPORTED,
        )
    names = schema.row_type.names if columns is None else tuple(columns)
    wanted = tuple(wanted_field(schema, name) for name in names)
    parts: Sequence[ReadUnit | ChangedSection] = (
        _changed_sections(store, table, start, end, schema)
        if schema.primary_keys
        else _appended(store, table, start, end)
    )
    fields = schema.fields if schema.primary_keys else wanted
    schemas = {each.id: each for each in table.schemas.all()}
    return ChangesRead(
        whole=ReadTask(store=store, schema=schema, schemas=schemas, fields=fields),
        fields=(_KIND_FIELD, *wanted),
        tasks=in_tasks(parts),
    )


def _appended(
    store: FileIO, table: FileStoreTable, start: Snapshot | None, end: Snapshot
) -> list[ReadUnit]:
    first = 1 if start is None else start.id + 1
    added = [MANIFEST_ENTRY.empty_table()]
    for snapshot in (table.snapshots.get(number) for number in range(first, end.id + 1)):
        match snapshot.commit_kind:
            case CommitKind.OVERWRITE:
                raise InvalidInput(
                    f"Snapshot {snapshot.id} deleted or overwrote rows, which a table without a "
                    "primary key cannot tell as changes. Choose snapshots on one side of it.",
                    kind=ErrorKind.UNSUPPORTED,
                    snapshot_id=snapshot.id,
                )
            case CommitKind.APPEND:
                entries = table.delta_entries(snapshot)
                added.append(entries.filter(pc.equal(entries["kind"], int(FileKind.ADD))))
            case _:
                pass  # the same rows in other files
    placed = place_files(store, table, None, pa.concat_tables(added))
    return [ReadUnit(files=(file.data,), is_merged=False) for file in placed]


def _changed_sections(
    store: FileIO,
    table: FileStoreTable,
    start: Snapshot | None,
    end: Snapshot,
    schema: TableSchema,
) -> list[ChangedSection]:
    before = {} if start is None else _state(store, table, start, schema)
    after = _state(store, table, end, schema)
    # A file that only moved to another level holds what it held, and so does its bucket.
    changed = {path for path in {*before, *after} if _differ(before.get(path), after.get(path))}
    places = {_place(file) for path in changed for file in _both(path, before, after)}
    everything = {**before, **after}
    files = [file for file in everything.values() if _place(file) in places]
    found = []
    for bucket in by_bucket(files):
        for section in sections(bucket, schema):
            paths = [file.data.path for file in section]
            if not changed.isdisjoint(paths):
                found.append(
                    ChangedSection(
                        before=_unit([before[path] for path in paths if path in before], schema),
                        after=_unit([after[path] for path in paths if path in after], schema),
                    )
                )
    return found


def _state(
    store: FileIO, table: FileStoreTable, snapshot: Snapshot, schema: TableSchema
) -> dict[str, PlacedFile]:
    files = visible_files(table, snapshot, schema)
    return {file.data.path: file for file in place_files(store, table, snapshot, files)}


def _differ(before: PlacedFile | None, after: PlacedFile | None) -> bool:
    return before is None or after is None or before.data != after.data


def _both(
    path: str, before: Mapping[str, PlacedFile], after: Mapping[str, PlacedFile]
) -> list[PlacedFile]:
    return [files[path] for files in (before, after) if path in files]


def _place(file: PlacedFile) -> tuple[bytes, int]:
    return file.partition, file.bucket


def _unit(files: Sequence[PlacedFile], schema: TableSchema) -> ReadUnit:
    is_merged = len(files) > 1 and not schema.skips_level_0
    return ReadUnit(files=tuple(file.data for file in files), is_merged=is_merged)


def _units(part: ReadUnit | ChangedSection) -> tuple[ReadUnit, ...]:
    return (part,) if isinstance(part, ReadUnit) else (part.before, part.after)
