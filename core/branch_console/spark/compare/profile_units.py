"""The files of two states that are profiled together, and those that both sides have.

Files that are read together are profiled together: one file, or files of a bucket whose keys
overlap. A unit never changes, so its profile can be kept. The result of a merge is a third side,
and the base of both states a fourth; the two states share most files with them.

In a table with a key, a unit is a bucket that was written to, so most rows of a unit of one state
are in both states. Units of one bucket form a group. Its rows are compared when they are read, and
files that both states have are fetched once for it. Decision 0037.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import chain
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.changes.file_history import original_name
from branch_console.diff.rows.row_diff import counted_rows
from branch_console.diff.state_diff import ComparedState
from branch_console.format.data_types import DataField
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.arrow_types import to_arrow
from branch_console.quality.comparison import VERSION
from branch_console.quality.profile import Detail, Profile
from branch_console.quality.profile_rows import profile_rows
from branch_console.quality.work import QualityWork
from branch_console.spark.files.data_reader import DataFile, evolve
from branch_console.spark.files.held_files import HeldFiles
from branch_console.spark.read.read_plan import ReadUnit, plan_files
from branch_console.spark.read.readers import ReadTask, check_alone, check_readable
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import StagedState

_MERGING: Final = (
    *("merge-engine", "sequence.", "fields.", "ignore-", "partial-update.", "aggregation."),
    *("first-row.", "deletion-vectors.enabled", "rowkind.field"),
)

_NAMED_AT_ONCE: Final = 65_536
_DIGEST: Final = 16

_Mark: TypeAlias = tuple[str, int] | None
"""The place of the deletion vector of a file."""


class ProfiledSide(IntEnum):
    """The side whose rows are profiled."""

    BEFORE = 0
    AFTER = 1
    MERGED = 2
    BASE = 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProfileSide:
    """A side, and how it is read.

    Attributes:
        state: Its files.
        sources: The field of each compared column; None if it has none.
    """

    state: StagedState
    sources: tuple[DataField | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileUnit:
    """The files that are profiled at once.

    Attributes:
        number: Its place among all units.
        key: The key that its profile is kept under.
        read_as: The side whose schema it is read with.
        sides: The sides that show the same rows of it.
        partition: BinaryRow bytes.
        bucket: The bucket of its keys.
        rows: How many its files hold, before deletion vectors and merging on read.
    """

    number: int
    key: str
    files: ReadUnit
    read_as: ProfiledSide
    sides: frozenset[ProfiledSide]
    partition: bytes
    bucket: int
    rows: int

    @property
    def is_shared(self) -> bool:
        """Whether both states that are compared show the same rows of it."""
        return {ProfiledSide.BEFORE, ProfiledSide.AFTER} <= self.sides

    @property
    def is_own(self) -> bool:
        """Whether only some of the states, or the result, have its rows."""
        return not self.is_shared and self.sides != {ProfiledSide.BASE}

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileGroup:
    """Units that are read at once.

    Attributes:
        number: Its place among all groups.
        units: One, those of one file, or all of a bucket that only some sides have.
        has_key: Whether its rows are compared, so that it is known which of them changed.
    """

    number: int
    units: tuple[ProfileUnit, ...]
    has_key: bool

    @property
    def partition(self) -> bytes:
        """BinaryRow bytes."""
        return self.units[0].partition

    @property
    def sizes(self) -> Mapping[str, int]:
        """Bytes of each file by its path; several units may have it."""
        return {file.path: file.size for unit in self.units for file in unit.files.files}

    @property
    def size(self) -> int:
        """Bytes that are read: each file once."""
        return sum(self.sizes.values())

    @property
    def reads_again(self) -> bool:
        """Whether several units have the same file."""
        return sum(len(unit.files.files) for unit in self.units) > len(self.sizes)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the kept profiles: those of the units, then those of `GroupProfiles.own`."""
        names = tuple(unit.key for unit in self.units)
        if not self.has_key:
            return names
        ends = frozenset({ProfiledSide.BEFORE, ProfiledSide.AFTER})
        # What a merge would leave tells nothing of what either state has alone.
        shown = [[unit.key, *sorted(unit.sides & ends)] for unit in self.units if unit.sides & ends]
        digest = hashlib.sha256(json.dumps(sorted(shown)).encode()).hexdigest()[:38]
        return (*names, f"{digest}-0", f"{digest}-1")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupProfiles:
    """The profiles of a group.

    Attributes:
        units: The profile of each unit.
        own: The profiles of the rows that only the first state has, and only the second; None if
            these are all rows of the units.
    """

    units: tuple[Profile, ...]
    own: tuple[Profile, Profile] | None

    @classmethod
    def of(cls, found: Sequence[Profile], group: ProfileGroup) -> "GroupProfiles":
        """Return what `all` gave."""
        number = len(group.units)
        own = (found[number], found[number + 1]) if group.has_key else None
        return cls(units=tuple(found[:number]), own=own)

    @property
    def all(self) -> tuple[Profile, ...]:
        """The profiles, one for each of `ProfileGroup.keys`."""
        return (*self.units, *(self.own or ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileTask:
    """The columns and readers that a task of a profile needs; sent to each task.

    Attributes:
        readers: The readers of the files of each side.
        sources: For each side the columns that the compared ones are read from.
        fields: The compared columns.
        keys: Names of the key columns.
    """

    readers: Mapping[ProfiledSide, ReadTask]
    sources: Mapping[ProfiledSide, tuple[DataField | None, ...]]
    fields: tuple[DataField, ...]
    keys: tuple[str, ...]

    def profile(self, group: ProfileGroup, detail: Detail) -> GroupProfiles:
        """Read and profile a group; raises FormatError or InvalidInput."""
        own = _OwnRows(self.fields)
        found = []
        for unit, rows in self._rows(group):
            found.append(profile_rows(rows, self.fields, self.keys, detail))
            if group.has_key:
                own.add(unit.sides, rows)
        if not group.has_key:
            return GroupProfiles(units=tuple(found), own=None)
        before, after = (profile_rows(rows, self.fields, self.keys, detail) for rows in own.both())
        return GroupProfiles(units=tuple(found), own=(before, after))

    def _rows(self, group: ProfileGroup) -> Iterator[tuple[ProfileUnit, pa.Table]]:
        """Read each unit; a file that several have, such as both states, is fetched once."""
        if not group.reads_again:
            for unit in group.units:
                yield unit, self._read(unit, self.readers[unit.read_as])
            return
        held = HeldFiles(self.readers[group.units[0].read_as].store, group.sizes)
        for number, unit in enumerate(group.units):
            yield unit, self._read(unit, replace(self.readers[unit.read_as], store=held))
            later = (each.files.files for each in group.units[number + 1 :])
            held.keep_only(file.path for file in chain.from_iterable(later))

    def _read(self, unit: ProfileUnit, reader: ReadTask) -> pa.Table:
        rows = reader.read(unit.files)
        sources = self.sources[unit.read_as]
        return pa.table(
            {
                field.name: _cells(rows, source, field)
                for field, source in zip(self.fields, sources, strict=True)
            }
        )


class _OwnRows:
    """The rows of a bucket that only one of two states has, told by all their values."""

    def __init__(self, fields: Sequence[DataField]) -> None:
        self._types = [field.type for field in fields]
        empty = pa.schema([(field.name, to_arrow(field.type)) for field in fields]).empty_table()
        self._rows = {side: [empty] for side in (ProfiledSide.BEFORE, ProfiledSide.AFTER)}

    def add(self, sides: frozenset[ProfiledSide], rows: pa.Table) -> None:
        """Take the rows of a unit; those that both states have, or neither, tell nothing."""
        shown = sides & set(self._rows)
        if len(shown) == 1:
            self._rows[min(shown)].append(rows)

    def both(self) -> Iterator[pa.Table]:
        """Return the rows of either state that the other has not."""
        before, after = (pa.concat_tables(each) for each in self._rows.values())
        names = [self._names(each) for each in (before, after)]
        for rows, mine, others in ((before, *names), (after, *reversed(names))):
            yield rows.filter(pc.invert(pc.is_in(mine, value_set=others)))

    def _names(self, rows: pa.Table) -> pa.Array:
        """A digest of each row: small beside the row, and equal only if all values are."""
        parts = []
        for start in range(0, rows.num_rows, _NAMED_AT_ONCE):
            packed = counted_rows(rows.slice(start, _NAMED_AT_ONCE), self._types).to_pylist()
            digests = [hashlib.blake2b(each, digest_size=_DIGEST).digest() for each in packed]
            parts.append(pa.array(digests, pa.binary(_DIGEST)))
        return pa.concat_arrays([pa.array([], pa.binary(_DIGEST)), *parts])


def profile_sides(
    table: FileStoreTable, work: QualityWork, merged: StagedState | None = None
) -> Mapping[ProfiledSide, ProfileSide]:
    """Find the files of the sides; what a merge would leave and the base are there, if at all.

    Raises:
        FormatError: Metadata is missing or broken.
        InvalidInput: The table is of a kind whose rows cannot be read here.
    """

    def there(state: ComparedState, sources: Iterable[DataField | None]) -> ProfileSide:
        found = StagedState.of_snapshot(table.on(state.branch), state.snapshot, state.schema)
        return ProfileSide(state=found, sources=tuple(sources))

    before, after = work.diff.before, work.diff.after
    sides = {
        ProfiledSide.BEFORE: there(before, (each.before for each in work.columns)),
        ProfiledSide.AFTER: there(after, (each.after for each in work.columns)),
    }
    if merged is not None and work.merged is not None:
        sides[ProfiledSide.MERGED] = ProfileSide(state=merged, sources=work.merged.fields)
    if work.base is not None:
        sides[ProfiledSide.BASE] = there(work.base.state, work.base.fields)
    for side in sides.values():
        check_alone(side.state.table)
        check_readable(side.state.schema)
    return sides


def profile_task(
    store: FileIO, sides: Mapping[ProfiledSide, ProfileSide], work: QualityWork
) -> ProfileTask:
    """Say what every task of a profile knows."""
    return ProfileTask(
        readers={
            name: ReadTask(
                store=store,
                schema=side.state.schema,
                schemas=side.state.schemas,
                fields=tuple(field for field in side.sources if field is not None),
            )
            for name, side in sides.items()
        },
        sources={name: side.sources for name, side in sides.items()},
        fields=work.fields,
        keys=work.keys,
    )


def plan_profile_units(
    store: FileIO, sides: Mapping[ProfiledSide, ProfileSide], work: QualityWork
) -> tuple[ProfileUnit, ...]:
    """Decide what is profiled together; a unit that several sides have stands there once.

    Raises:
        FormatError: Metadata is broken.
        InvalidInput: A file is of a format, or lies in a store, that is not served.
    """
    alike = _AlikeFiles(work)
    found: dict[object, ReadUnit] = {}
    owners: dict[object, list[ProfiledSide]] = {}
    facts: dict[str, _Facts] = {}
    # A unit that both states have is read as the second one has it.
    order = (ProfiledSide.AFTER, ProfiledSide.BEFORE, ProfiledSide.MERGED, ProfiledSide.BASE)
    for side in (each for each in order if each in sides):
        state = sides[side].state
        facts |= _facts(state.files)
        merging = json.dumps(merging_options(state.schema))
        plan = plan_files(
            store, state.table, state.files, state.index_files, state.schema, state.schemas
        )
        for unit in plan.units:
            same = (merging, frozenset(alike.names(unit, side)))
            found.setdefault(same, unit)
            owners.setdefault(same, []).append(side)
    contents = {name: _content(work, side) for name, side in sides.items()}
    return tuple(
        ProfileUnit(
            number=number,
            key=_key(unit, contents[owners[same][0]]),
            files=unit,
            read_as=owners[same][0],
            sides=frozenset(owners[same]),
            partition=facts[_name(unit.files[0])].partition,
            bucket=facts[_name(unit.files[0])].bucket,
            rows=sum(facts[_name(file)].rows for file in unit.files),
        )
        for number, (same, unit) in enumerate(found.items())
    )


class _AlikeFiles:
    """Tells which files show the same rows on several sides.

    Of both states that is known from comparing their deletion vectors. The result of a merge, and
    the base, have the vectors of a state where these are the same bytes, else others.
    """

    def __init__(self, work: QualityWork) -> None:
        self._masked = {original_name(each.key[2]) for each in work.diff.masks}
        self._marks: dict[tuple[str, _Mark], object] = {}

    def names(self, unit: ReadUnit, side: ProfiledSide) -> Iterator[tuple[str, object]]:
        """Yield equal names for files whose sides show the same rows; the states come first."""
        for file in unit.files:
            name, mark = _name(file), _mark_of(file)
            if side not in (ProfiledSide.BEFORE, ProfiledSide.AFTER):
                yield name, self._marks.get((name, mark), ("of another side", mark))
                continue
            chosen_side = side if name in self._masked else None
            self._marks[(name, mark)] = chosen_side
            yield name, chosen_side


def plan_groups(
    units: Sequence[ProfileUnit], sides: Mapping[ProfiledSide, ProfileSide], work: QualityWork
) -> tuple[ProfileGroup, ...]:
    """Decide which units are read at once: with a key those of a bucket, else those of a file.

    A file is in several units where some sides hide other rows of it than others.
    """
    chosen: dict[object, list[ProfileUnit]] = {}
    moved = _regrouped(sides)
    for unit in units:
        place: object = tuple(file.path for file in unit.files.files)
        if work.keys and unit.is_own:
            place = unit.partition, None if unit.partition in moved else unit.bucket
        chosen.setdefault(place, []).append(unit)
    return tuple(
        ProfileGroup(number=number, units=tuple(group), has_key=bool(work.keys) and group[0].is_own)
        for number, group in enumerate(chosen.values())
    )


def _regrouped(sides: Mapping[ProfiledSide, ProfileSide]) -> set[bytes]:
    """Partitions whose number of buckets differs, so that a key is in another one elsewhere."""
    numbers: dict[bytes, set[int]] = {}
    for side in sides.values():
        files = side.state.files
        pairs = zip(files["partition"].to_pylist(), files["total_buckets"].to_pylist(), strict=True)
        for partition, number in pairs:
            numbers.setdefault(partition, set()).add(number)
    return {partition for partition, found in numbers.items() if len(found) > 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    rows: int
    partition: bytes
    bucket: int


def _facts(files: pa.Table) -> dict[str, _Facts]:
    """Rows and place of each file."""
    names = ("file_name", "row_count", "partition", "bucket")
    columns = (files[name].to_pylist() for name in names)
    return {
        original_name(name): _Facts(rows=count, partition=partition, bucket=bucket)
        for name, count, partition, bucket in zip(*columns, strict=True)
    }


def _name(file: DataFile) -> str:
    """Return the name of the original of a copied file, or the file's own name."""
    return original_name(file.path.rpartition("/")[2])


def _mark_of(file: DataFile) -> _Mark:
    return None if file.deleted is None else (file.deleted.index_path, file.deleted.range.offset)


def _content(work: QualityWork, side: ProfileSide) -> list[object]:
    """Return the other facts that the profile of files depends on."""
    columns = [[each.name, str(each.type)] for each in work.columns]
    ids = [None if field is None else field.id for field in side.sources]
    return [VERSION, columns, ids, list(work.keys), merging_options(side.state.schema)]


def merging_options(schema: TableSchema) -> list[list[str]]:
    """The options that decide what files of one key are merged into."""
    if not schema.primary_keys:
        return []
    found = (each for each in schema.options.items() if each[0].startswith(_MERGING))
    return sorted(list(each) for each in found)


def _key(unit: ReadUnit, content: list[object]) -> str:
    names = sorted([_name(file), _mark_of(file)] for file in unit.files)
    text = json.dumps([names, content], default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _cells(rows: pa.Table, source: DataField | None, field: DataField) -> pa.ChunkedArray:
    if source is None:
        return pa.chunked_array([pa.nulls(rows.num_rows, to_arrow(field.type))])
    return evolve(rows[source.name], source.type, field.type)
