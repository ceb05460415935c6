"""Row work of a merge in tasks, a bucket each: which keys both sides changed, and what is right.

A task reads the rows of these keys on each side as readers would, merges them by `core.merge`, and
writes what replaying the source's files would not give. Nothing is visible until it is committed.
"""

import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, TypeAlias
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from core.commit.commit_message import NO_FILES, NO_INDEX_FILES, CommitMessage
from core.diff.three_way import ThreeWay
from core.errors import ErrorKind, InvalidInput, PaimonError
from core.format.binary_row import decode_row, decode_rows, encode_rows
from core.format.data_types import arrow_schema
from core.format.table_schema import TableSchema
from core.merge import row_merge
from core.merge.policy import Policy
from core.merge.row_work import (
    CHANGED_KEYS,
    ROW_VERDICTS,
    Reconciled,
    RowScope,
    RowVerdict,
    RowWork,
    row_conflict_schema,
)
from core.spark import merge_on_read
from core.spark.bucket_rewrite import rewrite_bucket
from core.spark.compaction import CompactedFile
from core.spark.conform import conform
from core.spark.data_files import (
    WriteTarget,
    WrittenFiles,
    check_writable,
    write_bucket,
)
from core.spark.data_reader import DataFile, check_formats, read_data_file
from core.spark.deletion_marks import deleted_rows
from core.spark.merge_on_read import SEQUENCE_NUMBER, VALUE_KIND
from core.spark.readers import check_readable
from core.spark.session import Progress, WarmSession
from core.spark.table_bytes import from_bytes, to_bytes
from core.storage.file_io import FileIO
from core.table.data_file_paths import data_file_paths
from core.table.file_store_table import FileStoreTable

_UNIT: Final = pa.schema([pa.field("unit", pa.binary(), False)])
_FOUND: Final = pa.schema(
    [
        pa.field("number", pa.int32()),
        pa.field("counts", pa.binary()),
        pa.field("conflicts", pa.binary()),
        pa.field("new_files", pa.binary()),
        pa.field("changelog_files", pa.binary()),
        pa.field("error", pa.binary()),
    ]
)
_FOUND_DDL: Final = (
    "number int, counts binary, conflicts binary, new_files binary, changelog_files binary, "
    "error binary"
)
_INSERT: Final = 0
_DELETE: Final = 3

_Key: TypeAlias = tuple[Any, ...]


def find_changed_keys(
    session: WarmSession,
    store: FileIO,
    table: FileStoreTable,
    scope: RowScope,
    work: Sequence[RowWork],
    *,
    progress: Progress = lambda done, total: None,
) -> pa.Table:
    """Count the keys that each side changed, and that both changed, in each bucket.

    Args:
        session: Where the tasks run.
        store: The store of the table.
        table: The table on the target.
        scope: What the buckets share.
        work: The buckets.
        progress: Called with tasks done and tasks known; what it raises stops the run.

    Returns:
        Columns of CHANGED_KEYS, one row a bucket in the order of `work`.

    Raises:
        FormatError: A file is missing or cannot be read.
        InvalidInput: The table is of a kind whose rows cannot be merged here.
    """
    _check(scope.schema)
    task = KeyTask(reader=BucketReader(store=store, scope=scope))
    found = _run(session, task, units_of(table, work), f"changed keys of {scope.table}", progress)
    return pa.concat_tables([CHANGED_KEYS.empty_table(), *(from_bytes(r["counts"]) for r in found)])


