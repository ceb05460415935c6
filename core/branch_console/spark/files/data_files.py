"""Paimon's data files, made from Arrow tables: columns, order, sizes and manifest entries.

This is what runs inside a Spark task for one bucket; it knows no Spark. Source: Paimon
KeyValueDataFileWriter, RowDataFileWriter.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any, Final, assert_never
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.format import options as table_options
from branch_console.format.layout_options import check_rows_written
from branch_console.format.manifest_entry import MANIFEST_ENTRY, FileKind, FileSource, file_identity
from branch_console.format.partition_path import partition_path
from branch_console.format.table_schema import BucketMode, MergeEngine, TableSchema
from branch_console.format.values.binary_row import EMPTY_ROW, decode_row
from branch_console.format.values.binary_rows import encode_rows
from branch_console.format.values.bucket import assign_buckets
from branch_console.format.values.simple_stats import (
    EMPTY_STATS,
    SimpleStats,
    collect_key_stats,
    collect_stats,
    stats_modes,
)
from branch_console.spark.files.conform import is_retract, unsupported
from branch_console.spark.files.row_files import (
    KEY_PREFIX,
    check_format,
    file_schema,
    file_suffix,
    open_row_file,
)
from branch_console.spark.kernels.merge_on_read import SEQUENCE_NUMBER, VALUE_KIND, row_order
from branch_console.storage.file_io import FileIO
from branch_console.storage.table_paths import TablePaths

_BYTES_PER_ROW_GROUP: Final = 32 << 20
_BYTES_PER_RUN: Final = 256 << 20
_REMOVES_BY_GROUP: Final = "partial-update.remove-record-on-sequence-group"
"""With it a row that deletes is taken, and hides what its sequence groups come after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTarget:
    """The table, on one branch, whose files are written; it travels to the tasks.

    Attributes:
        schema: The newest schema of the branch.
        paths: The paths of data files, shared by all branches.
        created: The creation time in the files: local wall clock, as in Paimon.
        write_id: The id that the names of all files of one write contain, by which they are found
            again.
        replaces: Whether the commit replaces partitions, and so leaves a changelog out.
    """

    schema: TableSchema
    paths: TablePaths
    store: FileIO
    created: datetime
    write_id: str = ""
    replaces: bool = False

    @property
    def has_keys(self) -> bool:
        """Whether rows are found by a primary key."""
        return bool(self.schema.primary_keys)

    @property
    def has_buckets(self) -> bool:
        """Whether a row's bucket follows from its columns."""
        return self.schema.bucket_mode is BucketMode.HASH_FIXED

    @property
    def gathers_buckets(self) -> bool:
        """Whether one task must have all rows of a bucket, in their order."""
        return self.has_keys or self.has_buckets

    def new_file_id(self) -> str:
        """Return an id that makes a task's file names unique, also when Spark runs it again."""
        return f"{self.write_id}-{uuid4().hex}" if self.write_id else str(uuid4())

    @property
    def file_size(self) -> int:
        """Bytes after which the next file begins."""
        option = (
            table_options.TARGET_FILE_SIZE_PRIMARY_KEY
            if self.has_keys
            else table_options.TARGET_FILE_SIZE_APPEND
        )
        return self.schema.options.read(option)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WrittenFiles:
    """The files written to one bucket; both with the columns of MANIFEST_ENTRY."""

    new_files: pa.Table
    changelog_files: pa.Table


def check_writable(
    schema: TableSchema, *, keeps_index: bool = False, is_merge: bool = False
) -> None:
    """Refuse what would need more than data files of rows.

    Args:
        schema: The table.
        keeps_index: Whether the caller keeps the index of dynamic buckets.
        is_merge: Whether branches are merged, which write whole buckets where statements do not.

    Raises:
        InvalidInput: Its rows find their bucket in a way that is not served, files of its format
            cannot hold them, or an option is not served.
    """
    check_rows_written(schema.options, is_merge=is_merge)
    modes = {BucketMode.HASH_FIXED, BucketMode.BUCKET_UNAWARE}
    if keeps_index and not schema.options.read(table_options.INDEX_FILE_IN_DATA_FILE_DIR):
        modes.add(BucketMode.HASH_DYNAMIC)
    if schema.bucket_mode not in modes:
        raise unsupported(
            f"Rows cannot be written here: the buckets are {schema.bucket_mode}. Nothing was "
            "written. Write with Paimon, or to a table whose option 'bucket' is a number.",
        )
    check_format(schema)


