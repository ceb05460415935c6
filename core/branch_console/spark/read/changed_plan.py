"""The files that have the rows committed between two states; chosen from metadata alone.

The files that commits added, or their changelog files, contain each written row. A comparison reads
the files that only one of the states has. Paimon leaves out files that both have, and so do we.
Source: Paimon IncrementalDeltaStartingScanner, SnapshotReaderImpl.toIncrementalPlan,
RawFileSplitRead, IncrementalDiffSplitRead.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.manifest_entry import NO_FILES, FileKind
from branch_console.format.scan_options import BETWEEN, ChangeMode
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import BucketMode, TableSchema
from branch_console.spark.read.read_plan import (
    PlacedFile,
    ReadPlan,
    ReadUnit,
    by_bucket,
    place_files,
    sections,
)
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ChangedState

# A file that only moved to another level is another one to Paimon.
_IDENTITY: Final = ["partition", "bucket", "total_buckets", "level", "file_name", "external_path"]


def plan_changed(store: FileIO, state: ChangedState) -> ReadPlan:
    """Decide which files a read of changes opens, and which of them together.

    Raises:
        FormatError: Metadata is missing or broken.
        InvalidInput: A file is of a format, or lies in a store, that is not served; or a commit
            that only adds rows deletes files.
    """
    if state.snapshot is None:
        return ReadPlan(units=())
    if state.before is None:
        found = state.table.reader.map_parallel(lambda each: _own_files(state, each), state.commits)
        entries = pa.concat_tables([NO_FILES, *found])
        placed = place_files(store, state.table, None, _in_buckets(entries, state.schema))
        return _alone(placed)
    table = state.table
    before, after = (_files(table, each, state.schema) for each in (state.before, state.snapshot))
    came = place_files(store, table, state.snapshot, _without(after, before))
    if not state.schema.primary_keys:
        return _alone(came)
    left = place_files(store, table, state.before, _without(before, after))
    units = tuple(_compared(left, came, state.schema))
    return ReadPlan(units=units, live_files=len(left) + len(came))


def _alone(files: list[PlacedFile]) -> ReadPlan:
    units = tuple(ReadUnit(files=(file.data,), is_merged=False) for file in files)
    return ReadPlan(units=units, live_files=len(units))


def _own_files(state: ChangedState, snapshot: Snapshot) -> pa.Table:
    """The files of the rows that one commit wrote."""
    table = state.table
    is_delta = state.mode is ChangeMode.DELTA
    entries = table.delta_entries(snapshot) if is_delta else table.changelog_entries(snapshot)
    if pc.any(pc.not_equal(entries["kind"], int(FileKind.ADD))).as_py():
        raise InvalidInput(
            f"Snapshot {snapshot.id} says that it adds rows, and deletes files as well, so Paimon "
            f"tells no changes of it. Choose a range without it for {BETWEEN!r}.",
            kind=ErrorKind.UNSUPPORTED,
            option=BETWEEN,
            snapshot_id=snapshot.id,
        )
    return entries


def _files(table: FileStoreTable, snapshot: Snapshot, schema: TableSchema) -> pa.Table:
    return _in_buckets(table.live_files(snapshot), schema)


def _in_buckets(entries: pa.Table, schema: TableSchema) -> pa.Table:
    """Leave out what waits for a bucket: batch readers do not see it."""
    if schema.bucket_mode is not BucketMode.POSTPONE_MODE:
        return entries
    return entries.filter(pc.greater_equal(entries["bucket"], 0))


def _without(files: pa.Table, others: pa.Table) -> pa.Table:
    """The files that others are not the same as."""
    known = set(_identities(others))
    return files.filter(pa.array([each not in known for each in _identities(files)], pa.bool_()))


def _identities(files: pa.Table) -> Iterator[tuple[Any, ...]]:
    return zip(*(files[name].to_pylist() for name in _IDENTITY), strict=True)


def _compared(
    left: list[PlacedFile], came: list[PlacedFile], schema: TableSchema
) -> Iterator[ReadUnit]:
    """The files of the later state with those of the earlier one that may have the same keys."""
    is_new = {id(file) for file in came}
    for section in chain.from_iterable(
        sections(bucket, schema) for bucket in by_bucket([*left, *came])
    ):
        files = tuple(file.data for file in section if id(file) in is_new)
        before = tuple(file.data for file in section if id(file) not in is_new)
        if files:
            yield ReadUnit(files=files, is_merged=len(files) > 1, before=before)