def reconcile(
    session: WarmSession,
    store: FileIO,
    table: FileStoreTable,
    scope: RowScope,
    work: Sequence[RowWork],
    policy: Policy,
    *,
    writes: bool = True,
    progress: Progress = lambda done, total: None,
) -> Reconciled[CommitMessage]:
    """Merge rows that both sides changed, and write what replaying would not give.

    Args:
        session: Where the tasks run.
        store: The store of the table, with the right to write.
        table: The table on the target; files are written for it.
        scope: What the buckets share.
        work: The buckets.
        policy: When rows conflict, and how conflicts are settled.
        writes: Whether files are written. A bucket with open conflicts gets none.
        progress: Called with tasks done and tasks known; what it raises stops the run.

    Raises:
        FormatError: A file is missing or cannot be read.
        InvalidInput: The table is of a kind whose rows cannot be merged here, or the policy does
            not fit it.
    """
    _check(scope.schema)
    check_writable(scope.schema)
    target = WriteTarget(
        schema=scope.schema, paths=table.data_paths(), store=store, created=datetime.now()
    )
    reader = BucketReader(store=store, scope=scope)
    task = MergeTask(reader=reader, policy=policy, target=target, writes=writes)
    found = _run(session, task, units_of(table, work), f"merge rows of {scope.table}", progress)
    return reconciled(scope, work, found)


def reconciled(
    scope: RowScope, work: Sequence[RowWork], found: Sequence[Mapping[str, Any]]
) -> Reconciled[CommitMessage]:
    """Join what `MergeTask` found; `found` has the columns of its answer and `number`."""
    conflicts = [from_bytes(row["conflicts"]) for row in found]
    return Reconciled(
        conflicts=pa.concat_tables([row_conflict_schema(scope.schema).empty_table(), *conflicts]),
        verdicts=pa.concat_tables(
            [ROW_VERDICTS.empty_table(), *(from_bytes(row["counts"]) for row in found)]
        ),
        messages=tuple(
            _message(work[row["number"]], row, scope.schema)
            for row in found
            if row["new_files"] is not None
        ),
    )


def _check(schema: TableSchema) -> None:
    check_readable(schema)
    merge_on_read.check_replayable(schema)
    if not schema.primary_keys:
        raise InvalidInput(
            "Rows are merged by key, and this table has no primary key.",
            kind=ErrorKind.UNSUPPORTED,
        )


def _message(work: RowWork, row: Mapping[str, Any], schema: TableSchema) -> CommitMessage:
    message = CommitMessage(
        partition=work.partition,
        bucket=work.bucket,
        total_buckets=schema.num_buckets,
        new_files=from_bytes(row["new_files"]),
        changelog_files=from_bytes(row["changelog_files"]),
    )
    if not schema.skips_level_0:
        return message
    # The bucket was written anew: all that it held goes.
    return replace(message, deleted_files=work.files.ours, deleted_index_files=work.marks.ours)


# --- units --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketUnit:
    """What one task does; `ours_changed` and `theirs_changed` as in RowWork."""

    number: int
    partition: bytes
    bucket: int
    files: ThreeWay[tuple[CompactedFile, ...]]
    ours_changed: tuple[CompactedFile, ...] | None
    theirs_changed: tuple[CompactedFile, ...] | None
    next_sequence: int

    @property
    def size(self) -> int:
        """Bytes of the files of both heads."""
        return sum(file.data.size for file in (*self.files.ours, *self.files.theirs))


def units_of(table: FileStoreTable, work: Sequence[RowWork]) -> list[BucketUnit]:
    """Say what tasks do, a bucket each, in the order of `work`."""
    return [_unit(table, number, each) for number, each in enumerate(work)]


def _unit(table: FileStoreTable, number: int, work: RowWork) -> BucketUnit:
    def files(entries: pa.Table, marks: pa.Table = NO_INDEX_FILES) -> tuple[CompactedFile, ...]:
        return _files(table, entries, marks)

    changed = (work.ours_changed, work.theirs_changed)
    known = (work.files.ours, work.files.theirs, *(each for each in changed if each is not None))
    sequences = pa.concat_tables([each.select(["max_sequence_number"]) for each in known])
    newest = pc.max(sequences["max_sequence_number"]).as_py()
    return BucketUnit(
        number=number,
        partition=work.partition,
        bucket=work.bucket,
        files=ThreeWay(
            base=files(work.files.base, work.marks.base),
            ours=files(work.files.ours, work.marks.ours),
            theirs=files(work.files.theirs, work.marks.theirs),
        ),
        ours_changed=None if work.ours_changed is None else files(work.ours_changed),
        theirs_changed=None if work.theirs_changed is None else files(work.theirs_changed),
        next_sequence=0 if newest is None else newest + 1,
    )