def check_deletes(schema: TableSchema) -> None:
    """Refuse tables with a primary key whose merge engine takes no deletes.

    Raises:
        InvalidInput: By the name of the engine or option.
    """
    if schema.options.read(table_options.IGNORE_DELETE):
        raise unsupported(
            "The table has 'ignore-delete' = true: readers and writers ignore deletes, so no row "
            "can be deleted. Unset the option, or overwrite the partition."
        )
    name = schema.options.read(table_options.MERGE_ENGINE)
    match schema.merge_engine:
        case MergeEngine.DEDUPLICATE:
            return
        case MergeEngine.PARTIAL_UPDATE:
            option = "partial-update.remove-record-on-delete"
        case MergeEngine.AGGREGATION:
            option = "aggregation.remove-record-on-delete"
        case MergeEngine.FIRST_ROW | None:
            raise unsupported(
                f"Rows cannot be deleted from a table with the merge engine {name!r}."
            )
        case _ as engine:
            assert_never(engine)
    if schema.options.get(option, "").lower() != "true":
        raise unsupported(
            f"Rows cannot be deleted from a table with the merge engine {name!r} unless its "
            f"option {option!r} is true."
        )


def split(rows: pa.Table, target: WriteTarget) -> Iterator[tuple[bytes, int, pa.Table]]:
    """Split rows by partition and bucket, keeping their order.

    Args:
        rows: The rows from `conform`.
        target: Says how rows find their partition and bucket.

    Yields:
        The partition as BinaryRow bytes, the bucket, and its rows.
    """
    schema = target.schema
    if rows.num_rows == 0:
        return
    count = rows.num_rows
    buckets = (
        np.asarray(assign_buckets(rows, schema))
        if target.has_buckets
        else np.zeros(count, dtype=np.int32)
    )
    partitions, codes = _partitions(rows, schema)
    groups = codes.astype(np.int64) * (int(buckets.max()) + 1) + buckets
    if groups.min() == groups.max():
        yield partitions[int(codes[0])], int(buckets[0]), rows
        return
    order = np.argsort(groups, kind="stable")
    sorted_rows = rows.take(pa.array(order))
    starts = [0, *(np.flatnonzero(np.diff(groups[order])) + 1).tolist(), count]
    for start, end in pairwise(starts):
        first = int(order[start])
        part = sorted_rows.slice(start, end - start)
        yield partitions[int(codes[first])], int(buckets[first]), part


def write_bucket(
    target: WriteTarget,
    partition: bytes,
    bucket: int,
    chunks: Iterable[pa.Table],
    *,
    next_sequence: int,
    file_id: str,
    source: FileSource = FileSource.APPEND,
) -> WrittenFiles:
    """Write the rows of one bucket as data files; nothing refers to them yet.

    Args:
        target: The table.
        partition: As BinaryRow bytes.
        bucket: The number of the bucket.
        chunks: Tables as `split` yields them, in order of arrival.
        next_sequence: The first sequence number that the bucket has not used.
        file_id: An id that makes the names of the files unique: a new UUID.
        source: Whether a writer or a compaction makes them; of a compaction without keys only.
    """
    folder = _Folder(target, partition, bucket, file_id, source=source)
    if not target.has_keys:
        laid_out = (_laid_out(chunk, target.schema) for chunk in chunks)
        new_files = folder.write(_gather(laid_out, folder.group_bytes), next_sequence)
        return WrittenFiles(new_files=new_files, changelog_files=MANIFEST_ENTRY.empty_table())
    producer = target.schema.options.read(table_options.CHANGELOG_PRODUCER)
    keeps_changelog = producer == "input" and not target.replaces
    new_files, changelog_files = [], []
    for chunk in _gather(chunks, _BYTES_PER_RUN):
        arrived = _sort(chunk, target.schema, next_sequence)
        next_sequence += chunk.num_rows
        new_files += [folder.write([run]) for run in _merge(arrived, target.schema)]
        if keeps_changelog:
            changelog_files.append(folder.write([arrived], prefix="changelog-"))
    return WrittenFiles(
        new_files=pa.concat_tables([MANIFEST_ENTRY.empty_table(), *new_files]),
        changelog_files=pa.concat_tables([MANIFEST_ENTRY.empty_table(), *changelog_files]),
    )


