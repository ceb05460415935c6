"""The files of two states that are read together to compare rows; chosen from metadata alone."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.changes.file_history import original_name
from branch_console.diff.rows.row_diff import RowDiffWork
from branch_console.diff.state_diff import ComparedState
from branch_console.format.table_schema import BucketMode
from branch_console.spark.files.data_reader import DataFile
from branch_console.spark.read.read_plan import PlacedFile, place_files, sections, visible_files
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareUnit:
    """The files that one task compares: groups of files on each side, each merged by itself."""

    number: int
    before: tuple[tuple[DataFile, ...], ...]
    after: tuple[tuple[DataFile, ...], ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(
            file.size for side in (self.before, self.after) for group in side for file in group
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sided:
    """A file with the sides that show it alike."""

    file: PlacedFile
    before: bool
    after: bool

    @property
    def place(self) -> tuple[bytes, int]:
        return self.file.partition, self.file.bucket


def plan_units(store: FileIO, table: FileStoreTable, work: RowDiffWork) -> tuple[CompareUnit, ...]:
    """Decide which files are compared together, the largest units first.

    Raises:
        FormatError: Metadata is missing or broken.
        InvalidInput: A file is of a format, or lies in a store, that is not served.
    """
    files = _sided_files(store, table, work)
    schema = work.after.schema
    if work.keys and not (schema.skips_level_0 and work.before.schema.skips_level_0):
        groups = list(_overlapping(files, work))
    else:
        own = [each for each in files if not (each.before and each.after)]
        # Where each key stands once a side, rows of files that both show alike differ nowhere.
        groups = list(_overlapping(own, work)) if work.keys else [[each] for each in own]
    units = [_unit(number, group) for number, group in enumerate(groups)]
    return tuple(sorted(units, key=lambda unit: -unit.size))


def _unit(number: int, group: Sequence[_Sided]) -> CompareUnit:
    ordered = sorted(group, key=lambda each: each.place)
    return CompareUnit(
        number=number,
        before=_by_place(each for each in ordered if each.before),
        after=_by_place(each for each in ordered if each.after),
    )


def _by_place(files: Iterable[_Sided]) -> tuple[tuple[DataFile, ...], ...]:
    """Files of one bucket are merged with each other, and with no others."""
    buckets = groupby(files, key=lambda each: each.place)
    return tuple(tuple(each.file.data for each in bucket) for _, bucket in buckets)


def _sided_files(store: FileIO, table: FileStoreTable, work: RowDiffWork) -> list[_Sided]:
    """The files of places that differ, each once where both sides show the same of it."""
    before, after = (
        _placed(store, table.on(state.branch), state, work.places)
        for state in (work.before, work.after)
    )
    files = []
    for key, old in before.items():
        new = after.get(key)
        is_shared = new is not None and new.data.deleted == old.data.deleted
        files.append(_Sided(file=old, before=True, after=is_shared))
        if new is not None and not is_shared:
            files.append(_Sided(file=new, before=False, after=True))
    files += [
        _Sided(file=new, before=False, after=True)
        for key, new in after.items()
        if key not in before
    ]
    return files


_FileKey = tuple[bytes, int, str]


def _placed(
    store: FileIO,
    table: FileStoreTable,
    state: ComparedState,
    places: frozenset[tuple[bytes, int]],
) -> dict[_FileKey, PlacedFile]:
    if state.snapshot is None or not places:
        return {}
    files = visible_files(table, state.snapshot, state.schema)
    partitions = pa.array(sorted({partition for partition, _ in places}), pa.binary())
    wanted = files.filter(pc.is_in(files["partition"], value_set=partitions))
    return {
        (each.partition, each.bucket, original_name(each.data.path.rpartition("/")[2])): each
        for each in place_files(store, table, state.snapshot, wanted)
        if (each.partition, each.bucket) in places
    }


def _overlapping(files: Sequence[_Sided], work: RowDiffWork) -> Iterator[list[_Sided]]:
    """Files whose keys may meet, of which at least one is not the same on both sides."""
    scope = _scope_of(files, work)
    ordered = sorted(files, key=scope)
    for _, group in groupby(ordered, key=scope):
        members = list(group)
        by_file = {id(each.file): each for each in members}
        for section in sections((each.file for each in members), work.after.schema):
            found = [by_file[id(file)] for file in section]
            if not all(each.before and each.after for each in found):
                yield found


def _scope_of(files: Iterable[_Sided], work: RowDiffWork) -> Callable[[_Sided], tuple[Any, ...]]:
    """Return the key of the place that has all rows of a key on both sides.

    The place is a bucket, unless a key may lie in different buckets on the two sides.
    """
    schemas = (work.before.schema, work.after.schema)
    if any(schema.bucket_mode is BucketMode.KEY_DYNAMIC for schema in schemas):
        return lambda _: ()
    if any(schema.bucket_mode is not BucketMode.HASH_FIXED for schema in schemas):
        return lambda each: (each.file.partition,)
    # The option does not tell: a partition keeps its number of buckets until it is overwritten.
    numbers: dict[bytes, set[int]] = {}
    for each in files:
        numbers.setdefault(each.file.partition, set()).add(each.file.total_buckets)
    moved = {partition for partition, found in numbers.items() if len(found) > 1}
    return lambda each: (each.file.partition,) if each.file.partition in moved else each.place
