"""Files of which both sides deleted rows, written again in tasks without the rows of either.

Rows that the target has keep the ids that they have there; those of the source get new ones, as
its files do. Source: Paimon SpecialFields.rowTypeWithRowTracking, RowTrackingCommitUtils.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.diff.file_masks import HiddenRows
from branch_console.diff.rows.row_diff import counted_rows
from branch_console.diff.three_way import ThreeWay, each_side
from branch_console.format import options as table_options
from branch_console.format.data_types import DataField
from branch_console.format.manifest_entry import MANIFEST_ENTRY
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.arrow_types import nullable_columns
from branch_console.format.values.fine_times import scalar_of
from branch_console.merge.conflict import Take
from branch_console.merge.joined_deletes import (
    HeldFiles,
    Ids,
    JoinedDeletes,
    Kept,
    Update,
    kept_by_both,
    kept_by_columns,
    kept_by_ids,
)
from branch_console.merge.row_work import JoinedDeletesResult, RowScope
from branch_console.spark.files.data_files import WriteTarget, check_writable, write_bucket
from branch_console.spark.files.data_reader import (
    ROW_ID,
    ROW_TRACKING_FIELDS,
    kept_rows,
    read_data_file,
)
from branch_console.spark.kernels.merge_on_read import SEQUENCE_NUMBER
from branch_console.spark.read.read_plan import PlacedFile, place_marked
from branch_console.spark.read.readers import check_readable
from branch_console.spark.session.arrow_bytes import from_bytes, to_bytes
from branch_console.spark.session.session import Progress, WarmSession
from branch_console.spark.session.unit_tasks import run_units
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable

_FOUND: Final = ("new_files", "beaten")
_BATCH_ROWS: Final = 65_536
_ID: Final = ROW_TRACKING_FIELDS[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinUnit:
    """The files that one task rewrites.

    Attributes:
        files: The files of JoinedDeletes by identity, in the order of their rows, and whether the
            target has them. Files in which a side hid rows are read with all rows.
        next_sequence: The first sequence number of the written file, so that its rows keep their
            place among the files of the bucket.
    """

    number: int
    partition: bytes
    bucket: int
    files: Mapping[str, tuple[PlacedFile, bool]]
    held: ThreeWay[HeldFiles]
    inserted: tuple[frozenset[str], frozenset[str]]
    take: Take | None
    update: Update | None
    next_sequence: int

    @property
    def size(self) -> int:
        """Bytes that are read."""
        return sum(file.data.size for file, _ in self.files.values())


def join_deletes(
    session: WarmSession,
    store: FileIO,
    table: FileStoreTable,
    scope: RowScope,
    work: Sequence[JoinedDeletes],
    marks: pa.Table,
    *,
    write_id: str = "",
    progress: Progress = lambda done, total: None,
) -> JoinedDeletesResult[CommitMessage]:
    """Write files again without the rows that either side deleted of them.

    Args:
        session: The Spark session for the tasks.
        store: The store of the table, with the right to write.
        table: The table on the target; files are written for it.
        scope: The facts that all files share.
        work: The files.
        marks: The deletion vectors that both heads and the base have, as INDEX_MANIFEST_ENTRY.
        write_id: The id that the names of the files contain, by which they are found again.
        progress: Called with tasks done and tasks known; what it raises stops the run.

    Raises:
        FormatError: A file is missing or cannot be read.
        InvalidInput: The table is of a kind whose rows cannot be read or written here.
    """
    check_readable(scope.schema)
    check_writable(scope.schema)
    found = run_units(
        session,
        units_of(store, table, work, marks),
        task_of(store, table, scope, write_id).do,
        _FOUND,
        description=f"join deletes of {scope.table}",
        progress=progress,
    )
    return joined_rows(scope.schema, work, found)


def units_of(
    store: FileIO, table: FileStoreTable, work: Sequence[JoinedDeletes], marks: pa.Table
) -> list[JoinUnit]:
    """Say what tasks do, in the order of `work`."""

    def placed(entries: pa.Table, *, by_target: bool) -> dict[str, tuple[PlacedFile, bool]]:
        # Readers of a bucket take files in this order.
        entries = entries.sort_by("min_sequence_number")
        files = place_marked(store, table, entries, marks)
        identities = entries["identity"].to_pylist()
        return {each: (file, by_target) for each, file in zip(identities, files, strict=True)}

    return [
        JoinUnit(
            number=number,
            partition=each.place[0],
            bucket=each.place[1],
            files=_read_whole(
                placed(each.ours, by_target=True) | placed(each.theirs, by_target=False), each.held
            ),
            held=each.held,
            inserted=each.inserted,
            take=each.take,
            update=each.update,
            next_sequence=min(
                pc.min(files["min_sequence_number"]).as_py()
                for files in (each.ours, each.theirs)
                if files.num_rows
            ),
        )
        for number, each in enumerate(work)
    ]


def task_of(
    store: FileIO, table: FileStoreTable, scope: RowScope, write_id: str = ""
) -> "JoinTask":
    """Say what all tasks know."""
    target = WriteTarget(
        schema=scope.schema,
        paths=table.data_paths(),
        store=store,
        created=datetime.now(),
        write_id=write_id,
    )
    return JoinTask(scope=scope, target=target)


def joined_rows(
    schema: TableSchema, work: Sequence[JoinedDeletes], found: Sequence[Mapping[str, Any]]
) -> JoinedDeletesResult[CommitMessage]:
    """Join what `JoinTask` found; `found` has the columns of its answer and `number`."""
    return JoinedDeletesResult(
        messages=tuple(
            CommitMessage(
                partition=work[row["number"]].place[0],
                bucket=work[row["number"]].place[1],
                total_buckets=schema.num_buckets,
                new_files=from_bytes(row["new_files"]),
            )
            for row in found
            if row["new_files"] is not None
        ),
        unresolved_files=tuple(
            name
            for row in found
            if row["new_files"] is None
            for name in work[row["number"]].base_names
        ),
        overruled_rows=sum(int(row["beaten"] or 0) for row in found),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinTask:
    """Reads the files of all sides, and writes what both kept."""

    scope: RowScope
    target: WriteTarget

    def do(self, unit: JoinUnit) -> dict[str, bytes | None]:
        """Find the columns of _FOUND; no files where a side did more than delete."""
        rows = {
            identity: self._read(file, by_target=by_target)
            for identity, (file, by_target) in unit.files.items()
        }
        sides = each_side(unit.held, lambda held: self._side(rows, held))
        ours_new, theirs_new = (self._side(rows, dict.fromkeys(each)) for each in unit.inserted)
        kept = self._kept(sides, (ours_new, theirs_new), unit.update)
        beaten = 0
        if kept is not None:
            stay, come, beaten = pa.array(kept.stay), pa.array(kept.come), kept.overruled_rows
            written = self._write(unit, sides.ours.filter(stay), sides.theirs.filter(come))
        elif unit.take is Take.OURS:
            written = self._write(unit, sides.ours)
        elif unit.take is Take.THEIRS:
            written = self._write(unit, *self._by_base(sides.theirs, sides.base))
        else:
            return {"new_files": None, "beaten": None}
        return {"new_files": to_bytes(written), "beaten": str(beaten).encode()}

    @property
    def _has_ids(self) -> bool:
        return self.scope.schema.options.read(table_options.ROW_TRACKING_ENABLED)

    @property
    def _fields(self) -> tuple[DataField, ...]:
        fields = self.scope.schema.fields
        return (*fields, *ROW_TRACKING_FIELDS) if self._has_ids else fields

    def _read(self, file: PlacedFile, *, by_target: bool) -> pa.Table:
        schemas = self.scope.schemas_of(by_target=by_target)
        fields = self._fields
        rows = read_data_file(self.target.store, file.data, schemas, fields, with_system=False)
        return _with_defaults(rows.cast(nullable_columns(fields)), self.scope.schema.fields)

    def _side(self, rows: Mapping[str, pa.Table], held: HeldFiles) -> pa.Table:
        nothing = nullable_columns(self._fields).empty_table()
        parts = (_without(rows[each], held[each]) for each in rows if each in held)
        return pa.concat_tables([nothing, *parts])

    def _kept(
        self,
        sides: ThreeWay[pa.Table],
        inserted: tuple[pa.Table, pa.Table],
        update: Update | None,
    ) -> Kept | None:
        fields = self.scope.schema.fields
        if self._has_ids:
            # Of equal rows the one goes that was deleted; a writer may have given rows new ids.
            ours_new, theirs_new = map(_ids, inserted)
            rows = each_side(sides, lambda side: _bytes(side, fields))
            kept = kept_by_ids(each_side(sides, _ids), (ours_new, theirs_new), rows, update)
            if kept is None:
                kept = _kept_by_both(sides, inserted, (*fields, _ID), update)
            if kept is not None:
                return kept
        kept = _kept_by_both(sides, inserted, fields, update)
        if kept is None and update is not None:
            kept = _kept_by_columns(sides, inserted, fields, update)
        return kept

    def _by_base(self, rows: pa.Table, base: pa.Table) -> tuple[pa.Table, pa.Table]:
        """Rows whose ids the base has, and the others: on the target these may be of other rows."""
        if not self._has_ids:
            return rows, rows.slice(0, 0)
        is_known = pc.is_in(rows[ROW_ID], value_set=base[ROW_ID].combine_chunks())
        return rows.filter(is_known), rows.filter(pc.invert(is_known))

    def _write(self, unit: JoinUnit, known: pa.Table, new: pa.Table | None = None) -> pa.Table:
        """Write rows; of those of the target that have ids, these too."""
        if not self._has_ids:
            rows = known if new is None else pa.concat_tables([known, new])
            return self._files(self.target, unit, rows, next_sequence=unit.next_sequence)
        whole = replace(self.target, schema=replace(self.scope.schema, fields=self._fields))
        files = self._files(whole, unit, known, next_sequence=0)
        parts = [_keeping_ids(files, known)]
        if new is not None:
            parts.append(self._files(self.target, unit, new, next_sequence=0))
        return pa.concat_tables(parts)

    def _files(
        self, target: WriteTarget, unit: JoinUnit, rows: pa.Table, *, next_sequence: int
    ) -> pa.Table:
        written = write_bucket(
            target,
            unit.partition,
            unit.bucket,
            [rows] if rows.num_rows else [],
            next_sequence=next_sequence,
            file_id=target.new_file_id(),
        )
        return written.new_files


def _kept_by_both(
    sides: ThreeWay[pa.Table],
    inserted: tuple[pa.Table, pa.Table],
    fields: Sequence[DataField],
    update: Update | None,
) -> Kept | None:
    ours_new, theirs_new = (_bytes(each, fields) for each in inserted)
    values = each_side(sides, lambda rows: _bytes(rows, fields))
    return kept_by_both(values, (ours_new, theirs_new), update)


def _with_defaults(rows: pa.Table, fields: Sequence[DataField]) -> pa.Table:
    """Fill in the defaults of columns that forbid nulls, as they are when rows are written."""
    for at, field in enumerate(fields):
        column = rows[field.name]
        if field.type.nullable or field.default_value is None or not column.null_count:
            continue
        default = scalar_of(field.default_value, column.type)
        filled = pc.if_else(pc.is_valid(column), column, default)
        rows = rows.set_column(at, rows.schema.field(at), filled)
    return rows


def _kept_by_columns(
    sides: ThreeWay[pa.Table],
    inserted: tuple[pa.Table, pa.Table],
    fields: Sequence[DataField],
    update: Update,
) -> Kept | None:
    def describe(side: pa.Table, field: DataField) -> pa.ChunkedArray:
        return _bytes(side, (field,))

    return kept_by_columns(
        [each_side(sides, partial(describe, field=field)) for field in fields],
        [(describe(inserted[0], field), describe(inserted[1], field)) for field in fields],
        update,
    )


def _ids(rows: pa.Table) -> Ids:
    return np.asarray(rows[ROW_ID].to_numpy(), dtype=np.int64)


def _bytes(rows: pa.Table, fields: Sequence[DataField]) -> pa.ChunkedArray:
    encoded = rows.select([field.name for field in fields])
    types = [field.type for field in fields]
    return pa.chunked_array(
        [
            # Together they may be more than 32 bits can count.
            counted_rows(encoded.slice(start, _BATCH_ROWS), types).cast(pa.large_binary())
            for start in range(0, encoded.num_rows, _BATCH_ROWS)
        ],
        pa.large_binary(),
    )


def _keeping_ids(files: pa.Table, rows: pa.Table) -> pa.Table:
    """Files of rows that have ids and sequence numbers: a commit gives them no others."""
    sequence = pc.min_max(rows[SEQUENCE_NUMBER])
    count = files.num_rows
    columns = {
        "write_cols": pa.array(
            [rows.column_names] * count, MANIFEST_ENTRY.field("write_cols").type
        ),
        "min_sequence_number": pa.repeat(sequence["min"], count),
        "max_sequence_number": pa.repeat(sequence["max"], count),
    }
    for name, column in columns.items():
        files = files.set_column(
            files.schema.get_field_index(name), MANIFEST_ENTRY.field(name), column
        )
    return files


def _read_whole(
    files: Mapping[str, tuple[PlacedFile, bool]], held: ThreeWay[HeldFiles]
) -> dict[str, tuple[PlacedFile, bool]]:
    """Leave out the deletion vectors of files of which sides hide different rows."""
    differing = {
        each
        for side in (held.base, held.ours, held.theirs)
        for each, hidden in side.items()
        if hidden is not None
    }
    return {
        each: (
            replace(file, data=replace(file.data, deleted=None)) if each in differing else file,
            by_target,
        )
        for each, (file, by_target) in files.items()
    }


def _without(rows: pa.Table, hidden: HiddenRows | None) -> pa.Table:
    if hidden is None:
        return rows
    gone = np.fromiter(hidden, dtype=np.int64, count=len(hidden))
    return rows.filter(kept_rows(gone, 0, rows.num_rows))