def write_run(
    target: WriteTarget,
    partition: bytes,
    bucket: int,
    rows: Iterable[pa.Table],
    *,
    level: int,
    file_id: str,
) -> pa.Table:
    """Write one sorted run of a bucket with keys above level 0, as a compaction does.

    Args:
        target: The table.
        partition: As BinaryRow bytes.
        bucket: The number of the bucket.
        rows: By rising keys, none of which stands twice: the columns of the table, SEQUENCE_NUMBER
            and VALUE_KIND.
        level: The level of the run.
        file_id: As for `write_bucket`.

    Returns:
        Columns of MANIFEST_ENTRY.
    """
    folder = _Folder(target, partition, bucket, file_id, level=level, source=FileSource.COMPACT)
    return folder.write(_gather((_laid_out(each, target.schema) for each in rows), _BYTES_PER_RUN))


# --- partitions and runs ------------------------------------------------------------------------


def _partitions(
    rows: pa.Table, schema: TableSchema
) -> tuple[list[bytes], npt.NDArray[np.integer[Any]]]:
    """The distinct partitions as BinaryRow bytes, and which of them each row is in."""
    if not schema.partition_keys:
        return [EMPTY_ROW], np.zeros(rows.num_rows, dtype=np.int32)
    encoded = encode_rows(rows.select(list(schema.partition_keys)), schema.partition_type.types)
    found = encoded.dictionary_encode()
    return found.dictionary.to_pylist(), found.indices.to_numpy()


def _gather(chunks: Iterable[pa.Table], size: int) -> Iterator[pa.Table]:
    """Join small tables until they have `size` bytes."""
    held: list[pa.Table] = []
    for chunk in chunks:
        held.append(chunk)
        if sum(table.nbytes for table in held) >= size:
            yield pa.concat_tables(held).combine_chunks()
            held = []
    if held:
        yield pa.concat_tables(held).combine_chunks()


def _sort(rows: pa.Table, schema: TableSchema, next_sequence: int) -> pa.Table:
    """Rows in the columns of a data file, by key, then user sequence, then arrival."""
    order = row_order(rows, schema)
    sequence = pc.add(order.cast(pa.int64()), next_sequence)
    return _laid_out(rows.take(order).append_column(SEQUENCE_NUMBER, sequence), schema)


def _laid_out(rows: pa.Table, schema: TableSchema) -> pa.Table:
    """Rows in the columns of a data file."""
    layout = file_schema(schema)
    columns = [rows[name.removeprefix(KEY_PREFIX)] for name in layout.names]
    return pa.Table.from_arrays(columns, schema=layout)


def _merge(rows: pa.Table, schema: TableSchema) -> list[pa.Table]:
    """Runs in which no key stands twice, oldest first, as readers of a sorted run expect.

    Deduplicating engines keep one row a key; for the others the n-th row of a key goes to the n-th
    run, so that readers merge them as if they had come in commits of their own.
    """
    if pc.any(is_retract(rows[VALUE_KIND])).as_py() and _REMOVES_BY_GROUP not in schema.options:
        check_deletes(schema)
    keys = encode_rows(rows.select(list(schema.trimmed_primary_keys)), schema.key_type.types)
    repeats = np.asarray(pc.equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False), dtype=bool)
    if not repeats.any():
        return [rows]
    is_first = np.concatenate([[True], ~repeats])
    match schema.merge_engine:
        case MergeEngine.FIRST_ROW:
            return [rows.filter(pa.array(is_first))]
        case MergeEngine.DEDUPLICATE:
            return [rows.filter(pa.array(np.concatenate([~repeats, [True]])))]
        case MergeEngine.PARTIAL_UPDATE | MergeEngine.AGGREGATION | None:
            pass
        case _ as engine:
            assert_never(engine)
    starts = np.flatnonzero(is_first)
    position = np.arange(rows.num_rows) - np.repeat(starts, np.diff([*starts, rows.num_rows]))
    return [rows.filter(pa.array(position == n)) for n in range(int(position.max()) + 1)]


# --- files --------------------------------------------------------------------------------------


