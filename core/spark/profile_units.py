"""Which files of two states are profiled together, and which of them both sides have.

What is read together is profiled together: a file, or files of a bucket whose keys overlap. A unit
never changes, so its profile can be kept.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from core.diff.logical_log import original_name
from core.diff.state_diff import TableState
from core.format.data_types import DataField, to_arrow
from core.format.table_schema import TableSchema
from core.quality.comparison import VERSION
from core.quality.profile import Detail, Profile
from core.quality.profile_rows import profile_rows
from core.quality.work import QualityWork
from core.spark.data_reader import DataFile, evolve
from core.spark.read_plan import ReadUnit, plan_read, visible_files
from core.spark.readers import ReadTask, check_readable
from core.storage.file_io import FileIO
from core.table.file_store_table import FileStoreTable

_MERGING: Final = (
    *("merge-engine", "sequence.", "fields.", "ignore-", "partial-update.", "aggregation."),
    *("first-row.", "deletion-vectors.enabled", "rowkind.field"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileUnit:
    """What is profiled at once.

    Attributes:
        number: Its place among all units.
        key: What its profile is kept under.
        is_after: With which side's schema it is read.
        is_shared: Whether the other side shows the same rows of it.
        rows: How many its files hold, before deletion vectors and merging on read.
    """

    number: int
    key: str
    files: ReadUnit
    is_after: bool
    is_shared: bool
    rows: int

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileTask:
    """What every task of a profile knows; it travels to them.

    Attributes:
        before, after: How files of each side are read.
        sources: For each compared column the one that it is read from, of both sides.
        fields: The compared columns.
        keys: Names of those that make up the key.
    """

    before: ReadTask
    after: ReadTask
    sources: tuple[tuple[DataField | None, DataField | None], ...]
    fields: tuple[DataField, ...]
    keys: tuple[str, ...]

    def profile(self, unit: ProfileUnit, detail: Detail) -> Profile:
        """Read and profile a unit; raises FormatError or InvalidInput."""
        rows = (self.after if unit.is_after else self.before).read(unit.files)
        columns = {
            field.name: _cells(rows, sources[unit.is_after], field)
            for field, sources in zip(self.fields, self.sources, strict=True)
        }
        return profile_rows(pa.table(columns), self.fields, self.keys, detail)


def profile_task(store: FileIO, table: FileStoreTable, work: QualityWork) -> ProfileTask:
    """Say what every task of a profile knows.

    Raises:
        InvalidInput: The table is of a kind whose rows cannot be read here.
    """
    states = (work.diff.before, work.diff.after)
    for state in states:
        check_readable(state.schema)
    sources = tuple((each.before, each.after) for each in work.columns)
    before, after = (
        ReadTask(
            store=store,
            schema=state.schema,
            schemas={each.id: each for each in table.on(state.branch).schemas.all()},
            fields=tuple(field for each in sources if (field := each[at]) is not None),
        )
        for at, state in enumerate(states)
    )
    return ProfileTask(
        before=before,
        after=after,
        sources=sources,
        fields=work.fields,
        keys=work.keys,
    )


def plan_profile_units(
    store: FileIO, table: FileStoreTable, work: QualityWork
) -> tuple[ProfileUnit, ...]:
    """Decide what is profiled together; a unit that both sides have stands there once.

    Raises:
        FormatError: Metadata is missing or broken.
        InvalidInput: A file is of a format, or lies in a store, that is not served.
    """
    masked = {original_name(each.key[2]) for each in work.diff.masks}
    states = ((False, work.diff.before), (True, work.diff.after))
    is_alike = _merging(work.diff.before.schema) == _merging(work.diff.after.schema)
    before, after = (
        {
            (
                is_alike or is_after,
                frozenset(_same_rows(unit.files, masked, is_after=is_after)),
            ): unit
            for unit in _read_units(store, table, state)
        }
        for is_after, state in states
    )
    rows = {name: count for _, state in states for name, count in _row_counts(table, state)}
    content = _content(work)
    found = [
        *((unit, True, same in before) for same, unit in after.items()),
        *((unit, False, False) for same, unit in before.items() if same not in after),
    ]
    return tuple(
        ProfileUnit(
            number=number,
            key=_key(unit.files, content),
            files=unit,
            is_after=is_after,
            is_shared=is_shared,
            rows=sum(rows[_name(file)] for file in unit.files),
        )
        for number, (unit, is_after, is_shared) in enumerate(found)
    )


def _read_units(store: FileIO, table: FileStoreTable, state: TableState) -> tuple[ReadUnit, ...]:
    return plan_read(store, table.on(state.branch), state.snapshot, state.schema).units


def _row_counts(table: FileStoreTable, state: TableState) -> Iterator[tuple[str, int]]:
    if state.snapshot is None:
        return
    files = visible_files(table.on(state.branch), state.snapshot, state.schema)
    columns = (files[name].to_pylist() for name in ("file_name", "row_count"))
    yield from ((original_name(name), count) for name, count in zip(*columns, strict=True))


def _name(file: DataFile) -> str:
    """What a file is called that it is a copy of, or it itself."""
    return original_name(file.path.rpartition("/")[2])


def _same_rows(
    files: Iterable[DataFile], masked: set[str], *, is_after: bool
) -> Iterator[tuple[str, bool | None]]:
    """What is equal for files of which both sides show the same rows."""
    for file in files:
        name = _name(file)
        yield name, is_after if name in masked else None


def _content(work: QualityWork) -> list[object]:
    """What else the profile of files depends on."""
    schema = work.diff.after.schema
    columns = [[each.name, str(each.type)] for each in work.columns]
    ids = [[each.before and each.before.id, each.after and each.after.id] for each in work.columns]
    return [VERSION, columns, ids, list(work.keys), _merging(schema)]


def _merging(schema: TableSchema) -> list[list[str]]:
    """The options that decide what files of one key are merged into."""
    if not schema.primary_keys:
        return []
    found = (each for each in schema.options.items() if each[0].startswith(_MERGING))
    return sorted(list(each) for each in found)


def _key(files: Iterable[DataFile], content: list[object]) -> str:
    names = sorted(
        [
            _name(file),
            None if file.deleted is None else file.deleted.index_path,
            None if file.deleted is None else file.deleted.range.offset,
        ]
        for file in files
    )
    text = json.dumps([names, content], default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _cells(rows: pa.Table, source: DataField | None, field: DataField) -> pa.ChunkedArray:
    if source is None:
        return pa.chunked_array([pa.nulls(rows.num_rows, to_arrow(field.type))])
    return evolve(rows[source.name], source.type, field.type)
