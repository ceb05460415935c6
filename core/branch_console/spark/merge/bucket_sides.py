"""The buckets of a merge as their tasks see them: the files of each side, and the rows in them.

Keys are trimmed primary keys as BinaryRow bytes: within a bucket they say it all.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.changes.virtual_base import Base, each_base, fold_base
from branch_console.diff.three_way import ThreeWay
from branch_console.errors import ErrorKind, Refused
from branch_console.format.index_manifest import NO_INDEX_FILES
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.arrow_types import nullable_columns
from branch_console.format.values.binary_row import decode_row
from branch_console.format.values.binary_rows import decode_rows, encode_rows
from branch_console.format.values.key_order import key_rank, sortable
from branch_console.merge import row_merge
from branch_console.merge.policy import Policy
from branch_console.merge.row_work import RowScope, RowWork
from branch_console.spark.files.data_reader import DataFile, read_data_file
from branch_console.spark.kernels import merge_on_read
from branch_console.spark.kernels.merge_on_read import SEQUENCE_NUMBER, VALUE_KIND
from branch_console.spark.read.read_plan import PlacedFile, place_marked
from branch_console.spark.write.dynamic_buckets import hash_index_paths
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable

_Key: TypeAlias = tuple[Any, ...]
_Read: TypeAlias = Callable[[Iterable[PlacedFile], Mapping[int, TableSchema]], pa.Table]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedState:
    """The files of a bucket in one state, and whether they name schemas of the target."""

    files: tuple[PlacedFile, ...]
    in_target: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketUnit:
    """The bucket and files that one task merges; `ours_changed` and `theirs_changed` as in RowWork.

    Attributes:
        index_paths: In a partition with dynamic buckets, the index of each bucket of the target.
    """

    number: int
    partition: bytes
    bucket: int
    base: Base[PlacedState]
    ours: tuple[PlacedFile, ...]
    theirs: tuple[PlacedFile, ...]
    ours_changed: tuple[PlacedFile, ...] | None
    theirs_changed: tuple[PlacedFile, ...] | None
    next_sequence: int
    index_paths: Mapping[int, str] | None = None

    @property
    def size(self) -> int:
        """Bytes of the files of both heads."""
        return sum(file.data.size for file in (*self.ours, *self.theirs))


def units_of(store: FileIO, table: FileStoreTable, work: Sequence[RowWork]) -> list[BucketUnit]:
    """Say what tasks do, a bucket each, in the order of `work`."""
    return [_unit(store, table, number, each) for number, each in enumerate(work)]


def _unit(store: FileIO, table: FileStoreTable, number: int, work: RowWork) -> BucketUnit:
    def files(entries: pa.Table, marks: pa.Table = NO_INDEX_FILES) -> tuple[PlacedFile, ...]:
        return tuple(place_marked(store, table, entries, marks))

    changed = (work.ours_changed, work.theirs_changed)
    known = (
        work.ours.entries,
        work.theirs.entries,
        *(each for each in changed if each is not None),
    )
    sequences = pa.concat_tables([each.select(["max_sequence_number"]) for each in known])
    newest = pc.max(sequences["max_sequence_number"]).as_py()
    return BucketUnit(
        number=number,
        partition=work.partition,
        bucket=work.bucket,
        base=each_base(
            work.base,
            lambda state: PlacedState(
                files=files(state.entries, state.marks), in_target=state.in_target
            ),
        ),
        ours=files(work.ours.entries, work.ours.marks),
        theirs=files(work.theirs.entries, work.theirs.marks),
        ours_changed=None if work.ours_changed is None else files(work.ours_changed),
        theirs_changed=None if work.theirs_changed is None else files(work.theirs_changed),
        next_sequence=0 if newest is None else newest + 1,
        index_paths=(
            None
            if work.index is None
            else hash_index_paths(table, work.index).get(work.partition, {})
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BucketRows:
    """The rows of some keys, `base` as readers find it, the others as they stand in files."""

    schema: TableSchema
    base: pa.Table
    ours: pa.Table
    theirs: pa.Table
    replayed: pa.Table

    def sides(self) -> ThreeWay[pa.Table]:
        """The rows that readers see on each side."""
        ours, theirs = (
            merge_on_read.merge_rows(each, self.schema) for each in (self.ours, self.theirs)
        )
        return ThreeWay(base=self.base, ours=ours, theirs=theirs)

    def replays(self) -> tuple[pa.Table, ...]:
        """The rows that readers see after the source's files are replayed on the target.

        Both branches count sequence numbers on from the base, so rows of both may have the same
        number. The row that readers see is then not known, so both results are returned.
        """
        return tuple(merge_on_read.merge_rows(each, self.schema) for each in self.orders())

    def orders(self) -> tuple[pa.Table, ...]:
        """The rows that `replays` merges, as they stand in files, each way."""
        orders = ((self.ours, self.replayed), (self.replayed, self.ours))
        return tuple(pa.concat_tables(order) for order in orders)


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketReader:
    """Reads buckets of one merge."""

    store: FileIO
    scope: RowScope

    def ours_keys(self, unit: BucketUnit) -> pa.Array:
        """The keys that the target changed."""
        return self._changed(unit, unit.ours_changed, unit.ours, self.scope.ours_schemas)

    def theirs_keys(self, unit: BucketUnit) -> pa.Array:
        """The keys that the source changed."""
        schemas = self.scope.theirs_schemas
        return self._changed(unit, unit.theirs_changed, unit.theirs, schemas)

    def rows(self, unit: BucketUnit, keys: pa.Array, policy: Policy) -> BucketRows:
        """The rows of some keys; a file that several sides hold is read once.

        Args:
            unit: The bucket.
            keys: Their bytes.
            policy: The policy for conflicts of bases that are joined.

        Raises:
            Refused: The base of keys is disputed, and the sides hold different rows of them; or
                files hold keys that they do not tell of.
        """
        there = {file.data.path for file in unit.ours}
        # A file that came with an earlier merge is not replayed again.
        replayed = [f for f in unit.theirs_changed or () if f.data.path not in there]
        ends = _ends(keys, self.scope.schema)
        found: dict[DataFile, pa.Table] = {}

        def read(files: Iterable[PlacedFile], by_id: Mapping[int, TableSchema]) -> pa.Table:
            parts = [_layout(self.scope.schema).empty_table()]
            for file in files:
                if ends is None or not self._overlaps(file, ends):
                    continue
                if file.data not in found:
                    whole = self._read([file], by_id)
                    found[file.data] = of_keys(whole, keys, self.scope.schema)
                parts.append(found[file.data])
            return pa.concat_tables(parts)

        base = self._base(unit, read, policy)
        found_rows = BucketRows(
            schema=self.scope.schema,
            base=base.rows,
            ours=read(unit.ours, self.scope.ours_schemas),
            theirs=read(unit.theirs, self.scope.theirs_schemas),
            replayed=read(replayed, self.scope.theirs_schemas),
        )
        if unit.ours_changed is None or unit.theirs_changed is None:
            # Then the keys were found in rows that are there still.
            self._check_found(keys, (base.written, found_rows.ours, found_rows.theirs))
        self._check_disputed(base.disputed, found_rows.sides())
        return found_rows

    def ours_rows(self, files: Iterable[PlacedFile]) -> pa.Table:
        """All rows of some files of the target, as the files have them."""
        return self._read(files, self.scope.ours_schemas)

    def _changed(
        self,
        unit: BucketUnit,
        changed: tuple[PlacedFile, ...] | None,
        live: tuple[PlacedFile, ...],
        schemas: Mapping[int, TableSchema],
    ) -> pa.Array:
        schema = self.scope.schema
        if changed is None:
            base = self._base(unit, self._read, Policy())
            touched = _touched(base, self._read(live, schemas), schema)
            return pa.concat_arrays([touched, base.disputed]).unique()
        parts = [
            read_data_file(
                self.store, file.data, schemas, schema.key_type.fields, with_system=False
            )
            for file in changed
        ]
        keys = [pa.array([], pa.binary()), *(key_bytes(part, schema) for part in parts)]
        return pa.concat_arrays(keys).unique()

    def _base(self, unit: BucketUnit, read: _Read, policy: Policy) -> "_BaseRows":
        """Read the rows that both sides come from; several bases are merged by rows."""
        written = [_layout(self.scope.schema).empty_table()]
        disputed = [pa.array([], pa.binary())]

        def rows_of(state: PlacedState) -> pa.Table:
            written.append(read(state.files, self.scope.schemas_of(by_target=state.in_target)))
            return merge_on_read.merge_rows(written[-1], self.scope.schema)

        def join(sides: ThreeWay[pa.Table]) -> pa.Table:
            schema = self.scope.schema
            merged = row_merge.merge_rows(sides, schema, policy, table=self.scope.table)
            is_open = pc.is_null(merged.conflicts["take"])
            disputed.append(keys_of_conflicts(merged.conflicts.filter(is_open), schema))
            changed = (key_bytes(merged.results, schema), key_bytes(merged.deletes, schema))
            is_changed = pc.is_in(
                key_bytes(sides.theirs, schema), value_set=pa.concat_arrays(changed)
            )
            kept = sides.theirs.filter(pc.invert(is_changed))
            return pa.concat_tables([kept, merged.results.select(kept.column_names)])

        rows = fold_base(each_base(unit.base, rows_of), join)
        return _BaseRows(
            rows=rows,
            written=pa.concat_tables(written),
            disputed=pa.concat_arrays(disputed).unique(),
        )

    def _check_found(self, keys: pa.Array, read: Iterable[pa.Table]) -> None:
        """Refuse to go on without rows that a side changed: the merge would drop the change."""
        seen = pa.concat_arrays([key_bytes(rows, self.scope.schema) for rows in read])
        lost = len(keys) - len(common_keys(keys, seen))
        if lost:
            keys_are = "1 changed key is" if lost == 1 else f"{lost:,} changed keys are"
            raise Refused(
                f"{self.scope.table}: {keys_are} in no file whose key range reaches that far, so "
                "rows of the table lie otherwise than is known here. Nothing was changed; bring "
                "the rows over with Paimon.",
                kind=ErrorKind.UNSUPPORTED,
                keys=lost,
            )

    def _check_disputed(self, disputed: pa.Array, sides: ThreeWay[pa.Table]) -> None:
        schema = self.scope.schema
        ours, theirs = (of_keys(each, disputed, schema) for each in (sides.ours, sides.theirs))
        count = row_merge.changed_keys(ours, theirs, schema).num_rows
        if count:
            raise Refused(
                f"These branches merged each other before and settled {count:,} keys of "
                f"{self.scope.table} differently, so it is not known which side changed them "
                "since. Nothing was changed. Give these keys the same row on both branches, or "
                "settle them by a policy.",
                kind=ErrorKind.CONFLICTS_OPEN,
                conflicts=count,
            )

    def _read(self, files: Iterable[PlacedFile], schemas: Mapping[int, TableSchema]) -> pa.Table:
        layout, fields = _layout(self.scope.schema), self.scope.schema.fields
        parts = (
            read_data_file(self.store, file.data, schemas, fields, with_system=True)
            for file in files
        )
        return pa.concat_tables([layout.empty_table(), *(part.cast(layout) for part in parts)])

    def _overlaps(self, file: PlacedFile, ends: tuple[_Key, _Key]) -> bool:
        types = self.scope.schema.ranged_key_type.types
        if not types:
            return True
        low, high = (key_rank(decode_row(each, types)) for each in (file.min_key, file.max_key))
        return low <= key_rank(ends[1]) and key_rank(ends[0]) <= high


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _BaseRows:
    """The rows that both sides of a bucket come from.

    Attributes:
        rows: The rows as readers see them.
        written: The rows as the files of all bases have them.
        disputed: Keys whose rows in several bases cannot be merged.
    """

    rows: pa.Table
    written: pa.Table
    disputed: pa.Array


def _touched(base: _BaseRows, after: pa.Table, schema: TableSchema) -> pa.Array:
    """The keys of rows that were written or deleted between two states of a bucket's files.

    A row that was written again as it was counts: with its new sequence number it would hide what
    is replayed. Compaction keeps the number of the row that it keeps.
    """
    is_known = pc.is_in(_numbered(after, schema), value_set=_numbered(base.written, schema))
    written = key_bytes(after, schema).filter(pc.invert(is_known))
    new = merge_on_read.merge_rows(after, schema)
    changed = row_merge.changed_keys(base.rows, new, schema)
    return pa.concat_arrays([written, key_bytes(changed, schema)]).unique()


def _numbered(rows: pa.Table, schema: TableSchema) -> pa.Array:
    """Keys with their sequence numbers."""
    numbers = rows[SEQUENCE_NUMBER].combine_chunks().cast(pa.string()).cast(pa.binary())
    return pc.binary_join_element_wise(key_bytes(rows, schema), numbers, b"")


def _layout(schema: TableSchema) -> pa.Schema:
    """The columns of rows in files."""
    return pa.schema(
        [
            pa.field(SEQUENCE_NUMBER, pa.int64()),
            pa.field(VALUE_KIND, pa.int8()),
            *nullable_columns(schema.fields),
        ]
    )


def key_bytes(rows: pa.Table, schema: TableSchema) -> pa.Array:
    """The keys of rows."""
    return encode_rows(rows.select(list(schema.trimmed_primary_keys)), schema.key_type.types)


def keys_of_conflicts(conflicts: pa.Table, schema: TableSchema) -> pa.Array:
    """The keys of conflicts, with the columns of `row_conflict_schema`."""
    names = list(schema.trimmed_primary_keys)
    columns = [pc.struct_field(conflicts["key"], name) for name in names]
    return key_bytes(pa.table(columns, names=names), schema)


def of_keys(rows: pa.Table, keys: pa.Array, schema: TableSchema) -> pa.Table:
    """The rows of some keys."""
    return rows.filter(pc.is_in(key_bytes(rows, schema), value_set=keys))


def common_keys(left: pa.Array, right: pa.Array) -> pa.Array:
    """The keys that both have."""
    return left.filter(pc.is_in(left, value_set=right))


def _ends(keys: pa.Array, schema: TableSchema) -> tuple[_Key, _Key] | None:
    """The first and the last of some keys, None if there are none."""
    if not len(keys):
        return None
    names = schema.trimmed_primary_keys
    columns = [sortable(each) for each in decode_rows(keys, schema.key_type).flatten()]
    order = pc.sort_indices(
        pa.table(columns, names=list(names)), sort_keys=[(name, "ascending") for name in names]
    )
    types = schema.key_type.types
    first, last = (decode_row(keys[order[at].as_py()].as_py(), types) for at in (0, -1))
    return first, last
