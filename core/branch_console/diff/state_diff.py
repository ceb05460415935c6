"""The differences of two states of a table: files, partitions, and bounds on the number of rows.

Only manifests that one of the states lists are read. A file that was copied for a branch, or moved
to another level unchanged, has the same rows and counts as shared.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.changes.file_history import change_counts, original_names
from branch_console.diff.file_masks import MaskKey
from branch_console.diff.masks import MaskChange
from branch_console.diff.rows.row_bounds import (
    CountBounds,
    Counting,
    PlaceRows,
    RowDifference,
    RowReason,
    rows_between,
)
from branch_console.diff.rows.row_groups import Ints, group_rows
from branch_console.diff.schema_diff import SchemaDiff
from branch_console.diff.state_name import StateName
from branch_console.format import options as table_options
from branch_console.format.manifest_entry import MANIFEST_ENTRY, FileSource
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema

_KEPT: Final = [
    *("partition", "bucket", "level", "file_name", "file_size", "row_count", "delete_row_count"),
    *("schema_id", "file_source", "creation_time"),
]

DIFFERING_FILES: Final = pa.schema(
    [
        *(MANIFEST_ENTRY.field(name) for name in _KEPT),
        pa.field("is_after", pa.bool_(), nullable=False),
        pa.field("is_read", pa.bool_(), nullable=False),
        pa.field("masked", pa.int64(), nullable=False),
    ]
)
"""Files that one state has and the other lacks, with what MANIFEST_ENTRY says of them.

`is_after` tells which, `is_read` whether batch readers see the file, and `masked` how many of its
rows a deletion vector hides there.
"""

PLACE_DIFF: Final = pa.schema(
    [
        pa.field("partition", pa.binary(), nullable=False),
        pa.field("bucket", pa.int32(), nullable=False),
        *(
            pa.field(f"{what}_{side}", pa.int64(), nullable=False)
            for what in ("files", "bytes", "rows", "deletes")
            for side in ("before", "after")
        ),
    ]
)
"""By partition and bucket, what only one of two states has.

