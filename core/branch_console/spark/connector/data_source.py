"""Branches, snapshots and changes of tables for `spark.read.format("paimon-branch")`.

A session that is not ours reads with this, and SQL over it. Spark evaluates all filters itself. The
option `filter` leaves out files and rows before they reach it, and so do those filters that Spark
hands over, where the option `pushdown` allows it: up to Spark 4.3 a frame remembers the filters of
one query over it, and every later query over the same frame would miss rows.
Source: Spark PythonDataSourceV2, PythonScanBuilder.
"""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import datasource as spark_filters
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from branch_console.catalog.filesystem_catalog import FilesystemCatalog
from branch_console.errors import ErrorKind, InvalidInput
from branch_console.expr.predicate import (
    Compare,
    Condition,
    IsIn,
    IsNull,
    Join,
    Literal,
    Name,
    Not,
    parse_condition,
)
from branch_console.format.data_types import AtomicType, TypeRoot
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.kept_elsewhere import WITHOUT_CALLBACKS_OPTION
from branch_console.format.scan_options import (
    READ_OPTIONS,
    TRAVEL_OPTIONS,
    ScanOptions,
    moment_millis,
)
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.spark.connector.data_sink import BranchWriter
from branch_console.spark.connector.notebook_errors import sentence_first
from branch_console.spark.read.file_pruning import check_condition
from branch_console.spark.read.incremental import ChangesRead, plan_changes
from branch_console.spark.read.readers import ReadTask, TableRead, plan_table
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.scan_state import state_asked

FORMAT: Final = "paimon-branch"

_STORE_PREFIX: Final = "store."
_OPTIONS: Final = frozenset(
    {
        *("warehouse", "table", "path", "branch", "snapshot", "tag", "timestamp"),
        *("changes", "columns", "filter", "pushdown"),
        WITHOUT_CALLBACKS_OPTION,
        *READ_OPTIONS,
    }
)
_SIGNS: Final[Mapping[type[Filter], str]] = {
    spark_filters.EqualTo: "=",
    spark_filters.EqualNullSafe: "=",
    spark_filters.GreaterThan: ">",
    spark_filters.GreaterThanOrEqual: ">=",
    spark_filters.LessThan: "<",
    spark_filters.LessThanOrEqual: "<=",
}
_KINDS: Final[Mapping[TypeRoot, type]] = {
    TypeRoot.BOOLEAN: bool,
    TypeRoot.TINYINT: int,
    TypeRoot.SMALLINT: int,
    TypeRoot.INT: int,
    TypeRoot.BIGINT: int,
    TypeRoot.DECIMAL: Decimal,
    TypeRoot.VARCHAR: str,
    TypeRoot.CHAR: str,
    TypeRoot.DATE: dt.date,
    TypeRoot.TIMESTAMP: dt.datetime,
}


def register(spark: SparkSession) -> None:
    """Make the format known to a session, and let Spark hand its filters over."""
    spark.dataSource.register(BranchDataSource)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")


