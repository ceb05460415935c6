"""Any branch, snapshot or tag of a table as a DataFrame; merged in tasks, without a shuffle.

The driver plans from metadata which files are read together. A task reads them, brings their rows
into today's schema and merges those that share keys. Source: Paimon MergeTreeSplitGenerator,
IntervalPartition, DataTableBatchScan.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from core.errors import ErrorKind, InvalidInput
from core.format import options as table_options
from core.format.binary_row import decode_row
from core.format.data_types import DataField, arrow_schema
from core.format.deletion_vector import DeletionVectorRange
from core.format.index_manifest import IndexType
from core.format.snapshot import Snapshot
from core.format.table_schema import BucketMode, TableSchema
from core.spark.data_reader import DataFile, DeletedRows, check_formats, read_data_file
from core.spark.merge_on_read import check_mergeable, live_rows, merge_rows
from core.storage.file_io import FileIO
from core.table.data_file_paths import data_file_paths
from core.table.file_store_table import FileStoreTable

_BYTES_PER_UNIT: Final = 64 << 20
_UNIT: Final = pa.schema([pa.field("unit", pa.binary(), False)])
_BATCH_ROWS: Final = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadUnit:
    """Files that one task reads; `is_merged` where they share keys."""

    files: tuple[DataFile, ...]
    is_merged: bool

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTask:
    """What every task of a read knows; it travels to them.

    Attributes:
        schema: The schema to read with.
        schemas: All schemas of the branch by id; files name the one that they were written with.
        fields: The columns that are wanted.
    """

    store: FileIO
    schema: TableSchema
    schemas: Mapping[int, TableSchema]
    fields: tuple[DataField, ...]

    def read(self, unit: ReadUnit) -> pa.Table:
        """Read one unit; raises FormatError or InvalidInput."""
        has_keys = bool(self.schema.primary_keys)
        # What decides between rows of a key is read with them, and left out afterwards.
        fields = self.schema.fields if unit.is_merged else self.fields
        parts = [
            read_data_file(self.store, file, self.schemas, fields, with_system=has_keys)
            for file in unit.files
        ]
        rows = pa.concat_tables(parts)
        if unit.is_merged:
            rows = merge_rows(rows, self.schema)
        elif has_keys:
            rows = live_rows(rows)
        return rows.select([field.name for field in self.fields])


def read_table(
    spark: SparkSession,
    store: FileIO,
    table: FileStoreTable,
    snapshot: Snapshot | None = None,
    *,
    columns: Iterable[str] | None = None,
) -> DataFrame:
    """Read a table on a branch.

    Args:
        spark: Where the tasks run.
        store: The store of the table.
        table: The table on the branch to be read.
        snapshot: Which state, see `FileStoreTable.snapshot_for`; the head if left out.
        columns: The wanted columns in their order; all if left out.

    Returns:
        A frame with the columns of the table. Timestamps have microseconds, as Spark's do.

    Raises:
        NotFound: There is no such branch or column.
        FormatError: Metadata is missing or broken.
        InvalidInput: The table needs something that is not served.
    """
    # The head is read with the newest schema, an earlier state with its own, as in Paimon.
    schema = table.schema() if snapshot is None else table.schemas.get(snapshot.schema_id)
    check_readable(schema)
    head = table.head() if snapshot is None else snapshot
    units = () if head is None else plan_units(table, head, schema)
    names = schema.row_type.names if columns is None else tuple(columns)
    task = ReadTask(
        store=store,
        schema=schema,
        schemas={each.id: each for each in table.schemas.all()},
        fields=tuple(schema.field(name) for name in names),
    )
    layout = spark_layout(task.fields)
    frame = spark.createDataFrame(
        pa.table([pa.array([pickle.dumps(each) for each in units], pa.binary())], schema=_UNIT)
    )
    return frame.repartition(max(1, len(units))).mapInArrow(
        _reading(task, layout), from_arrow_schema(layout, prefer_timestamp_ntz=True)
    )


def check_readable(schema: TableSchema) -> None:
    """Refuse tables whose rows need more than reading files and merging by key.

    Raises:
        InvalidInput: What it needs is not served.
    """
    if schema.options.read(table_options.DATA_EVOLUTION_ENABLED):
        raise _unserved("Tables with data evolution")
    for option in ("scan.fallback-branch", "scan.primary-branch"):
        if option in schema.options:
            raise _unserved(f"Tables with {option!r}, whose rows lie on two branches,")
    if schema.primary_keys:
        check_mergeable(schema)


def _unserved(what: str) -> InvalidInput:
    return InvalidInput(
        f"{what} cannot be read here yet. Read the table with Paimon.", kind=ErrorKind.UNSUPPORTED
    )


def plan_units(
    table: FileStoreTable, snapshot: Snapshot, schema: TableSchema
) -> tuple[ReadUnit, ...]:
    """Decide which live files are read together, the largest units first."""
    files = table.live_files(snapshot)
    if schema.primary_keys and schema.skips_level_0:
        files = files.filter(pc.greater(files["level"], 0))
    if schema.bucket_mode is BucketMode.POSTPONE_MODE:
        # Until compaction gives them a bucket, such rows are not there for batch readers.
        files = files.filter(pc.greater_equal(files["bucket"], 0))
    vectors = _deletion_vectors(table, snapshot)
    paths = data_file_paths(table, files).to_pylist()
    check_formats(paths)
    names = ("partition", "bucket", "file_name", "file_size", "schema_id", "min_key", "max_key")
    rows = files.select(names).to_pylist()
    buckets: dict[tuple[bytes, int], list[_Ranged]] = {}
    for row, path in zip(rows, paths, strict=True):
        place = (row["partition"], row["bucket"])
        file = DataFile(
            path=path,
            size=row["file_size"],
            schema_id=row["schema_id"],
            deleted=vectors.get((*place, row["file_name"])),
        )
        buckets.setdefault(place, []).append((row["min_key"], row["max_key"], file))
    merges = bool(schema.primary_keys) and not schema.skips_level_0
    units = [
        unit
        for ranged in buckets.values()
        for unit in (_sections(ranged, schema) if merges else _pieces(ranged))
    ]
    return tuple(sorted(units, key=lambda unit: -unit.size))


_Ranged = tuple[bytes, bytes, DataFile]


def _sections(ranged: Iterable[_Ranged], schema: TableSchema) -> Iterator[ReadUnit]:
    """Files whose key ranges overlap, directly or through others, belong together."""
    types = schema.key_type.types
    decoded = sorted(
        ((decode_row(low, types), decode_row(high, types), file) for low, high, file in ranged),
        key=lambda each: each[0],
    )
    section: list[DataFile] = []
    end: tuple[Any, ...] | None = None
    for low, high, file in decoded:
        if end is not None and low > end:
            yield ReadUnit(files=tuple(section), is_merged=len(section) > 1)
            section, end = [], None
        section.append(file)
        end = high if end is None else max(end, high)
    if section:
        yield ReadUnit(files=tuple(section), is_merged=len(section) > 1)


def _pieces(ranged: Iterable[_Ranged]) -> Iterator[ReadUnit]:
    """Files that share no key, as many as make a task worth starting."""
    held: list[DataFile] = []
    for _, _, file in ranged:
        if held and sum(each.size for each in held) + file.size > _BYTES_PER_UNIT:
            yield ReadUnit(files=tuple(held), is_merged=False)
            held = []
        held.append(file)
    if held:
        yield ReadUnit(files=tuple(held), is_merged=False)


def _deletion_vectors(
    table: FileStoreTable, snapshot: Snapshot
) -> dict[tuple[bytes, int, str], DeletedRows]:
    entries = table.index_entries(snapshot)
    entries = entries.filter(pc.equal(entries["index_type"], IndexType.DELETION_VECTORS.value))
    return {
        (entry["partition"], entry["bucket"], part["data_file"]): DeletedRows(
            index_path=table.paths.index(entry["file_name"], entry["external_path"]),
            range=DeletionVectorRange(
                data_file=part["data_file"],
                offset=part["offset"],
                length=part["length"],
                cardinality=part["cardinality"],
            ),
        )
        for entry in entries.to_pylist()
        for part in entry["dv_ranges"] or ()
    }


def spark_layout(fields: tuple[DataField, ...]) -> pa.Schema:
    """The Arrow columns that Spark takes for columns of a table."""
    plain = pa.schema([_spark_field(field) for field in arrow_schema(fields)])
    kinds = from_arrow_schema(plain, prefer_timestamp_ntz=True)
    return to_arrow_schema(kinds, timezone="UTC")


def _spark_field(field: pa.Field) -> pa.Field:
    return pa.field(field.name, _spark_type(field.type), field.nullable)


def _spark_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_time(kind):
        return pa.time64("ns")
    if pa.types.is_struct(kind):
        return pa.struct([_spark_field(each) for each in kind])
    if pa.types.is_map(kind):
        return pa.map_(_spark_type(kind.key_type), _spark_field(kind.item_field))
    if pa.types.is_list(kind):
        return pa.list_(_spark_field(kind.value_field))
    return kind


def _reading(
    task: ReadTask, layout: pa.Schema
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for packed in batch["unit"].to_pylist():
                rows = task.read(pickle.loads(packed))
                yield from rows.cast(layout, safe=False).to_batches(max_chunksize=_BATCH_ROWS)

    return read
