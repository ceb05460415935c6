"""Row work of a merge in tasks, a bucket each: which keys both sides changed, and what is right.

A task reads the rows of these keys on each side as readers would, merges them by the package
`merge`, and writes what replaying the source's files would not give. Nothing is visible until it is
committed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.diff.changes.table_changes import by_place
from branch_console.diff.three_way import ThreeWay
from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format import options as table_options
from branch_console.format.index_manifest import NO_INDEX_FILES
from branch_console.format.manifest_entry import NO_FILES
from branch_console.format.table_schema import TableSchema
from branch_console.merge import row_merge
from branch_console.merge.engine_rules import EngineRules
from branch_console.merge.policy import Policy
from branch_console.merge.row_work import (
    CHANGED_KEYS,
    FIRST_RANKED,
    ROW_VERDICTS,
    Reconciled,
    RowScope,
    RowVerdict,
    RowWork,
    row_conflict_schema,
)
from branch_console.spark.files.conform import conform
from branch_console.spark.files.data_files import (
    WriteTarget,
    WrittenFiles,
    check_writable,
    write_bucket,
)
from branch_console.spark.kernels import merge_on_read
from branch_console.spark.kernels.key_groups import KeyGroups
from branch_console.spark.kernels.merge_on_read import SEQUENCE_NUMBER, VALUE_KIND
from branch_console.spark.merge.bucket_rewrite import rewrite_bucket
from branch_console.spark.merge.bucket_sides import (
    BucketReader,
    BucketRows,
    BucketUnit,
    common_keys,
    key_bytes,
    keys_of_conflicts,
    of_keys,
    units_of,
)
from branch_console.spark.read.readers import check_readable
from branch_console.spark.session.arrow_bytes import from_bytes, to_bytes
from branch_console.spark.session.session import Progress, WarmSession
from branch_console.spark.session.unit_tasks import run_units
from branch_console.spark.write.dynamic_buckets import DynamicBuckets
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable

_FOUND: Final = ("counts", "conflicts", "new_files", "changelog_files", "new_index_files")
_INSERT: Final = 0
_DELETE: Final = 3


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
        session: The Spark session for the tasks.
        store: The store of the table.
        table: The table on the target.
        scope: The facts that all buckets share.
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
    found = run_units(
        session,
        units_of(store, table, work),
        task.do,
        _FOUND,
        description=f"changed keys of {scope.table}",
        progress=progress,
    )
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
    write_id: str = "",
    progress: Progress = lambda done, total: None,
) -> Reconciled[CommitMessage]:
    """Merge rows that both sides changed, and write what replaying would not give.

    Args:
        session: The Spark session for the tasks.
        store: The store of the table, with the right to write.
        table: The table on the target; files are written for it.
        scope: The facts that all buckets share.
        work: The buckets.
        policy: When rows conflict, and how conflicts are settled.
        writes: Whether files are written. A bucket with open conflicts gets none.
        write_id: The id that the names of the files contain, by which they are found again.
        progress: Called with tasks done and tasks known; what it raises stops the run.

    Raises:
        FormatError: A file is missing or cannot be read.
        InvalidInput: The table is of a kind whose rows cannot be merged here, or the policy does
            not fit it.
    """
    _check(scope.schema)
    check_writable(scope.schema, keeps_index=True, is_merge=True)
    target = WriteTarget(
        schema=scope.schema,
        paths=table.data_paths(),
        store=store,
        created=datetime.now(),
        write_id=write_id,
    )
    reader = BucketReader(store=store, scope=scope)
    task = MergeTask(reader=reader, policy=policy, target=target, writes=writes)
    found = run_units(
        session,
        units_of(store, table, work),
        task.do,
        _FOUND,
        description=f"merge rows of {scope.table}",
        progress=progress,
    )
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
            message
            for row in found
            if row["new_files"] is not None
            for message in _messages(work[row["number"]], row, scope.schema)
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


def _messages(
    work: RowWork, row: Mapping[str, Any], schema: TableSchema
) -> tuple[CommitMessage, ...]:
    """Return one message for each bucket that was written."""
    if work.index is None:
        return (_message(work, row, schema),)
    names = ("new_files", "changelog_files", "new_index_files")
    found = {name: by_place(from_bytes(row[name])) for name in names}
    return tuple(
        CommitMessage(
            partition=place[0],
            bucket=place[1],
            total_buckets=schema.num_buckets,
            **{name: at[place] for name, at in found.items() if place in at},
        )
        for place in sorted(found["new_files"])
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
    return replace(message, deleted_files=work.ours.entries, deleted_index_files=work.ours.marks)


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
            "both": len(common_keys(ours, theirs)),
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
        both = common_keys(self.reader.ours_keys(unit), theirs)
        found = [self._merge(unit, both, self.policy)]
        if unit.theirs_changed is None:
            # Nothing of theirs is replayed, so what only they changed is written as well. It
            # conflicts with nothing, whatever the policy says of rows that both touched.
            only_theirs = theirs.filter(pc.invert(pc.is_in(theirs, value_set=both)))
            found.append(self._merge(unit, only_theirs, Policy()))
        conflicts = pa.concat_tables([each.conflicts for each in found])
        rows = pa.concat_tables([each.rows for each in found])
        files, index = None, NO_INDEX_FILES
        is_written = self.writes and rows.num_rows and not conflicts["take"].null_count
        if is_written and self.target.schema.skips_level_0:
            files = self._rewrite(unit, pa.concat_tables([each.settled for each in found]))
        elif is_written and unit.index_paths is not None:
            files, index = self._place(unit, unit.index_paths, rows)
        elif is_written:
            files = self._write(unit, unit.bucket, [rows])
        return {
            "counts": to_bytes(_verdict_rows(unit, [each.verdicts for each in found])),
            "conflicts": to_bytes(conflicts),
            **_packed_files(files, index),
        }

    def _write(self, unit: BucketUnit, bucket: int, chunks: Iterable[pa.Table]) -> WrittenFiles:
        return write_bucket(
            self.target,
            unit.partition,
            bucket,
            chunks,
            next_sequence=unit.next_sequence,
            file_id=self.target.new_file_id(),
        )

    def _place(
        self, unit: BucketUnit, index_paths: Mapping[int, str], rows: pa.Table
    ) -> tuple[WrittenFiles, pa.Table]:
        """Write each row to the bucket that the target has for its key, or now gets for it."""
        buckets = DynamicBuckets(target=self.target, paths={unit.partition: index_paths})
        files, index = [], [NO_INDEX_FILES]
        for bucket, part in buckets.split(rows, buckets.load(unit.partition)):
            keys = buckets.keys_of(unit.partition, bucket)
            files.append(self._write(unit, bucket, keys.watch([part])))
            written = keys.write()
            index += [] if written is None else [written]
        return (
            WrittenFiles(
                new_files=pa.concat_tables(each.new_files for each in files),
                changelog_files=pa.concat_tables(each.changelog_files for each in files),
            ),
            pa.concat_tables(index),
        )

    def _rewrite(self, unit: BucketUnit, settled: pa.Table) -> WrittenFiles:
        """Write the whole bucket of a table whose readers do not look at level 0."""
        files = rewrite_bucket(
            self.target,
            unit.partition,
            unit.bucket,
            unit.ours,
            self.reader.ours_rows,
            settled,
            next_sequence=unit.next_sequence,
        )
        return WrittenFiles(new_files=files, changelog_files=NO_FILES)

    def _merge(self, unit: BucketUnit, keys: pa.Array, policy: Policy) -> "_Merged":
        scope, schema = self.reader.scope, self.reader.scope.schema
        read = self.reader.rows(unit, keys, self.policy)
        sides, replays = read.sides(), read.replays()
        merged = row_merge.merge_rows(sides, schema, policy, table=scope.table, replays=replays)
        rows = conform(_rows_to_write(merged, replays, schema), schema)
        if schema.skips_level_0:
            settled = _settled_rows(merged, sides.ours, schema)
            return _Merged(
                verdicts=merged.verdicts, conflicts=merged.conflicts, rows=rows, settled=settled
            )
        hidden = _hidden_keys(read, rows, merged, unit.next_sequence)
        if len(hidden) and EngineRules.of(schema).starts_anew:
            rows = _started_anew(rows, hidden, merged, schema)
            hidden = _hidden_keys(read, rows, merged, unit.next_sequence)
        conflicts = [_with_first_ranked(merged.conflicts, read)]
        if len(hidden):
            at_hidden = ThreeWay(
                base=of_keys(sides.base, hidden, schema),
                ours=of_keys(sides.ours, hidden, schema),
                theirs=of_keys(sides.theirs, hidden, schema),
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
    merged: row_merge.MergedRows, replays: Sequence[pa.Table], schema: TableSchema
) -> pa.Table:
    """Rows to upsert, and rows to delete with the values that readers would see of them."""
    kind = pa.field(VALUE_KIND, pa.int8())
    parts = [merged.upserts.append_column(kind, _kinds(merged.upserts.num_rows, _INSERT))]
    wanted = key_bytes(merged.deletes, schema)
    for replay in replays:
        seen = of_keys(replay, wanted, schema)
        wanted = wanted.filter(pc.invert(pc.is_in(wanted, value_set=key_bytes(seen, schema))))
        gone = seen.append_column(kind, _kinds(seen.num_rows, _DELETE))
        parts.append(gone.select(parts[0].column_names).cast(parts[0].schema))
    return pa.concat_tables(parts)


def _started_anew(
    rows: pa.Table, keys: pa.Array, merged: row_merge.MergedRows, schema: TableSchema
) -> pa.Table:
    """Rows to write, where those of some keys delete what is there and add nothing to it."""
    rules, kind = EngineRules.of(schema), pa.field(VALUE_KIND, pa.int8())
    wanted = of_keys(merged.results, keys, schema).combine_chunks()
    first = wanted.append_column(kind, _kinds(wanted.num_rows, _DELETE))
    then = wanted.append_column(kind, _kinds(wanted.num_rows, _INSERT))
    for name in rules.functions:
        column = wanted[name].combine_chunks()
        nothing = rules.addition(name, column, column)
        then = then.set_column(then.schema.get_field_index(name), name, nothing)
    others = rows.filter(pc.invert(pc.is_in(key_bytes(rows, schema), value_set=keys)))
    return pa.concat_tables([others, *(conform(each, schema) for each in (first, then))])


def _settled_rows(merged: row_merge.MergedRows, ours: pa.Table, schema: TableSchema) -> pa.Table:
    """Rows that take the place of the target's own, and those of its own that go."""
    kind = pa.field(VALUE_KIND, pa.int8())
    come = merged.results.append_column(kind, _kinds(merged.results.num_rows, _INSERT))
    gone = of_keys(ours, key_bytes(merged.deletes, schema), schema)
    gone = gone.append_column(kind, _kinds(gone.num_rows, _DELETE))
    return conform(
        pa.concat_tables([come, gone.select(come.column_names).cast(come.schema)]), schema
    )


