"""Full compaction: rewrite the rows of a bucket, by key on the top level or in large files.

Source: Paimon MergeTreeCompactManager, MergeTreeCompactRewriter, BucketedAppendCompactManager,
AppendCompactCoordinator.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.rows.row_commit import PreparedRows
from branch_console.commit.snapshot.overwrite_upgrade import top_level
from branch_console.format import options as table_options
from branch_console.format.index_manifest import NO_INDEX_FILES
from branch_console.format.manifest_entry import MANIFEST_ENTRY, FileSource
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import BucketMode, TableSchema
from branch_console.format.values.binary_rows import encode_rows
from branch_console.spark.files.conform import unsupported
from branch_console.spark.files.data_files import (
    WriteTarget,
    check_writable,
    write_bucket,
    write_run,
)
from branch_console.spark.files.data_reader import DataFile, read_data_file
from branch_console.spark.files.deletion_vectors import drop_marks
from branch_console.spark.kernels.merge_on_read import (
    SEQUENCE_NUMBER,
    VALUE_KIND,
    merge_rows,
    row_order,
)
from branch_console.spark.read.read_plan import PlacedFile, place_files, sections
from branch_console.spark.read.readers import check_alone, check_readable
from branch_console.spark.session.arrow_bytes import from_bytes, to_bytes
from branch_console.spark.session.session import Progress, WarmSession
from branch_console.spark.session.unit_tasks import run_units
from branch_console.spark.write.writers import check_store, identity_of, write_target
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ReadState

# As in Paimon, a file that is nearly as large as wanted is left as it is.
_SMALL_SHARE: Final = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedFile:
    """A file that a compaction reads; `entry` are its columns of MANIFEST_ENTRY."""

    placed: PlacedFile
    entry: dict[str, Any]

    @property
    def data(self) -> DataFile:
        """The data file that is read."""
        return self.placed.data


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactUnit:
    """Files of one bucket that become one run, or fewer files."""

    number: int
    partition: bytes
    bucket: int
    files: tuple[CompactedFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.data.size for file in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactTask:
    """The target, schemas and level that a task of a compaction needs; sent to each task."""

    target: WriteTarget
    schemas: Mapping[int, TableSchema]
    level: int

    def do(self, unit: CompactUnit) -> dict[str, bytes]:
        """Rewrite the rows of a unit; `files` are packed, with the columns of MANIFEST_ENTRY."""
        return {"files": to_bytes(self._compact(unit))}

    def _compact(self, unit: CompactUnit) -> pa.Table:
        target, file_id = self.target, self.target.new_file_id()
        if target.has_keys:
            together = sections((file.placed for file in unit.files), target.schema)
            runs = (self._merged(section) for section in together)
            return write_run(
                target, unit.partition, unit.bucket, runs, level=self.level, file_id=file_id
            )
        first = min(file.entry["min_sequence_number"] for file in unit.files)
        return write_bucket(
            target,
            unit.partition,
            unit.bucket,
            (self._read(file.data, with_system=False) for file in unit.files),
            next_sequence=first,
            file_id=file_id,
            source=FileSource.COMPACT,
        ).new_files

    def _read(self, file: DataFile, *, with_system: bool) -> pa.Table:
        fields = self.target.schema.fields
        return read_data_file(
            self.target.store, file, self.schemas, fields, with_system=with_system
        )

    def _merged(self, files: Iterable[PlacedFile]) -> pa.Table:
        rows = pa.concat_tables([self._read(file.data, with_system=True) for file in files])
        return with_sequences(merge_rows(rows, self.target.schema), rows, self.target.schema)


def compact(
    session: WarmSession,
    store: FileIO,
    table: FileStoreTable,
    buckets: Collection[tuple[bytes, int]] | None = None,
    *,
    write_id: str = "",
    progress: Progress = lambda done, total: None,
) -> PreparedRows:
    """Rewrite the rows of buckets into as few files as possible.

    With a primary key all files of a bucket become one run on the top level, in which each key
    stands once and deletes are gone. Without one, small files and files with deleted rows become
    large ones. A bucket in which nothing can be won is left as it is.

    Args:
        session: The Spark session for the tasks.
        store: The store of the table's paths, with the right to write.
        table: The table on the branch to be written.
        buckets: Encoded partitions and buckets; None for all.
        write_id: The id that the names of all files contain.
        progress: Called with tasks done and tasks known; what it raises stops the writing.

    Returns:
        A message a unit; the rows are those of the files that were written.

    Raises:
        InvalidInput: The table is of a kind that is not compacted here.
    """
    check_alone(table)
    state = ReadState.as_it_is(table)
    schema, head = state.schema, state.snapshot
    check_compactable(schema)
    check_store(store)
    state.check_rewritable()
    if head is None:
        return PreparedRows(messages=(), row_count=0)
    units = plan_compaction(store, table, head, buckets)
    if not units:
        return PreparedRows(messages=(), row_count=0)
    target = write_target(store, table, write_id)
    task = CompactTask(
        target=target,
        schemas={each.id: each for each in table.schemas.all()},
        level=top_level(schema),
    )
    found = run_units(
        session,
        units,
        task.do,
        ("files",),
        description=f"compact {table.identifier}",
        progress=progress,
    )
    written = {row["number"]: from_bytes(row["files"]) for row in found}
    marks = schema.options.read(table_options.DELETION_VECTORS_ENABLED)
    messages = _messages(table, head, units, written, target)
    is_guarded = marks and schema.bucket_mode is not BucketMode.BUCKET_UNAWARE
    return PreparedRows(
        messages=messages,
        row_count=sum(pc.sum(files["row_count"]).as_py() or 0 for files in written.values()),
        expected_head=identity_of(head) if is_guarded else None,
    )


def check_compactable(schema: TableSchema) -> None:
    """Refuse tables whose compaction would have to do more.

    Raises:
        InvalidInput: By the name of the option.
    """
    check_writable(schema, keeps_index=True)
    check_readable(schema)
    if schema.options.read(table_options.ROW_TRACKING_ENABLED):
        raise unsupported(
            "A table with 'row-tracking.enabled' is not compacted here: its rows would lose their "
            "ids. Compact it with Paimon."
        )
    producer = schema.options.read(table_options.CHANGELOG_PRODUCER)
    if schema.primary_keys and producer in ("lookup", "full-compaction"):
        raise unsupported(
            f"A table with 'changelog-producer' = {producer} is not compacted here: its changelog "
            "is made by compaction. Compact it with Paimon."
        )
    expires = "record-level.expire-time"
    if expires in schema.options:
        raise unsupported(f"A table with {expires!r} is not compacted here. Do it with Paimon.")


def plan_compaction(
    store: FileIO,
    table: FileStoreTable,
    head: Snapshot,
    buckets: Collection[tuple[bytes, int]] | None = None,
) -> tuple[CompactUnit, ...]:
    """Decide which files of which buckets are rewritten together."""
    schema = table.schema()
    files = table.live_files(
        head, partitions=None if buckets is None else {place for place, _ in buckets}
    )
    found: dict[tuple[bytes, int], list[CompactedFile]] = defaultdict(list)
    for placed, entry in zip(
        place_files(store, table, head, files), files.to_pylist(), strict=True
    ):
        place = (placed.partition, placed.bucket)
        if buckets is None or place in buckets:
            found[place].append(CompactedFile(placed=placed, entry=entry))
    groups = [
        (place, group)
        for place, of_bucket in sorted(found.items())
        for group in (
            _keyed_groups(of_bucket, schema)
            if schema.primary_keys
            else _append_groups(of_bucket, schema)
        )
    ]
    return tuple(
        CompactUnit(number=number, partition=place[0], bucket=place[1], files=tuple(group))
        for number, (place, group) in enumerate(groups)
    )


def with_sequences(merged: pa.Table, rows: pa.Table, schema: TableSchema) -> pa.Table:
    """Merged rows with the newest sequence number of their key, as inserts.

    Args:
        merged: One row a key, with the columns of the table.
        rows: The merged rows, with SEQUENCE_NUMBER.
        schema: The table.
    """
    keys, types = list(schema.trimmed_primary_keys), schema.key_type.types
    kinds = pa.repeat(pa.scalar(0, pa.int8()), merged.num_rows)
    if not merged.num_rows:
        numbers: pa.Array = pa.array([], pa.int64())
    else:
        ordered = rows.take(row_order(rows, schema))
        encoded = encode_rows(ordered.select(keys), types)
        codes = encoded.dictionary_encode()
        newest = np.full(len(codes.dictionary), np.iinfo(np.int64).min)
        np.maximum.at(newest, codes.indices.to_numpy(), ordered[SEQUENCE_NUMBER].to_numpy())
        at = pc.index_in(encode_rows(merged.select(keys), types), value_set=codes.dictionary)
        numbers = pa.array(newest).take(at)
    return merged.append_column(SEQUENCE_NUMBER, numbers).append_column(VALUE_KIND, kinds)


def _keyed_groups(files: list[CompactedFile], schema: TableSchema) -> Iterator[list[CompactedFile]]:
    top = top_level(schema)
    is_done = all(
        file.entry["level"] == top
        and not file.entry["delete_row_count"]
        and file.data.deleted is None
        for file in files
    )
    if not is_done:
        yield files


def _append_groups(
    files: list[CompactedFile], schema: TableSchema
) -> Iterator[list[CompactedFile]]:
    wanted = schema.options.read(table_options.TARGET_FILE_SIZE_APPEND)

    def is_small(file: CompactedFile) -> bool:
        return file.data.size < wanted * _SMALL_SHARE or file.data.deleted is not None

    ordered = sorted(files, key=lambda file: file.entry["min_sequence_number"])
    if schema.bucket_mode is BucketMode.BUCKET_UNAWARE:
        # No order is to be kept, so large files stay wherever they stand.
        ordered = [file for file in ordered if is_small(file)]
        yield from _full_groups(ordered, wanted)
        return
    while ordered and not is_small(ordered[0]):
        ordered = ordered[1:]
    if len(ordered) > 1 or any(file.data.deleted is not None for file in ordered):
        yield ordered


def _full_groups(files: list[CompactedFile], wanted: int) -> Iterator[list[CompactedFile]]:
    held: list[CompactedFile] = []
    for file in files:
        held.append(file)
        if sum(each.data.size for each in held) >= wanted:
            yield held
            held = []
    if len(held) > 1 or any(file.data.deleted is not None for file in held):
        yield held


def _messages(
    table: FileStoreTable,
    head: Snapshot,
    units: Collection[CompactUnit],
    written: Mapping[int, pa.Table],
    target: WriteTarget,
) -> tuple[CommitMessage, ...]:
    """A message a unit; the vectors of a bucket go with the first unit that reads from it."""
    gone: dict[tuple[bytes, int], list[str]] = defaultdict(list)
    for unit in units:
        for file in unit.files:
            if file.data.deleted is not None:
                gone[unit.partition, unit.bucket].append(file.entry["file_name"])
    messages = []
    for unit in units:
        new_index, old_index = NO_INDEX_FILES, NO_INDEX_FILES
        names = gone.pop((unit.partition, unit.bucket), [])
        if names:
            place = (unit.partition, unit.bucket)
            new_index, old_index = drop_marks(table, head, target, place, names)
        entries = [file.entry for file in unit.files]
        messages.append(
            CommitMessage(
                partition=unit.partition,
                bucket=unit.bucket,
                total_buckets=entries[0]["total_buckets"],
                compact_before=pa.Table.from_pylist(entries, schema=MANIFEST_ENTRY),
                compact_after=written[unit.number],
                compact_new_index_files=new_index,
                compact_deleted_index_files=old_index,
            )
        )
    return tuple(messages)