def _files(table: FileStoreTable, entries: pa.Table, marks: pa.Table) -> tuple[CompactedFile, ...]:
    paths = data_file_paths(table, entries).to_pylist()
    check_formats(paths)
    names = ["partition", "bucket", "file_name", "file_size", "schema_id", "min_key", "max_key"]
    rows = entries.select(names).to_pylist()
    vectors = deleted_rows(table, marks)
    return tuple(
        CompactedFile(
            data=DataFile(
                path=path,
                size=row["file_size"],
                schema_id=row["schema_id"],
                deleted=vectors.get((row["partition"], row["bucket"], row["file_name"])),
            ),
            entry={name: row[name] for name in ("min_key", "max_key")},
        )
        for path, row in zip(paths, rows, strict=True)
    )


def _run(
    session: WarmSession,
    task: "KeyTask | MergeTask",
    units: Sequence[BucketUnit],
    description: str,
    progress: Progress,
) -> list[dict[str, Any]]:
    """What the tasks found, in the order of the units; raises the first error of a task."""
    if not units:
        return []
    largest_first = sorted(units, key=lambda unit: -unit.size)
    packed = pa.table([pa.array([pickle.dumps(each) for each in largest_first])], schema=_UNIT)

    def act(spark: SparkSession) -> pa.Table:
        frame = spark.createDataFrame(packed).repartition(len(units))
        return frame.mapInArrow(_doing(task), _FOUND_DDL).toArrow()

    rows = session.run(act, description=description, progress=progress).to_pylist()
    for row in rows:
        if row["error"] is not None:
            raise pickle.loads(row["error"])
    return sorted(rows, key=lambda row: row["number"])