class BranchDataSource(DataSource):
    """A table on a branch.

    Options:
        warehouse, table: The warehouse's folder or URL, and `database.table`; or `path`, the
            table's own folder.
        branch: `main` if left out.
        snapshot, tag, timestamp: At most one: a snapshot id, a tag, or a commit time as ISO text or
            in milliseconds since the epoch. The head if left out.
        scan.branch, scan.snapshot-id, scan.tag-name, scan.version, scan.timestamp,
            scan.timestamp-millis: The same in the words of Paimon's dynamic options.
        incremental-between, incremental-between-timestamp, incremental-between-scan-mode,
            incremental-between-tag-to-snapshot: The changes between two snapshots, tags or times as
            rows of the table, as Paimon's batch reads tell them: rows that were deleted are not
            among them.
        changes: Two snapshot ids or tags with a comma: what became of each key after the first one,
            with a column `rowkind` in front and the rows that were deleted. The first may be 0, the
            empty table.
        columns: The wanted columns, with commas; Spark tells a source written in Python not which
            it needs.
        filter: A condition, see `branch_console.expr.predicate`.
        pushdown: `true` where the frame, also as a view, is read by one query and once in it, so
            that filters of the query may leave out files; see above.
        without-callbacks: Of a write: why it goes on without what Paimon does for others at each
            commit, such as its Iceberg metadata.
        store.*: Options of the store, such as `store.endpoint_url`.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return FORMAT

    @sentence_first()
    def schema(self) -> StructType:
        """The columns of the state that is read."""
        planned = _Request(self.options).read(None)
        layout = planned.layout if isinstance(planned, ChangesRead) else planned.task.layout
        return from_arrow_schema(layout, prefer_timestamp_ntz=True)

    def reader(self, schema: StructType) -> "ConnectorReader":
        """The reader of one query."""
        options = dict(self.options)
        is_pushed = options.get("pushdown", "false").lower() == "true"
        return FilteredReader(options) if is_pushed else ConnectorReader(options)

    @sentence_first()
    def writer(self, schema: StructType, overwrite: bool) -> BranchWriter:
        """The writer of one job: appends, or replaces the partitions that get rows."""
        request = _Request(self.options)
        return BranchWriter(request.store, request.table, self.options, schema, overwrite=overwrite)


class ConnectorReader(DataSourceReader):
    """Plans on the driver and reads in tasks."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options
        self._pushed: tuple[Condition, ...] = ()

    @sentence_first()
    def partitions(self) -> Sequence[InputPartition]:
        """The partitions of the read, one for each task."""
        planned = _Request(self._options).read(_all_of(self._pushed))
        # Tasks get the reader as it was before it planned: what they need to know comes along.
        if isinstance(planned, ChangesRead):
            knowledge: ReadTask | ChangesRead = replace(planned, tasks=())
            return [InputPartition((knowledge, task)) for task in planned.tasks]
        return [InputPartition(each) for each in planned.tasks()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        if partition.value is not None:  # Spark makes a partition if there is none
            knowledge, parts = partition.value
            with sentence_first():
                for part in parts:
                    yield from knowledge.batches(part)


class FilteredReader(ConnectorReader):
    """A reader to which Spark hands its filters."""

    @sentence_first()
    def pushFilters(self, filters: list[Filter]) -> list[Filter]:  # noqa: N802  # Spark's name
        """Note which filters leave out files and rows; Spark still evaluates all of them."""
        request = _Request(self._options)
        if not request.reads_changes:
            schema = request.schema()
            found = (condition_of(each, schema) for each in filters)
            self._pushed = tuple(each for each in found if each is not None)
        return filters


def condition_of(pushed: Filter, schema: TableSchema) -> Condition | None:
    """A filter of Spark as a condition that holds for the same rows, None if there is none."""
    found = _translated(pushed, schema)
    if found is None:
        return None
    try:
        check_condition(found, schema)
    except InvalidInput:
        return None  # such as a time that is finer than its column
    return found


def _translated(pushed: Filter, schema: TableSchema) -> Condition | None:
    if isinstance(pushed, spark_filters.Not):
        # What is not null-safely equal may be null, which no comparison here is true of.
        is_null_safe = isinstance(pushed.child, spark_filters.EqualNullSafe)
        inner = None if is_null_safe else _translated(pushed.child, schema)
        return None if inner is None else Not(condition=inner)
    path: tuple[str, ...] = getattr(pushed, "attribute", ())
    field = schema.find_field(path[0]) if len(path) == 1 else None
    if field is None or not isinstance(field.type, AtomicType):
        return None
    name = Name(side=None, column=field.name)
    match pushed:
        case spark_filters.IsNull():
            return IsNull(operand=name)
        case spark_filters.IsNotNull():
            return Not(condition=IsNull(operand=name))
        case spark_filters.In(value=values):
            found = [_literal(value, field.type) for value in values]
            literals = tuple(value for value in found if value is not None)
            return IsIn(operand=name, values=literals) if len(literals) == len(found) > 0 else None
        case _ if type(pushed) in _SIGNS:
            value = _literal(getattr(pushed, "value", None), field.type)
            sign = _SIGNS[type(pushed)]
            return None if value is None else Compare(sign=sign, left=name, right=value)
        case _:
            return None


def _literal(value: Any, kind: AtomicType) -> Literal | None:
    # Not for floats: Spark puts NaN above all numbers and Arrow beside them.
    if type(value) is not _KINDS.get(kind.root):
        return None
    if isinstance(value, dt.date):
        return Literal(value=str(value))
    return Literal(value=value) if isinstance(value, str | int | Decimal) else None


def _all_of(conditions: Sequence[Condition]) -> Condition | None:
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return Join(word="and", conditions=tuple(conditions))


class _Request:
    """The options of a read."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = {name.lower(): value for name, value in options.items()}
        unknown = sorted(
            name
            for name in self._options
            if name not in _OPTIONS and not name.startswith(_STORE_PREFIX)
        )
        if unknown:
            raise InvalidInput(
                f"{FORMAT} has no option {unknown[0]!r}. It has: {', '.join(sorted(_OPTIONS))}, "
                f"{_STORE_PREFIX}*.",
                kind=ErrorKind.INVALID_OPTION,
                option=unknown[0],
            )
        self._scan = self._scan_options()
        self.store, self.table = self._open()

    @property
    def reads_changes(self) -> bool:
        """Whether changes with their kinds are asked for, not rows."""
        return "changes" in self._options

    def schema(self) -> TableSchema:
        """The schema to read with."""
        return state_asked(self.table, self._scan).schema

    def read(self, pushed: Condition | None) -> TableRead | ChangesRead:
        """Plan the read; raises what `plan_table` and `plan_changes` raise."""
        columns = self._columns()
        text = self._options.get("filter")
        if self.reads_changes:
            if text is not None:
                raise _unfit("'filter' cannot be given for changes. Filter the frame.", "filter")
            return plan_changes(self.store, self.table, *self._between(), columns=columns)
        own = () if text is None else (parse_condition(text),)
        conditions = (*own, *(() if pushed is None else (pushed,)))
        state = state_asked(self.table, self._scan)
        return plan_table(self.store, state, columns=columns, filters=_all_of(conditions))

    def _open(self) -> tuple[FileIO, FileStoreTable]:
        options = self._options
        store_options = {
            name.removeprefix(_STORE_PREFIX): value
            for name, value in options.items()
            if name.startswith(_STORE_PREFIX)
        }
        branch = self._scan.branch
        if "warehouse" in options and "table" in options and "path" not in options:
            store = FileIO.for_url(options["warehouse"], store_options)
            identifier = Identifier.parse(options["table"])
            if branch is not None:
                identifier = identifier.on_branch(branch)
            return store, FilesystemCatalog(store, store.root).open(identifier)
        if "path" in options and not {"warehouse", "table"} & set(options):
            store = FileIO.for_url(options["path"], store_options)
            folder, _, name = store.root.rpartition("/")
            database = folder.rpartition("/")[2].removesuffix(".db") or "default"
            identifier = Identifier(database=database, table=name)
            table = FileStoreTable.open(store, store.root, identifier)
            return store, table.on(branch or MAIN_BRANCH)
        raise _unfit("Give 'warehouse' and 'table', or 'path', the table's own folder.", "path")

    def _columns(self) -> tuple[str, ...] | None:
        text = self._options.get("columns")
        return None if text is None else tuple(name.strip() for name in text.split(","))

    def _scan_options(self) -> ScanOptions:
        """The branch and state that are asked for, in our words or in Paimon's."""
        options = self._options
        travels = ("snapshot", "tag", "timestamp", "changes", *TRAVEL_OPTIONS)
        given = [name for name in travels if name in options]
        if len(given) > 1:
            raise _unfit(f"Give only one of {' and '.join(map(repr, given))}.", given[0])
        found = ScanOptions.parse({key: options[key] for key in READ_OPTIONS if key in options})
        besides = found.how or (found.fallback and found.fallback.order)
        if self.reads_changes and besides:
            raise _unfit(f"'changes' is not honoured together with {str(besides)!r}.", besides)
        if "timestamp" in options:
            return replace(found, time_millis=_millis(options["timestamp"]))
        if "snapshot" in options:
            return replace(found, snapshot_id=_number(options["snapshot"]))
        return replace(found, tag=options["tag"]) if "tag" in options else found

    def _between(self) -> tuple[Snapshot | None, Snapshot]:
        names = [name.strip() for name in self._options["changes"].split(",")]
        if len(names) != 2 or not all(names):
            raise _unfit("'changes' takes two snapshot ids or tags, such as 3,7.", "changes")
        start = None if names[0] == "0" else self.table.snapshot_for(names[0])
        return start, self.table.snapshot_for(names[1])


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise _unfit(f"'snapshot' is {text!r}, which is no snapshot id.", "snapshot")
    return int(text)


def _millis(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        return moment_millis(text)
    except ValueError as error:
        raise _unfit(
            f"'timestamp' is {text!r}; write it as 2026-01-31T08:00:00+00:00 or in milliseconds.",
            "timestamp",
        ) from error


def _unfit(message: str, option: str) -> InvalidInput:
    return InvalidInput(message, kind=ErrorKind.INVALID_OPTION, option=option)