def _kinds(count: int, kind: int) -> pa.Array:
    return pa.repeat(pa.scalar(kind, pa.int8()), count)


def _hidden_keys(
    read: "BucketRows", rows: pa.Table, merged: row_merge.MergedRows, sequence: int
) -> pa.Array:
    """The keys for which readers would see another row than the written result."""
    schema = read.schema
    written = rows.append_column(SEQUENCE_NUMBER, pa.repeat(pa.scalar(sequence), rows.num_rows))
    written = written.select(read.ours.column_names).cast(read.ours.schema)
    orders = read.orders()
    if not EngineRules.of(schema).adds_columns:
        orders = orders[:1]  # what is written stands for all that was there
    wrong = []
    for order in orders:
        seen = merge_on_read.merge_rows(pa.concat_tables([order, written]), schema)
        there = of_keys(seen, key_bytes(merged.results, schema), schema)
        changed = row_merge.changed_keys(there, merged.results, schema, nearly=True)
        left_over = of_keys(seen, key_bytes(merged.deletes, schema), schema)
        wrong += [key_bytes(changed, schema), key_bytes(left_over, schema)]
    return pc.unique(pa.concat_arrays(wrong))


def _with_first_ranked(conflicts: pa.Table, read: "BucketRows") -> pa.Table:
    """Conflicts with what comes first in each key by its sequence, as `row_conflict_schema` says.

    A row that deletes has a rank as well, and what was ranked lower stays hidden beneath it.
    """
    schema, rows = read.schema, read.orders()[0]
    if FIRST_RANKED not in conflicts.schema.names or not conflicts.num_rows:
        return conflicts
    if schema.options.read(table_options.IGNORE_DELETE):
        rows = merge_on_read.live_rows(rows)
    keys = keys_of_conflicts(conflicts, schema)
    rows = of_keys(rows, keys, schema)
    if not rows.num_rows:
        return conflicts
    ordered = rows.take(merge_on_read.row_order(rows, schema, SEQUENCE_NUMBER)).combine_chunks()
    groups = KeyGroups.of(ordered, schema.trimmed_primary_keys, VALUE_KIND)
    first = ordered.take(pa.array(groups.lasts)).combine_chunks()
    at = pc.index_in(keys, value_set=key_bytes(first, schema))
    position = conflicts.schema.get_field_index(FIRST_RANKED)
    field = conflicts.schema.field(position)
    fields = list(field.type.field("row").type)
    row = pa.StructArray.from_arrays(
        [first[each.name].combine_chunks().take(at) for each in fields], fields=fields
    )
    descends = pa.repeat(pa.scalar(merge_on_read.is_descending(schema)), len(at))
    column = pa.StructArray.from_arrays(
        [descends, row], fields=list(field.type), mask=pc.is_null(at)
    )
    return conflicts.set_column(position, field, column)


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


def _packed_files(files: WrittenFiles | None, index: pa.Table) -> dict[str, bytes | None]:
    if files is None:
        return {"new_files": None, "changelog_files": None, "new_index_files": None}
    return {
        "new_index_files": to_bytes(index),
        "new_files": to_bytes(files.new_files),
        "changelog_files": to_bytes(files.changelog_files),
    }