`rows` are those in its own files and those that only the other one hides, before merging on read.
`deletes` are the records among them that delete a row, where a file counts them; else 0.
"""


def pinned_name(branch: str, snapshot: Snapshot) -> StateName:
    """Return the name of one snapshot, wherever its branch goes on to."""
    return StateName(branch=branch, snapshot_id=snapshot.id, identity=snapshot.identity.short)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedState:
    """A state of a table: where it was found, and what it is read with.

    Attributes:
        name: As it was asked for.
        branch: The branch that it stands on.
        snapshot: None before the first commit.
        schema: The newest one for the head of a branch, else the one that was committed with.
    """

    name: StateName
    branch: str
    snapshot: Snapshot | None
    schema: TableSchema

    @property
    def pinned(self) -> StateName:
        """The name of this very snapshot, wherever the branch goes on to."""
        return self.name if self.snapshot is None else pinned_name(self.branch, self.snapshot)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTotals:
    """All of one state, or its own files; `record_count` is None if no commit says it."""

    file_count: int
    byte_count: int | None
    record_count: int | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StateDiff:
    """Two states of one table, compared by their manifests.

    Attributes:
        before, after: The states, in the order they were named.
        files: Columns of DIFFERING_FILES.
        masks: Files of which the states hide different rows; they are shared.
        places: Columns of PLACE_DIFF.
        rows: How many rows came, went and changed, with its label.
        schema: What differs between the schemas, options among it.
        totals: The totals of each state.
        manifests_read: How many manifests were opened for this.
        manifests_skipped: How many both states list.
    """

    before: ComparedState
    after: ComparedState
    files: pa.Table
    masks: tuple[MaskChange, ...]
    places: pa.Table
    rows: RowDifference
    schema: SchemaDiff
    totals: tuple[StateTotals, StateTotals]
    manifests_read: int
    manifests_skipped: int

    @property
    def is_empty(self) -> bool:
        """Whether both states hold the same files, hide the same rows and have one schema."""
        return not self.files.num_rows and not self.masks and self.schema.is_empty

    @property
    def has_same_rows(self) -> bool:
        """Whether no row differs for certain, whatever the schemas say."""
        return self.rows.is_none

    @property
    def files_waiting(self) -> int:
        """How many files of one state alone readers see only after a compaction."""
        return _sum(pc.cast(pc.invert(self.files["is_read"]), pa.int64()))

    def files_of(self, *, after: bool) -> pa.Table:
        """The files that one state has for itself, with the columns of DIFFERING_FILES."""
        return self.files.filter(pc.equal(self.files["is_after"], after))

    def only_in(self, *, after: bool) -> StateTotals:
        """The totals of the files that only one state has."""
        own = self.files_of(after=after)
        return StateTotals(
            file_count=own.num_rows,
            byte_count=_sum(own["file_size"]),
            record_count=_sum(own["row_count"]),
        )

    @property
    def shared(self) -> StateTotals:
        """The totals of the files that both states have; a copy of a file is the same file."""
        whole, own = self.totals[0], self.only_in(after=False)
        records, size = whole.record_count, whole.byte_count
        return StateTotals(
            file_count=whole.file_count - own.file_count,
            byte_count=None if size is None else size - (own.byte_count or 0),
            record_count=None if records is None else records - (own.record_count or 0),
        )


def differing_files(before: pa.Table, after: pa.Table, schemas: Sequence[TableSchema]) -> pa.Table:
    """The files that one state has and the other lacks.

    Args:
        before: Entries of the manifests that only one state lists, ADD and DELETE, with the columns
            of MANIFEST_ENTRY. A DELETE may be of a file that a shared manifest adds.
        after: The same of the other state.
        schemas: The schemas of both, which say what batch readers leave out.

    Returns:
        Columns of DIFFERING_FILES but `masked`, by place and name.
    """
    # Statistics are most of an entry, and nothing here asks for them.
    both = pa.concat_tables([before, after]).select(["kind", *_KEPT])
    counts = change_counts(both, before.num_rows)
    is_read = _is_read(both, schemas)
    names = original_names(both["file_name"])
    groups = group_rows([both["partition"], both["bucket"], names, pa.array(is_read)])
    balance = groups.sums(counts)
    rows: Ints = np.repeat(groups.first, np.abs(balance))
    sides = np.repeat(balance > 0, np.abs(balance))
    found = both.select(_KEPT).take(pa.array(rows, pa.int64()))
    found = found.append_column(DIFFERING_FILES.field("is_after"), pa.array(sides, pa.bool_()))
    read = pa.array(is_read[rows], pa.bool_())
    found = found.append_column(DIFFERING_FILES.field("is_read"), read)
    order = [("partition", "ascending"), ("bucket", "ascending"), ("file_name", "ascending")]
    return found.sort_by(order)


def with_masks(files: pa.Table, before: dict[MaskKey, int], after: dict[MaskKey, int]) -> pa.Table:
    """Differing files with the number of rows that the vectors of their state hide.

    Args:
        files: As `differing_files` gives them.
        before: Hidden rows by file, of the state that was named first.
        after: The same of the other one.
    """
    names = ("partition", "bucket")
    columns = [files[name].to_pylist() for name in names]
    keys = zip(*columns, original_names(files["file_name"]).to_pylist(), strict=True)
    hidden = [
        (after if is_after else before).get(key, 0)
        for key, is_after in zip(keys, files["is_after"].to_pylist(), strict=True)
    ]
    masked = pa.array(hidden, pa.int64())
    return files.append_column(DIFFERING_FILES.field("masked"), masked).cast(DIFFERING_FILES)


def places_of(files: pa.Table, masks: Iterable[MaskChange]) -> pa.Table:
    """Return the differences by partition and bucket, with the columns of PLACE_DIFF.

    Args:
        files: Columns of DIFFERING_FILES.
        masks: Shared files of which the states hide different rows.
    """
    is_after = files["is_after"].to_numpy()
    visible = np.where(
        files["is_read"].to_numpy(), files["row_count"].to_numpy() - files["masked"].to_numpy(), 0
    )
    figures = {"files": np.ones(files.num_rows, np.int64), "bytes": files["file_size"].to_numpy()}
    columns: dict[str, Any] = {"partition": files["partition"], "bucket": files["bucket"]}
    counted = pc.fill_null(files["delete_row_count"], 0).to_numpy()
    deletes = np.where(files["is_read"].to_numpy(), counted, 0)
    for what, values in (*figures.items(), ("rows", visible), ("deletes", deletes)):
        columns[f"{what}_before"] = pa.array(np.where(is_after, 0, values), pa.int64())
        columns[f"{what}_after"] = pa.array(np.where(is_after, values, 0), pa.int64())
    hidden = [
        dict.fromkeys(PLACE_DIFF.names, 0)
        | {
            "partition": mask.key[0],
            "bucket": mask.key[1],
            "rows_before": mask.after_only,
            "rows_after": mask.before_only,
        }
        for mask in masks
    ]
    whole = pa.concat_tables(
        [pa.table(columns).cast(PLACE_DIFF), pa.Table.from_pylist(hidden, schema=PLACE_DIFF)]
    )
    figures_of = [name for name in PLACE_DIFF.names if name not in ("partition", "bucket")]
    places = whole.select(["partition", "bucket"])
    groups = group_rows(places.columns)
    table = places.take(pa.array(groups.first))
    for name in figures_of:
        sums = pa.array(groups.sums(whole[name].to_numpy()))
        table = table.append_column(PLACE_DIFF.field(name), sums)
    return table.sort_by([("partition", "ascending"), ("bucket", "ascending")])


def contested_partitions(places: pa.Table, masks: Sequence[MaskChange]) -> frozenset[bytes]:
    """Partitions in which both sides show rows of their own, all of them in their own files.

    Args:
        places: Columns of PLACE_DIFF.
        masks: Shared files of which the states hide different rows.
    """
    found = {
        partition for partition, before, after in _rows_by_partition(places) if before and after
    }
    return frozenset(found - {mask.key[0] for mask in masks})


def row_difference(
    files: pa.Table,
    places: pa.Table,
    masks: Sequence[MaskChange],
    schema: TableSchema,
    disjoint: frozenset[bytes] = frozenset(),
) -> RowDifference:
    """Tell from files alone how many rows came, went and changed.

    Args:
        files: Columns of DIFFERING_FILES.
        places: Columns of PLACE_DIFF.
        masks: Shared files of which the states hide different rows.
        schema: The table, which says whether rows are merged on read.
        disjoint: Partitions in which no row of the one side can equal one of the other.
    """
    read = files.filter(files["is_read"])
    # Equal rows of a table without a key lie in one partition, though maybe in other buckets.
    rows = [
        PlaceRows(before=before, after=after, is_disjoint=partition in disjoint)
        for partition, before, after in _rows_by_partition(places)
    ]
    is_after = read["is_after"]
    return rows_between(
        rows,
        counting=_counting(schema),
        deletes=(_deletes(read.filter(pc.invert(is_after))), _deletes(read.filter(is_after))),
        reasons=_reasons(read, masks, schema),
    )


def _rows_by_partition(places: pa.Table) -> Iterator[tuple[bytes, int, int]]:
    """Each partition with the rows that only the one state has, and only the other."""
    groups = group_rows([places["partition"]])
    partitions = places["partition"].take(pa.array(groups.first)).to_pylist()
    sums = (groups.sums(places[name].to_numpy()).tolist() for name in ("rows_before", "rows_after"))
    return zip(partitions, *sums, strict=True)


def _reasons(
    files: pa.Table, masks: Sequence[MaskChange], schema: TableSchema
) -> tuple[RowReason, ...]:
    """Why the rows of files may not be the rows that differ."""
    match _counting(schema):
        case Counting.KEYS:
            return (RowReason.MERGED_ON_READ,)
        case Counting.PARTS:
            return (RowReason.COLUMN_FILES,)
    if pc.any(pc.equal(files["file_source"], int(FileSource.COMPACT))).as_py():
        return (RowReason.COMPACTED,)
    return (RowReason.BOTH_WROTE,) if files.num_rows or masks else ()


def _counting(schema: TableSchema) -> Counting:
    if schema.primary_keys:
        return Counting.KEYS
    has_parts = schema.options.read(table_options.DATA_EVOLUTION_ENABLED)
    return Counting.PARTS if has_parts else Counting.ROWS


def _deletes(files: pa.Table) -> CountBounds:
    """Rows that delete a key; where a file does not count them, none or all of its rows do."""
    known = files["delete_row_count"]
    return CountBounds(
        low=_sum(pc.fill_null(known, 0)), high=_sum(pc.coalesce(known, files["row_count"]))
    )


def _is_read(entries: pa.Table, schemas: Sequence[TableSchema]) -> npt.NDArray[np.bool_]:
    """Whether batch readers see a file: not on a skipped level 0, and not in a postponed bucket."""
    buckets = entries["bucket"].to_numpy()
    seen: npt.NDArray[np.bool_] = buckets > _POSTPONED
    if any(schema.primary_keys and schema.skips_level_0 for schema in schemas):
        seen = seen & (entries["level"].to_numpy() > 0)
    return seen


def _sum(column: pa.ChunkedArray) -> int:
    return int(pc.sum(column).as_py() or 0)


_POSTPONED: Final = -2
