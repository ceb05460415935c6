"""Rows of two states counted by reading them: all of the first, and those that differ.

What one file alone tells is not read: a record of a key that no other file mentions is a row. Of
the rest only keys, sequence numbers and kinds are read, and what differs is compared whole.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.rows.row_diff import KIND, RowDiffWork
from branch_console.diff.rows.row_figure import RowCounts
from branch_console.diff.rows.row_kind import RowKind
from branch_console.diff.state_diff import ComparedState
from branch_console.spark.compare.compare_units import CompareUnit, plan_units
from branch_console.spark.compare.profile_units import merging_options
from branch_console.spark.compare.row_compare import CompareTask, task_of
from branch_console.spark.files.data_reader import DataFile
from branch_console.spark.read.read_plan import ReadUnit
from branch_console.spark.read.readers import ReadTask, plan_table
from branch_console.spark.session.session import Progress, WarmSession
from branch_console.spark.session.unit_tasks import HasNumber, run_units
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ReadState

LOCAL_BYTES: Final = 64 << 20
"""Bytes of files up to which counting them here takes less time than starting Spark."""

_VERSION: Final = 1
_COUNT: Final = "count"

Unit = TypeVar("Unit", bound=HasNumber)


class UnitCounts(Protocol):
    """The store of the row counts of units, which never change."""

    def find(self, key: str) -> int | None:
        """Return the rows of a unit, None if nobody has counted them."""

    def keep(self, key: str, rows: int) -> None:
        """Keep the rows of a unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountUnit:
    """Files that are counted together."""

    number: int
    task: ReadTask
    files: ReadUnit

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files.files)

    @property
    def key(self) -> str:
        """The key that its count is kept under."""
        names = sorted(_content_of(file) for file in self.files.files)
        text = json.dumps([_VERSION, names, merging_options(self.task.schema)])
        return hashlib.sha256(text.encode()).hexdigest()[:40]

    def count(self) -> int:
        """Read how many rows its files come to."""
        return sum(batch.num_rows for batch in self.task.batches(self.files))


def count_rows(
    open_session: Callable[[], WarmSession],
    store: FileIO,
    table: FileStoreTable,
    work: RowDiffWork,
    units: UnitCounts,
    *,
    progress: Progress = lambda done, total: None,
    local_bytes: int = LOCAL_BYTES,
) -> RowCounts:
    """Count the rows of two states of a table with a primary key, and those that differ.

    Args:
        open_session: Gives the session that the tasks run in; asked only for large work.
        store: The store of the table.
        table: The table on any branch.
        work: The two states.
        units: The counts that are kept from before.
        progress: Called with units done and units known; what it raises stops the count.
        local_bytes: Up to how many bytes of files the units are done in this process.

    Raises:
        FormatError: A file is missing or cannot be read.
        InvalidInput: The table is of a kind whose rows cannot be read here.
    """
    compared, task = plan_units(store, table, work), task_of(store, table, work)
    known, unknown = _units_of(store, table, work.before, units)
    size = sum(unit.size for unit in unknown) + sum(unit.size for unit in compared)
    is_local = size <= local_bytes
    do = _Runner(open_session=open_session, is_local=is_local, progress=progress)
    name = table.identifier.table_name
    before = known
    for unit, counts in zip(unknown, do.run(unknown, _count, f"count rows of {name}"), strict=True):
        units.keep(unit.key, counts[_COUNT])
        before += counts[_COUNT]
    kinds: Counter[str] = Counter()
    for counts in do.run(compared, _Comparing(task=task), f"compare rows of {name}"):
        kinds.update(counts)
    added, removed = kinds[RowKind.ADDED], kinds[RowKind.REMOVED]
    return RowCounts(
        before=before,
        after=before + added - removed,
        added=added,
        removed=removed,
        changed=kinds[RowKind.CHANGED],
    )


def _units_of(
    store: FileIO, table: FileStoreTable, state: ComparedState, kept: UnitCounts
) -> tuple[int, list[CountUnit]]:
    """The rows of a state that are known, and the units that have to be read for the others."""
    if state.snapshot is None:
        return 0, []
    there = table.on(state.branch)
    read = plan_table(
        store,
        ReadState(table=there, snapshot=state.snapshot, schema=state.schema),
        columns=state.schema.primary_keys[:1],
    )
    found = _rows_by_files(there.live_files(state.snapshot))
    known = 0
    unknown: list[CountUnit] = []
    for task, units in read.tasks():
        for files in units:
            unit = CountUnit(number=len(unknown), task=task, files=files)
            rows = _rows_of(files, found)
            rows = kept.find(unit.key) if rows is None else rows
            if rows is None:
                unknown.append(unit)
            else:
                known += rows
    return known, unknown


def _rows_by_files(files: pa.Table) -> Mapping[str, int]:
    """The records of each file that deletes none."""
    # Old writers leave the count out: then the file may hold deletes, and must be read.
    alone = files.filter(pc.equal(pc.fill_null(files["delete_row_count"], 1), 0))
    names, counts = (alone[column].to_pylist() for column in ("file_name", "row_count"))
    return dict(zip(names, counts, strict=True))


def _rows_of(unit: ReadUnit, reported: Mapping[str, int]) -> int | None:
    """The rows of files that share no key with others, if their entries tell."""
    # Files that overlap may have the same key twice, and deletion vectors hide rows: only reading
    # such files counts their rows.
    if unit.is_merged or any(file.deleted is not None for file in unit.files):
        return None
    found = [reported.get(file.path.rpartition("/")[2]) for file in unit.files]
    return None if None in found else sum(each or 0 for each in found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparing:
    """Counts the rows of a unit in which two states differ, by kind."""

    task: CompareTask

    def __call__(self, unit: CompareUnit) -> Mapping[str, bytes | None]:
        found = pc.value_counts(self.task.compare(unit)[KIND]).to_pylist()
        return {each["values"]: str(each["counts"]).encode() for each in found}


def _count(unit: CountUnit) -> Mapping[str, bytes | None]:
    return {_COUNT: str(unit.count()).encode()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runner:
    """Does units here where all are small, and in tasks of Spark where they are not."""

    open_session: Callable[[], WarmSession]
    is_local: bool
    progress: Progress

    def run(
        self, units: Sequence[Unit], do: Callable[[Unit], Mapping[str, bytes | None]], what: str
    ) -> list[dict[str, int]]:
        """Do units; what each counted, in their order."""
        if not self.is_local:
            columns = (_COUNT, *RowKind)
            found: list[Mapping[str, Any]] = list(
                run_units(
                    self.open_session(),
                    units,
                    do,
                    columns,
                    description=what,
                    progress=self.progress,
                )
            )
            by_number = {row["number"]: row for row in found}
            found = [by_number[unit.number] for unit in units]
        else:
            found = []
            for at, unit in enumerate(units):
                self.progress(at, len(units))
                found.append(do(unit))
        return [
            {name: int(value) for name, value in row.items() if isinstance(value, bytes)}
            for row in found
        ]


def _content_of(file: DataFile) -> list[str | int]:
    name = file.path.rpartition("/")[2]
    mark = file.deleted
    return [name] if mark is None else [name, mark.index_path, mark.range.offset]