class _Folder:
    """The folder of one bucket, and the files written into it."""

    def __init__(
        self,
        target: WriteTarget,
        partition: bytes,
        bucket: int,
        file_id: str,
        *,
        level: int = 0,
        source: FileSource = FileSource.APPEND,
    ) -> None:
        self._level = level
        self._source = source
        self._target = target
        self._schema = target.schema
        self._partition = partition
        self._bucket = bucket
        self._file_id = file_id
        self._count = 0
        values = decode_row(partition, target.schema.partition_type.types)
        self._partition_path = partition_path(values, target.schema)
        self.group_bytes = max(1, min(_BYTES_PER_ROW_GROUP, target.file_size // 4))

    def write(
        self, tables: Iterable[pa.Table], next_sequence: int = 0, *, prefix: str | None = None
    ) -> pa.Table:
        """Write tables one behind the other, a new file wherever one is large enough.

        Args:
            tables: In the columns of a data file.
            next_sequence: The sequence number of the first row, if the rows have none.
            prefix: The prefix of the names, instead of the one for data files.
        """
        prefix = prefix or self._schema.options.read(table_options.DATA_FILE_PREFIX)
        entries = []
        for rows, data in self._roll(tables):
            entries.append(self._publish(f"{prefix}{self._file_id}", rows, data, next_sequence))
            next_sequence += rows.num_rows
        found = pa.Table.from_pylist(entries, schema=MANIFEST_ENTRY)
        position = found.schema.get_field_index("identity")
        return found.set_column(position, MANIFEST_ENTRY.field(position), file_identity(found))

    def _roll(self, tables: Iterable[pa.Table]) -> Iterator[tuple[pa.Table, bytes]]:
        slices = _slices(tables, self.group_bytes)
        for first in slices:
            file = open_row_file(self._schema, self.group_bytes)
            held = [first]
            file.add(first)
            while file.size < self._target.file_size:
                rows = next(slices, None)
                if rows is None:
                    break
                file.add(rows)
                held.append(rows)
            yield pa.concat_tables(held), file.finish()

    def _publish(
        self, stem: str, rows: pa.Table, data: bytes, next_sequence: int
    ) -> dict[str, Any]:
        name = f"{stem}-{self._count}{file_suffix(self._schema)}"
        self._count += 1
        path = self._target.paths.data_file(self._partition_path, self._bucket, name)
        self._target.store.create(path, data)
        schema = self._schema
        return {
            "kind": FileKind.ADD,
            "partition": self._partition,
            "bucket": self._bucket,
            "total_buckets": schema.num_buckets,
            "file_name": name,
            "file_size": len(data),
            "row_count": rows.num_rows,
            "schema_id": schema.id,
            "level": self._level,
            "extra_files": [],
            "creation_time": self._target.created,
            "file_source": self._source,
            **(
                _describe_keys(rows, schema, self._level)
                if self._target.has_keys
                else _describe_rows(rows, next_sequence)
            ),
            **_describe_values(rows, schema, self._level),
        }


def _describe_keys(rows: pa.Table, schema: TableSchema, level: int) -> dict[str, Any]:
    keys = rows.select(list(schema.trimmed_primary_keys))
    sorted_by = schema.min_key_type(level)
    ranged = rows.select(list(sorted_by.names))
    ends = pa.concat_tables([ranged.slice(0, 1), ranged.slice(rows.num_rows - 1)])
    first, last = encode_rows(ends, sorted_by.types).to_pylist()
    sequence = pc.min_max(rows[SEQUENCE_NUMBER]).as_py()
    return {
        "min_key": first,
        "max_key": last,
        "key_stats": _stats_row(collect_key_stats(keys, schema.key_type)),
        "min_sequence_number": sequence["min"],
        "max_sequence_number": sequence["max"],
        "delete_row_count": pc.sum(is_retract(rows[VALUE_KIND])).as_py(),
    }


def _describe_rows(rows: pa.Table, next_sequence: int) -> dict[str, Any]:
    return {
        "min_key": EMPTY_ROW,
        "max_key": EMPTY_ROW,
        "key_stats": _stats_row(EMPTY_STATS),
        "min_sequence_number": next_sequence,
        "max_sequence_number": next_sequence + rows.num_rows - 1,
        "delete_row_count": 0,
    }


def _describe_values(rows: pa.Table, schema: TableSchema, level: int) -> dict[str, Any]:
    row_type, options = schema.row_type, schema.options
    stats = collect_stats(
        rows.select(list(row_type.names)),
        row_type,
        stats_modes(row_type.names, options, level=level),
        dense=options.read(table_options.METADATA_STATS_DENSE_STORE),
    )
    return {
        "value_stats": _stats_row(stats),
        "value_stats_cols": None if stats.columns is None else list(stats.columns),
    }


def _stats_row(stats: SimpleStats) -> dict[str, Any]:
    return {
        "min_values": stats.min_values,
        "max_values": stats.max_values,
        "null_counts": list(stats.null_counts),
    }


def _slices(tables: Iterable[pa.Table], size: int) -> Iterator[pa.Table]:
    for table in tables:
        step = max(1, table.num_rows * size // max(1, table.nbytes))
        for start in range(0, table.num_rows, step):
            yield table.slice(start, step)