def _doing(
    task: "KeyTask | MergeTask",
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def act(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for packed in batch["unit"].to_pylist():
                unit = pickle.loads(packed)
                try:
                    found = {"number": unit.number, **task.do(unit)}
                except PaimonError as error:
                    # As a result an error keeps its kind; raised, it would end as text.
                    found = {"number": unit.number, "error": pickle.dumps(error)}
                yield pa.RecordBatch.from_pylist([found], schema=_FOUND)

    return act


# --- tasks --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyTask:
    """Counts changed keys."""

    reader: "BucketReader"

    def do(self, unit: BucketUnit) -> dict[str, Any]:
        """Find the columns of _FOUND for a bucket."""
        ours, theirs = self.reader.ours_keys(unit), self.reader.theirs_keys(unit)
        counts = {
            "partition": unit.partition,
            "bucket": unit.bucket,
            "ours": len(ours),
            "theirs": len(theirs),
            "both": len(_common(ours, theirs)),
        }
        return {"counts": to_bytes(pa.Table.from_pylist([counts], schema=CHANGED_KEYS))}


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeTask:
    """Merges rows, and writes those that replay does not give."""

    reader: "BucketReader"
    policy: Policy
    target: WriteTarget
    writes: bool

    def do(self, unit: BucketUnit) -> dict[str, Any]:
        """Find the columns of _FOUND for a bucket."""
        theirs = self.reader.theirs_keys(unit)
        both = _common(self.reader.ours_keys(unit), theirs)
        found = [self._merge(unit, both, self.policy)]
        if unit.theirs_changed is None:
            # Nothing of theirs is replayed, so what only they changed is written as well. It
            # conflicts with nothing, whatever the policy says of rows that both touched.
            only_theirs = theirs.filter(pc.invert(pc.is_in(theirs, value_set=both)))
            found.append(self._merge(unit, only_theirs, Policy()))
        conflicts = pa.concat_tables([each.conflicts for each in found])
        rows = pa.concat_tables([each.rows for each in found])
        files = None
        is_written = self.writes and rows.num_rows and not conflicts["take"].null_count
        if is_written and self.target.schema.skips_level_0:
            files = self._rewrite(unit, pa.concat_tables([each.settled for each in found]))
        elif is_written:
            files = write_bucket(
                self.target,
                unit.partition,
                unit.bucket,
                [rows],
                next_sequence=unit.next_sequence,
                # A task that Spark runs again writes new names: no file is ever written twice.
                file_id=str(uuid4()),
            )
        return {
            "counts": to_bytes(_verdict_rows(unit, [each.verdicts for each in found])),
            "conflicts": to_bytes(conflicts),
            **_packed_files(files),
        }

    def _rewrite(self, unit: BucketUnit, settled: pa.Table) -> WrittenFiles:
        """Write the whole bucket of a table whose readers do not look at level 0."""
        files = rewrite_bucket(
            self.target,
            unit.partition,
            unit.bucket,
            unit.files.ours,
            self.reader.ours_rows,
            settled,
            next_sequence=unit.next_sequence,
        )
        return WrittenFiles(new_files=files, changelog_files=NO_FILES)

    def _merge(self, unit: BucketUnit, keys: pa.Array, policy: Policy) -> "_Merged":
        scope, schema = self.reader.scope, self.reader.scope.schema
        read = self.reader.rows(unit, keys)
        sides, replays = read.sides(), read.replays()
        merged = row_merge.merge_rows(sides, schema, policy, table=scope.table, replays=replays)
        rows = conform(_rows_to_write(merged, replays, schema), schema)
        if schema.skips_level_0:
            settled = _settled_rows(merged, sides.ours, schema)
            return _Merged(
                verdicts=merged.verdicts, conflicts=merged.conflicts, rows=rows, settled=settled
            )
        hidden = _hidden_keys(read, rows, merged, unit.next_sequence)
        conflicts = [merged.conflicts]
        if len(hidden):
            at_hidden = ThreeWay(
                base=_only(sides.base, hidden, schema),
                ours=_only(sides.ours, hidden, schema),
                theirs=_only(sides.theirs, hidden, schema),
            )
            conflicts.append(row_merge.hidden_conflicts(at_hidden, schema, table=scope.table))
        found = pa.concat_tables(conflicts)
        return _Merged(verdicts=merged.verdicts, conflicts=found, rows=rows, settled=rows)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Merged:
    """Verdict counts, conflicts, and rows as `conform` makes them.

    `rows` are written on top of what is there, `settled` in its place.
    """

    verdicts: Mapping[RowVerdict, int]
    conflicts: pa.Table
    rows: pa.Table
    settled: pa.Table


def _rows_to_write(
    merged: row_merge.RowMerge, replays: Sequence[pa.Table], schema: TableSchema
) -> pa.Table:
    """Rows to upsert, and rows to delete with the values that readers would see of them."""
    kind = pa.field(VALUE_KIND, pa.int8())
    parts = [merged.upserts.append_column(kind, _kinds(merged.upserts.num_rows, _INSERT))]
    wanted = _keys(merged.deletes, schema)
    for replay in replays:
        seen = _only(replay, wanted, schema)
        wanted = wanted.filter(pc.invert(pc.is_in(wanted, value_set=_keys(seen, schema))))
        gone = seen.append_column(kind, _kinds(seen.num_rows, _DELETE))
        parts.append(gone.select(parts[0].column_names).cast(parts[0].schema))
    return pa.concat_tables(parts)


def _settled_rows(merged: row_merge.RowMerge, ours: pa.Table, schema: TableSchema) -> pa.Table:
    """Rows that take the place of the target's own, and those of its own that go."""
    kind = pa.field(VALUE_KIND, pa.int8())
    come = merged.results.append_column(kind, _kinds(merged.results.num_rows, _INSERT))
    gone = _only(ours, _keys(merged.deletes, schema), schema)
    gone = gone.append_column(kind, _kinds(gone.num_rows, _DELETE))
    return conform(
        pa.concat_tables([come, gone.select(come.column_names).cast(come.schema)]), schema
    )


def _kinds(count: int, kind: int) -> pa.Array:
    return pa.repeat(pa.scalar(kind, pa.int8()), count)


def _hidden_keys(
    read: "_Rows", rows: pa.Table, merged: row_merge.RowMerge, sequence: int
) -> pa.Array:
    """The keys of which readers would see something else than the result, though it is written."""
    schema = read.schema
    written = rows.append_column(SEQUENCE_NUMBER, pa.repeat(pa.scalar(sequence), rows.num_rows))
    layout = read.ours.schema
    after = pa.concat_tables([read.ours, read.replayed, written.select(layout.names).cast(layout)])
    seen = merge_on_read.merge_rows(after, schema)
    there = _only(seen, _keys(merged.results, schema), schema)
    wrong = row_merge.changed_keys(there, merged.results, schema, nearly=True)
    left_over = _only(seen, _keys(merged.deletes, schema), schema)
    return pa.concat_arrays([_keys(wrong, schema), _keys(left_over, schema)])


def _verdict_rows(unit: BucketUnit, verdicts: Iterable[Mapping[RowVerdict, int]]) -> pa.Table:
    counts = Counter[RowVerdict]()
    for each in verdicts:
        counts.update(each)
    return pa.Table.from_pylist(
        [
            {
                "partition": unit.partition,
                "bucket": unit.bucket,
                "verdict": str(verdict),
                "rows": counts[verdict],
            }
            for verdict in RowVerdict
            if counts[verdict]
        ],
        schema=ROW_VERDICTS,
    )


def _packed_files(files: WrittenFiles | None) -> dict[str, bytes | None]:
    if files is None:
        return {"new_files": None, "changelog_files": None}
    return {
        "new_files": to_bytes(files.new_files),
        "changelog_files": to_bytes(files.changelog_files),
    }


# --- rows ---------------------------------------------------------------------------------------
# Keys are trimmed primary keys as BinaryRow bytes: within a bucket they say it all.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Rows:
    """The rows of some keys as they stand in the files of each side, and in those replayed."""

    schema: TableSchema
    base: pa.Table
    ours: pa.Table
    theirs: pa.Table
    replayed: pa.Table

    def sides(self) -> ThreeWay[pa.Table]:
        """What readers find on each side."""
        base, ours, theirs = (
            merge_on_read.merge_rows(each, self.schema)
            for each in (self.base, self.ours, self.theirs)
        )
        return ThreeWay(base=base, ours=ours, theirs=theirs)

    def replays(self) -> tuple[pa.Table, ...]:
        """What readers find after replay of theirs.

        Both branches count sequence numbers on from the base, so rows of both may have one number.
        Which of them readers see is then not known: both ways are given.
        """
        orders = ((self.ours, self.replayed), (self.replayed, self.ours))
        return tuple(
            merge_on_read.merge_rows(pa.concat_tables(order), self.schema) for order in orders
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketReader:
    """Reads buckets of one merge."""

    store: FileIO
    scope: RowScope

    def ours_keys(self, unit: BucketUnit) -> pa.Array:
        """The keys that the target changed."""
        return self._changed(unit, unit.ours_changed, unit.files.ours, self.scope.schemas.ours)

    def theirs_keys(self, unit: BucketUnit) -> pa.Array:
        """The keys that the source changed."""
        schemas = self.scope.schemas.theirs
        return self._changed(unit, unit.theirs_changed, unit.files.theirs, schemas)

    def rows(self, unit: BucketUnit, keys: pa.Array) -> _Rows:
        """The rows of some keys; a file that several sides hold is read once."""
        schemas, there = self.scope.schemas, {file.data.path for file in unit.files.ours}
        # A file that came with an earlier merge is not replayed again.
        replayed = [f for f in unit.theirs_changed or () if f.data.path not in there]
        ends = _ends(keys, self.scope.schema)
        found: dict[DataFile, pa.Table] = {}

        def read(files: Iterable[CompactedFile], by_id: Mapping[int, TableSchema]) -> pa.Table:
            parts = [_layout(self.scope.schema).empty_table()]
            for file in files:
                if ends is None or not self._overlaps(file, ends):
                    continue
                if file.data not in found:
                    whole = self._read([file], by_id)
                    found[file.data] = _only(whole, keys, self.scope.schema)
                parts.append(found[file.data])
            return pa.concat_tables(parts)

        return _Rows(
            schema=self.scope.schema,
            base=read(unit.files.base, schemas.base),
            ours=read(unit.files.ours, schemas.ours),
            theirs=read(unit.files.theirs, schemas.theirs),
            replayed=read(replayed, schemas.theirs),
        )

    def ours_rows(self, files: Iterable[CompactedFile]) -> pa.Table:
        """All rows of some files of the target, as they stand there."""
        return self._read(files, self.scope.schemas.ours)

    def _changed(
        self,
        unit: BucketUnit,
        changed: tuple[CompactedFile, ...] | None,
        live: tuple[CompactedFile, ...],
        schemas: Mapping[int, TableSchema],
    ) -> pa.Array:
        schema = self.scope.schema
        if changed is None:
            before = self._read(unit.files.base, self.scope.schemas.base)
            return _touched(before, self._read(live, schemas), schema)
        parts = [
            read_data_file(
                self.store, file.data, schemas, schema.key_type.fields, with_system=False
            )
            for file in changed
        ]
        keys = [pa.array([], pa.binary()), *(_keys(part, schema) for part in parts)]
        return pa.concat_arrays(keys).unique()

    def _read(self, files: Iterable[CompactedFile], schemas: Mapping[int, TableSchema]) -> pa.Table:
        layout, fields = _layout(self.scope.schema), self.scope.schema.fields
        parts = (
            read_data_file(self.store, file.data, schemas, fields, with_system=True)
            for file in files
        )
        return pa.concat_tables([layout.empty_table(), *(part.cast(layout) for part in parts)])

    def _overlaps(self, file: CompactedFile, ends: tuple[_Key, _Key]) -> bool:
        types = self.scope.schema.key_type.types
        low, high = (decode_row(file.entry[name], types) for name in ("min_key", "max_key"))
        return low <= ends[1] and ends[0] <= high


def _touched(before: pa.Table, after: pa.Table, schema: TableSchema) -> pa.Array:
    """The keys of rows that were written or deleted between two states of a bucket's files.

    A row that was written again as it was counts: with its new sequence number it would hide what
    is replayed. Compaction keeps the number of the row that it keeps.
    """
    is_known = pc.is_in(_numbered(after, schema), value_set=_numbered(before, schema))
    written = _keys(after, schema).filter(pc.invert(is_known))
    old, new = (merge_on_read.merge_rows(rows, schema) for rows in (before, after))
    changed = row_merge.changed_keys(old, new, schema)
    return pa.concat_arrays([written, _keys(changed, schema)]).unique()


def _numbered(rows: pa.Table, schema: TableSchema) -> pa.Array:
    """Keys with their sequence numbers."""
    numbers = rows[SEQUENCE_NUMBER].combine_chunks().cast(pa.string()).cast(pa.binary())
    return pc.binary_join_element_wise(_keys(rows, schema), numbers, b"")


def _layout(schema: TableSchema) -> pa.Schema:
    """The columns of rows as they stand in files."""
    columns = [field.remove_metadata() for field in arrow_schema(schema.fields)]
    return pa.schema(
        [
            pa.field(SEQUENCE_NUMBER, pa.int64()),
            pa.field(VALUE_KIND, pa.int8()),
            *(column.with_nullable(True) for column in columns),
        ]
    )


def _keys(rows: pa.Table, schema: TableSchema) -> pa.Array:
    return encode_rows(rows.select(list(schema.trimmed_primary_keys)), schema.key_type.types)


def _only(rows: pa.Table, keys: pa.Array, schema: TableSchema) -> pa.Table:
    return rows.filter(pc.is_in(_keys(rows, schema), value_set=keys))


def _common(left: pa.Array, right: pa.Array) -> pa.Array:
    return left.filter(pc.is_in(left, value_set=right))


def _ends(keys: pa.Array, schema: TableSchema) -> tuple[_Key, _Key] | None:
    """The first and the last of some keys, None where there are none."""
    if not len(keys):
        return None
    names = schema.trimmed_primary_keys
    columns = decode_rows(keys, schema.key_type).flatten()
    order = pc.sort_indices(
        pa.table(columns, names=list(names)), sort_keys=[(name, "ascending") for name in names]
    )
    types = schema.key_type.types
    first, last = (decode_row(keys[order[at].as_py()].as_py(), types) for at in (0, -1))
    return first, last
